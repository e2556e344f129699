// EngineOf: the engine of one sync policy and one protocol. It owns the workers and runs
// transactions. Everything that depends neither on the policy nor on the protocol is in EngineBase.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "base/clock.h"
#include "elider/snapshot_number.h"
#include "engine/engine_base.h"
#include "engine/runtime/group.h"
#include "htm/test_points.h"
#include "txn/chopping/within_call.h"
#include "txn/make_table.h"
#include "txn/protocol.h"

namespace elider::detail {

template <class Sync, template <class> class ProtocolOf>
class EngineOf;

template <class Sync, template <class> class ProtocolOf>
class alignas(kCacheLinePairBytes) WorkerOf final : public EngineWorker {
 public:
  using Transaction = typename ProtocolOf<Sync>::Transaction;
  using Engine = EngineOf<Sync, ProtocolOf>;

  WorkerOf(WorkerPool& its_pool, Engine& engine, txn::Store& store, ProtocolOf<Sync>& protocol, Worker& its_worker)
      : EngineWorker(its_pool, its_worker), engine_(engine), transaction_(protocol.make_transaction(its_worker, counters)),
        snapshot_(store, its_worker, counters) {}

  Transaction& transaction() { return transaction_; }
  typename ProtocolOf<Sync>::Snapshot& snapshot() { return snapshot_; }
  // Calls f with the read-only transaction or with the read-write transaction.
  template <class F>
  decltype(auto) with(bool read_only_one, F&& f) {
    return read_only_one ? f(snapshot_) : f(transaction_);
  }

  // Returns the memory for groups of calls. May throw std::bad_alloc.
  GroupRun& group_run() {
    if (group_run_ == nullptr) group_run_ = std::make_unique<GroupRun>();
    return *group_run_;
  }

  Status commit_active(Durability durability, SnapshotNumber* commit_number) override {
    return engine_.commit_active(*this, durability, commit_number);
  }
  void rollback_active() override { engine_.rollback_active(*this); }

 private:
  Engine& engine_;
  Transaction transaction_;
  typename ProtocolOf<Sync>::Snapshot snapshot_;
  std::unique_ptr<GroupRun> group_run_;
};

template <class Sync, template <class> class ProtocolOf>
class EngineOf final : public EngineBase {
 public:
  using Protocol = ProtocolOf<Sync>;
  using WorkerType = WorkerOf<Sync, ProtocolOf>;
  static_assert(txn::ProtocolObject<Protocol>);
  static_assert(Protocol::kTakesPolicy, "the protocol does not run under this sync policy");

  EngineOf(const Options& options, SyncPolicy sync, HtmBackend htm = HtmBackend::kNone)
      : EngineBase(options, {sync, htm, !Sync::kConcurrent, {&txn::make_table<Sync>, Protocol::kCellBytes}},
                   [this](WorkerPool& pool, Worker& worker) {
                     return std::make_unique<WorkerType>(pool, *this, store_, protocol_, worker);
                   }),
        protocol_(store_) {
    if constexpr (Sync::kRegions) {
      htm::leave_regions_at_test_points<typename Sync::Backend>();
      if constexpr (requires { requires Sync::Backend::kFetchesCode; }) htm::read_code_pages();
    }
  }
  // Closing the log calls the callbacks of when_durable(). They may call the engine, so this must
  // happen before the destructor of the base class.
  ~EngineOf() override { data_.close(); }

  Status run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) override;
  Status run_group(const GroupCalls& calls, const GroupPolicy& policy) override;
  Status call_in_pieces(const txn::ExecutableProcedure& procedure, void* arguments, const RunPolicy& policy) override;
  Status begin(BeginHow how, std::shared_ptr<const SnapshotHold> at, EngineWorker** worker, Transaction** txn) override;
  // Commits and ends the transaction of an ActiveTransaction.
  Status commit_active(WorkerType& worker, Durability durability, SnapshotNumber* commit_number);
  void rollback_active(WorkerType& worker);

 private:
  class Stay;

  void for_each_site(FunctionRef<void(std::string_view, const htm::SiteCounts&)> f) const override {
    protocol_.for_each_site(f);
    if (kCalls && execution() != nullptr)
      for (const txn::ExecutableProcedure& procedure : execution()->procedures)
        if (procedure.site != nullptr) f("call of " + procedure.name, procedure.site->counts());
  }
  // Like ThreadCheck's functions, but without cost under a policy that allows several threads.
  [[gnu::always_inline]] inline bool may_begin() { return Sync::kConcurrent || threads_.may_begin(); }
  [[gnu::always_inline]] inline void finished() {
    if constexpr (!Sync::kConcurrent) threads_.finished();
  }
  // Calls finished() in its destructor, unless keep() has been called.
  class Begun {
   public:
    explicit Begun(EngineOf& engine) : engine_(&engine) {}
    ~Begun() {
      if (engine_ != nullptr) engine_->finished();
    }
    Begun(const Begun&) = delete;
    Begun& operator=(const Begun&) = delete;
    void keep() { engine_ = nullptr; }

   private:
    EngineOf* engine_;
  };
  // Takes a checkpoint that is due. Under a single-threaded policy, a thread that has just ended a
  // transaction does this, because the database's own threads must not access the rows.
  void take_due_checkpoint() {
    if constexpr (!Sync::kConcurrent) {
      if (!data_.checkpoint_due() || !may_begin()) [[likely]] return;
      const Begun begun(*this);
      static_cast<void>(data_.checkpoint());  // the statistics report a failure
    }
  }

  // Returns true if the thread may run a transaction. The permission lasts until
  // finished().
  [[gnu::always_inline]] inline bool may_run(const RunPolicy& policy) {
    if constexpr (kCalls)
      if (txn::WithinCall::of(store_.id)) [[unlikely]] return false;
    return policy.procedure_id < txn::kProceduresMax && !store_.refuses(policy.durability) && may_begin();
  }
  // Returns the reason why may_run() returned false.
  [[gnu::noinline]] Status refuse_run(const RunPolicy& policy) const {
    if (store_.process.in_child()) return store_.refusal();
    if (kCalls && txn::WithinCall::of(store_.id)) return refuse_within_call();
    if (policy.procedure_id >= txn::kProceduresMax) return txn::refuse_procedure_id(policy.procedure_id);
    return store_.refuses(policy.durability) ? store_.refusal() : refuse_other_thread();
  }
  static constexpr bool kCalls = txn::RunsCalls<Protocol>;
  // A separate function, so that a read-write transaction does not save registers for this path.
  [[gnu::noinline]] Status run_read_only(WorkerType& worker, FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy) {
    return run_on(worker.snapshot(), worker, procedure, policy);
  }
  template <class Txn>
  [[gnu::always_inline]] inline Status run_on(Txn& txn, WorkerType& worker, FunctionRef<Status(Transaction&)> procedure,
                                              const RunPolicy& policy) {
    return protocol_.run(txn, {procedure, policy, worker.base, worker.counters, !worker.kept});
  }
  Status run_at_newest(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only);
  [[gnu::noinline]] Status run_held(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only);
  EngineWorker* worker_of_thread();
  [[gnu::noinline]] EngineWorker* find_worker();
  // Called after a commit, when the thread has left the worker and the epoch. So waiting for the
  // disk does not delay reclamation.
  [[gnu::always_inline]] inline Status acknowledge(const RunPolicy& policy, SnapshotNumber number, bool read_only) const {
    if (store_.log == nullptr && policy.commit_number == nullptr) [[likely]] return {};
    return store_.acknowledge(policy.durability, number, policy.commit_number, read_only);
  }
  // Called before acknowledge(), while the thread still has the turn in which the commit ran.
  void give_turn_back_to_wait(Durability durability, SnapshotNumber number) const {
    if (store_.must_wait(durability, number)) [[unlikely]] give_turn_back(store_.id);
  }
  // A separate function, so that run_call() can be inlined into call_in_pieces().
  [[gnu::noinline]] Status run_call_of_group(typename Protocol::Transaction& txn, const txn::Execution& execution,
                                             const txn::ExecutableProcedure& procedure, void* arguments, const txn::Call& call,
                                             std::span<const txn::TouchedRow> rows, SnapshotNumber* number)
    requires kCalls
  {
    Status status = protocol_.run_call(txn, execution, procedure, arguments, call, rows, number);
    protocol_.await_answer(txn, execution, procedure, &status);
    return status;
  }
  template <class RunOne>
  void run_members(WorkerType& worker, const GroupPolicy& policy, Group& group, uint64_t begin_ns, RunOne&& run_one);
  void attempt_each(WorkerType& worker, const GroupCalls& calls, const GroupPolicy& policy, Group& group, uint64_t begin_ns,
                    SnapshotNumber* number);
  void call_each(WorkerType& worker, const GroupCalls& calls, const GroupPolicy& policy, Group& group, uint64_t begin_ns,
                 SnapshotNumber* number)
    requires kCalls;
  void finish_active(WorkerType& worker);

  Protocol protocol_;
};

template <class Sync, template <class> class ProtocolOf>
[[gnu::always_inline]] inline EngineWorker* EngineOf<Sync, ProtocolOf>::worker_of_thread() {
  EngineWorker* const last = last_worker.worker;
  return last_worker.id == store_.id && !last->busy ? last : find_worker();
}

template <class Sync, template <class> class ProtocolOf>
EngineWorker* EngineOf<Sync, ProtocolOf>::find_worker() {
  EngineWorker* worker = thread_worker(store_.id);
  if (worker == nullptr) {
    worker = pool_->take();
    if (worker == nullptr) return nullptr;
    try {
      worker->kept = keep_thread_worker(store_.id, pool_, worker);
    } catch (...) {
      pool_->give_back(worker);
      throw;
    }
    return worker;
  }
  return worker->busy ? pool_->take() : worker;  // a transaction within a transaction
}

// A Stay exists while a thread runs one transaction or one group in the engine. The thread then
// owns a worker, and a turn (engine/runtime/turns.h) if there are more threads than turns. The
// caller must check may_run() first. end() gives both back, or the destructor if an exception is
// thrown.
template <class Sync, template <class> class ProtocolOf>
class EngineOf<Sync, ProtocolOf>::Stay {
 public:
  // May throw std::bad_alloc, without effect.
  [[gnu::always_inline]] explicit Stay(EngineOf& engine) : engine_(engine) {
    Begun begun(engine_);
    EngineWorker* const worker = engine_.worker_of_thread();
    if (worker == nullptr) [[unlikely]] return;
    // A worker that the thread does not keep runs a nested transaction, in the outer one's turn.
    Turns& turns = engine_.pool_->turns;
    if (turns.crowded() && worker->kept) [[unlikely]] turns.begin(worker->turn);
    begun.keep();
    worker->busy = true;
    worker_ = static_cast<WorkerType*>(worker);
  }
  [[gnu::always_inline]] ~Stay() { leave(); }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  // Returns false if workers_max workers are in use (see refuse_worker()).
  explicit operator bool() const { return worker_ != nullptr; }
  WorkerType& operator*() const { return *worker_; }
  WorkerType* operator->() const { return worker_; }

  // Called after a commit with this number, before end() and acknowledge().
  [[gnu::always_inline]] void committed(const RunPolicy& policy, SnapshotNumber number) const {
    engine_.give_turn_back_to_wait(policy.durability, number);
  }
  // Leaves the worker and takes a checkpoint if one is due.
  [[gnu::always_inline]] void end() {
    leave();
    engine_.take_due_checkpoint();
  }

 private:
  [[gnu::always_inline]] void leave() {
    if (worker_ == nullptr) return;
    Turns& turns = engine_.pool_->turns;
    if (turns.crowded()) [[unlikely]] turns.end(worker_->turn);
    worker_->busy = false;
    if (!worker_->kept) [[unlikely]] engine_.pool_->give_back(worker_);
    worker_ = nullptr;
    engine_.finished();
  }

  EngineOf& engine_;
  WorkerType* worker_ = nullptr;
};

template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) {
  if (!may_run(policy)) [[unlikely]] return refuse_run(policy);
  if (policy.snapshot != nullptr) [[unlikely]] return run_held(procedure, policy, read_only);
  return run_at_newest(procedure, policy, read_only);
}

template <class Sync, template <class> class ProtocolOf>
[[gnu::always_inline]] inline Status EngineOf<Sync, ProtocolOf>::run_at_newest(FunctionRef<Status(Transaction&)> procedure,
                                                                               const RunPolicy& policy, bool read_only) {
  Stay stay(*this);
  if (!stay) [[unlikely]] return refuse_worker();
  Status status = read_only ? run_read_only(*stay, procedure, policy) : run_on(stay->transaction(), *stay, procedure, policy);
  SnapshotNumber number = 0;
  if (store_.log != nullptr) [[unlikely]] {
    number = stay->with(read_only, [](auto& txn) { return txn.commit_number(); });
    if (status.ok()) stay.committed(policy, number);
  }
  stay.end();
  return status.ok() ? acknowledge(policy, number, read_only) : status;
}

// Runs a read-only transaction at a held snapshot.
template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::run_held(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) {
  std::shared_ptr<const SnapshotHold> hold;  // released after the worker has left the epoch, but before a wait for the disk
  if (Status refused = hold_of(*policy.snapshot, read_only, &hold); !refused.ok()) return refused;
  Stay stay(*this);
  if (!stay) return refuse_worker();
  Status status;
  {
    const txn::ReadingAt reading(stay->snapshot(), hold->number);
    status = run_read_only(*stay, procedure, policy);
  }
  const SnapshotNumber number = hold->number;
  if (status.ok()) stay.committed(policy, number);
  stay.end();
  hold.reset();
  return status.ok() ? acknowledge(policy, number, true) : status;
}

// -- calls of procedures with operations ----------------------------------------------------------

// Under a protocol without pieces, the call is an ordinary transaction.
template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::call_in_pieces(const txn::ExecutableProcedure& procedure, void* arguments, const RunPolicy& policy) {
  const txn::Execution& all = *execution();
  const auto whole = [&](Transaction& txn) { return txn::run_whole(txn, all, procedure, arguments); };
  if constexpr (kCalls) {
    if (procedure.on_snapshot || policy.snapshot != nullptr) [[unlikely]] return run(whole, policy, procedure.on_snapshot);
    if (!may_run(policy)) [[unlikely]] return refuse_run(policy);
    Stay stay(*this);
    if (!stay) [[unlikely]] return refuse_worker();
    SnapshotNumber number = 0;
    const auto none = [](Transaction&) { return Status(); };
    Status status = [&]() __attribute__((always_inline)) -> Status {
      const Inside inside(stay->base);
      return protocol_.run_call(stay->transaction(), all, procedure, arguments, {none, policy, stay->base, stay->counters, !stay->kept}, {},
                                &number);
    }();
    protocol_.await_answer(stay->transaction(), all, procedure, &status);
    if (status.ok()) stay.committed(policy, number);
    stay.end();
    return status.ok() ? acknowledge(policy, number, false) : status;
  } else {
    return run(whole, policy, procedure.on_snapshot);
  }
}

// -- groups of transactions -----------------------------------------------------------------------

// Calls run_one(member) for each member of the group, which tries once to run it. If the calls
// must take effect in their order, repeats a member with a conflict as often as the policy allows,
// before the next member runs.
template <class Sync, template <class> class ProtocolOf>
template <class RunOne>
void EngineOf<Sync, ProtocolOf>::run_members(WorkerType& worker, const GroupPolicy& policy, Group& group, uint64_t begin_ns,
                                             RunOne&& run_one) {
  group.run_each<Sync>(worker.base, store_.id, policy.in_order, run_one, [&](Group::Member& member) {
    txn::tell_conflict(policy, member.status);
    if (txn::wait_before_retry(policy, member.attempt, begin_ns, worker.base.random())) return true;
    member.status = txn::given_up(worker.counters, member.procedure_id, member.attempt, member.status);
    return false;
  });
}

// Makes one attempt of each member of a group.
template <class Sync, template <class> class ProtocolOf>
void EngineOf<Sync, ProtocolOf>::attempt_each(WorkerType& worker, const GroupCalls& calls, const GroupPolicy& policy, Group& group,
                                              uint64_t begin_ns, SnapshotNumber* number) {
  RunPolicy its = policy;
  run_members(worker, policy, group, begin_ns, [&](Group::Member& member) {
    its.procedure_id = member.procedure_id;
    its.partitions = group.partitions_of(member);
    const auto procedure = [&](Transaction& txn) { return calls.procedure(member.call, txn); };
    worker.with(member.read_only, [&](auto& txn) {
      txn.begin(member.attempt, member.procedure_id);
      const txn::Expecting expecting(txn, group.rows_of(member));
      member.status = protocol_.attempt_once(txn, {procedure, its, worker.base, worker.counters, !worker.kept});
      if (member.status.ok()) raise_to(txn.commit_number(), number);
    });
  });
}

// Like attempt_each(), but supports calls with pieces: unless such a call is read-only, it runs
// until it has committed or failed. Deadlines are measured from `begin_ns`, the time at which the
// first group began.
template <class Sync, template <class> class ProtocolOf>
void EngineOf<Sync, ProtocolOf>::call_each(WorkerType& worker, const GroupCalls& calls, const GroupPolicy& policy, Group& group,
                                           uint64_t begin_ns, SnapshotNumber* number)
  requires kCalls
{
  RunPolicy its = policy;
  run_members(worker, policy, group, begin_ns, [&](Group::Member& member) {
    its.procedure_id = member.procedure_id;
    its.partitions = group.partitions_of(member);
    if (policy.deadline_us != 0) {
      const uint64_t passed_us = (now_ns() - begin_ns) / 1000;
      its.deadline_us = passed_us < policy.deadline_us ? policy.deadline_us - passed_us : 1;
    }
    const ResolvedCall& call = calls.resolved[member.call];
    const txn::ExecutableProcedure* const procedure = call.procedure->pieces;
    const auto whole = [&](Transaction& txn) { return calls.procedure(member.call, txn); };
    const txn::Call one{whole, its, worker.base, worker.counters, !worker.kept};
    const std::span<const txn::TouchedRow> rows = group.rows_of(member);
    member.tried_to_its_end = procedure != nullptr && !member.read_only;
    SnapshotNumber committed = 0;
    worker.with(member.read_only, [&]<class Txn>(Txn& txn) {
      if constexpr (std::is_same_v<Txn, typename WorkerType::Transaction>)
        if (procedure != nullptr) {
          member.status = run_call_of_group(txn, *calls.execution, *procedure, call.arguments, one, rows, &committed);
          return;
        }
      txn.begin(member.attempt, member.procedure_id);
      const txn::Expecting expecting(txn, rows);
      member.status = protocol_.attempt_once(txn, one);
      committed = txn.commit_number();
    });
    if (member.status.ok()) raise_to(committed, number);
  });
}

template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::run_group(const GroupCalls& calls, const GroupPolicy& policy) {
  const auto refuse = [&](const Status& why) {
    for (Status& outcome : calls.outcomes) outcome = why;
    return why;
  };
  if (!may_run(policy)) return refuse(refuse_run(policy));
  std::shared_ptr<const SnapshotHold> hold;  // as in run_held()
  if (policy.snapshot != nullptr)
    if (Status status = hold_of(*policy.snapshot, true, &hold); !status.ok()) return refuse(status);
  Stay stay(*this);
  if (!stay) return refuse(refuse_worker());
  SnapshotNumber number = 0;
  Status status;
  bool committed = false;
  try {
    GroupRun& group_run = stay->group_run();
    const uint64_t begin_ns = policy.deadline_us != 0 ? now_ns() : 0;
    const txn::ReadingAt reading(stay->snapshot(), hold != nullptr ? hold->number : 0);
    status = group_run.run_all(calls, policy, stay->base.random(), stay->counters, [&](Group& group) {
      if constexpr (kCalls)
        if (calls.execution != nullptr) return call_each(*stay, calls, policy, group, begin_ns, &number);
      attempt_each(*stay, calls, policy, group, begin_ns, &number);
    });
    committed = group_run.committed();
  } catch (const std::bad_alloc&) {
    status = refuse(Status(Code::kMemoryLimit, Cause::kMemoryLimit));
  }
  if (committed) stay.committed(policy, number);
  stay.end();
  hold.reset();
  if (!committed) return status;
  Status durable = acknowledge(policy, number, policy.read_only);
  if (durable.ok()) return status;
  for (Status& outcome : calls.outcomes)
    if (outcome.ok()) outcome = durable;
  return status.ok() ? durable : status;
}

// -- active transactions --------------------------------------------------------------------------

template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::begin(BeginHow how, std::shared_ptr<const SnapshotHold> at, EngineWorker** lent, Transaction** txn) {
  if (kCalls && txn::WithinCall::of(store_.id)) return refuse_within_call();
  if (store_.refuses(Durability::kDefault)) return store_.refusal();
  if (!may_begin()) return refuse_other_thread();
  Begun begun(*this);
  EngineWorker* worker = pool_->take();
  if (worker == nullptr) return refuse_worker();
  begun.keep();
  worker->busy = true;
  worker->read_only = how.read_only;
  worker->hold = std::move(at);
  worker->base.enter();
  static_cast<WorkerType&>(*worker).snapshot().read_at(worker->hold != nullptr ? worker->hold->number : 0);
  static_cast<WorkerType&>(*worker).with(how.read_only, [&](auto& its) {
    its.begin(how.attempt, 0);
    its.stays_open();
    *txn = &its;
  });
  *lent = worker;
  return {};
}

template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::commit_active(WorkerType& worker, Durability durability, SnapshotNumber* commit_number) {
  if (store_.process.in_child() || store_.asks_too_much(durability)) {
    Status why = store_.refusal();
    rollback_active(worker);
    return why;
  }
  SnapshotNumber number = 0;
  const bool read_only = worker.read_only;
  Status status = worker.with(worker.read_only, [&](auto& txn) {
    Status ended = txn.commit();
    number = txn.commit_number();
    return ended;
  });
  finish_active(worker);
  take_due_checkpoint();
  if (status.ok()) give_turn_back_to_wait(durability, number);  // this thread may still have the turn of an earlier call
  return status.ok() ? store_.acknowledge(durability, number, commit_number, read_only) : status;
}

template <class Sync, template <class> class ProtocolOf>
void EngineOf<Sync, ProtocolOf>::rollback_active(WorkerType& worker) {
  if (store_.process.in_child()) return;
  worker.with(worker.read_only, [](auto& txn) { txn.rollback(Cause::kUser); });
  finish_active(worker);
}

// After finish_active(), the worker may belong to another thread.
template <class Sync, template <class> class ProtocolOf>
void EngineOf<Sync, ProtocolOf>::finish_active(WorkerType& worker) {
  worker.base.leave();
  worker.snapshot().read_at(0);
  const std::shared_ptr<const SnapshotHold> hold = std::move(worker.hold);  // released at the end
  worker.busy = false;
  finished();
  pool_->give_back(&worker);
}

}  // namespace elider::detail
