// Rows that grow and shrink while threads read them: structs with text, described rows that are
// changed through builders, and values. Transactions move letters between the rows of the tables.
// No letter is lost, and no row is seen half written.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

struct Note {
  uint32_t length = 0;
  Text text{};  // `length` times the letter of the row
  std::optional<uint32_t> odd{};  // the length, if it is odd
};

class EncodedRowsStressTest : public DatabaseTest {
 protected:
  static constexpr Key kRows = 12;
  static constexpr size_t kLetters = 250;  // per row at the beginning, so that rows cross sizes of blocks

  void SetUp() override {
    DatabaseTest::SetUp();
    auto notes = db_.create_table(RowsOf<Note>("notes")
                                      .column("length", &Note::length)
                                      .column("text", &Note::text)
                                      .column("odd", &Note::odd)
                                      .key_index(GetParam().key_index)
                                      .index("by_length", {"odd", "length"}));
    ASSERT_OK(notes);
    notes_ = *notes;
    described_ = *db_.described_table("notes");
    by_length_ = *db_.index(notes_, "by_length");
    auto values = db_.create_table(ValueSchema("values").key_index(GetParam().key_index));
    ASSERT_OK(values);
    values_ = *values;
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kRows; ++key) {
        ASSERT_OK(put(txn, key, kLetters));
        ASSERT_OK(txn.put(values_, key, letters(key, kLetters)));
      }
    });
  }

  static std::string letters(Key key, size_t count) { return std::string(count, static_cast<char>('a' + key)); }
  static bool all_are(std::string_view text, Key key) { return text.find_first_not_of(static_cast<char>('a' + key)) == text.npos; }
  Status put(Transaction& txn, Key key, size_t count) const {
    const std::string text = letters(key, count);
    return txn.put(notes_, key, note_of(count, text));
  }
  static Note note_of(size_t count, std::string_view text) {
    const auto length = static_cast<uint32_t>(count);
    return {length, text, length % 2 == 1 ? std::optional(length) : std::nullopt};
  }
  static Status check(Key key, const Note& note) {
    const bool odd = note.length % 2 == 1 ? note.odd == note.length : !note.odd;
    if (note.text.size() == note.length && all_are(note.text, key) && odd) return {};
    return Status(Code::kCorrupt, "row " + std::to_string(key) + " is half written");
  }

  // Changes the number of letters of a note, in one of several ways. Returns the number that it
  // had.
  Result<size_t> change(Transaction& txn, RowBuilder& row, TestRandom& random, Key key, int64_t by) const {
    size_t had = 0;
    std::string text;
    const auto changed = [&](size_t old) {
      had = old;
      text = letters(key, static_cast<size_t>(static_cast<int64_t>(old) + by));
      return note_of(text.size(), text);
    };
    const uint64_t way = random.below(3);
    if (way == 0) {
      ELIDER_TRY(txn.update(notes_, key, [&](Note& note) { note = changed(note.length); }));
    } else if (way == 1) {
      ELIDER_TRY(txn.update(described_, key, row, [&](RowBuilder& builder, const RowReader& old) {
        const Note note = changed(*old.get<uint32_t>("length"));
        builder.set("text", note.text).set("length", note.length).set("odd", note.odd);
      }));
    } else {
      ELIDER_ASSIGN(const auto old, txn.get(notes_, key));
      ELIDER_TRY(check(key, *old));
      const Note note = changed(old->length);
      if (random.percent(30)) {
        ELIDER_TRY(txn.remove(notes_, key));
        ELIDER_TRY(txn.insert(notes_, key, note));
      } else {
        ELIDER_TRY(txn.put(notes_, key, note));
      }
    }
    return had;
  }
  // Moves letters from a note to a value, or back.
  Status move(Transaction& txn, RowBuilder& row, TestRandom& random) const {
    const Key from = random.below(kRows), to = random.below(kRows);
    auto count = static_cast<int64_t>(random.below(150));
    ELIDER_ASSIGN(const auto value, txn.get(values_, to));
    if (!all_are(value.text(), to)) return Status(Code::kCorrupt, "value " + std::to_string(to) + " is half written");
    const auto size = static_cast<int64_t>(value.size());
    if (random.percent(50)) count = -std::min(count, size);
    ELIDER_ASSIGN(const size_t had, change(txn, row, random, from, 0));
    count = std::min(count, static_cast<int64_t>(had));
    ELIDER_TRY(change(txn, row, random, from, -count).status());
    return txn.put(values_, to, letters(to, static_cast<size_t>(size + count)));
  }
  // Returns an error unless each letter is there.
  Status look(Transaction& txn) const {
    size_t letters = 0;
    for (Key key = 0; key < kRows; ++key) {
      ELIDER_ASSIGN(const auto note, txn.get(notes_, key));
      ELIDER_TRY(check(key, *note));
      ELIDER_ASSIGN(const auto value, txn.get(values_, key));
      if (!all_are(value.text(), key)) return Status(Code::kCorrupt, "value " + std::to_string(key) + " is half written");
      letters += note->length + value.size();
    }
    size_t rows = 0, of_index = 0;
    ELIDER_TRY(txn.scan(by_length_, ColumnRange(), {}, [&](Key key, const Note& note) -> Status {
      ++rows;
      of_index += note.length;
      return check(key, note);
    }));
    ELIDER_TRY(txn.scan(by_length_, prefix(std::optional<uint32_t>()), {}, [&](Key, const Note& note) -> Status {
      return note.odd ? Status(Code::kCorrupt, "an odd row is among the even ones") : Status();
    }));
    if (rows != kRows || letters != 2 * kRows * kLetters) return Status(Code::kCorrupt, std::to_string(letters) + " letters are there");
    return {};
  }

  StructTable<Note> notes_;
  DescribedTable<> described_;  // the same table
  StructIndex<Note> by_length_;
  ValueTable<> values_;
};
ELIDER_ON_EVERY(EncodedRowsStressTest);

TEST_P(EncodedRowsStressTest, EachLetterIsThereOnce) {
  const TestRandom random;
  const unsigned writers = GetParam().threads() ? 3 : 1;
  std::vector<std::thread> threads;
  std::atomic<unsigned> running{writers};
  for (unsigned t = 0; t < writers; ++t)
    threads.emplace_back([&, mine = random.split(t)]() mutable {
      RowBuilder row(described_);
      for (uint64_t i = 0; i < scaled(400); ++i) {
        EXPECT_OK(db_.run([&](Transaction& txn) { return move(txn, row, mine); }));
        if (i % 16 != 0) continue;
        EXPECT_OK(db_.run([&](Transaction& txn) { return look(txn); }));
      }
      --running;
    });
  while (GetParam().threads() && running != 0) EXPECT_OK(db_.run_read_only([&](Transaction& txn) { return look(txn); }));
  for (std::thread& thread : threads) thread.join();
  read(db_, [&](Transaction& txn) { EXPECT_OK(look(txn)); });
  db_.collect_garbage();
}

}  // namespace
}  // namespace elider::test
