// Chopping divides procedures into pieces, each of which runs as a separate transaction, in such a
// way that the procedures as a whole remain serializable (transaction chopping; DBX-TC, section 3).
//
// A procedure is declared as a list of operations. An operation declares the tables and columns
// that it accesses, how it accesses them, and the operations whose results it needs. analyze()
// finds the operations that must stay in one piece, whatever the arguments of the calls are:
//
//   - Two operations of different calls conflict (a C-edge) if they access the same columns, unless
//     both read or both add. Operations of one call are siblings (an S-edge).
//   - A cycle with both kinds of edges (an SC-cycle) permits an interleaving that is not
//     serializable. Therefore, the pieces of a call that are on the cycle are merged.
//   - In the end, at most one piece of each procedure conflicts with pieces of other calls (Theorem
//     1).
//
// This header covers the declaration and the analysis. elider/procedure.h adds the functions that
// run the operations.
//
// Deviations from the paper: accesses to different column groups do not conflict. Neither do
// accesses to a row that can be reached only through another row, its token (Access::token), which
// a call removes first; the paper assumes this for TPC-C's orders. A procedure may roll back until
// its first piece that writes; the paper does not say when a rollback is allowed.
//
// Thread safety: all types in this file are values. All threads may call analyze().
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elider/schema.h"
#include "elider/status.h"

namespace elider::chopping {

// kRead, kWrite   columns of an existing row
// kAdd            adds to columns; commutes with other adds, but not with reads or writes
// kInsert         inserts a row
// kRemove         removes a row
// kScan           reads columns of many rows, and depends on which rows exist
enum class AccessKind : uint8_t { kRead, kWrite, kAdd, kInsert, kRemove, kScan };
std::string_view name_of(AccessKind kind);            // "read", "write", "add", "insert", "remove", "scan"
bool parse(std::string_view name, AccessKind* kind);  // returns false if the name is unknown
inline constexpr AccessKind kAccessKinds[] = {AccessKind::kRead,   AccessKind::kWrite,  AccessKind::kAdd,
                                              AccessKind::kInsert, AccessKind::kRemove, AccessKind::kScan};

struct Access {
  AccessKind kind = AccessKind::kRead;
  std::string table;
  std::vector<std::string> columns = {};  // for kRead, kWrite, kAdd and kScan; empty: all
  // Applies to kInsert: no other call inserts the same key, because the key comes from a counter or
  // is random.
  bool fresh = false;
  // A table whose rows serve as tokens. The accessed row belongs to one token, and can be reached
  // only through that token. A call that inserts such a row inserts the token in the same or a
  // later operation. A call that accesses the row in any other way must already have removed the
  // token. Therefore, two calls never access the row at the same time. Inserts of tokens must be
  // fresh.
  std::string token = {};
  // The partition to which the row's key belongs: the name of an argument, or '=' followed by a
  // constant. Accesses with different constants never access the same row. Constants are compared
  // as text, and all constants of a table must refer to the same part of its key. Empty: unknown.
  std::string partition = {};
};

// One or more accesses and the code between them, which always belong to the same piece.
struct Operation {
  std::string name;
  std::vector<Access> accesses = {};
  std::vector<std::string> after = {};  // earlier operations whose results this operation uses
  bool may_roll_back = false;  // the operation may roll back the whole procedure
  // The operation's effects may become visible after the call, together with those of other calls.
  // Such an operation may only add to columns and insert fresh rows. A call that reads deferred
  // effects is ordered as a whole before or after the call that produced them (section 3.2).
  bool deferred = false;

  explicit Operation(std::string its_name) : name(std::move(its_name)) {}
  Operation& reads(std::string table, std::vector<std::string> columns = {}) {
    return add_access(AccessKind::kRead, std::move(table), std::move(columns));
  }
  Operation& writes(std::string table, std::vector<std::string> columns = {}) {
    return add_access(AccessKind::kWrite, std::move(table), std::move(columns));
  }
  Operation& adds(std::string table, std::vector<std::string> columns) {
    return add_access(AccessKind::kAdd, std::move(table), std::move(columns));
  }
  Operation& inserts(std::string table) { return add_access(AccessKind::kInsert, std::move(table), {}); }
  Operation& removes(std::string table) { return add_access(AccessKind::kRemove, std::move(table), {}); }
  Operation& scans(std::string table, std::vector<std::string> columns = {}) {
    return add_access(AccessKind::kScan, std::move(table), std::move(columns));
  }
  // The next three functions apply to the access that was added last.
  Operation& fresh() { return accesses.back().fresh = true, *this; }
  Operation& token(std::string table) { return accesses.back().token = std::move(table), *this; }
  Operation& partition(std::string its) { return accesses.back().partition = std::move(its), *this; }
  // The next three functions apply to the operation.
  Operation& needs(std::vector<std::string> operations) { return after = std::move(operations), *this; }
  Operation& rolls_back() { return may_roll_back = true, *this; }
  Operation& defers() { return deferred = true, *this; }

 private:
  Operation& add_access(AccessKind kind, std::string table, std::vector<std::string> columns) {
    accesses.push_back({kind, std::move(table), std::move(columns)});
    return *this;
  }
};

// A procedure, with its operations in the order in which they would run as one transaction.
struct Procedure {
  std::string name;
  std::vector<Operation> operations = {};
};

// The columns of a table by column group, as input for the analysis.
struct Table {
  std::string name;
  std::vector<std::vector<std::string>> groups;
  static Table of(const Schema& schema);
};

// The tables, and all procedures that change them. If a procedure is missing, the result of the
// analysis is wrong.
struct Declaration {
  std::vector<Table> tables;
  std::vector<Procedure> procedures;
};

// The techniques that the analysis may use. All are on by default. Each can be turned off to
// measure its effect.
enum class Granularity : uint8_t { kTable, kGroup, kColumn };
struct Choices {
  Granularity granularity = Granularity::kGroup;  // the unit of conflicts: a table, a column group or a column
  bool snapshots = true;                          // procedures that only read run on a snapshot, and therefore do not conflict
  bool adding = true;                             // adds commute
  bool tokens = true;
  bool deferring = true;
  bool reordering = true;  // independent operations may be reordered; otherwise a merge includes all operations in between
};

// -- what the analysis finds ----------------------------------------------------------------------

// Identifies an operation by its position in the declaration.
struct OperationId {
  uint32_t procedure = 0, operation = 0;
  friend bool operator==(const OperationId&, const OperationId&) = default;
};

// Two operations that conflict when two different calls run them. `from` and `to` may be the same
// operation.
struct Conflict {
  OperationId from, to;
  std::string table;
  std::string from_does, to_does;  // in words: "read x, y", "insert a row"
  std::string advice;              // a change that would remove the conflict; empty if no such change is known
};

struct Piece {
  std::vector<uint32_t> operations;  // in the order in which they run
  bool conflicting = false;          // this piece determines the call's position in the serial order
  bool writes = false;
  bool deferred = false;
};

// One step of an SC-cycle, along an edge from one piece to the next. The last step returns to the
// first piece.
struct CycleStep {
  OperationId from, to;
  bool other_call_from = false, other_call_to = false;  // the piece is in a second call of the same procedure
  bool sibling = false;                                 // an S-edge
};

struct Merge {
  enum class Why : uint8_t { kCycle, kBetween, kRollback };
  Why why = Why::kCycle;
  uint32_t procedure = 0;
  std::vector<uint32_t> first, second;  // the operations of the two pieces
  std::vector<CycleStep> cycle;         // for kCycle
};

// An operation that was declared as deferred (the publisher), and whether the analysis permits the
// deferral.
struct Deferral {
  OperationId publisher;
  std::vector<OperationId> subscribers;  // operations that access the data that the publisher changes
  bool granted = false;
  std::string why_not = {};
  std::vector<CycleStep> path = {};  // the path from publisher to subscriber that prevents the deferral, if there is one
};

struct PlannedProcedure {
  bool on_snapshot = false;   // the procedure only reads
  std::vector<Piece> pieces;  // in the order in which they run
};

struct Plan {
  std::vector<PlannedProcedure> procedures;  // as declared
  std::vector<Conflict> conflicts;           // the conflicts that remain after the merges
  std::vector<Merge> merges;                 // in the order in which they were found
  std::vector<Deferral> deferrals;
  std::vector<std::string> static_tables;  // tables whose rows are never inserted or removed, so that lookups do not conflict
};

// Statuses:
//   kOk
//   kInvalidArgument  a name is unknown or is used twice; an operation needs another one that is
//                     not declared before it; a deferred operation does more than add to columns
//                     and insert fresh rows; a token is not inserted or removed as declared, or its
//                     insert is not fresh. The message names the procedure and the operation.
Status analyze(const Declaration& declaration, const Choices& choices, Plan* plan);

}  // namespace elider::chopping
