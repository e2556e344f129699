// Chopping: procedures cut into pieces that each run atomically by themselves, and still are
// serializable as wholes (transaction chopping; DBX-TC, section 3).
//
// A procedure is declared as a list of operations: which tables and columns each touches, and how,
// and which results it needs. analyze() finds which operations must stay together, whatever the
// arguments are:
//
//   - Two operations of different calls conflict (a C-edge) if they touch the same columns, unless
//     both read, or both add. Operations of one call are siblings (an S-edge).
//   - A cycle of both kinds of edges (an SC-cycle) could be run in an order that no serial one
//     explains. The pieces of a call that lie on it are merged.
//   - What is left: at most one piece of each procedure conflicts with anything (Theorem 1).
//
// This is the declaration and the analysis; elider/chopped.h runs what is declared.
//
// Deviations from the paper: columns may be told apart by commit group; a row that only a claimed
// row leads to (a token, below) has no conflicts, which the paper assumes of TPC-C's orders; a
// rollback is allowed up to the first piece that writes, which the paper leaves open.
// Thread safety: values; analyze() by all threads.
#pragma once

#include "elider/language.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elider/schema.h"
#include "elider/status.h"

namespace elider::chopping {

// kRead, kWrite   columns of a row that is there
// kAdd            adds to columns; commutes with other adds, not with reads or writes
// kInsert         a new row
// kRemove         a row goes
// kScan           columns of many rows, and which rows there are
enum class AccessKind : uint8_t { kRead, kWrite, kAdd, kInsert, kRemove, kScan };
std::string_view name_of(AccessKind kind);            // "read", "write", "add", "insert", "remove", "scan"
bool parse(std::string_view name, AccessKind* kind);  // false: nothing has this name
inline constexpr AccessKind kAccessKinds[] = {AccessKind::kRead,   AccessKind::kWrite,  AccessKind::kAdd,
                                              AccessKind::kInsert, AccessKind::kRemove, AccessKind::kScan};

struct Access {
  AccessKind kind = AccessKind::kRead;
  std::string table;
  std::vector<std::string> columns = {};  // of kRead, kWrite, kAdd and kScan; none: all
  // kInsert: no other call inserts this key (it comes from a counter, or is random).
  bool fresh = false;
  // A table whose rows are tokens: this row belongs to one of them, and nothing else leads here.
  // Who inserts such a row inserts its token in the same or a later operation; who touches it
  // otherwise has removed its token before. So two calls never meet at it. Tokens are inserted
  // fresh.
  std::string token = {};
  // The partition of the row's key: the name of an argument; or, from '=' on, a constant, and then
  // rows of other constants are other rows (they are compared as text, and all of a table are of
  // one column of its key). "": unknown.
  std::string partition = {};
};

// What is atomic in any case: one or more accesses, and the code between them.
struct Operation {
  std::string name;
  std::vector<Access> accesses = {};
  std::vector<std::string> after = {};  // operations, declared before it, whose results it uses
  bool may_roll_back = false;  // the procedure may decide here that it changes nothing
  // Its effects may become visible later, all at once with those of others: it only adds, or
  // inserts fresh rows. Calls that read them are ordered before it or behind it as wholes (section
  // 3.2).
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
  // Of the access before:
  Operation& fresh() { return accesses.back().fresh = true, *this; }
  Operation& token(std::string table) { return accesses.back().token = std::move(table), *this; }
  Operation& partition(std::string its) { return accesses.back().partition = std::move(its), *this; }
  // Of the operation:
  Operation& needs(std::vector<std::string> operations) { return after = std::move(operations), *this; }
  Operation& rolls_back() { return may_roll_back = true, *this; }
  Operation& defers() { return deferred = true, *this; }

 private:
  Operation& add_access(AccessKind kind, std::string table, std::vector<std::string> columns) {
    accesses.push_back({kind, std::move(table), std::move(columns)});
    return *this;
  }
};

// A procedure, its operations in the order in which it would run them as a whole.
struct Procedure {
  std::string name;
  std::vector<Operation> operations = {};
};

// A table as far as it is declared: its columns, by commit group.
struct Table {
  std::string name;
  std::vector<std::vector<std::string>> groups;
  static Table of(const Schema& schema);
};

// All procedures that change these tables: one that is left out may break what is found here.
struct Declaration {
  std::vector<Table> tables;
  std::vector<Procedure> procedures;
};

// What the analysis may use. The defaults are all that there is; each is there to be turned off, so
// that its part can be seen.
enum class Granularity : uint8_t { kTable, kGroup, kColumn };
struct Choices {
  Granularity granularity = Granularity::kGroup;  // what two operations must share to conflict
  bool snapshots = true;                          // procedures that only read run on a snapshot, and conflict with none
  bool adding = true;                             // adds commute
  bool tokens = true;
  bool deferring = true;
  bool reordering = true;  // independent operations change places; else all between two that are merged are, too
};

// -- what the analysis finds ----------------------------------------------------------------------

// An operation, by its places in the declaration.
struct OperationId {
  uint32_t procedure = 0, operation = 0;
  friend bool operator==(const OperationId&, const OperationId&) = default;
};

// Two operations that conflict when two calls run them; may be one and the same.
struct Conflict {
  OperationId from, to;
  std::string table;
  std::string from_does, to_does;  // in words: "read x, y", "insert a row"
  std::string advice;              // what would have to change for it to go away; "": nothing that is known
};

struct Piece {
  std::vector<uint32_t> operations;  // in the order in which they run
  bool conflicting = false;          // the one that orders this procedure among the others
  bool writes = false;
  bool deferred = false;
};

// One step of an SC-cycle: from a piece, by an edge, to the next one. The last one leads back.
struct CycleStep {
  OperationId from, to;
  bool other_call_from = false, other_call_to = false;  // of the second call of the same procedure
  bool sibling = false;                                 // an S-edge
};

struct Merge {
  enum class Why : uint8_t { kCycle, kBetween, kRollback };
  Why why = Why::kCycle;
  uint32_t procedure = 0;
  std::vector<uint32_t> first, second;  // the operations of the two pieces
  std::vector<CycleStep> cycle;         // of kCycle
};

// A deferred operation, and whether it may be.
struct Deferral {
  OperationId publisher;
  std::vector<OperationId> subscribers;  // operations that touch what it changes
  bool granted = false;
  std::string why_not = {};
  std::vector<CycleStep> path = {};  // where another way between them is why not: that way
};

struct PlannedProcedure {
  bool on_snapshot = false;   // only reads
  std::vector<Piece> pieces;  // in the order in which they run
};

struct Plan {
  std::vector<PlannedProcedure> procedures;  // as declared
  std::vector<Conflict> conflicts;           // those that are left
  std::vector<Merge> merges;                 // in the order in which they were found
  std::vector<Deferral> deferrals;
  std::vector<std::string> static_tables;  // no procedure inserts rows or removes any: finding one conflicts with nothing
};

// Statuses:
//   kOk
//   kInvalidArgument  a name that nothing has or that two have; a need that is not declared before;
//                     a deferred operation that does more than add; a token that is not inserted
//                     or removed as it says, or is not fresh. The message names the procedure and
//                     the operation.
Status analyze(const Declaration& declaration, const Choices& choices, Plan* plan);

}  // namespace elider::chopping
