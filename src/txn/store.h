// Store: the data that all transactions of one database share.
// Thread safety: documented at each member.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.h"
#include "base/worker.h"
#include "elider/history.h"
#include "elider/laboratory.h"
#include "elider/options.h"
#include "elider/snapshot_number.h"
#include "htm/site.h"
#include "log/log.h"
#include "storage/snapshots.h"
#include "txn/counters.h"

namespace elider::txn {

// Assigns numbers to the procedure names under which commits and aborts are counted. The empty name
// has number 0. Thread-safe.
class ProcedureNames {
 public:
  explicit ProcedureNames(uint32_t names_max) : names_max_(names_max) { names_.emplace_back(); }
  // Returns the number of `name`. The first call with a name assigns the next number to it, or
  // returns 0 if there are already names_max names.
  uint32_t id(std::string_view name);
  std::string name(uint32_t id) const;
  uint32_t count() const;

 private:
  const uint32_t names_max_;
  mutable std::mutex mutex_;  // guards names_
  std::vector<std::string> names_;
};

// Under a sync policy with hardware transactions: the statistics of the hardware transactions that
// database transactions run (htm/site.h).
struct ElisionSites {
  explicit ElisionSites(const ElisionPolicy& policy) : record_read(policy), commit(policy) {}
  htm::Site record_read;
  htm::Site commit;
};

struct Store {
  Store(Memory& memory, const Options& chosen, uint64_t store_id);
  ~Store();

  // Returns true if a transaction must not begin, because the database has stopped, the log has
  // failed and Options::log_failure is kStop, this process is a forked child, or the requested
  // durability exceeds what the database can provide.
  [[gnu::always_inline]] inline bool refuses(Durability durability) const {
    // relaxed: if a transaction begins although it should be refused, it ends like one that began
    // before the failure
    if (carefree_in.load(std::memory_order_relaxed) != process_generation()) [[unlikely]] return refuses_now(durability);
    return durability > Durability::kNone && asks_too_much(durability);
  }
  // Stops the database because a change is incomplete and cannot be undone. From then on,
  // transactions cannot begin or commit, and no further commit becomes durable. Only the first
  // reason is kept.
  void stop(const Status& why);
  bool stopped() const { return has_stopped.load(); }
  // Returns the reason why transactions are refused.
  Status refusal() const;
  // refuses_now() is the slow path of refuses(). asks_too_much() returns true if the requested
  // durability exceeds what the database can provide.
  bool refuses_now(Durability durability) const;
  bool asks_too_much(Durability durability) const;
  // Returns true if a commit must be on disk before it is acknowledged.
  bool acknowledges_durable(Durability durability) const {
    return log != nullptr && (durability == Durability::kDefault ? options.durability : durability) == Durability::kGroup;
  }
  // Returns true if acknowledge() would have to wait for the disk now.
  bool must_wait(Durability durability, SnapshotNumber number) const {
    return acknowledges_durable(durability) && log->durable() < number && !process.in_child();
  }
  // Called after a commit. Stores the commit's number if the caller requested it. If the commit may
  // be acknowledged only once it is durable, waits until then. A read-only transaction
  // (`read_only`) waits for the commits that it has read. The waiting thread must not hold a turn
  // (engine/runtime/turns.h).
  Status acknowledge(Durability durability, SnapshotNumber number, SnapshotNumber* commit_number, bool read_only) const {
    if (commit_number != nullptr) *commit_number = log != nullptr ? number : 0;
    if (!acknowledges_durable(durability)) [[likely]] return {};
    return await_durable(number, read_only);
  }
  Status await_durable(SnapshotNumber number, bool read_only) const;

  // The number of workers in addition to Options::workers_max. collect_garbage(), a checkpoint, a
  // backup and the drop of a table use these workers.
  static constexpr uint32_t kOwnWorkers = 4;

  // Constant after construction.
  const Options options;
  const LaboratoryOptions laboratory;
  const uint64_t id;  // the database's id, which is unique in the process

  std::unique_ptr<ElisionSites> elision;  // null if transactions do not use regions

  Workers workers;
  storage::Snapshots snapshots;
  ProcedureNames procedures;
  log::Log* log = nullptr;  // null if the database does not have a log; set_log() is called before transactions run
  void set_log(log::Log* its) {
    log = its;
    if (its != nullptr) carefree_in.store(0);
  }
  const ForkGuard process;
  // The process generation (base/fork.h) in which refuses() need not take its slow path. 0 if the
  // slow path is always needed, because there is a log or the database has stopped.
  std::atomic<uint32_t> carefree_in;
  std::atomic<bool> has_stopped{false};
  mutable std::mutex stop_mutex;          // guards why_stopped; a leaf
  Status why_stopped;
  // Counts the commits while a history is recorded. The count gives the serial order of commits
  // that have the same snapshot number.
  alignas(64) std::atomic<uint64_t> commit_order{0};
};

}  // namespace elider::txn
