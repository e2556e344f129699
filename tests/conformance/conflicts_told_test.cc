// Where conflicts happen: RunPolicy::on_conflict, the status of a procedure that was given up, and
// the most conflicted keys of Statistics.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "elider/elider.h"
#include "elider/metrics.h"
#include "tests/support/database_test.h"
#include "tests/support/rows.h"

namespace elider::test {
namespace {

class ConflictsToldTest : public DatabaseTest {
 protected:
  static constexpr Key kRows = 400;

  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    transact(db_, [&](Transaction& txn) {
      for (Key key = 0; key < kRows; ++key) ASSERT_OK(txn.insert(accounts_, key, Account{key, 0, 0, 0}));
    });
  }
  // One attempt, during which another transaction changes the row of this key.
  Status disturbed(Transaction& txn, Key key) {
    auto view = txn.get(accounts_, key);
    if (!view.ok()) return view.status();
    ActiveTransaction other = begin(db_);
    EXPECT_OK(other->update(accounts_, key, {}, [](Account& a) { ++a.balance; }));
    EXPECT_OK(other.commit());
    return txn.update(accounts_, kRows - 1, {}, [&](Account& a) { a.balance = (*view)->balance; });
  }
  // A conflict at the key, and a commit without one.
  void conflict(Key key) {
    int runs = 0;
    ASSERT_OK(db_.run([&](Transaction& txn) -> Status { return ++runs == 1 ? disturbed(txn, key) : Status(); }));
    ASSERT_EQ(runs, 2);
  }
  // Protocols in which another transaction's claim ends this one do not say where.
  static bool names_key() { return GetParam().protocol == Protocol::kOcc || GetParam().protocol == Protocol::kChopped; }
  static void expect_told(const Status& status, Key key) {
    EXPECT_TRUE(is_conflict(status.cause())) << status.message();
    if (!names_key()) return;
    EXPECT_EQ(status.table(), "accounts");
    EXPECT_TRUE(status.has_key());
    EXPECT_EQ(status.key(), key);
  }
  Statistics::Table accounts() const {
    for (Statistics::Table& table : db_.statistics().tables)
      if (table.name == "accounts") return table;
    return {};
  }

  Table<Account> accounts_;
};
ELIDER_ON_CONCURRENT(ConflictsToldTest);

TEST_P(ConflictsToldTest, EachAttemptThatMetOneIsToldWithItsPlace) {
  std::vector<Status> told;
  const std::function<void(const Status&)> tell = [&](const Status& status) { told.push_back(status); };
  RunPolicy policy;
  policy.on_conflict = &tell;
  int runs = 0;
  ASSERT_OK(db_.run([&](Transaction& txn) -> Status { return ++runs <= 3 ? disturbed(txn, 10 + runs) : Status(); }, policy));
  ASSERT_EQ(told.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_CODE(Code::kConflict, told[i]);
    expect_told(told[i], 11 + i);
  }
  told.clear();
  EXPECT_CODE(Code::kRolledBack, db_.run([](Transaction&) { return Status::rollback(); }, policy));
  EXPECT_TRUE(told.empty()) << "a rollback is not a conflict";
}

TEST_P(ConflictsToldTest, AProcedureThatIsGivenUpKeepsTheLastOne) {
  std::vector<Status> told;
  const std::function<void(const Status&)> tell = [&](const Status& status) { told.push_back(status); };
  RunPolicy policy;
  policy.on_conflict = &tell;
  policy.attempts_max = 2;
  int runs = 0;
  const Status status = db_.run([&](Transaction& txn) -> Status { return disturbed(txn, 20 + ++runs); }, policy);
  ASSERT_CODE(Code::kDeadline, status);
  ASSERT_EQ(told.size(), 2u) << "the last one, too";
  const std::string last = "conflict: " + std::string(name_of(told[1].cause()));
  EXPECT_NE(status.message().find(last), std::string::npos) << status.message();
  if (!names_key()) return;
  EXPECT_EQ(status.table(), "accounts");
  EXPECT_EQ(status.key(), 22u);
  EXPECT_NE(status.message().find("(table 'accounts', key 22)"), std::string::npos) << status.message();
}

TEST_P(ConflictsToldTest, CallsOfAGroupAreToldAlike) {
  std::vector<Status> told;
  const std::function<void(const Status&)> tell = [&](const Status& status) { told.push_back(status); };
  GroupPolicy policy;
  policy.on_conflict = &tell;
  policy.attempts_max = 2;
  std::vector<Status> outcomes(3);
  static_cast<void>(db_.run_group(
      3, [](size_t, Touches&) {},
      [&](size_t i, Transaction& txn) -> Status { return i == 1 ? disturbed(txn, 30) : Status(); }, outcomes, policy));
  ASSERT_EQ(told.size(), 2u);
  for (const Status& status : told) expect_told(status, 30);
  EXPECT_CODE(Code::kDeadline, outcomes[1]);
  const std::string last = "conflict: " + std::string(name_of(told[1].cause()));
  EXPECT_NE(outcomes[1].message().find(last), std::string::npos) << outcomes[1].message();
}

TEST_P(ConflictsToldTest, StatisticsNameTheMostConflictedKeys) {
  if (!names_key()) GTEST_SKIP() << "another transaction's claim ends this one, and does not say where";
  // Two keys have more conflicts than the others, of which there are more than a summary keeps.
  for (int round = 0; round < 100; ++round) {
    conflict(round % 2 == 0 ? 7 : 8);
    if (round % 4 == 0) conflict(7);
    conflict(100 + round);
  }
  const Statistics statistics = db_.statistics();
  const Statistics::Table table = accounts();
  ASSERT_LE(table.conflicted_keys.size(), Statistics::kConflictedKeysMax);
  ASSERT_GE(table.conflicted_keys.size(), 2u);
  EXPECT_EQ(table.conflicted_keys[0].key, 7u);
  EXPECT_EQ(table.conflicted_keys[1].key, 8u);
  EXPECT_EQ(table.conflicted_keys[0].aborts_total(), 75u);
  EXPECT_EQ(table.conflicted_keys[1].aborts_total(), 50u);
  uint64_t sum = 0;
  for (const Statistics::ConflictedKey& one : table.conflicted_keys) {
    EXPECT_GT(one.aborts_total(), 0u);
    sum += one.aborts_total();
  }
  EXPECT_LE(sum, Statistics::conflicts_of(table.aborts));

  EXPECT_NE(statistics.to_json().find(R"("conflicted_keys":[{"table":"accounts","key":7,"aborts":{)"), std::string::npos)
      << statistics.to_json();
  uint64_t of_seven = 0;
  for_each_metric(statistics, [&](const Metric& metric) {
    if (metric.info.of == MetricInfo::Of::kConflictedKey && metric.key == 7 && metric.table == "accounts") of_seven += metric.number;
  });
  EXPECT_EQ(of_seven, 75u);
}

TEST_P(ConflictsToldTest, WithoutConflictsNoKeyIsNamed) {
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    static_cast<void>(txn.get(accounts_, 1));
    return Status::rollback();
  }));
  EXPECT_TRUE(accounts().conflicted_keys.empty());
  EXPECT_EQ(db_.statistics().to_json().find("conflicted_keys"), std::string::npos);
}

}  // namespace
}  // namespace elider::test
