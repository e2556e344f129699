// An external lock-free hash table that our indexes are compared with (DBX, figure 7): cds_lfht of
// liburcu, the userspace RCU library. It grows by split-ordered lists, and frees memory by
// quiescent states.
#pragma once

#include <memory>

#include "lab/studies/index_study.h"

namespace elider::bench {

inline constexpr const char* kLockFree = "lock-free";  // its name among the kinds of index

// A table of numbers, with a bucket for each of `records`. If it had to grow by itself, a thread
// that keeps its processor busy could leave it with chains of hundreds of entries. kUnsupported:
// this build did not find liburcu (Debian's liburcu-dev).
Result<std::unique_ptr<IndexStudy>> make_lock_free_table(uint64_t records);

}  // namespace elider::bench
