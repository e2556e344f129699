// A process forks while it has a database open. The child can use nothing of it and harms nothing:
// not the files, not the parent's lock, not what the parent goes on to commit; and it ends. What it
// opens itself works.
#include <atomic>
#include <thread>

#include "tests/support/data_folder_test.h"
#include "tests/support/forked.h"

namespace elider::test {
namespace {

// 0, or the position of the first status that is not as a child's must be.
int first_that_is_not_refused(std::initializer_list<Status> all) {
  int position = 0;
  for (const Status& status : all) {
    ++position;
    const std::string message(status.message());
    if (status.code() == Code::kInvalidArgument && message.find("open the database after fork()") != std::string::npos) continue;
    std::fprintf(stderr, "call %d: %s\n", position, status.ok() ? "ok" : message.c_str());
    return position;
  }
  return 0;
}

class ForkTest : public DataFolderTest {
 protected:
  void SetUp() override {
    if (!kMayFork) GTEST_SKIP() << "threads and fork() do not go together here";
    DataFolderTest::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(Policies, ForkTest, durable_combinations(), combination_name);

TEST_P(ForkTest, AChildIsRefusedEveryCall) {
  for (const bool in_memory : {false, true}) {
    if (in_memory) options_.data_folders.clear();
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    auto ids = database.sequence("ids");
    ASSERT_OK(ids);
    ASSERT_OK(ids->next());
    const auto procedure = [](const char* name) {
      return Procedure<Values>(name).body([](Transaction&, Values&) {});
    };
    ASSERT_OK(install(database, procedure("nothing")));
    const bool holds = GetParam().concurrent();
    HeldSnapshot held;
    if (holds) held = std::move(*database.hold_snapshot());
    ActiveTransaction active = holds ? begin(database) : ActiveTransaction();
    const int how = run_in_child([&] {
      const auto put = [&](Transaction& txn) { return txn.put(*table, 1, Account{}); };
      RunPolicy async;
      async.durability = Durability::kAsync;
      Status told;
      database.when_durable(1, [&](const Status& status) { told = status; });
      int wrong = first_that_is_not_refused({
          database.run(put), database.run(put, async), database.run_read_only([](Transaction&) { return Status(); }),
          database.begin().status(), database.begin_read_only().status(), database.begin_read_only(held).status(),
          database.hold_snapshot().status(),
          database.run_group(2, [](size_t, Touches&) {}, [&](size_t, Transaction& txn) { return put(txn); }),
          database.create_table(account_schema(KeyIndex::kOrdered, "other")).status(), database.table("accounts").status(),
          database.sequence("ids").status(), database.sequence("more").status(), ids->next().status(), ids->at_least(7),
          database.wait_durable(), database.wait_durable(1), told, database.checkpoint(), database.backup(folder_ / "copy"),
          database.verify(), database.call("nothing", {}), database.call_group({}),
          install(database, procedure("more")),
          database.install({}), holds ? active.commit() : database.verify(),
      });
      database.collect_garbage();
      if (!database.tables().empty() || !database.statistics().tables.empty() || held.advance() || held.number() != 0) wrong = 100;
      held = HeldSnapshot();
      database = Database();
      return wrong;
    });
    EXPECT_TRUE(WIFEXITED(how)) << "killed by " << WTERMSIG(how);
    EXPECT_EQ(WEXITSTATUS(how), 0);
    active.rollback();
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, 1, Account{1, 2, 3, 4})); });
    EXPECT_OK(database.verify());
    if (!in_memory) {
      EXPECT_CODE(Code::kInvalidArgument, Database::open(options_)) << "the child has not unlocked it";
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "copy"));
  }
}

// The parent goes on to write, and what it commits is there when it is opened again; the child's
// destructor has written nothing and closed nothing.
TEST_P(ForkTest, AChildThatClosesItChangesNothing) {
  {
    Database database = open();
    auto table = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(table);
    for (Key key = 0; key < 5; ++key) {
      transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*table, key, Account{key, 0, 0, 0})); });
      EXPECT_EQ(run_in_child([&] { return database = Database(), 0; }), 0);
      ASSERT_OK(database.wait_durable());
    }
  }
  Database database = open();
  auto table = database.table<Account>("accounts");
  ASSERT_OK(table);
  EXPECT_EQ(rows(database, *table).size(), 5u);
  EXPECT_TRUE(database.recovery().cuts.empty());
}

TEST_P(ForkTest, AChildThatLivesOnDoesNotKeepTheFolder) {
  Database database = open();
  const LivingChild child;
  database = Database();
  auto again = Database::open(options_);
  EXPECT_OK(again);
}

// A program opens it, forks a helper process and is killed. The helper lives on without the lock.
TEST_P(ForkTest, AChildOfAKilledProcessDoesNotKeepTheFolder) {
  int lives[2], runs[2];
  ASSERT_EQ(::pipe(lives), 0);
  ASSERT_EQ(::pipe(runs), 0);
  char byte = 0;
  EXPECT_EQ(run_in_child([&] {
              auto database = Database::open(options_);
              if (!database.ok()) return 1;
              const pid_t helper = ::fork();
              if (helper != 0) ::_exit(helper > 0 ? 0 : 2);  // no destructor runs
              ::alarm(kChildSeconds);
              ::close(lives[1]);
              if (::write(runs[1], "r", 1) != 1) ::_exit(1);
              ::_exit(::read(lives[0], &byte, 1) == 0 ? 0 : 1);
            }), 0);
  // A helper that has not run yet still has a copy of the lock.
  ::close(runs[1]);
  ASSERT_EQ(::read(runs[0], &byte, 1), 1);
  ::close(runs[0]);
  EXPECT_OK(Database::open(options_)) << "the helper, which still lives, keeps the lock";
  ::close(lives[1]);
  ::close(lives[0]);
}

// The database is destroyed with the statics.
TEST_P(ForkTest, AChildThatOnlyExitsEnds) {
  static Database kept;
  kept = open();
  ASSERT_OK(kept.create_table(account_schema(KeyIndex::kOrdered)));
  const int how = run_in_child([]() -> int { std::exit(0); });
  EXPECT_TRUE(WIFEXITED(how)) << "killed by " << WTERMSIG(how);
  EXPECT_EQ(WEXITSTATUS(how), 0);
  kept = Database();
}

// Threads are anywhere when it forks: none of their locks may be waited for.
TEST_P(ForkTest, AChildEndsWhateverTheParentsThreadsHold) {
  if (!GetParam().concurrent()) GTEST_SKIP() << "one thread at a time";
  Database database = open();
  auto table = database.create_table(account_schema(KeyIndex::kOrdered));
  ASSERT_OK(table);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (Key t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (Key i = 0; !stop.load(); ++i) {
        EXPECT_OK(database.run([&](Transaction& txn) { return txn.put(*table, t * 1000 + i % 100, Account{i, 0, 0, 0}); }));
        if (i % 16 == 0) static_cast<void>(database.statistics());
        if (i % 16 == 1) {
          EXPECT_OK(database.wait_durable());
        }
        if (i % 16 == 2) {
          EXPECT_OK(database.hold_snapshot());
        }
      }
    });
  for (int i = 0; i < 30; ++i) {
    const int how = run_in_child([&] {
      const int wrong = first_that_is_not_refused(
          {database.run([](Transaction&) { return Status(); }), database.wait_durable(), database.hold_snapshot().status(),
           database.create_table(account_schema(KeyIndex::kOrdered, "other")).status(), database.checkpoint()});
      database = Database();
      return wrong;
    });
    EXPECT_EQ(how, 0) << "fork " << i;
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(database.verify());
}

// A worker of a server: it opens a database of its own, with threads and a log.
TEST_P(ForkTest, WhatAChildOpensItselfWorks) {
  Database database = open();
  const int how = run_in_child([&] {
    auto own = Database::open(options_for(folder_ / "own"));
    if (!own.ok()) return 1;
    auto table = own->create_table(account_schema(KeyIndex::kOrdered));
    if (!table.ok()) return 2;
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (Key t = 0; t < (GetParam().concurrent() ? 2u : 1u); ++t)
      threads.emplace_back([&, t] {
        for (Key key = t; key < 2000; key += 2)
          failed += !own->run([&](Transaction& txn) { return txn.put(*table, key, Account{}); }).ok();
      });
    for (std::thread& thread : threads) thread.join();
    own->collect_garbage();
    if (failed != 0 || !own->wait_durable().ok() || !own->verify().ok()) return 3;
    *own = Database();
    return Database::open(options_for(folder_ / "own")).ok() ? 0 : 4;
  });
  EXPECT_TRUE(WIFEXITED(how)) << "killed by " << WTERMSIG(how);
  EXPECT_EQ(WEXITSTATUS(how), 0);
}

}  // namespace
}  // namespace elider::test
