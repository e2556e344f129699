// Deferred parts of chopped procedures' calls against subscribers, each other, snapshots, and calls
// that have seen their cores. Each race is forced.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/race/race_test.h"
#include "tests/support/deferring_bank.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

class PublicationRaceTest : public RaceTest {
 protected:
  void SetUp() override {
    RaceTest::SetUp();
    if (IsSkipped()) return;
    prepare();
  }
  void prepare(InstallOptions options = {}) {
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
    options.choices.deferring = true;
    chopping::Plan plan;
    ASSERT_OK(bank_.install(db_, options, &plan));
    ASSERT_EQ(plan.deferrals.size(), 1u);
    ASSERT_TRUE(plan.deferrals[0].granted) << plan.deferrals[0].why_not;
    for (const char* point :
         {"publications.publisher_waits", "publications.subscriber_waits", "publications.awaits_publisher", "snapshots.awaits_call"})
      TestPoints::on(point, [] {});
  }
  Status post(const RunPolicy& policy = {}) {
    DeferringBank::Post call = bank_.next_post();
    return db_.call(bank_.post, call, policy);
  }
  uint64_t commits_of(std::string_view procedure) const {
    uint64_t commits = 0;
    for (const Statistics::Procedure& its : db_.statistics().procedures)
      if (its.name == procedure) commits += its.commits;
    return commits;
  }
  DeferringBank::Audit audit() {
    DeferringBank::Audit found;
    EXPECT_OK(db_.call(bank_.audit, found));
    EXPECT_EQ(bank_.damage(found), "");
    return found;
  }

  DeferringBank bank_;
};

// Records the history of the calls.
class PublicationHistoryRaceTest : public PublicationRaceTest {
 protected:
  struct Calls : HistorySink {
    void on_table(uint32_t, const Schema&) override {}
    void on_transaction(const HistoryTransaction& call) override {
      const std::lock_guard lock(mutex);
      all.push_back(call);
    }
    // Returns when the only call of this procedure that committed has ended, or 0 if none has.
    uint64_t end_ns_of(std::string_view procedure) const {
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const HistoryTransaction& call) { return call.procedure == procedure && call.committed; });
      return found == all.end() ? 0 : found->end_ns;
    }
    std::mutex mutex;
    std::vector<HistoryTransaction> all;
  };
  void SetUp() override {
    if (!TestPoints::enabled()) GTEST_SKIP() << "built without test points";
    Options options;
    options.history = &calls_;
    reopen(options);
    prepare();
  }
  void TearDown() override {
    RaceTest::TearDown();
    db_ = Database();  // before the sink
  }
  Calls calls_;
};

INSTANTIATE_TEST_SUITE_P(On, PublicationHistoryRaceTest, testing::ValuesIn(combinations_in_pieces()), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublicationHistoryRaceTest);

INSTANTIATE_TEST_SUITE_P(On, PublicationRaceTest, testing::ValuesIn(combinations_in_pieces()), combination_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublicationRaceTest);

TEST_P(PublicationRaceTest, NothingIsPublishedWhileASubscriberIsUnderWay) {
  std::optional<Background> publisher;
  std::atomic<bool> done{false};
  DeferringBank::Compare call;
  call.meanwhile = [&](int where) {
    if (where != 1 || publisher) return;
    publisher.emplace([&] {
      EXPECT_OK(post());
      done = true;
    });
    until_reached("publications.publisher_waits", done);
  };
  EXPECT_OK(db_.call(bank_.compare, call));
  publisher->join();
  EXPECT_EQ(call.first, call.second);
  EXPECT_EQ(audit().posted, 1u);
}

TEST_P(PublicationRaceTest, ASubscriberWaitsForAPublicationThatIsUnderWay) {
  TestStop half("chopped.tail_written_one");
  Background publisher([&] { EXPECT_OK(post()); });
  half.wait_until_reached();
  std::atomic<bool> done{false};
  DeferringBank::Compare call;
  Background subscriber([&] {
    EXPECT_OK(db_.call(bank_.compare, call));
    done = true;
  });
  until_reached("publications.subscriber_waits", done);
  EXPECT_FALSE(done);
  half.go();
  publisher.join();
  subscriber.join();
  EXPECT_EQ(call.first, 1);
  EXPECT_EQ(call.second, 1);
}

// A publication opens while a subscriber is about to enter. If the subscriber enters, it reads one
// account before the deferred part is written and one after it.
TEST_P(PublicationRaceTest, ASubscriberAtTheDoorDoesNotEnterAPublication) {
  TestStop door("publications.subscriber_enters");
  std::atomic<bool> done{false}, published{false};
  TestStop opened("chopped.before_tail_locks");
  DeferringBank::Compare call;
  call.meanwhile = [&](int where) {
    if (where != 1) return;
    opened.go();
    while (!published) std::this_thread::yield();
  };
  Background subscriber([&] {
    EXPECT_OK(db_.call(bank_.compare, call));
    done = true;
  });
  door.wait_until_reached();
  Background publisher([&] {
    EXPECT_OK(post());
    published = true;
  });
  opened.wait_until_reached();
  door.go();
  until_reached("publications.subscriber_waits", done);
  EXPECT_FALSE(done);
  opened.go();
  publisher.join();
  subscriber.join();
  EXPECT_EQ(call.first, 1);
  EXPECT_EQ(call.second, 1);
}

// The publisher whose core came first is published no later than the other one.
TEST_P(PublicationRaceTest, PublishersAreSeenInTheOrderOfTheirCores) {
  TestStop between("chopped.core_committed");
  Background early([&] { EXPECT_OK(post()); });
  between.wait_until_reached();
  std::atomic<bool> late_done{false}, done{false};
  Background late([&] {
    EXPECT_OK(post());
    late_done = true;
  });
  until_reached("publications.awaits_publisher", late_done);
  DeferringBank::Compare call;
  Background subscriber([&] {
    EXPECT_OK(db_.call(bank_.compare, call));
    done = true;
  });
  until_reached("publications.subscriber_waits", done);
  between.go();
  early.join();
  late.join();
  subscriber.join();
  EXPECT_EQ(call.first, 2);
  EXPECT_EQ(call.second, 2);
}

// A snapshot that contains the publisher, but not the subscriber, is between the two.
TEST_P(PublicationRaceTest, ASubscriberDoesNotPassAPublisherThatItHasNotSeen) {
  std::optional<Background> publisher, reader;
  std::atomic<bool> published{false}, read{false};
  DeferringBank::Audit found;
  DeferringBank::Compare call;
  call.meanwhile = [&](int where) {
    if (where != 2 || publisher) return;
    publisher.emplace([&] {
      EXPECT_OK(post());
      published = true;
    });
    until_reached("publications.publisher_waits", published);
    reader.emplace([&] {
      found = audit();
      read = true;
    });
    until_reached("snapshots.awaits_call", read);  // so that the subscriber has a larger number
  };
  EXPECT_OK(db_.call(bank_.compare, call));
  publisher->join();
  reader->join();
  EXPECT_EQ(found.posted, 1u);
  EXPECT_EQ(found.marks, 0u);
  EXPECT_EQ(call.first, 1) << "it comes after a snapshot with the posting";
  EXPECT_EQ(audit().marked, 1);
}

// This subscriber writes nothing. It has read what came after the snapshot, so it does not pass the
// publisher either.
TEST_P(PublicationRaceTest, ASubscriberThatOnlyReadsDoesNotPassAPublisherEither) {
  TestStop between("chopped.core_committed");
  Background publisher([&] { EXPECT_OK(post()); });
  between.wait_until_reached();
  std::atomic<bool> read{false}, done{false};
  DeferringBank::Audit found;
  Background reader([&] {
    found = audit();
    read = true;
  });
  until_reached("snapshots.awaits_call", read);
  DeferringBank::Tick tick;
  EXPECT_OK(db_.call(bank_.tick, tick));
  DeferringBank::Compare call;
  call.only_looks = true;
  Background subscriber([&] {
    EXPECT_OK(db_.call(bank_.compare, call));
    done = true;
  });
  until_reached("publications.awaits_publisher", done);
  between.go();
  publisher.join();
  reader.join();
  subscriber.join();
  EXPECT_EQ(found.posted, 1u);
  EXPECT_EQ(found.ticks, 0u);
  EXPECT_EQ(call.ticks, 1u);
  EXPECT_EQ(call.first, 1) << "it comes after the tick, and so after the snapshot with the posting";
}

TEST_P(PublicationRaceTest, ASubscriberBeginsAgainNoMoreOftenThanItMay) {
  TestStop between("chopped.core_committed");
  Background publisher([&] { EXPECT_OK(post()); });
  between.wait_until_reached();
  std::atomic<bool> read{false};
  Background reader([&] {
    static_cast<void>(audit());
    read = true;
  });
  until_reached("snapshots.awaits_call", read);
  int bodies = 0;
  Status status;
  std::atomic<bool> done{false};
  Background subscriber([&] {
    DeferringBank::Compare call;
    call.meanwhile = [&](int where) { bodies += where == 2 ? 1 : 0; };
    RunPolicy policy;
    policy.attempts_max = 1;
    status = db_.call(bank_.compare, call, policy);
    done = true;
  });
  until_reached("publications.awaits_publisher", done);
  between.go();
  subscriber.join();
  EXPECT_EQ(status.code(), Code::kDeadline) << status.message();
  EXPECT_LE(bodies, 2) << "a region, and one attempt";
}

TEST_P(PublicationRaceTest, WhoWaitsAtTheDoorOfAPublicationThatFailsIsRefused) {
  std::optional<Background> subscriber;
  Status status;
  std::atomic<bool> done{false};
  DeferringBank::Post call = bank_.next_post();
  call.fail_late = true;
  call.meanwhile = [&](int where) {
    if (where != 2 || subscriber) return;
    subscriber.emplace([&] {
      DeferringBank::Compare compare;
      status = db_.call(bank_.compare, compare);
      done = true;
    });
    until_reached("publications.subscriber_waits", done);
  };
  EXPECT_EQ(db_.call(bank_.post, call).code(), Code::kCorrupt);
  subscriber->join();
  EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
}

// The deferred part looks at rows within its publication.
TEST_P(PublicationRaceTest, ARowThatASubscriberHasMadeIsAddedTo) {
  struct Call {
    std::function<void()> meanwhile;
  };
  reopen({});
  ASSERT_OK(bank_.create_tables(db_));
  ASSERT_OK(bank_.fill(db_));
  Procedures procedures;
  const ProcedureHandle<Call> credit = procedures.add(
      Procedure<Call>("credit")
          .operation(chopping::Operation("book").reads("books", {"posted"}).writes("books", {"posted"}),
                     [&](Transaction& txn, Call&) {
                       return txn.update(bank_.books, 0, bank_.books.columns(&DeferringBank::Book::posted),
                                         [](DeferringBank::Book& book) { ++book.posted; });
                     })
          .operation(chopping::Operation("balance").adds("accounts", {"balance"}).needs({"book"}).defers(),
                     [&](Transaction& txn, Call&) -> Status {
                       Status status = txn.add(bank_.accounts, 7, &DeferringBank::Account::balance, 1);
                       return status.code() == Code::kNotFound ? Status() : status;
                     }));
  const ProcedureHandle<Call> make = procedures.add(Procedure<Call>("make").operation(
      chopping::Operation("account").inserts("accounts"), [&](Transaction& txn, Call& call) {
        if (call.meanwhile) call.meanwhile();
        return txn.insert(bank_.accounts, 7, DeferringBank::Account{});
      }));
  InstallOptions options;
  options.choices.deferring = true;
  ASSERT_OK(db_.install(std::move(procedures), options));
  std::optional<Background> publisher;
  std::atomic<bool> done{false};
  Call call{[&] {
    if (publisher) return;
    publisher.emplace([&] {
      Call its{};
      EXPECT_OK(db_.call(credit, its));
      done = true;
    });
    until_reached("publications.publisher_waits", done);
  }};
  EXPECT_OK(db_.call(make, call));
  publisher->join();
  EXPECT_EQ(row(bank_.accounts, 7).balance, 1);
}

TEST_P(PublicationRaceTest, WhoHasSeenACoreAnswersNoEarlierThanItsPublisher) {
  TestStop between("chopped.core_committed");
  Background publisher([&] { EXPECT_OK(post()); });
  between.wait_until_reached();
  std::atomic<bool> done{false};
  DeferringBank::Peek peek;
  Background other([&] {
    EXPECT_OK(db_.call(bank_.peek, peek));
    done = true;
  });
  until_reached("publications.awaits_publisher", done);
  DeferringBank::Compare call;
  const bool early = done;
  if (early) {
    EXPECT_OK(db_.call(bank_.compare, call));
  }
  between.go();
  other.join();
  publisher.join();
  if (!early) {
    EXPECT_OK(db_.call(bank_.compare, call));
  }
  EXPECT_EQ(peek.posted, 1u);
  EXPECT_EQ(call.first, 1);
}

// If answers_at_once is set, a call may answer early, and a subscriber that begins then comes
// before the publisher. A reader of a snapshot sees the publisher.
TEST_P(PublicationRaceTest, WhoAnswersAtOnceMayAnswerBeforeItsPublisher) {
  reopen({});
  InstallOptions options;
  options.answers_at_once = true;
  prepare(options);
  TestStop between("chopped.core_committed");
  Background publisher([&] { EXPECT_OK(post()); });
  between.wait_until_reached();
  DeferringBank::Peek peek;
  EXPECT_OK(db_.call(bank_.peek, peek));
  EXPECT_EQ(peek.posted, 1u);
  DeferringBank::Compare call;
  EXPECT_OK(db_.call(bank_.compare, call));
  EXPECT_EQ(call.first, 0) << "it is ordered before the publisher";
  std::atomic<bool> read{false};
  DeferringBank::Audit found;
  Background reader([&] {
    found = audit();
    read = true;
  });
  until_reached("snapshots.awaits_call", read);
  EXPECT_FALSE(read);
  between.go();
  publisher.join();
  reader.join();
  EXPECT_EQ(found.posted, 1u);
}

// A call that has answered at once stays answered when its publisher fails, but it does not become
// durable: the folders contain neither of them. A call that waits for the log reports this.
TEST_P(PublicationRaceTest, WhatAnsweredAtOnceIsNotDurableIfItsPublisherFails) {
  for (const Durability durability : {Durability::kAsync, Durability::kGroup}) {
    SCOPED_TRACE(name_of(durability));
    TemporaryFolder folder("publication_race");
    Options options;
    options.data_folders = {folder.path()};
    reopen(options);
    InstallOptions chopped;
    chopped.answers_at_once = true;
    prepare(chopped);
    ASSERT_OK(db_.wait_durable());
    TestStop between("chopped.core_committed");
    Status posted, peeked;
    Background publisher([&] {
      DeferringBank::Post failing = bank_.next_post();
      failing.fail_late = true;
      posted = db_.call(bank_.post, failing);
    });
    between.wait_until_reached();
    DeferringBank::Peek peek;
    SnapshotNumber number = 0;
    RunPolicy policy;
    policy.procedure_id = db_.procedure_id("peek");
    policy.durability = durability;
    policy.commit_number = &number;
    Background caller([&] { peeked = db_.call(bank_.peek, peek, policy); });
    while (commits_of("peek") == 0) std::this_thread::yield();
    if (durability == Durability::kAsync) caller.join();
    between.go();
    publisher.join();
    if (durability == Durability::kGroup) caller.join();
    EXPECT_EQ(peek.posted, 1u) << "it has seen the core";
    EXPECT_EQ(posted.code(), Code::kCorrupt) << posted.message();
    if (durability == Durability::kAsync) {
      EXPECT_OK(peeked);
      EXPECT_FALSE(db_.wait_durable(number).ok());
    } else {
      EXPECT_FALSE(peeked.ok());
    }
    db_ = Database();
    reopen(options);
    ASSERT_OK(bank_.create_tables(db_));
    const DeferringBank::Book book = row(bank_.books, 0);
    EXPECT_EQ(book.posted, 0u);
    EXPECT_EQ(book.peeks, 0u);
    EXPECT_EQ(row(bank_.accounts, 0).balance, 0);
    reopen({});
  }
}

// The history records that a call ends when it answers, not when it commits. A call that begins
// between the two may be ordered before it.
TEST_P(PublicationHistoryRaceTest, WhoAnswersLateHasNotEndedBefore) {
  const uint32_t peek_id = db_.procedure_id("peek"), post_id = db_.procedure_id("post");
  TestStop between("chopped.core_committed");
  Background publisher([&] { EXPECT_OK(post({.procedure_id = post_id})); });
  between.wait_until_reached();
  std::atomic<bool> done{false};
  Background other([&] {
    DeferringBank::Peek peek;
    EXPECT_OK(db_.call(bank_.peek, peek, RunPolicy{.procedure_id = peek_id}));
    done = true;
  });
  until_reached("publications.awaits_publisher", done);
  const uint64_t waiting_ns = now_ns();
  between.go();
  other.join();
  publisher.join();
  EXPECT_GT(calls_.end_ns_of("peek"), waiting_ns);
  EXPECT_GT(calls_.end_ns_of("post"), waiting_ns);
}

// If a subscriber always gets a larger number, publishers eventually wait for it. The audits
// increase the number; an audit that waits for a call has done so. Each thread reports its own
// position, because a thread of an earlier round may still be leaving.
TEST_P(PublicationRaceTest, ASubscriberThatHasBegunAgainTooOftenKeepsPublishersOut) {
  struct Round {
    std::atomic<bool> publisher_waits{false}, publisher_held{false}, published{false}, audit_waits{false};
  };
  static thread_local Round* mine = nullptr;
  const auto say = [](const char* point, std::atomic<bool> Round::*is_there) {
    TestPoints::on(point, [is_there] {
      if (mine != nullptr) mine->*is_there = true;
    });
  };
  say("publications.publisher_waits", &Round::publisher_waits);
  say("publications.publisher_held", &Round::publisher_held);
  say("snapshots.awaits_call", &Round::audit_waits);
  constexpr int kRounds = 20;
  std::array<Round, kRounds> all;
  int rounds = 0;
  bool alone = false;
  std::vector<std::unique_ptr<Background>> others;  // joined before what they use ends
  DeferringBank::Compare call;
  call.meanwhile = [&](int where) {
    if (where != 2 || alone || rounds == kRounds) return;
    Round& round = all[rounds++];
    others.push_back(std::make_unique<Background>([&] {
      mine = &round;
      EXPECT_OK(post());
      round.published = true;
    }));
    while (!round.publisher_waits && !round.publisher_held) std::this_thread::yield();
    alone = round.publisher_held;
    others.push_back(std::make_unique<Background>([&] {
      mine = &round;
      static_cast<void>(audit());
      while (!round.published) std::this_thread::yield();
    }));
    while (!alone && !round.audit_waits) std::this_thread::yield();
  };
  EXPECT_OK(db_.call(bank_.compare, call));
  others.clear();
  EXPECT_TRUE(alone || rounds == kRounds) << "after " << rounds << " rounds";
  EXPECT_EQ(call.first, call.second);
  static_cast<void>(audit());
}

}  // namespace
}  // namespace elider::test
