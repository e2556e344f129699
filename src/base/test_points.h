// Test points: named places in the engine where a test can run code or stop a thread. A test
// reproduces a race by naming a point instead of sleeping. Mutants: deliberate defects that prove
// that the checkers can fail.
//
//   ELIDER_TEST_POINT("occ.commit.after_lock");
//   if (!ELIDER_MUTANT(kSkipReadValidation) && !valid) ...
//
// Both exist only in builds with ELIDER_TEST_POINTS=1 (presets dev, asan, tsan, emulator). In other
// builds, the first macro expands to nothing and the second to `false`. Names have the form
// "area.step". A point costs one relaxed load while no test uses test points.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#ifndef ELIDER_TEST_POINTS
#define ELIDER_TEST_POINTS 0
#endif

#if ELIDER_TEST_POINTS
#define ELIDER_TEST_POINT(name) ::elider::TestPoints::reach(name)
#define ELIDER_MUTANT(which) (::elider::active_mutant() == ::elider::Mutant::which)
#else
#define ELIDER_TEST_POINT(name) static_cast<void>(0)
#define ELIDER_MUTANT(which) false
#endif

namespace elider {

class TestPoints {
 public:
  static constexpr bool enabled() { return ELIDER_TEST_POINTS != 0; }

  // From now on, each thread that reaches the point runs `action`. An earlier action of the point
  // is replaced.
  static void on(std::string name, std::function<void()> action);
  // Removes the action. A thread that is running the action completes it.
  static void off(std::string_view name);
  static void clear();  // calls off() for all points
  // Sets a function that a thread calls first at a watched point. If the thread is in a hardware
  // transaction, the function aborts the transaction and does not return, because a thread must not
  // wait inside one.
  static void set_region_exit(void (*leave)()) { region_exit_.store(leave, std::memory_order_release); }
  // Returns how often the point was reached since on().
  static uint64_t reached(std::string_view name);

  // Called by ELIDER_TEST_POINT.
  static void reach(const char* name) {
    // relaxed: a test must call on() before its threads reach the point; otherwise they may miss
    // the action.
    if (watched_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      run(name);
  }

 private:
  static void run(const char* name);
  inline static std::atomic<int> watched_{0};
  inline static std::atomic<void (*)()> region_exit_{nullptr};
};

// Stops the first thread that reaches a test point until go(). One test, one stop, one scope:
//
//   TestStop stop("occ.commit.after_lock");
//   std::thread writer([&] { ... commits ... });
//   stop.wait_until_reached();
//   ... the writer holds its locks now ...
//   stop.go();
//
// Each wait ends the process with a message after `timeout`, so a test whose race does not happen
// fails instead of hanging. While a point has a stop, it must not have another action.
class TestStop {
 public:
  static constexpr std::chrono::milliseconds kTimeout{600000};

  // Lets `pass_first` threads pass before it stops one.
  explicit TestStop(std::string name, uint64_t pass_first = 0, std::chrono::milliseconds timeout = kTimeout);
  ~TestStop();  // calls go(), and removes the action

  void wait_until_reached();
  bool reached() const;  // a thread is, or was, stopped at the point
  void go();

  TestStop(const TestStop&) = delete;
  TestStop& operator=(const TestStop&) = delete;

 private:
  // Shared with the action, because a thread may be about to run the action while the stop is
  // destroyed.
  struct State;
  const std::shared_ptr<State> state_;
};

// Each mutant omits one step that serializability or durability requires.
enum class Mutant : uint32_t {
  kNone,
  kSkipReadValidation,  // "skip_read_validation": commits without validating its reads
  kKeepLeafVersion,     // "keep_leaf_version": ignores a raised leaf version
  kLateSnapshotRead,    // "late_snapshot_read": a reader's snapshot is read one number late
  kIgnoreLockBit,       // "ignore_lock_bit": reads and validation ignore a locked row
  kSkipAbsentRead,      // "skip_absent_read": reads of absent keys are not tracked
  kForgetSplitOff,      // "forget_split_off": the new half of a scanned leaf that an own insert has split is not tracked
  kSkipSecondLook,      // "skip_second_look": a range of a secondary index whose leaf has changed counts as unchanged
  kSkipExpectedWords,   // "skip_expected_words": a commit's region ignores that the words it writes have changed
  kForgetReadersInRegion,  // "forget_readers_in_region": a call in a region keeps no old version (tests/emulator/chopped_regions_test.cc)
  // Mutants of commits. tests/race/mutants.sh has a test for each.
  kSkipPairValidation,   // "skip_pair_validation": a transaction of two reads, or of a read and an absence, commits unvalidated
  kForgetUniqueCheck,    // "forget_unique_check": the place of a unique value is checked, but not tracked
  kOldVersionNewer,      // "old_version_newer": an old version says that it was written one number later
  kPublishLate,          // "publish_late": a snapshot reader raises S before its slot says so
  kLoseAddition,         // "lose_addition": of several additions to a group the last one is left out
  kUnlockEarly,          // "unlock_early": a row is released before it is written
  kKeepHotRow,           // "keep_hot_row": a row that was found lately is taken although its block has left its index
  kSkipReadTimestamp,    // "skip_read_timestamp": a transaction of timestamps reads without a claim
  kForgetOtherReaders,   // "forget_other_readers": the read timestamp of a row that several read names one, without the flag
  kPassUnsafeRead,       // "pass_unsafe_read": a row is written although a reader of it may be running
  kPassUnsafeWrite,      // "pass_unsafe_write": a row is read or written although a writer of it may be running
  kLookBeforeClaim,      // "look_before_claim": a read looks at the write timestamp before it raises the read timestamp
  kSlotsBeforeClock,     // "slots_before_clock": the safe timestamp is computed from slots that are read before the clock
  kForgetCommitting,     // "forget_committing": the safe timestamp passes transactions that are committing
  kPublishTimestampOnce, // "publish_timestamp_once": the clock is not rechecked after a timestamp is stored in its slot
  kCommitEnded,          // "commit_ended": a transaction commits although another one has ended it
  kScanNewestRows,       // "scan_newest_rows": a scan of rows in zones returns the newest rows, whatever its snapshot
  kBoundBeforeCells,     // "bound_before_cells": an extent's bound shows a slot before its cells are absent
  kSkipSharedLock,       // "skip_shared_lock": a transaction of two-phase locking reads without a lock
  kUpgradeAtOnce,        // "upgrade_at_once": a transaction that shares a lock writes although others share it
  kReleaseEarly,         // "release_early": a transaction gives its locks back before it commits
  kWaitForTheOlder,      // "wait_for_the_older": a transaction waits for the locks of older ones, too
  kKeepHotRowOverEpochs, // "keep_hot_row_over_epochs": and although its block may have been reclaimed since
  kKeepInlineRow,        // "keep_inline_row": a row is found at its place after it has left the index
  kKeepTouchedRow,       // "keep_touched_row": a group's call is given a row block that has left its index
  kLeaveBeforeUse,       // "leave_before_use": a group leaves its stay between finding rows and using them
  kRadixSkipPath,        // "radix_skip_path": a radix tree's lookup does not compare the last node's path when it fails
  kRadixTrustObsolete,   // "radix_trust_obsolete": it goes on in a node that has been replaced
  kRadixKeepVersion,     // "radix_keep_version": an insertion into a radix tree's node does not raise its version
  kRadixKeepParent,      // "radix_keep_parent": a merge that leaves an entry does not raise the parent's version
  kRadixSkipWalkCheck,   // "radix_skip_walk_check": a radix tree's scan does not check its nodes at its end
  kIgnoreSequenceFloor,  // "ignore_sequence_floor": a chunk that was fetched before at_least() keeps its numbers
  // Mutants of the analysis of chopped procedures (src/txn/chopping).
  kForgetSibling,        // "forget_sibling": only pieces of the call that is analyzed are siblings
  kLeaveCycle,           // "leave_cycle": pieces on an SC-cycle are not merged
  kMergeWithoutBetween,  // "merge_without_between": what must run between two merged pieces stays by itself
  kRollBackLate,         // "roll_back_late": a procedure may roll back after a piece that writes
  kDeferBesideOtherPaths, // "defer_beside_other_paths": an operation is deferred although its subscribers also conflict in another way
  // Mutants of lock elision (src/htm/elide.h), which only a backend that runs regions can show.
  kSkipSubscription,    // "skip_subscription": a region does not read its lock
  kLazySubscription,    // "lazy_subscription": it reads the lock at its end alone
  kSkipLockWait,        // "skip_lock_wait": it begins again while the lock is held
  kUnboundedRetry,      // "unbounded_retry": it is tried again for ever
  kSkipRegionEnd,       // "skip_region_end": a section returns without ending its region
  kHastyFallback,       // "hasty_fallback": a section that takes its lock does not wait for the holder
  kRawWrite,            // "raw_write": rows are written past whatever watches over regions (src/base/racy.h)
  kSkipFrameChecksum,   // "skip_frame_checksum": the log's reader believes every frame
  kAcknowledgeEarly,    // "acknowledge_early": a frame counts as durable before it is synced
  kLargestDurable,      // "largest_durable": durable is what one log file has synced, not all
  kPublishUnsynced,     // "publish_unsynced": a checkpoint counts before its files are synced
  kRemoveLogEarly,      // "remove_log_early": the log before a checkpoint goes before that counts
  kRelyOnUnsynced,      // "rely_on_unsynced": opening relies on frames that a killed process had not synced
  kSyncWithoutRewrite,  // "sync_without_rewrite": opening syncs them, although a failed sync may have left them clean in memory
  // Mutants of durability. tests/durability/mutants.sh has a test for each.
  kWithdrawEarly,       // "withdraw_early": a commit's announcement is withdrawn before its record is published
  kNumberEarly,         // "number_early": a commit reads its number before it announces itself
  kMarkEarly,           // "mark_early": the logger's mark is taken before it looks at who is committing
  kCloseFullFrame,      // "close_full_frame": a frame closes a number although records are left in the buffers
  kRemoveKeptLog,       // "remove_kept_log": the log goes that an older kept checkpoint needs
  kDropOneMore,         // "drop_one_more": a checkpoint's log goes up to one number too many
  kFinishedTooSmall,    // "finished_too_small": a finished segment's largest number is taken for one less
  kTablesBeforeNumber,  // "tables_before_number": a checkpoint lists the tables before it has its number
  kSkipCreationLock,    // "skip_creation_lock": a checkpoint does not wait for a table that is being made
  kReadHalfACall,        // "read_half_a_call": a snapshot does not wait for the calls that it sees
  kCallBesideCommits,    // "call_beside_commits": a call begins while ordinary transactions commit
  kCommitBesideCalls,    // "commit_beside_calls": an ordinary transaction commits while calls are under way
  kAddBeforeOlder,       // "add_before_older": a call adds before those of smaller numbers have
  kPublishBesideSubscribers,  // "publish_beside_subscribers": a deferred effect appears while subscribers are under way
  kLookBeforeEntering,   // "look_before_entering": a subscriber looks for publications before it says that it is under way
  kCloseEarly,           // "close_early": a publication closes although a publisher whose core came earlier has not published
  kPassPublisher,        // "pass_publisher": a subscriber commits above the number of a publisher that it has not seen
  kAnswerBeforePublishers,  // "answer_before_publishers": a call that may have seen a publisher's core returns before it has published
  kWithdrawBetweenPieces,  // "withdraw_between_pieces": a call withdraws its announcement to the log after its core, not after its tail
  // Mutants of the heap. tests/race/mutants.sh has a test for each.
  kHeapEarlyMoment,         // "heap_early_moment": a transaction reads its moment before it says that it is active
  kHeapSkipPublished,       // "heap_skip_published": a commit that the heap does not have yet is not looked into
  kHeapSkipIsolationWait,   // "heap_skip_isolation_wait": a commit changes the heap under readers of earlier moments
  kHeapSkipDurabilityWait,  // "heap_skip_durability_wait": a transaction answers before what it has read is durable
  kHeapSkipValidation,      // "heap_skip_validation": a serializable commit ignores that what it read has changed
  kHeapRegionSaysNumber,    // "heap_region_says_number": a region that looked for readers before its number says the number alone
  kHeapIgnoreDeciding,      // "heap_ignore_deciding": a durability wait passes over who has a number and has not said it
  kHeapRegionLateStamp,     // "heap_region_late_stamp": a region says its number after it has waited, as published
  kHeapVisibleFirst,        // "heap_visible_first": under HeapWait::kOwn others see a commit before it is durable
  kHeapIgnoreNeeds,         // "heap_ignore_needs": recovery keeps a transaction whose predecessors are lost
  kHeapIgnoreClaims,        // "heap_ignore_claims": recovery takes damage in the log for what a crash left
  kHeapPatchBeforeLog,      // "heap_patch_before_log": recovery changes the heap before the log that it reads is durable
  kWaitInTurn,          // "wait_in_turn": a thread keeps its turn while it waits for the disk
  kReadsHaveNoNumber,   // "reads_have_no_number": a read-only commit does not wait
  kLastNumber,          // "last_number": a group waits for the number of its last call, not for the largest
  kLeaveOutLastChunk,   // "leave_out_last_chunk": the last rows of a large table are in no index after recovery
  kTrustShortStream,    // "trust_short_stream": a stream may end before what another one says was durable
};

// The environment variable ELIDER_MUTANT names the active mutant. It is read at the first call, and
// an unknown name ends the process. The result is always kNone in builds without test points.
Mutant active_mutant();
void set_mutant(Mutant mutant);
std::string_view name_of(Mutant mutant);
bool parse(std::string_view name, Mutant* mutant);

}  // namespace elider
