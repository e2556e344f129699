// Snapshots: the global snapshot number S, and the numbers at which readers read (DBX, section
// 5.4). The order of the steps below also covers a case that the paper leaves open: a reader that
// starts while a commit is between its validation and its last write.
//
//   reader                                   commit
//   1. publish "starting"                    1. lock every row it writes
//   2. rs = S++                              2. n = S
//   3. publish rs                            3. look at the readers' slots
//   4. read versions with number <= rs,      4. validate its reads
//      waiting at every locked row           5. keep an old version where a reader may need it,
//   5. clear the slot                           write, release each row with number n
//
// Invariant: a reader at rs sees exactly the commits with a number <= rs. If n <= rs, the commit
// read S before the reader's step 2, and had already taken its locks. The reader therefore finds
// either the new version, or a lock, at which it waits. If n > rs, the commit read S after the
// reader's step 2, and therefore after step 1. So the commit sees the reader's slot, and keeps the
// versions that the reader needs. Numbers agree with the serial order: if B depends on A (including
// anti-dependencies), A read S before B did.
//
// A call to a chopped procedure (txn/chopping) writes its rows in several commits with the same
// number. The commit that orders the call among the other calls reads this number n from S. Before
// the commit reads n, the call is listed in calls_ at n or a smaller number. It remains listed
// until its last row is released. After its step 3, a reader waits until no call is listed at rs or
// below. So the invariant also holds for calls: a call that is not listed when the reader checks
// has read S after step 2, or has ended.
//
// A commit locks rows and then reads S. A reader increases S and then reads commit words. Each of
// the two writes one variable and then reads another (Dekker's pattern), for which orders weaker
// than seq_cst are not sufficient. Reads load a row's commit word only with acquire, so the fence
// after step 2 is required to order step 4 after step 2 (base/full_fence.h). Accesses of S and the
// slots are seq_cst. On x86 such a load is not slower. Only the stores in a reader's steps 3 and 5
// are release stores, for the reasons given at these stores.
//
// Thread safety: all threads may call all functions; a slot is written only by its worker.
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
  // Enables calls that consist of several commits, by this many workers. Must be called before any
  // transaction.
  void list_calls(uint32_t workers_max) { calls_ = std::make_unique<Slot[]>(workers_max); }

  SnapshotNumber current() const { return current_.load(); }

  // Increases S as a reader does, and returns the old S. The log uses it.
  SnapshotNumber advance() { return current_.fetch_add(1); }
  // Raises S to at least `number`. Recovery calls this function before any transaction runs,
  // because smaller numbers belong to recovered commits.
  void start_at(SnapshotNumber number) {
    if (current_.load() < number) current_.store(number);
  }

  // Performs a reader's steps 1 to 3 and its wait. Returns the number at which it reads.
  SnapshotNumber begin_reading(uint32_t worker) {
    const SnapshotNumber rs = announce_reader(worker);
    await_closed(rs);
    return rs;
  }
  // Like begin_reading(), but does not wait. The caller may read once is_closed() has returned
  // true.
  SnapshotNumber announce_reader(uint32_t worker) {
    if (!ELIDER_MUTANT(kPublishLate)) slots_[worker].value.store(kStarting);
    ELIDER_TEST_POINT("readonly.starting");
    const SnapshotNumber rs = current_.fetch_add(1) + (ELIDER_MUTANT(kLateSnapshotRead) ? 1 : 0);
    fence_after_locked_rmw();  // the reader then sees the locks of commits that read a smaller S; pairs with the fence in commit_by_locks()
    ELIDER_TEST_POINT("readonly.before_publish");
    slots_[worker].value.store(rs, std::memory_order_release);  // release: a commit that does not see rs sees "starting", and keeps more
    return rs;
  }
  // Announces a reader at a snapshot that another worker holds.
  void begin_reading_held(uint32_t worker, SnapshotNumber held) { slots_[worker].value.store(held); }
  // Returns true if no call is listed at rs or below. A reader must have announced rs. Once the
  // result is true, it remains true, because a call that is listed later gets a larger number.
  bool is_closed(SnapshotNumber rs) const { return calls_ == nullptr || ELIDER_MUTANT(kReadHalfACall) || !call_before(rs, kNoWorker); }
  void await_closed(SnapshotNumber rs) const {
    if (calls_ != nullptr && !ELIDER_MUTANT(kReadHalfACall)) [[unlikely]] await_calls(rs, kNoWorker);
  }
  void end_reading(uint32_t worker) { slots_[worker].value.store(kIdle, std::memory_order_release); }  // release: after its reads

  // Returns true if this worker reads a snapshot, or is about to.
  bool reads(uint32_t worker) const { return slots_[worker].value.load() != kIdle; }

  // A commit's step 3. Returns the largest rs < n at which a reader reads or may be about to read,
  // or 0 if there isn't one.
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

  // -- calls that consist of several commits ------------------------------------------------------

  // Lists the worker's call at S. Must be called before the commit that orders the call takes its
  // locks. After that commit, the call is listed at the number that the commit has read.
  void begin_call(uint32_t worker) {
    uint32_t listed = calls_listed_.load();
    while (listed <= worker && !calls_listed_.compare_exchange_weak(listed, worker + 1)) {
    }
    calls_[worker].value.store(current_.load());
  }
  void set_call(uint32_t worker, SnapshotNumber n) { calls_[worker].value.store(n); }
  // release: a thread that finds the call no longer listed sees all rows that the call has written.
  void end_call(uint32_t worker) { calls_[worker].value.store(kIdle, std::memory_order_release); }

  // Returns true if another worker's call is listed at n or below.
  bool call_before(SnapshotNumber n, uint32_t but_worker) const {
    for (uint32_t i = 0; i < calls_listed_.load(); ++i) {
      const uint64_t value = calls_[i].value.load();
      if (value != kIdle && value <= n && i != but_worker) return true;
    }
    return false;
  }
  // Waits until no other worker's call is listed at n or below. New calls have higher numbers, so
  // the wait ends when the calls that are listed now have ended.
  void await_calls(SnapshotNumber n, uint32_t but_worker) const {
    for (Spin spin; call_before(n, but_worker); spin.wait()) ELIDER_TEST_POINT("snapshots.awaits_call");
  }
  static constexpr uint32_t kNoWorker = ~uint32_t{0};

  // Returns the smallest number at which a reader reads, 0 if a reader may be about to start, or
  // kNobody if no thread reads.
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

  // Returns true if a reader reads at a number below n, or may be about to. Readers whose number is
  // `passed` are ignored. `n` must be the number of a commit that has already read S. A reader that
  // starts after this call therefore reads at n or later.
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
  std::unique_ptr<Slot[]> calls_;          // null if calls are not used
  std::atomic<uint32_t> calls_listed_{0};  // number of elements of calls_ that have ever been used
};

}  // namespace elider::storage
