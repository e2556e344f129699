// A bank with many short-lived threads. Money is moved, and accounts are opened, closed and moved
// between branches. Every audit, on a snapshot or in an ordinary transaction, finds the same sum
// everywhere, by key and by index.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

constexpr Key kKeys = 60;        // accounts have these keys, when they are open
constexpr Key kClockKey = 1000;  // a row that counts the transfers; it does not hold money
constexpr int64_t kTotal = 40 * 1000;

struct Audit {
  int64_t sum = 0;
  uint64_t accounts = 0;
  friend bool operator==(const Audit&, const Audit&) = default;
};

class BankStressTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index)
                           .index("by_branch", {"branch"}, [](const Account& account) { return uint64_t{account.branch}; })
                           .group({"balance"}));
    by_branch_ = *db_.index(accounts_, "by_branch");
    balance_ = accounts_.columns(&Account::balance);
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < 40; ++key) ASSERT_OK(txn.insert(accounts_, key, Account{key, 1000, static_cast<uint32_t>(key % 8), 0}));
      ASSERT_OK(txn.insert(accounts_, kClockKey, Account{0, 0, 99, 0}));
    });
  }

  // -- the kinds of transactions; each gives a status for Database::run ---------------------------

  Status transfer(Transaction& txn, Key from, Key to, int64_t amount, bool blind) {
    if (blind) {  // commutes with all other transfers
      if (Status status = txn.add(accounts_, from, &Account::balance, -amount); !status.ok()) return status;
      if (Status status = txn.add(accounts_, to, &Account::balance, amount); !status.ok()) return status;
      return {};
    }
    if (Status status = txn.update(accounts_, from, balance_, [&](Account& a) { a.balance -= amount; }); !status.ok()) return status;
    return txn.update(accounts_, to, balance_, [&](Account& a) { a.balance += amount; });
  }
  Status tick(Transaction& txn, uint64_t* now) {
    return txn.update(accounts_, kClockKey, accounts_.columns(&Account::owner), [&](Account& a) { *now = ++a.owner; });
  }
  Status open_account(Transaction& txn, Key from, Key key, uint32_t branch, int64_t amount) {
    if (Status status = txn.update(accounts_, from, balance_, [&](Account& a) { a.balance -= amount; }); !status.ok()) return status;
    return txn.insert(accounts_, key, Account{key, amount, branch, 0});
  }
  Status close_account(Transaction& txn, Key key, Key to) {
    auto view = txn.get(accounts_, key);
    if (!view.ok()) return view.status();
    const int64_t amount = (*view)->balance;
    if (Status status = txn.remove(accounts_, key); !status.ok()) return status;
    return txn.update(accounts_, to, balance_, [&](Account& a) { a.balance += amount; });
  }
  Status move(Transaction& txn, Key key, uint32_t branch) {
    return txn.update(accounts_, key, accounts_.columns(&Account::branch), [&](Account& a) { a.branch = branch; });
  }

  // -- looking at all of it -----------------------------------------------------------------------

  Status audit_by_index(Transaction& txn, bool reverse, Audit* audit) {
    *audit = {};
    return txn.scan(by_branch_, {0, 98}, {.reverse = reverse}, [&](Key, const View<Account>& view) {
      audit->sum += view->balance;
      ++audit->accounts;
      return true;
    });
  }
  Status audit_by_scan(Transaction& txn, bool reverse, Audit* audit) {
    *audit = {};
    return txn.scan(accounts_, {0, kKeys - 1}, {.reverse = reverse}, [&](Key, const View<Account>& view) {
      audit->sum += view->balance;
      ++audit->accounts;
      return true;
    });
  }
  Status audit_by_keys(Transaction& txn, Audit* audit) {
    *audit = {};
    std::vector<Key> keys;
    for (Key key = 0; key < kKeys; ++key) keys.push_back(key);
    std::vector<View<Account>> views(keys.size());
    const Status status = txn.multi_get<Account>(accounts_, keys, views);
    for (const View<Account>& view : views)
      if (status.ok() && view) {
        audit->sum += view->balance;
        ++audit->accounts;
      }
    return status;
  }
  Status audit_every_way(Transaction& txn, bool reverse, std::vector<Audit>* audits) {
    audits->assign(3, {});
    if (Status status = audit_by_index(txn, reverse, &(*audits)[0]); !status.ok()) return status;
    if (Status status = audit_by_keys(txn, &(*audits)[1]); !status.ok()) return status;
    if (!GetParam().ordered()) {
      (*audits)[2] = (*audits)[1];
      return {};
    }
    return audit_by_scan(txn, reverse, &(*audits)[2]);
  }
  // What an audit saw counts only once it is known to have committed.
  void expect_balanced(const std::vector<Audit>& audits) {
    EXPECT_EQ(audits[0], audits[1]);
    EXPECT_EQ(audits[0], audits[2]);
    EXPECT_EQ(audits[0].sum, kTotal);
  }

  void run_one(TestRandom& random) {
    const Key from = random.below(kKeys), to = (from + 1 + random.below(kKeys - 1)) % kKeys;
    const auto amount = static_cast<int64_t>(random.below(50));
    const auto branch = static_cast<uint32_t>(random.below(8));
    const bool flag = random.percent(50);
    std::vector<Audit> audits;
    const uint64_t kind = random.below(100);
    if (kind < 70) {
      const Status status = db_.run([&](Transaction& txn) -> Status {
        if (kind < 30) return transfer(txn, from, to, amount, flag);
        if (kind < 45) return open_account(txn, from, to, branch, amount);
        if (kind < 60) return close_account(txn, from, to);
        return move(txn, from, branch);
      });
      // A closed or open account in the wrong place is a proper answer; nothing else is.
      EXPECT_TRUE(status.ok() || status.not_found() || status.code() == Code::kDuplicateKey) << status.message();
    } else if (kind < 80) {
      const uint64_t floor = clock_.load();
      uint64_t now = 0;
      EXPECT_OK(db_.run([&](Transaction& txn) { return tick(txn, &now); }));
      EXPECT_GT(now, floor);  // strict: what had committed before this began is seen
      raise_clock(now);
    } else if (kind < 92) {
      const uint64_t floor = clock_.load();
      uint64_t now = 0;
      EXPECT_OK(db_.run_read_only([&](Transaction& txn) -> Status {
        auto view = txn.get(accounts_, kClockKey);
        if (!view.ok()) return view.status();
        now = (*view)->owner;
        return audit_every_way(txn, flag, &audits);
      }));
      expect_balanced(audits);
      EXPECT_GE(now, floor);
    } else {
      RunPolicy policy;
      policy.attempts_max = 20;  // under constant change an audit of everything may never get through
      const Status status = db_.run([&](Transaction& txn) { return audit_every_way(txn, flag, &audits); }, policy);
      if (status.ok()) expect_balanced(audits);
      else EXPECT_CODE(Code::kDeadline, status);
    }
  }
  void raise_clock(uint64_t now) {
    uint64_t known = clock_.load();
    while (known < now && !clock_.compare_exchange_weak(known, now)) {
    }
  }
  void expect_balanced_at_rest() {
    std::vector<Audit> audits;
    ASSERT_OK(db_.run_read_only([&](Transaction& txn) { return audit_every_way(txn, false, &audits); }));
    expect_balanced(audits);
    ASSERT_OK(db_.verify());
    uint64_t rows = 0;
    for (const Statistics::Table& table : db_.statistics().tables) rows += table.rows;
    EXPECT_EQ(rows, audits[0].accounts + 1);
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
  Columns<Account> balance_;
  std::atomic<uint64_t> clock_{0};
};
ELIDER_ON_EVERY(BankStressTest);

TEST_P(BankStressTest, ThreadsThatComeAndGoKeepTheSum) {
  TestRandom random;
  const unsigned threads = GetParam().concurrent() ? 4 : 1;
  const uint64_t lives = scaled(60);
  std::atomic<uint64_t> next_life{0};
  for (uint64_t round = 0; round < 3 && !HasFailure(); ++round) {
    next_life = 0;
    std::vector<std::thread> nurseries;
    for (unsigned n = 0; n < threads; ++n)
      nurseries.emplace_back([&] {
        // Each life is a thread of its own, of random length.
        for (uint64_t life; (life = next_life.fetch_add(1)) < lives && !HasFailure();)
          std::thread([&] {
            TestRandom own = random.split(round * lives + life);
            for (uint64_t i = own.below(120); i > 0; --i) run_one(own);
          }).join();
      });
    for (std::thread& nursery : nurseries) nursery.join();
    expect_balanced_at_rest();
  }
}

TEST_P(BankStressTest, TransactionsThatMoveBetweenThreadsKeepTheSum) {
  if (!GetParam().concurrent()) return;  // several transactions are open
  TestRandom random;
  std::vector<ActiveTransaction> open;
  for (uint64_t i = 0; i < scaled(300); ++i) {
    const Key from = random.below(40), to = (from + 1) % 40;
    std::thread([&] {
      if (open.size() < 4) open.push_back(begin(db_));
      const Status status = transfer(*open.back(), from, to, 5, random.percent(50));
      if (!status.ok() && !status.not_found()) open.pop_back();
    }).join();
    if (!open.empty() && random.percent(40)) {
      std::thread([&] {
        // A transfer that found only one of its accounts must not be committed.
        const size_t chosen = random.below(open.size());
        if (random.percent(50)) static_cast<void>(open[chosen].commit());
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(chosen));
      }).join();
    }
  }
  open.clear();
  expect_balanced_at_rest();
}

TEST_P(BankStressTest, ThousandsOfThreadsLeaveNothingBehind) {
  TestRandom random;
  const uint64_t threads = scaled(1000);
  uint32_t workers_max = 0;
  for (uint64_t i = 0; i < threads; ++i) {
    std::thread([&] {
      TestRandom own = random.split(i);
      run_one(own);
    }).join();
    if (i % 100 == 0) workers_max = std::max(workers_max, db_.statistics().workers);
  }
  EXPECT_LE(workers_max, 4u);  // a thread that has ended gives its worker back
  db_.collect_garbage();
  const Statistics statistics = db_.statistics();
  EXPECT_EQ(statistics.retired_objects, 0u);
  EXPECT_EQ(statistics.versions_alive, 0u);
  expect_balanced_at_rest();
}

}  // namespace
}  // namespace elider::test
