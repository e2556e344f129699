// Slots: each running transaction announces its state here, and other transactions wait for it: the
// isolation wait and the durability wait (DUMBO, sections 3.1, 3.2 and algorithm 1, with both
// fixes).
//
// The clock counts update transactions that reached their commit. A transaction sees the moment s:
// all numbers up to s and none above.
//
//   begin    announces active(s0), executes a full fence, then reads the clock again: s. A
//            transaction that takes a number above s afterwards sees this one active, and waits.
//            One that took its number before announced its state before that, so this transaction
//            waits for it or reads its write set
//   commit   announces deciding(c) with the clock that it last read, takes a number n, validates,
//            and announces published(n). From here on new readers see its writes, in its write set.
//            Isolation wait: until no transaction is active below n. Then it writes to the heap
//            and announces written(n)
//   durable  announces idle once its marker is durable. Durability wait of a transaction of moment
//            s: until no transaction with a number up to s is deciding, published or written
//
// The published algorithm reads the time before it announces active, and stamps after the isolation
// wait: mutants kHeapEarlyMoment and (tests/exhaustive/heap_model.h) both. Thread safety: all; the
// owner of a slot changes it.
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
  kRunning = 1,    // HeapWait::kTotal alone: an update transaction has begun; its value counts the slot's transactions
  kDeciding = 2,   // its number, if it has one, is above the value
  kPublished = 3,  // readers of moments from the number on look into its write set
  kWritten = 4,    // the heap has it; it may not be durable
};

struct WriterState {
  uint64_t word = 0;
  Phase phase() const { return static_cast<Phase>(word & 7); }
  uint64_t value() const { return word >> 3; }
  static uint64_t of(Phase phase, uint64_t value) { return value << 3 | static_cast<uint64_t>(phase); }
};

// There are two arrays, so that readers that begin and end do not invalidate the lines that
// durability waits read (section 3.2.1).
class Slots {
 public:
  explicit Slots(uint32_t count)
      : count_(count), readers_(std::make_unique<Reader[]>(count)), writers_(std::make_unique<Writer[]>(count)) {}

  // Assigns a slot to the calling thread, until release(); waits while all are in use.
  uint32_t claim() {
    static std::atomic<uint32_t> threads{0};
    thread_local const uint32_t hint = threads.fetch_add(1, std::memory_order_relaxed);
    for (Spin spin;; spin.wait())
      for (uint32_t i = 0; i < count_; ++i) {
        const uint32_t slot = (hint + i) % count_;
        // relaxed: a look before the exchange.
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
  // Called within a region, so that no other number can come in between.
  uint64_t take_number_in_region() {
    // relaxed: the region's commit orders them.
    const uint64_t number = clock_->load(std::memory_order_relaxed) + 1;
    clock_->store(number, std::memory_order_relaxed);
    return number;
  }

  // Announces active and returns the moment.
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
    // relaxed: the state's store comes after it.
    writers_[slot].writes.store(&writes, std::memory_order_relaxed);
    say(slot, Phase::kPublished, number);
  }
  WriterState state(uint32_t slot) const { return {writers_[slot].state.load(std::memory_order_seq_cst)}; }

  // Calls found(writes) for each transaction that the moment sees and that may not be in the heap
  // yet.
  template <class Found>
  void for_each_published(uint32_t own, uint64_t moment, Found&& found) const {
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin;;) {
        const WriterState now = state(slot);
        if (now.phase() == Phase::kDeciding && now.value() < moment) {
          spin.wait();  // its number may be one that the moment sees
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

  // Waits until no transaction sees a moment before `number`.
  void wait_for_isolation(uint32_t own, uint64_t number) const {
    if (ELIDER_MUTANT(kHeapSkipIsolationWait)) return;
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin; readers_[slot].active.load(std::memory_order_seq_cst) < number;) spin.wait();
    }
  }
  // Waits until the current readers have ended, but only for a short time: while no number is
  // taken, later readers see the same.
  void wait_a_little_for_readers(uint32_t own) const {
    constexpr uint32_t kYieldsMax = 100;
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin; readers_[slot].active.load(std::memory_order_seq_cst) != kInactive && spin.yields() < kYieldsMax;) spin.wait();
    }
  }
  // Whether every transaction that may have read something that was released at `moment` has ended.
  bool nobody_since(uint64_t moment) const {
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot)
      if (readers_[slot].active.load(std::memory_order_seq_cst) <= moment) return false;
    return true;
  }

  // Waits until all numbers that the moment sees have durable markers, or were given up (pruned).
  // This includes transactions whose writes were not read: recovery drops every transaction whose
  // moment sees a missing number.
  void wait_for_durability(uint32_t own, uint64_t moment) const {
    if (ELIDER_MUTANT(kHeapSkipDurabilityWait)) return;
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      for (Spin spin; has_no_marker(state(slot), moment);) spin.wait();
    }
  }
  // Waits until all transactions with numbers up to `number` are durable, and until those that run
  // now are durable, have given up, or have a greater number (total, as in SPHT).
  void wait_for_all_before(uint32_t own, uint64_t number) const {
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      if (slot == own) continue;
      const WriterState first = state(slot);
      for (Spin spin;; spin.wait()) {
        const WriterState now = state(slot);
        if (now.phase() == Phase::kIdle) break;
        if (now.phase() == Phase::kRunning && now.word != first.word) break;  // it began after this
        if ((now.phase() == Phase::kPublished || now.phase() == Phase::kWritten) && now.value() > number) break;
      }
    }
  }
  // All numbers up to this one are in the log, or were given up. On a medium with fences of its own
  // they are durable.
  uint64_t settled() const {
    uint64_t number = clock();
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot) {
      const WriterState now = state(slot);
      if (now.phase() == Phase::kDeciding) number = number < now.value() ? number : now.value();
      if (now.phase() == Phase::kPublished || now.phase() == Phase::kWritten) {
        const uint64_t below = now.value() == 0 ? 0 : now.value() - 1;  // a region says 0 that saw no number yet
        number = number < below ? number : below;
      }
    }
    return number;
  }

  // -- transactions that run alone after too many conflicts ---------------------------------------

  // Begins an update transaction; waits while another one runs alone.
  void enter(uint32_t slot, bool alone) {
    if (alone) return;
    for (Spin spin;; spin.wait()) {
      readers_[slot].updates.store(true, std::memory_order_seq_cst);
      if (!alone_->load(std::memory_order_seq_cst)) return;
      readers_[slot].updates.store(false, std::memory_order_seq_cst);
    }
  }
  void leave(uint32_t slot) { readers_[slot].updates.store(false, std::memory_order_release); }
  // The caller holds a mutex against others that want to run alone, and has not entered.
  void begin_alone() {
    alone_->store(true, std::memory_order_seq_cst);
    for (uint32_t slot = 0, used = used_.load(std::memory_order_seq_cst); slot < used; ++slot)
      for (Spin spin; readers_[slot].updates.load(std::memory_order_seq_cst);) spin.wait();
  }
  bool somebody_runs_alone() const { return alone_->load(std::memory_order_acquire); }
  void end_alone() { alone_->store(false, std::memory_order_release); }

 private:
  // Whether the moment may see the transaction's number while its marker is not durable.
  static bool has_no_marker(WriterState now, uint64_t moment) {
    switch (now.phase()) {
      case Phase::kDeciding: return now.value() < moment && !ELIDER_MUTANT(kHeapIgnoreDeciding);
      case Phase::kPublished:
      case Phase::kWritten: return now.value() <= moment;
      default: return false;
    }
  }

  // `active` has a line of its own, so that a region that checks for active readers does not
  // conflict with changes of the other fields.
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
  std::atomic<uint32_t> used_{0};  // slots below this have been taken
  CacheLine<std::atomic<uint64_t>> clock_;
  CacheLine<std::atomic<bool>> alone_;
  std::unique_ptr<Reader[]> readers_;
  std::unique_ptr<Writer[]> writers_;
};

}  // namespace elider::heap
