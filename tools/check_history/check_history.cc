#include "tools/check_history/check_history.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace elider::check {
namespace {

constexpr size_t kAnomaliesShown = 10;

void print_transaction(std::ostream& out, const RecordedHistory& history, uint32_t txn) {
  const RecordedTransaction& t = history.transactions[txn];
  out << fmt::format("  T{}: session {}, {}{}, attempt {}, snapshot {}, order {}, from {} to {} ns, {} operations and {} scans\n", t.line,
                     t.session, history.procedures[t.procedure].empty() ? "without a procedure" : history.procedures[t.procedure],
                     t.read_only ? ", read-only" : "", t.attempt, t.snapshot, t.order, t.begin_ns, t.end_ns, t.operations_count,
                     t.scans_count + t.index_scans_count);
}

void print_anomalies(std::ostream& out, const Verdict& verdict) {
  std::map<std::string, uint64_t> counts;
  for (const Anomaly& anomaly : verdict.anomalies) ++counts[anomaly.kind];
  for (const auto& [kind, count] : counts) out << fmt::format("{}: {}\n", kind, count);
  for (size_t i = 0; i < std::min(kAnomaliesShown, verdict.anomalies.size()); ++i) {
    out << fmt::format("  {}: {}\n", verdict.anomalies[i].kind, verdict.anomalies[i].words);
  }
  if (verdict.anomalies.size() > kAnomaliesShown) out << fmt::format("  and {} more\n", verdict.anomalies.size() - kAnomaliesShown);
}

void print_cycle(std::ostream& out, const RecordedHistory& history, const Verdict& verdict) {
  const auto& cycle = verdict.search.cycle;
  out << fmt::format("dependency graph: {} edges; {} transactions in cycles, in {} components\n", verdict.edges,
                     verdict.search.transactions, verdict.search.components);
  out << fmt::format("{}: a cycle of {} transactions{}\n", name_of_cycle(cycle), cycle.size(),
                     verdict.search.exhaustive ? ", the shortest" : " (a shorter one may exist: the search was bounded)");
  for (const CycleStep& step : cycle) print_transaction(out, history, step.txn);
  for (size_t i = 0; i < cycle.size(); ++i) {
    const uint32_t next = cycle[(i + 1) % cycle.size()].txn;
    out << fmt::format("  T{} -{}-> T{}: {}\n", history.transactions[cycle[i].txn].line, name_of(cycle[i].kind),
                       history.transactions[next].line, verdict.cycle_words[i]);
  }
}

}  // namespace

Verdict check_history(const RecordedHistory& history, const CheckOptions& options) {
  Verdict verdict;
  const Chains chains(history);
  verdict.anomalies = chains.anomalies();
  verdict.strictly = options.strictly;
  const Replay replay = replay_in_commit_order(chains, options.absences_max, options.strictly);
  verdict.replay_failures = replay.failures_count;
  verdict.failures = replay.failures;
  verdict.absences_left_out = replay.absences_left_out;
  if (!options.graph && replay.holds()) return verdict;
  const DependencyGraph graph(chains, replay.absences, options.strictly);
  verdict.graph_built = true;
  verdict.edges = graph.edges_count();
  verdict.search = find_cycle(graph, replay.suspects);
  const auto& cycle = verdict.search.cycle;
  for (size_t i = 0; i < cycle.size(); ++i) {
    verdict.cycle_words.push_back(graph.explain(cycle[i].txn, cycle[(i + 1) % cycle.size()].txn, cycle[i].kind));
  }
  return verdict;
}

void print(std::ostream& out, const RecordedHistory& history, const Verdict& verdict) {
  std::set<uint64_t> sessions;
  for (const RecordedTransaction& txn : history.transactions) sessions.insert(txn.session);
  out << fmt::format("{} transactions ({} committed) of {} sessions on {} tables; {} reads and writes, {} scans, {} index scans\n",
                     history.transactions.size(), history.committed, sessions.size(), history.tables.size(), history.operations.size(),
                     history.scans.size(), history.index_scans.size());
  print_anomalies(out, verdict);
  if (verdict.replay_failures == 0) {
    out << fmt::format("replay in commit order: every read, scan and write agrees{}\n", verdict.strictly ? ", and so does real time" : "");
  } else {
    out << fmt::format("replay in commit order: {} disagreements\n", verdict.replay_failures);
    for (const ReplayFailure& failure : verdict.failures) out << "  " << failure.words << "\n";
    if (verdict.replay_failures > verdict.failures.size()) {
      out << fmt::format("  and {} more\n", verdict.replay_failures - verdict.failures.size());
    }
  }
  if (!verdict.search.cycle.empty()) print_cycle(out, history, verdict);
  else if (verdict.graph_built) out << fmt::format("dependency graph: {} edges, no cycle\n", verdict.edges);
  if (verdict.graph_built && verdict.absences_left_out > 0) {
    out << fmt::format("the graph does not contain {} absences that scans saw; the replay checked all of them\n",
                       verdict.absences_left_out);
  }
  const std::string_view asked = verdict.strictly ? "strictly serializable" : "serializable";
  if (verdict.holds()) out << asked << "\n";
  else if (verdict.anomalies.empty() && verdict.search.cycle.empty()) {
    out << "REFUSED: the graph does not have a cycle, but the recorded commit order is not a serial order\n";
  } else {
    out << "NOT " << asked << "\n";
  }
}

}  // namespace elider::check
