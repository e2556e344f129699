// Publications: when deferred parts of calls of chopped procedures appear (DBX-TC, section 3.2).
//
// A publisher is a call with a deferred part; subscribers are calls of procedures that read what
// such a part changes. Conflicts do not order the two. A deferred part appears in a publication,
// while no subscriber is running; the publisher's core has appeared before, with its commit. So a
// subscriber precedes every publisher that it overlaps, and follows all that were published before
// it began.
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
//   - No subscriber runs within a publication (3 against 1; Dekker's pattern, as in rooms.h).
//   - A subscriber that sees the deferred part of one publisher also sees those of all publishers
//     whose cores committed before that one's core (6). So subscribers see publishers in the order
//     of their cores, which is the order of all conflicts among the procedures that meet
//     publishers.
//   - The number of a subscriber is not above that of a publisher whose deferred part it has not
//     seen (3 of the subscriber), so no snapshot contains the publisher without the subscriber. A
//     publisher that is listed after the subscriber checked reads S later.
//   - Strict: a call that may have seen a publisher's core (conflicts lead from its procedure to
//     the publisher's) answers after all publishers have ended that were listed when it committed.
//     InstallOptions::answers_at_once turns this off. Then a subscriber that begins after the
//     answer may precede the publisher. No conflict leads from such a call to a subscriber, since
//     the analysis would not grant the deferral, so there is still a serial order of what the calls
//     have seen; only real time may contradict it. Snapshots and ordinary transactions wait for the
//     publisher in any case.
//
// Progress: a publisher waits for subscribers that are running and for publishers that are listed.
// Subscribers wait for either only before they enter. A subscriber that has waited for long to
// enter, or has begun again too often, keeps publishers from being listed.
//
// Deviations from the paper: each publisher's own thread executes its deferred part before its call
// answers, instead of leaving it in a buffer that a later subscriber applies. A publication begins
// when a publisher needs it, not when an epoch ends. Calls that may have seen a core answer late,
// which strict serializability requires and the paper leaves out.
//
// Places in the recorded order (Store::commit_order): a publisher's place is after those of the
// subscribers that have not seen it, although they commit later, and so is the place of a call that
// may have seen its core. While a publisher has not opened its publication, such calls take places
// half an interval ahead, and each publication begins a new interval. No conflict leads from them
// to subscribers, so only publications order the two.
//
// Lock rank: after rooms.h. A publisher begins and opens, and a subscriber enters, without holding
// a row's lock. The lock for places is a leaf, taken within commits. Thread safety: any thread may
// call this; each worker has its own slot.
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

  // A subscriber's call, which enters and leaves, perhaps several times.
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
    // release: a publisher sees everything that the subscriber did
    void leave() { all_.slots_[worker_]->subscribes.store(false, std::memory_order_release); }
    // From here until the subscriber's end, no publisher is listed.
    void keep_publishers_out() {
      if (!keeps_out_) all_.kept_out_->fetch_add(1);
      keeps_out_ = true;
    }

   private:
    static constexpr uint32_t kPatience = 100;  // yields of the processor
    Publications& all_;
    const uint32_t worker_;
    bool keeps_out_ = false;
  };

  // A publisher's call. It is listed from begin() on; a listed call must go through a publication
  // before it leaves.
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

    // Called before each attempt of the core: lists the call at S, as `current` reads it.
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

  // Whether a publisher is listed below n.
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

  // The place of a publisher's call, or of one that may have seen a publisher's core.
  uint64_t place() {
    lock();
    const uint64_t place = order_.fetch_add(1) + (pending_->load() != 0 ? kInterval / 2 : 0);
    unlock();
    return place;
  }
  // Called within a region, which makes it one step. Returns false if the call must run another
  // way.
  bool place_in_region(uint64_t* place) {
    if (locked_->load() != 0) return false;
    *place = order_.fetch_add(1) + (pending_->load() != 0 ? kInterval / 2 : 0);
    return true;
  }

 private:
  static constexpr uint64_t kInterval = uint64_t{1} << 21;  // places; half as many transactions commit while a publisher is listed
  struct Slot {
    std::atomic<bool> subscribes{false};
    std::atomic<SnapshotNumber> number{0};  // of a publisher's call; 0: none
    std::atomic<uint64_t> ended{0};         // publisher's calls
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

  const std::unique_ptr<CacheLine<Slot>[]> slots_;  // by worker
  std::atomic<uint64_t>& order_;
  CacheLine<std::atomic<uint32_t>> used_;      // the number of slots_ that have ever been used
  CacheLine<std::atomic<uint32_t>> open_;      // publications
  CacheLine<std::atomic<uint32_t>> kept_out_;  // the number of subscribers that keep publishers from being listed
  CacheLine<std::atomic<uint32_t>> pending_;   // publishers that are listed, and have not opened theirs; under locked_
  CacheLine<std::atomic<uint32_t>> locked_;    // guards places only
};

}  // namespace elider::txn
