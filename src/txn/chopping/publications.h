// Publications: when deferred effects of chopped procedures' calls appear (DBX-TC, section 3.2).
//
// A publisher's call has a deferred part, which no conflict orders: subscribers, whose procedures read
// what it changes, see all of it or nothing. Its core and what else is in its tail are seen at once. It appears in a
// publication, while no subscriber is under way. So a subscriber comes before every publisher that it
// overlaps, and behind all that were published before it began.
//
//   publisher                                     subscriber
//   1. begin: it is listed, at S or below         1. say that it is under way, while no publication is
//   2. its core commits, at n                     2. execute; its core reads its number m, under its locks
//   3. open: no subscriber begins; those under    3. nobody is listed below m, or: leave, wait for them,
//      way leave                                     and begin again
//   4. its tail is written at n; its call ends    4. commit; leave
//   5. end: it is no longer listed
//   6. wait for all that are listed; close
//
// Invariants:
//   - No subscriber is under way within a publication (3; Dekker's pattern, as in rooms.h).
//   - A subscriber that sees one publisher's deferred part sees those of all whose cores committed
//     before that one's core did (6). So the order of cores, which is that of all conflicts among the procedures that
//     publishers meet, and the order in which subscribers see publishers agree.
//   - Numbers agree with it, too, which snapshots need: the number of a subscriber is not above that of a publisher
//     whose part it has not seen (3). Who lists itself after the subscriber has looked reads S later.
//   - Strict: who may have seen a publisher's core (its procedure meets a publisher's, directly or by
//     others) answers when all that are listed have ended.
//
// Deviations from the paper: each publisher's own thread writes its deferred part before its call
// answers, in place of a buffer that a later subscriber writes; a publication begins when a publisher wants it, not when
// an epoch ends; who reads late answers late, which the paper leaves out, and strict serializability needs.
//
// Places in the recorded order (Store::commit_order): a publisher stands behind the subscribers that
// have not seen it, though they commit later; and so does whoever may have seen its core. Such calls take
// places half an interval later while a publisher has not reached its publication, and each publication begins a new interval.
// No procedure of theirs meets a subscriber's, so only publications order the two.
//
// Lock rank: behind rooms.h; a publisher begins and opens, and a subscriber enters, holding no row's lock.
// Thread safety: all; a worker's slot is its own.
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

  // A subscriber's call. alone: while publishers wait to begin, for it has begun again too often.
  class Subscriber {
   public:
    Subscriber(Publications& all, uint32_t worker, bool alone) : all_(all), worker_(worker), alone_(alone) {
      if (alone_) {
        all_.alone_->fetch_add(1);
        all_.await_listed(Publications::kAll);
      }
      all_.enter(worker_);
    }
    ~Subscriber() {
      all_.slots_[worker_]->subscribes.store(false, std::memory_order_release);  // release: a publisher sees all that it did
      if (alone_) all_.alone_->fetch_sub(1);
    }
    Subscriber(const Subscriber&) = delete;
    Subscriber& operator=(const Subscriber&) = delete;

   private:
    Publications& all_;
    const uint32_t worker_;
    const bool alone_;
  };

  // A publisher's call, from its construction; it is listed from begin() on, and leaves by a publication.
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

    // Before each attempt of its core: it is listed at S, as `current` reads it.
    template <class Current>
    void begin(const Current& current) {
      all_.list(worker_, listed_, current);
      listed_ = true;
    }
    // Before its tail is locked.
    void open() {
      if (open_) return;
      all_.open();
      open_ = true;
    }
    // Its call has ended.
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
  // Until each that is listed below n has ended.
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

  // The place of a call that may have seen a publisher's core, or that is one.
  uint64_t place() {
    lock();
    const uint64_t place = order_.fetch_add(1) + (pending_->load() != 0 ? kInterval / 2 : 0);
    unlock();
    return place;
  }
  // Within a region, which makes it one step. False: it is to be run in another way.
  bool place_in_region(uint64_t* place) {
    if (locked_->load() != 0) return false;
    *place = order_.fetch_add(1) + (pending_->load() != 0 ? kInterval / 2 : 0);
    return true;
  }

 private:
  static constexpr uint64_t kInterval = uint64_t{1} << 21;  // places; no more transactions commit while a publisher is listed
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
  void enter(uint32_t worker) {
    use(worker);
    std::atomic<bool>& subscribes = slots_[worker]->subscribes;
    for (Spin spin;;) {
      subscribes.store(true);
      if (open_->load() == 0) [[likely]] return;
      subscribes.store(false);
      for (; open_->load() != 0; spin.wait()) ELIDER_TEST_POINT("publications.subscriber_waits");
    }
  }
  template <class Current>
  void list(uint32_t worker, bool listed, const Current& current) {
    use(worker);
    Slot& slot = *slots_[worker];
    if (listed) return slot.number.store(current());
    for (Spin spin;;) {
      slot.number.store(current());
      if (alone_->load() == 0) [[likely]] break;
      slot.number.store(0);
      for (; alone_->load() != 0; spin.wait()) ELIDER_TEST_POINT("publications.publisher_held");
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
    ELIDER_TEST_POINT("publications.before_close");
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
  CacheLine<std::atomic<uint32_t>> used_;     // of slots_, so many have ever been used
  CacheLine<std::atomic<uint32_t>> open_;     // publications
  CacheLine<std::atomic<uint32_t>> alone_;    // subscribers that publishers wait for
  CacheLine<std::atomic<uint32_t>> pending_;  // publishers that are listed, and have not opened theirs; under locked_
  CacheLine<std::atomic<uint32_t>> locked_;   // for places alone
};

}  // namespace elider::txn
