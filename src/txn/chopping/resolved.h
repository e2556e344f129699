// Resolved: a declaration whose names are resolved and whose columns are represented by sets of
// units. A unit is the granularity at which conflicts are detected: a column group, a single column
// or an entire table.
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elider/chopping.h"

namespace elider::chopping {

inline constexpr uint32_t kNone = ~uint32_t{0};

struct ResolvedAccess {
  AccessKind kind;
  uint32_t table;
  uint64_t units;    // the accessed units of the table
  uint64_t columns;  // the accessed columns; used in messages
  bool fresh;
  uint32_t token;  // the position of the token's table, or kNone
  std::string partition;
};

struct ResolvedOperation {
  OperationId id;
  std::vector<ResolvedAccess> accesses;
  std::vector<uint32_t> needs;  // the operations that must run first, by position in the procedure; may also be declared later
  bool may_roll_back, deferred, writes;
};

struct ResolvedProcedure {
  std::vector<ResolvedOperation> operations;
  // needed[i][j] is true if operation j must run before operation i, directly or transitively.
  std::vector<std::vector<bool>> needed;
  bool reads_only;
};

struct Resolved {
  std::vector<ResolvedProcedure> procedures;
  const ResolvedOperation& operation(OperationId id) const { return procedures[id.procedure].operations[id.operation]; }
};

// Returns ok, or kInvalidArgument in the same cases as analyze().
Status resolve(const Declaration& declaration, const Choices& choices, Resolved* resolved);

inline bool only_reads(AccessKind kind) { return kind == AccessKind::kRead || kind == AccessKind::kScan; }

// Two accesses, one of each operation, that conflict if different calls run the operations. Both
// are null if the operations do not conflict.
struct Meeting {
  const ResolvedAccess *one = nullptr, *other = nullptr;
  explicit operator bool() const { return one != nullptr; }
};
Meeting meeting_of(const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

// Describes a conflict: the accesses of the two operations that conflict, and what would have to
// change to avoid the conflict.
Conflict describe(const Declaration& declaration, const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

}  // namespace elider::chopping
