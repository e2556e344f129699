#include "bench/ycsb/value.h"

#include <fmt/format.h>

namespace elider::bench {

Status damaged_value(Key key) {
  return Status::invalid_argument(fmt::format("the value of key {} is missing or torn, or belongs to another key", key));
}

}  // namespace elider::bench
