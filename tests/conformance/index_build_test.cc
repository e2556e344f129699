// Indexes that are created and dropped while the database is open (Database::create_index), on
// every engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/test_points.h"
#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

struct Item {
  int32_t shelf = 0;
  uint32_t price = 0;
  int64_t stock = 0;
};
using FoundKeys = std::vector<Key>;

class IndexBuildTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    items_ = create(schema());
  }
  void TearDown() override {
    TestPoints::clear();
    DatabaseTest::TearDown();
  }
  SchemaOf<Item> schema() const {
    SchemaOf<Item> schema("items");
    schema.key_index(GetParam().key_index)
        .column("shelf", &Item::shelf)
        .column("price", &Item::price)
        .column("stock", &Item::stock)
        .group({"stock"});
    return schema;
  }
  static Item item(Key key) { return {static_cast<int32_t>(key * 7 % 10) - 5, static_cast<uint32_t>(key), 1}; }
  void fill(Key count) {
    for (Key begin = 0; begin < count; begin += 500)
      transact(db_, [&](Transaction& txn) {
        for (Key key = begin; key < std::min(begin + 500, count); ++key) ASSERT_OK(txn.insert(items_, key, item(key)));
      });
  }
  static SecondaryIndex by_shelf(bool unique = false) {
    return SecondaryIndex::of_columns("by_shelf", {"shelf", descending("price")}, unique);
  }
  static SecondaryIndex ranked_by_shelf() { return SecondaryIndex::ranked_of_columns("by_shelf", {"shelf", descending("price")}); }
  Status update(Key key, const std::function<void(Item&)>& change) {
    return db_.run([&](Transaction& txn) { return txn.update(items_, key, {}, change); });
  }
  // The keys of the whole index, which must be those of the table's rows.
  FoundKeys expect_complete(const std::string& name) {
    FoundKeys found;
    const auto index = db_.index(items_, name);
    EXPECT_OK(index);
    if (!index.ok()) return found;
    const auto look = [&](Transaction& txn) {
      found.clear();
      std::vector<std::tuple<int32_t, int64_t, Key>> expected, rows;
      EXPECT_OK(txn.scan(*index, ColumnRange(), {}, [&](Key key, const View<Item>& view) {
        found.push_back(key);
        rows.emplace_back(view->shelf, -int64_t{view->price}, key);
      }));
      for (Key key = 0; key < 5000; ++key)
        if (const auto view = txn.get(items_, key); view.ok()) expected.emplace_back((*view)->shelf, -int64_t{(*view)->price}, key);
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(rows, expected);
    };
    transact(db_, look);
    read(db_, look);
    return found;
  }

  Table<Item> items_;
};
ELIDER_ON_EVERY(IndexBuildTest);

TEST_P(IndexBuildTest, AnIndexOfAnExistingTableIsUsed) {
  fill(3000);
  ASSERT_OK(update(17, [](Item& row) { row.shelf = 99; }));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(items_, 18)); });
  uint64_t visited = 0, calls = 0;
  CreateIndexOptions options;
  options.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_GT(done, visited);
    EXPECT_LE(done, all);
    visited = done;
    ++calls;
    return true;
  };
  EXPECT_REFUSED(Code::kNotFound, "by_shelf", db_.index(items_, "by_shelf"));
  ASSERT_OK(db_.create_index("items", by_shelf(), options));
  EXPECT_GE(visited, 2999u);
  EXPECT_GE(calls, 2u);
  EXPECT_EQ(items_.schema().indexes.size(), 1u);
  EXPECT_EQ(expect_complete("by_shelf").back(), 17u);
  ASSERT_OK(update(17, [](Item& row) { row.shelf = -99; }));
  ASSERT_OK(update(17, [](Item& row) { row.stock += 1; }));
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(items_, 4000, item(4000)));
    ASSERT_OK(txn.put(items_, 20, Item{50, 1, 1}));
    ASSERT_OK(txn.remove(items_, 21));
  });
  EXPECT_EQ(expect_complete("by_shelf").front(), 17u);
}

TEST_P(IndexBuildTest, ADroppedIndexCannotBeUsedAndItsNameIsFree) {
  fill(2000);
  ASSERT_OK(db_.create_index("items", by_shelf()));
  const auto old = db_.index(items_, "by_shelf");
  ASSERT_OK(old);
  const auto before = prefix(3);
  ASSERT_OK(db_.drop_index("items", "by_shelf"));
  EXPECT_REFUSED(Code::kNotFound, "by_shelf", db_.index(items_, "by_shelf"));
  EXPECT_REFUSED(Code::kNotFound, "by_shelf", db_.drop_index("items", "by_shelf"));
  const auto expect_refused = [&] {
    EXPECT_REFUSED(Code::kInvalidArgument, "dropped", db_.run([&](Transaction& txn) {
      return txn.scan(*old, before, {}, [](Key, const View<Item>&) {});
    }));
    const auto count = [&](Transaction& txn) { return txn.count(*old, before).status(); };
    EXPECT_REFUSED(Code::kInvalidArgument, "dropped", db_.run_read_only(count));
  };
  expect_refused();
  EXPECT_OK(db_.verify());
  ASSERT_OK(db_.create_index("items", SecondaryIndex::of_columns("by_shelf", {"price"}, true)));
  expect_refused();
  const auto index = db_.index(items_, "by_shelf");
  ASSERT_OK(index);
  read(db_, [&](Transaction& txn) { EXPECT_EQ(*txn.count(*index, prefix(7)), 1u); });
  EXPECT_REFUSED(Code::kDuplicateKey, "by_shelf", update(9, [](Item& row) { row.price = 8; }));
}

// There are 64 places for indexes, and each of them is used several times.
TEST_P(IndexBuildTest, PlacesAreUsedAgain) {
  fill(20);
  for (int round = 0; round < 200; ++round) {
    ASSERT_OK(db_.create_index("items", by_shelf())) << round;
    ASSERT_OK(update(3, [&](Item& row) { row.shelf = round; }));
    if (round % 50 == 0) expect_complete("by_shelf");
    ASSERT_OK(db_.drop_index("items", "by_shelf"));
    ASSERT_OK(update(3, [&](Item& row) { row.shelf = -round; }));
  }
  for (int i = 0; i < 64; ++i) ASSERT_OK(db_.create_index("items", SecondaryIndex::of_columns("i" + std::to_string(i), {"stock"}, false)));
  EXPECT_REFUSED(Code::kInvalidArgument, "64", db_.create_index("items", by_shelf()));
  ASSERT_OK(db_.drop_index("items", "i33"));
  ASSERT_OK(db_.create_index("items", by_shelf()));
  expect_complete("by_shelf");
}

TEST_P(IndexBuildTest, AddingToAColumnThatGetsAnIndex) {
  fill(100);
  const auto add = [&](Key key) {
    return db_.run([&](Transaction& txn) { return txn.add(items_, key, &Item::stock, int64_t{5}); });
  };
  ASSERT_OK(add(1));
  ASSERT_OK(db_.create_index("items", SecondaryIndex::of_columns("by_stock", {"stock"}, false)));
  const auto index = db_.index(items_, "by_stock");
  ASSERT_OK(index);
  const auto with = [&](int64_t stock) {
    uint64_t found = 0;
    read(db_, [&](Transaction& txn) { found = *txn.count(*index, prefix(stock)); });
    return found;
  };
  EXPECT_EQ(with(6), 1u);
  const Status added = add(2);
  EXPECT_REFUSED(Code::kInvalidArgument, "index", added) << "as in a table that was created with the index";
  ASSERT_OK(update(2, [](Item& row) { row.stock += 5; }));
  EXPECT_EQ(with(6), 2u);
  ASSERT_OK(db_.drop_index("items", "by_stock"));
  EXPECT_OK(add(2));
}

TEST_P(IndexBuildTest, ADuplicateIsNamedAndTheTableIsAsBefore) {
  fill(2500);
  ASSERT_OK(update(2000, [](Item& row) { row = item(1000); }));
  const Status refused = db_.create_index("items", by_shelf(true));
  EXPECT_REFUSED(Code::kDuplicateKey, "keys 1000 and 2000", refused);
  EXPECT_REFUSED(Code::kNotFound, "by_shelf", db_.index(items_, "by_shelf"));
  EXPECT_TRUE(items_.schema().indexes.empty());
  EXPECT_OK(update(2001, [](Item& row) { row = item(1000); }));
  EXPECT_OK(db_.verify());
  EXPECT_OK(db_.create_index("items", by_shelf()));
  EXPECT_EQ(expect_complete("by_shelf").size(), 2500u);
  ASSERT_OK(db_.drop_index("items", "by_shelf"));
  for (const Key key : {2000, 2001})
    ASSERT_OK(update(key, [&](Item& row) { row = item(key); }));
  EXPECT_OK(db_.create_index("items", by_shelf(true)));
  EXPECT_CODE(Code::kDuplicateKey, update(2001, [](Item& row) { row = item(1000); }));
}

TEST_P(IndexBuildTest, MistakesAreRefused) {
  fill(10);
  const auto refuse = [&](const SecondaryIndex& index, const std::string& words) {
    EXPECT_REFUSED(Code::kInvalidArgument, words, db_.create_index("items", index));
  };
  EXPECT_REFUSED(Code::kNotFound, "'nothing'", db_.create_index("nothing", by_shelf()));
  EXPECT_REFUSED(Code::kNotFound, "'nothing'", db_.drop_index("nothing", "by_shelf"));
  refuse(SecondaryIndex::of_columns("i", {"colour"}, false), "'colour'");
  refuse(SecondaryIndex::of_columns("i", {}, false), "no columns");
  refuse(SecondaryIndex::of_columns("", {"shelf"}, false), "unnamed");
  refuse(SecondaryIndex::of_columns("i", {"shelf", "shelf"}, false), "twice");
  refuse(SecondaryIndex::of_columns(std::string("i\xff"), {"shelf"}, false), "UTF-8");
  refuse({"i", false, {"shelf"}, [](const void*) { return uint64_t{0}; }}, "key function");
  ASSERT_OK(db_.create_index("items", by_shelf()));
  refuse(by_shelf(), "twice");
  EXPECT_EQ(items_.schema().indexes.size(), 1u);
}

TEST_P(IndexBuildTest, ProgressCanStopIt) {
  fill(3000);
  CreateIndexOptions options;
  options.progress = [](uint64_t visited, uint64_t) { return visited < 2000; };
  EXPECT_REFUSED(Code::kRolledBack, "by_shelf", db_.create_index("items", by_shelf(), options));
  options.progress = [](uint64_t, uint64_t) -> bool { throw std::runtime_error("enough"); };
  EXPECT_THROW(static_cast<void>(db_.create_index("items", by_shelf(), options)), std::runtime_error);
  EXPECT_OK(db_.verify());
  EXPECT_OK(db_.create_index("items", by_shelf()));
  expect_complete("by_shelf");
}

TEST_P(IndexBuildTest, DescribedRowsAndByteKeysAreIndexed) {
  const auto made = db_.create_table<std::string_view>(RowSchema("people").column("name", RowType::kText).column("age", RowType::kInt32));
  ASSERT_OK(made);
  auto& people = *made;
  RowBuilder row(people);
  const auto put = [&](const std::string& key, const std::string& name, int age) {
    return db_.run([&](Transaction& txn) { return txn.put(people, key, row.begin().set(0, name).set(1, age)); });
  };
  for (int i = 0; i < 2000; ++i) ASSERT_OK(put("key" + std::to_string(i), "name" + std::to_string(i % 50), i));
  ASSERT_OK(db_.add_column("people", "city", RowType::kText, {.default_value = "Rome"}));
  ASSERT_OK(db_.create_index("people", SecondaryIndex::of_columns("by_city", {"city", descending("age")}, false)));
  ASSERT_OK(db_.create_index("people", SecondaryIndex::of_columns("by_name", {"name"}, false)));
  EXPECT_REFUSED(Code::kInvalidArgument, "drop the index first", db_.drop_column("people", "city"));
  ASSERT_OK(db_.rename_column("people", "name", "called"));
  ASSERT_OK(put("last", "name7", 5000));
  const auto by_city = db_.index(people, "by_city"), by_name = db_.index(people, "by_name");
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(*txn.count(*by_city, prefix("Rome")), 2001u);
    EXPECT_EQ(*txn.count(*by_name, prefix("name7")), 41u);
    std::string first;
    EXPECT_OK(txn.scan(*by_city, prefix("Rome"), {.limit = 1}, [&](std::string_view key, const RowReader&) { first = key; }));
    EXPECT_EQ(first, "last");
  });
  ASSERT_OK(db_.drop_index("people", "by_name"));
  ASSERT_OK(put("long", std::string(2000, 'x'), 1));
  EXPECT_REFUSED(Code::kInvalidArgument, "\"long\"",
                 db_.create_index("people", SecondaryIndex::of_columns("by_long", {"called", "age"}, false)));
  ASSERT_OK(db_.drop_index("people", "by_city"));
  EXPECT_OK(db_.drop_column("people", "city"));
}

TEST_P(IndexBuildTest, AnOlderSnapshotCannotUseIt) {
  fill(100);
  const auto held = db_.hold_snapshot();
  ASSERT_OK(held);
  ASSERT_OK(update(5, [](Item& row) { row.shelf = 70; }));
  ASSERT_OK(db_.create_index("items", by_shelf()));
  const auto index = db_.index(items_, "by_shelf");
  auto earlier = db_.begin_read_only(*held);
  ASSERT_OK(earlier);
  EXPECT_REFUSED(Code::kInvalidArgument, "after the snapshot", (*earlier)->count(*index, prefix(70)));
  read(db_, [&](Transaction& txn) { EXPECT_EQ(*txn.count(*index, prefix(70)), 1u); });
}

// -- with other transactions ----------------------------------------------------------------------

class IndexBuildBesideTest : public IndexBuildTest {
 protected:
  // Runs f() in another thread, and waits until it has ended, but not for long: f() may have to
  // wait for this thread.
  void beside(std::function<void()> f) {
    auto ended = std::make_shared<std::atomic<bool>>(false);
    threads_.emplace_back([f = std::move(f), ended] {
      f();
      *ended = true;
    });
    await(*ended);
  }
  static void await(const std::atomic<bool>& ended) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (!ended && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void TearDown() override {
    join();
    IndexBuildTest::TearDown();
  }
  std::vector<std::thread> threads_;
};
ELIDER_ON_CONCURRENT(IndexBuildBesideTest);

TEST_P(IndexBuildBesideTest, RowsChangeMeanwhile) {
  fill(4000);
  int portions = 0;
  TestPoints::on("index_build.portion", [&] {
    const Key step = ++portions;
    std::thread([&, step] {
      for (Key key = step; key < 4000; key += 97) {
        const auto expect_updated = [](const Status& status) { EXPECT_TRUE(status.ok() || status.not_found()) << status.message(); };
        expect_updated(update(key, [](Item& row) { row.shelf += 3; }));
        expect_updated(update((key + 1) % 4000, [](Item& row) { row.stock += 3; }));
        const Status put = db_.run([&](Transaction& txn) -> Status {
          if (Status status = txn.put(items_, (key + 2) % 4000, Item{7, 7, 7}); !status.ok()) return status;
          return key % 2 == 0 ? Status::rollback() : Status();
        });
        EXPECT_TRUE(put.ok() || put.code() == Code::kRolledBack) << put.message();
        EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
          const Status removed = txn.remove(items_, (key + 3) % 4000);
          return removed.not_found() ? Status() : removed;
        }));
        if (key % 3 != 0) continue;
        EXPECT_OK(db_.run([&](Transaction& txn) { return txn.put(items_, (key + 3) % 4000, Item{8, 8, 8}); }));
      }
    }).join();
  });
  ASSERT_OK(db_.create_index("items", by_shelf()));
  EXPECT_GE(portions, 3);
  expect_complete("by_shelf");
  db_.collect_garbage();
  EXPECT_OK(db_.verify());
}

// While the counts of a ranked index are computed, a write that changes its entries conflicts, and
// other writes do not.
TEST_P(IndexBuildBesideTest, EntriesDoNotChangeWhileTheyAreCounted) {
  fill(2000);
  Status other, changed, inserted, removed;
  TestPoints::on("index_build.counting", [&] {
    std::thread([&] {
      const RunPolicy twice{.attempts_max = 2};
      other = update(6, [](Item& row) { row.stock = 9; });
      changed = db_.run([&](Transaction& txn) { return txn.update(items_, 7, {}, [](Item& row) { row.shelf = 78; }); }, twice);
      inserted = db_.run([&](Transaction& txn) { return txn.insert(items_, 4000, item(4000)); }, twice);
      removed = db_.run([&](Transaction& txn) { return txn.remove(items_, 8); }, twice);
    }).join();
  });
  ASSERT_OK(db_.create_index("items", ranked_by_shelf()));
  EXPECT_OK(other);
  for (const Status& refused : {changed, inserted, removed}) EXPECT_REFUSED(Code::kDeadline, "write locked", refused);
  EXPECT_OK(update(7, [](Item& row) { row.shelf = 78; }));
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(*txn.count(*db_.index(items_, "by_shelf"), ColumnRange()), 2000u);
    EXPECT_EQ(*txn.rank(*db_.index(items_, "by_shelf"), Key{7}), 1999u);
  });
  expect_complete("by_shelf");
  EXPECT_OK(db_.verify());
}

// Without the wait, the counts would lack the row that an earlier transaction inserts.
TEST_P(IndexBuildBesideTest, CountingWaitsForEarlierWriters) {
  fill(500);
  std::optional<ActiveTransaction> writer;
  Status written;
  TestPoints::on("index_build.filled", [&] {
    std::thread([&] {
      writer = begin(db_);
      written = (*writer)->insert(items_, 3000, item(3000));
    }).join();
  });
  std::atomic<bool> counted{false};
  TestPoints::on("index_build.counted", [&] { counted = true; });
  beside([&] { EXPECT_OK(db_.create_index("items", ranked_by_shelf())); });
  EXPECT_TRUE(!counted || ELIDER_MUTANT(kCountAtOnce)) << "the writer is still open";
  EXPECT_OK(written);
  const Status committed = writer->commit();
  join();
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(*txn.count(*db_.index(items_, "by_shelf"), ColumnRange()), committed.ok() ? 501u : 500u);
  });
  EXPECT_OK(db_.verify());
}

// Without the wait, the row would be missing under its new value.
TEST_P(IndexBuildBesideTest, ItWaitsForEarlierWriters) {
  fill(100);
  ActiveTransaction writer = begin(db_);
  ASSERT_OK(writer->update(items_, 5, {}, [](Item& row) { row.shelf = 77; }));
  CreateIndexOptions impatient;
  impatient.wait_us = 1000;
  beside([&] { EXPECT_REFUSED(Code::kDeadline, "still open", db_.create_index("items", by_shelf(), impatient)); });
  join();
  beside([&] { EXPECT_OK(db_.create_index("items", by_shelf())); });
  const Status committed = writer.commit();
  join();
  if (!committed.ok()) {
    ASSERT_OK(update(5, [](Item& row) { row.shelf = 77; }));
  }
  expect_complete("by_shelf");
}

// Without the row's lock, the entry of a removed row would be inserted.
TEST_P(IndexBuildBesideTest, ARowIsNotRemovedWhileItIsRead) {
  fill(1);
  TestPoints::on("index_build.row_read", [&] {
    TestPoints::off("index_build.row_read");
    beside([&] { EXPECT_OK(db_.run([&](Transaction& txn) { return txn.remove(items_, 0); })); });
  });
  ASSERT_OK(db_.create_index("items", by_shelf()));
  join();
  db_.collect_garbage();
  expect_complete("by_shelf");
  EXPECT_OK(db_.verify());
}

// The row changes from shelf 1 to 2 before it is visited, so the entry of 1 is listed as stale.
// Then another transaction needs this entry. The test does not force the entry's removal to run
// while that transaction is open, so it also passes if the entry is listed without being inserted.
TEST_P(IndexBuildBesideTest, AnEntryThatWasStaleBeforeItExistedStays) {
  fill(1);
  ASSERT_OK(update(0, [](Item& row) { row.shelf = 1; }));
  HeldSnapshot held;
  TestPoints::on("index_build.filling", [&] {
    std::thread([&] {
      ASSERT_OK(update(0, [](Item& row) { row.shelf = 2; }));
      held = *db_.hold_snapshot();  // stale entries are not removed before it has ended
    }).join();
  });
  ASSERT_OK(db_.create_index("items", by_shelf()));
  db_.collect_garbage();
  ActiveTransaction writer = begin(db_);
  ASSERT_OK(writer->update(items_, 0, {}, [](Item& row) { row.shelf = 1; }));
  held = HeldSnapshot();
  db_.collect_garbage();
  ASSERT_OK(writer.commit());
  db_.collect_garbage();
  expect_complete("by_shelf");
}

TEST_P(IndexBuildBesideTest, AnOldValueThatCannotBeIndexedIsReplaced) {
  auto notes = db_.create_table(RowSchema("notes").column("text", RowType::kText).key_index(GetParam().key_index));
  ASSERT_OK(notes);
  RowBuilder row(*notes);
  const auto put = [&](Key key, size_t size) {
    return db_.run([&](Transaction& txn) { return txn.put(*notes, key, row.begin().set("text", std::string(size, 'x'))); });
  };
  ASSERT_OK(put(1, 3000));
  ASSERT_OK(put(2, 10));
  const SecondaryIndex by_text = SecondaryIndex::of_columns("by_text", {"text"}, false);
  EXPECT_REFUSED(Code::kInvalidArgument, "the row of key 1", db_.create_index("notes", by_text));
  TestPoints::on("index_build.filling", [&] {
    std::thread([&] {
      EXPECT_REFUSED(Code::kInvalidArgument, "the row of key 2", put(2, 3000)) << "writers maintain the index";
      EXPECT_OK(put(1, 7));
    }).join();
  });
  ASSERT_OK(db_.create_index("notes", by_text));
  const auto index = db_.index(*notes, "by_text");
  read(db_, [&](Transaction& txn) {
    EXPECT_EQ(*txn.count(*index, prefix("xxxxxxx")), 1u);
    EXPECT_EQ(*txn.count(*index, ColumnRange()), 2u);
  });
}

TEST_P(IndexBuildBesideTest, OtherChangesOfTheSchemaAreRefused) {
  fill(10);
  ASSERT_OK(db_.create_table(SchemaOf<Item>("others").column("shelf", &Item::shelf)));
  TestPoints::on("index_build.begun", [&] {
    std::thread([&] {
      const auto refused = [](const Status& status) { EXPECT_REFUSED(Code::kInvalidArgument, "'by_shelf' is being created", status); };
      refused(db_.rename_table("items", "goods"));
      refused(db_.drop_table("items"));
      refused(db_.drop_index("items", "by_shelf"));
      refused(db_.create_index("items", SecondaryIndex::of_columns("i", {"price"}, false)));
      EXPECT_REFUSED(Code::kNotFound, "by_shelf", db_.index(items_, "by_shelf"));
      EXPECT_OK(db_.rename_table("others", "rest"));
    }).join();
  });
  ASSERT_OK(db_.create_index("items", by_shelf()));
  EXPECT_OK(db_.rename_table("items", "goods"));
  expect_complete("by_shelf");
}

// A writer meets a unique index before all rows are in it.
TEST_P(IndexBuildBesideTest, ADuplicateThatIsWrittenMeanwhileIsFound) {
  fill(3000);
  Status written;
  TestPoints::on("index_build.begun", [&] {
    std::thread([&] { written = update(5, [](Item& row) { row = item(2500); }); }).join();
  });
  EXPECT_REFUSED(Code::kDuplicateKey, "keys 5 and 2500", db_.create_index("items", by_shelf(true)));
  EXPECT_OK(written) << "the other row had no entry yet";
  TestPoints::clear();
  ASSERT_OK(update(5, [](Item& row) { row = item(5); }));
  TestPoints::on("index_build.filled", [&] {
    std::thread([&] { written = update(5, [](Item& row) { row = item(2500); }); }).join();
  });
  EXPECT_OK(db_.create_index("items", by_shelf(true)));
  EXPECT_CODE(Code::kDuplicateKey, written);
  expect_complete("by_shelf");
}

}  // namespace
}  // namespace elider::test
