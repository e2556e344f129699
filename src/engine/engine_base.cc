#include "engine/engine_base.h"

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "base/test_points.h"
#include "base/thread_ends.h"
#include "engine/introspection/verify.h"
#include "txn/index_build.h"

namespace elider::detail {

EngineBase::EngineBase(const Options& options, const OfPolicy& of_policy, WorkerPool::Make make_worker)
    : sync_(of_policy.sync),
      htm_(of_policy.htm),
      memory_(options.memory_limit_bytes, options.huge_pages, laboratory_of(options).parts.own_allocators),
      catalog_(memory_, store_, of_policy.tables),
      store_(memory_, options, next_database_id()),
      threads_(of_policy.one_thread),
      pool_(std::make_shared<WorkerPool>(store_, std::move(make_worker))),
      data_(catalog_, store_, of_policy.one_thread) {}

EngineBase::~EngineBase() = default;

Result<TableRef> EngineBase::create_table(const Schema& schema) {
  if (store_.options.upgrade)
    if (Status status = upgrade(schema); !status.ok()) return status;
  Result<txn::AnyTable*> made = catalog_.create(schema);
  if (!made.ok()) return made.status();
  return TableRef(*made);
}

// A change of a table needs the log, as a transaction that writes.
Status EngineBase::may_change_tables() const {
  if (txn::WithinCall::of(store_.id)) return refuse_within_call();
  return store_.refuses(Durability::kDefault) ? store_.refusal() : Status();
}

// Waits until the change is durable, if a commit would wait.
Status EngineBase::await_change(SnapshotNumber number) const {
  if (store_.must_wait(Durability::kDefault, number)) give_turn_back(store_.id);
  return store_.acknowledge(Durability::kDefault, number, nullptr, false);
}

Status EngineBase::change_table(std::string_view name, FunctionRef<Result<Schema>(const Schema&)> change) {
  if (Status status = may_change_tables(); !status.ok()) return status;
  try {
    SnapshotNumber number = 0;
    Status status = catalog_.change(name, change, &number);
    return status.ok() ? await_change(number) : status;
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

Result<TableBase*> EngineBase::begin_drop(std::string_view name) {
  if (Status status = may_change_tables(); !status.ok()) return status;
  Result<txn::AnyTable*> begun = catalog_.begin_drop(name);
  return begun.ok() ? Result<TableBase*>(*begun) : begun.status();
}

Status EngineBase::end_drop(TableBase& table, uint64_t wait_us) {
  // Dropping reclaims memory, which a single-threaded policy allows only to one thread at a time.
  if (!threads_.may_begin()) {
    catalog_.cancel_drop(static_cast<txn::AnyTable&>(table));
    return refuse_other_thread();
  }
  const ThreadCheck::Begun begun(threads_);
  give_turn_back(store_.id);
  SnapshotNumber number = 0;
  Status status = catalog_.end_drop(static_cast<txn::AnyTable&>(table), wait_us, &number);
  return status.ok() ? await_change(number) : status;
}

Status EngineBase::create_index(std::string_view name, const SecondaryIndex& definition, const CreateIndexOptions& options) {
  if (Status status = may_change_tables(); !status.ok()) return status;
  // Building an index locks rows, which a single-threaded policy allows only to one thread at a
  // time.
  if (!threads_.may_begin()) return refuse_other_thread();
  const ThreadCheck::Begun begun(threads_);
  give_turn_back(store_.id);
  try {
    const txn::AnyTable* const table = catalog_.find(name);
    if (table == nullptr) return Status(Code::kNotFound, "table '" + std::string(name) + "' does not exist");
    txn::Catalog::NewIndex index;
    const auto begin = [&] { return catalog_.begin_index(name, definition, &index); };
    const std::string what = "index '" + definition.name + "' of table '" + std::string(name) + "' was not created";
    if (Status status = without_procedures(*table, what, begin); !status.ok()) return status;
    SnapshotNumber number = 0;
    Status status;
    try {
      status = build_index(index, options, what);
      if (status.ok()) status = without_procedures(*table, what, [&] { return catalog_.end_index(index, &number); });
    } catch (...) {
      catalog_.cancel_index(index);
      throw;
    }
    if (status.ok()) return await_change(number);
    catalog_.cancel_index(index);
    return status;
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

// Fills an index that the transactions maintain (txn/index_build.h).
Status EngineBase::build_index(txn::Catalog::NewIndex& index, const CreateIndexOptions& options, const std::string& what) {
  ELIDER_TEST_POINT("index_build.begun");
  if (!ELIDER_MUTANT(kFillAtOnce))
    if (Status status = catalog_.await_transactions(options.wait_us, what); !status.ok()) return status;
  ELIDER_TEST_POINT("index_build.filling");
  const uint32_t i = txn::AnyTable::slot_of(index.slot->position);
  const auto progress = [&](uint64_t done, uint64_t all) { return !options.progress || options.progress(done, all); };
  if (Status status = txn::fill_index(store_.workers, *index.table, i, progress); !status.ok()) return status;
  ELIDER_TEST_POINT("index_build.filled");
  if (index.slot->definition.unique) {
    if (Status status = catalog_.await_transactions(options.wait_us, what); !status.ok()) return status;
    if (Status status = txn::check_unique_index(store_.workers, *index.table, i); !status.ok()) return status;
  }
  return index.slot->definition.ranked ? count_index(index, options, what) : Status();
}

// Computes the counts of a new ranked index. Writes that change its entries are refused meanwhile.
Status EngineBase::count_index(txn::Catalog::NewIndex& index, const CreateIndexOptions& options, const std::string& what) {
  const uint32_t i = txn::AnyTable::slot_of(index.slot->position);
  index.table->await_ranks(i);
  ELIDER_TEST_POINT("index_build.counting");
  if (!ELIDER_MUTANT(kCountAtOnce))
    if (Status status = catalog_.await_transactions(options.wait_us, what); !status.ok()) return status;
  txn::RankBuilder counts;
  if (Status status = txn::count_entries(store_.workers, *index.table, i, &counts); !status.ok()) return status;
  ELIDER_TEST_POINT("index_build.counted");
  if (Status status = catalog_.create_counts(&index); !status.ok()) return status;
  constexpr size_t kIntervalsAtOnce = 4096;  // in a transaction
  size_t next = 0;
  for (bool done = false; !done;) {
    size_t reached = next;
    const auto insert = [&](Transaction& txn) {
      reached = next;
      return counts.insert(txn, *index.counts, kIntervalsAtOnce, &reached, &done);
    };
    if (Status status = run(insert, {}, false); !status.ok()) return status;
    next = reached;
  }
  ELIDER_TEST_POINT("index_build.counts_inserted");
  return {};
}

// Drops the counts of an index that has been dropped. Transactions that began before may still
// write to them. If one of these does not end soon, the counts are left over (txn/catalog.h).
void EngineBase::drop_counts(txn::AnyTable& counts) {
  constexpr uint64_t kWaitUs = 1'000'000;
  try {
    if (!catalog_.await_transactions(kWaitUs, "counts").ok()) return;
  } catch (const std::bad_alloc&) {
    return;
  }
  ELIDER_TEST_POINT("catalog.counts_alone");
  catalog_.drop_counts(counts);
}

Status EngineBase::drop_index(std::string_view name, std::string_view index) {
  if (Status status = may_change_tables(); !status.ok()) return status;
  if (!threads_.may_begin()) return refuse_other_thread();
  const ThreadCheck::Begun begun(threads_);
  give_turn_back(store_.id);
  try {
    const txn::AnyTable* const table = catalog_.find(name);
    if (table == nullptr) return Status(Code::kNotFound, "table '" + std::string(name) + "' does not exist");
    SnapshotNumber number = 0;
    const std::string what = "index '" + std::string(index) + "' of table '" + std::string(name) + "' cannot be dropped";
    txn::Catalog::NewIndex dropped;
    Status status = without_procedures(*table, what, [&] { return catalog_.drop_index(name, index, &dropped, &number); });
    if (!status.ok()) return status;
    catalog_.free_index(dropped);
    if (dropped.counts != nullptr) drop_counts(*dropped.counts);
    return await_change(number);
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

// Adds the columns and the indexes that an existing table lacks (Options::upgrade). Leaves other
// differences to Catalog::create(), which reports them.
Status EngineBase::upgrade(const Schema& wanted) {
  const txn::AnyTable* const table = catalog_.find(wanted.name);
  if (table == nullptr || storage::difference(table->schema(), wanted).empty()) return {};
  const Result<Schema> target = storage::upgraded(table->schema(), wanted);
  if (!target.ok()) return {};
  const auto columns = [&](const Schema& now) -> Result<Schema> {
    Result<Schema> changed = storage::upgraded(now, wanted);
    if (changed.ok()) changed->indexes = now.indexes;
    return changed;
  };
  Status status;
  if (target->row_columns.size() != table->schema().row_columns.size()) status = change_table(wanted.name, columns);
  for (size_t i = table->schema().indexes.size(); status.ok() && i < target->indexes.size(); ++i)
    status = create_index(wanted.name, target->indexes[i], {});
  const bool reported_by_create = status.code() == Code::kSchemaMismatch || status.not_found();
  return reported_by_create ? Status() : status;
}

std::vector<TableRef> EngineBase::tables() const {
  std::vector<TableRef> all;
  for (txn::AnyTable* const table : catalog_.tables())
    if (table->usable() && !table->has_counts()) all.emplace_back(table);
  return all;
}

// -- data folders ---------------------------------------------------------------------------------

// Under a single-threaded policy, a checkpoint must not read rows while another thread runs a
// transaction.
Status EngineBase::checkpoint() {
  if (!threads_.may_begin()) return refuse_other_thread();
  if (Status status = may_read_all(); !status.ok()) return status;
  const ThreadCheck::Begun begun(threads_);
  Status status = data_.checkpoint();
  return status.ok() ? may_read_all() : status;
}

Status EngineBase::backup(const std::string& folder) {
  if (!threads_.may_begin()) return refuse_other_thread();
  if (Status status = may_read_all(); !status.ok()) return status;
  const ThreadCheck::Begun begun(threads_);
  return data_.backup(folder);
}

Status EngineBase::wait_durable(SnapshotNumber commit_number) {
  if (txn::WithinCall::of(store_.id))
    return Status::invalid_argument(
        "an operation of a chopped procedure cannot wait for durability: its call becomes durable only after it has ended");
  if (store_.process.in_child()) return store_.refusal();
  if (store_.log == nullptr) return {};
  if (store_.log->durable() < commit_number) give_turn_back(store_.id);
  return store_.log->wait_durable(commit_number);
}

void EngineBase::when_durable(SnapshotNumber commit_number, std::function<void(const Status&)> told) {
  if (store_.process.in_child()) return told(store_.refusal());
  if (store_.log == nullptr) return told(Status());
  store_.log->when_durable(commit_number, std::move(told));
}

// -- held snapshots -------------------------------------------------------------------------------

class EngineBase::Hold final : public SnapshotHold {
 public:
  Hold(EngineBase& engine, EngineWorker& worker, SnapshotNumber at)
      : SnapshotHold(engine.store_.id, at), engine_(engine), worker_(worker) {}
  ~Hold() override { engine_.end_hold(worker_); }

 private:
  EngineBase& engine_;
  EngineWorker& worker_;
};

void EngineBase::end_hold(EngineWorker& worker) {
  if (store_.process.in_child()) return;
  store_.snapshots.end_reading(worker.base.id());
  worker.base.leave();
  worker.busy = false;
  threads_.finished();
  pool_->give_back(&worker);
}

Status EngineBase::hold_snapshot(WhenHalfDone when, std::shared_ptr<const SnapshotHold>* hold) {
  if (txn::WithinCall::of(store_.id)) return refuse_within_call();
  if (store_.process.in_child() || store_.stopped()) return store_.refusal();
  if (!threads_.may_begin()) return refuse_other_thread();
  ThreadCheck::Begun begun(threads_);
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

Status EngineBase::hold_of(const HeldSnapshot& held, bool read_only, std::shared_ptr<const SnapshotHold>* hold) const {
  if (!read_only) return Status::invalid_argument("a transaction that may write cannot run at a held snapshot; use a read-only one");
  *hold = held.hold();
  if (*hold == nullptr) return Status::invalid_argument("the HeldSnapshot is empty; Database::hold_snapshot() returns a usable one");
  if ((*hold)->database != store_.id) return Status::invalid_argument("the HeldSnapshot belongs to another database");
  return {};
}

// -- verification and memory ----------------------------------------------------------------------

Status EngineBase::verify() {
  EngineWorker* worker = pool_->take();
  if (worker == nullptr) return refuse_worker();
  worker->base.enter();
  Status status;
  try {
    for (txn::AnyTable* const table : catalog_.tables())
      if (status.ok()) status = verify_table(*table);
  } catch (const std::bad_alloc&) {
    status = Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  } catch (const std::exception& error) {  // thrown by a key function
    status = Status(Code::kProcedureThrew, std::string("a key function threw: ") + error.what());
  } catch (...) {
    if (thread_ends()) {
      worker->base.leave();
      pool_->give_back(worker);
      throw;
    }
    status = Status(Code::kProcedureThrew, "a key function threw an exception that is not a std::exception");
  }
  worker->base.leave();
  pool_->give_back(worker);
  return status;
}

void EngineBase::collect_garbage() {
  // The memory of a removed row needs three grace periods: until the row is unlinked, until its
  // memory may be retired, and until the memory is freed.
  constexpr int kRoundsMax = 16;
  for (int round = 0; round < kRoundsMax && store_.workers.retired_objects() != 0; ++round) store_.workers.collect();
}

Status EngineBase::prefault(uint64_t bytes) {
  if (memory_.prefault(bytes)) return {};
  return Status(Code::kMemoryLimit, "Options::prefault_bytes is " + std::to_string(bytes) + ", more memory than the system can provide");
}

}  // namespace elider::detail
