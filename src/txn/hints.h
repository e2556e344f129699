// Hints: for each index, the leaf that a transaction used last (DBX, section 6.2: the node buffer).
//
// If the hinted leaf covers the key, a lookup searches this leaf directly instead of descending
// from the root. A hint is valid within one grace period (base/worker.h), so every transaction
// begins without hints.
// Thread safety: none. A Hints object belongs to one transaction.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "txn/counters.h"
#include "txn/table.h"

namespace elider::txn {

template <class Sync>
class Hints {
 public:
  // `used` is the value of EngineParts::hints. If false, no access uses the hint of an earlier
  // access. If `counted` is not null, lookups are counted there.
  explicit Hints(bool used = true, LookupCounters* counted = nullptr) : ends_with_each_access_(used ? 0 : 1), counted_(counted) {}
  // Allocates the hints of this table, so that accesses do not allocate memory.
  void make_room(const Table<Sync>& table) {
    OfTable& its = of(table);
    make_room(its.secondary, table);
  }
  // Invalidates the hints of the previous transaction.
  void begin() { ++transaction_; }

  // Returns the hint for an access to this key, or a dummy if the kind of index does not use hints.
  PrimaryHint& primary(const Table<Sync>& table, KeyRef key) {
    if (!table.keys().has_hints()) return none_;
    PrimaryHint& hint = fresh(of(table).primary);
    if (counted_ != nullptr) [[unlikely]] count(hint.covers(key.number()));
    return hint;
  }
  SecondaryHint& secondary(const Table<Sync>& table, uint32_t i) {
    auto& all = of(table).secondary;
    if (all.size() <= i) [[unlikely]] make_room(all, table);
    return fresh(all[i]);
  }

 private:
  template <class Hint>
  struct Of {
    uint64_t transaction = 0;
    Hint hint;
  };
  struct OfTable {
    Of<PrimaryHint> primary;
    std::vector<Of<SecondaryHint>> secondary;
  };

  static void make_room(std::vector<Of<SecondaryHint>>& hints, const Table<Sync>& table) {
    const auto slots = static_cast<size_t>(std::bit_width(table.present_indexes()));
    if (hints.size() < slots) hints.resize(slots);
  }
  OfTable& of(const Table<Sync>& table) {
    if (table.id() >= by_table_.size()) [[unlikely]] by_table_.resize(table.id() + 1);
    return by_table_[table.id()];
  }
  template <class Hint>
  Hint& fresh(Of<Hint>& kept) {
    transaction_ += ends_with_each_access_;
    if (kept.transaction != transaction_) kept = {transaction_, {}};
    return kept.hint;
  }

  [[gnu::noinline]] void count(bool covered) {
    counted_->of_trees.add(1);
    counted_->leaves_kept.add(covered ? 1 : 0);
  }

  uint64_t transaction_ = 0;
  const uint64_t ends_with_each_access_;  // 0 or 1
  LookupCounters* const counted_;
  std::vector<OfTable> by_table_;  // by table id
  PrimaryHint none_;
};

}  // namespace elider::txn
