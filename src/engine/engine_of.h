// EngineOf: the engine under one sync policy and one protocol: sessions and the running of transactions. The rest, which knows no
// protocol, is EngineBase.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "elider/snapshot_number.h"
#include "engine/engine_base.h"
#include "htm/test_points.h"
#include "txn/occ/occ.h"

namespace elider::detail {

template <class Sync, template <class> class ProtocolOf>
class EngineOf;

template <class Sync, template <class> class ProtocolOf>
class SessionOf final : public Session {
 public:
  using Transaction = typename ProtocolOf<Sync>::Transaction;
  using Engine = EngineOf<Sync, ProtocolOf>;

  SessionOf(SessionPool& its_pool, Engine& engine, txn::Store& store, ProtocolOf<Sync>& protocol, Worker& its_worker)
      : Session(its_pool, its_worker), engine_(engine), transaction_(protocol.make_transaction(its_worker, counters)),
        snapshot_(store, its_worker, counters) {}

  // f(transaction): the one that writes, or the read-only one.
  template <class F>
  [[gnu::always_inline]] decltype(auto) with(bool read_only_one, F&& f) {
    return read_only_one ? f(snapshot_) : f(transaction_);
  }

  Status commit_active(Durability durability, SnapshotNumber* commit_number) override {
    return engine_.commit_active(*this, durability, commit_number);
  }
  void rollback_active() override { engine_.rollback_active(*this); }

 private:
  Engine& engine_;
  Transaction transaction_;
  typename ProtocolOf<Sync>::Snapshot snapshot_;
};

template <class Sync, template <class> class ProtocolOf>
class EngineOf final : public EngineBase<Sync> {
 public:
  using Protocol = ProtocolOf<Sync>;
  using SessionType = SessionOf<Sync, ProtocolOf>;
  static_assert(txn::ProtocolObject<Protocol>);
  static_assert(Protocol::kTakesPolicy, "the protocol does not run under this sync policy");
  static_assert(Protocol::kLeafBytes == 0, "the leaves and buckets of src/index have a version for all protocols, and no more");

  EngineOf(const Options& options, SyncPolicy sync, HtmBackend htm = HtmBackend::kNone)
      : EngineBase<Sync>(options, sync, htm, Protocol::kCellBytes,
                         [this](SessionPool& pool, Worker& worker) {
                           return std::make_unique<SessionType>(pool, *this, this->store_, protocol_, worker);
                         }),
        protocol_(store_) {
    if constexpr (Sync::kRegions) {
      htm::leave_regions_at_test_points<typename Sync::Backend>();
      if constexpr (requires { requires Sync::Backend::kFetchesCode; }) htm::read_code_pages();
    }
  }
  // Checkpoints in the background use what the base's virtual functions give: they end first.
  ~EngineOf() override { this->data_.close(); }

  Status run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) override;
  Status begin(bool read_only, Session** session, Transaction** txn) override;
  // An ActiveTransaction's, which ends.
  Status commit_active(SessionType& session, Durability durability, SnapshotNumber* commit_number);
  void rollback_active(SessionType& session);

 private:
  using typename EngineBase<Sync>::Begun;
  using Lent = SessionPool::Lent;

  void for_each_site(FunctionRef<void(std::string_view, const htm::SiteCounts&)> f) const override { protocol_.for_each_site(f); }
  Session* session_of_thread();
  void finish_active(SessionType& session);

  using EngineBase<Sync>::pool_;
  using EngineBase<Sync>::store_;
  using EngineBase<Sync>::threads_;
  Protocol protocol_;
};

template <class Sync, template <class> class ProtocolOf>
Session* EngineOf<Sync, ProtocolOf>::session_of_thread() {
  Session* session = thread_session(store_.id);
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

template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::run(FunctionRef<Status(Transaction&)> procedure, const RunPolicy& policy, bool read_only) {
  if (policy.procedure_id >= txn::kProceduresMax) [[unlikely]]
    return Status::invalid_argument("RunPolicy::procedure_id is " + std::to_string(policy.procedure_id) +
                                    ", which procedure_id() never gave");
  if (store_.refuses(policy.durability)) [[unlikely]] return store_.refusal();
  if (!threads_.may_begin()) [[unlikely]] return this->refuse_other_thread();
  SnapshotNumber number = 0;
  Status status = [&]() -> Status {
    const Begun begun(threads_);
    const Lent session(*pool_, session_of_thread());
    if (session == nullptr) [[unlikely]] return this->refuse_session();
    const txn::Call call{procedure, policy, session->worker, session->counters, !session->kept};
    return static_cast<SessionType&>(*session).with(read_only, [&](auto& txn) {
      Status ended = protocol_.run(txn, call);
      // Before the session is another's; a database without a log has no use for it.
      if (store_.log != nullptr) [[unlikely]] number = txn.commit_number();
      return ended;
    });
  }();
  this->take_due_checkpoint();
  // Outside the epoch: a wait for the disk holds back no reclamation.
  if (status.ok() && (store_.log != nullptr || policy.commit_number != nullptr)) [[unlikely]]
    status = store_.acknowledge(policy.durability, number, policy.commit_number);
  return status;
}

// -- active transactions -------------------------------------------------------------------------------------

template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::begin(bool read_only, Session** lent, Transaction** txn) {
  if (store_.refuses(Durability::kDefault)) return store_.refusal();
  if (!threads_.may_begin()) return this->refuse_other_thread();
  Begun begun(threads_);
  Session* session = pool_->take();
  if (session == nullptr) return this->refuse_session();
  begun.keep();
  session->busy = true;
  session->read_only = read_only;
  session->worker.enter();
  static_cast<SessionType&>(*session).with(read_only, [&](auto& its) {
    its.begin(1, 0);
    *txn = &its;
  });
  *lent = session;
  return {};
}

template <class Sync, template <class> class ProtocolOf>
Status EngineOf<Sync, ProtocolOf>::commit_active(SessionType& session, Durability durability, SnapshotNumber* commit_number) {
  if (store_.asks_too_much(durability)) {
    Status why = store_.refusal();
    rollback_active(session);
    return why;
  }
  SnapshotNumber number = 0;
  Status status = session.with(session.read_only, [&](auto& txn) {
    Status ended = txn.commit();
    number = txn.commit_number();
    return ended;
  });
  finish_active(session);
  this->take_due_checkpoint();
  return status.ok() ? store_.acknowledge(durability, number, commit_number) : status;
}

template <class Sync, template <class> class ProtocolOf>
void EngineOf<Sync, ProtocolOf>::rollback_active(SessionType& session) {
  session.with(session.read_only, [](auto& txn) { txn.rollback(Cause::kUser); });
  finish_active(session);
}

// The session is another's afterwards.
template <class Sync, template <class> class ProtocolOf>
void EngineOf<Sync, ProtocolOf>::finish_active(SessionType& session) {
  session.worker.leave();
  session.busy = false;
  threads_.finished();
  pool_->give_back(&session);
}

}  // namespace elider::detail
