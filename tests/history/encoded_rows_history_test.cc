// Several threads write a history of tables whose rows are encoded: structs with text that grow and
// shrink, through both kinds of handles, with an index by columns, and values. The tests read and
// check the history.
#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/common/history_file.h"
#include "elider/elider.h"
#include "tests/support/random.h"
#include "tests/support/temporary_folder.h"
#include "tools/check_history/check_history.h"
#include "tools/check_history/load.h"

namespace elider::check::encoded_rows {
namespace {

struct Note {
  int64_t value = 0;
  Text text{};
  std::optional<uint32_t> group{};
};

struct Tables {
  StructTable<Note> notes;
  DescribedTable<> described;  // the same table
  StructIndex<Note> by_group;
  ValueTable<> values;
};

constexpr Key kKeys = 12;

// Reads, changes, removes and scans. Each step is a transaction that may fail.
void work(Database& db, const Tables& tables, uint64_t seed) {
  test::TestRandom random(seed);
  RowBuilder row(tables.described);
  const bool ordered = is_ordered(tables.notes.schema().key_index);
  for (int i = 0; i < 250; ++i) {
    const Key key = random.below(kKeys), other = random.below(kKeys);
    const uint64_t kind = random.below(7), limit = random.percent(50) ? 3 : kNoLimit;
    const ScanOptions options{.limit = limit, .reverse = random.percent(50)};
    const std::string text(random.below(400), 't');
    const std::optional<uint32_t> group = random.percent(70) ? std::optional(static_cast<uint32_t>(random.below(3))) : std::nullopt;
    const auto nothing = [](Key, const auto&) {};
    const auto step = [&](Transaction& txn) -> Status {
      if (kind == 0 && ordered) return txn.scan(tables.notes, {key, other}, options, nothing);
      if (kind == 0 || kind == 1) return txn.scan(tables.by_group, prefix(group), options, nothing);
      if (kind == 2) return txn.remove(tables.notes, key);
      if (kind == 3) return txn.update(tables.notes, key, [&](Note& note) { note.value += 1, note.text = text; });
      const auto change = [&](RowBuilder& builder) { builder.set("group", group).set("text", text); };
      if (kind == 4) return txn.update(tables.described, key, row, change);
      if (kind == 5) {
        const auto value = txn.get(tables.values, key);
        if (!value.ok() && !value.status().not_found()) return value.status();
        return txn.put(tables.values, other, std::string(value.ok() ? value->size() / 2 : 0, 'v') + text);
      }
      const auto seen = txn.get(tables.notes, key);
      if (!seen.ok() && !seen.status().not_found()) return seen.status();
      ELIDER_TRY(txn.put(tables.notes, other, {seen.ok() ? (*seen)->value + 1 : 0, text, group}));
      return txn.scan(tables.by_group, ColumnRange(), {.limit = 2}, nothing);
    };
    const Status status = random.percent(20) && kind < 2 ? db.run_read_only(step) : db.run(step);
    EXPECT_TRUE(status.ok() || status.not_found()) << status.message();
  }
}

RecordedHistory record(const std::string& path, KeyIndex key_index) {
  auto file = bench::HistoryFile::open(path);
  EXPECT_TRUE(file.ok());
  {
    Options options;
    options.history = file->get();
    options.threads_at_once = 16;
    auto db = Database::open(options);
    EXPECT_TRUE(db.ok());
    auto notes = db->create_table(RowsOf<Note>("notes")
                                      .column("value", &Note::value)
                                      .column("text", &Note::text)
                                      .column("group", &Note::group)
                                      .key_index(key_index)
                                      .index("by_group", {"group", "value"}));
    EXPECT_TRUE(notes.ok()) << notes.status().message();
    auto values = db->create_table(ValueSchema("values").key_index(key_index));
    EXPECT_TRUE(values.ok()) << values.status().message();
    const Tables tables{*notes, *db->described_table("notes"), *db->index(*notes, "by_group"), *values};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t) threads.emplace_back([&, t] { work(*db, tables, t + 1); });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_TRUE((*file)->close().ok());
  auto history = load_history(path);
  EXPECT_TRUE(history.ok()) << history.status().message();
  return history.ok() ? std::move(history).value() : RecordedHistory();
}

class EncodedRowsHistory : public testing::TestWithParam<KeyIndex> {};
INSTANTIATE_TEST_SUITE_P(On, EncodedRowsHistory, testing::Values(KeyIndex::kOrdered, KeyIndex::kHashed),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(EncodedRowsHistory, a_run_of_several_threads_is_strictly_serializable) {
  const test::TemporaryFolder folder("elider_encoded_history");
  const RecordedHistory history = record(folder.path() / "history.jsonl", GetParam());
  const Verdict verdict = check_history(history);
  std::ostringstream words;
  print(words, history, verdict);
  EXPECT_TRUE(verdict.strictly_serializable()) << words.str();
  EXPECT_EQ(history.tables.size(), 2u);
  EXPECT_GT(history.operations.size(), 500u);

  // The checker detects a version that was never written.
  RecordedHistory changed = history;
  for (RecordedOperation& operation : changed.operations)
    if (operation.kind == OperationKind::kRead) operation.version += 1'000'000;
  EXPECT_FALSE(check_history(changed).strictly_serializable());
}

}  // namespace
}  // namespace elider::check::encoded_rows
