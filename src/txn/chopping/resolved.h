// Resolved: a declaration whose names are found, with columns as sets of units: what conflicts are
// told apart by, commit groups or single columns or whole tables.
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
  uint64_t units;    // of the table
  uint64_t columns;  // the same by single columns, for words
  bool fresh;
  uint32_t token;  // a table, or kNone
  std::string partition;
};

struct ResolvedOperation {
  OperationId id;
  std::vector<ResolvedAccess> accesses;
  std::vector<uint32_t> needs;  // operations of the procedure, declared earlier or later
  bool may_roll_back, deferred, writes;
};

struct ResolvedProcedure {
  std::vector<ResolvedOperation> operations;
  // needed[i][j]: operation j must have run before i does, directly or by others.
  std::vector<std::vector<bool>> needed;
  bool reads_only;
};

struct Resolved {
  std::vector<ResolvedProcedure> procedures;
  const ResolvedOperation& operation(OperationId id) const { return procedures[id.procedure].operations[id.operation]; }
};

// kOk or kInvalidArgument, as analyze().
Status resolve(const Declaration& declaration, const Choices& choices, Resolved* resolved);

inline bool only_reads(AccessKind kind) { return kind == AccessKind::kRead || kind == AccessKind::kScan; }

// Whether two operations conflict when different calls run them. Null: they do not; else an access
// of each that does.
struct Meeting {
  const ResolvedAccess *one = nullptr, *other = nullptr;
  explicit operator bool() const { return one != nullptr; }
};
Meeting meeting_of(const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

// Describes a conflict: where the two operations meet, and what would have to change to avoid it.
Conflict describe(const Declaration& declaration, const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

}  // namespace elider::chopping
