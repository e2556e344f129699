// The process's heap is exhausted at each allocation of a commit or rollback in turn. Story:
// whichever allocation fails, the commit takes effect completely or not at all, and reports which.
// No row stays locked, and the database continues.
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "elider/elider.h"
#include "tests/support/memory_files.h"
#include "tests/support/database_test.h"
#include "tests/support/limited_heap.h"

namespace elider::test {
namespace {

class HeapExhaustedTest : public DatabaseTest {
 protected:
  static constexpr Key kRows = 400;  // more removals than a list of retired objects has room for at first

  void SetUp() override { make({}); }
  void make(const Options& options) {
    reopen(options);
    accounts_ = create(indexed_account_schema(GetParam().key_index).group({"balance"}));
    by_branch_ = *db_.index(accounts_, "by_branch");
    documents_ = create(document_schema(GetParam().key_index));
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kRows; ++key) ASSERT_OK(txn.insert(accounts_, key, before(key)));
      ASSERT_OK(txn.insert(documents_, 1, document_of(1)));
    });
  }
  static Account before(Key key) { return {key, 0, 1, 0}; }
  static Account after(Key key) { return {key, 5, 2, 5}; }

  // Removes rows, moves index entries, inserts rows, and replaces a block.
  void change(Transaction& txn) {
    for (Key key = 0; key < kRows; ++key) {
      if (key % 4 == 0) ASSERT_OK(txn.put(accounts_, key, after(key)));
      else ASSERT_OK(txn.remove(accounts_, key));
    }
    for (Key key = 1000; key < 1050; ++key) ASSERT_OK(txn.insert(accounts_, key, after(key)));
    ASSERT_OK(txn.put(documents_, 1, document_of(2)));
  }
  void expect_state(bool changed) {
    read(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kRows; ++key) {
        auto view = txn.get(accounts_, key);
        ASSERT_CODE(changed && key % 4 != 0 ? Code::kNotFound : Code::kOk, view);
        if (!view.ok()) continue;
        ASSERT_EQ(**view, changed ? after(key) : before(key));
      }
      auto document = txn.get(documents_, 1);
      ASSERT_OK(document);
      ASSERT_EQ(**document, document_of(changed ? 2 : 1));
      uint64_t moved = 0;
      ASSERT_OK(txn.scan(by_branch_, {2, 2}, {}, [&](Key, const View<Account>&) { return ++moved > 0; }));
      ASSERT_EQ(moved, changed ? kRows / 4 + 50 : 0u);
    });
  }
  // Ends a transaction with changes by calling `end`, with the given number of allocations
  // possible. Returns true if they were enough.
  template <class End>
  bool end_with(int64_t allocations, End&& end, bool snapshot_open) {
    ActiveTransaction reader;
    if (snapshot_open && GetParam().concurrent()) {
      reader = begin_read_only(db_);
      EXPECT_OK(reader->get(accounts_, 0));
    }
    ActiveTransaction txn = begin(db_);
    change(*txn);
    bool enough = false;
    const Status status = limited(allocations, [&] { return end(txn); }, &enough);
    EXPECT_TRUE(status.ok() || status.code() == Code::kMemoryLimit) << status.message();
    committed_ = status.ok();
    return enough;
  }
  template <class End>
  void expect_whole_or_nothing(End&& end, bool snapshot_open, int64_t step) {
    int64_t allocations = 0;
    for (bool enough = false; !enough; allocations += step) {
      SCOPED_TRACE("allocations: " + std::to_string(allocations));
      make({});
      enough = end_with(allocations, end, snapshot_open);
      expect_state(committed_);
      for (int i = 0; i < 2; ++i) db_.collect_garbage();
      EXPECT_OK(db_.verify());
      expect_state(committed_);
      transact(db_, [&](Transaction& txn) {  // no row is locked, no entry in the way
        for (Key key = 0; key < kRows; ++key) ASSERT_OK(txn.put(accounts_, key, before(key)));
        for (Key key = 1000; key < 1050; ++key) ASSERT_OK(txn.put(accounts_, key, before(key)));
      });
      db_.collect_garbage();
      EXPECT_OK(db_.verify());
      if (HasFailure()) return;
    }
    EXPECT_GT(allocations, step) << "nothing was allocated: the test tests nothing";
  }

  uint64_t row_bytes() const { return db_.statistics().tables.front().row_bytes; }

  bool committed_ = false;
  Table<Account> accounts_;
  Index<Account> by_branch_;
  Table<Document> documents_;
};
ELIDER_ON_EVERY(HeapExhaustedTest);

TEST_P(HeapExhaustedTest, ACommitIsWholeOrNothing) {
  expect_whole_or_nothing([](ActiveTransaction& txn) { return txn.commit(); }, false, 47);
}

TEST_P(HeapExhaustedTest, ACommitBesideAReaderIsWholeOrNothing) {
  expect_whole_or_nothing([](ActiveTransaction& txn) { return txn.commit(); }, true, 101);
}

TEST_P(HeapExhaustedTest, ARollbackLeavesNothing) {
  expect_whole_or_nothing(
      [](ActiveTransaction& txn) {
        txn.rollback();
        return Status(Code::kMemoryLimit, Cause::kUser);
      },
      false, 19);
}

// Fails at each allocation of a commit with one row of each kind.
TEST_P(HeapExhaustedTest, ASmallCommitIsWholeOrNothingAtEachAllocation) {
  bool enough = false;
  for (int64_t allocations = 0; !enough; ++allocations) {
    SCOPED_TRACE("allocations: " + std::to_string(allocations));
    make({});
    ActiveTransaction txn = begin(db_);
    ASSERT_OK(txn->put(accounts_, 1, after(1)));
    ASSERT_OK(txn->remove(accounts_, 2));
    ASSERT_OK(txn->insert(accounts_, 1000, after(1000)));
    ASSERT_OK(txn->put(documents_, 1, document_of(2)));
    const Status status = limited(allocations, [&] { return txn.commit(); }, &enough);
    EXPECT_EQ(row(accounts_, 1), status.ok() ? after(1) : before(1));
    EXPECT_EQ(has(accounts_, 2), !status.ok());
    EXPECT_EQ(has(accounts_, 1000), status.ok());
    EXPECT_EQ(row(documents_, 1), document_of(status.ok() ? 2 : 1));
    db_.collect_garbage();
    EXPECT_OK(db_.verify());
    if (HasFailure()) return;
  }
}

// Fails at each allocation of a group. The outcomes of its calls say what was committed.
TEST_P(HeapExhaustedTest, EachCallOfAGroupIsWholeOrNothing) {
  bool enough = false;
  for (int64_t allocations = 0; !enough && !HasFailure(); ++allocations) {
    SCOPED_TRACE("allocations: " + std::to_string(allocations));
    make({});
    std::vector<Status> outcomes(4);
    const auto touch = [&](size_t i, Touches& touches) { touches.row(accounts_, i + 1); };
    const auto put = [&](size_t i, Transaction& txn) { return txn.put(accounts_, i + 1, after(i + 1)); };
    const Status status = limited(allocations, [&] { return db_.run_group(4, touch, put, outcomes); }, &enough);
    for (Key key = 1; key <= 4; ++key) {
      const Status& outcome = outcomes[key - 1];
      // The std::bad_alloc of an operation passes through the procedure.
      EXPECT_TRUE(outcome.ok() || outcome.code() == Code::kMemoryLimit || outcome.code() == Code::kProcedureThrew) << outcome.message();
      EXPECT_EQ(row(accounts_, key), outcome.ok() ? after(key) : before(key));
    }
    EXPECT_TRUE(status.ok() || !enough) << status.message();
    EXPECT_OK(db_.verify());
  }
}

// The database has a log, in files in memory.
TEST_P(HeapExhaustedTest, ACommitAndACheckpointAreLoggedWholeOrNotAtAll) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  Options options;
  options.data_folders = {"db"};
  options.log_buffer_bytes = 4096;  // so that the large row's record has a block of its own
  options.checkpoint_log_bytes = 0;
  make(options);
  bool enough = false;
  for (int64_t allocations = 0; !enough && !HasFailure(); ++allocations) {
    SCOPED_TRACE("commit, allocations: " + std::to_string(allocations));
    ActiveTransaction txn = begin(db_);
    ASSERT_OK(txn->put(documents_, 1, document_of(2)));
    const Status status = limited(allocations, [&] { return txn.commit(); }, &enough);
    EXPECT_TRUE(status.ok() || status.code() == Code::kMemoryLimit) << status.message();
    EXPECT_EQ(row(documents_, 1), document_of(status.ok() ? 2 : 1));
    if (status.ok()) break;
  }
  enough = false;
  for (int64_t allocations = 0; !enough && !HasFailure(); allocations += 1 + allocations / 16) {
    SCOPED_TRACE("checkpoint, allocations: " + std::to_string(allocations));
    const Status status = limited(allocations, [&] { return db_.checkpoint(); }, &enough);
    EXPECT_TRUE(status.ok() || status.code() == Code::kMemoryLimit) << status.message();
  }
  EXPECT_GE(db_.statistics().checkpoints.taken, 1u);
  EXPECT_OK(db_.wait_durable());
  options.schemas = {indexed_account_schema(GetParam().key_index).group({"balance"}).schema()};
  db_ = Database();
  reopen(options);
  documents_ = *db_.table<Document>("documents");
  EXPECT_EQ(row(documents_, 1), document_of(2));
  EXPECT_OK(db_.verify());
  make({});  // the files go
}

// A procedure that ignores the failure of an operation cannot commit half of it. If the rollback
// can allocate memory again, nothing of the operation remains.
TEST_P(HeapExhaustedTest, AnOperationThatFailsDoomsItsTransaction) {
  constexpr Key kLast = 1599;  // more rows than were written before, so that the session's memory must grow
  for (int64_t round = 0; round < 2 * 24; ++round) {
    const int64_t allocations = round / 2;
    SCOPED_TRACE("allocations: " + std::to_string(allocations));
    make({});
    const uint64_t bytes = row_bytes();
    bool failed = false;
    const Status status = db_.run([&](Transaction& txn) -> Status {
      failed = false;
      allocations_left = allocations;
      fails_once = round % 2 == 0;
      try {
        for (Key key = 1000; key <= kLast; ++key)
          if (Status insert = txn.insert(accounts_, key, after(key)); !insert.ok()) failed = true;
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      allocations_left = -1;
      return {};
    });
    EXPECT_EQ(status.ok(), !failed) << status.message();
    EXPECT_EQ(has(accounts_, 1000), !failed);
    EXPECT_EQ(has(accounts_, kLast), !failed);
    for (int i = 0; i < 3; ++i) db_.collect_garbage();
    EXPECT_OK(db_.verify());
    if (failed && fails_once) {
      EXPECT_EQ(row_bytes(), bytes) << "a row block was left behind";
    }
    fails_once = false;
    insert(accounts_, kLast + (failed ? 0 : 1), after(kLast + (failed ? 0 : 1)));
    if (HasFailure()) return;
  }
}

// Fails at each allocation of a scan of rows and of a page.
TEST_P(HeapExhaustedTest, ARowScanAndAPageAreReadWholeOrRefused) {
  bool enough = false;
  for (int64_t allocations = 0; !enough && !HasFailure(); ++allocations) {
    SCOPED_TRACE("scan_rows, allocations: " + std::to_string(allocations));
    ActiveTransaction txn = begin_read_only(db_);
    uint64_t rows = 0;
    const auto count = [&](Key, const View<Account>&) { ++rows; };
    const Status status = limited(allocations, [&] { return txn->scan_rows(accounts_, {}, count); }, &enough);
    EXPECT_TRUE(status.ok() || status.code() == Code::kMemoryLimit) << status.message();
    EXPECT_TRUE(!status.ok() || rows == kRows) << rows;
  }
  enough = false;
  bool refused = false;
  for (int64_t allocations = 0; !enough && !HasFailure(); ++allocations) {
    SCOPED_TRACE("next, allocations: " + std::to_string(allocations));
    ActiveTransaction txn = begin_read_only(db_);
    IndexScan scan(by_branch_);
    std::vector<View<Account>> page(kRows);
    const Status status = limited(allocations, [&] { return scan.next(*txn, page).status(); }, &enough);
    EXPECT_TRUE(status.ok() || status.code() == Code::kMemoryLimit) << status.message();
    refused |= !status.ok();
    // A refusal does not change the position.
    EXPECT_EQ(*scan.next(*txn, page), status.ok() ? 0 : kRows);
  }
  EXPECT_TRUE(refused) << "a page needs memory";
}

// Threads without a session use a database with room for three transactions. If a failed begin did
// not give its place back, one of them would be missing.
TEST_P(HeapExhaustedTest, ATransactionThatCannotBeginTakesNothing) {
  Options options;
  options.workers_max = 3;
  const std::function<Status()> ways[] = {
      [&] { return db_.run([](Transaction&) { return Status(); }); },
      [&] { return db_.run_read_only([](Transaction&) { return Status(); }); },
      [&] { return db_.begin().status(); },
      [&] { return db_.begin_read_only().status(); },
  };
  for (size_t way = 0; way < std::size(ways); ++way) {
    make(options);
    bool enough = false;
    for (int64_t allocations = 0; !enough && !HasFailure(); ++allocations) {
      const std::string trace = "way " + std::to_string(way) + ", allocations: " + std::to_string(allocations);
      std::thread([&] {
        Status status;
        allocations_left = allocations;
        try {
          status = ways[way]();
        } catch (const std::bad_alloc&) {
          status = Status(Code::kMemoryLimit, Cause::kMemoryLimit);
        }
        enough = allocations_left != 0;
        allocations_left = -1;
        EXPECT_TRUE(status.ok() || status.code() == Code::kMemoryLimit) << trace << ": " << status.message();
        EXPECT_OK(ways[way]()) << trace;
      }).join();
      EXPECT_EQ(db_.statistics().longest_active_us, 0u) << trace;
      EXPECT_OK(db_.run([&](Transaction& txn) { return txn.put(accounts_, 1, before(1)); })) << trace;
    }
    EXPECT_EQ(db_.statistics().workers, 1u);
  }
}

}  // namespace
}  // namespace elider::test
