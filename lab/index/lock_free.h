// A lock-free hash table from another library, for comparison with our indexes (DBX, figure 7):
// cds_lfht of liburcu, the userspace RCU library. The table uses split-ordered lists, so that it
// can grow, and reclaims memory after all threads have passed a quiescent state.
#pragma once

#include <memory>

#include "lab/studies/index_study.h"

namespace elider::bench {

inline constexpr const char* kLockFree = "lock-free";  // the table's name in options and results

// Creates a table for keys that are numbers, with at least `records` buckets. A table with fewer
// buckets would grow, but if other threads keep all processors busy, it grows too slowly, and its
// chains can have hundreds of entries. kUnsupported: this build does not include the table, because
// liburcu (Debian's liburcu-dev) was not found. kMemoryLimit: not enough memory.
Result<std::unique_ptr<IndexStudy>> make_lock_free_table(uint64_t records);

}  // namespace elider::bench
