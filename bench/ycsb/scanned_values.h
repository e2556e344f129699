// ScannedValues checks the rows of a scan as they are visited. The first row must have the key at
// which the scan starts, and the following keys must ascend. Each value must be undamaged and
// belong to its key.
// Thread safety: one thread uses it.
#pragma once

#include <cstdint>

#include "bench/ycsb/value.h"
#include "elider/key.h"
#include "elider/status.h"

namespace elider::bench {

class ScannedValues {
 public:
  ScannedValues(Key first, uint32_t value_bytes) : latest_(first), value_bytes_(value_bytes) {}

  // Checks the next row. Returns false if it is wrong, so that the scan can stop.
  bool take(Key at, const void* value) {
    whole_ = (rows_ == 0 ? at == latest_ : at > latest_) && value_ends_match(value, value_bytes_, at);
    latest_ = at;
    ++rows_;
    return whole_;
  }
  uint64_t rows() const { return rows_; }
  // Returns ok if all rows were correct. Otherwise returns the damaged_value() error for the wrong
  // row, or for the first key if no row was found.
  Status status() const { return whole_ ? Status() : damaged_value(latest_); }

 private:
  Key latest_;
  const uint32_t value_bytes_;
  uint64_t rows_ = 0;
  bool whole_ = false;
};

}  // namespace elider::bench
