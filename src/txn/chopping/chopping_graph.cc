#include "txn/chopping/chopping_graph.h"

#include <algorithm>
#include <queue>

#include "base/test_points.h"

namespace elider::chopping {

ChoppingGraph::ChoppingGraph(const Resolved& resolved, const Choices& choices) : resolved_(resolved), choices_(choices) {
  size_t count = 0;
  for (uint32_t p = 0; p < resolved.procedures.size(); ++p) {
    const ResolvedProcedure& procedure = resolved.procedures[p];
    begins_.push_back(count);
    count += procedure.operations.size();
    on_snapshot_.push_back(choices.snapshots && procedure.reads_only);
    auto& pieces = pieces_.emplace_back();
    if (on_snapshot_.back()) continue;
    for (uint32_t o = 0; o < procedure.operations.size(); ++o) pieces.push_back({{o}});
  }
  needs_.resize(pieces_.size());
  for (uint32_t p = 0; p < pieces_.size(); ++p) find_needs(p);
  edges_.assign(count, std::vector<bool>(count));
  for (const ResolvedProcedure& procedure : resolved.procedures)
    for (const ResolvedOperation& operation : procedure.operations) restore_edges(operation.id);
}

void ChoppingGraph::restore_edges(OperationId of) {
  if (on_snapshot_[of.procedure]) return;
  const ResolvedOperation& operation = resolved_.operation(of);
  for (const ResolvedProcedure& procedure : resolved_.procedures)
    for (const ResolvedOperation& other : procedure.operations)
      if (!on_snapshot_[other.id.procedure] && (meeting_of(operation, other, choices_) || meeting_of(other, operation, choices_)))
        edges_[place(of)][place(other.id)] = edges_[place(other.id)][place(of)] = true;
}

bool ChoppingGraph::has_conflict(OperationId id) const {
  const std::vector<bool>& edges = edges_[place(id)];
  return std::find(edges.begin(), edges.end(), true) != edges.end();
}

bool ChoppingGraph::conflicting(uint32_t procedure, const Group& piece) const {
  return std::any_of(piece.operations.begin(), piece.operations.end(), [&](uint32_t o) { return has_conflict({procedure, o}); });
}

bool ChoppingGraph::edge(const Node& from, const Node& to, CycleStep* step) const {
  for (const uint32_t a : pieces_[from.procedure][from.piece].operations)
    for (const uint32_t b : pieces_[to.procedure][to.piece].operations)
      if (conflict({from.procedure, a}, {to.procedure, b})) {
        *step = {{from.procedure, a}, {to.procedure, b}, from.call == 1, to.call == 1, false};
        return true;
      }
  return false;
}

bool ChoppingGraph::find_cycle(Cycle* cycle) const {
  std::vector<std::vector<bool>> conflicts(pieces_.size());  // by procedure and piece; pieces without conflicts are not on a cycle
  for (uint32_t p = 0; p < pieces_.size(); ++p)
    for (const Group& piece : pieces_[p]) conflicts[p].push_back(conflicting(p, piece));
  for (uint32_t p = 0; p < pieces_.size(); ++p) {
    if (std::count(conflicts[p].begin(), conflicts[p].end(), true) < 2) continue;  // a cycle passes through two pieces of a call
    for (size_t piece = 0; piece < pieces_[p].size(); ++piece)
      if (conflicts[p][piece] && on_cycle(p, piece, conflicts, cycle)) return true;
  }
  return false;
}

// A cycle through two pieces of a call is a path between these pieces that does not use an S-edge
// of this call. The search finds the shortest path, so the path does not pass through other pieces
// of the call.
bool ChoppingGraph::on_cycle(uint32_t procedure, size_t piece, const std::vector<std::vector<bool>>& conflicts, Cycle* cycle) const {
  struct Reached {
    Node node;
    size_t from;  // the position in `reached` of the node that led here
    CycleStep step;
  };
  std::vector<Reached> reached{{{procedure, 0, piece}, kNowhere, {}}};
  std::vector<bool> seen(2 * edges_.size());  // indexed by the position of a piece's first operation, and the call
  const auto place_of = [&](const Node& node) {
    return 2 * place({node.procedure, pieces_[node.procedure][node.piece].operations.front()}) + node.call;
  };
  seen[place_of(reached.front().node)] = true;
  for (size_t at = 0; at < reached.size(); ++at) {
    const Node from = reached[at].node;
    const bool home = from.procedure == procedure && from.call == 0;
    for (uint32_t p = 0; p < pieces_.size(); ++p)
      for (uint32_t call = 0; call < 2; ++call) {
        const bool sibling = p == from.procedure && call == from.call;
        if (sibling && (home || ELIDER_MUTANT(kForgetSibling))) continue;
        for (size_t to = 0; to < pieces_[p].size(); ++to) {
          const Node node{p, call, to};
          CycleStep step{{from.procedure, pieces_[from.procedure][from.piece].operations.front()},
                         {p, pieces_[p][to].operations.front()},
                         from.call == 1,
                         call == 1,
                         true};
          if (seen[place_of(node)] || !conflicts[p][to] || (!sibling && !edge(from, node, &step))) continue;
          seen[place_of(node)] = true;
          reached.push_back({node, at, step});
          if (p != procedure || call != 0) continue;
          *cycle = {procedure, piece, to, {}};
          for (size_t i = reached.size() - 1; reached[i].from != kNowhere; i = reached[i].from) cycle->steps.push_back(reached[i].step);
          std::reverse(cycle->steps.begin(), cycle->steps.end());
          // An S-edge leads from the operation at which the path enters the call to the operation
          // at which the path leaves it.
          for (size_t i = 0; i < cycle->steps.size(); ++i)
            if (cycle->steps[i].sibling) {
              if (i > 0) cycle->steps[i].from = cycle->steps[i - 1].to;
              if (i + 1 < cycle->steps.size()) cycle->steps[i].to = cycle->steps[i + 1].from;
            }
          return true;
        }
      }
  }
  return false;
}

std::vector<CycleStep> ChoppingGraph::find_path(uint32_t from, uint32_t to) const {
  const uint32_t count = static_cast<uint32_t>(pieces_.size());
  std::vector<uint32_t> came_from(count, kNone);
  std::vector<CycleStep> steps(count);
  std::vector<bool> seen(count);
  std::queue<uint32_t> next({from});
  seen[from] = from != to;
  while (!next.empty()) {
    const uint32_t at = next.front();
    next.pop();
    for (uint32_t p = 0; p < count; ++p) {
      if (seen[p]) continue;
      CycleStep step{{at, kNone}, {p, kNone}, false, p == at, false};
      for (uint32_t a = 0; a < resolved_.procedures[at].operations.size() && step.from.operation == kNone; ++a)
        for (uint32_t b = 0; b < resolved_.procedures[p].operations.size() && step.from.operation == kNone; ++b)
          if (conflict({at, a}, {p, b})) step.from.operation = a, step.to.operation = b;
      if (step.from.operation == kNone) continue;
      seen[p] = true;
      came_from[p] = at;
      steps[p] = step;
      next.push(p);
    }
  }
  std::vector<CycleStep> path;
  if (!seen[to]) return path;
  uint32_t at = to;
  do {
    path.push_back(steps[at]);
    at = came_from[at];
  } while (at != from && at != kNone);
  std::reverse(path.begin(), path.end());
  return path;
}

void ChoppingGraph::find_needs(uint32_t procedure) {
  const auto& needed = resolved_.procedures[procedure].needed;
  const auto& pieces = pieces_[procedure];
  const size_t count = pieces.size();
  auto& needs = needs_[procedure];
  needs.assign(count, std::vector<bool>(count));
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j)
      for (const uint32_t o : pieces[i].operations)
        for (const uint32_t before : pieces[j].operations)
          if (i != j && needed[o][before]) needs[i][j] = true;
  for (size_t k = 0; k < count; ++k)
    for (size_t i = 0; i < count; ++i)
      if (needs[i][k])
        for (size_t j = 0; j < count; ++j)
          if (needs[k][j]) needs[i][j] = true;
}

// Merges the second piece into the one with the smaller position. Returns that position.
size_t ChoppingGraph::join(uint32_t procedure, size_t first, size_t second) {
  auto& pieces = pieces_[procedure];
  if (first > second) std::swap(first, second);
  auto& operations = pieces[first].operations;
  operations.insert(operations.end(), pieces[second].operations.begin(), pieces[second].operations.end());
  std::sort(operations.begin(), operations.end());
  pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(second));
  find_needs(procedure);
  return first;
}

// Returns a piece that needs one of the merged operations and is needed by another one, or
// kNowhere. Without reordering, a piece that was declared between them is also returned.
size_t ChoppingGraph::caught_between(uint32_t procedure, size_t merged) const {
  const auto& pieces = pieces_[procedure];
  const Group& one = pieces[merged];
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i == merged) continue;
    const Group& other = pieces[i];
    if (needs(procedure, i, merged) && needs(procedure, merged, i) && !ELIDER_MUTANT(kMergeWithoutBetween)) return i;
    if (!choices_.reordering && other.operations.front() < one.operations.back() && one.operations.front() < other.operations.back())
      return i;
  }
  return kNowhere;
}

}  // namespace elider::chopping
