// A database that was never opened, or was moved from: every public function is answered, and
// nothing crashes.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

void expect_closed_transactions(Database& db) {
  const auto never = [](Transaction&) { ADD_FAILURE(); };
  EXPECT_CODE(Code::kFinished, db.run(never));
  EXPECT_CODE(Code::kFinished, db.run_read_only(never));
  std::vector<Status> outcomes(2);
  const auto touch = [](size_t, Touches&) { ADD_FAILURE(); };
  EXPECT_CODE(Code::kFinished, db.run_group(2, touch, [&](size_t, Transaction& txn) { never(txn); }, outcomes));
  for (const Status& outcome : outcomes) EXPECT_CODE(Code::kFinished, outcome);
  const std::array<int, 2> arguments{};
  const auto touch_argument = [](int, Touches&) { ADD_FAILURE(); };
  EXPECT_CODE(Code::kFinished, db.run_group(std::span<const int>(arguments), touch_argument, [&](int, Transaction& txn) { never(txn); }));
  EXPECT_CODE(Code::kFinished, db.begin());
  EXPECT_CODE(Code::kFinished, db.begin_read_only());
  EXPECT_CODE(Code::kFinished, db.begin_read_only(HeldSnapshot()));
  EXPECT_CODE(Code::kFinished, db.hold_snapshot());
  EXPECT_EQ(db.procedure_id("transfer"), 0u);
}

void expect_closed_tables(Database& db) {
  const auto schema = indexed_account_schema(KeyIndex::kOrdered);
  auto open = Database::open();
  ASSERT_OK(open);
  auto accounts = open->create_table(schema);
  ASSERT_OK(accounts);
  EXPECT_CODE(Code::kFinished, db.create_table(schema));
  EXPECT_CODE(Code::kFinished, db.create_table(schema.schema()));
  EXPECT_CODE(Code::kFinished, db.table<Account>("accounts"));
  EXPECT_CODE(Code::kFinished, db.table("accounts"));
  EXPECT_TRUE(db.tables().empty());
  EXPECT_CODE(Code::kFinished, db.index(*accounts, "by_branch"));
  EXPECT_CODE(Code::kFinished, db.index(TableRef(), "by_branch"));
  const std::string branch[] = {"branch"};
  EXPECT_CODE(Code::kFinished, db.columns(*accounts, branch));
  EXPECT_CODE(Code::kFinished, db.columns(TableRef(), branch));
  EXPECT_CODE(Code::kFinished, db.sequence("numbers"));
}

void expect_closed_procedures(Database& db) {
  EXPECT_CODE(Code::kFinished, install(db, Procedure<Values>("nothing").body([](Transaction&, Values&) { ADD_FAILURE(); })));
  EXPECT_TRUE(db.procedures().empty());
  std::vector<Value> reply{int64_t{1}};
  EXPECT_CODE(Code::kFinished, db.call("nothing", {}, &reply));
  EXPECT_TRUE(reply.empty());
  reply.emplace_back(int64_t{1});
  std::vector<Status> outcomes(1);
  const std::array<ProcedureCall, 1> named = {ProcedureCall{"nothing", {}, &reply}};
  EXPECT_CODE(Code::kFinished, db.call_group(named, outcomes));
  EXPECT_CODE(Code::kFinished, outcomes[0]);
  EXPECT_TRUE(reply.empty());

  struct Call {};
  Procedures chopped;
  const ProcedureHandle<Call> nothing = chopped.add(
      Procedure<Call>("nothing").operation(chopping::Operation("nothing"), [](Transaction&, Call&) { ADD_FAILURE(); }));
  EXPECT_CODE(Code::kFinished, db.install(chopped));
  Call call;
  EXPECT_CODE(Code::kFinished, db.call(nothing, call));
  outcomes.assign(1, Status());
  const ProcedureCall of_group(nothing, call);
  EXPECT_CODE(Code::kFinished, db.call_group(std::span(&of_group, 1), outcomes));
  EXPECT_CODE(Code::kFinished, outcomes[0]);
}

void expect_closed(Database& db) {
  EXPECT_FALSE(db.is_open());
  expect_closed_transactions(db);
  expect_closed_tables(db);
  expect_closed_procedures(db);
  EXPECT_CODE(Code::kFinished, db.wait_durable());
  EXPECT_CODE(Code::kFinished, db.wait_durable(7));
  int told = 0;
  db.when_durable(7, [&](const Status& status) {
    EXPECT_CODE(Code::kFinished, status);
    ++told;
  });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(db.recovery().tables, 0u);
  EXPECT_CODE(Code::kFinished, db.checkpoint());
  EXPECT_CODE(Code::kFinished, db.backup("nowhere"));
  EXPECT_TRUE(db.statistics().tables.empty());
  EXPECT_EQ(db.sync(), SyncPolicy::kAutomatic);
  EXPECT_EQ(db.htm(), HtmBackend::kNone);
  EXPECT_EQ(db.protocol(), Protocol::kOcc);
  db.collect_garbage();
  EXPECT_CODE(Code::kFinished, db.verify());
}

TEST(ClosedDatabaseTest, OneThatWasNeverOpenedAnswersEverything) {
  Database db;
  expect_closed(db);
}

TEST(ClosedDatabaseTest, OneThatWasMovedFromAnswersEverything) {
  auto opened = Database::open();
  ASSERT_OK(opened);
  EXPECT_TRUE(opened->is_open());
  Database moved = std::move(opened).value();
  EXPECT_TRUE(moved.is_open());
  expect_closed(*opened);
  Database assigned;
  assigned = std::move(moved);
  EXPECT_TRUE(assigned.is_open());
  expect_closed(moved);
  EXPECT_OK(assigned.run([](Transaction&) {}));
}

TEST(ClosedDatabaseTest, OneThatIsClosedCanBeMovedAndOpened) {
  Database db, other = std::move(db);
  EXPECT_FALSE(other.is_open());
  auto opened = Database::open();
  ASSERT_OK(opened);
  db = std::move(opened).value();
  EXPECT_OK(db.run([](Transaction&) {}));
  db = Database();
  expect_closed(db);
}

}  // namespace
}  // namespace elider::test
