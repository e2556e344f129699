// Stored procedures: registered by name with typed parameters, called with all arguments at once.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class ProcedureTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(account_schema(GetParam().key_index));
    insert(accounts_, 1, Account{1, 100, 0, 0});
    insert(accounts_, 2, Account{2, 0, 0, 0});
    ASSERT_OK(db_.register_procedure(transfer()));
  }
  // transfer(from, to, amount) -> the two balances.
  Procedure transfer() {
    Procedure procedure;
    procedure.name = "transfer";
    procedure.parameters = {{"from", ValueType::kUInt64}, {"to", ValueType::kUInt64}, {"amount", ValueType::kInt64}};
    procedure.body = [accounts = accounts_](Transaction& txn, std::span<const Value> arguments, std::vector<Value>& reply) -> Status {
      const int64_t amount = std::get<int64_t>(arguments[2]);
      const Columns<Account> balance = accounts.columns(&Account::balance);
      const auto change = [&](const Value& key, int64_t delta) -> Status {
        return txn.update(accounts, std::get<uint64_t>(key), balance, [&](Account& a) { reply.emplace_back(a.balance += delta); });
      };
      if (Status status = change(arguments[0], -amount); !status.ok()) return status;
      return change(arguments[1], amount);
    };
    return procedure;
  }
  static Procedure simple(std::string name) {
    Procedure procedure;
    procedure.name = std::move(name);
    procedure.body = [](Transaction&, std::span<const Value>, std::vector<Value>&) -> Status { return {}; };
    return procedure;
  }
  Status call(const std::string& name, std::vector<Value> arguments, std::vector<Value>* reply = nullptr, RunPolicy policy = {}) {
    return db_.call(name, arguments, reply, policy);
  }
  static std::vector<Value> good() { return {uint64_t{1}, uint64_t{2}, int64_t{30}}; }

  Table<Account> accounts_;
};
ELIDER_ON_EVERY(ProcedureTest);

TEST_P(ProcedureTest, ACallCommitsAndReplies) {
  std::vector<Value> reply{std::string("left over from before")};
  ASSERT_OK(call("transfer", good(), &reply));
  EXPECT_EQ(reply, (std::vector<Value>{int64_t{70}, int64_t{30}}));
  EXPECT_EQ(row(accounts_, 1).balance, 70);
  EXPECT_EQ(row(accounts_, 2).balance, 30);
  EXPECT_OK(call("transfer", good()));  // a reply need not be asked for
  EXPECT_EQ(row(accounts_, 2).balance, 60);
}

TEST_P(ProcedureTest, AnUnknownProcedureIsRefusedByName) {
  EXPECT_REFUSED(Code::kNotFound, "teleport", call("teleport", {}));
}

TEST_P(ProcedureTest, WrongArgumentsAreRefusedByNameAndNothingRuns) {
  std::vector<Value> missing = good();
  missing.pop_back();
  EXPECT_REFUSED(Code::kInvalidArgument, "amount", call("transfer", missing));
  EXPECT_CODE(Code::kInvalidArgument, call("transfer", {}));
  std::vector<Value> extra = good();
  extra.emplace_back(int64_t{1});
  EXPECT_CODE(Code::kInvalidArgument, call("transfer", extra));
  std::vector<Value> mistyped = good();
  mistyped[1] = std::string("two");
  EXPECT_REFUSED(Code::kInvalidArgument, "to", call("transfer", mistyped));
  mistyped = good();
  mistyped[2] = 30.0;
  EXPECT_REFUSED(Code::kInvalidArgument, "amount", call("transfer", mistyped));
  mistyped[2] = uint64_t{30};
  EXPECT_REFUSED(Code::kInvalidArgument, "amount", call("transfer", mistyped));
  EXPECT_EQ(row(accounts_, 1).balance, 100);
}

TEST_P(ProcedureTest, ACallThatIsNotOkLeavesNoReply) {
  Procedure fails = simple("fails");
  fails.body = [](Transaction&, std::span<const Value>, std::vector<Value>& reply) {
    reply.emplace_back(int64_t{1});
    return Status::rollback();
  };
  ASSERT_OK(db_.register_procedure(fails));
  const auto expect_empty = [&](Code code, const std::string& name, std::vector<Value> arguments, RunPolicy policy = {}) {
    std::vector<Value> reply{std::string("left over from before")};
    EXPECT_CODE(code, call(name, std::move(arguments), &reply, policy));
    EXPECT_TRUE(reply.empty()) << name;
  };
  expect_empty(Code::kNotFound, "teleport", {});
  expect_empty(Code::kInvalidArgument, "transfer", {});
  expect_empty(Code::kInvalidArgument, "transfer", {uint64_t{1}, uint64_t{2}, uint64_t{30}});
  expect_empty(Code::kNotFound, "transfer", {uint64_t{1}, uint64_t{99}, int64_t{30}});
  expect_empty(Code::kRolledBack, "fails", {});
  RunPolicy wrong;
  wrong.procedure_id = 1u << 30;
  expect_empty(Code::kInvalidArgument, "transfer", good(), wrong);
}

TEST_P(ProcedureTest, EveryTypeOfArgumentArrives) {
  Procedure procedure = simple("echo");
  procedure.parameters = {
      {"i", ValueType::kInt64}, {"u", ValueType::kUInt64}, {"d", ValueType::kDouble}, {"t", ValueType::kText}};
  procedure.body = [](Transaction&, std::span<const Value> arguments, std::vector<Value>& reply) -> Status {
    reply.assign(arguments.begin(), arguments.end());
    return {};
  };
  ASSERT_OK(db_.register_procedure(procedure));
  const std::vector<Value> sent{int64_t{-7}, ~uint64_t{0}, 2.5, std::string("text\0with a zero", 16)};
  std::vector<Value> reply;
  ASSERT_OK(call("echo", sent, &reply));
  EXPECT_EQ(reply, sent);
}

TEST_P(ProcedureTest, MistakesInRegistrationAreRefused) {
  EXPECT_REFUSED(Code::kInvalidArgument, "transfer", db_.register_procedure(transfer()));  // taken
  EXPECT_CODE(Code::kInvalidArgument, db_.register_procedure(simple("")));
  Procedure bodiless = simple("ghost");
  bodiless.body = nullptr;
  EXPECT_REFUSED(Code::kInvalidArgument, "ghost", db_.register_procedure(bodiless));
  EXPECT_EQ(db_.procedures().size(), 1u);
}

TEST_P(ProcedureTest, ProceduresAreListedWithTheirParameters) {
  ASSERT_OK(db_.register_procedure(simple("nothing")));
  const auto procedures = db_.procedures();
  ASSERT_EQ(procedures.size(), 2u);
  const auto& listed = procedures[0].first == "transfer" ? procedures[0] : procedures[1];
  EXPECT_EQ(listed.first, "transfer");
  ASSERT_EQ(listed.second.size(), 3u);
  EXPECT_EQ(listed.second[2].name, "amount");
  EXPECT_EQ(listed.second[2].type, ValueType::kInt64);
}

TEST_P(ProcedureTest, AnErrorOrAnExceptionUndoesTheCall) {
  EXPECT_CODE(Code::kNotFound, call("transfer", {uint64_t{1}, uint64_t{99}, int64_t{30}}));
  EXPECT_EQ(row(accounts_, 1).balance, 100);
  Procedure throwing = simple("throwing");
  throwing.body = [accounts = accounts_](Transaction& txn, std::span<const Value>, std::vector<Value>&) -> Status {
    EXPECT_OK(txn.remove(accounts, 1));
    throw std::logic_error("out of cheese");
  };
  ASSERT_OK(db_.register_procedure(throwing));
  EXPECT_REFUSED(Code::kProcedureThrew, "out of cheese", call("throwing", {}));
  EXPECT_EQ(row(accounts_, 1).balance, 100);
}

TEST_P(ProcedureTest, AReadOnlyProcedureRunsOnASnapshot) {
  Procedure procedure = simple("peek");
  procedure.read_only = true;
  procedure.body = [accounts = accounts_](Transaction& txn, std::span<const Value>, std::vector<Value>& reply) -> Status {
    EXPECT_TRUE(txn.read_only());
    auto view = txn.get(accounts, 1);
    if (!view.ok()) return view.status();
    reply.emplace_back((*view)->balance);
    EXPECT_CODE(Code::kInvalidArgument, txn.remove(accounts, 1));
    return {};
  };
  ASSERT_OK(db_.register_procedure(procedure));
  std::vector<Value> reply;
  ASSERT_OK(call("peek", {}, &reply));
  EXPECT_EQ(reply, (std::vector<Value>{int64_t{100}}));
}

TEST_P(ProcedureTest, CallsAreCountedUnderTheProceduresName) {
  for (int i = 0; i < 3; ++i) ASSERT_OK(call("transfer", {uint64_t{1}, uint64_t{2}, int64_t{1}}));
  EXPECT_FALSE(call("transfer", {uint64_t{1}, uint64_t{99}, int64_t{1}}).ok());
  bool found = false;
  for (const Statistics::Procedure& procedure : db_.statistics().procedures) {
    if (procedure.name != "transfer") continue;
    found = true;
    EXPECT_EQ(procedure.commits, 3u);
    EXPECT_EQ(procedure.aborts[static_cast<size_t>(Cause::kUser)], 1u);
  }
  EXPECT_TRUE(found);
}

TEST_P(ProcedureTest, AConflictedCallRunsAgainWithAClearedReply) {
  if (!GetParam().concurrent()) return;  // needs a transaction beside the call
  Procedure procedure = simple("disturbed");
  int runs = 0;
  procedure.body = [&, accounts = accounts_](Transaction& txn, std::span<const Value>, std::vector<Value>& reply) -> Status {
    EXPECT_TRUE(reply.empty());
    reply.emplace_back(uint64_t{txn.attempt()});
    EXPECT_OK(txn.get(accounts, 1));
    if (++runs <= 2) {
      ActiveTransaction other = begin(db_);
      EXPECT_OK(other->add(accounts, 1, &Account::balance, int64_t{1}));
      EXPECT_OK(other.commit());
    }
    return txn.update(accounts, 2, {}, [](Account& a) { ++a.balance; });
  };
  ASSERT_OK(db_.register_procedure(procedure));
  std::vector<Value> reply;
  ASSERT_OK(call("disturbed", {}, &reply));
  EXPECT_EQ(reply, (std::vector<Value>{uint64_t{3}}));
  runs = 0;
  EXPECT_CODE(Code::kDeadline, call("disturbed", {}, &reply, RunPolicy{.attempts_max = 2}));
}

TEST(ValueTypeTest, NamesAreDistinct) {
  EXPECT_NE(name_of(ValueType::kInt64), name_of(ValueType::kUInt64));
  EXPECT_NE(name_of(ValueType::kDouble), name_of(ValueType::kText));
}

}  // namespace
}  // namespace elider::test
