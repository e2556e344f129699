// Chopped procedures with deferred parts (DBX-TC, section 3.2) through the API, under every
// protocol: what is granted, what is refused, and many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/database_test.h"
#include "tests/support/deferring_bank.h"

namespace elider::test {
namespace {

using chopping::Operation;

class DeferralTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
  }
  static InstallOptions deferring() {
    InstallOptions options;
    options.choices.deferring = true;
    return options;
  }
  DeferringBank::Audit audit() {
    DeferringBank::Audit found;
    EXPECT_OK(db_.call(bank_.audit, found));
    EXPECT_EQ(bank_.damage(found), "");
    return found;
  }
  bool in_pieces() const { return GetParam().protocol == Protocol::kChopped; }

  DeferringBank bank_;
};

// The key index plays no part: one is enough.
std::vector<Combination> deferring_combinations() {
  std::vector<Combination> chosen = combinations(false, false);
  std::erase_if(chosen, [](const Combination& combination) { return combination.key_index != KeyIndex::kOrdered; });
  return chosen;
}
INSTANTIATE_TEST_SUITE_P(On, DeferralTest, testing::ValuesIn(deferring_combinations()), combination_name);

TEST_P(DeferralTest, WhatIsDeferredIsThereWhenItsCallAnswers) {
  chopping::Plan plan;
  ASSERT_OK(bank_.install(db_, deferring(), &plan));
  ASSERT_EQ(plan.deferrals.size(), 1u);
  EXPECT_TRUE(plan.deferrals[0].granted);
  for (int64_t i = 1; i <= 3; ++i) {
    DeferringBank::Post post = bank_.next_post();
    ASSERT_OK(db_.call(bank_.post, post));
    DeferringBank::Compare compare;
    ASSERT_OK(db_.call(bank_.compare, compare));
    EXPECT_EQ(compare.first, i);
    EXPECT_EQ(compare.second, i);
    EXPECT_EQ(row(bank_.accounts, 1).balance, i) << "an ordinary transaction";
    EXPECT_EQ(audit().first, i) << "a snapshot";
  }
}

// An addition to an indexed column is refused. If it is declared as deferred, it still runs while
// the call can be rolled back.
TEST_P(DeferralTest, AnAdditionToAnIndexedColumnIsRefusedAndNothingStops) {
  struct Row {
    uint64_t value;
  };
  struct Nothing {};
  auto rows =
      create(SchemaOf<Row>("rows").column("value", &Row::value).index("by_value", {"value"}, [](const Row& row) { return row.value; }));
  ASSERT_OK(db_.run([&](Transaction& txn) { return txn.insert(rows, 1, Row{7}); }));
  Procedures procedures;
  const ProcedureHandle<Nothing> add = procedures.add(
      Procedure<Nothing>("add")
          .operation(Operation("count").reads("books", {"posted"}).writes("books", {"posted"}),
                     [&](Transaction& txn, Nothing&) {
                       return txn.update(bank_.books, 0, bank_.books.columns(&DeferringBank::Book::posted),
                                         [](DeferringBank::Book& book) { ++book.posted; });
                     })
          .operation(Operation("value").adds("rows", {"value"}).needs({"count"}).defers(),
                     [&](Transaction& txn, Nothing&) { return txn.add(rows, 1, &Row::value, 1); }));
  procedures.add(Procedure<Nothing>("look")
                     .operation(Operation("rows").reads("rows"), [](Transaction&, Nothing&) {})
                     .operation(Operation("mark").writes("accounts", {"marks"}), [](Transaction&, Nothing&) {}));
  ASSERT_OK(db_.install(std::move(procedures), deferring()));
  Nothing call;
  EXPECT_FALSE(db_.call(add, call).ok());
  EXPECT_EQ(row(bank_.books, 0).posted, 0u) << "and nothing of the call is there";
}

// An answer that a call has given holds for all calls that begin after it.
TEST_P(DeferralTest, ManyThreadsSeeNoHalvesAndNothingTooLate) {
  if (!GetParam().threads()) GTEST_SKIP() << "it is for one thread";
  ASSERT_OK(bank_.install(db_, deferring()));
  constexpr int kCalls = 400;
  std::atomic<uint64_t> answered{0};  // the largest number of postings that an answered call has seen
  std::atomic<uint64_t> posted{0}, compared{0};
  const auto raise = [&](uint64_t seen) {
    for (uint64_t before = answered; before < seen && !answered.compare_exchange_weak(before, seen);) {
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < kCalls; ++i) {
        const uint64_t before = answered;
        switch (random() % 8) {
          case 0:
          case 1:
          case 2: {
            DeferringBank::Post post = bank_.next_post();
            EXPECT_OK(db_.call(bank_.post, post));
            raise(post.number + 1);
            ++posted;
            break;
          }
          case 3:
          case 4: {
            DeferringBank::Compare compare;
            EXPECT_OK(db_.call(bank_.compare, compare));
            EXPECT_EQ(compare.first, compare.second);
            EXPECT_GE(static_cast<uint64_t>(compare.first), before);
            raise(static_cast<uint64_t>(compare.first));
            ++compared;
            break;
          }
          case 5: {
            DeferringBank::Peek peek;
            EXPECT_OK(db_.call(bank_.peek, peek));
            EXPECT_GE(peek.posted, before);
            raise(peek.posted);
            break;
          }
          case 6: {
            const DeferringBank::Audit first = audit(), second = audit();
            EXPECT_GE(first.posted, before);
            if (second.marks > first.marks) {
              EXPECT_GE(second.marked, first.first) << "the mark came after the first audit";
            }
            raise(second.posted);
            break;
          }
          default: {
            DeferringBank::Audit found;
            EXPECT_OK(db_.run([&](Transaction& txn) { return bank_.read_all(txn, &found); }));
            EXPECT_EQ(bank_.damage(found), "");
            EXPECT_GE(found.posted, before);
            raise(found.posted);
          }
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  const DeferringBank::Audit found = audit();
  EXPECT_EQ(found.posted, posted);
  EXPECT_EQ(found.marks, compared);
}

TEST_P(DeferralTest, AFailureWithAPublicationAheadStopsTheDatabase) {
  ASSERT_OK(bank_.install(db_, deferring()));
  DeferringBank::Post post = bank_.next_post();
  post.fail = true;
  const Status status = db_.call(bank_.post, post);
  DeferringBank::Compare compare;
  if (!in_pieces()) {
    EXPECT_EQ(status.code(), Code::kRolledBack);
    EXPECT_OK(db_.call(bank_.compare, compare));
    return;
  }
  EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
  EXPECT_EQ(db_.call(bank_.compare, compare).code(), Code::kCorrupt) << "and no call waits for it";
}

TEST_P(DeferralTest, WhoReadsWhatAnotherDefersDefersNothing) {
  struct Nothing {};
  const auto nothing = [](Transaction&, Nothing&) {};
  Procedures procedures;
  procedures.add(Procedure<Nothing>("first")
                     .operation(Operation("mine").reads("books", {"posted"}).writes("books", {"posted"}), nothing)
                     .operation(Operation("later").adds("accounts", {"balance"}).defers(), nothing));
  procedures.add(Procedure<Nothing>("second")
                     .operation(Operation("look").reads("accounts", {"balance"}), nothing)
                     .operation(Operation("mark").writes("accounts", {"marks"}), nothing)
                     .operation(Operation("later").adds("books", {"peeks"}).defers(), nothing));
  procedures.add(Procedure<Nothing>("third")
                     .operation(Operation("look").reads("books", {"peeks"}), nothing)
                     .operation(Operation("entry").inserts("entries").fresh(), nothing));
  chopping::Plan plan;
  ASSERT_OK(db_.install(std::move(procedures), deferring(), &plan));
  ASSERT_EQ(plan.deferrals.size(), 2u);
  EXPECT_TRUE(plan.deferrals[0].granted);
  EXPECT_FALSE(plan.deferrals[1].granted);
  EXPECT_NE(plan.deferrals[1].why_not.find("'second.look'"), std::string::npos) << plan.deferrals[1].why_not;
}

// The declaration does not mention indexes. An operation that changes one belongs to the core, as
// before.
TEST_P(DeferralTest, WhatChangesAUniqueIndexIsNotDeferred) {
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
          .operation(Operation("count").reads("books", {"posted"}).writes("books", {"posted"}),
                     [&](Transaction& txn, Call&) {
                       return txn.update(bank_.books, 0, bank_.books.columns(&DeferringBank::Book::posted),
                                         [](DeferringBank::Book& book) { ++book.posted; });
                     })
          .operation(Operation("row").inserts("rows").fresh().needs({"count"}).defers(),
                     [&](Transaction& txn, Call& call) { return txn.insert(rows, call.key, Row{call.value}); }));
  procedures.add(Procedure<Call>("look")
                     .operation(Operation("rows").scans("rows"), [](Transaction&, Call&) {})
                     .operation(Operation("mark").writes("accounts", {"marks"}), [](Transaction&, Call&) {}));
  chopping::Plan plan;
  ASSERT_OK(db_.install(std::move(procedures), deferring(), &plan));
  EXPECT_TRUE(plan.deferrals.empty());
  Call first{10, 77}, second{20, 77};
  EXPECT_OK(db_.call(put, first));
  EXPECT_EQ(db_.call(put, second).code(), Code::kDuplicateKey) << "a clean refusal: the database goes on";
  EXPECT_EQ(row(bank_.books, 0).posted, 1u);
}

}  // namespace
}  // namespace elider::test
