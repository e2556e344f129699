// Counters: counts one worker's commits and aborts, by procedure and by table.
// Thread safety: only the worker's thread writes them; all threads may read them
// (Database::statistics).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "elider/status.h"
#include "txn/conflicted_keys.h"

namespace elider::txn {

// A counter that only one thread writes, so add() does not need an atomic read-modify-write
// instruction. relaxed: no other data depends on the value.
class Counter {
 public:
  void add(int64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// How a commit with writes was executed, if hardware transactions are in use.
//   kRegion    one hardware transaction validated and wrote everything
//   kLockBits  one hardware transaction set the lock bits of all rows; the writes followed it
//   kLocks     the commit acquired its locks one by one
enum class CommittedBy : uint8_t { kRegion, kLockBits, kLocks };
inline constexpr size_t kCommittedByCount = 3;

struct ProcedureCounters {
  Counter commits;
  std::array<Counter, kCommittedByCount> committed_by;
  std::array<Counter, kCauseCount> aborts;
};
struct TableCounters {
  ~TableCounters() { delete conflicted_.load(std::memory_order_relaxed); }
  // Counts an attempt that was aborted for this cause at this key.
  void count_abort(Cause cause, Key key) {
    aborts[static_cast<size_t>(cause)].add(1);
    if (is_conflict(cause)) note_conflict(cause, key);
  }
  const ConflictedKeys* conflicted() const { return conflicted_.load(std::memory_order_acquire); }  // null before the first conflict

  Counter rows;
  Counter commits;  // commits that wrote to the table
  uint64_t counted_in = 0;  // the last commit that was counted, by Counters::commits_counted
  std::array<Counter, kCauseCount> aborts;

 private:
  // If the summary cannot be allocated, the conflict is not recorded.
  [[gnu::noinline]] void note_conflict(Cause cause, Key key) {
    ConflictedKeys* keys = conflicted_.load(std::memory_order_relaxed);  // relaxed: only this thread stores it
    if (keys == nullptr) {
      keys = new (std::nothrow) ConflictedKeys;
      if (keys == nullptr) return;
      conflicted_.store(keys, std::memory_order_release);
    }
    keys->note(key, cause);
  }
  std::atomic<ConflictedKeys*> conflicted_{nullptr};  // created at the first conflict
};

// An array that other threads may read while its owner adds entries. The places from kDirect on are
// rarely used. They are allocated in chunks, each with the first of its entries.
template <class Entry, uint32_t kMax>
class CounterArray {
 public:
  ~CounterArray() {
    for (Place& place : entries_) delete place.load(std::memory_order_relaxed);
    std::atomic<Chunk*>* const chunks = chunks_.load(std::memory_order_relaxed);
    if (chunks == nullptr) return;
    for (uint32_t c = 0; c < kChunks; ++c) {
      Chunk* const chunk = chunks[c].load(std::memory_order_relaxed);
      if (chunk == nullptr) continue;
      for (Place& place : *chunk) delete place.load(std::memory_order_relaxed);
      delete[] chunk;
    }
    delete[] chunks;
  }
  Entry& operator[](uint32_t i) {
    if constexpr (kMax > kDirect)
      if (i >= kDirect) [[unlikely]] return beyond(i);
    Entry* entry = entries_[i].load(std::memory_order_relaxed);  // relaxed: only this thread stores it
    return entry != nullptr ? *entry : make(entries_[i]);
  }
  const Entry* find(uint32_t i) const {
    if (i < kDirect) return entries_[i].load(std::memory_order_acquire);
    const std::atomic<Chunk*>* const chunks = chunks_.load(std::memory_order_acquire);
    const Chunk* const chunk = chunks == nullptr ? nullptr : chunks[i / kDirect].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : (*chunk)[i % kDirect].load(std::memory_order_acquire);
  }

 private:
  using Place = std::atomic<Entry*>;
  static constexpr uint32_t kDirect = kMax < 1024 ? kMax : 1024;
  static constexpr uint32_t kChunks = (kMax + kDirect - 1) / kDirect;  // the first is not used
  using Chunk = std::array<Place, kDirect>;

  // Creates the entry. Commits call make(), so make() must not fail: if memory is exhausted, it
  // returns a dummy entry whose counts are never reported.
  [[gnu::noinline]] Entry& make(Place& place) {
    auto* entry = new (std::nothrow) Entry;
    if (entry == nullptr) return lost_;
    place.store(entry, std::memory_order_release);
    return *entry;
  }
  template <class T>
  static T* make_once(std::atomic<T*>& place, size_t count) {
    T* made = place.load(std::memory_order_relaxed);
    if (made == nullptr && (made = new (std::nothrow) T[count]{}) != nullptr) place.store(made, std::memory_order_release);
    return made;
  }
  [[gnu::noinline]] Entry& beyond(uint32_t i) {
    std::atomic<Chunk*>* const chunks = make_once(chunks_, kChunks);
    Chunk* const chunk = chunks == nullptr ? nullptr : make_once(chunks[i / kDirect], 1);
    if (chunk == nullptr) return lost_;
    Place& place = (*chunk)[i % kDirect];
    Entry* const entry = place.load(std::memory_order_relaxed);
    return entry != nullptr ? *entry : make(place);
  }

  std::array<Place, kDirect> entries_{};
  std::atomic<std::atomic<Chunk*>*> chunks_{nullptr};
  Entry lost_;
};

inline constexpr uint32_t kProceduresMax = 257;  // index 0: procedures without a name
inline constexpr uint32_t kTableBits = 20;
inline constexpr uint32_t kTablesMax = 1u << kTableBits;

// Counters that are updated only if EngineParts::counted_lookups is set.
struct LookupCounters {
  Counter of_rows, rows_kept, of_trees, leaves_kept;
};

struct Counters {
  CounterArray<ProcedureCounters, kProceduresMax> procedures;
  CounterArray<TableCounters, kTablesMax> tables;
  Counter read_only_commits;
  uint64_t commits_counted = 0;  // commits that wrote to tables without a bit of their own (WriteSet)
  LookupCounters lookups;
};

}  // namespace elider::txn
