// Rooms: keeps the calls of chopped procedures and the commits of ordinary transactions apart:
// where calls are under way no ordinary transaction commits, and the other way round. Of each kind
// there may be many at once.
//
// So an ordinary transaction is one piece over everything that it may touch: what it has read is
// validated at an instant at which no call is half done, and what it writes no call sees half. It
// may begin and execute at any time; only its commit waits. The wait ends when the calls have ended
// that were under way: while a commit waits, calls wait to begin. A call that has waited for long
// holds up further commits.
//
// Invariant: call_s (a slot is set) and commits_ != 0 with the waits of enter_commit() behind it
// never hold at once. A call sets its slot and then reads commits_; a commit counts itself and then
// reads the slots (Dekker's pattern): all accesses are seq_cst, but for those that leave.
//
// Lock rank: before all locks; both enter from within the epoch. Not reentrant.
// Thread safety: all; a worker's slot is its own.
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

  // A call of this worker, from its begin to its end.
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
  // The commit of an ordinary transaction, or a look at whether it could.
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
  static constexpr uint32_t kPatience = 100;  // yields of the processor

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

  const std::unique_ptr<CacheLine<std::atomic<bool>>[]> calls_;  // by worker
  CacheLine<std::atomic<uint32_t>> used_;                        // of calls_, so many have ever been used
  CacheLine<std::atomic<uint32_t>> commits_;                     // that are under way, or wait for calls to end
  CacheLine<std::atomic<uint32_t>> starving_;                    // calls
};

}  // namespace elider::txn
