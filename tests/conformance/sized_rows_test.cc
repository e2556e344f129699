// Rows of variable size (Schema::sized_rows), with the calls that do not need a row type.
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/database_test.h"

namespace elider::test {
namespace {

struct Head {
  uint64_t owner;
  int64_t balance;
};

class SizedRowsTest : public DatabaseTest {
 protected:
  static constexpr uint32_t kMost = 5000;

  void SetUp() override {
    DatabaseTest::SetUp();
    Schema schema;
    schema.name = "notes";
    schema.key_index = GetParam().key_index;
    schema.row_bytes = kMost;
    schema.sized_rows = true;
    schema.columns = {{"owner", ColumnType::kUInt64, 0, 8, 0}, {"balance", ColumnType::kInt64, 8, 8, 0}};
    schema.indexes.push_back({"by_owner", false, {"owner"}, [](const void* row) { return static_cast<const Head*>(row)->owner; }});
    auto table = db_.create_table(schema);
    ASSERT_OK(table);
    notes_ = *table;
    const detail::ColumnSpan balance{8, 8}, owner{0, 8};
    balance_ = ColumnsRef(detail::compile_columns(*notes_.base(), &balance, 1));
    owner_ = ColumnsRef(detail::compile_columns(*notes_.base(), &owner, 1));
  }

  static std::vector<std::byte> row(uint64_t owner, int64_t balance, const std::string& text) {
    std::vector<std::byte> bytes(sizeof(Head) + text.size());
    const Head head{owner, balance};
    std::memcpy(bytes.data(), &head, sizeof head);
    std::memcpy(bytes.data() + sizeof head, text.data(), text.size());
    return bytes;
  }
  static std::string text_of(const RawView& view) {
    return std::string(reinterpret_cast<const char*>(view.bytes()) + sizeof(Head), view.size() - sizeof(Head));
  }
  static Head head_of(const RawView& view) {
    Head head;
    std::memcpy(&head, view.bytes(), sizeof head);
    return head;
  }
  std::string text(Transaction& txn, Key key) {
    RawView view;
    const Status status = txn.get(notes_, key, {}, &view);
    if (status.not_found()) return "none";
    EXPECT_OK(status);
    return text_of(view);
  }
  std::string text(Key key) {
    std::string found;
    read(db_, [&](Transaction& txn) { found = text(txn, key); });
    return found;
  }
  void insert(Key key, uint64_t owner, const std::string& words) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(notes_, key, row(owner, 0, words))); });
  }

  TableRef notes_;
  ColumnsRef balance_, owner_;
};
ELIDER_ON_EVERY(SizedRowsTest);

TEST_P(SizedRowsTest, RowsComeBackWithTheirSizes) {
  for (const size_t size : {0u, 1u, 7u, 100u, 4000u, kMost - static_cast<uint32_t>(sizeof(Head))}) {
    insert(size, 1, std::string(size, 'x'));
    EXPECT_EQ(text(size), std::string(size, 'x'));
    transact(db_, [&](Transaction& txn) { EXPECT_EQ(text(txn, size), std::string(size, 'x')); });
  }
}

TEST_P(SizedRowsTest, SizesThatDoNotFitAreRefused) {
  transact(db_, [&](Transaction& txn) {
    const std::vector<std::byte> bytes(kMost + 1);
    for (const size_t size : {size_t{0}, sizeof(Head) - 1, size_t{kMost} + 1}) {
      EXPECT_REFUSED(Code::kInvalidArgument, "16 to 5000", txn.insert(notes_, 1, std::span(bytes).first(size)));
      EXPECT_REFUSED(Code::kInvalidArgument, "16 to 5000", txn.put(notes_, 1, std::span(bytes).first(size)));
    }
  });
  EXPECT_REFUSED(Code::kSchemaMismatch, "variable-size rows", db_.table<Head>("notes"));
}

TEST_P(SizedRowsTest, PutMakesARowLargerAndSmaller) {
  for (const size_t size : {3u, 3000u, 10u, 0u, 500u}) {
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.put(notes_, 5, row(1, 2, std::string(size, 'a'))));
      EXPECT_EQ(text(txn, 5), std::string(size, 'a')) << "its own write";
      ASSERT_OK(txn.put(notes_, 5, row(1, 2, std::string(size + 1, 'b'))));
      EXPECT_EQ(text(txn, 5), std::string(size + 1, 'b'));
    });
    EXPECT_EQ(text(5), std::string(size + 1, 'b'));
  }
}

// Rows of these sizes are stored in their row block, or in a block of their own.
TEST_P(SizedRowsTest, ARowThatMovesInAndOutOfItsRowBlockIsReadAtEverySnapshot) {
  const std::vector<size_t> sizes = {100, 30, 120, 3000, 90, 400, 0, 230, 231, 232, 240, 241, 1};
  const auto words = [](size_t i, size_t size) { return std::string(size, static_cast<char>('a' + i)); };
  std::vector<ActiveTransaction> readers;
  for (size_t i = 0; i < sizes.size(); ++i) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(notes_, 5, row(i, 2, words(i, sizes[i])))); });
    EXPECT_EQ(text(5), words(i, sizes[i]));
    transact(db_, [&](Transaction& txn) {
      EXPECT_EQ(text(txn, 5), words(i, sizes[i]));
      void* image;
      ASSERT_OK(txn.edit(notes_, 5, balance_, &image));
      static_cast<Head*>(image)->balance += 5;
      ASSERT_OK(txn.edited(notes_, image));
    });
    if (GetParam().concurrent()) readers.push_back(begin_read_only(db_));
  }
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(notes_, 5)); });
  EXPECT_EQ(text(5), "none");
  for (size_t i = 0; i < readers.size(); ++i) {
    RawView view;
    ASSERT_OK(readers[i]->get(notes_, 5, {}, &view));
    EXPECT_EQ(text_of(view), words(i, sizes[i])) << "reader " << i;
    EXPECT_EQ(head_of(view).balance, 7);
    EXPECT_OK(readers[i].commit());
  }
  EXPECT_OK(db_.verify());
}

TEST_P(SizedRowsTest, ViewsOfManySmallRowsAreAllValid) {
  constexpr Key kRows = 40;
  for (Key key = 0; key < kRows; ++key) insert(key, 1, std::string(key * 5, static_cast<char>('A' + key)));
  const auto look = [&](Transaction& txn) {
    std::vector<RawView> views(kRows);
    for (Key key = 0; key < kRows; ++key) ASSERT_OK(txn.get(notes_, key, {}, &views[key]));
    for (Key key = 0; key < kRows; ++key) EXPECT_EQ(text_of(views[key]), std::string(key * 5, static_cast<char>('A' + key)));
  };
  transact(db_, look);
  read(db_, look);
}

TEST_P(SizedRowsTest, RowsWithoutColumnsMayBeEmpty) {
  Schema schema;
  schema.name = "values";
  schema.key_index = GetParam().key_index;
  schema.row_bytes = kMost;
  schema.sized_rows = true;
  auto values = db_.create_table(schema);
  ASSERT_OK(values);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(*values, 1, std::span<const std::byte>())); });
  for (const size_t size : {size_t{0}, size_t{9}, size_t{0}, size_t{kMost}, size_t{0}}) {
    const std::vector<std::byte> bytes(size, std::byte{7});
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.put(*values, 1, bytes));
      RawView view;
      ASSERT_OK(txn.get(*values, 1, {}, &view));
      EXPECT_EQ(view.size(), size);
    });
    read(db_, [&](Transaction& txn) {
      RawView view;
      ASSERT_OK(txn.get(*values, 1, {}, &view));
      EXPECT_EQ(view.size(), size);
    });
  }
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(*values, 1)); });
}

TEST_P(SizedRowsTest, AViewOfAnOwnWriteStaysAsItIs) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(notes_, 1, row(1, 1, "before")));
    RawView view;
    ASSERT_OK(txn.get(notes_, 1, {}, &view));
    ASSERT_OK(txn.put(notes_, 1, row(1, 1, "afterwards")));
    void* image;
    ASSERT_OK(txn.edit(notes_, 1, balance_, &image));
    static_cast<Head*>(image)->balance = 9;
    ASSERT_OK(txn.edited(notes_, image));
    EXPECT_EQ(text_of(view), "before");
    EXPECT_EQ(head_of(view).balance, 1);
  });
}

TEST_P(SizedRowsTest, AViewOfAnotherSizeThanTheOwnWriteIsNotEdited) {
  insert(1, 7, "a text");
  transact(db_, [&](Transaction& txn) {
    RawView view;
    ASSERT_OK(txn.get(notes_, 1, {}, &view));
    ASSERT_OK(txn.put(notes_, 1, row(7, 0, "short")));
    void* image;
    EXPECT_REFUSED(Code::kInvalidArgument, "changed the size of the row", txn.edit(notes_, view, balance_, &image));
    EXPECT_EQ(text(txn, 1), "short");
  });
}

TEST_P(SizedRowsTest, ColumnsAreEditedWrittenAndAddedTo) {
  insert(1, 7, "the tail stays");
  transact(db_, [&](Transaction& txn) {
    void* image;
    ASSERT_OK(txn.edit(notes_, 1, balance_, &image));
    static_cast<Head*>(image)->balance += 5;
    ASSERT_OK(txn.edited(notes_, image));
  });
  transact(db_, [&](Transaction& txn) {
    RawView view;
    ASSERT_OK(txn.get(notes_, 1, {}, &view));
    EXPECT_EQ(head_of(view).balance, 5);
    void* image;
    ASSERT_OK(txn.edit(notes_, view, balance_, &image));
    static_cast<Head*>(image)->balance += 5;
    ASSERT_OK(txn.edited(notes_, image));
  });
  transact(db_, [&](Transaction& txn) {
    const int64_t delta = -3;
    ASSERT_OK(txn.add(notes_, 1, 8, ColumnType::kInt64, &delta));
    ASSERT_OK(txn.add(notes_, 1, 8, ColumnType::kInt64, &delta));
    const Head head{8, 100};
    ASSERT_OK(txn.write(notes_, 1, owner_, &head));
    EXPECT_REFUSED(Code::kInvalidArgument, "use put()", txn.write(notes_, 1, {}, &head));
    EXPECT_EQ(text(txn, 1), "the tail stays");
  });
  read(db_, [&](Transaction& txn) {
    RawView view;
    ASSERT_OK(txn.get(notes_, 1, {}, &view));
    EXPECT_EQ(head_of(view).owner, 8u);
    EXPECT_EQ(head_of(view).balance, 4);
    EXPECT_EQ(text_of(view), "the tail stays");
  });
}

TEST_P(SizedRowsTest, WhatIsNotThereIsNotFound) {
  insert(1, 1, "x");
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(notes_, 1));
    EXPECT_EQ(text(txn, 1), "none");
    void* image;
    EXPECT_CODE(Code::kNotFound, txn.edit(notes_, 1, balance_, &image));
    const Head head{};
    EXPECT_CODE(Code::kNotFound, txn.write(notes_, 1, balance_, &head));
    const int64_t delta = 1;
    EXPECT_CODE(Code::kNotFound, txn.add(notes_, 1, 8, ColumnType::kInt64, &delta));
    EXPECT_CODE(Code::kNotFound, txn.edit(notes_, 99, balance_, &image));
  });
  EXPECT_EQ(text(1), "none");
  insert(1, 1, "again");
  EXPECT_EQ(text(1), "again");
}

TEST_P(SizedRowsTest, ARolledBackChangeLeavesTheOldSize) {
  insert(1, 1, "as it was");
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.put(notes_, 1, row(1, 1, std::string(2000, 'z'))));
    EXPECT_OK(txn.insert(notes_, 2, row(1, 1, "new")));
    return Status::rollback();
  }));
  EXPECT_EQ(text(1), "as it was");
  EXPECT_EQ(text(2), "none");
}

TEST_P(SizedRowsTest, MultiGetShowsEachSize) {
  for (Key key = 0; key < 40; ++key) insert(key, 1, std::string(key * 3, 'm'));
  const auto check = [&](Transaction& txn) {
    std::vector<Key> keys;
    for (Key key = 0; key < 50; ++key) keys.push_back(key);
    std::vector<RawView> views(keys.size());
    ASSERT_OK(txn.multi_get(notes_, keys.data(), keys.size(), {}, views.data()));
    for (Key key = 0; key < 50; ++key) {
      ASSERT_EQ(static_cast<bool>(views[key]), key < 40);
      if (key < 40) {
        EXPECT_EQ(text_of(views[key]), std::string(key * 3, 'm'));
      }
    }
  };
  transact(db_, check);
  read(db_, check);
}

TEST_P(SizedRowsTest, ScansShowEachSize) {
  for (Key key = 0; key < 60; ++key) insert(key, key % 3, std::string(key, 's'));
  const auto check = [&](Transaction& txn) {
    const Index<Head> by_owner{{notes_, 0}};
    uint64_t seen = 0;
    ASSERT_OK(txn.scan(static_cast<const IndexRef&>(by_owner), {1, 1}, {.reverse = true}, [&](Key key, RawView view) {
      EXPECT_EQ(text_of(view), std::string(key, 's'));
      EXPECT_EQ(key % 3, 1u);
      ++seen;
      return true;
    }));
    EXPECT_EQ(seen, 20u);
    if (!GetParam().ordered()) return;
    Key next = 10;
    ASSERT_OK(txn.scan(notes_, {10, 40}, ScanOptions{}, [&](Key key, RawView view) {
      EXPECT_EQ(key, next++);
      EXPECT_EQ(text_of(view), std::string(key, 's'));
      return true;
    }));
    EXPECT_EQ(next, 41u);
  };
  transact(db_, check);
  read(db_, check);
  // The range contains the transaction's own writes.
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.put(notes_, 4, row(1, 0, "own")));
    std::string found;
    ASSERT_OK(txn.scan(IndexRef{notes_, 0}, {1, 1}, ScanOptions{}, [&](Key key, RawView view) {
      if (key == 4) found = text_of(view);
      return true;
    }));
    EXPECT_EQ(found, "own");
  });
}

class SizedRowsBesideOthersTest : public SizedRowsTest {};
ELIDER_ON_CONCURRENT(SizedRowsBesideOthersTest);

TEST_P(SizedRowsBesideOthersTest, ASnapshotKeepsTheOldSize) {
  insert(1, 1, "old");
  ActiveTransaction reader = begin_read_only(db_);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(notes_, 1, row(1, 1, std::string(3000, 'n')))); });
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(notes_, 2, row(1, 1, "later"))); });
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(notes_, 1)); });
  EXPECT_EQ(text(*reader, 1), "old");
  EXPECT_EQ(text(*reader, 2), "none");
  ASSERT_OK(reader.commit());
  EXPECT_EQ(text(1), "none");
  db_.collect_garbage();
}

TEST_P(SizedRowsBesideOthersTest, AChangeOfSizeIsAConflictOfWhoReadIt) {
  insert(1, 1, "read");
  ActiveTransaction reader = begin(db_);
  EXPECT_EQ(text(*reader, 1), "read");
  ASSERT_OK(reader->insert(notes_, 9, row(1, 1, "because of it")));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(notes_, 1, row(1, 1, "changed"))); });
  EXPECT_CODE(Code::kConflict, reader.commit());
  // A transaction that edits what it has read behaves in the same way.
  ActiveTransaction editor = begin(db_);
  void* image;
  ASSERT_OK(editor->edit(notes_, 1, balance_, &image));
  static_cast<Head*>(image)->balance = 1;
  ASSERT_OK(editor->edited(notes_, image));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(notes_, 1, row(1, 1, "once more"))); });
  EXPECT_CODE(Code::kConflict, editor.commit());
  EXPECT_EQ(text(1), "once more");
}

TEST_P(SizedRowsTest, MemoryOfSizesThatChangeIsUsedAgain) {
  insert(1, 1, "x");
  for (size_t i = 0; i < 2000; ++i)
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(notes_, 1, row(1, 1, std::string(i * 7 % 4900, 'r')))); });
  db_.collect_garbage();
  EXPECT_LE(db_.statistics().memory.blocks, 64u << 10);
}

}  // namespace
}  // namespace elider::test
