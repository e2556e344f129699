// Chopping divides procedures into pieces, each of which runs as a separate transaction. The
// procedures as wholes remain serializable (transaction chopping; DBX-TC, section 3).
//
// A procedure is declared as a list of operations. An operation declares the tables and columns
// that it accesses, how it accesses them, and the operations whose results it needs. analyze()
// finds the operations that must stay together, whatever the arguments are:
//
//   - Two operations of different calls conflict (a C-edge) if they access the same columns, unless
//     both read or both add. Operations of one call are siblings (an S-edge).
//   - A cycle with both kinds of edges (an SC-cycle) could run in an order that no serial order
//     explains. The pieces of a call that are on the cycle are merged.
//   - In the result, at most one piece of each procedure conflicts with anything (Theorem 1).
//
// This header contains the declaration and the analysis. elider/procedure.h adds bodies and runs
// them.
//
// Deviations from the paper: columns of different column groups do not conflict. A row that can be
// reached only through a claimed row (a token, below) does not conflict; the paper assumes this for
// TPC-C's orders. A procedure may roll back until its first piece that writes; the paper does not
// say when it may.
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
// kScan           reads columns of many rows, and which rows exist
enum class AccessKind : uint8_t { kRead, kWrite, kAdd, kInsert, kRemove, kScan };
std::string_view name_of(AccessKind kind);            // "read", "write", "add", "insert", "remove", "scan"
bool parse(std::string_view name, AccessKind* kind);  // returns false if the name is unknown
inline constexpr AccessKind kAccessKinds[] = {AccessKind::kRead,   AccessKind::kWrite,  AccessKind::kAdd,
                                              AccessKind::kInsert, AccessKind::kRemove, AccessKind::kScan};

struct Access {
  AccessKind kind = AccessKind::kRead;
  std::string table;
  std::vector<std::string> columns = {};  // for kRead, kWrite, kAdd and kScan; empty: all
  // kInsert: no other call inserts this key, because it comes from a counter or is random.
  bool fresh = false;
  // A table whose rows are tokens. This row belongs to one token, and can be reached only through
  // that token. A call that inserts such a row inserts the token in the same or a later operation.
  // A call that accesses the row in any other way has removed the token before. So two calls never
  // access the row at the same time. Tokens are inserted fresh.
  std::string token = {};
  // The partition of the row's key: the name of an argument, or '=' and a constant. Accesses with
  // different constants never access the same row. Constants are compared as text, and all
  // constants of a table must refer to the same part of its key. Empty: unknown.
  std::string partition = {};
};

// One or more accesses and the code between them, which always run together.
struct Operation {
  std::string name;
  std::vector<Access> accesses = {};
  std::vector<std::string> after = {};  // earlier operations whose results this operation uses
  bool may_roll_back = false;  // the procedure may decide here that it changes nothing
  // The effects of the operation may become visible later, together with those of other calls. The
  // operation may only add, and insert fresh rows. A call that reads the effects is ordered as a
  // whole before or after the call that makes them (section 3.2).
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
  // These apply to the access that was added last.
  Operation& fresh() { return accesses.back().fresh = true, *this; }
  Operation& token(std::string table) { return accesses.back().token = std::move(table), *this; }
  Operation& partition(std::string its) { return accesses.back().partition = std::move(its), *this; }
  // These apply to the operation.
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

// The columns of a table, by column group, for the analysis.
struct Table {
  std::string name;
  std::vector<std::vector<std::string>> groups;
  static Table of(const Schema& schema);
};

// All procedures that change these tables. The result of the analysis is wrong if a procedure is
// left out.
struct Declaration {
  std::vector<Table> tables;
  std::vector<Procedure> procedures;
};

// What the analysis may use. By default, the analysis uses everything. Each part can be turned off
// to measure its effect.
enum class Granularity : uint8_t { kTable, kGroup, kColumn };
struct Choices {
  Granularity granularity = Granularity::kGroup;  // two operations conflict if they share one of these
  bool snapshots = true;                          // procedures that only read run on a snapshot and do not conflict
  bool adding = true;                             // adds commute
  bool tokens = true;
  bool deferring = true;
  bool reordering = true;  // independent operations may be reordered; otherwise a merge includes all operations in between
};

// -- what the analysis finds ----------------------------------------------------------------------

// An operation, by its position in the declaration.
struct OperationId {
  uint32_t procedure = 0, operation = 0;
  friend bool operator==(const OperationId&, const OperationId&) = default;
};

// Two operations that conflict if two calls run them. `from` and `to` may be the same operation.
struct Conflict {
  OperationId from, to;
  std::string table;
  std::string from_does, to_does;  // in words: "read x, y", "insert a row"
  std::string advice;              // the change that would remove the conflict; empty if none is known
};

struct Piece {
  std::vector<uint32_t> operations;  // in the order in which they run
  bool conflicting = false;          // this piece determines the order of the call among all calls
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

// An operation that was declared as deferred, and whether it may be.
struct Deferral {
  OperationId publisher;
  std::vector<OperationId> subscribers;  // operations that access what it changes
  bool granted = false;
  std::string why_not = {};
  std::vector<CycleStep> path = {};  // if another path between the two prevents the deferral, that path
};

struct PlannedProcedure {
  bool on_snapshot = false;   // the procedure only reads
  std::vector<Piece> pieces;  // in the order in which they run
};

struct Plan {
  std::vector<PlannedProcedure> procedures;  // as declared
  std::vector<Conflict> conflicts;           // those that remain
  std::vector<Merge> merges;                 // in the order in which they were found
  std::vector<Deferral> deferrals;
  std::vector<std::string> static_tables;  // no procedure inserts or removes their rows, so a lookup of a row does not conflict
};

// Statuses:
//   kOk
//   kInvalidArgument  a name is unknown or is used twice; an operation needs another one that is
//                     not declared before it; a deferred operation does more than add; a token is
//                     not inserted or removed as declared, or is not fresh. The message names the
//                     procedure and the operation.
Status analyze(const Declaration& declaration, const Choices& choices, Plan* plan);

}  // namespace elider::chopping
