// EngineBase: the parts of an engine that depend neither on the sync policy nor on the protocol.
// These are the tables, the data folders, held snapshots, statistics, garbage collection, and the
// check of all invariants.
//
// Thread safety: the same as Database.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "elider/laboratory.h"
#include "elider/snapshot_number.h"
#include "engine/engine.h"
#include "engine/runtime/thread_check.h"
#include "engine/runtime/worker_pool.h"
#include "htm/site.h"
#include "recovery/data_folder.h"
#include "txn/catalog.h"
#include "txn/chopping/within_call.h"

namespace elider::detail {

uint64_t next_database_id();

class EngineBase : public Engine {
 public:
  Status prefault(uint64_t bytes) override;
  Result<TableRef> create_table(const Schema& schema) override;
  Status change_table(std::string_view name, FunctionRef<Result<Schema>(const Schema&)> change) override;
  Status create_index(std::string_view table, const SecondaryIndex& index, const CreateIndexOptions& options) override;
  Status drop_index(std::string_view table, std::string_view name) override;
  TableBase* find_table(std::string_view name) const override {
    txn::AnyTable* const table = catalog_.find(name);
    return table != nullptr && table->has_counts() ? nullptr : table;
  }
  std::vector<TableRef> tables() const override;
  Status open_data(const recovery::OpenHow& how, bool* may_skip) override { return data_.open(how, may_skip); }
  Status wait_durable(SnapshotNumber commit_number) override;
  void when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told) override;
  const Recovery& recovery() const override { return data_.recovery(); }
  Status checkpoint() override;
  Status backup(const std::string& folder) override;
  Status hold_snapshot(WhenHalfDone when, std::shared_ptr<const SnapshotHold>* hold) override;
  bool is_closed(SnapshotNumber number) const override { return store_.snapshots.is_closed(number); }
  Status hold_of(const HeldSnapshot& held, bool read_only, std::shared_ptr<const SnapshotHold>* hold) const override;
  uint64_t database_id() const override { return store_.id; }
  uint32_t procedure_id(std::string_view name) override { return store_.procedures.id(name); }
  Statistics statistics() const override;
  SyncPolicy sync() const override { return sync_; }
  HtmBackend htm() const override { return htm_; }
  const ElisionPolicy* elision() const override { return sync_ == SyncPolicy::kElided ? &store_.laboratory.elision : nullptr; }
  Protocol protocol() const override { return store_.options.protocol; }
  bool can_promise(Durability durability) const override { return !store_.asks_too_much(durability); }
  bool in_child() const override { return store_.process.in_child(); }
  void abandon() override { memory_.abandon(); }
  void collect_garbage() override;
  Status verify() override;

 protected:
  // What the engine's sync policy determines.
  struct OfPolicy {
    SyncPolicy sync;
    HtmBackend htm;
    bool one_thread;  // Sync::kConcurrent is false
    txn::TableMaker tables;
  };

  EngineBase(const Options& options, const OfPolicy& of_policy, WorkerPool::Make make_worker);
  // data_ and pool_ are declared last, so they are destroyed first. The destructor of data_ writes
  // the rest of the log to the disk. The workers in pool_ reclaim memory through tables and
  // indexes, so they must be destroyed before these.
  ~EngineBase() override;

  // Calls f(name, counts) for each place where the protocol itself runs hardware transactions
  // (htm/site.h).
  virtual void for_each_site(FunctionRef<void(std::string_view, const htm::SiteCounts&)> f) const = 0;

  Status refuse_other_thread() const {
    return Status::invalid_argument("another thread has a transaction open, and a single-threaded database allows one thread at a time");
  }
  // Returns ok if this thread may read a snapshot of all rows. A thread that runs a call of a
  // chopped procedure may not, because the read would wait for this call.
  Status may_read_all() const {
    if (txn::WithinCall::of(store_.id))
      return Status::invalid_argument("an operation of a chopped procedure cannot take a checkpoint or a backup of its own database");
    return store_.stopped() ? store_.refusal() : Status();
  }
  Status refuse_worker() const {
    return Status(Code::kMemoryLimit,
                  "too many open transactions: Options::workers_max allows " + std::to_string(store_.options.workers_max));
  }
  // Refuses a transaction within an operation of a chopped procedure, because its commit or its
  // snapshot would wait for the call.
  static Status refuse_within_call() {
    return Status::invalid_argument("a transaction cannot begin within an operation of a chopped procedure of the same database");
  }

  Result<TableBase*> begin_drop(std::string_view name) override;
  Status end_drop(TableBase& table, uint64_t wait_us) override;

 private:
  class Hold;
  Status may_change_tables() const;
  Status upgrade(const Schema& wanted);
  Status build_index(txn::Catalog::NewIndex& index, const CreateIndexOptions& options, const std::string& what);
  void drop_counts(txn::AnyTable& counts);
  Status count_index(txn::Catalog::NewIndex& index, const CreateIndexOptions& options, const std::string& what);
  Status await_change(SnapshotNumber number) const;
  void end_hold(EngineWorker& worker);
  void add_elision(Statistics& statistics) const;
  void add_memory(const txn::AnyTable& table, Statistics::Table& its, Statistics& statistics) const;

  const SyncPolicy sync_;
  const HtmBackend htm_;
  Memory memory_;
  txn::Catalog catalog_;

 protected:
  txn::Store store_;
  ThreadCheck threads_;
  std::shared_ptr<WorkerPool> pool_;
  recovery::DataFolder data_;
};

}  // namespace elider::detail
