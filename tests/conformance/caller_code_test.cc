// Tests what the caller's functions do inside the engine. An update's change() or an index's key
// function throws, an edit is begun and not ended, or a view belongs to something else. Nothing may
// be half applied.
#include <gtest/gtest.h>

#include <pthread.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class CallerCodeTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    angry_ = kNobody;
    plain_ = create(grouped_account_schema(GetParam().key_index, "plain"));
    SchemaOf<Account> schema = account_schema(GetParam().key_index, "indexed");
    schema.index("by_branch", {"branch"}, [](const Account& a) { return uint64_t{a.branch}; })
        .index("by_owner", {"owner"}, [this](const Account& a) {
          if (a.owner == angry_) throw std::runtime_error("no owner like this");
          return a.owner;
        });
    indexed_ = create(schema);
    for (Key key = 1; key <= 5; ++key) {
      insert(plain_, key, account(key));
      insert(indexed_, key, account(key));
    }
  }
  void TearDown() override {
    angry_ = kNobody;
    for (int i = 0; i < 3; ++i) db_.collect_garbage();
    DatabaseTest::TearDown();
  }
  static Account account(Key key) { return {key * 10, 0, static_cast<uint32_t>(key), 0}; }
  static void spoil(Account& a) {
    a = {999, 999, 999, 999};
    throw std::runtime_error("changed my mind");
  }
  // An update() throws, and the procedure catches the exception and continues. Nothing of the
  // update may be committed.
  template <class Update>
  void expect_doomed(const Table<Account>& table, Update&& update) {
    const Status status = db_.run([&](Transaction& txn) -> Status {
      EXPECT_OK(txn.put(table, 2, Account{20, 7, 2, 7}));
      EXPECT_THROW(static_cast<void>(update(txn)), std::runtime_error);
      EXPECT_CODE(Code::kProcedureThrew, txn.get(table, 2));
      EXPECT_CODE(Code::kProcedureThrew, txn.put(table, 3, Account{}));
      return {};
    });
    EXPECT_CODE(Code::kProcedureThrew, status);
    EXPECT_EQ(status.table(), table.schema().name);
    EXPECT_EQ(status.key(), 1u);
    for (Key key = 1; key <= 3; ++key) EXPECT_EQ(row(table, key), account(key));
    EXPECT_OK(db_.verify());
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(table, 1, account(1))); });
  }
  uint64_t found_by(const char* index, uint64_t value) {
    uint64_t rows = 0;
    read(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.scan(*db_.index(indexed_, index), {value, value}, {}, [&](Key, const View<Account>&) { return ++rows > 0; }));
    });
    return rows;
  }

  static constexpr uint64_t kNobody = ~uint64_t{0};
  std::atomic<uint64_t> angry_{kNobody};
  Table<Account> plain_, indexed_;
};
ELIDER_ON_EVERY(CallerCodeTest);

class SeveralTransactionsTest : public CallerCodeTest {};
ELIDER_ON_CONCURRENT(SeveralTransactionsTest);

// The thread ends within a procedure. The engine must not prevent that, and nothing of the
// transaction remains.
TEST_P(CallerCodeTest, AThreadMayEndInAProcedure) {
  for (const bool read_only : {false, true}) {
    std::function<void()> body = [&] {
      const auto procedure = [&](Transaction& txn) -> Status {
        EXPECT_OK(txn.get(plain_, 2));
        if (!read_only) {
          EXPECT_OK(txn.put(plain_, 1, Account{777, 0, 1, 0}));
        }
        pthread_exit(nullptr);
      };
      static_cast<void>(read_only ? db_.run_read_only(procedure) : db_.run(procedure));
      ADD_FAILURE() << "the thread went on";
    };
    const auto start = [](void* argument) -> void* {
      (*static_cast<std::function<void()>*>(argument))();
      return nullptr;
    };
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, start, &body), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
  }
  EXPECT_EQ(row(plain_, 1), account(1));
  EXPECT_EQ(db_.statistics().aborts[static_cast<size_t>(Cause::kException)], 2u);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(plain_, 1, account(1))); });
  EXPECT_OK(db_.verify());
}

TEST_P(CallerCodeTest, AChangeThatThrowsIsNeverCommitted) {
  for (const Table<Account>& table : {plain_, indexed_}) {
    SCOPED_TRACE(table.schema().name);
    expect_doomed(table, [&](Transaction& txn) { return txn.update(table, 1, {}, spoil); });
    expect_doomed(table, [&](Transaction& txn) { return txn.update(table, 1, table.columns(&Account::balance), spoil); });
    expect_doomed(table, [&](Transaction& txn) {
      auto view = txn.get(table, 1);
      EXPECT_OK(view);
      return txn.update(table, *view, {}, spoil);
    });
  }
}

TEST_P(CallerCodeTest, AChangeOfADescribedRowThatThrowsIsNeverCommitted) {
  struct Note {
    uint64_t number;
    Text text;
  };
  const auto notes = db_.create_table(RowsOf<Note>("notes").column("number", &Note::number).column("text", &Note::text));
  ASSERT_OK(notes);
  const auto described = db_.described_table("notes");
  ASSERT_OK(described);
  transact(db_, [&](Transaction& txn) {
    for (Key key = 1; key <= 3; ++key) ASSERT_OK(txn.insert(*notes, key, {key, "old"}));
  });
  RowBuilder row(*described);
  const auto expect_doomed = [&](auto&& update) {
    const Status status = db_.run([&](Transaction& txn) -> Status {
      EXPECT_OK(txn.put(*notes, 2, {7, "new"}));
      EXPECT_THROW(static_cast<void>(update(txn)), std::runtime_error);
      EXPECT_CODE(Code::kProcedureThrew, txn.get(*notes, 2));
      return {};
    });
    EXPECT_CODE(Code::kProcedureThrew, status);
    EXPECT_EQ(status.table(), "notes");
    EXPECT_EQ(status.key(), 1u);
    read(db_, [&](Transaction& txn) {
      for (Key key = 1; key <= 3; ++key) {
        const auto note = txn.get(*notes, key);
        ASSERT_OK(note);
        EXPECT_EQ((*note)->number, key);
        EXPECT_EQ((*note)->text, "old");
      }
    });
  };
  expect_doomed([&](Transaction& txn) {
    return txn.update(*described, 1, row, [](RowBuilder& change) {
      change.set("text", "new");
      throw std::runtime_error("changed my mind");
    });
  });
  expect_doomed([&](Transaction& txn) {
    return txn.update(*notes, 1, [](Note& note) {
      note.text = "new";
      throw std::runtime_error("changed my mind");
    });
  });
}

TEST_P(CallerCodeTest, AChangeThatThrowsThroughTheProcedureIsReportedInItsWords) {
  EXPECT_REFUSED(Code::kProcedureThrew, "changed my mind", db_.run([&](Transaction& txn) { return txn.update(indexed_, 1, {}, spoil); }));
  EXPECT_EQ(row(indexed_, 1), account(1));
}

TEST_P(CallerCodeTest, AProcedureThatCatchesAndFailsKeepsItsOwnAnswer) {
  EXPECT_REFUSED(Code::kInvalidArgument, "my own words", db_.run([&](Transaction& txn) -> Status {
    EXPECT_THROW(static_cast<void>(txn.update(plain_, 1, {}, spoil)), std::runtime_error);
    return Status::invalid_argument("my own words");
  }));
}

TEST_P(SeveralTransactionsTest, AChangeThatThrewOverRowsThatDoNotHoldRunsAgain) {
  int runs = 0;
  EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
    const bool first = ++runs == 1;
    EXPECT_OK(txn.get(plain_, 2));
    if (first) {
      ActiveTransaction other = begin(db_);
      EXPECT_OK(other->put(plain_, 2, account(7)));
      EXPECT_OK(other.commit());
      EXPECT_THROW(static_cast<void>(txn.update(plain_, 1, {}, spoil)), std::runtime_error);
    }
    return {};
  }));
  EXPECT_EQ(runs, 2);
}

TEST_P(CallerCodeTest, AKeyFunctionThatThrowsLeavesNothingHalfApplied) {
  angry_ = 666;
  const auto caught = [&](auto&& write) {
    EXPECT_CODE(Code::kProcedureThrew, db_.run([&](Transaction& txn) -> Status {
      EXPECT_OK(txn.put(indexed_, 2, Account{20, 7, 2, 7}));
      EXPECT_THROW(static_cast<void>(write(txn)), std::runtime_error);
      return {};  // as if nothing had happened
    }));
    EXPECT_REFUSED(Code::kProcedureThrew, "no owner like this", db_.run([&](Transaction& txn) -> Status { return write(txn); }));
    EXPECT_EQ(row(indexed_, 1), account(1));
    EXPECT_EQ(row(indexed_, 2), account(2));
    EXPECT_FALSE(has(indexed_, 9));
    EXPECT_EQ(found_by("by_branch", 66), 0u);
    db_.collect_garbage();
    EXPECT_OK(db_.verify());
  };
  const Account wrong{666, 1, 66, 1};
  caught([&](Transaction& txn) { return txn.insert(indexed_, 9, wrong); });
  caught([&](Transaction& txn) { return txn.put(indexed_, 9, wrong); });
  caught([&](Transaction& txn) { return txn.put(indexed_, 1, wrong); });
  caught([&](Transaction& txn) { return txn.update(indexed_, 1, {}, [&](Account& a) { a = wrong; }); });
  caught([&](Transaction& txn) { return txn.write(indexed_, 1, {}, wrong); });
  // The rows can be used as before.
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.put(indexed_, 1, Account{11, 0, 66, 0}));
    ASSERT_OK(txn.insert(indexed_, 9, Account{12, 0, 66, 0}));
  });
  EXPECT_EQ(found_by("by_branch", 66), 2u);
}

TEST_P(CallerCodeTest, ABegunTransactionWhoseChangeThrewCanOnlyBeRolledBack) {
  for (const Table<Account>& table : {plain_, indexed_}) {
    SCOPED_TRACE(table.schema().name);
    ActiveTransaction txn = begin(db_);
    ASSERT_OK(txn->put(table, 2, Account{20, 7, 2, 7}));
    EXPECT_THROW(static_cast<void>(txn->update(table, 1, {}, spoil)), std::runtime_error);
    EXPECT_CODE(Code::kProcedureThrew, txn->get(table, 2));
    EXPECT_CODE(Code::kProcedureThrew, txn.commit());
    EXPECT_CODE(Code::kFinished, txn.commit());
    for (Key key = 1; key <= 3; ++key) EXPECT_EQ(row(table, key), account(key));
    transact(db_, [&](Transaction& next) { ASSERT_OK(next.put(table, 1, account(1))); });
  }
}

TEST_P(CallerCodeTest, ABegunTransactionThatAnExceptionPassesIsRolledBack) {
  const uint32_t workers = db_.statistics().workers;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(
        {
          ActiveTransaction txn = begin(db_);
          ASSERT_OK(txn->put(indexed_, 2, Account{20, 7, 2, 7}));
          ASSERT_OK(txn->insert(indexed_, 9, Account{90, 0, 9, 0}));
          static_cast<void>(txn->update(indexed_, 1, {}, spoil));
        },
        std::runtime_error);
    EXPECT_THROW(
        {
          ActiveTransaction txn = begin_read_only(db_);
          static_cast<void>(txn->scan(*db_.index(indexed_, "by_branch"), {0, 9}, {},
                                      [](Key, const View<Account>&) -> bool { throw std::runtime_error("seen enough"); }));
        },
        std::runtime_error);
  }
  EXPECT_EQ(row(indexed_, 1), account(1));
  EXPECT_EQ(row(indexed_, 2), account(2));
  EXPECT_FALSE(has(indexed_, 9));
  EXPECT_EQ(db_.statistics().workers, workers);
  EXPECT_EQ(db_.statistics().longest_active_us, 0u);
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(indexed_, 2, account(2))); });
}

// The key function breaks its contract: it throws for values that it accepted before. Reclamation
// calls it while it holds locks. It must release them, and leave the database in order.
TEST_P(CallerCodeTest, AKeyFunctionThatThrowsDuringReclamationLeavesTheDatabaseUsable) {
  for (int round = 0; round < 3; ++round) {
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.remove(indexed_, 1));                           // leads to the unlinking of a row
      ASSERT_OK(txn.put(indexed_, 2, Account{10, 0, 77, 0}));       // and of entries
    });
    angry_ = 10;
    for (int i = 0; i < 5; ++i) EXPECT_NO_THROW(db_.collect_garbage());
    EXPECT_REFUSED(Code::kProcedureThrew, "no owner like this", db_.verify());
    angry_ = kNobody;
    EXPECT_OK(db_.verify());
    transact(db_, [&](Transaction& txn) {
      EXPECT_CODE(Code::kNotFound, txn.get(indexed_, 1));
      ASSERT_OK(txn.insert(indexed_, 1, account(1)));
      ASSERT_OK(txn.put(indexed_, 2, account(2)));
    });
    EXPECT_EQ(found_by("by_owner", 10), 1u);
    EXPECT_EQ(found_by("by_branch", 77), 0u);
    db_.collect_garbage();
    EXPECT_OK(db_.verify());
  }
}

TEST_P(CallerCodeTest, AnEditOfIndexedColumnsMustBeEnded) {
  const ColumnsRef all;
  EXPECT_REFUSED(Code::kInvalidArgument, "indexed", db_.run([&](Transaction& txn) -> Status {
    void* image = nullptr;
    EXPECT_OK(txn.edit(indexed_, 1, all, &image));
    static_cast<Account*>(image)->branch = 50;
    EXPECT_REFUSED(Code::kInvalidArgument, "edited()", txn.get(plain_, 1));
    return {};  // without edited(): the index would not follow
  }));
  EXPECT_EQ(row(indexed_, 1), account(1));
  transact(db_, [&](Transaction& txn) {
    void* image = nullptr;
    ASSERT_OK(txn.edit(indexed_, 1, all, &image));
    static_cast<Account*>(image)->branch = 50;
    ASSERT_OK(txn.edited(indexed_, image));
    ASSERT_OK(txn.get(plain_, 1));
  });
  EXPECT_EQ(found_by("by_branch", 50), 1u);
}

TEST_P(CallerCodeTest, AViewOfAnotherTableIsRefused) {
  transact(db_, [&](Transaction& txn) {
    auto view = txn.get(plain_, 1);
    ASSERT_OK(view);
    EXPECT_REFUSED(Code::kInvalidArgument, "indexed", txn.update(indexed_, *view, {}, [](Account& a) { a.balance = 99; }));
    EXPECT_OK(txn.update(plain_, *view, {}, [](Account& a) { a.balance = 1; }));
    EXPECT_REFUSED(Code::kInvalidArgument, "indexed", txn.update(indexed_, *view, {}, [](Account& a) { a.balance = 99; }));
    EXPECT_OK(txn.update(plain_, *view, {}, [](Account& a) { ++a.balance; }));
  });
  EXPECT_EQ(row(plain_, 1).balance, 2);
  EXPECT_EQ(row(indexed_, 1), account(1));
}

TEST_P(SeveralTransactionsTest, AViewOfAnotherTransactionIsRefused) {
  ActiveTransaction other = begin(db_), snapshot = begin_read_only(db_), txn = begin(db_);
  auto view = other->get(plain_, 1);
  auto old_view = snapshot->get(plain_, 1);
  ASSERT_OK(view);
  ASSERT_OK(old_view);
  const auto change = [](Account& a) { a.balance = 99; };
  EXPECT_REFUSED(Code::kInvalidArgument, "plain", txn->update(plain_, *view, {}, change));
  EXPECT_REFUSED(Code::kInvalidArgument, "plain", txn->update(plain_, *old_view, {}, change));
  ASSERT_OK(txn->get(plain_, 2));  // has the same place in the read set as the other transaction's read of row 1
  EXPECT_REFUSED(Code::kInvalidArgument, "plain", txn->update(plain_, *view, {}, change));
  EXPECT_OK(txn.commit());
  EXPECT_EQ(row(plain_, 1), account(1));
}

TEST_P(CallerCodeTest, AViewOfAnEndedTransactionIsRefused) {
  View<Account> kept;
  transact(db_, [&](Transaction& txn) { kept = *txn.get(plain_, 1); });
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "plain", txn.update(plain_, kept, {}, [](Account& a) { a.balance = 99; }));
  });
  EXPECT_EQ(row(plain_, 1), account(1));
}

}  // namespace
}  // namespace elider::test
