// LaboratoryOptions: options for measurements and for the protocols of the laboratory. Programs
// that only use the database do not need them. docs/lab/options.md lists them.
//
//   elider::Options options;
//   elider::change_laboratory(options).elision.window_runs = 0;
//
// Thread safety: the types are values; the functions modify only their arguments.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <span>

#include "elider/elision.h"
#include "elider/option_info.h"
#include "elider/options.h"

namespace elider {

// Parts of the engine that can be turned off to measure their benefit (DBX, figure 15), and a
// counter for lookups.
struct EngineParts {
  bool hints = true;        // remember where the last lookups ended (DBX, section 6.2)
  bool reclamation = true;  // reclaim rows, versions and nodes once no transaction can see them; if false, only when the database closes
  bool own_allocators = true;    // each worker has its own allocator; otherwise, all workers share one allocator, with a lock
  bool counted_lookups = false;  // count Statistics::lookups
};

struct LaboratoryOptions {
  // When a section under SyncPolicy::kElided falls back to its lock.
  ElisionPolicy elision = {};
  EngineParts parts = {};
  // Protocol timestamp: the number of restarts after conflicts before a procedure runs alone. A
  // call in a group never runs alone. Range 0 to 10^6.
  uint32_t restarts_max = 20;
  // Protocol timestamp: how long an open transaction keeps its claims, in microseconds. After that,
  // another transaction that needs the claimed rows ends the open transaction, whose commit then
  // fails.
  // Protocol two-phase-locking: how long an open transaction waits for a lock that younger
  // transactions hold. After that, the open transaction can only be rolled back. Range 0 to 10^9.
  uint32_t open_patience_us = 10'000;
  // Protocol two-phase-locking: if the same transactions block a procedure for this long in total,
  // the procedure fails with kDeadline. Without a timeout, an open transaction could block the
  // procedure forever. Microseconds, range 0 to 10^9. 0 disables the timeout.
  uint32_t lock_timeout_us = 1'000'000;
  // Protocol partitioned: the number of partitions. Range 1 to 65536.
  uint32_t partitions = 64;
};

// Returns the laboratory options that `options` contains, or the defaults if it contains none. The
// reference is valid until `options` changes or is destroyed.
const LaboratoryOptions& laboratory_of(const Options& options);
// Returns the laboratory options in `options`, so that the caller can change them. Existing copies
// of `options` are not changed. The reference is valid until `options` is copied, changed or
// destroyed. May throw std::bad_alloc.
LaboratoryOptions& change_laboratory(Options& options);

// The table of the laboratory options. set_option() and option_text() (elider/option_table.h) also
// accept the names in this table.
std::span<const OptionInfo> laboratory_option_table();

}  // namespace elider
