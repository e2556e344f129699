// RowLocks: the locks of two-phase locking. Each column group of a row has a lock, which can be
// shared or exclusive. To prevent phantoms, index leaves and hash buckets also have locks. A
// transaction acquires a lock when it first accesses the row or leaf, and releases all of its locks
// when it ends.
//
// Wait-die prevents deadlocks. The age of a transaction is the time since its first attempt began.
// A transaction waits for a lock only if all holders are younger. Otherwise it dies: it is rolled
// back and retried with its original age. Thus transactions never wait in a cycle, and the oldest
// transaction never dies. There are two deviations. A transaction that scans a leaf, or finds a key
// absent in it, has already read the leaf when it requests the lock, so it dies instead of waiting.
// An open transaction cannot be retried, so it waits at most LaboratoryOptions::open_patience_us
// and is then doomed.
//
// A row's lock is a word before the cell of its column group. The word is zero while the lock is
// free:
//
//    63      62       61        60       48 47                13 12       0
//   +-------+--------+---------+-----------+--------------------+----------+
//   | alone | wanted | inserts | holders   | the oldest's time  | worker   |
//   +-------+--------+---------+-----------+--------------------+----------+
//
// `alone` means that the lock is held exclusively. `inserts` means that the holders of a leaf's
// lock insert into the leaf; otherwise they only read it. A transaction that does both must hold
// the lock alone. The time and the worker in the word are those of the oldest holder since the word
// was last zero. That holder may have released the lock since, so the time is only an upper bound
// on the ages of the current holders. A transaction that compares its age with this bound may die
// needlessly, but never waits in a cycle. `wanted` means that a transaction is waiting for the
// lock, or has died so often that the imprecise bound may be the reason. While `wanted` is set,
// further transactions do not share the lock, so that the word becomes zero. Exceptions are
// transactions that cannot be retried, or that have been retried many times: they share the lock
// even then, because the transaction that set `wanted` may no longer need it.
//
// Invariant: until end(), no other transaction writes a row on which this transaction has a lock,
// and no other transaction reads a row on which this transaction has an exclusive lock. For leaves,
// locks do not suffice, because a split moves keys to a leaf whose lock other transactions may
// hold. Therefore the commit also validates leaf versions (txn/read_write).
//
// Thread safety: only one thread at a time may use a RowLocks object. All threads share the lock
// words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/spin.h"
#include "base/test_points.h"
#include "storage/record.h"
#include "txn/pointer_map.h"

namespace elider::txn {

using LockWord = std::atomic<uint64_t>;

// The locks of all leaves of a database. A leaf's lock is found by hashing the leaf's address, so
// several leaves may share a lock.
class LeafLocks {
 public:
  LockWord& of(const void* leaf) {
    return words_[(reinterpret_cast<uintptr_t>(leaf) >> 5) * 0x9e3779b97f4a7c15u >> (64 - kBits)];
  }

 private:
  static constexpr unsigned kBits = 15;
  std::unique_ptr<LockWord[]> words_{new LockWord[size_t{1} << kBits]()};
};

class RowLocks {
 public:
  static constexpr bool kReads = true, kWrites = true, kLeaves = true;
  static constexpr uint32_t kCellBytes = sizeof(LockWord);

  RowLocks(LeafLocks& leaves, uint32_t worker, uint64_t open_patience_ns)
      : leaves_(&leaves), worker_(worker), open_patience_ns_(open_patience_ns) {}

  // A retry keeps the age of the first attempt.
  void begin(uint32_t attempt) {
    if (attempt == 1) {
      age_ = ((ticks() >> kTicksShift) << kWorkerBits | worker_) & kAge;
      if (!refusals_.empty()) [[unlikely]] refusals_.clear();
    }
    patience_ns_ = kProcedurePatienceNs;
    wants_ = attempt >= kAttemptsToWant;
    joins_at_once_ = attempt >= kAttemptsToJoin;
  }
  // Reserves memory for the locks of a row block that is about to be created. May throw
  // std::bad_alloc.
  void make_room_for_new() { make_room(); }

  [[gnu::always_inline]] inline bool read(storage::Cell& cell) { return share(word_of(cell), 0); }
  [[gnu::always_inline]] inline bool write(storage::Cell& cell) { return hold_alone(word_of(cell)); }
  void write_new(storage::Cell& cell) {
    word_of(cell).store(kAlone | kHolder | age_, std::memory_order_relaxed);
  }
  void keep_new(storage::Cell& cell) { keep(word_of(cell)); }

  bool read_leaf(const void* leaf) {
    if (share(leaves_->of(leaf), 0)) return true;
    may_wait_ = false;
    return false;
  }
  bool write_leaf(const void* leaf) { return share(leaves_->of(leaf), kInserts); }

  // Called after a lock was denied. Waits until the lock may be free and then returns true, so that
  // the caller requests it again. Returns false if the transaction must be rolled back instead.
  bool await() {
    if (!may_wait_) return false;
    const uint64_t since_ns = now_ns();
    for (Spin spin;; spin.wait()) {
      const uint64_t w = refused_->load();
      if (could_be_granted(w)) return true;
      if (is_older(age_of(w), age_) && !ELIDER_MUTANT(kWaitForTheOlder)) return false;
      want(*refused_, w);
      if (now_ns() - since_ns >= patience_ns_) return false;
    }
  }
  // Called after a lock was denied to an attempt of a procedure, or of a call in a group. Returns
  // true if the same holders have been blocking this lock for `limit_ns`.
  bool stuck_for(uint64_t limit_ns) {
    const uint64_t now = now_ns();
    if (refusals_.size() == kRefusalsMax) refusals_.clear();
    try {
      Refusal& first = refusals_[refused_];
      if (first.word != (refused_word_ & ~kWanted)) first = {refused_word_ & ~kWanted, now};
      return now - first.since_ns >= limit_ns;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  bool begin_commit() {
    if (ELIDER_MUTANT(kReleaseEarly)) end();
    return true;
  }
  static constexpr bool valid() { return true; }  // other transactions cannot take away a granted lock
  void stays_open() {
    patience_ns_ = open_patience_ns_;
    joins_at_once_ = true;
  }
  void end() {
    if (held_.empty()) return;
    ELIDER_TEST_POINT("two_phase.before_release");
    for (LockWord* const word : held_) release(*word);
    held_.clear();
    positions_.clear();
  }

 private:
  static constexpr uint64_t kAlone = uint64_t{1} << 63, kWanted = uint64_t{1} << 62, kInserts = uint64_t{1} << 61,
                            kHolder = uint64_t{1} << 48;
  static constexpr uint64_t kHolders = kInserts - kHolder, kAge = kHolder - 1;
  static constexpr unsigned kWorkerBits = 13;  // Options::workers_max is at most 4096, and the engine has a few more
  static constexpr unsigned kTicksShift = 17;  // about 50 us; 35 bits are 20 days, and ages may differ by half of that
  static constexpr uint32_t kAttemptsToWant = 3, kAttemptsToJoin = 8;
  static constexpr uint64_t kProcedurePatienceNs = 10'000'000;

  static LockWord& word_of(storage::Cell& cell) { return *(reinterpret_cast<LockWord*>(&cell) - 1); }
  static uint64_t age_of(uint64_t word) { return word & kAge; }
  static bool is_older(uint64_t a, uint64_t b) { return static_cast<int64_t>((a - b) << 16) < 0; }
  bool is_mine_alone(uint64_t word) const { return (word & kAlone) != 0 && age_of(word) == age_; }
  bool has(const LockWord& word) const { return positions_.find(&word) != PointerMap::kNone; }
  // Reserves memory for the locks of all column groups of a row, so that keep() does not throw. May
  // throw std::bad_alloc.
  void make_room() {
    if (held_.capacity() - held_.size() < kColumnGroupsMax) [[unlikely]] held_.reserve(2 * held_.size() + 8 * kColumnGroupsMax);
    positions_.make_room(kColumnGroupsMax);
  }
  void keep(LockWord& word) {
    positions_.insert(&word, static_cast<uint32_t>(held_.size()));
    held_.push_back(&word);
  }
  bool kept(LockWord& word) {
    keep(word);
    return true;
  }

  [[gnu::always_inline]] inline bool share(LockWord& word, uint64_t inserts) {
    if (ELIDER_MUTANT(kSkipSharedLock)) return true;
    make_room();
    uint64_t w = word.load();
    if (w == 0 && word.compare_exchange_strong(w, kHolder | inserts | age_)) [[likely]] return kept(word);
    return share_held(word, w, inserts);
  }
  [[gnu::noinline]] bool share_held(LockWord& word, uint64_t w, uint64_t inserts) {
    if (is_mine_alone(w)) return true;
    if (has(word)) return (w & kInserts) == inserts || hold_shared_alone(word, w);
    while (w == 0 || may_join(w, inserts)) {
      const uint64_t oldest = w == 0 || is_older(age_, age_of(w)) ? age_ : age_of(w);
      if (word.compare_exchange_weak(w, ((w & ~kAge) | inserts) + kHolder + oldest)) return kept(word);
    }
    return refuse(word, w, inserts);
  }
  [[gnu::always_inline]] inline bool hold_alone(LockWord& word) {
    make_room();
    uint64_t w = word.load();
    if (w == 0 && word.compare_exchange_strong(w, kAlone | kHolder | age_)) [[likely]] return kept(word);
    return is_mine_alone(w) || hold_shared_alone(word, w);
  }
  // If this transaction is the only holder of a shared lock, makes the lock exclusive. Otherwise
  // denies the request.
  [[gnu::noinline]] bool hold_shared_alone(LockWord& word, uint64_t w) {
    if (!has(word)) return refuse(word, w, kAlone);
    if (ELIDER_MUTANT(kUpgradeAtOnce)) return true;
    while ((w & kHolders) == kHolder)
      if (word.compare_exchange_weak(w, kAlone | kHolder | age_)) return true;
    return refuse(word, w, kAlone);
  }
  bool may_join(uint64_t w, uint64_t inserts) const {
    return (w & (joins_at_once_ ? kAlone | kInserts : kAlone | kInserts | kWanted)) == inserts;
  }
  [[gnu::noinline]] bool refuse(LockWord& word, uint64_t w, uint64_t asked) {
    if (wants_) want(word, w);
    refused_ = &word;
    refused_word_ = w;
    asked_ = asked;
    may_wait_ = !is_older(age_of(w), age_) || ELIDER_MUTANT(kWaitForTheOlder);
    return false;
  }
  static void want(LockWord& word, uint64_t w) {
    if ((w & (kAlone | kWanted)) == 0 && (w & kHolders) != 0) word.compare_exchange_strong(w, w | kWanted);
  }
  bool could_be_granted(uint64_t w) const {
    if ((w & kHolders) == 0) return true;
    return asked_ == kAlone ? (w & (kAlone | kHolders)) == kHolder && has(*refused_) : may_join(w, asked_);
  }
  void release(LockWord& word) {
    uint64_t w = word.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t left = (w & kHolders) == kHolder ? 0 : w - kHolder;
      if (word.compare_exchange_weak(w, left)) return;
    }
  }

  LeafLocks* leaves_;
  uint32_t worker_;
  uint64_t open_patience_ns_;
  uint64_t patience_ns_ = 0;
  uint64_t age_ = 0;
  std::vector<LockWord*> held_;
  PointerMap positions_;             // the position of each lock in `held_`
  // The lock that was denied last.
  LockWord* refused_ = nullptr;      // must not be dereferenced between two attempts
  uint64_t refused_word_ = 0;
  uint64_t asked_ = 0;               // kAlone, kInserts, or 0: to share the lock with readers
  bool may_wait_ = false;
  bool wants_ = false;               // marks every denied lock as `wanted`
  bool joins_at_once_ = false;       // shares locks even if they are marked as `wanted`
  // For each denied lock, the state in which stuck_for() first saw it. There can be several,
  // because the calls in a group may wait for different locks.
  struct Refusal {
    uint64_t word = 0;
    uint64_t since_ns = 0;
  };
  static constexpr size_t kRefusalsMax = 4096;
  std::unordered_map<const LockWord*, Refusal> refusals_;
};

}  // namespace elider::txn
