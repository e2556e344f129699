// The chopping analysis of a declaration (elider/chopping.h). It first decides which deferrals are
// allowed. It then merges pieces until the graph does not contain an SC-cycle, merges pieces
// because of rollbacks, and orders the pieces.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/test_points.h"
#include "txn/chopping/chopping_graph.h"

namespace elider::chopping {

namespace {

class Analysis {
 public:
  Analysis(const Declaration& declaration, const Choices& choices, const Resolved& resolved, Plan& plan)
      : declaration_(declaration), choices_(choices), resolved_(resolved), plan_(plan), graph_(resolved, choices) {}

  void run() {
    if (choices_.deferring) decide_deferrals();
    merge_cycles();
    for (uint32_t p = 0; p < count(); ++p) merge_for_rollback(p);
    for (uint32_t p = 0; p < count(); ++p) order(p);
    list_conflicts();
    list_static_tables();
  }

 private:
  uint32_t count() const { return static_cast<uint32_t>(resolved_.procedures.size()); }
  const ResolvedOperation& operation(uint32_t p, uint32_t o) const { return resolved_.procedures[p].operations[o]; }

  // Initially allows all deferrals, and then refuses some. For the remaining deferrals, the
  // following holds: no path of conflicts leads from a procedure that publishes to a procedure that
  // waits for a publication. Why this suffices: all calls publish at the same barrier. In the
  // serial order, a call that waits precedes the barrier, and a call that publishes follows it. A
  // path from the publishing call to the waiting call would require the opposite order. Refusing a
  // deferral restores its edges, which may create a path for other deferrals, so these are checked
  // again.
  void decide_deferrals() {
    for (const ResolvedProcedure& procedure : resolved_.procedures)
      for (const ResolvedOperation& each : procedure.operations) {
        if (!each.deferred) continue;
        Deferral deferral{each.id, {}, true, {}, {}};
        for (const ResolvedProcedure& other : resolved_.procedures)
          for (const ResolvedOperation& subscriber : other.operations)
            if (graph_.conflict(each.id, subscriber.id)) deferral.subscribers.push_back(subscriber.id);
        plan_.deferrals.push_back(std::move(deferral));
      }
    remove_granted_edges();
    for (bool changed = !ELIDER_MUTANT(kDeferBesideOtherPaths); std::exchange(changed, false);)
      for (Deferral& deferral : plan_.deferrals) {
        if (!deferral.granted || may_defer(deferral)) continue;
        deferral.granted = false;
        graph_.restore_edges(deferral.publisher);
        remove_granted_edges();
        changed = true;
      }
  }
  void remove_granted_edges() {
    for (const Deferral& deferral : plan_.deferrals)
      if (deferral.granted)
        for (const OperationId& subscriber : deferral.subscribers) graph_.remove_edge(deferral.publisher, subscriber);
  }

  bool may_defer(Deferral& deferral) {
    const uint32_t publisher = deferral.publisher.procedure;
    for (const ResolvedOperation& other : resolved_.procedures[publisher].operations)
      if (resolved_.procedures[publisher].needed[other.id.operation][deferral.publisher.operation]) {
        deferral.why_not = "'" + name(other.id) + "' needs its result";
        return false;
      }
    // Without reordering, an operation that is not deferred must not follow a deferred one.
    for (uint32_t o = deferral.publisher.operation + 1; !choices_.reordering && o < resolved_.procedures[publisher].operations.size(); ++o)
      if (!operation(publisher, o).deferred) {
        deferral.why_not = "'" + name({publisher, o}) + "' comes after it, and reordering is turned off";
        return false;
      }
    for (const Deferral& published : plan_.deferrals) {
      if (!published.granted) continue;
      for (const OperationId& subscriber : published.subscribers) {
        const auto place = [&](OperationId id) { return "'" + declaration_.procedures[id.procedure].name + "." + name(id) + "'"; };
        const std::string waits = place(subscriber) + ", which waits for " + place(published.publisher) + ",";
        if (subscriber.procedure == publisher) {
          deferral.why_not = waits + " belongs to its own procedure";
          return false;
        }
        deferral.path = graph_.find_path(publisher, subscriber.procedure);
        if (deferral.path.empty()) continue;
        deferral.why_not = waits + (published.publisher == deferral.publisher ? " also" : "") + " conflicts with its procedure elsewhere";
        return false;
      }
    }
    return true;
  }

  void merge_cycles() {
    for (ChoppingGraph::Cycle cycle; !ELIDER_MUTANT(kLeaveCycle) && graph_.find_cycle(&cycle);)
      merge(cycle.procedure, cycle.first, cycle.second, Merge::Why::kCycle, std::move(cycle.steps));
  }

  void merge(uint32_t p, size_t first, size_t second, Merge::Why why, std::vector<CycleStep> steps = {}) {
    plan_.merges.push_back({why, p, graph_.pieces(p)[first].operations, graph_.pieces(p)[second].operations, std::move(steps)});
    graph_.merge(p, first, second, [&](const ChoppingGraph::Group& one, const ChoppingGraph::Group& between) {
      plan_.merges.push_back({Merge::Why::kBetween, p, one.operations, between.operations, {}});
    });
  }

  bool writes(uint32_t p, const ChoppingGraph::Group& piece) const {
    return std::any_of(piece.operations.begin(), piece.operations.end(), [&](uint32_t o) { return operation(p, o).writes; });
  }
  bool may_roll_back(uint32_t p, const ChoppingGraph::Group& piece) const {
    return std::any_of(piece.operations.begin(), piece.operations.end(), [&](uint32_t o) { return operation(p, o).may_roll_back; });
  }
  // Returns true if the piece may roll back, or if a piece that may roll back needs it.
  bool before_rollback(uint32_t p, size_t i) const {
    const auto& pieces = graph_.pieces(p);
    if (may_roll_back(p, pieces[i])) return true;
    for (size_t other = 0; other < pieces.size(); ++other)
      if (may_roll_back(p, pieces[other]) && graph_.needs(p, other, i)) return true;
    return false;
  }
  // Returns the position of the last piece that may roll back, or the number of pieces if there is
  // none. Without reordering, all pieces that are declared before that piece run before it.
  size_t last_that_may_roll_back(uint32_t p) const {
    const auto& pieces = graph_.pieces(p);
    size_t last = pieces.size();
    for (size_t i = 0; i < pieces.size(); ++i)
      if (may_roll_back(p, pieces[i])) last = i;
    return last;
  }

  // The effects of a procedure must not become visible while it may still roll back. Therefore all
  // pieces that write, up to the last piece that may roll back, are merged into one.
  void merge_for_rollback(uint32_t p) {
    for (;;) {
      const auto& pieces = graph_.pieces(p);
      const size_t last = last_that_may_roll_back(p);
      if (last == pieces.size() || ELIDER_MUTANT(kRollBackLate)) return;
      std::vector<size_t> early;
      for (size_t i = 0; i < pieces.size(); ++i)
        if (writes(p, pieces[i]) && (choices_.reordering ? before_rollback(p, i) : i <= last)) early.push_back(i);
      if (early.empty()) return;
      // Among the pieces up to the last one that may roll back, only one piece that writes may
      // remain, and that piece must come after all other pieces that may roll back.
      size_t other = pieces.size();
      for (size_t i = 0; i < pieces.size() && other == pieces.size(); ++i) {
        if (i == early.front()) continue;
        const bool is_early = std::find(early.begin(), early.end(), i) != early.end();
        const bool must_follow =
            may_roll_back(p, pieces[i]) && (choices_.reordering ? graph_.needs(p, i, early.front()) : i > early.front());
        if (is_early || must_follow) other = i;
      }
      if (other == pieces.size()) return;
      merge(p, early.front(), other, Merge::Why::kRollback);
    }
  }

  // Orders the pieces as follows, as far as the dependencies between them permit: first the pieces
  // that may roll back, with the pieces that they need; then pieces that only read; then the
  // conflicting piece, which determines the snapshot number of the later writes; then pieces that
  // write; and last the deferred pieces.
  void order(uint32_t p) {
    PlannedProcedure& planned = plan_.procedures.emplace_back();
    planned.on_snapshot = graph_.on_snapshot(p);
    if (planned.on_snapshot) {
      Piece whole;
      whole.operations = sorted(p, all_operations(p));
      planned.pieces.push_back(std::move(whole));
      return;
    }
    const auto& pieces = graph_.pieces(p);
    std::vector<unsigned> rank(pieces.size());
    for (size_t i = 0; i < pieces.size(); ++i) {
      const bool conflicting = graph_.conflicting(p, pieces[i]);
      rank[i] = !choices_.reordering     ? 0
                : deferred(p, pieces[i]) ? 5
                : before_rollback(p, i)  ? (writes(p, pieces[i]) ? 1 : 0)
                : conflicting            ? 3
                : writes(p, pieces[i])   ? 4
                                         : 2;
    }
    std::vector<bool> placed(pieces.size());
    size_t conflicting_pieces = 0;
    for (size_t n = 0; n < pieces.size(); ++n) {
      size_t best = pieces.size();
      for (size_t i = 0; i < pieces.size(); ++i) {
        if (placed[i]) continue;
        bool ready = true;
        for (size_t j = 0; j < pieces.size(); ++j) ready = ready && (placed[j] || i == j || !graph_.needs(p, i, j));
        if (ready && (best == pieces.size() || rank[i] < rank[best])) best = i;
      }
      ELIDER_CHECK(best < pieces.size(), "pieces that need each other have been merged");
      placed[best] = true;
      const bool conflicting = graph_.conflicting(p, pieces[best]);
      conflicting_pieces += conflicting ? 1 : 0;
      planned.pieces.push_back({sorted(p, pieces[best].operations), conflicting, writes(p, pieces[best]), deferred(p, pieces[best])});
    }
    ELIDER_CHECK(conflicting_pieces <= 1 || ELIDER_MUTANT(kLeaveCycle) || ELIDER_MUTANT(kForgetSibling),
                 "a procedure has at most one conflicting piece (DBX-TC, Theorem 1)");
  }

  bool deferred(uint32_t p, const ChoppingGraph::Group& piece) const {
    return std::all_of(piece.operations.begin(), piece.operations.end(), [&](uint32_t o) {
      return std::any_of(plan_.deferrals.begin(), plan_.deferrals.end(),
                         [&](const Deferral& d) { return d.granted && d.publisher == OperationId{p, o}; });
    });
  }

  std::vector<uint32_t> all_operations(uint32_t p) const {
    std::vector<uint32_t> all(resolved_.procedures[p].operations.size());
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  // Sorts operations into the order of their declaration, except where an operation needs a later
  // one.
  std::vector<uint32_t> sorted(uint32_t p, std::vector<uint32_t> operations) const {
    const auto& needed = resolved_.procedures[p].needed;
    std::vector<uint32_t> result;
    while (!operations.empty()) {
      const auto next = std::find_if(operations.begin(), operations.end(), [&](uint32_t o) {
        return std::none_of(operations.begin(), operations.end(), [&](uint32_t other) { return needed[o][other]; });
      });
      result.push_back(*next);
      operations.erase(next);
    }
    return result;
  }

  void list_conflicts() {
    std::vector<const ResolvedOperation*> all;
    for (const ResolvedProcedure& procedure : resolved_.procedures)
      for (const ResolvedOperation& each : procedure.operations) all.push_back(&each);
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = i; j < all.size(); ++j) {
        if (!graph_.conflict(all[i]->id, all[j]->id)) continue;
        plan_.conflicts.push_back(describe(declaration_, *all[i], *all[j], choices_));
      }
  }

  void list_static_tables() {
    std::vector<bool> changes(declaration_.tables.size());
    for (const ResolvedProcedure& procedure : resolved_.procedures)
      for (const ResolvedOperation& each : procedure.operations)
        for (const ResolvedAccess& access : each.accesses)
          if (access.kind == AccessKind::kInsert || access.kind == AccessKind::kRemove) changes[access.table] = true;
    for (size_t t = 0; t < changes.size(); ++t)
      if (!changes[t]) plan_.static_tables.push_back(declaration_.tables[t].name);
  }

  std::string name(OperationId id) const { return declaration_.procedures[id.procedure].operations[id.operation].name; }

  const Declaration& declaration_;
  const Choices& choices_;
  const Resolved& resolved_;
  Plan& plan_;
  ChoppingGraph graph_;
};

}  // namespace

Status analyze(const Declaration& declaration, const Choices& choices, Plan* plan) {
  *plan = {};
  Resolved resolved;
  if (Status status = resolve(declaration, choices, &resolved); !status.ok()) return status;
  Analysis(declaration, choices, resolved, *plan).run();
  return {};
}

}  // namespace elider::chopping
