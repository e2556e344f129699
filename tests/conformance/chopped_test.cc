// Chopped procedures (elider/procedure.h) through the API, under every protocol: results, refusals,
// also within an operation, and many threads together with ordinary transactions.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/chopped_bank.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using chopping::Operation;

class ChoppedTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
  }
  bool in_pieces() const { return GetParam().protocol == Protocol::kChopped; }
  ChoppedBank::Transfer transfer(Key from, Key to, int64_t amount) {
    ChoppedBank::Transfer call;
    call.from = from, call.to = to, call.amount = amount, call.entry = bank_.next_entry.fetch_add(1);
    return call;
  }
  ChoppedBank::Audit audit() {
    ChoppedBank::Audit found;
    EXPECT_OK(db_.call(bank_.audit, found));
    EXPECT_EQ(bank_.damage(found), "");
    return found;
  }
  // Runs calls, ordinary transactions that read and write everything, and snapshots, in four
  // threads.
  void run_threads() {
    if (!GetParam().threads()) GTEST_SKIP() << "it is for one thread";
    constexpr int kCalls = 300;
    std::atomic<int64_t> transfers{0}, deposits{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        for (int i = 0; i < kCalls; ++i) {
          const uint64_t kind = random() % 10;
          if (kind < 5) {
            ChoppedBank::Transfer call = bank_.draw(random);
            EXPECT_OK(db_.call(bank_.transfer, call));
            ++transfers;
          } else if (kind < 7) {
            ChoppedBank::Deposit call{random() % ChoppedBank::kAccounts, random() % ChoppedBank::kBranches, 1};
            EXPECT_OK(db_.call(bank_.deposit, call));
            ++deposits;
          } else if (kind < 9) {
            ChoppedBank::Audit found;
            EXPECT_OK(kind == 7 ? db_.call(bank_.audit, found)
                                : db_.run([&](Transaction& txn) { return bank_.read_all(txn, &found); }));
            EXPECT_EQ(bank_.damage(found), "");
          } else {
            const Key from = random() % ChoppedBank::kAccounts, to = (from + 1) % ChoppedBank::kAccounts;
            const auto balance = bank_.accounts.columns(&ChoppedBank::Account::balance);
            EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
              ELIDER_TRY(txn.update(bank_.accounts, from, balance, [](ChoppedBank::Account& a) { --a.balance; }));
              return txn.update(bank_.accounts, to, balance, [](ChoppedBank::Account& a) { ++a.balance; });
            }));
          }
        }
      });
    for (std::thread& thread : threads) thread.join();
    const ChoppedBank::Audit found = audit();
    EXPECT_EQ(found.transfers, static_cast<uint64_t>(transfers));
    EXPECT_EQ(found.deposits, static_cast<uint64_t>(deposits));
  }

  ChoppedBank bank_;
};

// The key index does not matter, so one is enough.
std::vector<Combination> chopped_combinations() {
  std::vector<Combination> chosen = combinations(false, false);
  std::erase_if(chosen, [](const Combination& combination) { return combination.key_index != KeyIndex::kOrdered; });
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(On, ChoppedTest, testing::ValuesIn(chopped_combinations()), combination_name);

TEST_P(ChoppedTest, ACallDoesAllOfIt) {
  chopping::Plan plan;
  ASSERT_OK(bank_.install(db_, true, &plan));
  ASSERT_EQ(plan.procedures.size(), 3u);
  EXPECT_EQ(plan.procedures[0].pieces.size(), 4u);
  EXPECT_TRUE(plan.procedures[2].on_snapshot);
  ChoppedBank::Transfer call = transfer(3, 4, 7);
  ASSERT_OK(db_.call(bank_.transfer, call));
  EXPECT_EQ(call.left, ChoppedBank::kBegin - 7);
  EXPECT_EQ(row(bank_.accounts, 3).balance, ChoppedBank::kBegin - 7);
  EXPECT_EQ(row(bank_.accounts, 4).balance, ChoppedBank::kBegin + 7);
  EXPECT_EQ(row(bank_.journal, call.entry).amount, 7);
  EXPECT_EQ(audit().turnover, 14);
  for (const Statistics::Procedure& procedure : db_.statistics().procedures)
    if (procedure.name == "transfer") {
      EXPECT_EQ(procedure.commits, 1u);
    }
}

TEST_P(ChoppedTest, WhatRollsBackBeforeItIsOrderedDoesNothing) {
  ASSERT_OK(bank_.install(db_, true));
  for (const int fail : {1, 2}) {
    ChoppedBank::Transfer call = transfer(1, 2, 5);
    call.fail = fail;
    EXPECT_EQ(db_.call(bank_.transfer, call).code(), Code::kRolledBack);
  }
  ChoppedBank::Transfer nobody = transfer(1, 99, 5);
  EXPECT_EQ(db_.call(bank_.transfer, nobody).code(), Code::kNotFound);
  EXPECT_EQ(audit().transfers, 0u);
  ChoppedBank::Transfer call = transfer(1, 2, 5);
  EXPECT_OK(db_.call(bank_.transfer, call));
  EXPECT_EQ(audit().transfers, 1u);
}

TEST_P(ChoppedTest, WhatIsNotInstalledIsRefused) {
  ChoppedBank::Transfer call;
  const Status before = db_.call(bank_.transfer, call);
  EXPECT_EQ(before.code(), Code::kInvalidArgument) << before.message();
  ASSERT_OK(bank_.install(db_, true));
  EXPECT_REFUSED(Code::kInvalidArgument, "does not name a procedure", db_.call(ProcedureHandle<ChoppedBank::Transfer>(), call));
  EXPECT_EQ(bank_.install(db_, true).code(), Code::kInvalidArgument) << "a second time";
}

TEST_P(ChoppedTest, WhatCannotBeExecutedIsNotInstalled) {
  const auto install = [&](Operation operation, const InstallOptions& options = {}) {
    Procedures procedures;
    struct Nothing {};
    procedures.add(Procedure<Nothing>("p").operation(std::move(operation), [](Transaction&, Nothing&) {}));
    return db_.install(std::move(procedures), options);
  };
  EXPECT_NE(install(Operation("o").reads("nowhere")).message().find("nowhere"), std::string::npos);
  EXPECT_NE(install(Operation("o").reads("accounts", {"colour"})).message().find("colour"), std::string::npos);
  InstallOptions columns;
  columns.choices.granularity = chopping::Granularity::kColumn;
  EXPECT_NE(install(Operation("o").reads("accounts"), columns).message().find("granularity"), std::string::npos);
  EXPECT_OK(install(Operation("o").reads("accounts")));
}

TEST_P(ChoppedTest, AnAccessThatIsNotDeclaredIsRefused) {
  struct Call {
    int what;
  };
  Procedures procedures;
  const auto balance = bank_.accounts.columns(&ChoppedBank::Account::balance);
  const ProcedureHandle<Call> touch = procedures.add(Procedure<Call>("touch").operation(
      Operation("some").reads("accounts", {"branch"}).writes("branches", {"turnover"}),
      [&](Transaction& txn, Call& call) -> Status {
        const auto branch = bank_.accounts.columns(&ChoppedBank::Account::branch);
        const auto turnover = bank_.branches.columns(&ChoppedBank::Branch::turnover);
        switch (call.what) {
          case 0: return txn.get(bank_.accounts, 1, branch).status();
          case 1: return txn.update(bank_.branches, 1, turnover, [](ChoppedBank::Branch& b) { ++b.turnover; });
          case 2: return txn.get(bank_.branches, 1, turnover).status();
          case 3: return txn.get(bank_.accounts, 1, balance).status();
          case 4: return txn.update(bank_.accounts, 1, branch, [](ChoppedBank::Account& a) { ++a.branch; });
          case 5: return txn.insert(bank_.journal, 1, ChoppedBank::Entry{});
          case 6: return txn.remove(bank_.branches, 1);
          case 7: return txn.scan(bank_.accounts, KeyRange{}, {.columns = branch}, [](Key, const View<ChoppedBank::Account>&) {});
          default: static_cast<void>(txn.get(bank_.accounts, 1)); return {};  // and ignores the error
        }
      }));
  InstallOptions options;
  options.check_accesses = true;
  ASSERT_OK(db_.install(std::move(procedures), options));
  for (int what = 0; what < 9; ++what) {
    SCOPED_TRACE(what);
    Call call{what};
    const Status status = db_.call(touch, call);
    if (what < 3) {
      EXPECT_OK(status);
      continue;
    }
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    for (const char* word : {"touch", "some"}) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    if (what == 3) {
      EXPECT_NE(status.message().find("balance"), std::string::npos) << status.message();
    }
  }
}

// The declaration does not mention indexes.
TEST_P(ChoppedTest, OfTwoCallsOneHasAUniqueValue) {
  struct Row {
    uint64_t value;
  };
  struct Call {
    Key key;
    uint64_t value;
  };
  auto rows = create(
      SchemaOf<Row>("rows").column("value", &Row::value).unique_index("by_value", {"value"}, [](const Row& row) { return row.value; }));
  Procedures procedures;
  const ProcedureHandle<Call> put = procedures.add(
      Procedure<Call>("put")
          .operation(Operation("count").reads("accounts", {"deposits"}).writes("accounts", {"deposits"}),
                     [&](Transaction& txn, Call&) {
                       return txn.update(bank_.accounts, 1, bank_.accounts.columns(&ChoppedBank::Account::deposits),
                                         [](ChoppedBank::Account& a) { ++a.deposits; });
                     })
          .operation(Operation("row").inserts("rows").fresh().needs({"count"}),
                     [&](Transaction& txn, Call& call) { return txn.insert(rows, call.key, Row{call.value}); }));
  InstallOptions options;
  options.always_in_pieces = true;
  ASSERT_OK(db_.install(std::move(procedures), options));
  Call first{10, 77}, second{20, 77}, third{20, 78};
  EXPECT_OK(db_.call(put, first));
  EXPECT_EQ(db_.call(put, second).code(), Code::kDuplicateKey) << "a clean refusal: the database goes on";
  EXPECT_OK(db_.call(put, third));
  EXPECT_EQ(row(bank_.accounts, 1).deposits, 2u);
}

TEST_P(ChoppedTest, ARowIsUpdatedByTheViewOfAnotherPiece) {
  struct Call {
    View<ChoppedBank::Account> view;
  };
  for (const bool always_in_pieces : {false, true}) {
    SCOPED_TRACE(always_in_pieces);
    reopen({});
    bank_.next_entry = 0;
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
    Procedures procedures;
    const auto names = bank_.accounts.columns(&ChoppedBank::Account::branch);
    const ProcedureHandle<Call> count = procedures.add(
        Procedure<Call>("count")
            .operation(Operation("look").reads("accounts", {"branch"}),
                       [&](Transaction& txn, Call& call) -> Status {
                         auto view = txn.get(bank_.accounts, 3, names);
                         if (view.ok()) call.view = *view;
                         return view.status();
                       })
            .operation(Operation("count").reads("accounts", {"deposits"}).writes("accounts", {"deposits"}).needs({"look"}),
                       [&](Transaction& txn, Call& call) {
                         return txn.update(bank_.accounts, call.view, bank_.accounts.columns(&ChoppedBank::Account::deposits),
                                           [](ChoppedBank::Account& a) { ++a.deposits; });
                       }));
    InstallOptions options;
    options.always_in_pieces = always_in_pieces;
    ASSERT_OK(db_.install(std::move(procedures), options));
    Call call;
    EXPECT_OK(db_.call(count, call));
    EXPECT_EQ(row(bank_.accounts, 3).deposits, 1u);
  }
}

// A call that can no longer be rolled back takes memory beyond the limit, whatever its body does
// about the refusal. Further calls are refused.
TEST_P(ChoppedTest, ATailWithoutMemoryIsWrittenAllTheSame) {
  if (!in_pieces()) GTEST_SKIP() << "a call is a transaction like any other";
  struct Large {
    std::array<char, 400> text;
  };
  struct Call {
    Key first;
  };
  Options options;
  options.memory_limit_bytes = 8u << 20;
  reopen(options);
  ASSERT_OK(bank_.create_tables(db_));
  ASSERT_OK(bank_.fill(db_));
  auto large = create(SchemaOf<Large>("large").column("text", &Large::text));
  Procedures procedures;
  const ProcedureHandle<Call> fill = procedures.add(
      Procedure<Call>("fill")
          .operation(Operation("count").reads("accounts", {"deposits"}).writes("accounts", {"deposits"}),
                     [&](Transaction& txn, Call&) {
                       return txn.update(bank_.accounts, 1, bank_.accounts.columns(&ChoppedBank::Account::deposits),
                                         [](ChoppedBank::Account& a) { ++a.deposits; });
                     })
          .operation(Operation("rows").inserts("large").fresh().needs({"count"}), [&](Transaction& txn, Call& call) -> Status {
            for (Key key = call.first; key < call.first + 10; ++key)
              if (!txn.insert(large, key, Large{}).ok()) return Status::invalid_argument("words of its own");
            return {};
          }));
  InstallOptions pieces;
  pieces.always_in_pieces = true;
  ASSERT_OK(db_.install(std::move(procedures), pieces));
  Status status;
  uint64_t calls = 0;
  for (; status.ok() && calls < 10'000; ++calls) {
    Call call{calls * 10};
    status = db_.call(fill, call);
  }
  EXPECT_EQ(status.code(), Code::kMemoryLimit) << status.message();
  EXPECT_EQ(row(bank_.accounts, 1).deposits, calls - 1) << "the database continues, without half of a call";
  uint64_t rows = 0;
  read(db_, [&](Transaction& txn) { ASSERT_OK(txn.scan(large, KeyRange{}, {}, [&](Key, const View<Large>&) { ++rows; })); });
  EXPECT_EQ(rows, 10 * (calls - 1));
}

// Each call of a group is a separate transaction, and its outcome is what call() would return.
TEST_P(ChoppedTest, AGroupRunsEachCall) {
  ASSERT_OK(bank_.install(db_, false));
  std::vector<ChoppedBank::Transfer> transfers;
  for (Key i = 0; i < 40; ++i) transfers.push_back(transfer(i % 4, 4 + i % 8, 1));
  transfers[5].fail = 1;
  transfers[6].fail = 2;
  transfers[7].to = 99;
  ChoppedBank::Deposit deposit{3, 1, 1};
  ChoppedBank::Audit found;
  const ProcedureHandle<ChoppedBank::Deposit> unknown;
  std::vector<ProcedureCall> calls;
  for (ChoppedBank::Transfer& call : transfers) calls.emplace_back(bank_.transfer, call);
  calls.emplace_back(bank_.deposit, deposit);
  calls.emplace_back(bank_.audit, found);
  calls.emplace_back(unknown, deposit);
  std::vector<Status> outcomes(calls.size());
  GroupPolicy policy;
  policy.size = 8;
  EXPECT_EQ(db_.call_group(calls, outcomes, policy).code(), Code::kRolledBack) << "the first that is not ok";
  for (size_t i = 0; i < calls.size(); ++i) {
    const Code expected = i == 5 || i == 6 ? Code::kRolledBack : i == 7 ? Code::kNotFound : i == 42 ? Code::kInvalidArgument : Code::kOk;
    EXPECT_EQ(outcomes[i].code(), expected) << i << ": " << outcomes[i].message();
  }
  EXPECT_EQ(bank_.damage(found), "");
  const ChoppedBank::Audit after = audit();
  EXPECT_EQ(after.transfers, 37u);
  EXPECT_EQ(after.deposits, 1u);
  for (const Statistics::Procedure& procedure : db_.statistics().procedures)
    if (procedure.name == "transfer") {
      EXPECT_EQ(procedure.commits, 37u);
    }
  EXPECT_OK(db_.call_group({}));
  std::vector<Status> too_few(2);
  EXPECT_EQ(db_.call_group(calls, too_few).code(), Code::kInvalidArgument);
}

// A call of a group runs in pieces. If it fails after its core, it cannot be rolled back, and the
// calls after it are refused.
TEST_P(ChoppedTest, ACallOfAGroupThatFailsBehindItsCoreStopsTheDatabase) {
  ASSERT_OK(bank_.install(db_, true));
  std::array<ChoppedBank::Transfer, 3> its{transfer(1, 2, 5), transfer(3, 4, 5), transfer(5, 6, 5)};
  its[1].fail = 3;
  std::vector<ProcedureCall> calls;
  for (ChoppedBank::Transfer& call : its) calls.emplace_back(bank_.transfer, call);
  std::vector<Status> outcomes(calls.size());
  EXPECT_FALSE(db_.call_group(calls, outcomes).ok());
  EXPECT_OK(outcomes[0]);
  EXPECT_EQ(outcomes[1].code(), in_pieces() ? Code::kCorrupt : Code::kRolledBack) << outcomes[1].message();
  EXPECT_EQ(outcomes[2].code(), in_pieces() ? Code::kCorrupt : Code::kOk) << outcomes[2].message();
}

// GroupPolicy: the deadline applies to all calls together, from the beginning of the group. The
// limit of attempts applies to each call.
TEST_P(ChoppedTest, AGroupEndsItsAttemptsByItsPolicy) {
  ASSERT_OK(bank_.install(db_, true));
  if (!in_pieces()) GTEST_SKIP() << "tests of groups have it for the others";
  // Counts how often the core of each call has run.
  const auto run = [&](const GroupPolicy& policy) {
    std::array<int, 3> attempts{};
    std::array<ChoppedBank::Transfer, 3> its{transfer(1, 2, 5), transfer(3, 4, 5), transfer(5, 6, 5)};
    std::vector<ProcedureCall> calls;
    for (size_t i = 0; i < its.size(); ++i) {
      // Each attempt conflicts with another call, which changes what it has read.
      its[i].meanwhile = [&, i](int where) {
        if (where != 2) return;
        ++attempts[i];
        std::thread([&] {
          ChoppedBank::Transfer other = transfer(its[i].from, 7, 1);
          EXPECT_OK(db_.call(bank_.transfer, other));
        }).join();
      };
      calls.emplace_back(bank_.transfer, its[i]);
    }
    std::vector<Status> outcomes(calls.size());
    EXPECT_EQ(db_.call_group(calls, outcomes, policy).code(), Code::kDeadline);
    for (const Status& outcome : outcomes) EXPECT_EQ(outcome.code(), Code::kDeadline) << outcome.message();
    return attempts;
  };
  GroupPolicy three;
  three.attempts_max = 3;
  for (const int attempts : run(three)) EXPECT_EQ(attempts, 3);
  GroupPolicy soon;
  soon.deadline_us = 20'000;
  const std::array<int, 3> attempts = run(soon);
  for (const size_t i : {1, 2}) EXPECT_EQ(attempts[i], 1) << "the first has used up the time";
}

TEST_P(ChoppedTest, AGroupWithoutProceduresIsRefused) {
  ChoppedBank::Deposit deposit{3, 1, 1};
  std::vector<ProcedureCall> calls(3, ProcedureCall(bank_.deposit, deposit));
  std::vector<Status> outcomes(calls.size());
  EXPECT_EQ(db_.call_group(calls, outcomes).code(), Code::kInvalidArgument);
  for (const Status& outcome : outcomes) EXPECT_EQ(outcome.code(), Code::kInvalidArgument) << outcome.message();
}

TEST_P(ChoppedTest, ACallWhoseTouchFunctionThrowsDoesNotRun) {
  struct Call {
    Key account;
    bool ran = false;
  };
  Procedures procedures;
  const ProcedureHandle<Call> count = procedures.add(
      Procedure<Call>("count")
          .touch([&](const Call& call, Touches& touches) {
            if (call.account == 2) throw std::runtime_error("no such account");
            touches.row(bank_.accounts, call.account);
          })
          .operation(Operation("count").reads("accounts", {"deposits"}).writes("accounts", {"deposits"}), [&](Transaction& txn,
                                                                                                              Call& call) {
            call.ran = true;
            return txn.update(bank_.accounts, call.account, bank_.accounts.columns(&ChoppedBank::Account::deposits),
                              [](ChoppedBank::Account& a) { ++a.deposits; });
          }));
  ASSERT_OK(db_.install(std::move(procedures)));
  std::array<Call, 4> its{{{0}, {1}, {2}, {3}}};
  std::vector<ProcedureCall> calls;
  for (Call& call : its) calls.emplace_back(count, call);
  std::vector<Status> outcomes(calls.size());
  EXPECT_EQ(db_.call_group(calls, outcomes).code(), Code::kProcedureThrew);
  for (size_t i = 0; i < its.size(); ++i) {
    EXPECT_EQ(its[i].ran, i != 2);
    EXPECT_EQ(row(bank_.accounts, i).deposits, i != 2 ? 1u : 0u);
  }
}

TEST_P(ChoppedTest, GroupsOfCallsBesideAllElse) {
  if (!GetParam().threads()) GTEST_SKIP() << "it is for one thread";
  ASSERT_OK(bank_.install(db_, false));
  std::atomic<uint64_t> transfers{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 40; ++i) {
        std::vector<ChoppedBank::Transfer> its;
        for (int c = 0; c < 8; ++c) its.push_back(bank_.draw(random));
        ChoppedBank::Audit found;
        std::vector<ProcedureCall> calls;
        for (ChoppedBank::Transfer& call : its) calls.emplace_back(bank_.transfer, call);
        calls.emplace_back(bank_.audit, found);
        EXPECT_OK(db_.call_group(calls));
        EXPECT_EQ(bank_.damage(found), "");
        transfers += its.size();
        EXPECT_OK(db_.run([&](Transaction& txn) { return bank_.read_all(txn, &found); }));
        EXPECT_EQ(bank_.damage(found), "");
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(audit().transfers, transfers);
}

TEST_P(ChoppedTest, AHeldSnapshotIsAStateThatCallsHaveLeft) {
  if (!GetParam().threads()) GTEST_SKIP() << "it is for one thread";
  ASSERT_OK(bank_.install(db_, true));
  auto held = db_.hold_snapshot();
  ASSERT_OK(held);
  const SnapshotNumber first = held->number();
  std::atomic<int> moved{0};
  ChoppedBank::Deposit refused{3, 1, 1};
  EXPECT_EQ(db_.call(bank_.deposit, refused, {.snapshot = &*held}).code(), Code::kInvalidArgument);
  constexpr int kCallers = 2;
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kCallers; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 150; ++i) {
        // Each advance may find a call half done, until both callers wait here.
        while (i == 75 && moved == 0) std::this_thread::yield();
        ChoppedBank::Transfer call = bank_.draw(random);
        EXPECT_OK(db_.call(bank_.transfer, call));
        ChoppedBank::Deposit deposit{call.from, call.from % ChoppedBank::kBranches, 1};
        EXPECT_OK(db_.call(bank_.deposit, deposit));
      }
      ++ended;
    });
  for (unsigned t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10 || ended < kCallers; ++i) {
        if (t == 0) moved += held->advance() ? 1 : 0;
        ChoppedBank::Audit found;
        if (i % 2 == 0) {
          EXPECT_OK(db_.call(bank_.audit, found, {.snapshot = &*held}));
        } else {
          GroupPolicy policy;
          policy.snapshot = &*held;
          const ProcedureCall audit(bank_.audit, found);
          EXPECT_OK(db_.call_group(std::span(&audit, 1), {}, policy));
        }
        EXPECT_EQ(bank_.damage(found), "");
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(held->advance());
  ChoppedBank::Audit found;
  EXPECT_OK(db_.call(bank_.audit, found, {.snapshot = &*held}));
  EXPECT_EQ(found.transfers, 150u * kCallers);
  EXPECT_GT(moved, 0);
  EXPECT_GT(held->number(), first);
}

TEST_P(ChoppedTest, ACallOfAGroupThatOnlyReadsIsTriedAgain) {
  struct Call {
    int runs = 0;
  };
  Procedures procedures;
  const ProcedureHandle<Call> look = procedures.add(
      Procedure<Call>("look").operation(Operation("look").reads("accounts"), [&](Transaction& txn, Call& call) -> Status {
        EXPECT_EQ(txn.attempt(), static_cast<uint32_t>(++call.runs));
        return call.runs < 3 ? Status(Code::kConflict, Cause::kUser) : txn.get(bank_.accounts, 1).status();
      }));
  ASSERT_OK(db_.install(std::move(procedures)));
  Call call;
  const ProcedureCall of_group(look, call);
  EXPECT_OK(db_.call_group(std::span(&of_group, 1)));
  EXPECT_EQ(call.runs, 3);
}

TEST_P(ChoppedTest, NothingElseBeginsWithinAnOperation) {
  if (!in_pieces()) GTEST_SKIP() << "a call is a transaction like any other";
  struct Call {
    Database* db;
    ActiveTransaction* before;
    Status run, snapshot, hold, open, checkpoint, wait, group, commit;
  };
  Procedures procedures;
  const ProcedureHandle<Call> nest = procedures.add(Procedure<Call>("nest").operation(
      Operation("add").adds("branches", {"turnover"}), [&](Transaction& txn, Call& call) -> Status {
        call.run = call.db->run([](Transaction&) {});
        call.snapshot = call.db->run_read_only([](Transaction&) {});
        call.hold = call.db->hold_snapshot().status();
        call.open = call.db->begin().status();
        call.checkpoint = call.db->checkpoint();
        call.wait = call.db->wait_durable();
        ChoppedBank::Deposit deposit{1, 1, 1};
        const ProcedureCall of_group(bank_.deposit, deposit);
        call.group = call.db->call_group(std::span(&of_group, 1));
        call.commit = call.before->commit();
        return txn.add(bank_.branches, 1, &ChoppedBank::Branch::turnover, 1);
      }));
  ASSERT_OK(db_.install(std::move(procedures)));
  ActiveTransaction before = begin(db_);
  ASSERT_OK(before->get(bank_.accounts, 1));
  Call call{&db_, &before, {}, {}, {}, {}, {}, {}, {}, {}};
  ASSERT_OK(db_.call(nest, call));
  for (const Status* status :
       {&call.run, &call.snapshot, &call.hold, &call.open, &call.checkpoint, &call.wait, &call.group, &call.commit})
    EXPECT_EQ(status->code(), Code::kInvalidArgument) << status->message();
  EXPECT_OK(db_.run([](Transaction&) {})) << "the call has ended";
}

TEST_P(ChoppedTest, AFailureBehindThePieceThatOrdersItStopsTheDatabase) {
  ASSERT_OK(bank_.install(db_, true));
  ChoppedBank::Transfer call = transfer(1, 2, 5);
  call.fail = 3;
  const Status failed = db_.call(bank_.transfer, call);
  if (!in_pieces()) {
    EXPECT_EQ(failed.code(), Code::kRolledBack) << "it is one transaction";
    EXPECT_EQ(audit().transfers, 0u);
    return;
  }
  EXPECT_EQ(failed.code(), Code::kCorrupt);
  EXPECT_NE(failed.message().find("transfer"), std::string::npos) << failed.message();
  EXPECT_EQ(failed.message().find("file"), std::string::npos) << failed.message();
  const auto nothing = [](Transaction&) {};
  EXPECT_EQ(db_.run(nothing).message(), failed.message());
  EXPECT_EQ(db_.run_read_only(nothing).message(), failed.message());
  EXPECT_EQ(db_.begin().status().message(), failed.message());
  ChoppedBank::Transfer next = transfer(1, 2, 5);
  EXPECT_EQ(db_.call(bank_.transfer, next).message(), failed.message());
}

TEST_P(ChoppedTest, AnOpenTransactionThatSawTheStateBeforeACallDoesNotCommit) {
  if (!GetParam().concurrent() || GetParam().claims_writes()) GTEST_SKIP() << "the call waits for the open transaction, or ends it";
  ASSERT_OK(bank_.install(db_, true));
  ActiveTransaction open = begin(db_);
  ASSERT_OK(open->get(bank_.accounts, 1));
  ChoppedBank::Transfer call = transfer(1, 2, 5);
  ASSERT_OK(db_.call(bank_.transfer, call));
  ASSERT_OK(open->update(bank_.accounts, 3, bank_.accounts.columns(&ChoppedBank::Account::branch),
                         [](ChoppedBank::Account& a) { a.branch = 0; }));
  EXPECT_EQ(open.commit().code(), Code::kConflict);
}

TEST_P(ChoppedTest, EverybodySeesWholeCallsAlone) {
  ASSERT_OK(bank_.install(db_, true));
  run_threads();
}
TEST_P(ChoppedTest, EverybodySeesWholeCallsAloneWhereTheyAreCutAsTheyMeet) {
  ASSERT_OK(bank_.install(db_, false));
  run_threads();
}

}  // namespace
}  // namespace elider::test
