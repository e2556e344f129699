// Workload: one kind of history. It defines the tables, how a transaction is drawn, how the
// transaction runs against the database, and how Elle's micro-operations express it. The registered
// workloads are:
//   list-append  a list is a row
//   scan         a list is a range of rows
//   claims       a list holds the claims of a slot
//   rw-register  a register is a row
//   bank         transfers between accounts, and audits
//   posts        calls of a chopped procedure
//   procedures   calls of random chopped procedures
//
// A transaction is drawn completely before it runs (Plan), so every attempt does the same work.
// Thread safety: all threads may call plan() and execute() concurrently, each with its own
// arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/common/data_options.h"
#include "bench/common/random.h"
#include "bench/history/elle_record.h"
#include "elider/database.h"

namespace elider::bench {

struct HistoryOptions {
  std::string workload = "list-append";
  uint32_t threads = 4;
  uint32_t keys = 8;
  double seconds = 0;
  uint64_t transactions = 0;
  uint64_t seed = 1;
  std::string out;
  std::string history_file;
  bool client_alone = false;  // the database is opened without a sink; only the clients record results
  KeyIndex index = KeyIndex::kOrdered;
  SyncPolicy sync = SyncPolicy::kAutomatic;
  HtmBackend htm = HtmBackend::kAutomatic;
  Protocol protocol = Protocol::kOcc;
  uint32_t operations = 4;         // the maximum number per transaction
  uint32_t read_only_percent = 20;
  uint32_t scan_percent = 10;      // of all operations
  uint32_t rollback_percent = 2;
  uint32_t yield_percent = 20;     // probability of a yield before each operation
  bool zoned = false;              // for scan: the table is zoned, and a read-only transaction scans the whole table
  bool answers_at_once = false;  // for chopped calls: InstallOptions::answers_at_once, which requires `deferring`
  bool deferring = false;    // posts: the posts are deferred, and some calls look for them; procedures: some operations are deferred
  uint32_t declarations = 50;  // for procedures: the number of groups of random procedures
  bool held_snapshots = false;     // read-only transactions use a snapshot that their client holds and sometimes advances
  uint32_t group = 0;              // the number of transactions that a client runs as one group; 0: no groups
  uint32_t block_threshold_bytes = 2048;
  uint64_t memory_limit_bytes = 0;
  DataOptions data;
};

// A number that selects how an operation is executed. Each workload defines its own variants.
using Variant = uint32_t;

struct PlannedOperation {
  enum class Kind : uint8_t { kRead, kWrite, kScan };
  Kind kind = Kind::kRead;
  Variant variant = 0;
  int64_t key = 0;
  int64_t last_key = 0;  // kScan: the range's end; bank: the other account
  int64_t value = 0;     // kWrite: unique in the run
};

struct Plan {
  std::vector<PlannedOperation> operations;
  bool read_only = false;    // runs on a snapshot
  bool roll_back = false;    // the procedure rolls back at its end
  bool interactive = false;  // runs by begin() and commit() instead of run()
  uint32_t attempts_max = 0;
};

// The record of one attempt. It is used only if the attempt commits.
struct Attempt {
  void clear() {
    did.clear();
    added.clear();
    complaint.clear();
  }
  MicroOps did;
  std::vector<uint64_t> added;  // the targets of the attempt's additions, numbered by the workload
  std::string complaint;  // describes a broken invariant that the attempt saw; may be empty
};

// Sometimes yields the processor before an operation. Without yields, transactions would seldom
// conflict on a machine with few processors.
class Yields {
 public:
  Yields(Random& random, uint32_t percent) : random_(random), percent_(percent) {}
  void maybe();
  Random& random() { return random_; }

 private:
  Random& random_;
  uint32_t percent_;
};

// A call of a chopped procedure in a group (Database::call_group). The object must exist until the
// group has run.
class PreparedCall {
 public:
  virtual ~PreparedCall() = default;
  virtual ProcedureCall call() = 0;
  virtual void did(Attempt* attempt) const = 0;  // reports what the call did; called after it has committed
};
// A PreparedCall of a procedure whose parameter has the type `Its`. Its::did(attempt) reports what
// the call did.
template <class Its>
class Prepared final : public PreparedCall {
 public:
  Prepared(ProcedureHandle<Its> procedure, Its call) : procedure_(procedure), call_(std::move(call)) {}
  ProcedureCall call() override { return {procedure_, call_}; }
  void did(Attempt* attempt) const override { call_.did(attempt); }

 private:
  const ProcedureHandle<Its> procedure_;
  Its call_;
};

class Workload {
 public:
  virtual ~Workload() = default;
  virtual Schema schema() const = 0;  // the schema of the workload's table
  virtual Status create(Database& db) = 0;
  // Called after create(), once the history is being recorded. Inserts the rows that the run starts
  // with.
  virtual Status fill(Database&) { return {}; }
  // Called after create() if earlier runs have left rows. Continues with unused keys, so that this
  // run's history explains everything that it reads. *values receives the largest value_number() of
  // all values that earlier runs have written. Fails with kCorrupt if no run can have left these
  // rows.
  virtual Status resume(Database& db, int64_t* values) = 0;
  // Draws the operations; the caller draws the rest of the plan. `value` is the first of a range of
  // unique values, one for each operation that the transaction may have.
  virtual void plan(Random& random, int64_t value, Plan* plan) = 0;
  // Records what is known before the transaction runs: reads without their results, and writes
  // whose values do not depend on reads.
  virtual void invocation(const Plan& plan, MicroOps* operations) const;
  // Announces the rows that a transaction in a group will access.
  virtual void touch(const Plan&, Touches&) const {}
  virtual Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) = 0;
  // Returns true if the transaction runs as a call of a chopped procedure, through call() or
  // prepare().
  virtual bool in_pieces(const Plan&) const { return false; }
  // Like call(), but prepares a call that will run in a group. The call invokes begins() whenever
  // it begins, which can happen more than once.
  virtual std::unique_ptr<PreparedCall> prepare(const Plan&, Yields&, std::function<void()> /*begins*/) { return nullptr; }
  // Called after create(). Returns a note for the summary of the run, or "".
  virtual std::string about() const { return ""; }
  // Called after each committed transaction.
  virtual void committed(const Attempt&) {}
  // Called after all threads have ended. Checks the rows for errors that the history cannot show.
  // Returns the description of an error, or "".
  virtual std::string complaint(Database&) const { return ""; }
  virtual Status call(Database&, const Plan&, Yields&, Attempt*, const RunPolicy&) {
    return Status(Code::kUnsupported, "this workload does not call chopped procedures");
  }
};

std::unique_ptr<Workload> make_list_append(const HistoryOptions& options);
std::unique_ptr<Workload> make_list_scan(const HistoryOptions& options);
std::unique_ptr<Workload> make_rw_register(const HistoryOptions& options);
std::unique_ptr<Workload> make_claims(const HistoryOptions& options);
std::unique_ptr<Workload> make_bank(const HistoryOptions& options);
std::unique_ptr<Workload> make_posts(const HistoryOptions& options);
std::unique_ptr<Workload> make_procedures(const HistoryOptions& options);

// Returns the workload named `options.workload`, or null if no workload has this name.
std::unique_ptr<Workload> make_workload(const HistoryOptions& options);

// -- what several workloads share -----------------------------------------------------------------

// A unique value: [62..32] thread  [31..0] number. Different threads use the same numbers.
inline int64_t value_of(uint32_t thread, int64_t number) { return int64_t{thread} << 32 | number; }
inline int64_t value_number(int64_t value) { return value & 0xffffffff; }
inline constexpr int64_t kValueNumbersKept = int64_t{1} << 31;  // --resume requires that earlier runs have used fewer numbers

inline Status left_by_no_run(const std::string& what) { return Status(Code::kCorrupt, "--resume: no run can have left " + what); }
// Returns the result of a workload's resume(): `status`, or kCorrupt if `wrong` is not empty.
// `wrong` describes an error in the rows.
inline Status resumed(Status status, const std::string& wrong) {
  return status.ok() && !wrong.empty() ? left_by_no_run(wrong) : status;
}

// Creates the workload's table. *table receives the table, and *index its index named `index_name`.
template <class Row>
Status create_table(Database& db, const SchemaOf<Row>& described, std::string_view index_name, Table<Row>* table, Index<Row>* index) {
  auto made = db.create_table(described);
  if (!made.ok()) return made.status();
  *table = *made;
  auto found = db.index(*table, index_name);
  if (!found.ok()) return found.status();
  *index = *found;
  return {};
}

// How a range is scanned. Unordered tables are scanned only through their secondary index.
enum class ScanWay : Variant { kForward, kReverse, kByIndex, kByIndexReverse };
inline Variant draw_scan_way(Random& random, KeyIndex index) {
  constexpr auto kByIndex = static_cast<Variant>(ScanWay::kByIndex), kByIndexReverse = static_cast<Variant>(ScanWay::kByIndexReverse);
  return static_cast<Variant>(is_ordered(index) ? random.below(kByIndexReverse + 1) : random.between(kByIndex, kByIndexReverse));
}
// Scans in the way that the operation chose: by the table's keys or by the index's values.
template <class Row, class Visit>
Status scan_in_its_way(Transaction& txn, const PlannedOperation& operation, const Table<Row>& table, const KeyRange& keys,
                       const Index<Row>& index, const KeyRange& values, Visit&& visit) {
  const auto way = static_cast<ScanWay>(operation.variant);
  const ScanOptions options{.reverse = way == ScanWay::kReverse || way == ScanWay::kByIndexReverse};
  const bool by_index = way == ScanWay::kByIndex || way == ScanWay::kByIndexReverse;
  return by_index ? txn.scan(index, values, options, visit) : txn.scan(table, keys, options, visit);
}

// Visits all rows of earlier runs in the order of `index`.
template <class Row, class Visit>
Status for_each_row(Database& db, const Index<Row>& index, Visit&& visit) {
  return db.run_read_only([&](Transaction& txn) { return txn.scan(index, KeyRange{}, ScanOptions{}, visit); });
}

// Finds a row. If it does not exist, the status is ok and the view converts to false.
template <class Row>
Status find(Transaction& txn, const Table<Row>& table, Key key, View<Row>* view, const Columns<Row>& columns = {}) {
  auto found = txn.get(table, key, columns);
  if (!found.ok() && !found.not_found()) return found.status();
  *view = found.ok() ? *found : View<Row>();
  return {};
}

// A cell stores the value of a logical key k in one of two rows, with the keys 2k and 2k+1. A write
// may move the cell: it removes one row and inserts the other, which does not change the logical
// key's value. This way, histories that cannot express a removal still exercise removals. A reader
// that sees both rows, or neither, records a value that no checker accepts.
inline Key cell_row(int64_t key, int half) { return static_cast<Key>(key) * 2 + static_cast<Key>(half); }

inline void touch_cells(const Plan& plan, const TableRef& table, Touches& touches) {
  for (const PlannedOperation& operation : plan.operations)
    for (const int half : {0, 1}) touches.row(table, cell_row(operation.key, half));
}

template <class Row>
struct Cell {
  View<Row> half[2];
  // Returns which of the two rows holds the cell, 0 or 1, or -1 if neither does. If both do, which
  // is an error, returns 0.
  int place() const { return half[0] ? 0 : half[1] ? 1 : -1; }
};

template <class Row>
Status read_cell(Transaction& txn, const Table<Row>& table, int64_t key, bool batched, Cell<Row>* cell) {
  if (batched) {
    const Key keys[2] = {cell_row(key, 0), cell_row(key, 1)};
    return txn.multi_get(table, std::span<const Key>(keys), std::span<View<Row>>(cell->half));
  }
  if (Status status = find(txn, table, cell_row(key, 0), &cell->half[0]); !status.ok()) return status;
  return find(txn, table, cell_row(key, 1), &cell->half[1]);
}

}  // namespace elider::bench
