// An external lock-free hash table for comparison with our indexes (DBX, figure 7): cds_lfht of
// liburcu, the userspace RCU library. The table grows by split-ordered lists, and frees memory at
// quiescent states.
#pragma once

#include <memory>

#include "lab/studies/index_study.h"

namespace elider::bench {

inline constexpr const char* kLockFree = "lock-free";  // its name among the kinds of index

// Creates a table of numbers with as many buckets as `records`. If the table had to grow by itself,
// threads that keep all processors busy could delay its growth, and its chains could have hundreds
// of entries. kUnsupported: this build did not find liburcu (Debian's liburcu-dev).
Result<std::unique_ptr<IndexStudy>> make_lock_free_table(uint64_t records);

}  // namespace elider::bench
