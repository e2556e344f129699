// HotRows: the rows that a worker has found recently, by key, so that frequently used rows need not
// be looked up in an index. DBX keeps leaves for that (section 6.2, the node buffer), which saves
// the descent only, and only within a transaction (txn/hints.h).
//
// A cached row replaces a lookup, as the rows of groups do (txn/touched_rows.h): its block is not
// marked as removed, so it is what a lookup at this instant would find. Rows are cached across
// transactions, and between two transactions the worker does not hold up reclamation: the block may
// have been reclaimed and reused for another row. So a cached row is valid only in the epoch in
// which it was found. Invariant: a block that leaves its index in epoch E or later is not reclaimed
// before epoch E + 2, and while a worker is inside that saw epoch E when it entered, the epoch does
// not exceed E + 1.
//
// If few keys are hot, or the epoch moves too often, the cache has few hits. Then it is turned off,
// which costs a check of a flag, and retried periodically.
//
// Thread safety: none; it belongs to one worker.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/test_points.h"
#include "txn/counters.h"
#include "txn/table.h"

namespace elider::txn {

class HotRows {
 public:
  // used: EngineParts::hints; else it is never on. counted: where, a window at a time, if anywhere.
  explicit HotRows(bool used = true, LookupCounters* counted = nullptr) : used_(used), counted_(counted) {}
  // Begins a transaction. The worker has entered, and read this epoch after that.
  [[gnu::always_inline]] inline void begin(uint64_t epoch) {
    epoch_ = epoch;
    if (!on_ && --pause_ == 0) [[unlikely]] turn_on();
  }

  [[gnu::always_inline]] inline bool on() const { return on_; }

  // Only while it is on. Null: the row is not cached.
  [[gnu::always_inline]] inline Row* find(const detail::TableBase& table, Key key) {
    const Kept& kept = kept_[place_of(key)];
    if (++looked_for_ == kWindow) [[unlikely]] judge();
    if (kept.key != key || kept.table != &table || (kept.epoch != epoch_ && !ELIDER_MUTANT(kKeepHotRowOverEpochs))) return nullptr;
    if (word::removed(kept.row->cell(table.layout(), 0).load()) && !ELIDER_MUTANT(kKeepHotRow)) [[unlikely]] return nullptr;
    ++found_;
    return kept.row;
  }
  // Caches the result of a lookup.
  [[gnu::always_inline]] inline void keep(const detail::TableBase& table, Key key, Row* row) {
    kept_[place_of(key)] = {key, &table, row, epoch_};
  }

 private:
#if ELIDER_TEST_POINTS  // so that short tests see it on and off
  static constexpr uint32_t kRows = 64, kWindow = 64, kPause = 16;
#else
  static constexpr uint32_t kRows = 4096, kWindow = 2 * kRows, kPause = 16 * kWindow;
#endif
  static constexpr uint32_t kFoundLeast = kWindow / 4;  // of a window, or it is not worth its while

  struct Kept {
    Key key;
    const detail::TableBase* table;
    Row* row;
    uint64_t epoch;
  };
  static size_t place_of(Key key) {
    return static_cast<size_t>(key * 0x9e3779b97f4a7c15u >> (64 - std::bit_width(kRows - 1)));
  }

  [[gnu::noinline]] void turn_on() {
    pause_ = kPause;
    if (!used_) return;
    if (kept_ == nullptr) kept_.reset(new (std::nothrow) Kept[kRows]());
    on_ = kept_ != nullptr;
    looked_for_ = 0;
    first_window_ = true;
  }
  // The end of a window. Hits in the first window are of rows cached in the same window.
  [[gnu::noinline]] void judge() {
    if (counted_ != nullptr) {
      counted_->of_rows.add(looked_for_);
      counted_->rows_kept.add(found_);
    }
    on_ = first_window_ || found_ >= kFoundLeast;
    first_window_ = false;
    looked_for_ = found_ = 0;
  }

  uint64_t epoch_ = 0;
  std::unique_ptr<Kept[]> kept_;  // by a hash of the key; once it has been on
  uint32_t pause_ = kPause;       // transactions until it is tried again
  uint32_t looked_for_ = 0;       // in this window
  uint32_t found_ = 0;
  bool on_ = false;
  const bool used_;
  LookupCounters* const counted_;
  bool first_window_ = false;
};

}  // namespace elider::txn
