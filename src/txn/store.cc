#include "txn/store.h"

namespace elider::txn {

uint32_t ProcedureNames::id(std::string_view name) {
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return i;
  if (names_.size() >= names_max_) return 0;
  names_.emplace_back(name);
  return static_cast<uint32_t>(names_.size() - 1);
}

std::string ProcedureNames::name(uint32_t id) const {
  std::lock_guard lock(mutex_);
  return id < names_.size() ? names_[id] : std::string();
}

uint32_t ProcedureNames::count() const {
  std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(names_.size());
}

Store::Store(Memory& memory, const Options& chosen, uint64_t store_id)
    : options(chosen),
      laboratory(laboratory_of(chosen)),
      id(store_id),
      workers(memory, chosen.workers_max + kOwnWorkers, store_id),
      snapshots(chosen.workers_max + kOwnWorkers),
      procedures(kProceduresMax),
      carefree_in(process.generation()) {
  if (!laboratory.parts.reclamation) workers.stop_reclaiming();
}
Store::~Store() = default;

void Store::stop(const Status& why) {
  has_stopped.store(true);
  carefree_in.store(0);
  if (log != nullptr) log->fail(why);
  const std::lock_guard lock(stop_mutex);
  if (why_stopped.ok()) why_stopped = why;
}

bool Store::refuses_now(Durability durability) const {
  if (process.in_child() || stopped()) return true;
  return log != nullptr ? options.log_failure == LogFailure::kStop && log->failed() : asks_too_much(durability);
}
bool Store::asks_too_much(Durability durability) const {
  if (durability <= Durability::kNone) return false;
  return options.data_folders.empty() ? durability == Durability::kGroup : options.durability == Durability::kNone;
}

// If the log has failed, commits whose data a read-only transaction has read may be lost. The
// transaction then fails, unless it is known that no commit has been lost.
Status Store::await_durable(SnapshotNumber number, bool read_only) const {
  Status status = log->wait_durable(number);
  if (status.ok() || !read_only || process.in_child()) return status;
  if (log->has_lost_nothing(number)) return {};
  return Status(status.code(), std::string(status.message()) +
                                   "; data that this transaction has read may not be on disk; to read it anyway, set "
                                   "RunPolicy::durability to Durability::kAsync");
}

Status Store::refusal() const {
  if (process.in_child()) return opened_before_fork("database");
  if (stopped()) {
    const std::lock_guard lock(stop_mutex);
    return why_stopped.ok() ? Status(Code::kCorrupt, Cause::kNone) : why_stopped;
  }
  if (log != nullptr) return log->failure();
  if (options.data_folders.empty())
    return Status::invalid_argument(
        "a commit's durability (RunPolicy::durability) is 'group', but the database does not have a data folder (Options::data_folders)");
  return Status::invalid_argument(
      "a commit's durability (RunPolicy::durability) exceeds Options::durability, which is 'none': the database does not write files");
}

}  // namespace elider::txn
