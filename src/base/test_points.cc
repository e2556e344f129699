#include "base/test_points.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/check.h"

namespace elider {

namespace {

struct Point {
  std::shared_ptr<std::function<void()>> action;
  uint64_t reached = 0;
};

struct Points {
  std::mutex mutex;  // a leaf lock: actions run outside it
  std::map<std::string, Point, std::less<>> by_name;
};

// Never destroyed: threads may pass test points while the process ends.
Points& points() {
  static Points* const instance = new Points;
  return *instance;
}

struct MutantName {
  Mutant mutant;
  std::string_view name;
};
constexpr MutantName kMutantNames[] = {
    {Mutant::kNone, "none"},
    {Mutant::kSkipReadValidation, "skip_read_validation"},
    {Mutant::kKeepLeafVersion, "keep_leaf_version"},
    {Mutant::kLateSnapshotRead, "late_snapshot_read"},
    {Mutant::kIgnoreLockBit, "ignore_lock_bit"},
    {Mutant::kSkipAbsentRead, "skip_absent_read"},
    {Mutant::kForgetSplitOff, "forget_split_off"},
    {Mutant::kSkipSecondLook, "skip_second_look"},
    {Mutant::kSkipExpectedWords, "skip_expected_words"},
    {Mutant::kForgetReadersInRegion, "forget_readers_in_region"},
    {Mutant::kSkipPairValidation, "skip_pair_validation"},
    {Mutant::kForgetUniqueCheck, "forget_unique_check"},
    {Mutant::kKeepDividedCount, "keep_divided_count"},
    {Mutant::kStaleByAddress, "stale_by_address"},
    {Mutant::kStaleBorrowed, "stale_borrowed"},
    {Mutant::kStaleByTicket, "stale_by_ticket"},
    {Mutant::kOldVersionNewer, "old_version_newer"},
    {Mutant::kShareSmallRow, "share_small_row"},
    {Mutant::kTrustSmallCopy, "trust_small_copy"},
    {Mutant::kPublishLate, "publish_late"},
    {Mutant::kLoseAddition, "lose_addition"},
    {Mutant::kHashCompareTags, "hash_compare_tags"},
    {Mutant::kIgnoreVersionFloor, "ignore_version_floor"},
    {Mutant::kUnlockEarly, "unlock_early"},
    {Mutant::kKeepHotRow, "keep_hot_row"},
    {Mutant::kSkipReadTimestamp, "skip_read_timestamp"},
    {Mutant::kForgetOtherReaders, "forget_other_readers"},
    {Mutant::kPassUnsafeRead, "pass_unsafe_read"},
    {Mutant::kPassUnsafeWrite, "pass_unsafe_write"},
    {Mutant::kScanNewestRows, "scan_newest_rows"},
    {Mutant::kBoundBeforeCells, "bound_before_cells"},
    {Mutant::kSkipSharedLock, "skip_shared_lock"},
    {Mutant::kUpgradeAtOnce, "upgrade_at_once"},
    {Mutant::kReleaseEarly, "release_early"},
    {Mutant::kWaitForTheOlder, "wait_for_the_older"},
    {Mutant::kLookBeforeClaim, "look_before_claim"},
    {Mutant::kSlotsBeforeClock, "slots_before_clock"},
    {Mutant::kForgetCommitting, "forget_committing"},
    {Mutant::kPublishTimestampOnce, "publish_timestamp_once"},
    {Mutant::kCommitEnded, "commit_ended"},
    {Mutant::kKeepHotRowOverEpochs, "keep_hot_row_over_epochs"},
    {Mutant::kKeepInlineRow, "keep_inline_row"},
    {Mutant::kKeepTouchedRow, "keep_touched_row"},
    {Mutant::kLeaveBeforeUse, "leave_before_use"},
    {Mutant::kRadixSkipPath, "radix_skip_path"},
    {Mutant::kRadixTrustObsolete, "radix_trust_obsolete"},
    {Mutant::kRadixKeepVersion, "radix_keep_version"},
    {Mutant::kRadixKeepParent, "radix_keep_parent"},
    {Mutant::kRadixSkipWalkCheck, "radix_skip_walk_check"},
    {Mutant::kHeadTrustTies, "head_trust_ties"},
    {Mutant::kHeadKeepAtSplit, "head_keep_at_split"},
    {Mutant::kForgetSibling, "forget_sibling"},
    {Mutant::kLeaveCycle, "leave_cycle"},
    {Mutant::kMergeWithoutBetween, "merge_without_between"},
    {Mutant::kRollBackLate, "roll_back_late"},
    {Mutant::kDeferBesideOtherPaths, "defer_beside_other_paths"},
    {Mutant::kSkipSubscription, "skip_subscription"},
    {Mutant::kLazySubscription, "lazy_subscription"},
    {Mutant::kSkipLockWait, "skip_lock_wait"},
    {Mutant::kUnboundedRetry, "unbounded_retry"},
    {Mutant::kSkipRegionEnd, "skip_region_end"},
    {Mutant::kHastyFallback, "hasty_fallback"},
    {Mutant::kRawWrite, "raw_write"},
    {Mutant::kSkipFrameChecksum, "skip_frame_checksum"},
    {Mutant::kAcknowledgeEarly, "acknowledge_early"},
    {Mutant::kLargestDurable, "largest_durable"},
    {Mutant::kPublishUnsynced, "publish_unsynced"},
    {Mutant::kRemoveLogEarly, "remove_log_early"},
    {Mutant::kRelyOnUnsynced, "rely_on_unsynced"},
    {Mutant::kSyncWithoutRewrite, "sync_without_rewrite"},
    {Mutant::kWithdrawEarly, "withdraw_early"},
    {Mutant::kNumberEarly, "number_early"},
    {Mutant::kMarkEarly, "mark_early"},
    {Mutant::kCloseFullFrame, "close_full_frame"},
    {Mutant::kRemoveKeptLog, "remove_kept_log"},
    {Mutant::kDropOneMore, "drop_one_more"},
    {Mutant::kFinishedTooSmall, "finished_too_small"},
    {Mutant::kTablesBeforeNumber, "tables_before_number"},
    {Mutant::kSkipCreationLock, "skip_creation_lock"},
    {Mutant::kCountAtOnce, "count_at_once"},
    {Mutant::kFillAtOnce, "fill_at_once"},
    {Mutant::kFillUnlocked, "fill_unlocked"},
    {Mutant::kDropAtOnce, "drop_at_once"},
    {Mutant::kNewestSchema, "newest_schema"},
    {Mutant::kReadHalfACall, "read_half_a_call"},
    {Mutant::kCallBesideCommits, "call_beside_commits"},
    {Mutant::kCommitBesideCalls, "commit_beside_calls"},
    {Mutant::kAddBeforeOlder, "add_before_older"},
    {Mutant::kPublishBesideSubscribers, "publish_beside_subscribers"},
    {Mutant::kLookBeforeEntering, "look_before_entering"},
    {Mutant::kCloseEarly, "close_early"},
    {Mutant::kPassPublisher, "pass_publisher"},
    {Mutant::kAnswerBeforePublishers, "answer_before_publishers"},
    {Mutant::kWithdrawBetweenPieces, "withdraw_between_pieces"},
    {Mutant::kHeapEarlyMoment, "heap_early_moment"},
    {Mutant::kHeapSkipPublished, "heap_skip_published"},
    {Mutant::kHeapSkipIsolationWait, "heap_skip_isolation_wait"},
    {Mutant::kHeapSkipDurabilityWait, "heap_skip_durability_wait"},
    {Mutant::kHeapSkipValidation, "heap_skip_validation"},
    {Mutant::kHeapRegionSaysNumber, "heap_region_says_number"},
    {Mutant::kHeapIgnoreDeciding, "heap_ignore_deciding"},
    {Mutant::kHeapRegionLateStamp, "heap_region_late_stamp"},
    {Mutant::kHeapVisibleFirst, "heap_visible_first"},
    {Mutant::kHeapIgnoreNeeds, "heap_ignore_needs"},
    {Mutant::kHeapIgnoreClaims, "heap_ignore_claims"},
    {Mutant::kHeapPatchBeforeLog, "heap_patch_before_log"},
    {Mutant::kWaitInTurn, "wait_in_turn"},
    {Mutant::kReadsHaveNoNumber, "reads_have_no_number"},
    {Mutant::kLastNumber, "last_number"},
    {Mutant::kLeaveOutLastChunk, "leave_out_last_chunk"},
    {Mutant::kTrustShortStream, "trust_short_stream"},
};

// A misspelled name must end the process. Otherwise no mutant would be active, as if the tests had
// missed it.
Mutant mutant_of_environment() {
  const char* const name = std::getenv("ELIDER_MUTANT");
  Mutant mutant = Mutant::kNone;
  if (name == nullptr || *name == '\0' || !TestPoints::enabled()) return mutant;
  if (!parse(name, &mutant)) {
    std::fprintf(stderr, "elider: ELIDER_MUTANT=%s is not a mutant\n", name);
    std::exit(2);
  }
  return mutant;
}

std::atomic<Mutant>& mutant_variable() {
  static std::atomic<Mutant> variable{mutant_of_environment()};
  return variable;
}

}  // namespace

void TestPoints::on(std::string name, std::function<void()> action) {
  Points& all = points();
  std::lock_guard lock(all.mutex);
  Point& point = all.by_name[std::move(name)];
  point.action = std::make_shared<std::function<void()>>(std::move(action));
  point.reached = 0;
  watched_.store(static_cast<int>(all.by_name.size()), std::memory_order_release);
}

void TestPoints::off(std::string_view name) {
  Points& all = points();
  std::lock_guard lock(all.mutex);
  const auto it = all.by_name.find(name);
  if (it != all.by_name.end()) all.by_name.erase(it);
  watched_.store(static_cast<int>(all.by_name.size()), std::memory_order_release);
}

void TestPoints::clear() {
  Points& all = points();
  std::lock_guard lock(all.mutex);
  all.by_name.clear();
  watched_.store(0, std::memory_order_release);
}

uint64_t TestPoints::reached(std::string_view name) {
  Points& all = points();
  std::lock_guard lock(all.mutex);
  const auto it = all.by_name.find(name);
  return it == all.by_name.end() ? 0 : it->second.reached;
}

void TestPoints::run(const char* name) {
  // acquire: pairs with set_region_exit().
  if (void (*const leave)() = region_exit_.load(std::memory_order_acquire)) leave();
  Points& all = points();
  std::shared_ptr<std::function<void()>> action;
  {
    std::lock_guard lock(all.mutex);
    const auto it = all.by_name.find(std::string_view(name));
    if (it == all.by_name.end()) return;
    ++it->second.reached;
    action = it->second.action;
  }
  (*action)();
}

struct TestStop::State {
  State(std::string point, uint64_t pass, std::chrono::milliseconds wait) : name(std::move(point)), timeout(wait), pass_first(pass) {}

  void arrive();
  void let_go();
  // Waits until `flag` is set. If the timeout passes first, ends the process with the message
  // `words`.
  void wait_for(const bool& flag, std::unique_lock<std::mutex>& lock, const char* words);

  const std::string name;
  const std::chrono::milliseconds timeout;
  std::mutex mutex;  // guards the following
  std::condition_variable changed;
  uint64_t pass_first;
  bool reached = false;
  bool go = false;
};

void TestStop::State::arrive() {
  std::unique_lock lock(mutex);
  if (reached) return;
  if (pass_first != 0) {
    --pass_first;
    return;
  }
  reached = true;
  changed.notify_all();
  wait_for(go, lock, "no test released the thread at");
}

void TestStop::State::let_go() {
  std::lock_guard lock(mutex);
  go = true;
  changed.notify_all();
}

void TestStop::State::wait_for(const bool& flag, std::unique_lock<std::mutex>& lock, const char* words) {
  // Uses an absolute time on the system's clock, because older TSan runtimes do not support waits
  // on the steady clock.
  const auto until = std::chrono::system_clock::now() + timeout;
  while (!flag) {
    if (changed.wait_until(lock, until) == std::cv_status::no_timeout || flag) continue;
    std::fprintf(stderr, "elider: %s test point '%s'\n", words, name.c_str());
    ELIDER_CHECK(false, "the race that a test forces happens before the timeout");
  }
}

TestStop::TestStop(std::string name, uint64_t pass_first, std::chrono::milliseconds timeout)
    : state_(std::make_shared<State>(std::move(name), pass_first, timeout)) {
  TestPoints::on(state_->name, [state = state_] { state->arrive(); });
}

TestStop::~TestStop() {
  TestPoints::off(state_->name);
  go();
}

void TestStop::wait_until_reached() {
  std::unique_lock lock(state_->mutex);
  state_->wait_for(state_->reached, lock, "no thread reached");
}

bool TestStop::reached() const {
  std::lock_guard lock(state_->mutex);
  return state_->reached;
}

void TestStop::go() { state_->let_go(); }

Mutant active_mutant() { return mutant_variable().load(std::memory_order_relaxed); }

void set_mutant(Mutant mutant) { mutant_variable().store(mutant, std::memory_order_relaxed); }

std::string_view name_of(Mutant mutant) {
  for (const MutantName& entry : kMutantNames)
    if (entry.mutant == mutant) return entry.name;
  return "unknown";
}

bool parse(std::string_view name, Mutant* mutant) {
  for (const MutantName& entry : kMutantNames) {
    if (entry.name != name) continue;
    *mutant = entry.mutant;
    return true;
  }
  return false;
}

}  // namespace elider
