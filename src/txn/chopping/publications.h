// Publications: when deferred parts of chopped procedures' calls appear (DBX-TC, section 3.2).
//
// A publisher is a call with a deferred part; subscribers are calls of procedures that read what
// such a part changes. No conflict orders the two. A deferred part appears in a publication, while
// no subscriber is under way; the publisher's core has appeared before, with its commit. So a
// subscriber comes before every publisher that it overlaps, and behind all that were published
// before it began.
//
//   publisher                                     subscriber
//   1. begin: it is listed, at S or below       1. enter: say that it is under way, while no
//   2. its core commits, at n                      publication is
//   3. open: no subscriber enters; those under  2. execute; its commit reads its number m
//      way leave                                3. is somebody listed below m, it leaves, waits
//   4. its tail executes what is deferred, and     for them, and begins again
//      is written at n; its call ends           4. what it has read still stands: it has committed
//   5. end: it is no longer listed              5. leave
//   6. wait for all that are listed; close
//
// Invariants:
//   - No subscriber is under way within a publication (3 against 1; Dekker's pattern, as in
//     rooms.h).
//   - A subscriber that sees the deferred part of one publisher sees those of all whose cores
//     committed before that one's core did (6). So subscribers see publishers in the order of their
//     cores, which is the order of all conflicts among the procedures that meet publishers.
//   - The number of a subscriber is not above that of a publisher whose deferred part it has not
//     seen (3 of the subscriber): no snapshot holds the publisher and not the subscriber. Who lists
//     itself after the subscriber has looked reads S later.
//   - Strict: a call that may have seen a publisher's core (conflicts lead from its procedure to
//     the publisher's) answers when all have ended that are listed then. Without this, which is
//     InstallOptions::answers_at_once, a subscriber that begins after the answer may come before
//     the publisher: no conflict leads from such a call to a subscriber (the analysis grants no
//     deferral otherwise), so what they have seen still has a serial order, and real time alone may
//     not agree. Snapshots and ordinary transactions wait for the publisher as ever.
//
// Progress: a publisher waits for subscribers that are under way, and for publishers that are
// listed, and subscribers wait for neither but outside. A subscriber that has waited long at the
// door, or has begun again too often, keeps publishers from listing themselves.
//
// Deviations from the paper: each publisher's own thread executes its deferred part before its call
// answers, in place of a buffer that a later subscriber applies; a publication begins when a
// publisher wants it, not when an epoch ends; calls that may have seen a core answer late, which
// the paper leaves out, and strict serializability needs.
//
// Places in the recorded order (Store::commit_order): a publisher stands behind the subscribers
// that have not seen it, though they commit later; so does a call that may have seen its core.
// While a publisher has not opened its publication, such calls take places half an interval ahead,
// and each publication begins a new interval. No conflict leads from them to subscribers, so
// publications alone order the two.
//
// Lock rank: behind rooms.h; a publisher begins and opens, and a subscriber enters, holding no
// row's lock. The lock for places is a leaf, taken within commits.
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

  // A subscriber's call: it enters and leaves, perhaps several times.
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
    // release: a publisher sees all that it did.
    void leave() { all_.slots_[worker_]->subscribes.store(false, std::memory_order_release); }
    // From here to its end no publisher lists itself.
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

  // A publisher's call. From begin() on it is listed, and who is listed leaves by a publication.
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
    // Before it executes what is deferred.
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
  CacheLine<std::atomic<uint32_t>> used_;      // of slots_, so many have ever been used
  CacheLine<std::atomic<uint32_t>> open_;      // publications
  CacheLine<std::atomic<uint32_t>> kept_out_;  // so many subscribers keep publishers from listing themselves
  CacheLine<std::atomic<uint32_t>> pending_;   // publishers that are listed, and have not opened theirs; under locked_
  CacheLine<std::atomic<uint32_t>> locked_;    // for places alone
};

}  // namespace elider::txn
