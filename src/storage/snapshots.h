// Snapshots: the global snapshot number S and who reads at which number (DBX, section 5.4, with the
// order of steps that closes the case the paper leaves open: a reader that starts while a commit is
// between its validation and its last write).
//
//   reader                                   commit
//   1. publish "starting"                    1. lock every row it writes
//   2. rs = S++                              2. n = S
//   3. publish rs                            3. look at the readers' slots
//   4. read versions with number <= rs,      4. validate its reads
//      waiting at every locked row           5. keep an old version where a reader may need it,
//   5. clear the slot                           write, release each row with number n
//
// Invariant: a reader at rs sees exactly the commits with number <= rs. A commit with n <= rs read
// S before the reader's step 2, so its locks are older: the reader meets a lock and waits, or the
// new version. A commit with n > rs read S after step 2, hence after step 1, so it sees the slot
// and keeps what the reader needs. Numbers agree with the serial order: if B depends on A
// (anti-dependencies included), A read S before B did.
//
// A call of a chopped procedure (txn/chopping) writes its rows in several commits, all of one
// number: the one that the commit read which orders the call among the others. From before that
// number is read until its last row is released the call is listed here, at that number or a
// smaller one, and a reader waits after its step 3 until no call is listed at rs or below. So the
// invariant holds for calls as for commits: a call that the reader does not see listed has read S
// after step 2, or has ended.
//
// A row's word is loaded with acquire only: a fence after step 2 keeps step 4 behind it
// (base/full_fence.h). All accesses of S and the slots but two are seq_cst: steps 1 and 2 of a
// reader against 2 and 3 of a commit are a store and a load on each side (Dekker's pattern), which
// nothing weaker orders. On x86 the loads cost nothing more. The stores of a reader's steps 3 and 5
// release, each with its reason.
//
// Thread safety: everything may be called by all threads; a slot is written by its worker alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/full_fence.h"
#include "base/spin.h"
#include "base/test_points.h"
#include "elider/snapshot_number.h"

namespace elider::storage {

class Snapshots {
 public:
  explicit Snapshots(uint32_t workers_max) : slots_(std::make_unique<Slot[]>(workers_max)) {}
  // There may be calls of several commits, by so many workers. Before any transaction.
  void list_calls(uint32_t workers_max) { calls_ = std::make_unique<Slot[]>(workers_max); }

  SnapshotNumber current() const { return current_.load(); }

  // Starts the next number, as a reader does, for the log. What S was.
  SnapshotNumber advance() { return current_.fetch_add(1); }
  // While no transaction runs: numbers below are in use by what was recovered.
  void start_at(SnapshotNumber number) {
    if (current_.load() < number) current_.store(number);
  }

  // A reader's steps 1 to 3, and its wait. The number at which it reads.
  SnapshotNumber begin_reading(uint32_t worker) {
    const SnapshotNumber rs = announce_reader(worker);
    await_closed(rs);
    return rs;
  }
  // Without the wait: it may read once is_closed() has been true.
  SnapshotNumber announce_reader(uint32_t worker) {
    if (!ELIDER_MUTANT(kPublishLate)) slots_[worker].value.store(kStarting);
    ELIDER_TEST_POINT("readonly.starting");
    const SnapshotNumber rs = current_.fetch_add(1) + (ELIDER_MUTANT(kLateSnapshotRead) ? 1 : 0);
    fence_after_locked_rmw();  // a lock that was taken before a commit read a smaller S is met; partner: that of commit_by_locks()
    ELIDER_TEST_POINT("readonly.before_publish");
    slots_[worker].value.store(rs, std::memory_order_release);  // release: a commit that sees rs too late sees "starting", which keeps more
    return rs;
  }
  // Whether no call is listed at rs, which a reader has announced, or below. Then none will be: who
  // lists itself reads S later.
  bool is_closed(SnapshotNumber rs) const { return calls_ == nullptr || ELIDER_MUTANT(kReadHalfACall) || !call_before(rs, kNoWorker); }
  void await_closed(SnapshotNumber rs) const {
    if (calls_ != nullptr && !ELIDER_MUTANT(kReadHalfACall)) [[unlikely]] await_calls(rs, kNoWorker);
  }
  void end_reading(uint32_t worker) { slots_[worker].value.store(kIdle, std::memory_order_release); }  // release: its reads come before

  // A commit's step 3: the largest rs < n at which a reader reads or may be
  // about to; 0 if none does.
  SnapshotNumber newest_reader_before(SnapshotNumber n, uint32_t workers_used) const {
    SnapshotNumber newest = 0;
    for (uint32_t i = 0; i < workers_used; ++i) {
      const uint64_t value = slots_[i].value.load();
      if (value == kIdle) [[likely]] continue;
      if (value == kStarting) return n - 1;
      if (value < n && value > newest) newest = value;
    }
    return newest;
  }

  // -- calls of several commits -------------------------------------------------------------------

  // Lists the worker's call, at S. Before the locks of the commit that orders it; and after that
  // one, at the number that it read.
  void begin_call(uint32_t worker) {
    uint32_t listed = calls_listed_.load();
    while (listed <= worker && !calls_listed_.compare_exchange_weak(listed, worker + 1)) {
    }
    calls_[worker].value.store(current_.load());
  }
  void set_call(uint32_t worker, SnapshotNumber n) { calls_[worker].value.store(n); }
  // release: who does not see the call any more sees all its rows.
  void end_call(uint32_t worker) { calls_[worker].value.store(kIdle, std::memory_order_release); }

  // Whether a call of another worker is listed at n or below.
  bool call_before(SnapshotNumber n, uint32_t but_worker) const {
    for (uint32_t i = 0; i < calls_listed_.load(); ++i) {
      const uint64_t value = calls_[i].value.load();
      if (value != kIdle && value <= n && i != but_worker) return true;
    }
    return false;
  }
  // Waits until there is none. New ones come with S, so it has an end where calls have.
  void await_calls(SnapshotNumber n, uint32_t but_worker) const {
    for (Spin spin; call_before(n, but_worker); spin.wait()) ELIDER_TEST_POINT("snapshots.awaits_call");
  }
  static constexpr uint32_t kNoWorker = ~uint32_t{0};

  // The smallest number at which somebody reads; 0: somebody may be about to; kNobody.
  static constexpr uint64_t kNobody = ~uint64_t{0};
  SnapshotNumber oldest_reader(uint32_t workers_used) const {
    SnapshotNumber oldest = kNobody;
    for (uint32_t i = 0; i < workers_used; ++i) {
      const uint64_t value = slots_[i].value.load();
      if (value == kStarting) return 0;
      if (value != kIdle && value < oldest) oldest = value;
    }
    return oldest;
  }

  // For a commit of number n that may be over: whether somebody reads at a number below n, or
  // may be about to; whoever reads at `passed` does not count. A reader that begins after the
  // call reads at n or later.
  bool read_before(SnapshotNumber n, SnapshotNumber passed, uint32_t workers_used) const {
    for (uint32_t i = 0; i < workers_used; ++i) {
      const uint64_t value = slots_[i].value.load();
      if (value != kIdle && value != passed && (value < n || value == kStarting)) return true;
    }
    return false;
  }

 private:
  static constexpr uint64_t kIdle = 0, kStarting = ~uint64_t{0};
  struct alignas(64) Slot {
    std::atomic<uint64_t> value{kIdle};
  };
  alignas(64) std::atomic<uint64_t> current_{1};
  alignas(64) std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<Slot[]> calls_;          // null: there are none
  std::atomic<uint32_t> calls_listed_{0};  // of calls_, so many have ever been used
};

}  // namespace elider::storage
