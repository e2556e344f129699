// The engine's protocols under the C++ memory model, each also without a step that it needs. The
// forbidden outcome is impossible with the step and possible without it, so the model detects the
// difference.
#include <gtest/gtest.h>

#include <vector>

#include "tests/exhaustive/memory_model.h"

namespace elider::test {
namespace {

using Thread = std::vector<Event>;

// The events of a thread, except for those that are marked as left out.
struct Step {
  Event event;
  bool there = true;
};
Thread thread(std::vector<Step> steps) {
  Thread events;
  for (const Step& step : steps)
    if (step.there) events.push_back(step.event);
  return events;
}
bool allowed(const std::vector<Thread>& threads) { return Litmus(threads).allowed(); }

constexpr Order kRelaxed = Order::kRelaxed, kAcquire = Order::kAcquire, kRelease = Order::kRelease, kSeqCst = Order::kSeqCst;
constexpr int kLocked = 1, kWritten = 2;

// The model itself, tested with well-known outcomes.

TEST(MemoryModel, MessagePassingNeedsReleaseAndAcquire) {
  const auto passes = [](Order storing, Order loading) {
    return allowed({{store(0, 1, kRelaxed), store(1, 1, storing)}, {load(1, 1, loading), load(0, 0, kRelaxed)}});
  };
  EXPECT_FALSE(passes(kRelease, kAcquire));
  EXPECT_TRUE(passes(kRelaxed, kAcquire));
  EXPECT_TRUE(passes(kRelease, kRelaxed));
}

TEST(MemoryModel, StoreBufferingNeedsSeqCst) {
  const auto passes = [](Order storing, Order loading) {
    return allowed({{store(0, 1, storing), load(1, 0, loading)}, {store(1, 1, storing), load(0, 0, loading)}});
  };
  EXPECT_FALSE(passes(kSeqCst, kSeqCst));
  EXPECT_TRUE(passes(kRelease, kAcquire));
  EXPECT_TRUE(passes(kSeqCst, kAcquire));
}

TEST(MemoryModel, AnUpdateReadsTheStoreBeforeItself) {
  EXPECT_FALSE(allowed({{update(0, 0, 1, kRelaxed)}, {update(0, 0, 2, kRelaxed)}}));
  EXPECT_TRUE(allowed({{update(0, 0, 1, kRelaxed)}, {update(0, 1, 2, kRelaxed)}}));
}

TEST(MemoryModel, LoadsOfOneLocationDoNotGoBack) {
  EXPECT_FALSE(allowed({{store(0, 1, kRelaxed)}, {load(0, 1, kRelaxed), load(0, 0, kRelaxed)}}));
}

// Two commits have each read the row that the other one writes. Each locks its own row, then
// validates the other's.
TEST(EngineProtocol, TwoCommitsThatReadEachOthersRow) {
  const auto skew = [](bool first_fence, bool second_fence) {
    const auto commit = [](int own, int other, bool fenced) {
      return thread({{update(own, 0, kLocked, kSeqCst)}, {fence(kSeqCst), fenced}, {load(other, 0, kAcquire)}});
    };
    return allowed({commit(0, 1, first_fence), commit(1, 0, second_fence)});
  };
  EXPECT_FALSE(skew(true, true));
  EXPECT_TRUE(skew(false, false));
  EXPECT_TRUE(skew(true, false) || skew(false, true)) << "each of the two needs its fence";
}

// As above, but each commit inserts a key. The version of an index leaf is published before the
// row's lock is taken.
TEST(EngineProtocol, TwoInsertsIntoWhatTheOtherScanned) {
  const auto skew = [](bool fenced) {
    const auto commit = [&](int row, int leaf, int other_leaf) {
      return thread({{store(leaf, 1, kRelease)},
                     {update(row, 0, kLocked, kSeqCst)}, {fence(kSeqCst), fenced}, {load(other_leaf, 0, kAcquire)}});
    };
    return allowed({commit(0, 2, 3), commit(1, 3, 2)});
  };
  EXPECT_FALSE(skew(true));
  EXPECT_TRUE(skew(false));
}

// A commit's number is not larger than the reader's, and the reader finds its row as it was before
// (storage/snapshots.h).
TEST(EngineProtocol, AReaderMeetsTheLockOfAnEarlierNumber) {
  const auto missed = [](bool commit_fence, bool reader_fence) {
    const int row = 0, s = 1, slot = 2;
    return allowed({thread({{update(row, 0, kLocked, kSeqCst)}, {fence(kSeqCst), commit_fence}, {load(s, 0, kSeqCst)}}),
                    thread({{store(slot, 1, kSeqCst)}, {update(s, 0, 1, kSeqCst)}, {fence(kSeqCst), reader_fence},
                            {load(row, 0, kAcquire)}})});
  };
  EXPECT_FALSE(missed(true, true));
  EXPECT_TRUE(missed(true, false));
}

// A commit whose number is larger sees the reader's slot and keeps the old version.
TEST(EngineProtocol, ACommitOfALaterNumberSeesTheSlot) {
  const auto missed = [](bool slot_first) {
    const int s = 1, slot = 2;
    return allowed({{load(s, 1, kSeqCst), load(slot, 0, kSeqCst)},
                    thread({{store(slot, 1, kSeqCst), slot_first}, {update(s, 0, 1, kSeqCst)}, {store(slot, 1, kSeqCst), !slot_first}})});
  };
  EXPECT_FALSE(missed(true));
  EXPECT_TRUE(missed(false));
}

// A reader copies a row while a commit writes it: word, bytes, word.
TEST(EngineProtocol, AByteThatWasWrittenUnderTheLockIsNotTakenForTheOldRow) {
  const auto torn = [](bool commit_fence, bool reader_fence, Order releasing) {
    const int word = 0, byte = 1;
    return allowed({thread({{update(word, 0, kLocked, kSeqCst)}, {fence(kSeqCst), commit_fence},
                            {store(byte, 1, kRelaxed)}, {store(word, kWritten, releasing)}}),
                    thread({{load(word, 0, kAcquire)}, {load(byte, 1, kRelaxed)}, {fence(kAcquire), reader_fence},
                            {load(word, 0, kRelaxed)}})});
  };
  EXPECT_FALSE(torn(true, true, kRelease));
  EXPECT_TRUE(torn(false, true, kRelease));
  EXPECT_TRUE(torn(true, false, kRelease));
  const auto stale = [](Order releasing) {  // the new word with an old byte
    return allowed({{update(0, 0, kLocked, kSeqCst), fence(kSeqCst), store(1, 1, kRelaxed), store(0, kWritten, releasing)},
                    {load(0, kWritten, kAcquire), load(1, 0, kRelaxed), fence(kAcquire), load(0, kWritten, kRelaxed)}});
  };
  EXPECT_FALSE(stale(kRelease));
  EXPECT_TRUE(stale(kRelaxed));
}

// A commit writes two rows under its locks. Another one reads both, and sees the second as written.
// It sees at least the lock of the first.
TEST(EngineProtocol, WhoReadsOneWrittenRowValidatesTheOther) {
  EXPECT_FALSE(allowed({{update(0, 0, kLocked, kSeqCst), update(1, 0, kLocked, kSeqCst), fence(kSeqCst), store(1, kWritten, kRelease)},
                        {load(0, 0, kAcquire), load(1, kWritten, kAcquire), load(0, 0, kAcquire), load(1, kWritten, kAcquire)}}));
  EXPECT_TRUE(allowed({{update(0, 0, kLocked, kSeqCst), update(1, 0, kLocked, kSeqCst), fence(kSeqCst), store(1, kWritten, kRelease)},
                       {load(0, 0, kAcquire), load(1, kWritten, kAcquire)}})) << "without validation";
}

// Each of two threads marks itself and then looks for the other one's mark. They do not pass both.
//   claims (txn/timestamp/timestamp_claims.h): a reader raises the read timestamp and looks at the
//     write timestamp; a writer does the opposite
//   publications (txn/chopping/publications.h): a subscriber says that it is under way and looks
//     for a publication; a publisher opens one and looks for subscribers under way
TEST(EngineProtocol, TwoThatMarkThemselvesAndLookForTheOther) {
  const auto both_pass = [](bool marks_first, const Event& mark, Order order) {
    const int other = 1 - mark.location;
    return allowed({thread({{load(other, 0, order), !marks_first}, {mark}, {load(other, 0, order), marks_first}}),
                    {update(other, 0, 1, order), load(mark.location, 0, order)}});
  };
  for (const Event& mark : {update(0, 0, 1, kSeqCst), store(0, 1, kSeqCst)}) {
    EXPECT_FALSE(both_pass(true, mark, kSeqCst));
    EXPECT_TRUE(both_pass(false, mark, kSeqCst));
  }
  EXPECT_TRUE(both_pass(true, store(0, 1, kRelease), Order::kAcqRel)) << "without a total order";
}

// A transaction begins: it puts its timestamp into its slot and finds the clock unchanged. Another
// one raises the clock. A third one reads the raised clock and the empty slot: the timestamp is
// below what it takes for safe (txn/timestamp/timestamps.h).
TEST(EngineProtocol, ATransactionThatBeginsBelowTheSafeTimestamp) {
  const auto begins_below = [](bool clock_first, Order order) {
    const int clock = 0, slot = 1;
    return allowed({{store(slot, 1, order), load(clock, 0, order)},
                    {update(clock, 0, 1, order)},
                    thread({{load(slot, 0, order), !clock_first}, {load(clock, 1, order)}, {load(slot, 0, order), clock_first}})});
  };
  EXPECT_FALSE(begins_below(true, kSeqCst));
  EXPECT_TRUE(begins_below(false, kSeqCst));
  EXPECT_TRUE(begins_below(true, Order::kAcqRel));
}

// Two transactions that only read agree on which of two commits came first.
TEST(EngineProtocol, TwoReadersAgreeOnTheOrderOfTwoCommits) {
  const auto disagree = [](bool fenced) {
    const auto writer = [](int row) { return Thread{update(row, 0, kLocked, kSeqCst), store(row, kWritten, kRelease)}; };
    const auto reader = [&](int seen, int missed) {
      return thread({{load(seen, kWritten, kAcquire)}, {load(missed, 0, kAcquire)}, {fence(kSeqCst), fenced}, {load(missed, 0, kAcquire)}});
    };
    return allowed({writer(0), writer(1), reader(0, 1), reader(1, 0)});
  };
  EXPECT_FALSE(disagree(true));
  EXPECT_TRUE(disagree(false));
}

}  // namespace
}  // namespace elider::test
