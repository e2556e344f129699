#include <chrono>
#include <thread>

#include "python/src/tables.h"

namespace elider::python {

struct Txn::Interactive : Child {
  Interactive(std::shared_ptr<Core> its_core, Txn* its_owner) : Child(std::move(its_core)), owner(its_owner) {}
  ~Interactive() override {
    // A child process must not continue a transaction of its parent, not even to end it.
    if (core->forked()) new ActiveTransaction(std::move(active));
  }
  void end() noexcept override {
    owner->txn_ = nullptr;
    if (core->forked()) new ActiveTransaction(std::move(active));
    else active = ActiveTransaction();
  }
  ActiveTransaction active;
  Txn* owner;
};

namespace {

const void* this_thread() {
  static thread_local char place;
  return &place;
}

}  // namespace

Txn::Txn(std::shared_ptr<Core> its_core) : core(std::move(its_core)), thread_(this_thread()) {}
Txn::~Txn() = default;

Transaction& Txn::use() {
  if (core->forked() || !core->open) [[unlikely]] check_open(*core);
  if (txn_ == nullptr) [[unlikely]] raise(Code::kFinished, "the transaction has ended");
  if (thread_ != this_thread()) [[unlikely]]
    raise(Code::kInvalidArgument, "the transaction belongs to the thread that began it; other threads must begin their own");
  return *txn_;
}

Transaction& Txn::use(const Table& table) {
  Transaction& txn = use();
  if (table.core != core) [[unlikely]] raise(Code::kInvalidArgument, "table '" + table.name + "' belongs to another database");
  return txn;
}

void Txn::check(const Status& status, const Place& place) {
  if (status.ok()) [[likely]] return;
  if (status.retryable()) failed_ = status;
  raise(status, place);
}

void Txn::begin(bool read_only, const HeldSnapshot* at) {
  check_open(*core);
  auto interactive = std::make_unique<Interactive>(core, this);
  Result<ActiveTransaction> begun = at != nullptr ? core->db.begin_read_only(*at) : read_only ? core->db.begin_read_only()
      : core->db.begin();
  python::check(begun.status());
  interactive->active = *std::move(begun);
  interactive_ = std::move(interactive);
  txn_ = &*interactive_->active;
}

SnapshotNumber Txn::commit(Durability durability) {
  use();
  if (interactive_ == nullptr) raise(Code::kInvalidArgument, "a procedure's transaction commits when the procedure returns");
  const bool waits = durability == Durability::kDefault ? core->group : durability == Durability::kGroup;
  SnapshotNumber number = 0;
  Status status = failed_;
  if (status.ok()) {
    status = interactive_->active.commit(waits && core->group ? Durability::kAsync : durability, &number);
    txn_ = nullptr;
  } else {
    rollback();
  }
  if (!status.ok()) {
    failed_ = status;
    raise(status);
  }
  settle(*core, number, durability);
  return number;
}

void Txn::rollback() {
  txn_ = nullptr;
  if (interactive_ != nullptr && core->open && !core->forked()) interactive_->active.rollback();
}

void Txn::begin_again(uint32_t attempts_max, uint64_t deadline_us) {
  check_open(*core);
  if (interactive_ == nullptr) raise(Code::kFinished, "the transaction has ended");
  RunPolicy policy;
  policy.attempts_max = attempts_max;
  policy.deadline_us = deadline_us;
  Status status;
  {
    const Unlocked unlocked(*core);
    status = interactive_->active.begin_again(policy);
  }
  python::check(status);
  failed_ = Status();
  txn_ = &*interactive_->active;
}

namespace {

SnapshotNumber finish(Core& core, const Status& status, SnapshotNumber number, Durability durability, std::exception_ptr thrown,
                      const Place& place) {
  if (thrown != nullptr && status.code() == Code::kRolledBack) std::rethrow_exception(thrown);
  thrown = nullptr;
  check(status, place);
  settle(core, number, durability);
  return number;
}

// Waits for the disk after the commit, without the GIL, instead of within it.
Durability prepare(Core& core, RunPolicy& policy, SnapshotNumber* number) {
  const Durability asked = policy.durability;
  if (asked == Durability::kDefault ? core.group : asked == Durability::kGroup && core.group) policy.durability = Durability::kAsync;
  policy.commit_number = number;
  return asked;
}

}  // namespace

SnapshotNumber run(Core& core, const char* what, bool read_only, RunPolicy policy, FunctionRef<Status(Transaction&)> body,
                   const Place& place) {
  check_outside(core, what);
  SnapshotNumber number = 0;
  const Durability durability = prepare(core, policy, &number);
  // While this thread has the GIL, a transaction of another thread cannot end: do not wait for it.
  if (core.keeps_lock) policy.backoff_min_us = policy.backoff_max_us = 0;
  std::exception_ptr thrown;
  PyThreadState* state = nullptr;
  const auto procedure = [&](Transaction& txn) -> Status {
    if (state != nullptr) PyEval_RestoreThread(state), state = nullptr;
    thrown = nullptr;
    Status status;
    try {
      if (txn.attempt() > 2) {
        check_signals();
        const nb::gil_scoped_release released;
        std::this_thread::yield();
      }
      status = body(txn);
    } catch (...) {
      thrown = std::current_exception();
      status = Status::rollback();
    }
    if (!core.keeps_lock) state = PyEval_SaveThread();
    return status;
  };
  Status status;
  {
    const RunsHere here(core);
    if (!core.keeps_lock) core.unlocked.fetch_add(1), state = PyEval_SaveThread();
    status = read_only ? core.db.run_read_only(procedure, policy) : core.db.run(procedure, policy);
    if (state != nullptr) PyEval_RestoreThread(state);
    if (!core.keeps_lock) core.unlocked.fetch_sub(1);
  }
  return finish(core, status, number, durability, std::move(thrown), place);
}

SnapshotNumber run_unlocked(Core& core, const char* what, bool read_only, RunPolicy policy, FunctionRef<Status(Transaction&)> body) {
  check_outside(core, what);
  SnapshotNumber number = 0;
  const Durability durability = prepare(core, policy, &number);
  Status status;
  {
    const Unlocked unlocked(core);
    status = read_only ? core.db.run_read_only(body, policy) : core.db.run(body, policy);
  }
  return finish(core, status, number, durability, nullptr, {});
}

void Batch::clear() { numbers.clear(), bytes.clear(), key_ends.clear(), row_ends.clear(); }
void Batch::add(Key key, std::span<const std::byte> row) {
  numbers.push_back(key);
  key_ends.push_back(bytes.size());
  bytes.append(reinterpret_cast<const char*>(row.data()), row.size());
  row_ends.push_back(bytes.size());
}
void Batch::add(Bytes key, std::span<const std::byte> row) {
  bytes.append(key.text());
  key_ends.push_back(bytes.size());
  bytes.append(reinterpret_cast<const char*>(row.data()), row.size());
  row_ends.push_back(bytes.size());
}
Bytes Batch::key(size_t i) const {
  const size_t begin = i == 0 ? 0 : row_ends[i - 1];
  return Bytes(std::string_view(bytes).substr(begin, key_ends[i] - begin));
}
Bytes Batch::row(size_t i) const { return Bytes(std::string_view(bytes).substr(key_ends[i], row_ends[i] - key_ends[i])); }

Status Batch::write(Transaction& txn, const Table& table, bool replace) const {
  if (replace) {
    for (size_t i = 0; i < size(); ++i) {
      Status status = table.keys.numbers() ? txn.put(table.by_number(), numbers[i], row(i)) : txn.put(table.by_bytes(), key(i), row(i));
      if (!status.ok()) return status;
    }
    return {};
  }
  std::vector<Bytes> rows(size());
  for (size_t i = 0; i < size(); ++i) rows[i] = row(i);
  if (table.keys.numbers()) return txn.insert_many(table.by_number(), std::span<const Key>(numbers), std::span<const Bytes>(rows));
  std::vector<Bytes> keys(size());
  for (size_t i = 0; i < size(); ++i) keys[i] = key(i);
  return txn.insert_many(table.by_bytes(), std::span<const Bytes>(keys), std::span<const Bytes>(rows));
}

}  // namespace elider::python
