// Group: calls that run together so that their cache misses overlap. Each call is a separate
// transaction (Database::run_group; docs/groups.md).
//
// There are three steps:
//
//   1. Each call announces what it will access.
//   2. The group looks up all announced rows at once (txn/touched_rows.h).
//   3. Each call makes one attempt, which finds its rows in the cache.
//
// Invariant: the worker stays inside the epoch from the lookup until the last call has used its
// rows. There is one exception: if a worker has memory to reclaim, the worker leaves the epoch
// between two calls, as it would after a single transaction. If the worker stayed inside, the
// memory that the group's calls retire could not be reclaimed before the last call has ended. After
// the worker has entered the epoch again, it repeats the lookup for the remaining calls.
//
// GroupRun runs all calls of one run_group(), group by group and in rounds. A call that had a
// conflict runs again in the next round, after every other call has been tried, so that it does not
// delay the other calls. Between two rounds the thread waits once for all calls together. If the
// calls must take effect in their order (GroupPolicy::in_order), there is only one round: a call
// that had a conflict runs again before the next call.
//
// Thread safety: none. A Group and a GroupRun belong to one worker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/test_points.h"
#include "base/worker.h"
#include "elider/snapshot_number.h"
#include "elider/touches.h"
#include "engine/engine.h"
#include "txn/retry.h"
#include "txn/touched_rows.h"

namespace elider::detail {

class Group {
 public:
  struct Member {
    explicit Member(size_t which) : call(which) {}

    size_t call;  // its index among all calls
    Status status;
    size_t touches_begin = 0, touches_end = 0;
    size_t partitions_begin = 0, partitions_end = 0;
    uint32_t procedure_id = 0;
    uint32_t attempt = 1;  // the number of the attempt that runs next
    bool read_only = false;
    bool tried_to_its_end = false;  // it does not run in another round, whatever its status is
  };

  // Reserves memory for this many members. May throw std::bad_alloc, so that add() does not.
  void reserve(size_t size) { members_.reserve(size); }
  void clear() {
    members_.clear();
    touches_.begin_group();
  }
  // Adds a call, and runs its `touch` function, which announces the rows that the call will access.
  void add(const GroupCalls& calls, size_t call, const GroupPolicy& policy, uint32_t attempt);

  // Calls run_one(member) for each member whose status is ok. If `in_order` is true and the member
  // has a conflict, calls may_repeat(member), outside of the epoch, and runs the member again if
  // the result is true.
  template <class Sync, class RunOne, class MayRepeat>
  void run_each(Worker& worker, uint64_t database_id, bool in_order, RunOne&& run_one, MayRepeat&& may_repeat);

  std::vector<Member>& members() { return members_; }
  std::span<const uint32_t> partitions_of(const Member& member) const {
    return std::span(touches_.partitions()).subspan(member.partitions_begin, member.partitions_end - member.partitions_begin);
  }
  // Returns the rows that were looked up for the member. They are valid while it runs.
  std::span<const txn::TouchedRow> rows_of(const Member& member) const {
    return rows_.of(member.touches_begin - rows_begin_, member.touches_end - rows_begin_);
  }

 private:
  // Looks up the rows that the members at positions [begin, end) announced. The worker must be
  // inside the epoch, and must stay inside until these members have used the rows. Until then, the
  // memory of a row that leaves its index is not reused.
  template <class Sync>
  void find(uint64_t database_id, size_t begin, size_t end) {
    rows_begin_ = members_[begin].touches_begin;
    const size_t touches = members_[end - 1].touches_end - rows_begin_;
    try {
      rows_.template find<Sync>(database_id, std::span(touches_.all()).subspan(rows_begin_, touches));
    } catch (const std::bad_alloc&) {  // each attempt then looks up its own rows
    }
  }

  Touches touches_;
  txn::TouchedRows rows_;
  size_t rows_begin_ = 0;  // the position of the touch to which the first element of rows_ belongs
  std::vector<Member> members_;
};

// Called when a call has committed with number `committed`. A group is durable when the largest
// commit number of its calls is durable. The last call need not have the largest number, because a
// call that reads a held snapshot may have a smaller number than an earlier call that writes.
inline void raise_to(SnapshotNumber committed, SnapshotNumber* number) {
  *number = ELIDER_MUTANT(kLastNumber) ? committed : std::max(*number, committed);
}

// Each time the worker enters the epoch, it looks up the rows of several members at once: as many
// members as it ran after the previous lookup, or twice as many if it ran every member that it had
// looked up. A group therefore makes at most about two lookups per row that it uses.
template <class Sync, class RunOne, class MayRepeat>
void Group::run_each(Worker& worker, uint64_t database_id, bool in_order, RunOne&& run_one, MayRepeat&& may_repeat) {
  const size_t count = members_.size();
  size_t size = count;
  for (size_t begin = 0; begin < count;) {
    size_t at = begin;
    Member* repeated = nullptr;
    {
      const Inside inside(worker);
      const size_t end = begin + std::min(size, count - begin);
      find<Sync>(database_id, begin, end);
      if (ELIDER_MUTANT(kLeaveBeforeUse)) worker.leave();
      ELIDER_TEST_POINT("group.rows_found");
      if (ELIDER_MUTANT(kLeaveBeforeUse)) worker.enter();
      do {
        Member& member = members_[at];
        if (member.status.ok()) [[likely]] run_one(member);
        if (in_order && member.status.retryable() && !member.tried_to_its_end) [[unlikely]] repeated = &member;
      } while (repeated == nullptr && ++at < end && !worker.is_due());
      size = at == end ? 2 * size : std::max<size_t>(1, at - begin);
    }
    begin = at;
    if (repeated == nullptr) [[likely]] continue;
    if (may_repeat(*repeated)) {
      repeated->status = {};
      ++repeated->attempt;
    } else {
      ++begin;
    }
  }
}

class GroupRun {
 public:
  // Runs all calls. run(group) makes one attempt of each member whose status is ok (several, if the
  // calls must take effect in their order), and stores the outcome in that status. Returns the
  // outcome of the first call, in the order of the calls, that is not ok. May throw std::bad_alloc
  // before the first attempt.
  template <class RunGroup>
  Status run_all(const GroupCalls& calls, const GroupPolicy& policy, Random& random, txn::Counters& counters, RunGroup&& run);
  // Returns true if at least one call has committed.
  bool committed() const { return committed_; }

 private:
  static constexpr size_t kSizeAutomatic = 32;
  struct Conflict {
    size_t call;
    uint32_t procedure_id;
    Status status;
  };

  void ended(const GroupCalls& calls, size_t call, Status status);
  void finish_group(const GroupCalls& calls, const GroupPolicy& policy);

  Group group_;
  std::vector<Conflict> round_, next_round_;
  bool committed_ = false;
  size_t first_failed_ = 0;
  Status failure_;
};

template <class RunGroup>
Status GroupRun::run_all(const GroupCalls& calls, const GroupPolicy& policy, Random& random, txn::Counters& counters, RunGroup&& run) {
  const uint64_t begin_ns = policy.deadline_us != 0 ? now_ns() : 0;
  const size_t size = policy.size != GroupPolicy::kAutomatic ? policy.size : kSizeAutomatic;
  committed_ = false;
  first_failed_ = calls.count;
  failure_ = {};
  next_round_.clear();
  group_.reserve(size);
  // Runs `count` calls. call_at(i) returns the index of the i-th of these calls.
  const auto run_round = [&](size_t count, uint32_t attempt, auto&& call_at) {
    for (size_t first = 0; first < count; first += size) {
      group_.clear();
      for (size_t i = first; i < count && i - first < size; ++i) group_.add(calls, call_at(i), policy, attempt);
      run(group_);
      finish_group(calls, policy);
    }
  };
  run_round(calls.count, 1, [](size_t i) { return i; });
  for (uint32_t attempts = 1; !next_round_.empty(); ++attempts) {
    round_.swap(next_round_);
    next_round_.clear();
    if (txn::wait_before_retry(policy, attempts, begin_ns, random)) {
      run_round(round_.size(), attempts + 1, [&](size_t i) { return round_[i].call; });
      continue;
    }
    for (const Conflict& one : round_) ended(calls, one.call, txn::given_up(counters, one.procedure_id, attempts, one.status));
  }
  return std::move(failure_);
}

}  // namespace elider::detail
