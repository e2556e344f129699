// InstalledProcedures: the procedures of one database, found by handle or by name.
//
// A call finds its procedure without a lock. Entries are added to the hash table but never removed
// or changed, so a reader sees an entry either completely or not at all. When the table is half
// full, a table of twice the size replaces it. The old table is kept until the database is closed,
// because a reader may still be using it.
//
// Thread safety: all threads may call find() at any time. Only one thread at a time may call the
// other functions; Engine::install_mutex_ ensures this.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elider/procedure.h"
#include "txn/chopping/execution.h"

namespace elider::detail {

// Constant once installed.
struct InstalledProcedure {
  uint64_t identity() const { return its.identity; }
  // Returns ok if these arguments are valid for a call by name.
  Status check(std::span<const Value> arguments) const;
  // Returns true if calls read a snapshot.
  bool on_snapshot() const { return pieces != nullptr ? pieces->on_snapshot : its.read_only; }

  ProcedureDefinition its;  // without its operations and their bodies, which are moved to `pieces`
  uint32_t id = 0;          // the id in counters and histories; RunPolicy may override it
  // Null if the procedure has a single body, so that a call is one transaction.
  const txn::ExecutableProcedure* pieces = nullptr;
};

class InstalledProcedures {
 public:
  InstalledProcedures() = default;
  InstalledProcedures(const InstalledProcedures&) = delete;
  InstalledProcedures& operator=(const InstalledProcedures&) = delete;

  // Returns null if the procedure is not installed.
  const InstalledProcedure* find(const ProcedureName& name) const {
    const Slots* const slots = slots_.load(std::memory_order_acquire);
    if (slots == nullptr) return nullptr;
    for (size_t i = hash(name.identity);; ++i) {
      const InstalledProcedure* const there = slots->by_identity[i & slots->mask].load(std::memory_order_acquire);
      if (there == nullptr || there->its.identity == name.identity) return there;
    }
  }
  const InstalledProcedure* find(std::string_view name) const;

  // May throw std::bad_alloc, and then does not add anything.
  void add(std::vector<std::unique_ptr<const InstalledProcedure>> procedures);
  // Returns the procedures in the order in which they were added.
  const std::vector<std::unique_ptr<const InstalledProcedure>>& all() const { return all_; }

 private:
  using Slot = std::atomic<const InstalledProcedure*>;
  struct Slots {
    explicit Slots(size_t size) : mask(size - 1), by_identity(size), by_name(size) {}
    const size_t mask;
    std::vector<Slot> by_identity, by_name;
  };
  static size_t hash(uint64_t identity) { return identity; }  // identities are consecutive numbers
  static void insert(Slots& slots, const InstalledProcedure& procedure);

  std::atomic<const Slots*> slots_{nullptr};          // the newest; stored with release, after its entries
  std::vector<std::unique_ptr<Slots>> all_slots_;
  std::vector<std::unique_ptr<const InstalledProcedure>> all_;
};

}  // namespace elider::detail
