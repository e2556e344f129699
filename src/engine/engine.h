// Engine: what a Database forwards to: one virtual face over every shipped combination of sync policy
// and protocol. Registry: the combinations of this library, by name.
//
// Thread safety: as Database's.
#pragma once

#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "elider/database.h"
#include "storage/table.h"
#include "txn/row_loader.h"
#include "txn/snapshot_rows.h"

namespace elider::detail {

// A transaction context that is lent out: to a thread, or to an ActiveTransaction.
class Session {
 public:
  virtual ~Session() = default;
  // For ActiveTransaction. Ends the transaction and gives the session back.
  virtual Status commit_active(Durability durability, uint64_t* commit_number) = 0;
  virtual void rollback_active() = 0;
};

// How an engine's data folders are opened.
struct OpenHow {
  std::vector<std::string> skipped;  // what is wrong with checkpoints that are left out, the newest ones
  bool for_tools = false;            // which have no key functions: tables have no secondary indexes; nothing is made
  bool read_only = false;            // nothing in the folders changes
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Right after the making. kMemoryLimit: the system has not so much.
  virtual Status prefault(uint64_t bytes) = 0;
  virtual Status run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) = 0;
  // A session with a transaction that has begun.
  virtual Status begin(bool read_only, Session** session, Transaction** txn) = 0;

  virtual Result<TableRef> create_table(const Schema& schema) = 0;
  virtual TableBase* find_table(std::string_view name) const = 0;
  virtual std::vector<TableRef> tables() const = 0;

  // Recovers what the data folders hold and starts the log; ok without any. Once, before all else. *may_skip: it failed
  // for the checkpoint, and there is an older one, for another engine.
  virtual Status open_data(const OpenHow& how, bool* may_skip) = 0;
  // As Database's; kEverything: all that was committed before the call.
  static constexpr uint64_t kEverything = ~uint64_t{0};
  virtual Status wait_durable(uint64_t commit_number) = 0;
  virtual void when_durable(uint64_t commit_number, std::function<void(const Status&)> told) = 0;
  virtual const Recovery& recovery() const = 0;
  virtual Status checkpoint() = 0;
  virtual Status backup(const std::string& folder) = 0;

  // For recovery, while nothing else runs. Null: Options::workers_max are in use.
  virtual std::unique_ptr<txn::RowLoader> make_loader() = 0;
  // The secondary indexes of all tables, from their rows. progress(rows done, all of them), if there is one.
  virtual Status build_indexes(uint32_t threads, const std::function<void(uint64_t, uint64_t)>& progress) = 0;
  // For checkpoints. Null: too many are being read.
  virtual std::unique_ptr<txn::SnapshotRows> read_snapshot() = 0;

  virtual uint32_t procedure_id(std::string_view name) = 0;
  virtual Statistics statistics() const = 0;
  virtual SyncPolicy sync() const = 0;
  virtual HtmBackend htm() const = 0;  // kNone under policies that know none
  virtual Protocol protocol() const = 0;
  virtual void collect_garbage() = 0;
  virtual Status verify() = 0;

  // Stored procedures, the same for every combination (stored_procedures.cc).
  Status register_procedure(Procedure procedure);
  std::shared_ptr<const Procedure> find_procedure(std::string_view name) const;
  std::vector<std::pair<std::string, std::vector<Parameter>>> procedures() const;

 private:
  mutable std::shared_mutex procedures_mutex_;  // guards procedures_
  std::unordered_map<std::string, std::shared_ptr<const Procedure>> procedures_;
};

// The engine that the options choose, opened.
Status open_engine(const Options& options, const OpenHow& how, std::unique_ptr<Engine>* engine);

// One shipped combination.
struct Combination {
  SyncPolicy sync;
  HtmBackend htm;  // of kElided; else kNone
  Protocol protocol;
  std::unique_ptr<Engine> (*make)(const Options& options);
};
// All of them; the first is what kAutomatic chooses.
std::span<const Combination> registry();
// What kAutomatic stands for beside this protocol, on this machine. Neither of the two is kAutomatic afterwards.
void choose_automatic(Protocol protocol, SyncPolicy* sync, HtmBackend* htm);
// Ok, or why this machine cannot run it.
Status can_run(const Combination& combination);

std::unique_ptr<Engine> make_occ_optimistic(const Options& options);
std::unique_ptr<Engine> make_occ_latched(const Options& options);
std::unique_ptr<Engine> make_occ_single_threaded(const Options& options);
std::unique_ptr<Engine> make_occ_elided_none(const Options& options);
std::unique_ptr<Engine> make_occ_elided_always_aborts(const Options& options);
std::unique_ptr<Engine> make_occ_elided_rtm(const Options& options);       // on x86-64
std::unique_ptr<Engine> make_occ_elided_emulated(const Options& options);  // in builds with the emulator

}  // namespace elider::detail
