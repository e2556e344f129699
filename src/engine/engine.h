// Engine: the interface that a Database forwards to. Each compiled combination of sync policy and
// protocol implements it (engine/registry.h).
//
// Thread safety: the same as Database.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "elider/database.h"
#include "elider/snapshot_number.h"
#include "engine/catalog/installed_procedures.h"
#include "engine/catalog/sequences.h"
#include "engine/runtime/held_snapshot.h"
#include "recovery/open_how.h"
#include "storage/table.h"
#include "txn/chopping/execution.h"

namespace elider::detail {

class EngineWorker;

// The engine that all closed databases share. It refuses every call.
Engine* closed_engine();
Status refuse_closed();

// One call in a group, and the procedure that it calls.
struct ResolvedCall {
  const InstalledProcedure* procedure = nullptr;  // null: the call is refused
  void* arguments = nullptr;
};

// The arguments of Database::run_group.
struct GroupCalls {
  size_t count;
  FunctionRef<void(size_t, Touches&)> touch;
  FunctionRef<Status(size_t, Transaction&)> procedure;
  std::span<Status> outcomes;  // one per call, or empty
  // The procedure of each call of Database::call_group(). `procedure` then runs one call as one
  // transaction. Empty for Database::run_group().
  std::span<const ResolvedCall> resolved = {};
  const txn::Execution* execution = nullptr;             // how to run calls in pieces; null if no call has pieces
  const FunctionRef<Status(size_t)>* refusal = nullptr;  // returns why a call was not resolved
};

class Engine {
 public:
  virtual ~Engine();
  // Allocates and touches this much memory. Called right after construction. Returns kMemoryLimit
  // if the system does not have this much memory.
  virtual Status prefault(uint64_t bytes) = 0;
  virtual Status run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) = 0;
  virtual Status run_group(const GroupCalls& calls, const GroupPolicy& policy) = 0;
  // Calls an installed procedure that consists of operations. The call runs in pieces if the
  // protocol supports them, and otherwise as one transaction.
  virtual Status call_in_pieces(const txn::ExecutableProcedure& procedure, void* arguments, const RunPolicy& policy) = 0;
  // How an interactive transaction begins.
  struct BeginHow {
    bool read_only = false;
    uint32_t attempt = 1;
  };
  // Begins a transaction, and returns its worker. `at` is the snapshot of a read-only transaction;
  // null means the newest snapshot.
  virtual Status begin(BeginHow how, std::shared_ptr<const SnapshotHold> at, EngineWorker** worker, Transaction** txn) = 0;
  // Holds the newest snapshot. If calls to chopped procedures that belong to the snapshot are still
  // running, kWait waits until those calls have ended. With kLeave, hold_snapshot() does not wait;
  // the caller must check with is_closed() that the calls have ended before it reads the snapshot.
  enum class WhenHalfDone : uint8_t { kWait, kLeave };
  virtual Status hold_snapshot(WhenHalfDone when, std::shared_ptr<const SnapshotHold>* hold) = 0;
  // Returns true if every call that belongs to this snapshot has ended. Once the result is true, it
  // stays true.
  virtual bool is_closed(SnapshotNumber number) const = 0;
  // Returns the hold on the snapshot that `held` refers to. Fails if `held` does not hold a
  // snapshot of this database, or if `read_only` is false.
  virtual Status hold_of(const HeldSnapshot& held, bool read_only, std::shared_ptr<const SnapshotHold>* hold) const = 0;

  virtual Result<TableRef> create_table(const Schema& schema) = 0;
  // Replaces the schema of a table (txn/catalog.h).
  virtual Status change_table(std::string_view name, FunctionRef<Result<Schema>(const Schema&)> change) = 0;
  // Like the functions of the same names in Database.
  virtual Status create_index(std::string_view table, const SecondaryIndex& index, const CreateIndexOptions& options) = 0;
  virtual Status drop_index(std::string_view table, std::string_view name) = 0;
  virtual TableBase* find_table(std::string_view name) const = 0;
  virtual std::vector<TableRef> tables() const = 0;

  // Recovers the contents of the data folders and starts the log. Called once, before any other
  // function. Returns ok if the database does not have data folders. If recovery fails because of
  // an error in the checkpoint, sets *may_skip to true. The caller may then create a new engine,
  // and recover from an older checkpoint.
  virtual Status open_data(const recovery::OpenHow& how, bool* may_skip) = 0;
  // Like the functions of the same names in Database. kEverything means every transaction that
  // committed before the call.
  static constexpr uint64_t kEverything = ~uint64_t{0};
  virtual Status wait_durable(SnapshotNumber commit_number) = 0;
  virtual void when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told) = 0;
  virtual const Recovery& recovery() const = 0;
  virtual Status checkpoint() = 0;
  virtual Status backup(const std::string& folder) = 0;

  virtual uint64_t database_id() const = 0;  // as in TableBase; 0 for the engine of closed databases
  virtual uint32_t procedure_id(std::string_view name) = 0;
  virtual SyncPolicy sync() const = 0;
  virtual HtmBackend htm() const = 0;  // kNone under policies without hardware transactions
  virtual const ElisionPolicy* elision() const = 0;  // null if the policy does not use hardware transactions
  virtual Protocol protocol() const = 0;
  // Returns true if the database can provide this durability.
  virtual bool can_promise(Durability durability) const = 0;
  virtual Statistics statistics() const = 0;
  virtual void collect_garbage() = 0;
  // Returns true if this process is a forked child of the process that opened the database. A child
  // may call only abandon(), and functions that return an error in a child.
  virtual bool in_child() const = 0;
  // Called instead of the destructor in a forked child. Returns the memory of rows and indexes to
  // the system. Does not touch anything else, because the parent's threads may have been changing
  // other data during the fork.
  virtual void abandon() = 0;
  virtual Status verify() = 0;

  // All engines share the following functions, which concern procedures (procedures.cc).
  Status install(std::vector<ProcedureDefinition> procedures, const InstallOptions& options, chopping::Plan* plan);
  std::vector<ProcedureInfo> procedures() const;
  // Returns null if the procedure is not installed.
  const InstalledProcedure* find_procedure(const ProcedureName& name) const { return procedures_.find(name); }
  const InstalledProcedure* find_procedure(std::string_view name) const { return procedures_.find(name); }
  Status call(const InstalledProcedure& procedure, void* arguments, const RunPolicy& policy);
  // Returns the error for a call through a handle whose procedure is not installed in this
  // database.
  Status refuse_call(const ProcedureName& name) const;
  // Returns the description of how procedures with operations run, or null if no such procedure is
  // installed. Once set, the description does not change.
  const txn::Execution* execution() const { return execution_.load(std::memory_order_acquire); }

  // Implements Database::drop_table() (schema_changes.cc).
  Status drop(std::string_view name, uint64_t wait_us);

  Sequences& sequences() { return sequences_; }

 protected:
  // Calls f(), unless a procedure that runs in pieces declares the table, because what the
  // procedure may do was derived from the table's schema. Meanwhile, no procedure is installed.
  // `what` begins the message.
  //   kInvalidArgument  a procedure declares the table
  Status without_procedures(const TableBase& table, const std::string& what, FunctionRef<Status()> f);
  // The two steps of drop(). begin_drop() makes the table unusable (txn/catalog.h).
  virtual Result<TableBase*> begin_drop(std::string_view name) = 0;
  virtual Status end_drop(TableBase& table, uint64_t wait_us) = 0;

 private:
  Sequences sequences_;
  mutable std::mutex install_mutex_;  // guards execution_made_, and procedures_ except for find()
  std::unique_ptr<const txn::Execution> execution_made_;
  std::atomic<const txn::Execution*> execution_{nullptr};
  InstalledProcedures procedures_;
};

// Creates and opens the engine that the options choose.
Status open_engine(const Options& options, const recovery::OpenHow& how, std::unique_ptr<Engine>* engine);

}  // namespace elider::detail
