// Interleavings: runs every interleaving of three small transactions on claims (txn/claims.h),
// without a database. There are two column groups. Each transaction has two operations, and each
// operation reads a group or claims it for writing. Writes take effect at the commit. If a claim is
// refused, the transaction ends. Two rules are checked. When a transaction commits, no other
// transaction may have written a group after this transaction read it. Two transactions must not
// write the same group at the same time.
//
// This header is for tests only. It is not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "storage/record.h"

namespace elider::txn::test {

// A cell, together with the protocol's bytes in front of the cell.
template <class Claims>
struct ClaimedItem {
  alignas(8) std::byte before[Claims::kCellBytes]{};
  std::byte cell[sizeof(storage::Cell)]{};
  storage::Cell& its_cell() { return *reinterpret_cast<storage::Cell*>(cell); }
};

template <class Claims>
class Interleavings {
 public:
  static constexpr int kTransactions = 3, kOperations = 2, kItems = 2, kSteps = kTransactions * (kOperations + 1);

  explicit Interleavings(std::array<Claims, kTransactions> claims) : claims_(std::move(claims)) {}

  // Runs all programs. Returns an empty string, or a description of the first failure with its
  // program and order.
  std::string run_all() {
    Operations operations{};
    for (int program = 0; program < 4 * 4 * 4 * 4 * 4 * 4; ++program) {
      for (size_t i = 0; i < operations.size(); ++i) operations[i] = program >> (2 * i) & 3;
      if (operations[0] % kItems != 0) continue;  // the items are interchangeable
      Order order{0, 0, 0, 1, 1, 1, 2, 2, 2};
      do {
        if (order[0] != 0) break;  // the transactions are interchangeable
        if (std::string wrong = run(operations, order); !wrong.empty()) return wrong + described(operations, order);
      } while (std::next_permutation(order.begin(), order.end()));
    }
    return "";
  }
  uint64_t committed() const { return committed_; }

 private:
  using Operations = std::array<int, kTransactions * kOperations>;
  using Order = std::array<int, kSteps>;
  struct Run {
    int steps = 0;  // completed steps
    bool ended = false;
    unsigned read = 0, wrote = 0;  // one bit per item
    bool stale = false;            // another transaction has committed a write to an item that this one had read
  };

  std::string run(const Operations& operations, const Order& order) {
    ClaimedItem<Claims> items[kItems];
    Run runs[kTransactions];
    std::string wrong;
    for (const int t : order) {
      Run& its = runs[t];
      if (its.ended) continue;
      if (its.steps == 0) claims_[t].begin(1);
      if (its.steps < kOperations) {
        const int operation = operations[t * kOperations + its.steps++];
        ClaimedItem<Claims>& item = items[operation % kItems];
        const bool writes = operation >= kItems;
        if (!(writes ? claims_[t].write(item.its_cell()) : claims_[t].read(item.its_cell()))) its.ended = true;
        else (writes ? its.wrote : its.read) |= 1u << (operation % kItems);
      } else {
        its.ended = true;
        if (claims_[t].begin_commit()) {
          for (Run& other : runs) {
            if (&other == &its || other.ended || other.steps == 0) continue;
            if ((other.read & its.wrote) != 0) other.stale = true;
            if ((other.wrote & its.wrote) != 0) wrong = "two wrote one item at a time";
          }
          if (its.stale) wrong = "it had read what another one has written since";
          ++committed_;
        }
      }
      if (its.ended) claims_[t].end();
    }
    return wrong;
  }
  static std::string described(const Operations& operations, const Order& order) {
    std::string text;
    for (const int t : order) text += " " + std::to_string(t);
    text += ", operations";
    for (const int operation : operations) text += (operation >= kItems ? " w" : " r") + std::to_string(operation % kItems);
    return text;
  }

  std::array<Claims, kTransactions> claims_;
  uint64_t committed_ = 0;
};

}  // namespace elider::txn::test
