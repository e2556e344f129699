// The machine stops while tables, columns and indexes change. It stops at any call, and any subset
// of the unsynced sectors and names is on the disk. The recovered state is that after one of the
// steps: not before a step that was acknowledged, and not after one that had not begun. Then the
// database can be changed further.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/sanitizer.h"
#include "elider/described.h"
#include "tests/crash/images.h"
#include "tests/support/compiled.h"
#include "tests/support/status_matchers.h"

namespace elider::crash {
namespace {

using Contents = io::MemoryFiles::Contents;

struct Number {
  uint64_t value = 0;
};

Options options(bool checkpoints) {
  Options chosen;
  chosen.data_folders = {"data"};
  chosen.durability = Durability::kGroup;
  chosen.memory_limit_bytes = 16u << 20;
  chosen.workers_max = 8;
  chosen.recovery_threads = 1;
  chosen.log_segment_bytes = 4096;
  if (checkpoints) chosen.checkpoints_kept = 1;
  return test::with_compiled_engine(chosen);
}

// The indexes of a table, and how many rows each of them contains.
std::string indexes_of(Database& db, const TableRef& table) {
  std::string words;
  for (const SecondaryIndex& index : table.schema().indexes) {
    const auto found = db.index(table, index.name);
    if (!found.ok()) return found.status().message();
    Result<uint64_t> rows = uint64_t{0};
    Status status = db.run_read_only([&](Transaction& txn) {
      rows = txn.count(*found, ColumnRange());
      return rows.status();
    });
    words += " [" + index.name + ' ' + (status.ok() ? std::to_string(*rows) : status.message()) + ']';
  }
  return words;
}

// All tables with their columns, rows and indexes.
std::string all_of(Database& db) {
  std::string words;
  for (const TableRef& found : db.tables()) {
    words += found.schema().name;
    Status status;
    if (found.schema().row_columns.empty()) {
      const auto table = db.table<Number>(found.schema().name);
      status = db.run_read_only([&](Transaction& txn) {
        return txn.scan(*table, KeyRange{}, {}, [&](Key key, const View<Number>& row) {
          words += ' ' + std::to_string(key) + '=' + std::to_string(row->value);
        });
      });
    } else {
      const auto table = db.described_table(found.schema().name);
      const RowSchema& rows = table->row_schema();
      for (size_t i = 0; i < rows.columns(); ++i) words += rows.column(i).dropped ? " -" : ' ' + rows.column(i).name;
      status = db.run_read_only([&](Transaction& txn) {
        return txn.scan(*table, KeyRange{}, {}, [&](Key key, const RowReader& row) {
          words += ' ' + std::to_string(key) + '=';
          for (size_t i = 0; i < rows.columns(); ++i)
            if (!rows.column(i).dropped) words += row.value(i)->to_text() + ',';
        });
      });
    }
    words += indexes_of(db, found);
    words += status.ok() ? "; " : status.message();
  }
  return words;
}

using Step = std::function<Status(Database&)>;

Status put(Database& db, const char* name, Key key) {
  const auto table = db.described_table(name);
  if (!table.ok()) return table.status();
  RowBuilder row(*table);
  return db.run([&](Transaction& txn) { return txn.put(*table, key, row.begin().set(0, "row " + std::to_string(key))); });
}

std::vector<Step> steps(bool checkpoints) {
  const auto checkpoint = [checkpoints](Database& db) { return checkpoints ? db.checkpoint() : Status(); };
  return {
      [](Database& db) {
        Status status = db.create_table(RowSchema("orders").column("customer", RowType::kText)).status();
        return status.ok() ? db.wait_durable() : status;
      },
      [](Database& db) { return put(db, "orders", 1); },
      [](Database& db) { return db.add_column("orders", "state", RowType::kText, {.default_value = "new"}); },
      [](Database& db) { return put(db, "orders", 2); },
      [](Database& db) { return db.create_index("orders", SecondaryIndex::of_columns("by_state", {"state", "customer"}, true)); },
      checkpoint,
      [](Database& db) { return put(db, "orders", 4); },
      [](Database& db) { return db.rename_column("orders", "state", "status"); },
      [](Database& db) { return db.drop_index("orders", "by_state"); },
      [](Database& db) { return db.drop_column("orders", "status"); },
      [](Database& db) { return db.rename_table("orders", "sales"); },
      [](Database& db) { return put(db, "sales", 3); },
      [](Database& db) {
        Status status = db.create_table(SchemaOf<Number>("orders").column("value", &Number::value)).status();
        return status.ok() ? db.wait_durable() : status;
      },
      [](Database& db) {
        const auto table = db.table<Number>("orders");
        return db.run([&](Transaction& txn) { return txn.insert(*table, 5, Number{50}); });
      },
      checkpoint,
      [](Database& db) { return db.create_index("orders", SecondaryIndex::of_columns("by_value", {"value"}, false)); },
      [](Database& db) { return db.drop_table("sales"); },
      [](Database& db) { return db.rename_table("orders", "sales"); },
      checkpoint,
      [](Database& db) { return db.drop_table("sales"); },
  };
}

class SchemaChangesTest : public testing::TestWithParam<bool> {};

TEST_P(SchemaChangesTest, EachStepHappensOrNot) {
  const bool checkpoints = GetParam();
  io::MemoryFiles files;
  struct Moment {
    size_t begun, done;  // after this many calls of the file system
    std::string state;
  };
  std::vector<Moment> moments;
  {
    const io::SubstituteFiles substitute(files);
    auto db = Database::open(options(checkpoints));
    ASSERT_OK(db);
    moments.push_back({0, files.call_count(), ""});
    for (const Step& step : steps(checkpoints)) {
      const size_t begun = files.call_count();
      ASSERT_OK(step(*db));
      moments.push_back({begun, files.call_count(), all_of(*db)});
    }
  }
  EXPECT_EQ(moments.back().state, "");
  io::CrashDisk disk;
  Random random(7);
  SeenImages seen;
  size_t images = 0, calls = 0;
  const bool slow = kThreadSanitizer || kAddressSanitizer;
  const Subsets subsets{.unsure_max = slow ? 5u : 9u, .samples = slow ? 16u : 64u};
  const auto check = [&](Contents image) -> std::string {
    size_t least = 0, most = 0;
    for (size_t i = 0; i < moments.size(); ++i) {
      if (moments[i].done <= calls && i != 0) least = i;
      if (moments[i].begun <= calls) most = i;
    }
    if (!seen.add(image, least << 8 | most)) return "";
    ++images;
    io::MemoryFiles recovered(std::move(image));
    const io::SubstituteFiles substitute(recovered);
    std::string state;
    for (const bool again : {false, true}) {
      auto db = Database::open(options(checkpoints));
      if (!db.ok()) return db.status().message();
      if (Status status = db->verify(); !status.ok()) return status.message();
      const std::string found = all_of(*db);
      if (again) return found == state ? "" : "after further changes: '" + found + "', not '" + state + "'";
      bool allowed = false;
      for (size_t i = least; i <= most; ++i) allowed = allowed || moments[i].state == found;
      if (!allowed) return "'" + found + "', after steps " + std::to_string(least) + " to " + std::to_string(most);
      for (const TableRef& table : db->tables()) {
        const std::string name = table.schema().name;
        if (Status status = db->rename_table(name, name + " 2"); !status.ok()) return status.message();
      }
      if (Status status = db->create_table(RowSchema("more").column("customer", RowType::kText)).status(); !status.ok())
        return status.message();
      state = all_of(*db);
    }
    return "";
  };
  const std::vector<io::MemoryFiles::Call> all = files.calls();
  for (calls = 0; calls <= all.size(); ++calls) {
    ASSERT_EQ(for_each_image(disk, random, check, subsets), "") << "after " << calls << " calls";
    if (calls < all.size()) disk.apply(all[calls]);
  }
  std::printf("%zu images of %zu calls\n", images, all.size());
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, SchemaChangesTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "taken" : "none"; });

}  // namespace
}  // namespace elider::crash
