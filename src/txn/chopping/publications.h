// Publications: determines when the deferred parts of calls to chopped procedures become visible
// (DBX-TC, section 3.2).
//
// A publisher is a call with a deferred part. A subscriber is a call to a procedure that reads what
// a deferred part changes. Conflicts do not order publishers and subscribers. Instead, a deferred
// part becomes visible in a publication, during which no subscriber runs. The core of the publisher
// became visible earlier, at its commit. So a subscriber precedes every publisher that runs
// concurrently with it, and follows all publishers that were published before it began. In these
// steps, S is the global snapshot number (storage/snapshots.h):
//
//   publisher                                     subscriber
//   1. begin: it is listed, at S or below         1. enter: announces that it is running, while no
//   2. its core commits, at n                        publication is open
//   3. open: no subscriber enters; waits until    2. executes; its commit reads its number m
//      those that run have left                   3. if a publisher is listed below m, leaves,
//   4. its tail executes what is deferred, and       waits for it, and begins again
//      is written at n; its call ends             4. if its reads are still valid, it has committed
//   5. end: it is not listed any more             5. leaves
//   6. waits for all that are listed; closes
//
// Invariants:
//   - No subscriber runs during a publication (publisher's step 3 against subscriber's step 1;
//     Dekker's pattern, as in rooms.h).
//   - A subscriber that sees the deferred part of a publisher P also sees the deferred parts of all
//     publishers whose cores committed before P's core (step 6). So subscribers see publishers in
//     the order of their cores. This is also the order of all conflicts among the procedures that
//     meet publishers.
//   - If a subscriber has not seen the deferred part of a publisher, the subscriber's number is not
//     above the publisher's number (subscriber's step 3). So no snapshot contains the publisher
//     without the subscriber. A publisher that is listed after the subscriber's check reads S
//     later, so its number is not smaller.
//   - Calls are strictly serializable. A call may have seen a publisher's core if conflicts lead
//     from its procedure to the publisher's procedure. Such a call answers (returns its result)
//     only after all publishers that were listed at its commit have ended.
//     InstallOptions::answers_at_once turns off this wait. Then a subscriber that begins after the
//     answer may precede the publisher. What the calls have seen still corresponds to a serial
//     order, because no conflict leads from a call that may have seen a publisher's core to a
//     subscriber. The analysis refuses deferrals for which this does not hold. However, the serial
//     order may contradict real time. Snapshots and ordinary transactions wait for the publisher in
//     any case.
//
// Progress: a publisher waits for running subscribers and for listed publishers. A subscriber waits
// for publications and publishers only before it enters. If a subscriber has waited for a long time
// before it enters, or has begun again too often, it prevents further publishers from being listed.
//
// Deviations from the paper: the publisher's own thread executes the deferred part before the call
// answers. In the paper, the part stays in a buffer, and a later subscriber applies it. A
// publication begins when a publisher needs it, not when an epoch ends. A call that may have seen a
// publisher's core returns its result late. The paper does not require this delay, but strict
// serializability does.
//
// The order that is recorded for histories (Store::commit_order): a publisher's position must
// follow the positions of the subscribers that have not seen it, although these subscribers commit
// later. The same holds for a call that may have seen the publisher's core. Therefore, while any
// publisher has not opened its publication, publishers and such calls get positions half an
// interval ahead. Each publication begins a new interval. Conflicts do not lead from these calls to
// subscribers, so only publications order the two.
//
// Lock order: after rooms.h. A publisher must not hold a row's lock when it begins or opens a
// publication, nor must a subscriber when it enters. The lock for positions is a leaf; commits
// acquire it. Thread safety: all threads; each worker has its own slot.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/cache_line.h"
#include "base/spin.h"
#include "base/test_points.h"
#include "elider/snapshot_number.h"

namespace elider::txn {

class Publications {
 public:
  Publications(uint32_t workers_max, std::atomic<uint64_t>& order) : slots_(new CacheLine<Slot>[workers_max]()), order_(order) {}

  // A subscriber's call. It enters and leaves, possibly several times.
  class Subscriber {
   public:
    Subscriber(Publications& all, uint32_t worker) : all_(all), worker_(worker) {}
    ~Subscriber() {
      leave();
      if (keeps_out_) all_.kept_out_->fetch_sub(1);
    }
    Subscriber(const Subscriber&) = delete;
    Subscriber& operator=(const Subscriber&) = delete;

    void enter() {
      all_.use(worker_);
      std::atomic<bool>& under_way = all_.slots_[worker_]->subscribes;
      for (Spin spin;;) {
        const bool looked = ELIDER_MUTANT(kLookBeforeEntering) && all_.open_->load() == 0;
        ELIDER_TEST_POINT("publications.subscriber_enters");
        under_way.store(true);
        if (looked || all_.open_->load() == 0) [[likely]]
          return;
        under_way.store(false);
        for (; all_.open_->load() != 0; spin.wait()) {
          ELIDER_TEST_POINT("publications.subscriber_waits");
          if (spin.yields() >= kPatience) keep_publishers_out();
        }
      }
    }
    // release: a publisher then sees everything that the subscriber has done.
    void leave() { all_.slots_[worker_]->subscribes.store(false, std::memory_order_release); }
    // From now until this object is destroyed, no new publisher is listed.
    void keep_publishers_out() {
      if (!keeps_out_) all_.kept_out_->fetch_add(1);
      keeps_out_ = true;
    }

   private:
    static constexpr uint32_t kPatience = 100;  // how many times to yield the processor before publishers are kept out
    Publications& all_;
    const uint32_t worker_;
    bool keeps_out_ = false;
  };

  // A publisher's call. It is listed from begin() on. Before a listed call leaves the list, it must
  // go through a publication.
  class Publisher {
   public:
    Publisher(Publications& all, uint32_t worker) : all_(all), worker_(worker) {}
    ~Publisher() {
      if (listed_) {
        open();
        end();
      }
      if (open_) all_.close();
    }
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    // Lists the call at the current snapshot number, which current() returns. Called before each
    // attempt of the core.
    template <class Current>
    void begin(const Current& current) {
      all_.list(worker_, listed_, current);
      listed_ = true;
    }
    // Called before the deferred operations run.
    void open() {
      if (open_) return;
      all_.open();
      open_ = true;
    }
    // Called when the call has ended.
    void end() {
      all_.end(worker_);
      listed_ = false;
    }

   private:
    Publications& all_;
    const uint32_t worker_;
    bool listed_ = false, open_ = false;
  };

  static constexpr SnapshotNumber kAll = ~SnapshotNumber{0};

  // Returns true if a publisher is listed below n.
  bool listed_below(SnapshotNumber n) const {
    for (uint32_t i = 0; i < used_->load(); ++i)
      if (const SnapshotNumber number = slots_[i]->number.load(); number != 0 && number < n) return true;
    return false;
  }
  // Waits until each publisher that is listed below n has ended.
  void await_listed(SnapshotNumber n) const {
    for (uint32_t i = 0; i < used_->load(); ++i) {
      const Slot& slot = *slots_[i];
      const uint64_t ended = slot.ended.load();
      const auto listed = [&] {
        const SnapshotNumber number = slot.number.load();
        return number != 0 && number < n && slot.ended.load() == ended;
      };
      for (Spin spin; listed(); spin.wait()) ELIDER_TEST_POINT("publications.awaits_publisher");
    }
  }

  // Assigns a position in the recorded order to a publisher's call, or to a call that may have seen
  // a publisher's core, and returns the position.
  uint64_t place() {
    lock();
    const uint64_t place = order_.fetch_add(1) + (pending_->load() != 0 ? kInterval / 2 : 0);
    unlock();
    return place;
  }
  // Like place(), but called within a region, which makes the step atomic. Returns false if the
  // call must run without a region.
  bool place_in_region(uint64_t* place) {
    if (locked_->load() != 0) return false;
    *place = order_.fetch_add(1) + (pending_->load() != 0 ? kInterval / 2 : 0);
    return true;
  }

 private:
  static constexpr uint64_t kInterval = uint64_t{1} << 21;  // more than twice the number of commits while a publisher is listed
  struct Slot {
    std::atomic<bool> subscribes{false};
    std::atomic<SnapshotNumber> number{0};  // the number at which the publisher's call is listed; 0: it is not listed
    std::atomic<uint64_t> ended{0};         // the number of this worker's publisher calls that have ended
  };

  void use(uint32_t worker) {
    uint32_t used = used_->load();
    while (used <= worker && !used_->compare_exchange_weak(used, worker + 1)) {
    }
  }
  template <class Current>
  void list(uint32_t worker, bool listed, const Current& current) {
    use(worker);
    Slot& slot = *slots_[worker];
    if (listed) return slot.number.store(current());
    for (Spin spin;;) {
      slot.number.store(current());
      if (kept_out_->load() == 0) [[likely]]
        break;
      slot.number.store(0);
      for (; kept_out_->load() != 0; spin.wait()) ELIDER_TEST_POINT("publications.publisher_held");
    }
    lock();
    pending_->fetch_add(1);
    unlock();
  }
  void open() {
    open_->fetch_add(1);
    for (uint32_t i = 0; i < used_->load() && !ELIDER_MUTANT(kPublishBesideSubscribers); ++i)
      for (Spin spin; slots_[i]->subscribes.load(); spin.wait()) ELIDER_TEST_POINT("publications.publisher_waits");
    lock();
    order_.fetch_add(kInterval);
    pending_->fetch_sub(1);
    unlock();
  }
  void end(uint32_t worker) {
    Slot& slot = *slots_[worker];
    slot.number.store(0);
    slot.ended.fetch_add(1);
  }
  void close() {
    if (!ELIDER_MUTANT(kCloseEarly)) await_listed(kAll);
    open_->fetch_sub(1);
  }
  void lock() {
    for (Spin spin; locked_->exchange(1) != 0; spin.wait()) {
    }
  }
  void unlock() { locked_->store(0); }

  const std::unique_ptr<CacheLine<Slot>[]> slots_;  // indexed by worker
  std::atomic<uint64_t>& order_;
  CacheLine<std::atomic<uint32_t>> used_;      // the number of slots_ that have ever been used
  CacheLine<std::atomic<uint32_t>> open_;      // the number of open publications
  CacheLine<std::atomic<uint32_t>> kept_out_;  // the number of subscribers that keep publishers from being listed
  CacheLine<std::atomic<uint32_t>> pending_;   // the number of listed publishers that have not opened their publication; guarded by locked_
  CacheLine<std::atomic<uint32_t>> locked_;    // guards only the assignment of positions
};

}  // namespace elider::txn
