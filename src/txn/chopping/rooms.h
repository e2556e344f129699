// Rooms: separates calls to chopped procedures from the commits of ordinary transactions. While a
// call is running, no ordinary transaction commits; while an ordinary transaction commits, no call
// is running. Any number of calls may run at the same time, and so may any number of commits.
//
// So an ordinary transaction behaves like a single piece that covers everything it accesses. Its
// reads are validated at an instant at which no call is incomplete, and no call sees only a part of
// its writes. The transaction may begin and execute at any time; only its commit waits, until the
// running calls have ended. While a commit waits, new calls do not begin. A call that has waited
// for a long time delays further commits.
//
// Invariant: while a commit has passed the waits of enter_commit(), no call is running. The slot of
// a running call is set, and commits_ is not 0 during a commit. A call sets its slot and then reads
// commits_. A commit increments commits_ and then reads the slots (Dekker's pattern). All accesses
// are seq_cst, except for those at the end of a call or commit.
//
// Lock order: rooms are entered before any lock is acquired. Calls and commits enter while their
// worker is inside the epoch. Not reentrant. Thread safety: all threads; each worker has its own
// slot.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/cache_line.h"
#include "base/spin.h"
#include "base/test_points.h"

namespace elider::txn {

class Rooms {
 public:
  explicit Rooms(uint32_t workers_max) : calls_(new CacheLine<std::atomic<bool>>[workers_max]()) {}

  // Exists while this worker runs a call.
  class Call {
   public:
    Call(Rooms& rooms, uint32_t worker) : rooms_(rooms), worker_(worker) { rooms_.enter_call(worker_); }
    ~Call() { rooms_.calls_[worker_]->store(false, std::memory_order_release); }  // release: a commit sees all that the call did
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Rooms& rooms_;
    const uint32_t worker_;
  };
  // Exists while an ordinary transaction commits, or checks whether it could commit.
  class Commit {
   public:
    explicit Commit(Rooms& rooms) : rooms_(rooms) { rooms_.enter_commit(); }
    ~Commit() { rooms_.commits_->fetch_sub(1); }
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;

   private:
    Rooms& rooms_;
  };

 private:
  static constexpr uint32_t kPatience = 100;  // how many times to yield the processor before a call is considered starving

  void enter_call(uint32_t worker) {
    std::atomic<bool>& call = *calls_[worker];
    uint32_t used = used_->load();
    while (used <= worker && !used_->compare_exchange_weak(used, worker + 1)) {
    }
    bool starves = false;
    for (Spin spin;;) {
      call.store(true);
      if (commits_->load() == 0 || ELIDER_MUTANT(kCallBesideCommits)) [[likely]] break;
      call.store(false);
      for (; commits_->load() != 0; spin.wait()) {
        ELIDER_TEST_POINT("rooms.call_waits");
        if (starves || spin.yields() < kPatience) continue;
        starves = true;
        starving_->fetch_add(1);
      }
    }
    if (starves) [[unlikely]] starving_->fetch_sub(1);
  }
  void enter_commit() {
    for (Spin spin; starving_->load() != 0; spin.wait()) {
    }
    commits_->fetch_add(1);
    for (uint32_t i = 0; i < used_->load(); ++i)
      for (Spin spin; calls_[i]->load() && !ELIDER_MUTANT(kCommitBesideCalls); spin.wait()) ELIDER_TEST_POINT("rooms.commit_waits");
  }

  const std::unique_ptr<CacheLine<std::atomic<bool>>[]> calls_;  // indexed by worker
  CacheLine<std::atomic<uint32_t>> used_;                        // the number of elements of calls_ that have ever been used
  CacheLine<std::atomic<uint32_t>> commits_;                     // the number of commits that are running or wait for calls to end
  CacheLine<std::atomic<uint32_t>> starving_;                    // the number of calls that have waited for a long time
};

}  // namespace elider::txn
