// The rows of the workload `procedures`, and the steps of its operations (procedures.cc).
// Thread safety: none; these are plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/history/hot_keys.h"

namespace elider::bench {

// One of the two rows of a cell (workload.h). It has two lists and a count.
struct CellRow {
  int64_t x[1 + kWritesPerKey] = {};  // the number of elements, then the elements
  int64_t y[1 + kWritesPerKey] = {};
  uint64_t z = 0;

  int64_t* list(uint32_t column) { return column == 0 ? x : y; }
  const int64_t* list(uint32_t column) const { return column == 0 ? x : y; }
  void begin_list(uint32_t column, int64_t element) {
    list(column)[0] = 1;
    list(column)[1] = element;
  }
};

// The elements of a cell's list, collected from both of its rows. If a list is malformed, the first
// element becomes -1, which no transaction appends.
class Elements {
 public:
  void add(const int64_t* list) {
    const int64_t count = list[0];
    if (count < 0 || count > kWritesPerKey || count_ + static_cast<size_t>(count) > elements_.size()) return add_impossible();
    for (int64_t i = 1; i <= count; ++i) elements_[count_++] = list[i];
  }
  void add_impossible() { elements_[0] = -1, count_ = std::max<size_t>(count_, 1); }
  std::span<const int64_t> all() const { return {elements_.data(), count_}; }

 private:
  std::array<int64_t, 2 * kWritesPerKey> elements_;
  size_t count_ = 0;
};

// The row of a post or a pledge. Its list contains the value of the transaction that created it
// and, for a pledge, of the transaction that claimed it.
struct ShortList {
  int64_t list[1 + 2] = {};  // the number of elements, then the elements
};
struct TokenRow {
  int64_t made_by = 0;
};

// One step of an operation's body. The operation's declaration covers what the step accesses.
struct Step {
  enum class Does : uint8_t {
    kRead,
    kAppend,
    kAdd,
    kInsert,
    kMove,
    kScan,
    kPost,
    kLookForPost,
    kPledge,
    kHandOut,
    kClaim,
    kRedeem,
    kLookForPledge
  };
  Does does = Does::kRead;
  uint32_t table = 0, column = 0;
  int parity = -1;       // the parity of the keys that the step may use; -1: any
  uint32_t partner = 0;  // for kHandOut: the step that created the pledge; for kRedeem: the step that claimed the token
};

}  // namespace elider::bench
