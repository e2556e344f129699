// Loader: fills tables on T threads before a benchmark, or reads them afterwards. If standard error
// is a terminal, it shows a progress line that begins with `what`.
//
// The work is divided into parts 0 to parts - 1, such as batches of rows or warehouses. Each thread
// takes the next part when it has finished one.
// Thread safety: load_parallel() is called by one thread; the body runs on all threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "bench/common/options.h"
#include "elider/status.h"

namespace elider::bench {

class LoadProgress {
 public:
  void add(uint64_t rows) { rows_.fetch_add(rows, std::memory_order_relaxed); }  // relaxed: a statistic
  uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }

 private:
  alignas(128) std::atomic<uint64_t> rows_{0};
};

struct LoadResult {
  Status status;  // status of the first part that failed; the remaining parts were not loaded
  uint64_t rows = 0;
  double seconds = 0;
  double rows_per_s() const { return seconds > 0 ? static_cast<double>(rows) / seconds : 0; }
};

// body(thread, part, progress) loads one part and adds its number of rows to `progress`.
// `rows_total` is the expected number of rows of all parts (0: unknown); only the progress line
// uses it.
LoadResult load_parallel(const CommonOptions& options, const std::string& what, uint64_t parts, uint64_t rows_total,
                         const std::function<Status(uint32_t thread, uint64_t part, LoadProgress& progress)>& body);

}  // namespace elider::bench
