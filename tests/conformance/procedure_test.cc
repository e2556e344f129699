// Procedures: installed, and called through handles and by name, one by one.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
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
    ASSERT_OK(install(db_, transfer()));
  }
  // transfer(from, to, amount) -> the two balances.
  Procedure<Values> transfer() {
    return Procedure<Values>("transfer")
        .parameter("from", ValueType::kUInt64)
        .parameter("to", ValueType::kUInt64)
        .parameter("amount", ValueType::kInt64)
        .body([accounts = accounts_](Transaction& txn, Values& call) -> Status {
          const int64_t amount = std::get<int64_t>(call.arguments[2]);
          const Columns<Account> balance = accounts.columns(&Account::balance);
          const auto change = [&](const Value& key, int64_t delta) -> Status {
            return txn.update(accounts, std::get<uint64_t>(key), balance, [&](Account& a) { call.reply.emplace_back(a.balance += delta); });
          };
          if (Status status = change(call.arguments[0], -amount); !status.ok()) return status;
          return change(call.arguments[1], amount);
        });
  }
  static Procedure<Values> simple(std::string name) {
    return Procedure<Values>(std::move(name)).body([](Transaction&, Values&) -> Status { return {}; });
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
  Procedure<Values> fails("fails");
  fails.body([](Transaction&, Values& call) {
    call.reply.emplace_back(int64_t{1});
    return Status::rollback();
  });
  ASSERT_OK(install(db_, fails));
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
  Procedure<Values> procedure("echo");
  procedure.parameter("i", ValueType::kInt64)
      .parameter("u", ValueType::kUInt64)
      .parameter("d", ValueType::kDouble)
      .parameter("t", ValueType::kText)
      .body([](Transaction&, Values& call) { call.reply.assign(call.arguments.begin(), call.arguments.end()); });
  ASSERT_OK(install(db_, procedure));
  const std::vector<Value> sent{int64_t{-7}, ~uint64_t{0}, 2.5, std::string("text\0with a zero", 16)};
  std::vector<Value> reply;
  ASSERT_OK(call("echo", sent, &reply));
  EXPECT_EQ(reply, sent);
}

TEST_P(ProcedureTest, MistakesInRegistrationAreRefused) {
  EXPECT_REFUSED(Code::kInvalidArgument, "transfer", install(db_, transfer()));  // taken
  EXPECT_CODE(Code::kInvalidArgument, install(db_, simple("")));
  EXPECT_REFUSED(Code::kInvalidArgument, "ghost", install(db_, Procedure<Values>("ghost")));
  const auto nothing = [](Transaction&, Values&) {};
  Procedure<Values> both("both"), cautious("cautious");
  both.body(nothing).operation(chopping::Operation("look").reads("accounts"), nothing);
  cautious.operation(chopping::Operation("look").reads("accounts"), nothing).read_only();
  EXPECT_REFUSED(Code::kInvalidArgument, "'both' has a body and operations", install(db_, both));
  EXPECT_REFUSED(Code::kInvalidArgument, "'cautious'", install(db_, cautious));
  EXPECT_EQ(db_.procedures().size(), 1u);
}

TEST_P(ProcedureTest, ProceduresAreListedWithTheirParameters) {
  ASSERT_OK(install(db_, simple("nothing").read_only()));
  const std::vector<ProcedureInfo> procedures = db_.procedures();
  ASSERT_EQ(procedures.size(), 2u);
  const ProcedureInfo& listed = procedures[0];
  EXPECT_EQ(listed.name, "transfer");
  EXPECT_TRUE(listed.by_name && !listed.in_operations && !listed.read_only);
  ASSERT_EQ(listed.parameters.size(), 3u);
  EXPECT_EQ(listed.parameters[2].name, "amount");
  EXPECT_EQ(listed.parameters[2].type, ValueType::kInt64);
  EXPECT_EQ(procedures[1].name, "nothing");
  EXPECT_TRUE(procedures[1].read_only);
}

TEST_P(ProcedureTest, AnErrorOrAnExceptionUndoesTheCall) {
  EXPECT_CODE(Code::kNotFound, call("transfer", {uint64_t{1}, uint64_t{99}, int64_t{30}}));
  EXPECT_EQ(row(accounts_, 1).balance, 100);
  Procedure<Values> throwing("throwing");
  throwing.body([accounts = accounts_](Transaction& txn, Values&) -> Status {
    EXPECT_OK(txn.remove(accounts, 1));
    throw std::logic_error("out of cheese");
  });
  ASSERT_OK(install(db_, throwing));
  EXPECT_REFUSED(Code::kProcedureThrew, "out of cheese", call("throwing", {}));
  EXPECT_EQ(row(accounts_, 1).balance, 100);
}

TEST_P(ProcedureTest, AReadOnlyProcedureRunsOnASnapshot) {
  Procedure<Values> procedure("peek");
  procedure.read_only().body([accounts = accounts_](Transaction& txn, Values& call) -> Status {
    EXPECT_TRUE(txn.read_only());
    auto view = txn.get(accounts, 1);
    if (!view.ok()) return view.status();
    call.reply.emplace_back((*view)->balance);
    EXPECT_CODE(Code::kInvalidArgument, txn.remove(accounts, 1));
    return {};
  });
  ASSERT_OK(install(db_, procedure));
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
  if (!GetParam().concurrent()) return;  // needs a transaction concurrent with the call
  Procedure<Values> procedure("disturbed");
  int runs = 0;
  procedure.body([&, accounts = accounts_](Transaction& txn, Values& call) -> Status {
    EXPECT_TRUE(call.reply.empty());
    call.reply.emplace_back(uint64_t{txn.attempt()});
    EXPECT_OK(txn.get(accounts, 1));
    if (++runs <= 2) {
      ActiveTransaction other = begin(db_);
      EXPECT_OK(other->add(accounts, 1, &Account::balance, int64_t{1}));
      EXPECT_OK(other.commit());
    }
    return txn.update(accounts, 2, {}, [](Account& a) { ++a.balance; });
  });
  ASSERT_OK(install(db_, procedure));
  std::vector<Value> reply;
  ASSERT_OK(call("disturbed", {}, &reply));
  EXPECT_EQ(reply, (std::vector<Value>{uint64_t{3}}));
  runs = 0;
  EXPECT_CODE(Code::kDeadline, call("disturbed", {}, &reply, RunPolicy{.attempts_max = 2}));
}

// -- procedures with a struct of arguments --------------------------------------------------------

struct Pay {
  Key from = 0, to = 0;
  int64_t amount = 0;
  int64_t left = 0;       // a result
  std::string note = {};  // another
};

class TypedProcedureTest : public ProcedureTest {
 protected:
  // The whole procedure as one body.
  auto pay() {
    return [accounts = accounts_](Transaction& txn, Pay& call) -> Status {
      ELIDER_TRY(txn.update(accounts, call.from, {}, [&](Account& a) { call.left = a.balance -= call.amount; }));
      call.note = "to " + std::to_string(call.to);
      return txn.update(accounts, call.to, {}, [&](Account& a) { a.balance += call.amount; });
    };
  }
  static Procedure<Pay> described(std::string name) {
    return Procedure<Pay>(std::move(name))
        .parameter("from", &Pay::from)
        .parameter("to", &Pay::to)
        .parameter("amount", &Pay::amount)
        .result("left", &Pay::left)
        .result("note", &Pay::note);
  }
  static chopping::Operation everything(const char* name) {
    return chopping::Operation(name).reads("accounts").writes("accounts");
  }
};
ELIDER_ON_EVERY(TypedProcedureTest);

TEST_P(TypedProcedureTest, ACallLeavesItsResultsInItsArguments) {
  Procedures procedures;
  const ProcedureHandle<Pay> handle = procedures.add(Procedure<Pay>("pay").body(pay()));
  ASSERT_OK(db_.install(std::move(procedures)));
  Pay call{.from = 1, .to = 2, .amount = 30};
  ASSERT_OK(db_.call(handle, call));
  EXPECT_EQ(call.left, 70);
  EXPECT_EQ(call.note, "to 2");
  ASSERT_OK(db_.call(handle, {.from = 1, .to = 2, .amount = 30}));  // the results are not needed
  EXPECT_EQ(row(accounts_, 2).balance, 60);
  EXPECT_CODE(Code::kNotFound, db_.call(handle, {.from = 1, .to = 99, .amount = 30}));
  EXPECT_EQ(row(accounts_, 1).balance, 40);
  EXPECT_REFUSED(Code::kInvalidArgument, "through its handle", db_.call("pay", {}));
}

// One struct serves calls by handle and by name, of a body and of operations.
TEST_P(TypedProcedureTest, AProcedureIsCalledByHandleAndByName) {
  struct Shape {
    const char* name;
    bool operations;
  };
  int64_t left = 100;
  for (const Shape shape : {Shape{"whole", false}, Shape{"chopped", true}}) {
    SCOPED_TRACE(shape.name);
    Procedures procedures;
    Procedure<Pay> procedure = described(shape.name);
    if (shape.operations) procedure.operation(everything("all"), pay());
    else procedure.body(pay());
    const ProcedureHandle<Pay> handle = procedures.add(std::move(procedure));
    ASSERT_OK(db_.install(std::move(procedures)));
    Pay call{.from = 1, .to = 2, .amount = 10};
    ASSERT_OK(db_.call(handle, call));
    EXPECT_EQ(call.left, left -= 10);
    std::vector<Value> reply{std::string("left over from before")};
    ASSERT_OK(db_.call(shape.name, std::vector<Value>{uint64_t{1}, uint64_t{2}, int64_t{10}}, &reply));
    EXPECT_EQ(reply, (std::vector<Value>{left -= 10, std::string("to 2")}));
    EXPECT_CODE(Code::kNotFound, db_.call(shape.name, std::vector<Value>{uint64_t{1}, uint64_t{99}, int64_t{10}}, &reply));
    EXPECT_TRUE(reply.empty());
    reply.emplace_back(int64_t{1});
    EXPECT_REFUSED(Code::kInvalidArgument, "'amount' is of type uint64, not int64",
                   db_.call(shape.name, std::vector<Value>{uint64_t{1}, uint64_t{2}, uint64_t{10}}, &reply));
    EXPECT_TRUE(reply.empty());
    const ProcedureInfo info = db_.procedures().back();
    EXPECT_TRUE(info.by_name);
    EXPECT_EQ(info.in_operations, shape.operations);
    ASSERT_EQ(info.results.size(), 2u);
    EXPECT_EQ(info.results[1].type, ValueType::kText);
  }
  EXPECT_EQ(row(accounts_, 1).balance, left);
}

TEST_P(TypedProcedureTest, AHandleOfValuesChecksThem) {
  Procedures procedures;
  const ProcedureHandle<Values> handle = procedures.add(simple("one").parameter("key", ValueType::kUInt64));
  const ProcedureHandle<Values> steps = procedures.add(
      Procedure<Values>("steps").parameter("key", ValueType::kUInt64).operation(everything("all"), [](Transaction&, Values& call) {
        call.reply.assign(1, call.arguments[0]);
      }));
  ASSERT_OK(db_.install(std::move(procedures)));
  const std::vector<Value> key = {uint64_t{1}}, text = {std::string("1")};
  std::vector<Value> reply{int64_t{1}};
  EXPECT_REFUSED(Code::kInvalidArgument, "'key'", db_.call(handle, Values{text, reply}));
  EXPECT_TRUE(reply.empty());
  EXPECT_OK(db_.call(handle, Values{key, reply}));
  EXPECT_OK(db_.call(steps, Values{key, reply}));
  EXPECT_EQ(reply, key);
  Values good{key, reply};
  std::vector<Value> other{int64_t{1}};
  Values bad{text, other};
  const std::vector<ProcedureCall> calls = {{steps, good}, {steps, bad}, {"steps", key}};
  std::vector<Status> outcomes(calls.size());
  EXPECT_REFUSED(Code::kInvalidArgument, "'key'", db_.call_group(calls, outcomes));
  EXPECT_OK(outcomes[0]);
  EXPECT_OK(outcomes[2]);
  EXPECT_EQ(reply, key);
  EXPECT_TRUE(other.empty());
}

// Calls of all kinds in one group, of procedures with a body and with operations.
TEST_P(TypedProcedureTest, AGroupMixesAllKindsOfCalls) {
  Procedures procedures, elsewhere;
  const auto touch = [accounts = accounts_](const Pay& call, Touches& touches) { touches.row(accounts, call.from); };
  const ProcedureHandle<Pay> whole = procedures.add(described("whole").touch(touch).body(pay()));
  const ProcedureHandle<Pay> chopped = procedures.add(described("chopped").touch(touch).operation(everything("all"), pay()));
  const ProcedureHandle<Pay> foreign = elsewhere.add(described("whole").body(pay()));
  ASSERT_OK(db_.install(std::move(procedures)));
  const std::vector<Value> good = {uint64_t{1}, uint64_t{2}, int64_t{1}}, absent = {uint64_t{1}, uint64_t{99}, int64_t{1}};
  std::array<std::vector<Value>, 4> replies;
  for (std::vector<Value>& reply : replies) reply = {std::string("left over from before")};
  std::array<Pay, 3> typed;
  for (Pay& call : typed) call = {.from = 1, .to = 2, .amount = 1};
  const std::vector<ProcedureCall> calls = {{whole, typed[0]},           {chopped, typed[1]},           {foreign, typed[2]},
                                            {"whole", good, &replies[0]}, {"chopped", good, &replies[1]}, {"whole", absent, &replies[2]},
                                            {"nowhere", good, &replies[3]}, {"transfer", good}};
  std::vector<Status> outcomes(calls.size());
  EXPECT_REFUSED(Code::kInvalidArgument, "'whole' of the handle is not installed", db_.call_group(calls, outcomes));
  for (const size_t i : {0, 1, 3, 4, 7}) EXPECT_OK(outcomes[i]) << i;
  EXPECT_CODE(Code::kInvalidArgument, outcomes[2]);
  EXPECT_CODE(Code::kNotFound, outcomes[5]);
  EXPECT_REFUSED(Code::kNotFound, "'nowhere'", outcomes[6]);
  EXPECT_EQ(typed[2].note, "");
  for (const size_t i : {0, 1}) EXPECT_EQ(replies[i].size(), 2u) << i;
  for (const size_t i : {2, 3}) EXPECT_TRUE(replies[i].empty()) << i;
  EXPECT_EQ(row(accounts_, 2).balance, 5);
  EXPECT_FALSE(db_.call_group(calls).ok());  // without outcomes
  EXPECT_EQ(replies[1].size(), 2u);
  EXPECT_TRUE(replies[2].empty());
  EXPECT_EQ(row(accounts_, 2).balance, 10);
}

TEST_P(TypedProcedureTest, AllProceduresOfASetAreInstalledOrNone) {
  const auto install_both = [&](Procedure<Pay> first, Procedure<Pay> second) {
    Procedures procedures;
    procedures.add(std::move(first));
    procedures.add(std::move(second));
    return db_.install(std::move(procedures));
  };
  const Procedure<Pay> good = described("good").body(pay());
  EXPECT_REFUSED(Code::kInvalidArgument, "'transfer'", install_both(good, described("transfer").body(pay())));
  EXPECT_REFUSED(Code::kInvalidArgument, "'good'", install_both(good, described("good").body(pay())));
  EXPECT_REFUSED(Code::kInvalidArgument, "nowhere",
                 install_both(good, described("lost").operation(chopping::Operation("look").reads("nowhere"), pay())));
  EXPECT_EQ(db_.procedures().size(), 1u);
  EXPECT_OK(install_both(good, described("chopped").operation(everything("all"), pay())));
  EXPECT_REFUSED(Code::kInvalidArgument, "in one call", install(db_, described("late").operation(everything("all"), pay())));
  EXPECT_OK(install(db_, described("late").body(pay())));
  EXPECT_EQ(db_.procedures().size(), 4u);
}

// A call finds its procedure while others are installed, and the table of procedures grows.
TEST_P(TypedProcedureTest, ProceduresAreInstalledWhileOthersAreCalled) {
  if (!GetParam().concurrent()) return;
  Procedures procedures;
  const ProcedureHandle<Pay> handle = procedures.add(described("pay").body(pay()));
  ASSERT_OK(db_.install(std::move(procedures)));
  std::atomic<bool> installed{false};
  std::thread caller([&] {
    for (int i = 0; !installed || i < 10; ++i) {
      EXPECT_OK(db_.call(handle, {.from = 1, .to = 2, .amount = 0}));
      EXPECT_OK(db_.call("pay", std::vector<Value>{uint64_t{2}, uint64_t{1}, int64_t{0}}));
    }
  });
  for (int i = 0; i < 100; ++i) EXPECT_OK(install(db_, simple("p" + std::to_string(i))));
  installed = true;
  caller.join();
  for (int i = 0; i < 100; ++i) EXPECT_OK(call("p" + std::to_string(i), {}));
}

TEST(ValueTypeTest, NamesAreDistinct) {
  EXPECT_NE(name_of(ValueType::kInt64), name_of(ValueType::kUInt64));
  EXPECT_NE(name_of(ValueType::kDouble), name_of(ValueType::kText));
}

}  // namespace
}  // namespace elider::test
