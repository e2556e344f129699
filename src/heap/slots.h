// Slots: each running transaction announces its state in a slot, and other transactions wait until
// that state changes. There are two such waits, the isolation wait and the durability wait (DUMBO,
// sections 3.1, 3.2 and algorithm 1, with two corrections).
//
// The clock is the number of update transactions that have taken a number during their commit. The
// snapshot s of a transaction (`moment` in the code) is a value of the clock. The transaction sees
// exactly the commits with numbers up to s.
//
//   begin    reads the clock as s0, announces active(s0), executes a full fence, and reads the
//            clock again, as s. A transaction that takes its number later sees the active state and
//            waits. A transaction that took its number earlier had already announced its own state,
//            so the new transaction waits for it or reads its write set
//   commit   reads the clock as c, announces deciding(c), takes a number n, validates its reads,
//            and announces published(n). From then on, new readers find its writes in its write
//            set. In the isolation wait, it waits until no active transaction has a snapshot below
//            n. Then it writes to the heap and announces written(n)
//   durable  announces idle when its marker is durable. In the durability wait, a transaction with
//            snapshot s waits until no transaction with a number up to s is deciding, published or
//            written
//
// The published algorithm differs in two ways: a transaction reads the clock only before it
// announces active, and it announces its number only after the isolation wait. Both differences are
// errors in the published algorithm, as mutants in tests/exhaustive/heap_model.h show. The mutant
// kHeapEarlyMoment reproduces the first error here.
//
// Thread safety: all threads may call all functions; a slot is changed only by its owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/cache_line.h"
#include "base/spin.h"
#include "base/test_points.h"
#include "heap/write_set.h"

namespace elider::heap {

inline constexpr uint32_t kSlotsMax = 64;
inline constexpr uint64_t kInactive = ~uint64_t{0};

enum class Phase : uint64_t {
  kIdle = 0,
  kRunning = 1,    // only with HeapWait::kTotal: an update transaction runs; the value counts the slot's transactions
  kDeciding = 2,   // the transaction is about to take a number, or has one; the number is above the value
  kPublished = 3,  // readers whose snapshots include its number read its write set
  kWritten = 4,    // its writes are in the heap, but it may not be durable
};

struct WriterState {
  uint64_t word = 0;
  Phase phase() const { return static_cast<Phase>(word & 7); }
  uint64_t value() const { return word >> 3; }
  static uint64_t of(Phase phase, uint64_t value) { return value << 3 | static_cast<uint64_t>(phase); }
};

// The states of readers and writers are in two separate arrays. When a reader begins or ends, it
// thus does not invalidate the cache lines that durability waits read (section 3.2.1).
class Slots {
 public:
  explicit Slots(uint32_t count)
      : count_(count), readers_(std::make_unique<Reader[]>(count)), writers_(std::make_unique<Writer[]>(count)) {}

  // Assigns a slot to the calling thread until release(). Waits while all slots are in use.
  uint32_t claim() {
    static std::atomic<uint32_t> threads{0};
    thread_local const uint32_t hint = threads.fetch_add(1, std::memory_order_relaxed);
    for (Spin spin;; spin.wait())
      for (uint32_t i = 0; i < count_; ++i) {
        const uint32_t slot = (hint + i) % count_;
        // relaxed: the exchange below checks it.
        if (readers_[slot].taken.load(std::memory_order_relaxed) || readers_[slot].taken.exchange(true, std::memory_order_acquire))
          continue;
        uint32_t used = used_.load(std::memory_order_relaxed);
        while (used <= slot && !used_.compare_exchange_weak(used, slot + 1, std::memory_order_seq_cst)) {
        }
        return slot;
      }
  }
  void release(uint32_t slot) { readers_[slot].taken.store(false, std::memory_order_release); }

  uint64_t clock() const { return clock_->load(std::memory_order_seq_cst); }
  void start_clock(uint64_t number) { clock_->store(number, std::memory_order_seq_cst); }
  uint64_t take_number() { return clock_->fetch_add(1, std::memory_order_seq_cst) + 1; }
  // Called within a region, which aborts if another thread takes a number at the same time.
  uint64_t take_number_in_region() {
    // relaxed: the region's commit orders these accesses.
    const uint64_t number = clock_->load(std::memory_order_relaxed) + 1;
    clock_->store(number, std::memory_order_relaxed);
    return number;
  }

  // Announces the slot as active and returns the transaction's snapshot.
  uint64_t begin(uint32_t slot) {
    std::atomic<uint64_t>& active = readers_[slot].active;
    const uint64_t first = clock();
    ELIDER_TEST_POINT("heap.begin.before_active");
    active.exchange(first, std::memory_order_seq_cst);
    if (ELIDER_MUTANT(kHeapEarlyMoment)) return first;
    const uint64_t moment = clock();
    active.store(moment, std::memory_order_release);
    return moment;
  }
  void end(uint32_t slot) { readers_[slot].active.store(kInactive, std::memory_order_release); }

  void say(uint32_t slot, Phase phase, uint64_t value) {
    writers_[slot].state.store(WriterState::of(phase, value), std::memory_order_seq_cst);
  }
  void publish(uint32_t slot, uint64_t number, const WriteSet& writes) {
    // relaxed: say() stores the state afterwards, which orders this store before it.
    writers_[slot].writes.store(&writes, std::memory_order_relaxed);
    say(slot, Phase::kPublished, number);
  }
  WriterState state(uint32_t slot) const { return {writers_[slot].state.load(std::memory_order_seq_cst)}; }

  // Calls found(writes) for each transaction with a number up to `moment` whose writes may not be
  // in the heap yet.
  template <class Found>
  void for_each_published(uint32_t own, uint64_t moment, Found&& found) const {
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin;;) {
        const WriterState now = state(slot);
        if (now.phase() == Phase::kDeciding && now.value() < moment) {
          spin.wait();  // its number may be up to `moment`
          continue;
        }
        if (now.phase() != Phase::kPublished || now.value() > moment) break;
        const WriteSet* const writes = writers_[slot].writes.load(std::memory_order_acquire);
        if (state(slot).word != now.word) continue;
        found(*writes);
        break;
      }
    }
  }

  // Waits until no active transaction has a snapshot below `number`.
  void wait_for_isolation(uint32_t own, uint64_t number) const {
    if (ELIDER_MUTANT(kHeapSkipIsolationWait)) return;
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin; readers_[slot].active.load(std::memory_order_seq_cst) < number;) spin.wait();
    }
  }
  // Waits until the current readers have ended, but only for a short time. The function may not
  // notice that a reader has ended, because a new reader may use the same slot and have the same
  // snapshot.
  void wait_a_little_for_readers(uint32_t own) const {
    constexpr uint32_t kYieldsMax = 100;
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin; readers_[slot].active.load(std::memory_order_seq_cst) != kInactive && spin.yields() < kYieldsMax;) spin.wait();
    }
  }
  // Returns true if no active transaction has a snapshot up to `moment`, that is, if data that was
  // released at that value of the clock can no longer be read.
  bool no_reader_since(uint64_t moment) const {
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot)
      if (readers_[slot].active.load(std::memory_order_seq_cst) <= moment) return false;
    return true;
  }

  // The pruned wait: waits until all numbers up to `moment` have durable markers or were given up.
  // The caller also waits for transactions whose writes it has not read, because recovery drops a
  // transaction if any number up to its snapshot is missing.
  void wait_for_durability(uint32_t own, uint64_t moment) const {
    if (ELIDER_MUTANT(kHeapSkipDurabilityWait)) return;
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin; has_no_marker(state(slot), moment);) spin.wait();
    }
  }
  // The total wait, as in SPHT: waits until all transactions with numbers up to `number` are
  // durable, and until each transaction that is running now is durable, has given up, or has a
  // larger number.
  void wait_for_all_before(uint32_t own, uint64_t number) const {
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      const WriterState first = state(slot);
      for (Spin spin;; spin.wait()) {
        const WriterState now = state(slot);
        if (now.phase() == Phase::kIdle) break;
        if (now.phase() == Phase::kRunning && now.word != first.word) break;  // a transaction that began after the call
        if ((now.phase() == Phase::kPublished || now.phase() == Phase::kWritten) && now.value() > number) break;
      }
    }
  }
  // Returns a number n such that all numbers up to n are in the log or were given up. If each of
  // the medium's fences covers only the calling thread's stores (Medium::fences_for_its_thread()),
  // these numbers are also durable.
  uint64_t settled() const {
    uint64_t number = clock();
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      const WriterState now = state(slot);
      if (now.phase() == Phase::kDeciding) number = number < now.value() ? number : now.value();
      if (now.phase() == Phase::kPublished || now.phase() == Phase::kWritten) {
        const uint64_t below = now.value() == 0 ? 0 : now.value() - 1;  // a region announces 0 if it read the clock as 0
        number = number < below ? number : below;
      }
    }
    return number;
  }

  // -- transactions that run alone after too many conflicts ---------------------------------------

  // Begins an update transaction. Waits while another transaction runs alone.
  void enter(uint32_t slot, bool alone) {
    if (alone) return;
    for (Spin spin;; spin.wait()) {
      readers_[slot].updates.store(true, std::memory_order_seq_cst);
      if (!alone_->load(std::memory_order_seq_cst)) return;
      readers_[slot].updates.store(false, std::memory_order_seq_cst);
    }
  }
  void leave(uint32_t slot) { readers_[slot].updates.store(false, std::memory_order_release); }
  // Begins an update transaction that runs alone, and waits until all others have called leave().
  // The caller must hold a mutex that excludes other such transactions, and must not have called
  // enter().
  void begin_alone() {
    alone_->store(true, std::memory_order_seq_cst);
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot)
      for (Spin spin; readers_[slot].updates.load(std::memory_order_seq_cst);) spin.wait();
  }
  bool somebody_runs_alone() const { return alone_->load(std::memory_order_acquire); }
  void end_alone() { alone_->store(false, std::memory_order_release); }

 private:
  // Returns true if the transaction's number may be up to `moment` and its marker may not be
  // durable.
  static bool has_no_marker(WriterState now, uint64_t moment) {
    switch (now.phase()) {
      case Phase::kDeciding: return now.value() < moment && !ELIDER_MUTANT(kHeapIgnoreDeciding);
      case Phase::kPublished:
      case Phase::kWritten: return now.value() <= moment;
      default: return false;
    }
  }

  // `active` has cache lines of its own, so that changes of the other fields do not conflict with a
  // region that checks for active readers.
  struct alignas(kCacheLinePairBytes) Reader {
    std::atomic<uint64_t> active{kInactive};
    alignas(kCacheLineBytes) std::atomic<bool> taken{false};
    std::atomic<bool> updates{false};
  };
  struct alignas(kCacheLinePairBytes) Writer {
    std::atomic<uint64_t> state{0};
    std::atomic<const WriteSet*> writes{nullptr};
  };

  const uint32_t count_;
  std::atomic<uint32_t> used_{0};  // every slot that was ever used is below this number
  CacheLine<std::atomic<uint64_t>> clock_;
  CacheLine<std::atomic<bool>> alone_;
  std::unique_ptr<Reader[]> readers_;
  std::unique_ptr<Writer[]> writers_;
};

}  // namespace elider::heap
