// Database::run_group: many calls, each a separate transaction, whose rows are looked up together.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

constexpr Key kRows = 100;

class GroupTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(indexed_account_schema(GetParam().key_index));
    by_branch_ = *db_.index(accounts_, "by_branch");
    transact(db_, [&](Transaction& txn) {
      for (Key key = 1; key <= kRows; ++key) ASSERT_OK(txn.insert(accounts_, key, account(key)));
    });
  }
  static Account account(Key key) { return {key, 0, static_cast<uint32_t>(key), 0}; }
  static GroupPolicy in_groups_of(uint32_t size) {
    GroupPolicy policy;
    policy.size = size;
    return policy;
  }
  auto row_touched() const {
    return [this](Key key, Touches& touches) { touches.row(accounts_, key); };
  }
  Status add(Transaction& txn, Key key, int64_t amount = 1) {
    return txn.update(accounts_, key, {}, [&](Account& a) { a.balance += amount; });
  }
  int64_t total() {
    int64_t sum = 0;
    for (Key key = 1; key <= kRows; ++key) sum += row(accounts_, key).balance;
    return sum;
  }
  static std::vector<Key> keys(Key first, Key last) {
    std::vector<Key> all(last - first + 1);
    std::iota(all.begin(), all.end(), first);
    return all;
  }
  // Another transaction changes the row of this key and commits.
  void interfere(Key key) {
    ActiveTransaction other = begin(db_);
    EXPECT_OK(add(*other, key, 100));
    EXPECT_OK(other.commit());
  }

  Table<Account> accounts_;
  Index<Account> by_branch_;
};
ELIDER_ON_EVERY(GroupTest);

class GroupConflictTest : public GroupTest {};
ELIDER_ON_CONCURRENT(GroupConflictTest);

TEST_P(GroupTest, EveryCallIsATransaction) {
  for (const uint32_t size : {0u, 1u, 7u, 1024u}) {
    SCOPED_TRACE(size);
    const int64_t before = total();
    std::vector<Key> calls = keys(1, kRows);
    std::vector<Status> outcomes(calls.size(), Status::rollback());
    size_t runs = 0;
    EXPECT_OK(db_.run_group(
        std::span(calls), row_touched(),
        [&](Key key, Transaction& txn) {
          ++runs;
          EXPECT_EQ(txn.attempt(), 1u);
          EXPECT_FALSE(txn.read_only());
          return add(txn, key);
        },
        outcomes, in_groups_of(size)));
    EXPECT_EQ(runs, kRows);
    for (const Status& outcome : outcomes) EXPECT_OK(outcome);
    EXPECT_EQ(total(), before + static_cast<int64_t>(kRows));
  }
}

TEST_P(GroupTest, CallsOfOneGroupSeeEachOther) {
  EXPECT_OK(db_.run_group(
      50, [&](size_t, Touches& touches) { touches.row(accounts_, 1); }, [&](size_t, Transaction& txn) { return add(txn, 1); }));
  EXPECT_EQ(row(accounts_, 1).balance, 50);
}

// multi_get uses the rows that were named and looks up the others, in any order. For each absent
// key, it keeps the witness.
TEST_P(GroupTest, MultiGetTakesNamedRowsAndLooksForTheOthers) {
  const std::vector<Key> keys = {7, 999, 3, 50, 998, 3, 1, 100};
  for (const bool read_only : {false, true}) {
    GroupPolicy policy;
    policy.read_only = read_only;
    EXPECT_OK(db_.run_group(
        64,
        [&](size_t call, Touches& touches) {
          for (size_t i = 0; i < keys.size(); ++i) {
            if (((call * 5) >> (i % 4) & 1) != 0) touches.row(accounts_, keys[keys.size() - 1 - i]);
          }
        },
        [&](size_t, Transaction& txn) -> Status {
          std::vector<View<Account>> rows(keys.size());
          ELIDER_TRY(txn.multi_get(accounts_, std::span(keys), std::span(rows)));
          for (size_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(static_cast<bool>(rows[i]), keys[i] <= kRows) << keys[i];
            if (rows[i]) {
              EXPECT_EQ(rows[i]->branch, keys[i]);
            }
          }
          return {};
        },
        {}, policy));
  }
}

TEST_P(GroupTest, NoCallsAreAllWell) {
  EXPECT_OK(db_.run_group(
      0, [](size_t, Touches&) { ADD_FAILURE(); }, [](size_t, Transaction&) { ADD_FAILURE(); }));
}

TEST_P(GroupTest, AProcedureMayReturnNothing) {
  EXPECT_OK(db_.run_group(
      3, [](size_t, Touches&) {}, [&](size_t i, Transaction& txn) { EXPECT_OK(add(txn, i + 1)); }));
  EXPECT_EQ(total(), 3);
}

TEST_P(GroupTest, EachCallHasItsOutcome) {
  std::vector<Key> calls = {1, 2, 999, 4, 998, 6};
  std::vector<Status> outcomes(calls.size());
  const Status status = db_.run_group(
      std::span(calls), row_touched(), [&](Key key, Transaction& txn) { return add(txn, key); }, outcomes, in_groups_of(2));
  EXPECT_CODE(Code::kNotFound, status);
  EXPECT_EQ(status.key(), 999u);  // the first
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_CODE(calls[i] > kRows ? Code::kNotFound : Code::kOk, outcomes[i]);
  EXPECT_EQ(total(), 4);
}

TEST_P(GroupTest, WhatACallThrowsIsItsOutcome) {
  std::vector<Status> outcomes(6);
  const Status status = db_.run_group(
      6,
      [&](size_t i, Touches& touches) {
        touches.row(accounts_, i + 1);
        if (i == 1) throw std::runtime_error("in its touch");
        if (i == 2) throw 2;
      },
      [&](size_t i, Transaction& txn) -> Status {
        EXPECT_TRUE(i != 1 && i != 2);
        if (Status added = add(txn, i + 1); !added.ok()) return added;
        if (i == 3) throw std::runtime_error("in its body");
        return {};
      },
      outcomes);
  EXPECT_REFUSED(Code::kProcedureThrew, "touch function threw: in its touch", status);
  EXPECT_REFUSED(Code::kProcedureThrew, "touch function threw an exception that is not a std::exception", outcomes[2]);
  EXPECT_REFUSED(Code::kProcedureThrew, "the procedure threw: in its body", outcomes[3]);
  for (const size_t i : {0, 4, 5}) EXPECT_OK(outcomes[i]);
  EXPECT_EQ(total(), 3);
}

TEST_P(GroupTest, TouchesOfAllKindsAreHints) {
  // The hints name other things than the calls use, or things that do not exist. The results are
  // the same.
  Database other = open_database(GetParam());
  auto foreign = other.create_table(account_schema(GetParam().key_index));
  ASSERT_OK(foreign);
  EXPECT_OK(db_.run_group(
      40,
      [&](size_t i, Touches& touches) {
        touches.row(accounts_, i % 2 == 0 ? 1000 + i : i);
        touches.row(*foreign, i);
        touches.row(Table<Account>(), i);
        touches.row(accounts_, i + 2, accounts_.columns(&Account::balance));
        touches.range(by_branch_, i);
        touches.range(accounts_, i);
        for (Key key = 0; key < i; ++key) touches.row(accounts_, key);
      },
      [&](size_t i, Transaction& txn) { return add(txn, i + 1); }));
  EXPECT_EQ(total(), 40);
}

TEST_P(GroupTest, InsertsRemovesAndReadsOfOneGroup) {
  // The calls may run in any order, because each has its own key.
  std::vector<Key> calls = keys(1, 3 * kRows);
  std::vector<Status> outcomes(calls.size());
  const auto run = [&](auto&& procedure) { return db_.run_group(std::span(calls), row_touched(), procedure, outcomes); };
  EXPECT_CODE(Code::kDuplicateKey, run([&](Key key, Transaction& txn) { return txn.insert(accounts_, key, account(key)); }));
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_CODE(i < kRows ? Code::kDuplicateKey : Code::kOk, outcomes[i]);
  EXPECT_OK(run([&](Key key, Transaction& txn) { return key % 3 == 0 ? txn.remove(accounts_, key) : add(txn, key); }));
  for (int round = 0; round < 2; ++round) {
    EXPECT_CODE(Code::kNotFound, run([&](Key key, Transaction& txn) { return txn.get(accounts_, key).status(); }));
    for (size_t i = 0; i < calls.size(); ++i) EXPECT_CODE(calls[i] % 3 == 0 ? Code::kNotFound : Code::kOk, outcomes[i]);
    db_.collect_garbage();
  }
}

TEST_P(GroupTest, ARowThatAnotherCallOfTheGroupReplacesIsTheNewOne) {
  EXPECT_OK(db_.run_group(
      4, [&](size_t, Touches& touches) { touches.row(accounts_, 5); },
      [&](size_t i, Transaction& txn) -> Status {
        if (i % 2 == 0) return txn.remove(accounts_, 5);
        Account fresh = account(5);
        fresh.balance = static_cast<int64_t>(i);
        return txn.insert(accounts_, 5, fresh);
      }));
  EXPECT_EQ(row(accounts_, 5).balance, 3);
}

TEST_P(GroupTest, ReadOnlyCallsAreOfTheNewestSnapshot) {
  GroupPolicy policy;
  policy.read_only = true;
  int64_t sum = 0;
  std::vector<Key> calls = keys(1, kRows);
  EXPECT_OK(db_.run_group(std::span(calls), row_touched(), [&](Key key, Transaction& txn) { return add(txn, key, 2); }));
  EXPECT_OK(db_.run_group(
      std::span(calls), row_touched(),
      [&](Key key, Transaction& txn) -> Status {
        EXPECT_TRUE(txn.read_only());
        auto view = txn.get(accounts_, key);
        if (view.ok()) sum += (*view)->balance;
        return view.status();
      },
      {}, policy));
  EXPECT_EQ(sum, 2 * static_cast<int64_t>(kRows));
}

TEST_P(GroupTest, ReadersAndWritersMix) {
  std::vector<int64_t> seen(20, -1);
  EXPECT_OK(db_.run_group(
      20,
      [&](size_t i, Touches& touches) {
        touches.read_only(i % 2 == 1);
        touches.row(accounts_, 1);
      },
      [&](size_t i, Transaction& txn) -> Status {
        EXPECT_EQ(txn.read_only(), i % 2 == 1);
        if (i % 2 == 0) return add(txn, 1);
        auto view = txn.get(accounts_, 1);
        if (view.ok()) seen[i] = (*view)->balance;
        return view.status();
      },
      {}, in_groups_of(4)));
  for (size_t i = 1; i < 20; i += 2) EXPECT_TRUE(seen[i] >= 0 && seen[i] <= 10) << seen[i];
  EXPECT_EQ(row(accounts_, 1).balance, 10);
}

TEST_P(GroupTest, ScansInGroups) {
  std::vector<int> counts(10);
  EXPECT_OK(db_.run_group(
      10, [&](size_t i, Touches& touches) { touches.range(by_branch_, i + 1); },
      [&](size_t i, Transaction& txn) {
        counts[i] = 0;
        return txn.scan(by_branch_, {i + 1, i + 5}, {}, [&](Key, const View<Account>&) { return ++counts[i], true; });
      }));
  EXPECT_EQ(counts, std::vector<int>(10, 5));
  if (!GetParam().ordered()) return;
  EXPECT_OK(db_.run_group(
      10, [&](size_t i, Touches& touches) { touches.range(accounts_, i + 1); },
      [&](size_t i, Transaction& txn) {
        counts[i] = 0;
        return txn.scan(accounts_, KeyRange{i + 1, i + 7}, {}, [&](Key, const View<Account>&) { return ++counts[i], true; });
      }));
  EXPECT_EQ(counts, std::vector<int>(10, 7));
}

TEST_P(GroupTest, ACallMayRunATransactionOrAGroupOfItsOwn) {
  if (!GetParam().concurrent()) return;
  EXPECT_OK(db_.run_group(
      3, [&](size_t i, Touches& touches) { touches.row(accounts_, i + 1); },
      [&](size_t i, Transaction& txn) -> Status {
        const auto nested = [&](size_t j, Transaction& inner) { return add(inner, 50 + j); };
        if (i == 1) {
          EXPECT_OK(db_.run_group(
              5, [](size_t, Touches&) {}, nested));
        }
        return add(txn, i + 1);
      }));
  EXPECT_EQ(total(), 8);
}

TEST_P(GroupTest, WrongPoliciesAreRefusedAndNothingRuns) {
  const auto never = [](size_t, Transaction&) -> Status {
    ADD_FAILURE();
    return {};
  };
  const auto nothing = [](size_t, Touches&) {};
  std::vector<Status> outcomes(3);
  const auto expect_refused = [&](std::string_view word, const GroupPolicy& policy) {
    EXPECT_REFUSED(Code::kInvalidArgument, std::string(word), db_.run_group(3, nothing, never, outcomes, policy));
    for (Status& outcome : outcomes) EXPECT_CODE(Code::kInvalidArgument, outcome);
  };
  expect_refused("GroupPolicy::size is 1025", in_groups_of(1025));
  GroupPolicy policy;
  policy.procedure_id = 1u << 30;
  expect_refused("procedure_id", policy);
  outcomes.assign(2, {});
  EXPECT_REFUSED(Code::kInvalidArgument, "2 outcomes were given for 3 calls", db_.run_group(3, nothing, never, outcomes));
}

TEST_P(GroupTest, CallsAreCountedAsTheirProcedures) {
  const uint32_t odd = db_.procedure_id("odd"), even = db_.procedure_id("even");
  std::vector<Status> outcomes(10);
  static_cast<void>(db_.run_group(
      10, [&](size_t i, Touches& touches) { touches.procedure_id(i == 9 ? 1u << 30 : i % 2 == 1 ? odd : even); },
      [&](size_t i, Transaction& txn) { return add(txn, i + 1); }, outcomes));
  EXPECT_REFUSED(Code::kInvalidArgument, "procedure_id", outcomes[9]);
  for (const auto& each : db_.statistics().procedures) {
    if (each.name.empty()) continue;
    EXPECT_EQ(each.commits, each.name == "odd" ? 4u : 5u) << each.name;
  }
}

// -- conflicts ------------------------------------------------------------------------------------

TEST_P(GroupConflictTest, AConflictHoldsUpNoOther) {
  // Call 3 conflicts twice. All other calls run before its second attempt.
  std::vector<size_t> order;
  std::vector<uint32_t> attempts(10);
  std::vector<Status> outcomes(10);
  EXPECT_OK(db_.run_group(
      10, [&](size_t i, Touches& touches) { touches.row(accounts_, i + 1); },
      [&](size_t i, Transaction& txn) -> Status {
        order.push_back(i);
        attempts[i] = txn.attempt();
        if (auto view = txn.get(accounts_, i + 1); !view.ok()) return view.status();
        if (i == 3 && txn.attempt() <= 2) interfere(i + 1);
        return add(txn, 50 + i);
      },
      outcomes, in_groups_of(4)));
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 3}));
  EXPECT_EQ(attempts, (std::vector<uint32_t>{1, 1, 1, 3, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(total(), 10 + 200);
}

// Keys 1 and 2 were named, so their rows are passed on. Key 999 was not named, and its absence is
// validated.
TEST_P(GroupConflictTest, AnAbsenceThatMultiGetSawBesideNamedRowsIsValidated) {
  uint32_t attempts = 0;
  EXPECT_OK(db_.run_group(
      1,
      [&](size_t, Touches& touches) {
        touches.row(accounts_, 1);
        touches.row(accounts_, 2);
      },
      [&](size_t, Transaction& txn) -> Status {
        const std::vector<Key> keys = {1, 999, 2};
        std::vector<View<Account>> rows(keys.size());
        ELIDER_TRY(txn.multi_get(accounts_, std::span(keys), std::span(rows)));
        EXPECT_TRUE(rows[0] && rows[2]);
        EXPECT_EQ(static_cast<bool>(rows[1]), txn.attempt() == 2);
        attempts = txn.attempt();
        if (attempts == 1) {
          ActiveTransaction other = begin(db_);
          EXPECT_OK(other->insert(accounts_, 999, account(999)));
          EXPECT_OK(other.commit());
        }
        return add(txn, 50);
      }));
  EXPECT_EQ(attempts, 2u);
}

TEST_P(GroupConflictTest, TheAttemptsOfACallAreCounted) {
  GroupPolicy policy;
  policy.attempts_max = 3;
  std::vector<int> runs(5);
  std::vector<Status> outcomes(5);
  const Status status = db_.run_group(
      5, [&](size_t i, Touches& touches) { touches.row(accounts_, i + 1); },
      [&](size_t i, Transaction& txn) -> Status {
        ++runs[i];
        if (auto view = txn.get(accounts_, i + 1); !view.ok()) return view.status();
        if (i == 2) interfere(i + 1);
        return add(txn, 50 + i);
      },
      outcomes, policy);
  EXPECT_REFUSED(Code::kDeadline, "given up after 3 attempts", status);
  EXPECT_CODE(Code::kDeadline, outcomes[2]);
  EXPECT_EQ(runs, (std::vector<int>{1, 1, 3, 1, 1}));
  EXPECT_EQ(total(), 4 + 300);
}

TEST_P(GroupConflictTest, ADeadlineEndsTheAttemptsOfACall) {
  GroupPolicy policy;
  policy.deadline_us = 1;
  std::vector<Status> outcomes(3);
  static_cast<void>(db_.run_group(
      3, [](size_t, Touches&) {},
      [&](size_t i, Transaction& txn) -> Status {
        if (auto view = txn.get(accounts_, i + 1); !view.ok()) return view.status();
        if (i == 1) interfere(i + 1);
        return add(txn, 50 + i);
      },
      outcomes, policy));
  EXPECT_OK(outcomes[0]);
  EXPECT_CODE(Code::kDeadline, outcomes[1]);
  EXPECT_OK(outcomes[2]);  // its first attempt is made, however late
}

// -- procedures -----------------------------------------------------------------------------------

class CallGroupTest : public GroupTest {
 protected:
  void SetUp() override {
    GroupTest::SetUp();
    Procedure<Values> add_to("add");
    add_to.parameter("key", ValueType::kUInt64).parameter("amount", ValueType::kInt64);
    add_to.body([this](Transaction& txn, Values& call) -> Status {
      const Key key = std::get<uint64_t>(call.arguments[0]);
      call.reply.emplace_back(int64_t{-1});
      if (Status status = add(txn, key, std::get<int64_t>(call.arguments[1])); !status.ok()) return status;
      call.reply.back() = (*txn.get(accounts_, key))->balance;
      return {};
    });
    add_to.touch([this](const Values& call, Touches& touches) { touches.row(accounts_, std::get<uint64_t>(call.arguments[0])); });
    ASSERT_OK(install(db_, add_to));
    Procedure<Values> balance("balance");
    balance.parameter("key", ValueType::kUInt64).read_only().body([this](Transaction& txn, Values& call) -> Status {
      EXPECT_TRUE(txn.read_only());
      auto view = txn.get(accounts_, std::get<uint64_t>(call.arguments[0]));
      if (view.ok()) call.reply.emplace_back((*view)->balance);
      return view.status();
    });
    ASSERT_OK(install(db_, balance));
  }
};
ELIDER_ON_EVERY(CallGroupTest);

TEST_P(CallGroupTest, AMixtureOfProcedures) {
  const std::vector<Value> one = {uint64_t{1}, int64_t{5}}, two = {uint64_t{2}, int64_t{7}}, none = {uint64_t{999}, int64_t{1}},
                           third = {uint64_t{3}}, mistyped = {int64_t{3}};
  std::vector<std::vector<Value>> replies(6);
  const std::vector<ProcedureCall> calls = {{"add", one, &replies[0]},     {"add", two, &replies[1]},  {"balance", third, &replies[2]},
                                            {"add", none, &replies[3]},    {"fly", one, &replies[4]},  {"balance", mistyped, &replies[5]},
                                            {"balance", third, nullptr}};
  std::vector<Status> outcomes(calls.size());
  EXPECT_CODE(Code::kNotFound, db_.call_group(calls, outcomes));
  for (const size_t i : {0, 1, 2, 6}) EXPECT_OK(outcomes[i]);
  EXPECT_CODE(Code::kNotFound, outcomes[3]);
  EXPECT_REFUSED(Code::kNotFound, "'fly'", outcomes[4]);
  EXPECT_REFUSED(Code::kInvalidArgument, "key", outcomes[5]);
  EXPECT_EQ(replies[0], std::vector<Value>{int64_t{5}});
  EXPECT_EQ(replies[1], std::vector<Value>{int64_t{7}});
  EXPECT_EQ(replies[2], std::vector<Value>{int64_t{0}});
  for (const size_t i : {3, 4, 5}) EXPECT_TRUE(replies[i].empty());
  for (const auto& each : db_.statistics().procedures)
    EXPECT_EQ(each.commits, each.name == "add" ? 2u : each.commits);
}

TEST_P(CallGroupTest, CallsThatAreNotOkLeaveNoReply) {
  const std::vector<Value> good = {uint64_t{1}, int64_t{5}}, nobody = {uint64_t{999}, int64_t{1}}, few = {uint64_t{1}};
  std::array<std::vector<Value>, 4> replies;
  const std::array<ProcedureCall, 4> calls = {
      ProcedureCall{"teleport", good, &replies[0]}, {"add", few, &replies[1]}, {"add", nobody, &replies[2]}, {"add", good, &replies[3]}};
  const auto fill = [&] {
    for (std::vector<Value>& reply : replies) reply = {std::string("left over from before")};
  };
  fill();
  std::vector<Status> outcomes(calls.size());
  EXPECT_CODE(Code::kNotFound, db_.call_group(calls, outcomes));
  EXPECT_OK(outcomes[3]);
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(replies[i].size(), i == 3 ? 1u : 0u) << i;
  fill();
  outcomes.resize(1);
  EXPECT_CODE(Code::kInvalidArgument, db_.call_group(calls, outcomes));
  for (const std::vector<Value>& reply : replies) EXPECT_TRUE(reply.empty()) << "1 outcome";
  fill();
  EXPECT_CODE(Code::kInvalidArgument, db_.call_group(calls, {}, in_groups_of(2000)));
  for (const std::vector<Value>& reply : replies) EXPECT_TRUE(reply.empty()) << "the size";
}

TEST_P(CallGroupTest, OutcomesOfAnotherSizeAreRefused) {
  const std::vector<Value> one = {uint64_t{1}, int64_t{5}};
  const std::vector<ProcedureCall> calls = {{"add", one}, {"add", one}};
  std::vector<Status> outcomes(3);
  EXPECT_REFUSED(Code::kInvalidArgument, "3 outcomes were given for 2 calls", db_.call_group(calls, outcomes));
  for (const Status& outcome : outcomes) EXPECT_CODE(Code::kInvalidArgument, outcome);
  EXPECT_OK(db_.call_group(calls));
  EXPECT_EQ(row(accounts_, 1).balance, 10);
}

// With GroupPolicy::in_order, a call that conflicts is repeated before the next call runs.
TEST_P(GroupConflictTest, CallsInOrderTakeEffectInTheirOrder) {
  for (const uint32_t size : {1u, 7u, 0u}) {
    SCOPED_TRACE(size);
    GroupPolicy policy = in_groups_of(size);
    policy.in_order = true;
    policy.attempts_max = 4;
    std::vector<Key> calls = keys(1, 20), order;
    std::vector<Status> outcomes(calls.size());
    const Status status = db_.run_group(
        std::span(calls), row_touched(),
        [&](Key key, Transaction& txn) -> Status {
          if (order.empty() || order.back() != key) order.push_back(key);
          if (Status read = txn.get(accounts_, key).status(); !read.ok()) return read;
          if (key == 9) return Status(Code::kConflict, Cause::kUser);  // never succeeds
          if (key % 3 == 0 && txn.attempt() < 3) return Status(Code::kConflict, Cause::kUser);
          EXPECT_EQ(txn.attempt(), key % 3 == 0 ? 3u : 1u);
          return add(txn, key);
        },
        outcomes, policy);
    EXPECT_REFUSED(Code::kDeadline, "given up after 4 attempts", status);
    EXPECT_EQ(order, calls);
    for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(outcomes[i].ok(), calls[i] != 9) << outcomes[i].message();
  }
}

}  // namespace
}  // namespace elider::test
