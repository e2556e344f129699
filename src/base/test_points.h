// Test points: named places in the engine where a test can run code or stop a thread. To reproduce
// a race, a test stops a thread at a point instead of sleeping. Mutants: deliberate defects, which
// show that the tests can fail.
//
//   ELIDER_TEST_POINT("occ.commit.after_lock");
//   if (!ELIDER_MUTANT(kSkipReadValidation) && !valid) ...
//
// Both exist only in builds with ELIDER_TEST_POINTS=1 (presets dev, asan, tsan, emulator). In other
// builds, ELIDER_TEST_POINT expands to nothing and ELIDER_MUTANT to `false`. Names have the form
// "area.step". While no test has set an action, a point costs one relaxed load.
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

  // Sets the action of a point, replacing any earlier one. From now on, each thread that reaches
  // the point runs the action.
  static void on(std::string name, std::function<void()> action);
  // Removes the action. A thread that is running the action completes it.
  static void off(std::string_view name);
  static void clear();  // calls off() for all points
  // Sets a function that a thread calls at a test point before any action. If the thread is in a
  // hardware transaction, in which it must not wait, the function aborts the transaction and does
  // not return.
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

// Stops the first thread that reaches a test point until go(). Use one stop per test, for example:
//
//   TestStop stop("occ.commit.after_lock");
//   std::thread writer([&] { ... commits ... });
//   stop.wait_until_reached();
//   ... the writer holds its locks now ...
//   stop.go();
//
// If a wait exceeds `timeout`, it ends the process with a message. A test whose race does not
// happen thus fails instead of hanging. A point with a TestStop must not have another action.
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
  kSkipReadValidation,  // "skip_read_validation": a transaction commits without validating its reads
  kKeepLeafVersion,     // "keep_leaf_version": validation ignores that a leaf's version has increased
  kLateSnapshotRead,    // "late_snapshot_read": a snapshot reader uses the number after its own
  kIgnoreLockBit,       // "ignore_lock_bit": reads and validation ignore that a row is locked
  kSkipAbsentRead,      // "skip_absent_read": reads of absent keys are not tracked
  kForgetSplitOff,      // "forget_split_off": if a transaction's insertion splits a leaf that it has scanned, the new half is not tracked
  kSkipSecondLook,      // "skip_second_look": a range of a secondary index counts as unchanged without a second scan
  kSkipExpectedWords,   // "skip_expected_words": a commit's region does not check that the rows that it writes are unchanged
  kForgetReadersInRegion,  // "forget_readers_in_region": calls in regions keep only new versions (tests/emulator/chopped_regions_test.cc)
  // Mutants of commits. tests/race/mutants.sh has a test for each.
  kSkipPairValidation,   // "skip_pair_validation": a transaction that has read two rows or absent keys commits without validation
  kForgetUniqueCheck,    // "forget_unique_check": a check for a unique value does not track the leaf that it has read
  kStaleByAddress,       // "stale_by_address": stale entries of an index by columns are compared by the addresses of their bytes
  kStaleBorrowed,        // "stale_borrowed": a stale entry refers to the bytes of the transaction that has listed it
  kStaleByTicket,        // "stale_by_ticket": a stale entry is removed without comparing it with its row
  kKeepDividedCount,     // "keep_divided_count": an entry that divides an interval of a ranked index leaves the interval's count unchanged
  kOldVersionNewer,      // "old_version_newer": the snapshot number of an old version is one too large
  kShareSmallRow,        // "share_small_row": the old version of a row that is stored in its row block is not copied
  kTrustSmallCopy,       // "trust_small_copy": the copy of a row that is stored in its row block is not validated
  kPublishLate,          // "publish_late": a snapshot reader increments the snapshot number before it announces itself in its slot
  kLoseAddition,         // "lose_addition": only the first of several additions to a column group is applied
  kUnlockEarly,          // "unlock_early": a row is unlocked before it is written
  kKeepHotRow,           // "keep_hot_row": a recently found row is used although its block has left the index
  kSkipReadTimestamp,    // "skip_read_timestamp": under timestamp ordering, a transaction reads without a claim
  kForgetOtherReaders,   // "forget_other_readers": a row's read timestamp names one of several readers, and hides the others
  kPassUnsafeRead,       // "pass_unsafe_read": a row is written although a transaction that has read it may be running
  kPassUnsafeWrite,      // "pass_unsafe_write": a row is read or written although a transaction that has written it may be running
  kLookBeforeClaim,      // "look_before_claim": a read checks the write timestamp before it raises the read timestamp
  kSlotsBeforeClock,     // "slots_before_clock": the safe timestamp is computed from slots that were read before the clock
  kForgetCommitting,     // "forget_committing": the computation of the safe timestamp ignores transactions that are committing
  kPublishTimestampOnce, // "publish_timestamp_once": the clock is not rechecked after a timestamp is stored in its slot
  kCommitEnded,          // "commit_ended": a transaction commits although another transaction has ended it
  kScanNewestRows,       // "scan_newest_rows": a scan of rows in zones returns the newest rows instead of those of its snapshot
  kBoundBeforeCells,     // "bound_before_cells": a new slot is within its extent's bound before its cells are marked as absent
  kSkipSharedLock,       // "skip_shared_lock": under two-phase locking, a transaction reads without a lock
  kUpgradeAtOnce,        // "upgrade_at_once": a transaction with a shared lock writes although other transactions share the lock
  kReleaseEarly,         // "release_early": a transaction releases its locks before it commits
  kWaitForTheOlder,      // "wait_for_the_older": a transaction also waits for locks of older transactions
  kKeepHotRowOverEpochs, // "keep_hot_row_over_epochs": a recently found row is used although its block may have been reclaimed
  kKeepInlineRow,        // "keep_inline_row": an inline row is still found in its bucket after it has left the index
  kKeepTouchedRow,       // "keep_touched_row": a call of a group receives a row block that has left the index
  kLeaveBeforeUse,       // "leave_before_use": a group leaves its grace period between finding rows and using them
  kRadixSkipPath,        // "radix_skip_path": a failed lookup in a radix tree does not compare the last node's path
  kRadixTrustObsolete,   // "radix_trust_obsolete": a lookup in a radix tree continues in a node that has been replaced
  kRadixKeepVersion,     // "radix_keep_version": an insertion into a radix tree does not raise the node's version
  kRadixKeepParent,      // "radix_keep_parent": a merge that moves an entry into the parent does not raise the parent's version
  kRadixSkipWalkCheck,   // "radix_skip_walk_check": a scan of a radix tree does not validate its nodes at the end
  kHashCompareTags,     // "hash_compare_tags": a hash table of byte keys does not compare the keys, only their tags
  kHeadTrustTies,        // "head_trust_ties": keys with equal heads in a B+-tree of byte keys are not compared
  kHeadKeepAtSplit,      // "head_keep_at_split": a split that lengthens a leaf's prefix keeps the heads of the old prefix
  kIgnoreVersionFloor,  // "ignore_version_floor": numbers that were fetched before a call of at_least() are still used
  // Mutants of the analysis of chopped procedures (src/txn/chopping).
  kForgetSibling,        // "forget_sibling": the search for SC-cycles ignores the S-edges within other calls
  kLeaveCycle,           // "leave_cycle": pieces on an SC-cycle are not merged
  kMergeWithoutBetween,  // "merge_without_between": a piece that must run between two merged pieces is not merged with them
  kRollBackLate,         // "roll_back_late": a procedure may roll back after a piece that writes
  kDeferBesideOtherPaths, // "defer_beside_other_paths": an operation is deferred although conflicts lead from its procedure to a subscriber
  // Mutants of lock elision (src/htm/elide.h), which matter only if the backend runs regions.
  kSkipSubscription,    // "skip_subscription": a region does not read its lock
  kLazySubscription,    // "lazy_subscription": a region reads its lock only at its end
  kSkipLockWait,        // "skip_lock_wait": a region is retried while the lock is held
  kUnboundedRetry,      // "unbounded_retry": a region is retried without a limit
  kSkipRegionEnd,       // "skip_region_end": a section returns without ending its region
  kHastyFallback,       // "hasty_fallback": a section that falls back to the lock does not wait for its holder
  kRawWrite,            // "raw_write": rows are written without the racy accessors (src/base/racy.h)
  kSkipFrameChecksum,   // "skip_frame_checksum": the log's reader does not verify the checksums of frames
  kAcknowledgeEarly,    // "acknowledge_early": a frame counts as durable before it is synced
  kLargestDurable,      // "largest_durable": the durable number is the largest, instead of the smallest, of all log streams
  kPublishUnsynced,     // "publish_unsynced": a checkpoint becomes valid before its files are synced
  kRemoveLogEarly,      // "remove_log_early": the log before a checkpoint is removed before the checkpoint is valid
  kRelyOnUnsynced,      // "rely_on_unsynced": opening relies on frames that a killed process had not synced
  kSyncWithoutRewrite,  // "sync_without_rewrite": opening syncs unsynced frames without rewriting them (log/directory.cc)
  // Mutants of durability. tests/durability/mutants.sh has a test for each.
  kWithdrawEarly,       // "withdraw_early": a commit's announcement is withdrawn before its record is published
  kNumberEarly,         // "number_early": a commit reads its number before it announces itself
  kMarkEarly,           // "mark_early": the logger marks the end of a buffer before it reads the buffer's announcement
  kCloseFullFrame,      // "close_full_frame": a frame closes a number although some of its records are still in the buffers
  kRemoveKeptLog,       // "remove_kept_log": the log that an older kept checkpoint needs is removed
  kDropOneMore,         // "drop_one_more": the log is removed up to one number more than the checkpoint contains
  kFinishedTooSmall,    // "finished_too_small": the largest number of a finished segment is one too small
  kTablesBeforeNumber,  // "tables_before_number": a checkpoint lists the tables before it takes its number
  kSkipCreationLock,    // "skip_creation_lock": a checkpoint does not wait for a table that is being created
  kCountAtOnce,         // "count_at_once": a ranked index is counted although earlier transactions may still change its entries
  kFillAtOnce,          // "fill_at_once": an index is filled although earlier transactions may change rows without maintaining it
  kFillUnlocked,        // "fill_unlocked": an index is filled from rows that are not locked
  kDropAtOnce,          // "drop_at_once": a table is dropped although earlier transactions may still write to it
  kNewestSchema,        // "newest_schema": a checkpoint stores the newest schema of a table, not that of its snapshot
  kReadHalfACall,        // "read_half_a_call": a snapshot reader does not wait for the calls that its snapshot includes
  kCallBesideCommits,    // "call_beside_commits": a call starts while ordinary transactions commit
  kCommitBesideCalls,    // "commit_beside_calls": an ordinary transaction commits while calls are running
  kAddBeforeOlder,       // "add_before_older": a call adds before calls with smaller numbers have added
  kPublishBesideSubscribers,  // "publish_beside_subscribers": a deferred effect becomes visible while subscribers are running
  kLookBeforeEntering,   // "look_before_entering": a subscriber checks for publications before it announces that it is running
  kCloseEarly,           // "close_early": a publication closes although a publisher with an earlier core has not published
  kPassPublisher,        // "pass_publisher": a subscriber commits with a number above that of a publisher whose effect it has not seen
  kAnswerBeforePublishers,  // "answer_before_publishers": a call that may have seen a publisher's core returns before the publication
  kWithdrawBetweenPieces,  // "withdraw_between_pieces": a call withdraws its announcement to the log after its core, not after its tail
  // Mutants of the heap. tests/race/mutants.sh has a test for each.
  kHeapEarlyMoment,         // "heap_early_moment": a transaction reads the clock before it announces that it is active
  kHeapSkipPublished,       // "heap_skip_published": a read ignores the write sets of commits that are not in the heap yet
  kHeapSkipIsolationWait,   // "heap_skip_isolation_wait": a commit changes the heap while older transactions are active
  kHeapSkipDurabilityWait,  // "heap_skip_durability_wait": a transaction returns before the data that it has read is durable
  kHeapSkipValidation,      // "heap_skip_validation": a serializable transaction commits without validating its reads
  kHeapRegionSaysNumber,    // "heap_region_says_number": a region that checks for readers before it takes its number announces that number
  kHeapIgnoreDeciding,      // "heap_ignore_deciding": a durability wait ignores transactions that have a number but have not announced it
  kHeapRegionLateStamp,     // "heap_region_late_stamp": a region announces its number after its wait, as in the published algorithm
  kHeapVisibleFirst,        // "heap_visible_first": under HeapWait::kOwn a commit is visible to other transactions before it is durable
  kHeapIgnoreNeeds,         // "heap_ignore_needs": recovery keeps a transaction although one that it depends on is lost
  kHeapIgnoreClaims,        // "heap_ignore_claims": recovery treats damage in the log as an effect of a crash
  kHeapPatchBeforeLog,      // "heap_patch_before_log": recovery changes the heap before the log records are durable
  kWaitInTurn,          // "wait_in_turn": a thread keeps its turn while it waits for the disk
  kReadsHaveNoNumber,   // "reads_have_no_number": a read-only commit does not wait until the data that it has read is durable
  kLastNumber,          // "last_number": a group waits until its last call, instead of the call with the largest number, is durable
  kLeaveOutLastChunk,   // "leave_out_last_chunk": recovery leaves the last rows of a large table out of all indexes
  kTrustShortStream,    // "trust_short_stream": a stream may end before a number that another stream reports as durable
};

// The environment variable ELIDER_MUTANT names the active mutant. It is read at the first call, and
// an unknown name ends the process. The result is always kNone in builds without test points.
Mutant active_mutant();
void set_mutant(Mutant mutant);
std::string_view name_of(Mutant mutant);
bool parse(std::string_view name, Mutant* mutant);

}  // namespace elider
