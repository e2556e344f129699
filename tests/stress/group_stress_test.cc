// Threads run transactions in groups, on a few rows that all of them change, remove and insert
// again. Every audit in a group finds the same sum, and every call's outcome says what it did.
// Other threads run calls of chopped procedures in groups, some of which defer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/test_points.h"
#include "tests/support/database_test.h"
#include "tests/support/deferring_bank.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

constexpr Key kAccounts = 24;
constexpr int64_t kEach = 100, kWholeSum = kEach * static_cast<int64_t>(kAccounts);
constexpr size_t kCallsAtOnce = 20;

struct Transfer {
  Key from, to;
  int64_t amount;
  enum Kind { kMove, kReplace, kAudit } kind;
};

class GroupStressTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    for (Key key = 0; key < kAccounts; ++key) insert(accounts_, key, Account{key, kEach, static_cast<uint32_t>(key % 3), 0});
  }
  static Transfer draw(Random& random) {
    const uint64_t dice = random.below(100);
    const Key from = random.below(kAccounts), to = (from + 1 + random.below(kAccounts - 1)) % kAccounts;
    return {from, to, static_cast<int64_t>(random.below(10)),
            dice < 60   ? Transfer::kMove
            : dice < 85 ? Transfer::kReplace
                        : Transfer::kAudit};
  }
  Status move(Transaction& txn, const Transfer& transfer) {
    if (Status status = txn.update(accounts_, transfer.from, {}, [&](Account& a) { a.balance -= transfer.amount; }); !status.ok())
      return status;
    return txn.update(accounts_, transfer.to, {}, [&](Account& a) { a.balance += transfer.amount; });
  }
  // The row is removed, and another block replaces it: in the same transaction, or in the next one.
  Status replace(Transaction& txn, Key key) {
    auto view = txn.get(accounts_, key);
    if (!view.ok()) return view.status();
    Account account = **view;
    ++account.flags;
    if (Status status = txn.remove(accounts_, key); !status.ok()) return status;
    return txn.insert(accounts_, key, account);
  }
  Status audit(Transaction& txn) {
    int64_t sum = 0;
    for (Key key = 0; key < kAccounts; ++key) {
      auto view = txn.get(accounts_, key);
      if (!view.ok()) return view.status();
      sum += (*view)->balance;
    }
    return sum == kWholeSum ? Status() : Status::invalid_argument("the sum is " + std::to_string(sum));
  }
  void run_groups(uint64_t seed, int groups, std::atomic<uint64_t>& moved) {
    Random random(seed);
    std::vector<Transfer> calls(kCallsAtOnce);
    std::vector<Status> outcomes(kCallsAtOnce);
    for (int group = 0; group < groups; ++group) {
      for (Transfer& call : calls) call = draw(random);
      GroupPolicy policy;
      policy.size = 1 + static_cast<uint32_t>(random.below(kCallsAtOnce));
      const Status status = db_.run_group(
          std::span(calls),
          [&](const Transfer& call, Touches& touches) {
            touches.read_only(call.kind == Transfer::kAudit && call.amount % 2 == 0);
            touches.row(accounts_, call.from);
            if (call.kind != Transfer::kReplace) touches.row(accounts_, call.to);
          },
          [&](const Transfer& call, Transaction& txn) {
            switch (call.kind) {
              case Transfer::kMove: return move(txn, call);
              case Transfer::kReplace: return replace(txn, call.from);
              case Transfer::kAudit: return audit(txn);
            }
            return Status();
          },
          outcomes, policy);
      EXPECT_OK(status);
      for (size_t i = 0; i < kCallsAtOnce; ++i) moved += outcomes[i].ok() && calls[i].kind == Transfer::kMove;
    }
  }

  Table<Account> accounts_;
};
INSTANTIATE_TEST_SUITE_P(On, GroupStressTest, testing::ValuesIn(combinations(true, false)), combination_name);

TEST_P(GroupStressTest, NoMoneyIsLostAndNoneIsMade) {
  std::atomic<uint64_t> moved{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { run_groups(17 + i, static_cast<int>(scaled(300)), moved); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(moved.load(), 0u);
  read(db_, [&](Transaction& txn) { EXPECT_OK(audit(txn)); });
}

class ChoppedGroupStressTest : public DatabaseTest {
 protected:
  // Calls of every kind in groups. Each call sees at least what was seen by any call that answered
  // before its group began.
  void run_groups(uint64_t seed, int groups) {
    constexpr size_t kOfEach = 3;
    Random random(seed);
    for (int group = 0; group < groups; ++group) {
      const uint64_t before = seen_;
      DeferringBank::Post posts[kOfEach];
      DeferringBank::Compare compares[kOfEach];
      DeferringBank::Peek peeks[kOfEach];
      DeferringBank::Audit audits[kOfEach];
      std::vector<ProcedureCall> calls;
      for (size_t i = 0; i < kOfEach; ++i) {
        posts[i] = bank_.next_post();
        calls.emplace_back(bank_.post, posts[i]);
        calls.emplace_back(bank_.compare, compares[i]);
        calls.emplace_back(bank_.peek, peeks[i]);
        calls.emplace_back(bank_.audit, audits[i]);
      }
      for (size_t i = calls.size(); i > 1; --i) std::swap(calls[i - 1], calls[random.below(i)]);
      GroupPolicy policy;
      policy.size = 1 + static_cast<uint32_t>(random.below(calls.size()));
      EXPECT_OK(db_.call_group(calls, {}, policy));
      posted_ += kOfEach;
      compared_ += kOfEach;
      for (size_t i = 0; i < kOfEach; ++i) {
        EXPECT_EQ(compares[i].first, compares[i].second);
        EXPECT_GE(static_cast<uint64_t>(compares[i].first), before);
        EXPECT_GE(peeks[i].posted, before);
        EXPECT_EQ(bank_.damage(audits[i]), "");
        EXPECT_GE(audits[i].posted, before);
        const uint64_t seen = std::max({posts[i].number + 1, static_cast<uint64_t>(compares[i].first), peeks[i].posted, audits[i].posted});
        for (uint64_t most = seen_; most < seen && !seen_.compare_exchange_weak(most, seen);) {
        }
      }
    }
  }

  DeferringBank bank_;
  std::atomic<uint64_t> seen_{0};  // the largest number of postings that an answered call has seen
  std::atomic<uint64_t> posted_{0}, compared_{0};
};
// The key index does not matter, so one is enough.
std::vector<Combination> chopped_group_combinations() {
  std::vector<Combination> chosen = combinations(true, false);
  std::erase_if(chosen, [](const Combination& one) { return one.key_index != KeyIndex::kOrdered; });
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(On, ChoppedGroupStressTest, testing::ValuesIn(chopped_group_combinations()), combination_name);

TEST_P(ChoppedGroupStressTest, ManyThreadsSeeNoHalvesAndNothingTooLate) {
  ASSERT_OK(bank_.create_tables(db_));
  ASSERT_OK(bank_.fill(db_));
  InstallOptions options;
  options.choices.deferring = true;
  ASSERT_OK(bank_.install(db_, options));
  if (TestPoints::enabled()) TestPoints::on("chopped.core_committed", [] { std::this_thread::yield(); });  // the others see a core alone
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back([&, i] { run_groups(31 + i, static_cast<int>(scaled(300))); });
  for (std::thread& thread : threads) thread.join();
  TestPoints::clear();
  DeferringBank::Audit found;
  EXPECT_OK(db_.call(bank_.audit, found));
  EXPECT_EQ(bank_.damage(found), "");
  EXPECT_EQ(found.posted, posted_.load());
  EXPECT_EQ(found.marks, compared_.load());
}

}  // namespace
}  // namespace elider::test
