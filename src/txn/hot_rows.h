// HotRows: a worker's cache that maps keys to recently found row blocks, so that frequently used
// rows need not be looked up in an index. DBX caches leaves instead (section 6.2, the node buffer),
// which saves only the descent, and only within one transaction (txn/hints.h).
//
// A cached row can replace a lookup for the same reason as a touched row (txn/touched_rows.h): if
// its block is not marked as removed, a lookup at this instant would find the same block. Unlike
// touched rows, however, rows stay cached across transactions. Between two transactions, the worker
// does not delay reclamation, so a cached block may have been reclaimed and reused for another row.
// Therefore a cached row is valid only in the epoch (base/worker.h) in which it was found. This
// rule suffices because a block that leaves its index in epoch E or later is not reclaimed before
// epoch E + 2, and because the epoch does not exceed E + 1 while a worker that entered in epoch E
// is inside.
//
// If few keys are hot, or the epoch advances too often, the cache has few hits. It is then turned
// off, so that it costs only the check of a flag, and tried again periodically.
//
// Thread safety: none. A HotRows object belongs to one worker.
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
  // `used` is the value of EngineParts::hints. If false, the cache is never turned on. If `counted`
  // is not null, the lookups of each window are counted there.
  explicit HotRows(bool used = true, LookupCounters* counted = nullptr) : used_(used), counted_(counted) {}
  // Begins a transaction. The worker must have read `epoch` after Worker::enter().
  [[gnu::always_inline]] inline void begin(uint64_t epoch) {
    epoch_ = epoch;
    if (!on_ && --pause_ == 0) [[unlikely]] turn_on();
  }

  [[gnu::always_inline]] inline bool on() const { return on_; }

  // Returns the cached row, or null. Called only while the cache is on.
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
#if ELIDER_TEST_POINTS  // so that short tests see the cache both on and off
  static constexpr uint32_t kRows = 64, kWindow = 64, kPause = 16;
#else
  static constexpr uint32_t kRows = 4096, kWindow = 2 * kRows, kPause = 16 * kWindow;
#endif
  static constexpr uint32_t kFoundLeast = kWindow / 4;  // with fewer hits in a window, the cache does not pay off

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
  // Called at the end of a window. Turns the cache off if it had too few hits. The first window is
  // exempt, because the cache did not contain any valid rows when that window began.
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
  std::unique_ptr<Kept[]> kept_;  // indexed by a hash of the key; allocated when the cache is first turned on
  uint32_t pause_ = kPause;       // the number of transactions until the cache is tried again
  uint32_t looked_for_ = 0;       // lookups in this window
  uint32_t found_ = 0;
  bool on_ = false;
  const bool used_;
  LookupCounters* const counted_;
  bool first_window_ = false;
};

}  // namespace elider::txn
