// Resolved: a declaration whose names are resolved, with columns as sets of units. Units are what
// conflicts can distinguish: commit groups, single columns or whole tables.
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
  // needed[i][j]: operation j must run before i, directly or through others.
  std::vector<std::vector<bool>> needed;
  bool reads_only;
};

struct Resolved {
  std::vector<ResolvedProcedure> procedures;
  const ResolvedOperation& operation(OperationId id) const { return procedures[id.procedure].operations[id.operation]; }
};

// Returns kOk, or kInvalidArgument as analyze() does.
Status resolve(const Declaration& declaration, const Choices& choices, Resolved* resolved);

inline bool only_reads(AccessKind kind) { return kind == AccessKind::kRead || kind == AccessKind::kScan; }

// Where two operations conflict when different calls run them. Null: they do not conflict;
// otherwise one access of each that does.
struct Meeting {
  const ResolvedAccess *one = nullptr, *other = nullptr;
  explicit operator bool() const { return one != nullptr; }
};
Meeting meeting_of(const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

// Describes a conflict: where the two operations meet, and what would have to change to avoid it.
Conflict describe(const Declaration& declaration, const ResolvedOperation& one, const ResolvedOperation& other, const Choices& choices);

}  // namespace elider::chopping
