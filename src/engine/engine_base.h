// EngineBase: the parts of an engine that depend on the sync policy but not on the protocol. These
// are the data folders, statistics, garbage collection, and the check of all invariants.
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
#include "engine/worker_pool.h"
#include "engine/thread_check.h"
#include "htm/site.h"
#include "recovery/data_folder.h"
#include "sync/elided.h"
#include "txn/chopping/within_call.h"
#include "txn/catalog.h"
#include "txn/make_table.h"

namespace elider::detail {

uint64_t next_database_id();

template <class Sync>
class EngineBase : public Engine {
 public:
  Status prefault(uint64_t bytes) override;
  Result<TableRef> create_table(const Schema& schema) override {
    Result<txn::AnyTable*> made = catalog_.create(schema);
    if (!made.ok()) return made.status();
    return TableRef(*made);
  }
  TableBase* find_table(std::string_view name) const override { return catalog_.find(name); }
  std::vector<TableRef> tables() const override {
    std::vector<TableRef> all;
    for (txn::AnyTable* const table : catalog_.tables()) all.emplace_back(table);
    return all;
  }
  Status open_data(const recovery::OpenHow& how, bool* may_skip) override { return data_.open(how, may_skip); }
  Status wait_durable(SnapshotNumber commit_number) override {
    if (txn::WithinCall::of(store_.id))
      return Status::invalid_argument(
          "an operation of a chopped procedure cannot wait for durability: its call becomes durable only after it has ended");
    if (store_.process.in_child()) return store_.refusal();
    if (store_.log == nullptr) return {};
    if (store_.log->durable() < commit_number) give_turn_back(store_.id);
    return store_.log->wait_durable(commit_number);
  }
  void when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told) override {
    if (store_.process.in_child()) return told(store_.refusal());
    if (store_.log == nullptr) return told(Status());
    store_.log->when_durable(commit_number, std::move(told));
  }
  const Recovery& recovery() const override { return data_.recovery(); }
  Status checkpoint() override;
  Status backup(const std::string& folder) override;
  Status hold_snapshot(WhenHalfDone when, std::shared_ptr<const SnapshotHold>* hold) override;
  bool is_closed(SnapshotNumber number) const override { return store_.snapshots.is_closed(number); }
  Status hold_of(const HeldSnapshot& held, bool read_only, std::shared_ptr<const SnapshotHold>* hold) const override {
    if (!read_only) return Status::invalid_argument("a transaction that may write cannot run at a held snapshot; use a read-only one");
    *hold = held.hold();
    if (*hold == nullptr) return Status::invalid_argument("the HeldSnapshot is empty; Database::hold_snapshot() returns a usable one");
    if ((*hold)->database != store_.id) return Status::invalid_argument("the HeldSnapshot belongs to another database");
    return {};
  }
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
  using Begun = typename ThreadCheck<Sync>::Begun;

  EngineBase(const Options& options, SyncPolicy sync, HtmBackend htm, uint32_t protocol_bytes, WorkerPool::Make make_worker)
      : sync_(sync),
        htm_(htm),
        memory_(options.memory_limit_bytes, options.huge_pages, laboratory_of(options).parts.own_allocators),
        catalog_(memory_, store_, {&txn::make_table<Sync>, protocol_bytes}),
        store_(memory_, options, next_database_id()),
        pool_(std::make_shared<WorkerPool>(store_, std::move(make_worker))),
        data_(catalog_, store_, sync == SyncPolicy::kSingleThreaded) {}
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
  // Takes a checkpoint that is due. Under a single-threaded policy, a thread that has just ended a
  // transaction does this, because the database's own threads must not access the rows.
  void take_due_checkpoint() {
    if constexpr (!Sync::kConcurrent) {
      if (!data_.checkpoint_due() || !threads_.may_begin()) [[likely]] return;
      const Begun begun(threads_);
      static_cast<void>(data_.checkpoint());  // the statistics report a failure
    }
  }

  // Refuses a transaction within an operation of a chopped procedure, because its commit or its
  // snapshot would wait for the call.
  static Status refuse_within_call() {
    return Status::invalid_argument("a transaction cannot begin within an operation of a chopped procedure of the same database");
  }

 private:
  class Hold;
  void end_hold(EngineWorker& worker);
  void add_elision(Statistics& statistics) const;
  void add_memory(const txn::AnyTable& table, Statistics& statistics) const;

  const SyncPolicy sync_;
  const HtmBackend htm_;
  Memory memory_;
  txn::Catalog catalog_;

 protected:
  txn::Store store_;
  ThreadCheck<Sync> threads_;
  std::shared_ptr<WorkerPool> pool_;
  recovery::DataFolder data_;
};

template <class Sync>
EngineBase<Sync>::~EngineBase() = default;

// -- data folders ---------------------------------------------------------------------------------

// Under a single-threaded policy, a checkpoint must not read rows while another thread runs a
// transaction.
template <class Sync>
Status EngineBase<Sync>::checkpoint() {
  if (!threads_.may_begin()) return refuse_other_thread();
  if (Status status = may_read_all(); !status.ok()) return status;
  const Begun begun(threads_);
  Status status = data_.checkpoint();
  return status.ok() ? may_read_all() : status;
}

template <class Sync>
Status EngineBase<Sync>::backup(const std::string& folder) {
  if (!threads_.may_begin()) return refuse_other_thread();
  if (Status status = may_read_all(); !status.ok()) return status;
  const Begun begun(threads_);
  return data_.backup(folder);
}

// -- held snapshots -------------------------------------------------------------------------------

template <class Sync>
class EngineBase<Sync>::Hold final : public SnapshotHold {
 public:
  Hold(EngineBase& engine, EngineWorker& worker, SnapshotNumber at)
      : SnapshotHold(engine.store_.id, at), engine_(engine), worker_(worker) {}
  ~Hold() override { engine_.end_hold(worker_); }

 private:
  EngineBase& engine_;
  EngineWorker& worker_;
};

template <class Sync>
void EngineBase<Sync>::end_hold(EngineWorker& worker) {
  if (store_.process.in_child()) return;
  store_.snapshots.end_reading(worker.base.id());
  worker.base.leave();
  worker.busy = false;
  threads_.finished();
  pool_->give_back(&worker);
}

template <class Sync>
Status EngineBase<Sync>::hold_snapshot(WhenHalfDone when, std::shared_ptr<const SnapshotHold>* hold) {
  if (txn::WithinCall::of(store_.id)) return refuse_within_call();
  if (store_.process.in_child() || store_.stopped()) return store_.refusal();
  if (!threads_.may_begin()) return refuse_other_thread();
  Begun begun(threads_);
  try {
    EngineWorker* const worker = pool_->take(WorkerPool::Use::kHolds);
    if (worker == nullptr) return refuse_worker();
    begun.keep();
    worker->busy = true;
    worker->base.enter();
    const SnapshotNumber n = store_.snapshots.announce_reader(worker->base.id());
    try {
      *hold = std::make_shared<Hold>(*this, *worker, n);
    } catch (...) {
      end_hold(*worker);
      throw;
    }
    if (when == WhenHalfDone::kWait) store_.snapshots.await_closed(n);
    return {};
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

}  // namespace elider::detail

#include "engine/engine_statistics.h"
#include "engine/engine_verify.h"
