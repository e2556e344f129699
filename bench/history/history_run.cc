#include "bench/history/history_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "bench/common/history_file.h"
#include "tools/common/interrupt.h"
#include "bench/common/report.h"
#include "bench/history/rank_sink.h"

namespace elider::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The state that the threads share.
struct Run {
  const HistoryOptions& options;
  Database& db;
  Workload& workload;
  uint32_t procedure_id;
  Clock::time_point begin = Clock::now();
  std::atomic<uint64_t> next_index{0};  // the history's logical clock
  std::atomic<uint64_t> started{0};     // number of transactions started

  uint64_t now_ns() const { return static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - begin).count()); }
  bool goes_on() {
    if (interrupted()) return false;
    // Relaxed: the counter does not order other accesses.
    if (options.transactions != 0 && started.fetch_add(1, std::memory_order_relaxed) >= options.transactions) return false;
    return options.seconds == 0 || static_cast<double>(now_ns()) < options.seconds * 1e9;
  }
};

class Client {
 public:
  // `first` is the number of this client's first value.
  Client(Run& run, uint32_t thread, int64_t first)
      : run_(run), random_(run.options.seed, thread), yields_(random_, run.options.yield_percent), next_value_(value_of(thread, first)),
        calls_(std::max(run.options.group, 1u)) {
    for (size_t i = 0; i < calls_.size(); ++i) sessions.push_back(std::make_unique<ElleSession>());
  }

  void run() {
    while (run_.goes_on()) {
      if (run_.options.group == 0) one();
      else group();
    }
    held_ = {};  // the client outlives the database, but its snapshot must not
  }

  HistorySummary summary;
  std::vector<std::unique_ptr<ElleSession>> sessions;  // each session is one process in the history

 private:
  // One transaction from its invocation to its completion.
  struct Call {
    Plan plan;
    MicroOps asked;
    Attempt attempt;
    CommitRank rank;
    Status status;
  };

  void one() {
    Call& call = calls_[0];
    invoke(0);
    RankSink::last() = {};
    call.status = run_.workload.in_pieces(call.plan) ? run_in_pieces(call)
                  : call.plan.interactive            ? run_interactive(call)
                                                     : run_procedure(call);
    call.rank = RankSink::last();
    complete(0);
  }

  // The transactions of a group are invoked together and completed together.
  void group() {
    size_t count = 1;  // run_.goes_on() has already counted the first one
    while (count < calls_.size() && run_.goes_on()) ++count;
    for (size_t i = 0; i < count; ++i) invoke(i);
    GroupPolicy policy;
    policy.size = run_.options.group;
    policy.attempts_max = calls_[0].plan.attempts_max;
    policy.procedure_id = run_.procedure_id;
    policy.snapshot = snapshot();
    std::vector<size_t> whole;  // indexes of the transactions that are not calls of chopped procedures
    run_prepared(count, policy, &whole);
    std::vector<Status> outcomes(whole.size());
    // The returned status is ignored, because each call's outcome contains its error.
    static_cast<void>(run_.db.run_group(
        whole.size(),
        [&](size_t i, Touches& touches) {
          const Plan& plan = calls_[whole[i]].plan;
          touches.read_only(plan.read_only);
          run_.workload.touch(plan, touches);
        },
        [&](size_t i, Transaction& txn) {
          begins(&calls_[whole[i]]);
          return execute(txn, calls_[whole[i]]);
        },
        outcomes, policy));
    begins(nullptr);
    for (size_t i = 0; i < whole.size(); ++i) calls_[whole[i]].status = std::move(outcomes[i]);
    for (size_t i = 0; i < count; ++i) complete(i);
  }

  // Runs the calls of chopped procedures among the first `count` calls. Adds the indexes of the
  // other transactions to *whole.
  void run_prepared(size_t count, const GroupPolicy& policy, std::vector<size_t>* whole) {
    std::vector<std::pair<Call*, std::unique_ptr<PreparedCall>>> prepared;
    std::vector<ProcedureCall> chopped;
    for (size_t i = 0; i < count; ++i) {
      Call* const call = &calls_[i];
      std::unique_ptr<PreparedCall> its;
      if (run_.workload.in_pieces(call->plan)) its = run_.workload.prepare(call->plan, yields_, [this, call] { begins(call); });
      if (its == nullptr) {
        whole->push_back(i);
        continue;
      }
      call->attempt.clear();
      chopped.push_back(its->call());
      prepared.emplace_back(call, std::move(its));
    }
    std::vector<Status> outcomes(prepared.size());
    static_cast<void>(run_.db.call_group(chopped, outcomes, policy));
    begins(nullptr);
    for (size_t i = 0; i < prepared.size(); ++i) {
      auto& [call, its] = prepared[i];
      call->status = std::move(outcomes[i]);
      if (call->status.ok()) its->did(&call->attempt);
    }
  }

  // Called with the call of a group that begins, continues or is retried, and with null when the
  // group has ended. If the call that ran before has committed, RankSink::last() now contains its
  // position in the commit order.
  void begins(Call* call) {
    if (running_ != nullptr && running_ != call) running_->rank = RankSink::last();
    RankSink::last() = {};
    running_ = call;
  }

  void invoke(size_t i) {
    Call& call = calls_[i];
    call.plan = draw();
    call.asked.clear();
    call.rank = {};
    run_.workload.invocation(call.plan, &call.asked);
    // The invocation's index is drawn before the transaction begins, and the completion's index
    // after the transaction has ended, so the indexes never order two transactions that overlapped.
    const uint64_t invoked = run_.next_index.fetch_add(1);
    sessions[i]->record(invoked, run_.now_ns(), EventType::kInvoke, call.asked);
  }

  Plan draw() {
    const HistoryOptions& options = run_.options;
    Plan plan;
    plan.read_only = random_.below(100) < options.read_only_percent;
    plan.roll_back = !plan.read_only && random_.below(100) < options.rollback_percent;
    plan.interactive = random_.below(4) == 0;
    // Some transactions give up at their first conflict, so that the history also contains failed
    // transactions.
    plan.attempts_max = random_.below(4) == 0 ? 1 : 0;
    run_.workload.plan(random_, next_value_, &plan);
    next_value_ += options.operations;
    return plan;
  }

  Status execute(Transaction& txn, Call& call) {
    call.attempt.clear();
    if (Status status = run_.workload.execute(txn, call.plan, yields_, &call.attempt); !status.ok()) return status;
    yields_.maybe();
    return call.plan.roll_back ? Status::rollback() : Status();
  }

  // Returns the snapshot for a read-only transaction; null means the newest one.
  const HeldSnapshot* snapshot() {
    if (!run_.options.held_snapshots) return nullptr;
    if (!held_) {
      auto held = run_.db.hold_snapshot();
      if (!held.ok()) return nullptr;
      held_ = std::move(*held);
    }
    if (random_.below(4) == 0) held_.advance();
    return &held_;
  }

  Status run_procedure(Call& call) {
    const auto procedure = [&](Transaction& txn) { return execute(txn, call); };
    RunPolicy policy{.attempts_max = call.plan.attempts_max, .procedure_id = run_.procedure_id};
    if (call.plan.read_only) policy.snapshot = snapshot();
    return call.plan.read_only ? run_.db.run_read_only(procedure, policy) : run_.db.run(procedure, policy);
  }

  Status run_in_pieces(Call& call) {
    call.attempt.clear();
    return run_.workload.call(run_.db, call.plan, yields_, &call.attempt,
                              {.attempts_max = call.plan.attempts_max,
                               .snapshot = call.plan.read_only ? snapshot() : nullptr,
                               .procedure_id = run_.procedure_id});
  }

  Status run_interactive(Call& call) {
    const HeldSnapshot* const held = call.plan.read_only ? snapshot() : nullptr;
    auto txn = held != nullptr ? run_.db.begin_read_only(*held) : call.plan.read_only ? run_.db.begin_read_only() : run_.db.begin();
    if (!txn.ok()) return txn.status();
    if (Status status = execute(**txn, call); !status.ok()) {
      // Outside of run(), the engine does not validate the procedure's reads before it returns an
      // error. An inconsistent read may have caused the error, so the transaction, which has
      // certainly not committed, is recorded as rolled back.
      txn->rollback();
      return Status::rollback();
    }
    return txn->commit();
  }

  static bool certainly_not_committed(Code code) {
    return code == Code::kConflict || code == Code::kDeadline || code == Code::kRolledBack || code == Code::kMemoryLimit;
  }

  void complete(size_t i) {
    const Call& call = calls_[i];
    ElleSession& session = *sessions[i];
    const uint64_t index = run_.next_index.fetch_add(1);
    if (call.status.ok()) {
      ++summary.committed;
      run_.workload.committed(call.attempt);
      session.record(index, run_.now_ns(), EventType::kOk, call.attempt.did, call.rank);
      if (call.attempt.complaint.empty()) return;
      if (summary.complaints++ == 0) summary.first_complaint = call.attempt.complaint;
      return;
    }
    // A failed transaction's invocation is recorded instead of its writes, because a value that
    // depends on a read may be written again by a transaction that commits.
    if (certainly_not_committed(call.status.code())) {
      ++summary.failed;
      return session.record(index, run_.now_ns(), EventType::kFail, call.asked);
    }
    if (summary.unknown++ == 0) summary.first_unknown = call.status.message();
    session.record(index, run_.now_ns(), EventType::kInfo, call.asked);
  }

  Run& run_;
  Random random_;
  HeldSnapshot held_;
  Yields yields_;
  int64_t next_value_;
  std::vector<Call> calls_;  // the calls of a group, or one call
  Call* running_ = nullptr;  // the group's call that is running
};

void add(const HistorySummary& part, HistorySummary* whole) {
  whole->committed += part.committed;
  whole->failed += part.failed;
  whole->unknown += part.unknown;
  whole->complaints += part.complaints;
  if (whole->first_unknown.empty()) whole->first_unknown = part.first_unknown;
  if (whole->first_complaint.empty()) whole->first_complaint = part.first_complaint;
}

// Creates the workload's table or finds an existing one. *first receives the number of each
// thread's first value.
Status prepare(const HistoryOptions& options, Database& db, Workload& workload, int64_t* first, HistorySummary* summary) {
  *first = 0;
  const std::string table = workload.schema().name;
  if (options.data.resume && !db.table(table).ok())
    return Status(Code::kNotFound,
                  "--resume: the workload " + options.workload + " did not write this database: it does not have a table '" + table + "'");
  if (Status status = workload.create(db); !status.ok() || !options.data.resume) return status;
  int64_t last = -1;
  if (Status status = workload.resume(db, &last); !status.ok()) return status;
  if (last >= kValueNumbersKept)
    return Status::invalid_argument("--resume: earlier runs have used up the unique values; start with an empty folder");
  *first = last + 1;
  summary->resumed = describe_recovery(db.recovery());
  return {};
}

}  // namespace

Result<HistorySummary> run_history(const HistoryOptions& options) {
  const InterruptWatch watch(true);
  std::unique_ptr<HistoryFile> file;
  if (!options.history_file.empty()) {
    auto opened = HistoryFile::open(options.history_file);
    if (!opened.ok()) return opened.status();
    file = std::move(*opened);
  }
  RankSink sink(file.get());
  HistorySummary summary;
  const auto workload = make_workload(options);
  if (workload == nullptr) return Status::invalid_argument("unknown workload '" + options.workload + "'");
  std::vector<std::unique_ptr<Client>> clients;
  {
    Options opening{.sync = options.sync,
                    .protocol = options.protocol,
                    .htm = options.htm,
                    .memory_limit_bytes = options.memory_limit_bytes,
                    .block_threshold_bytes = options.block_threshold_bytes,
                    .schemas = {workload->schema()},
                    .history = options.client_alone ? nullptr : &sink};
    options.data.apply(opening);
    auto db = Database::open(opening);
    if (!db.ok()) return db.status();
    int64_t first = 0;
    if (Status status = prepare(options, *db, *workload, &first, &summary); !status.ok()) return status;
    summary.about = workload->about();
    sink.begin();
    if (Status status = workload->fill(*db); !status.ok()) return status;
    Run run{options, *db, *workload, db->procedure_id(options.workload)};
    std::vector<std::jthread> threads;
    for (uint32_t i = 0; i < options.threads; ++i) clients.push_back(std::make_unique<Client>(run, i, first));
    for (auto& client : clients) threads.emplace_back([&client] { client->run(); });
    for (std::jthread& thread : threads) thread.join();
    summary.seconds = static_cast<double>(run.now_ns()) / 1e9;
    // The history of a broken database is worth checking, so the error is reported at the end.
    if (Status status = db->verify(); !status.ok()) {
      summary.complaints = 1;
      summary.first_complaint = status.message();
    } else if (std::string complaint = workload->complaint(*db); !complaint.empty()) {
      summary.complaints = 1;
      summary.first_complaint = std::move(complaint);
    }
  }
  std::vector<std::unique_ptr<ElleSession>> sessions;
  for (auto& client : clients) {
    add(client->summary, &summary);
    for (auto& session : client->sessions) sessions.push_back(std::move(session));
  }
  if (Status status = write_elle(options.out, sessions, !options.client_alone); !status.ok()) return status;
  if (file != nullptr) {
    if (Status status = file->close(); !status.ok()) return status;
  }
  return summary;
}

}  // namespace elider::bench
