// Single rows: copying against writing, inserting one key twice, reinserting against unlinking, and
// leaves and buckets that split while they are read. The file is long because these tests share one
// fixture.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/race/race_test.h"

namespace elider::test {
namespace {

class RecordRaceTest : public RaceTest {
 protected:
  void SetUp() override {
    RaceTest::SetUp();
    if (IsSkipped()) return;
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    documents_ = create(document_schema(GetParam().key_index));
    insert(accounts_, 1, account(1));
    insert(documents_, 1, document_of(1));
  }
  static Account account(Key key, uint32_t flags = 0) { return {key * 10, 0, static_cast<uint32_t>(key), flags}; }
  Status reinsert(uint32_t flags) {
    if (Status status = db_.run([&](Transaction& txn) { return txn.remove(accounts_, 1); }); !status.ok()) return status;
    return db_.run([&](Transaction& txn) { return txn.insert(accounts_, 1, account(1, flags)); });
  }
  // Collects garbage in another thread. What this thread protects from reclamation stays.
  void collect() {
    Background([&] {
      for (int i = 0; i < 10; ++i) db_.collect_garbage();
    }).join();
  }
  Status set_branch(Transaction& txn, uint32_t branch) {
    return txn.update(accounts_, 1, accounts_.columns(&Account::branch), [&](Account& a) { a.branch = branch; });
  }
  // Returns how many rows the index finds from branch 70.
  int count(Transaction& txn) {
    int rows = 0;
    const auto visit = [&](Key, const View<Account>&) { return ++rows > 0; };
    if (by_columns_) EXPECT_OK(txn.scan(by_branch_, prefix(70), {}, visit));
    else EXPECT_OK(txn.scan(by_branch_, {70, 70}, {}, visit));
    return rows;
  }
  // Continues with a table whose indexes are by columns.
  void use_columns() {
    accounts_ = create(account_schema(GetParam().key_index, "by_columns").index("by_branch", {"branch", descending("owner")}));
    by_branch_ = *db_.index(accounts_, "by_branch");
    by_columns_ = true;
    insert(accounts_, 1, account(1));
  }
  void find_entries_before_they_would_be_taken_out();
  void take_entries_in_use_for_outdated();

  bool by_columns_ = false;
  Table<Account> accounts_;
  Index<Account> by_branch_;
  Table<Document> documents_;
};
ELIDER_ON_RACING(RecordRaceTest);

TEST_P(RecordRaceTest, ARowThatChangesWhileItIsCopiedIsCopiedAgain) {
  TestStop copied("read.copied");
  Background reader([&] {
    transact(db_, [&](Transaction& txn) {
      auto view = txn.get(accounts_, 1);
      ASSERT_OK(view);
      EXPECT_EQ(**view, (Account{11, 1, 2, 3}));  // the newest, whole
    });
  });
  copied.wait_until_reached();
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(accounts_, 1, Account{11, 1, 2, 3})); });
  copied.go();
}

TEST_P(RecordRaceTest, ARowRemovedWhileItIsCopiedIsNotFound) {
  TestStop copied("read.copied");
  Background reader([&] {
    transact(db_, [&](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.get(accounts_, 1)); });
  });
  copied.wait_until_reached();
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
  copied.go();
}

TEST_P(RecordRaceTest, ARowReinsertedWhileItIsCopiedIsTheNewOne) {
  ActiveTransaction holder = begin_read_only(db_);  // keeps the row block in its index
  TestStop copied("read.copied");
  Background reader([&] {
    transact(db_, [&](Transaction& txn) {
      auto view = txn.get(accounts_, 1);
      ASSERT_OK(view);
      EXPECT_EQ((*view)->flags, 5u);
    });
  });
  copied.wait_until_reached();
  EXPECT_OK(reinsert(5));
  copied.go();
}

TEST_P(RecordRaceTest, ABlockSwappedWhileItIsReadIsOneBlock) {
  TestStop copied("read.copied");
  Background reader([&] {
    transact(db_, [&](Transaction& txn) {
      auto view = txn.get(documents_, 1);
      ASSERT_OK(view);
      EXPECT_EQ(**view, document_of((*view)->revision));
    });
  });
  if (GetParam().concurrent()) copied.wait_until_reached();
  for (uint64_t revision = 2; revision < 20; ++revision)
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(documents_, 1, document_of(revision))); });
  copied.go();
}

// A small variable-size row is overwritten in its row block, so what was copied must be checked. A
// transaction that may write reads the new row, and a snapshot reader reads the old one.
TEST_P(RecordRaceTest, ASmallRowThatChangesWhileItIsCopiedIsCopiedAgain) {
  Schema schema;
  schema.name = "values";
  schema.key_index = GetParam().key_index;
  schema.row_bytes = 1000;
  schema.sized_rows = true;
  const TableRef values = *db_.create_table(schema);
  const auto put = [&](size_t size) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(values, 1, std::vector<std::byte>(size, std::byte(size)))); });
  };
  enum class Way { kGet, kEdit, kSnapshot };
  const auto look = [&](Transaction& txn, Way way, RawView* view) -> Status {
    if (way != Way::kEdit) return txn.get(values, 1, {}, view);
    void* image;
    ELIDER_TRY(txn.edit(values, 1, {}, &image));
    ELIDER_TRY(txn.edited(values, image));
    return txn.get(values, 1, {}, view);
  };
  for (const Way way : {Way::kGet, Way::kEdit, Way::kSnapshot})
    for (const size_t size : {size_t{20}, size_t{60}, size_t{500}}) {
      SCOPED_TRACE(std::to_string(size) + ", way " + std::to_string(static_cast<int>(way)));
      TestPoints::clear();
      put(40);
      const size_t expected = way == Way::kSnapshot ? 40 : size;
      TestStop copied("read.sized.copied");
      Background reader([&] {
        const auto body = [&](Transaction& txn) {
          RawView view;
          ASSERT_OK(look(txn, way, &view));
          EXPECT_EQ(view.size(), expected);
          for (size_t i = 0; i < view.size(); ++i) EXPECT_EQ(view.bytes()[i], std::byte(expected)) << i;
        };
        if (way == Way::kSnapshot) read(db_, body);
        else transact(db_, body);
      });
      copied.wait_until_reached();
      put(size);
      copied.go();
    }
}

TEST_P(RecordRaceTest, AReadBeforeACommitsLockIsRefusedAfterIt) {
  for (const char* step : kCommitPoints) {
    SCOPED_TRACE(step);
    TestPoints::clear();
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(accounts_, 1, account(1))); });
    TestStop commit(step);
    Background writer([&] {
      EXPECT_OK(db_.run([&](Transaction& txn) { return txn.update(accounts_, 1, {}, [](Account& a) { a.flags = 1; }); }));
    });
    commit.wait_until_reached();
    // Reads the row as it was before, if it is not locked. Then the writer continues.
    std::atomic<bool> reading{false};
    std::optional<Status> outcome;
    uint32_t seen = 0;
    Background reader([&] {
      ActiveTransaction txn = begin(db_);
      reading = true;
      reading.notify_all();
      auto view = txn->get(accounts_, 1);
      ASSERT_OK(view);
      seen = (*view)->flags;
      writer.join();
      EXPECT_OK(txn->insert(documents_, 2, document_of(seen)));
      outcome = txn.commit();
    });
    reading.wait(false);
    commit.go();
    reader.join();
    EXPECT_EQ(outcome->ok(), seen == 1) << outcome->message();
    transact(db_, [&](Transaction& txn) { static_cast<void>(txn.remove(documents_, 2)); });
  }
}

TEST_P(RecordRaceTest, OfTwoInsertersOfOneKeyTheLaterIsToldOfTheDuplicate) {
  TestStop placed("occ.insert.after_index");
  std::vector<Code> codes;
  Background slow([&] {
    EXPECT_CODE(Code::kDuplicateKey, db_.run([&](Transaction& txn) -> Status {
      const Status status = txn.insert(accounts_, 9, account(9, 1));
      codes.push_back(status.code());
      return status;
    }));
  });
  placed.wait_until_reached();  // its row block is in the index, absent
  EXPECT_FALSE(has(accounts_, 9));
  transact(db_, [&](Transaction& txn) { EXPECT_CODE(Code::kNotFound, txn.get(accounts_, 9)); });
  insert(accounts_, 9, account(9, 2));
  placed.go();
  slow.join();
  EXPECT_EQ(codes.back(), Code::kDuplicateKey);
  EXPECT_EQ(row(accounts_, 9).flags, 2u);
}

TEST_P(RecordRaceTest, AnInsertIntoABlockWhoseMakerRolledBackIsKept) {
  TestStop locking("occ.commit.before_lock");
  ActiveTransaction maker = begin(db_);
  ASSERT_OK(maker->insert(accounts_, 9, account(9, 1)));
  Background second([&] { insert(accounts_, 9, account(9, 2)); });
  locking.wait_until_reached();  // it has found the maker's block
  maker.rollback();
  Background([&] {
    for (int i = 0; i < 10; ++i) db_.collect_garbage();
  }).join();
  locking.go();
  second.join();
  db_.collect_garbage();
  EXPECT_EQ(row(accounts_, 9).flags, 2u);
}

// An insert finds the absent row block before it is unlinked, and commits afterwards. The engine
// decides how many epochs a grace period has. So the test makes the removal older by one epoch each
// time, until the inserter can still find the block but cannot keep it.
TEST_P(RecordRaceTest, AReinsertionMeetsTheUnlinkingOfItsRow) {
  bool met = false;
  for (int age = 1; age <= 6 && !met; ++age) {
    SCOPED_TRACE("age " + std::to_string(age));
    TestPoints::clear();
    TestPoints::on("gc.after_unlink", [] {});
    ActiveTransaction holder = begin_read_only(db_);  // the epoch advances by at most one while it is open
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
    for (int epoch = 1; epoch < age; ++epoch) {
      collect();
      ActiveTransaction next = begin_read_only(db_);
      holder = std::move(next);  // ends the former one
    }
    collect();
    const uint64_t unlinked_before = TestPoints::reached("gc.after_unlink");
    TestStop locking("occ.commit.before_lock");
    std::atomic<uint32_t> attempts{0};
    Background inserter([&] {
      EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
        attempts = txn.attempt();
        return txn.insert(accounts_, 1, account(1, 8));
      }));
    });
    locking.wait_until_reached();
    holder.rollback();
    collect();
    const bool unlinked_meanwhile = unlinked_before == 0 && TestPoints::reached("gc.after_unlink") == 1;
    locking.go();
    inserter.join();
    EXPECT_EQ(attempts.load(), unlinked_meanwhile ? 2u : 1u);
    EXPECT_EQ(row(accounts_, 1).flags, 8u);
    read(db_, [&](Transaction& txn) {
      int rows = 0;
      ASSERT_OK(txn.scan(by_branch_, {}, {}, [&](Key, const View<Account>&) { return ++rows > 0; }));
      EXPECT_EQ(rows, 1);
    });
    met |= unlinked_meanwhile;
  }
  EXPECT_TRUE(met) << "the race did not come about";
}

// The remover's commit, or the collector, is held before or after it has taken the row out of its
// indexes. Then an insert comes.
TEST_P(RecordRaceTest, AnInsertDuringTheUnlinkingSucceeds) {
  const auto remove = [&] { transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); }); };
  for (const auto& [point, at_commit] : {std::pair("gc.before_unlink", false), std::pair("gc.after_unlink", false),
                                         std::pair("occ.commit.after_release", true), std::pair("gc.before_unlink", true),
                                         std::pair("gc.after_unlink", true)}) {
    SCOPED_TRACE(std::string(point) + (at_commit ? " in the commit" : ""));
    TestPoints::clear();
    if (!at_commit) {
      ActiveTransaction holder = begin_read_only(db_);  // or the commit would unlink
      remove();
    }
    TestStop unlinking(point);
    Background collector([&, at_commit = at_commit] { at_commit ? remove() : db_.collect_garbage(); });
    unlinking.wait_until_reached();
    std::atomic<bool> began{false};
    Background inserter([&] {
      EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
        began = true;
        began.notify_all();
        return txn.insert(accounts_, 1, account(1, 6));
      }));
    });
    began.wait(false);
    unlinking.go();
    inserter.join();
    collector.join();
    EXPECT_EQ(row(accounts_, 1).flags, 6u);
    db_.collect_garbage();
    EXPECT_EQ(row(accounts_, 1).flags, 6u);
    EXPECT_OK(db_.verify());
  }
}

// An insert finds the row block absent after the remover has released it, and before it has
// unlinked it.
TEST_P(RecordRaceTest, ACommitUnlinksTheBlockThatAnInsertHasFound) {
  const auto remove_and_reinsert = [&](auto& table, auto row) {
    TestPoints::clear();
    TestPoints::on("gc.after_unlink", [] {});
    TestStop released("occ.commit.after_release");
    Background remover([&] { transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(table, 1)); }); });
    released.wait_until_reached();
    ActiveTransaction inserter = begin(db_);
    ASSERT_OK(inserter->insert(table, 1, row));
    released.go();
    remover.join();
    EXPECT_EQ(TestPoints::reached("gc.after_unlink"), 1u);
    EXPECT_EQ(inserter.commit().cause(), Cause::kRowRemoved);
    EXPECT_OK(db_.run([&](Transaction& txn) { return txn.insert(table, 1, row); }));
    EXPECT_OK(db_.verify());
  };
  remove_and_reinsert(documents_, document_of(7));
  remove_and_reinsert(accounts_, account(1, 7));
  EXPECT_EQ(row(documents_, 1), document_of(7));
  EXPECT_EQ(row(accounts_, 1).flags, 7u);
}

// A transaction has removed a row and puts another one with another value in its place. Meanwhile,
// another transaction locks the row and unlocks it again. The row's former entry must end with the
// commit nevertheless.
TEST_P(RecordRaceTest, AnEntryEndsThoughItsRowIsLockedForAMomentByAnAttempt) {
  insert(accounts_, 2, account(2));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(set_branch(txn, 70)); });
  ActiveTransaction mover = begin(db_);
  ASSERT_OK(mover->remove(accounts_, 1));
  ActiveTransaction loser = begin(db_);
  ASSERT_OK(loser->get(accounts_, 2));
  ASSERT_OK(set_branch(*loser, 72));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.put(accounts_, 2, account(2, 9))); });  // which the loser has read
  TestStop locked("occ.commit.after_lock");
  Background attempt([&] { EXPECT_CODE(Code::kConflict, loser.commit()); });
  locked.wait_until_reached();
  std::atomic<bool> moved{false};
  Background move([&] {
    Account a = account(1);
    a.branch = 71;
    EXPECT_OK(mover->insert(accounts_, 1, a));
    moved = true;
  });
  // It waits for the lock; an engine that does not would be through by then.
  for (int i = 0; i < 50 && !moved; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  locked.go();
  attempt.join();
  move.join();
  EXPECT_OK(mover.commit());
  EXPECT_OK(db_.verify());
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
  Background([&] {
    for (int i = 0; i < 10; ++i) db_.collect_garbage();
  }).join();
  Account again = account(1);
  again.branch = 70;
  EXPECT_OK(once([&](Transaction& txn) { return txn.insert(accounts_, 1, again); }));
  EXPECT_OK(db_.verify());
}

// An open transaction has inserted an entry for a row that is meanwhile removed and unlinked. It
// can no longer commit, and does not prevent the insertion of a row with that key and value.
TEST_P(RecordRaceTest, AnEntryOfATransactionThatCannotCommitIsInNobodysWay) {
  ActiveTransaction open = begin(db_);
  ASSERT_OK(open->update(accounts_, 1, accounts_.columns(&Account::branch), [](Account& a) { a.branch = 70; }));
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
  Account again = account(1, 3);
  again.branch = 70;
  EXPECT_OK(once([&](Transaction& txn) { return txn.insert(accounts_, 1, again); }));
  EXPECT_CODE(Code::kConflict, open.commit());
  for (int i = 0; i < 10; ++i) db_.collect_garbage();
  EXPECT_EQ(row(accounts_, 1), again);
  read(db_, [&](Transaction& txn) {
    int rows = 0;
    ASSERT_OK(txn.scan(by_branch_, {70, 70}, {}, [&](Key, const View<Account>&) { return ++rows > 0; }));
    EXPECT_EQ(rows, 1);
  });
  EXPECT_OK(db_.verify());
}

// A reader of the absent row still has its word when the block is unlinked and replaced by another
// one.
TEST_P(RecordRaceTest, AnAbsentReadOfAnUnlinkedBlockSeesItsReinsertion) {
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 1)); });
  ActiveTransaction reader = begin(db_);
  EXPECT_CODE(Code::kNotFound, reader->get(accounts_, 1));
  Background([&] {
    for (int i = 0; i < 10; ++i) db_.collect_garbage();
    EXPECT_OK(db_.run([&](Transaction& txn) { return txn.insert(accounts_, 1, account(1, 4)); }));
    for (int i = 0; i < 10; ++i) db_.collect_garbage();
  }).join();
  ASSERT_OK(reader->insert(documents_, 5, document_of(1)));
  EXPECT_CODE(Code::kConflict, reader.commit());
}

TEST_P(RecordRaceTest, AScanWhoseLeavesSplitUnderItIsExactOnASnapshotAndRefusedElsewhere) {
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  transact(db_, [&](Transaction& txn) {
    for (Key key = 100; key <= 10'000; key += 100) ASSERT_OK(txn.insert(accounts_, key, account(key)));
  });
  for (bool snapshot : {true, false}) {
    SCOPED_TRACE(snapshot ? "snapshot" : "ordinary");
    const Key offset = snapshot ? 1 : 50;
    ActiveTransaction txn = snapshot ? begin_read_only(db_) : begin(db_);
    std::vector<Key> expected;
    ASSERT_OK(txn->scan(accounts_, {}, {}, [&](Key key, const View<Account>&) { return expected.push_back(key), true; }));
    std::vector<Key> keys;
    int visits = 0;
    ASSERT_OK(txn->scan(accounts_, {}, {}, [&](Key key, const View<Account>&) {
      keys.push_back(key);
      if (++visits == 30)  // fills and splits the leaves before, at and after the scan's place
        std::thread([&] {
          transact(db_, [&](Transaction& other) {
            for (Key around = 2500; around < 3500; around += 100)
              for (Key i = 0; i < 40; ++i) ASSERT_OK(other.insert(accounts_, around + offset + i, account(around + offset + i)));
          });
        }).join();
      return true;
    }));
    if (snapshot) {
      EXPECT_EQ(keys, expected);
      EXPECT_OK(txn.commit());
      continue;
    }
    ASSERT_OK(txn->insert(documents_, 7, document_of(1)));
    EXPECT_CODE(Code::kConflict, txn.commit());
  }
}

TEST_P(RecordRaceTest, ReadersMeetALeafThatIsAboutToSplit) {
  if (!GetParam().ordered()) return;  // only trees have leaves
  for (Key key = 100; key <= 5000; key += 100) insert(accounts_, key, account(key));
  TestStop split("btree.before_split");
  Background writer([&] {
    for (Key key = 2001; key < 2100; ++key) insert(accounts_, key, account(key));
  });
  split.wait_until_reached();
  std::atomic<bool> began{false};
  Background reader([&] {
    transact(db_, [&](Transaction& txn) {
      began = true;
      began.notify_all();
      Key last = 0;
      uint64_t hundreds = 0;
      ASSERT_OK(txn.scan(accounts_, {100, 5000}, {}, [&](Key key, const View<Account>&) {
        EXPECT_GT(key, last);
        last = key;
        hundreds += key % 100 == 0;
        return true;
      }));
      EXPECT_EQ(hundreds, 50u);
      for (Key key = 100; key <= 5000; key += 100) EXPECT_OK(txn.get(accounts_, key));
    });
  });
  began.wait(false);
  split.go();
}

TEST_P(RecordRaceTest, ReadersMeetABucketThatIsAboutToMigrate) {
  if (GetParam().ordered()) return;  // only hash tables have buckets
  TestStop migrate("hash.before_migrate");
  Background writer([&] {
    for (Key key = 1000; key < 3000; ++key) insert(accounts_, key, account(key));
  });
  migrate.wait_until_reached();
  std::atomic<bool> began{false};
  Background reader([&] {
    transact(db_, [&](Transaction& txn) {
      began = true;
      began.notify_all();
      std::vector<Key> keys;
      for (Key key = 900; key < 1000; ++key) keys.push_back(key);
      keys.push_back(1);
      std::vector<View<Account>> views(keys.size());
      ASSERT_OK(txn.multi_get<Account>(accounts_, keys, views));
      EXPECT_TRUE(views.back());
      for (size_t i = 0; i + 1 < keys.size(); ++i) EXPECT_FALSE(views[i]);
    });
  });
  began.wait(false);
  migrate.go();
}

// A transaction gives a row a value for which there is an outdated entry, which is about to be
// removed. The removal comes when the entry has just been found, or later while the transaction
// runs. In both cases, the transaction's own scan finds an entry, and so does a scan after the
// commit. As above, the entry is made older until this can happen.
void RecordRaceTest::find_entries_before_they_would_be_taken_out() {
  std::vector<bool> taken_out;  // by age: at the instant when it is found
  for (const char* step : {"occ.index.entry_found", "occ.commit.before_lock"}) {
    for (size_t age = 1; age <= 6; ++age) {
      SCOPED_TRACE(std::string(step) + ", age " + std::to_string(age));
      TestPoints::clear();
      transact(db_, [&](Transaction& txn) { ASSERT_OK(set_branch(txn, 70)); });
      collect();
      ActiveTransaction holder = begin_read_only(db_);
      transact(db_, [&](Transaction& txn) { ASSERT_OK(set_branch(txn, 71)); });  // the entry of 70 is outdated now
      for (size_t epoch = 1; epoch < age; ++epoch) {
        collect();
        ActiveTransaction next = begin_read_only(db_);
        holder = std::move(next);
      }
      collect();
      TestPoints::on("gc.before_entry_removal", [] {});
      TestPoints::on(step, [&] {
        holder.rollback();
        collect();
      });
      transact(db_, [&](Transaction& txn) {
        ASSERT_OK(set_branch(txn, 70));
        EXPECT_EQ(count(txn), 1);
      });
      const bool removed = TestPoints::reached("gc.before_entry_removal") != 0;
      if (step == std::string_view("occ.index.entry_found")) {
        taken_out.push_back(TestPoints::reached(step) != 0 && removed);
      } else if (taken_out[age - 1]) {
        EXPECT_FALSE(removed);
      }
      TestPoints::clear();
      read(db_, [&](Transaction& txn) { EXPECT_EQ(count(txn), 1); });
      collect();
      EXPECT_OK(db_.verify());
      read(db_, [&](Transaction& txn) { EXPECT_EQ(count(txn), 1); });
    }
  }
  EXPECT_NE(std::count(taken_out.begin(), taken_out.end(), true), 0) << "the race did not come about";
}

TEST_P(RecordRaceTest, AnEntryThatIsFoundBeforeItWouldBeTakenOutIsThere) { find_entries_before_they_would_be_taken_out(); }

TEST_P(RecordRaceTest, AnEntryOfColumnsThatIsFoundBeforeItWouldBeTakenOutIsThere) {
  use_columns();
  find_entries_before_they_would_be_taken_out();
}

// A row's value goes away and comes back in one transaction, so that the entry in use is among the
// outdated ones. They are collected when the commit of the next change has released the row. A
// snapshot of the earlier state still finds the row. When the value has come back once more, every
// transaction finds it.
void RecordRaceTest::take_entries_in_use_for_outdated() {
  for (int age = 1; age <= 6; ++age)
    for (int age_later = 1; age_later <= 6 && !HasFailure(); ++age_later) {
      SCOPED_TRACE("ages " + std::to_string(age) + " and " + std::to_string(age_later));
      ActiveTransaction holder;
      const auto grow_older = [&](int epochs) {
        for (int epoch = 1; epoch < epochs; ++epoch) {
          collect();
          ActiveTransaction next = begin_read_only(db_);
          holder = std::move(next);
        }
      };
      transact(db_, [&](Transaction& txn) { ASSERT_OK(set_branch(txn, 70)); });
      collect();
      holder = begin_read_only(db_);
      transact(db_, [&](Transaction& txn) {
        ASSERT_OK(set_branch(txn, 71));
        ASSERT_OK(set_branch(txn, 70));
      });
      grow_older(age + 1);
      TestPoints::on("occ.commit.after_release", [&] { collect(); });
      transact(db_, [&](Transaction& txn) { ASSERT_OK(set_branch(txn, 72)); });
      TestPoints::clear();
      EXPECT_EQ(count(*holder), 1) << "the snapshot has lost the row";
      grow_older(age_later);
      TestPoints::on("occ.commit.before_lock", [&] {
        holder.rollback();
        collect();
      });
      transact(db_, [&](Transaction& txn) { ASSERT_OK(set_branch(txn, 70)); });
      TestPoints::clear();
      read(db_, [&](Transaction& txn) { EXPECT_EQ(count(txn), 1) << "the index has lost the row"; });
      EXPECT_OK(db_.verify());
    }
}

TEST_P(RecordRaceTest, AnEntryInUseThatWasTakenForOutdatedIsThere) { take_entries_in_use_for_outdated(); }

TEST_P(RecordRaceTest, AnEntryOfColumnsInUseThatWasTakenForOutdatedIsThere) {
  use_columns();
  take_entries_in_use_for_outdated();
}

// A stale entry is removed after the transaction that has made it stale has ended, and the memory
// of that transaction is in use again.
TEST_P(RecordRaceTest, AStaleEntryOfColumnsIsRemoved) {
  use_columns();
  for (uint32_t branch = 71; branch < 90; ++branch)
    transact(db_, [&](Transaction& txn) { ASSERT_OK(set_branch(txn, branch)); });
  collect();
  EXPECT_OK(db_.verify());
}

// The scan has read a leaf. Then the removed rows of the next leaf are unlinked, and the leaf with
// them. A neighbour takes over its range, which may be the leaf that the scan has just read. No row
// is visited twice.
TEST_P(RecordRaceTest, AScanVisitsNoRowTwiceWhenANeighbourLeafIsUnlinked) {
  if (!GetParam().ordered()) return;  // scans are of ordered tables
  constexpr Key kRows = 300, kGapFirst = 121, kGapLast = 180;  // whole leaves: ascending insertions fill 15 entries each
  bool met = false;
  for (bool reverse : {false, true})
    for (int age = 1; age <= 6; ++age) {
      SCOPED_TRACE((reverse ? "reverse, age " : "forward, age ") + std::to_string(age));
      const Table<Account> table = create(account_schema(GetParam().key_index, (reverse ? "r" : "f") + std::to_string(age)));
      transact(db_, [&](Transaction& txn) {
        for (Key key = 1; key <= kRows; ++key) ASSERT_OK(txn.insert(table, key, account(key)));
      });
      TestPoints::clear();
      TestPoints::on("gc.after_unlink", [] {});
      ActiveTransaction holder = begin_read_only(db_);
      transact(db_, [&](Transaction& txn) {
        for (Key key = kGapFirst; key <= kGapLast; ++key) ASSERT_OK(txn.remove(table, key));
      });
      for (int epoch = 1; epoch < age; ++epoch) {
        collect();
        ActiveTransaction next = begin_read_only(db_);
        holder = std::move(next);
      }
      collect();
      const uint64_t unlinked_before = TestPoints::reached("gc.after_unlink");
      std::vector<Key> keys;
      ActiveTransaction scanner = begin(db_);
      ASSERT_OK(scanner->scan(table, {}, {.reverse = reverse}, [&](Key key, const View<Account>&) {
        keys.push_back(key);
        if (key == (reverse ? kGapLast + 1 : kGapFirst - 1)) {
          holder.rollback();
          collect();
        }
        return true;
      }));
      met |= TestPoints::reached("gc.after_unlink") == unlinked_before + (kGapLast - kGapFirst + 1);
      if (reverse) std::reverse(keys.begin(), keys.end());
      EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end(), std::greater_equal<>()), keys.end()) << "a row came twice, or out of order";
      EXPECT_EQ(keys.size(), kRows - (kGapLast - kGapFirst + 1));
    }
  EXPECT_TRUE(met) << "the race did not come about";
}

}  // namespace
}  // namespace elider::test
