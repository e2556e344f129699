#include "lab/tickets/tickets.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/common/driver.h"
#include "bench/common/loader.h"
#include "bench/common/random.h"
#include "elider/try.h"

namespace elider::bench::tickets {

namespace {

struct Counter {
  uint64_t next;
};
struct Total {
  uint64_t sum, unused[3];
};
struct Tables {
  Table<Counter> counter;
  Table<Total> totals;
  Columns<Counter> next;
};
struct Call {
  const std::vector<Key>* rows;
  uint64_t number = 0;
};

Status take_number(Transaction& txn, const Tables& tables, Call& call) {
  return txn.update(tables.counter, 0, tables.next, [&](Counter& row) { call.number = row.next++; });
}
Status add_to_all(Transaction& txn, const Tables& tables, const Call& call) {
  for (const Key row : *call.rows) ELIDER_TRY(txn.add(tables.totals, row, &Total::sum, 1));
  return {};
}

class Worker {
 public:
  Worker(const TicketsOptions& options, Database& db, const Tables& tables, const ProcedureHandle<Call>* chopped, uint32_t thread)
      : db_(db), tables_(tables), chopped_(chopped), totals_(options.totals), random_(options.common.seed, thread), rows_(options.tail) {
    policy_.procedure_id = db.procedure_id("ticket");
  }
  uint32_t run_one() {
    for (Key& row : rows_) row = random_.below(totals_);
    Call call{&rows_};
    const Status status = chopped_ != nullptr ? db_.call(*chopped_, call, policy_) : db_.run(
        [&](Transaction& txn) -> Status {
          ELIDER_TRY(take_number(txn, tables_, call));
          return add_to_all(txn, tables_, call);
        },
        policy_);
    if (status.ok()) [[likely]] return ++taken_, 0;
    failure_ = status.message();
    return kWorkerFailed;
  }
  std::string failure() const { return failure_; }
  uint64_t taken() const { return taken_; }

 private:
  Database& db_;
  const Tables& tables_;
  const ProcedureHandle<Call>* const chopped_;  // null: transactions are not chopped
  const uint64_t totals_;
  Random random_;
  std::vector<Key> rows_;
  RunPolicy policy_;
  uint64_t taken_ = 0;
  std::string failure_;
};

Result<Tables> create_tables(Database& db) {
  auto counter = db.create_table(SchemaOf<Counter>("counter").column("next", &Counter::next));
  if (!counter.ok()) return counter.status();
  auto totals =
      db.create_table(SchemaOf<Total>("totals").column("sum", &Total::sum).column("unused", &Total::unused).key_index(KeyIndex::kHashed));
  if (!totals.ok()) return totals.status();
  return Tables{*counter, *totals, counter->columns(&Counter::next)};
}

Status install(Database& db, const Tables& tables, ProcedureHandle<Call>* ticket) {
  using chopping::Operation;
  Procedures procedures;
  *ticket = procedures.add(Procedure<Call>("ticket")
                               .operation(Operation("number").reads("counter").writes("counter"),
                                          [&tables](Transaction& txn, Call& call) { return take_number(txn, tables, call); })
                               .operation(Operation("totals").adds("totals", {"sum"}),
                                          [&tables](Transaction& txn, Call& call) { return add_to_all(txn, tables, call); }));
  return db.install(std::move(procedures));
}

// Describes the first error in the rows, or returns "" if they are correct.
Result<std::string> find_damage(Database& db, const Tables& tables, const TicketsOptions& options, uint64_t taken) {
  uint64_t next = 0, sum = 0;
  Status status = db.run_read_only([&](Transaction& txn) -> Status {
    auto counter = txn.get(tables.counter, 0);
    if (!counter.ok()) return counter.status();
    next = (*counter)->next;
    for (Key row = 0; row < options.totals; ++row) {
      auto total = txn.get(tables.totals, row);
      if (!total.ok()) return total.status();
      sum += (*total)->sum;
    }
    return {};
  });
  if (!status.ok()) return status;
  if (next != taken) return fmt::format("the counter is {}, but {} numbers were taken", next, taken);
  if (sum != taken * options.tail) return fmt::format("the totals add up to {}, not to {}", sum, taken * options.tail);
  return std::string();
}

}  // namespace

Result<TicketsOutcome> run_tickets(const TicketsOptions& options) {
  auto session = Session::open(options.common);
  if (!session.ok()) return session.status();
  Database& db = session->db();
  auto tables = create_tables(db);
  if (!tables.ok()) return tables.status();
  TicketsOutcome outcome;
  Report& report = outcome.report;
  report.benchmark = "tickets";
  constexpr uint64_t kRowsPerTransaction = 128;
  const uint64_t parts = (options.totals + kRowsPerTransaction - 1) / kRowsPerTransaction;
  report.load =
      load_parallel(options.common, "loading totals", parts, options.totals, [&](uint32_t, uint64_t part, LoadProgress& progress) {
        const Key first = part * kRowsPerTransaction, end = std::min(options.totals, first + kRowsPerTransaction);
        Status status = db.run([&](Transaction& txn) -> Status {
          if (first == 0) ELIDER_TRY(txn.insert(tables->counter, 0, Counter{0}));
          for (Key row = first; row < end; ++row) ELIDER_TRY(txn.insert(tables->totals, row, Total{}));
          return {};
        });
        if (status.ok()) progress.add(end - first);
        return status;
      });
  if (!report.load.status.ok()) return report.load.status;

  ProcedureHandle<Call> ticket;
  const bool in_pieces = db.protocol() == Protocol::kChopped;
  if (in_pieces) ELIDER_TRY(install(db, *tables, &ticket));
  auto run = drive<Worker>(options.common, &db, {"ticket"}, [&](uint32_t thread) {
    return std::make_unique<Worker>(options, db, *tables, in_pieces ? &ticket : nullptr, thread);
  });
  report.result = std::move(run.result);
  report.records = options.totals + 1;
  report.configuration = {{"tail", options.tail},
                          {"totals", options.totals},
                          {"sync_used", std::string(elider::name_of(db.sync()))},
                          {"htm_used", std::string(elider::name_of(db.htm()))}};
  uint64_t taken = 0;
  for (const auto& worker : run.workers) taken += worker->taken();
  report.notes.push_back(fmt::format("workload     one counter, then {} additions to random rows out of {}", options.tail, options.totals));
  auto damage = find_damage(db, *tables, options, taken);
  if (!damage.ok()) return damage.status();
  outcome.ok = damage->empty() && report.result.failure.empty();
  report.extra["consistency"] = {{"ok", damage->empty()}, {"taken", taken}};
  report.notes.push_back(damage->empty()
                             ? fmt::format("consistency  each of {} numbers was taken once, and all additions are present", taken)
                             : fmt::format("VIOLATION    {}", *damage));
  if (Status status = session->close(); !status.ok()) return status;
  return outcome;
}

}  // namespace elider::bench::tickets
