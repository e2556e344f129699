// EngineOf: the engine under one sync policy: catalog, sessions, the retry loop, statistics.
#pragma once

#include <cxxabi.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "recovery/data_folder.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "htm/test_points.h"
#include "txn/baseline/whole_transaction.h"

namespace elider::detail {

uint64_t next_database_id();
// What a procedure that threw is answered; what is null if it is no std::exception. Does not throw.
Status threw(const char* what);
// `attempt` has failed: waits before the next one, by the policy; false if the deadline passes, or the attempts are used up.
bool wait_before_retry(const RunPolicy& policy, uint32_t attempt, uint64_t begin_ns, Random& random);

template <class Sync>
class EngineOf final : public Engine {
 public:
  EngineOf(const Options& options, SyncPolicy sync, HtmBackend htm = HtmBackend::kNone)
      : sync_(sync), htm_(htm), memory_(options.memory_limit_bytes, options.huge_pages), store_(memory_, options, next_database_id()),
        pool_(std::make_shared<SessionPool<Sync>>(store_, data_)) {
    if constexpr (sync::kElides<Sync>) {
      store_.elision = std::make_unique<txn::ElisionSites>(store_.options.elision);
      if (store_.options.protocol == Protocol::kSpinlock) store_.spinlock = std::make_unique<CacheLine<sync::SpinLatch>>();
      if (store_.options.protocol == Protocol::kWholeTransaction) whole_ = std::make_unique<txn::WholeTransaction>(store_.options.elision);
    }
    if constexpr (Sync::kRegions) {
      htm::leave_regions_at_test_points<typename Sync::Backend>();
      if constexpr (requires { requires Sync::Backend::kFetchesCode; }) htm::read_code_pages();
    }
  }
  // The workers reclaim through tables and indexes: they go first (declared last).
  // The data folder closes before: it brings to the disk what is left.
  ~EngineOf() override = default;

  Status prefault(uint64_t bytes) override;
  Status run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) override;
  Status begin(bool read_only, Session** session, Transaction** txn) override;
  Result<TableRef> create_table(const Schema& schema) override;
  TableBase* find_table(std::string_view name) const override;
  std::vector<TableRef> tables() const override;
  Status open_data(const recovery::OpenHow& how, bool* may_skip) override { return data_.open(*this, store_, how, may_skip); }
  Status wait_durable(uint64_t commit_number) override {
    return store_.log == nullptr ? Status() : store_.log->wait_durable(commit_number);
  }
  void when_durable(uint64_t commit_number, std::function<void(const Status&)> told) override {
    if (store_.log == nullptr) return told(Status());
    store_.log->when_durable(commit_number, std::move(told));
  }
  const Recovery& recovery() const override { return data_.recovery(); }
  Status checkpoint() override;
  Status backup(const std::string& folder) override;
  std::unique_ptr<recovery::RowLoader> make_loader() override;
  Status build_indexes(uint32_t threads, const std::function<void(uint64_t, uint64_t)>& progress) override;
  std::unique_ptr<recovery::SnapshotRows> read_snapshot() override;
  uint32_t procedure_id(std::string_view name) override { return store_.procedures.id(name); }
  Statistics statistics() const override;
  SyncPolicy sync() const override { return sync_; }
  HtmBackend htm() const override { return htm_; }
  Protocol protocol() const override { return store_.options.protocol; }
  void collect_garbage() override;
  Status verify() override;

 private:
  using Begun = typename SessionPool<Sync>::Begun;
  using Lent = typename SessionPool<Sync>::Lent;
  using TableType = txn::Table<Sync>;

  SessionOf<Sync>* session_of_thread();
  template <class Txn>
  Status attempts(SessionOf<Sync>& session, Txn& txn, FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy);
  template <class Txn>
  Status attempt(Txn& txn, FunctionRef<Status(Transaction&)> procedure);
  template <class Txn>
  Status attempt_whole(Txn& txn, FunctionRef<Status(Transaction&)> procedure);
  // Whether the attempts of this session are whole transactions: not those within another one.
  bool whole([[maybe_unused]] const SessionOf<Sync>& session) const {
    if constexpr (sync::kElides<Sync>) return whole_ != nullptr && session.kept;
    else return false;
  }
  static Status refuse_other_thread() {
    return Status::invalid_argument("a single-threaded database has a transaction open in another thread");
  }
  Status refuse_session() const {
    return Status(Code::kMemoryLimit,
                  "more transactions are open than Options::workers_max allows (" + std::to_string(store_.options.workers_max) + ")");
  }

  std::vector<TableBase*> tables_made();

  // -- engine_inside.h
  Status verify_tables();
  Status verify_table(TableType& table);
  std::string verify_row(TableType& table, Key key, index::Handle handle, std::byte* image);
  std::string verify_entry(TableType& table, uint32_t i, const index::SecondaryKey& entry, index::Handle handle, std::byte* image);
  void add_elision(Statistics& statistics) const;

  const SyncPolicy sync_;
  const HtmBackend htm_;
  Memory memory_;
  std::mutex creation_mutex_;                // one create_table at a time; before catalog_mutex_
  mutable std::shared_mutex catalog_mutex_;  // guards tables_
  std::vector<std::unique_ptr<TableType>> tables_;
  txn::Store store_;
  std::unique_ptr<txn::WholeTransaction> whole_;  // null under other protocols
  std::shared_ptr<SessionPool<Sync>> pool_;
  recovery::DataFolder data_;
};

// -- transactions ----------------------------------------------------------------------------------------

template <class Sync>
SessionOf<Sync>* EngineOf<Sync>::session_of_thread() {
  auto* session = static_cast<SessionOf<Sync>*>(thread_session(store_.id));
  if (session == nullptr) [[unlikely]] {
    session = pool_->take();
    if (session == nullptr) return nullptr;
    try {
      session->kept = keep_thread_session(store_.id, pool_, session);
    } catch (...) {
      pool_->give_back(session);
      throw;
    }
    return session;
  }
  return session->busy ? pool_->take() : session;  // a transaction within a transaction
}

template <class Sync>
Status EngineOf<Sync>::run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) {
  if (policy.procedure_id >= txn::kProceduresMax) [[unlikely]]
    return Status::invalid_argument("RunPolicy::procedure_id is " + std::to_string(policy.procedure_id) +
                                    ", which procedure_id() never gave");
  if (store_.refuses(policy.durability)) [[unlikely]] return store_.refusal();
  if (!pool_->may_begin()) [[unlikely]] return refuse_other_thread();
  uint64_t number = 0;
  Status status = [&]() -> Status {
    const Begun begun(*pool_);
    const Lent session(*pool_, session_of_thread());
    if (session == nullptr) [[unlikely]] return refuse_session();
    Status ended =
        read_only ? attempts(*session, session->snapshot, procedure, policy) : attempts(*session, session->occ, procedure, policy);
    // Before the session is another's; a database without a log has no use for it.
    if (store_.log != nullptr) [[unlikely]] number = read_only ? session->snapshot.commit_number() : session->occ.commit_number();
    return ended;
  }();
  pool_->take_due_checkpoint();
  // Outside the epoch: a wait for the disk holds back no reclamation.
  if (status.ok() && (store_.log != nullptr || policy.commit_number != nullptr)) [[unlikely]]
    status = store_.acknowledge(policy.durability, number, policy.commit_number);
  return status;
}

template <class Sync>
template <class Txn>
Status EngineOf<Sync>::attempts(SessionOf<Sync>& session, Txn& txn, FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy) {
  const uint64_t begin_ns = policy.deadline_us != 0 ? now_ns() : 0;
  for (uint32_t number = 1;; ++number) {
    Status status;
    {
      const Inside inside(session.worker);
      txn.begin(number, policy.procedure_id);
      status = whole(session) ? attempt_whole(txn, procedure) : attempt(txn, procedure);
    }
    if (!status.retryable()) [[likely]] return status;
    if (!wait_before_retry(policy, number, begin_ns, session.worker.random())) {
      session.counters.procedures[policy.procedure_id].aborts[static_cast<size_t>(Cause::kDeadline)].add(1);
      return Status(Code::kDeadline, Cause::kDeadline, status,
                    "given up after " + std::to_string(number) + " attempts; the last one: " + status.message());
    }
  }
}

template <class Sync>
template <class Txn>
Status EngineOf<Sync>::attempt(Txn& txn, FunctionRef<Status(Transaction&)> procedure) {
  Status status;
  Cause cause = Cause::kUser;
  try {
    status = procedure(txn);
    if (status.ok()) [[likely]] return txn.commit();
  } catch (const std::exception& error) {
    status = threw(error.what());
    cause = Cause::kException;
  } catch (const abi::__forced_unwind&) {  // the thread ends (pthread_exit, a cancellation): whoever stops that aborts the process
    txn.rollback(Cause::kException);
    throw;
  } catch (...) {
    status = threw(nullptr);
    cause = Cause::kException;
  }
  // A function of the caller's that threw has doomed it, and the procedure's own answer says more.
  Status why = txn.doom();
  if (why.ok() || why.code() == Code::kProcedureThrew) why = txn.reads_hold();
  // What it made of rows that never stood together means nothing: run it again.
  if (!why.ok()) {
    cause = why.cause();
    status = std::move(why);
  }
  txn.rollback(cause);
  return status;
}

// The frame that begins the region.
template <class Sync>
template <class Txn>
[[gnu::noinline]] Status EngineOf<Sync>::attempt_whole(Txn& txn, FunctionRef<Status(Transaction&)> procedure) {
  if constexpr (sync::kElides<Sync>) return whole_->template run<typename Sync::Backend>([&] { return attempt(txn, procedure); });
  else return attempt(txn, procedure);
}

template <class Sync>
Status EngineOf<Sync>::begin(bool read_only, Session** lent, Transaction** txn) {
  if (store_.refuses(Durability::kDefault)) return store_.refusal();
  if (!pool_->may_begin()) return refuse_other_thread();
  Begun begun(*pool_);
  SessionOf<Sync>* session = pool_->take();
  if (session == nullptr) return refuse_session();
  begun.keep();
  session->busy = true;
  session->read_only = read_only;
  session->worker.enter();
  if (read_only) session->snapshot.begin(1, 0);
  else session->occ.begin(1, 0);
  *lent = session;
  *txn = read_only ? static_cast<Transaction*>(&session->snapshot) : &session->occ;
  return {};
}

// -- data folders --------------------------------------------------------------------------------------------

// Under a policy for one thread it reads beside no other.
template <class Sync>
Status EngineOf<Sync>::checkpoint() {
  if (!pool_->may_begin()) return refuse_other_thread();
  const Begun begun(*pool_);
  return data_.checkpoint();
}

template <class Sync>
Status EngineOf<Sync>::backup(const std::string& folder) {
  if (!pool_->may_begin()) return refuse_other_thread();
  const Begun begun(*pool_);
  return data_.backup(*this, store_.options, folder);
}

// -- catalog -------------------------------------------------------------------------------------------------

template <class Sync>
Result<TableRef> EngineOf<Sync>::create_table(const Schema& schema) {
  if (Status status = storage::check_schema(schema); !status.ok()) return status;
  std::lock_guard one_at_a_time(creation_mutex_);
  if (TableBase* there = find_table(schema.name)) {
    const std::string what = storage::difference(there->schema(), schema);
    if (what.empty()) return TableRef(there);
    const char* const hint = there->writable_in() != 0 ? "" : "; its own were left out when the database was opened";
    return Status(Code::kSchemaMismatch, "table '" + schema.name + "' is there with another schema: " + what + hint);
  }
  // Without catalog_mutex_: nobody else adds tables.
  if (tables_.size() >= txn::kTablesMax)
    return Status::invalid_argument("table '" + schema.name + "': there are " + std::to_string(txn::kTablesMax) + " tables already");
  auto made = std::make_unique<TableType>(schema, static_cast<uint32_t>(tables_.size()), store_.id, store_.options.block_threshold_bytes);
  if constexpr (sync::kElides<Sync>) made->for_each_latch([&](auto& latch) { latch.set_policy(store_.options.elision); });
  const auto add = [&](bool room_alone) {
    std::unique_lock lock(catalog_mutex_);
    room_alone ? tables_.reserve(tables_.size() + 1) : tables_.push_back(std::move(made));
  };
  add(true);
  if (Status status = data_.log_table(made->id(), schema); !status.ok()) return status;
  ELIDER_TEST_POINT("catalog.table_logged");
  // Before anybody can find the table, so that the history names it first; and without the catalog's lock,
  // for the sink is the caller's code. If it throws the table is there all the same: the log has it.
  try {
    if (store_.options.history != nullptr) store_.options.history->on_table(made->id(), made->schema());
  } catch (...) {
    add(false);
    throw;
  }
  add(false);
  return TableRef(tables_.back().get());
}

template <class Sync>
TableBase* EngineOf<Sync>::find_table(std::string_view name) const {
  std::shared_lock lock(catalog_mutex_);
  for (const auto& table : tables_)
    if (table->schema().name == name) return table.get();
  return nullptr;
}

template <class Sync>
std::vector<TableRef> EngineOf<Sync>::tables() const {
  std::shared_lock lock(catalog_mutex_);
  std::vector<TableRef> all;
  for (const auto& table : tables_) all.emplace_back(table.get());
  return all;
}

}  // namespace elider::detail

#include "engine/engine_inside.h"
#include "engine/engine_recovery.h"
