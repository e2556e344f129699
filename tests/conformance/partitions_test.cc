// Partitions (lab/baselines/partitioned.h) through the API: which procedure waits for which, what
// is refused, and that a wrong declaration does not make results incorrect.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "elider/elider.h"
#include "elider/laboratory.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

std::vector<Combination> partitioned_combinations() {
  std::vector<Combination> chosen = combinations(false, false);
  std::erase_if(chosen, [](const Combination& combination) { return combination.protocol != Protocol::kPartitioned; });
  return chosen;
}

class PartitionsTest : public DatabaseTest {
 protected:
  static constexpr uint32_t kPartitions = 4;

  void SetUp() override {
    DatabaseTest::SetUp();
    Options options = options_of(GetParam());
    change_laboratory(options).partitions = kPartitions;
    auto database = Database::open(options);
    ASSERT_OK(database);
    db_ = std::move(database).value();
    accounts_ = create(account_schema(GetParam().key_index));
    for (Key key = 0; key < 8; ++key) insert(accounts_, key, Account{key, 0, 0, 0});
  }
  static RunPolicy in(std::span<const uint32_t> partitions) {
    RunPolicy policy;
    policy.partitions = partitions;
    return policy;
  }
  Status add_one(Transaction& txn, Key key) {
    return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; });
  }
  // Returns whether a procedure that declares `wanted` ends while another one that declares `held`
  // runs.
  bool runs_beside(const std::vector<uint32_t>& held, const std::vector<uint32_t>& wanted) {
    std::atomic<bool> inside{false}, go_on{false}, ended{false};
    std::thread holder([&] {
      EXPECT_OK(db_.run(
          [&](Transaction& txn) -> Status {
            inside = true;
            while (!go_on) std::this_thread::yield();
            return add_one(txn, 0);
          },
          in(held)));
    });
    while (!inside) std::this_thread::yield();
    std::thread other([&] {
      EXPECT_OK(db_.run([&](Transaction& txn) { return add_one(txn, 1); }, in(wanted)));
      ended = true;
    });
    // A procedure that may run concurrently ends by itself, however late. A wait cannot be
    // observed, so 30 ms are enough.
    for (int i = 0; !ended && (expects_to_run_ || i < 30); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool beside = ended;
    go_on = true;
    holder.join();
    other.join();
    return beside;
  }
  bool expects_to_run_ = false;
  Table<Account> accounts_;
};
INSTANTIATE_TEST_SUITE_P(On, PartitionsTest, testing::ValuesIn(partitioned_combinations()), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PartitionsTest);  // in builds with only other engines

TEST_P(PartitionsTest, ProceduresOfDifferentPartitionsRunBesideEachOther) {
  expects_to_run_ = true;
  EXPECT_TRUE(runs_beside({0}, {1}));
  EXPECT_TRUE(runs_beside({0, 3}, {2, 1, 2}));
}

TEST_P(PartitionsTest, ProceduresOfOnePartitionRunOneByOne) {
  EXPECT_FALSE(runs_beside({1}, {1}));
  EXPECT_FALSE(runs_beside({0, 3}, {3, 2}));
}

TEST_P(PartitionsTest, OneThatDeclaresNoneHasAllOfThem) {
  EXPECT_FALSE(runs_beside({}, {3}));
  EXPECT_FALSE(runs_beside({0}, {}));
}

TEST_P(PartitionsTest, OneThatIsNotThereIsRefusedByItsNumber) {
  const std::array<uint32_t, 2> partitions{1, kPartitions};
  bool ran = false;
  const auto procedure = [&](Transaction&) -> Status { return ran = true, Status(); };
  EXPECT_REFUSED(Code::kInvalidArgument, "partition 4", db_.run(procedure, in(partitions)));
  EXPECT_FALSE(ran);
  EXPECT_OK(db_.run(procedure, in(std::span(partitions).first(1))));
  EXPECT_TRUE(ran);
}

TEST_P(PartitionsTest, TheCallsOfAGroupDeclareTheirOwn) {
  std::vector<Status> outcomes(8);
  static_cast<void>(db_.run_group(
      outcomes.size(),
      [&](size_t i, Touches& touches) {
        touches.row(accounts_, i);
        if (i != 7) touches.partition(static_cast<uint32_t>(i) % (kPartitions + 1));
      },
      [&](size_t i, Transaction& txn) { return add_one(txn, i); }, outcomes));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_CODE(i == kPartitions ? Code::kInvalidArgument : Code::kOk, outcomes[i]);
    EXPECT_EQ(row(accounts_, i).balance, i == kPartitions ? 0 : 1);
  }
}

// Half of the procedures access rows of partitions that they have not declared.
TEST_P(PartitionsTest, ABrokenDeclarationLosesNothing) {
  constexpr int kThreads = 4, kEach = 500;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const std::array<uint32_t, 2> partitions{t % kPartitions, (t + i) % kPartitions};
        const Status status = db_.run(
            [&](Transaction& txn) -> Status {
              if (Status first = add_one(txn, i % 2 == 0 ? 1 : t % kPartitions); !first.ok()) return first;
              return add_one(txn, (t + i) % kPartitions);
            },
            in(partitions));
        failed += !status.ok();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  int64_t sum = 0;
  for (Key key = 0; key < 8; ++key) sum += row(accounts_, key).balance;
  EXPECT_EQ(sum, 2 * kThreads * kEach);
}

}  // namespace
}  // namespace elider::test
