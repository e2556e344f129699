// Resolved: a declaration in which names are resolved and columns are sets of units. A unit is the
// smallest thing between which conflicts can distinguish: a commit group, a single column or a
// whole table.
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
  std::vector<uint32_t> needs;  // positions of operations of the procedure, declared earlier or later
  bool may_roll_back, deferred, writes;
};

struct ResolvedProcedure {
  std::vector<ResolvedOperation> operations;
  // needed[i][j]: operation j must run before operation i, directly or because of others.
  std::vector<std::vector<bool>> needed;
  bool reads_only;
};

struct Resolved {
  std::vector<ResolvedProcedure> procedures;
  const ResolvedOperation& operation(OperationId id) const { return procedures[id.procedure].operations[id.operation]; }
};

// Returns ok, or kInvalidArgument like analyze().
Status resolve(const Declaration& declaration, const Choices& choices, Resolved* resolved);

inline bool only_reads(AccessKind kind) { return kind == AccessKind::kRead || kind == AccessKind::kScan; }

// The place where two operations conflict if different calls run them: one access of each
// operation. Both are null if the operations do not conflict.
struct Meeting {
  const ResolvedAccess *one = nullptr, *other = nullptr;
  explicit operator bool() const { return one != nullptr; }
};
Meeting meeting_of(const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

// Describes a conflict: the accesses of the two operations that conflict, and what would have to
// change to avoid the conflict.
Conflict describe(const Declaration& declaration, const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

}  // namespace elider::chopping
