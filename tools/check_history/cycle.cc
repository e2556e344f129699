#include "tools/check_history/cycle.h"

#include <algorithm>
#include <deque>

namespace elider::check {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};
constexpr uint64_t kEdgesVisitedMax = 200'000'000;  // several seconds

// Finds the strongly connected components with Tarjan's algorithm. It uses an explicit stack,
// because a path in the graph can be too long for the call stack.
class Components {
 public:
  explicit Components(const DependencyGraph& graph)
      : graph_(graph), index_(graph.nodes_count(), kNone), low_(graph.nodes_count(), 0), component_(graph.nodes_count(), kNone) {
    for (uint32_t node = 0; node < graph.nodes_count(); ++node) {
      if (index_[node] == kNone) visit_from(node);
    }
  }

  // Returns kNone if the node's component has only this node.
  uint32_t component(uint32_t node) const { return component_[node]; }
  uint32_t count() const { return count_; }

 private:
  struct Frame {
    uint32_t node;
    uint32_t edge;
  };

  void visit_from(uint32_t root) {
    open(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const uint32_t node = frame.node;
      const auto edges = graph_.edges(node);
      if (frame.edge < edges.size()) {
        const uint32_t target = edges[frame.edge++].target();
        if (index_[target] == kNone) open(target);
        else if (on_stack_[target]) low_[node] = std::min(low_[node], index_[target]);
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      if (low_[node] == index_[node]) close(node);
    }
  }

  void open(uint32_t node) {
    index_[node] = low_[node] = next_index_++;
    stack_.push_back(node);
    on_stack_[node] = true;
    frames_.push_back({node, 0});
  }

  void close(uint32_t root) {
    const bool alone = stack_.back() == root;
    uint32_t node;
    do {
      node = stack_.back();
      stack_.pop_back();
      on_stack_[node] = false;
      if (!alone) component_[node] = count_;
    } while (node != root);
    if (!alone) ++count_;
  }

  const DependencyGraph& graph_;
  std::vector<uint32_t> index_, low_, component_;
  std::vector<bool> on_stack_ = std::vector<bool>(graph_.nodes_count(), false);
  std::vector<uint32_t> stack_;
  std::vector<Frame> frames_;
  uint32_t next_index_ = 0;
  uint32_t count_ = 0;
};

// Breadth-first search from one transaction back to itself, within its component. An edge to a
// moment (graph.h) has length 0, so the length of a path is the number of its transactions.
class ShortestCycle {
 public:
  ShortestCycle(const DependencyGraph& graph, const Components& components)
      : graph_(graph),
        components_(components),
        distance_(graph.nodes_count(), kNone),
        parent_(graph.nodes_count()),
        kind_(graph.nodes_count()) {}

  uint64_t edges_visited() const { return edges_visited_; }

  // Returns a cycle through `start` of fewer than `bound` transactions, or an empty one.
  std::vector<CycleStep> through(uint32_t start, size_t bound) {
    for (uint32_t node : touched_) distance_[node] = kNone;
    touched_.clear();
    queue_.clear();
    reach(start, 0, start, EdgeKind::kWw, false);
    while (!queue_.empty()) {
      const auto [node, distance] = queue_.front();
      queue_.pop_front();
      if (distance != distance_[node]) continue;  // a shorter path to this node was found
      if (distance + 1 >= bound) break;        // a cycle from here has at least that many transactions
      for (const Edge edge : graph_.edges(node)) {
        ++edges_visited_;
        const uint32_t target = edge.target();
        if (target == start) return unwind(start, node, edge.kind());
        if (components_.component(target) != components_.component(start)) continue;
        const bool free = !graph_.is_transaction(target);
        if (distance_[target] <= distance + (free ? 0 : 1)) continue;
        reach(target, distance + (free ? 0 : 1), node, edge.kind(), free);
      }
    }
    return {};
  }

 private:
  void reach(uint32_t node, uint32_t distance, uint32_t from, EdgeKind kind, bool first) {
    if (distance_[node] == kNone) touched_.push_back(node);
    distance_[node] = distance;
    parent_[node] = from;
    kind_[node] = kind;
    if (first) queue_.push_front({node, distance});
    else queue_.push_back({node, distance});
  }

  // Follows the path from the last node back to the start. Merges consecutive moments into one
  // real-time edge.
  std::vector<CycleStep> unwind(uint32_t start, uint32_t last, EdgeKind kind) const {
    std::vector<CycleStep> cycle;
    for (uint32_t node = last;; node = parent_[node]) {
      if (graph_.is_transaction(node)) cycle.push_back({node, kind});
      if (node == start) break;
      kind = kind_[node];
    }
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }

  const DependencyGraph& graph_;
  const Components& components_;
  std::vector<uint32_t> distance_, parent_;
  std::vector<EdgeKind> kind_;
  std::vector<uint32_t> touched_;
  std::deque<std::pair<uint32_t, uint32_t>> queue_;
  uint64_t edges_visited_ = 0;
};

}  // namespace

CycleSearch find_cycle(const DependencyGraph& graph, const std::vector<uint32_t>& suspects) {
  CycleSearch search;
  const Components components(graph);
  search.components = components.count();
  if (components.count() == 0) return search;

  std::vector<uint32_t> starts;
  for (uint32_t txn : suspects) {
    if (components.component(txn) != kNone) starts.push_back(txn);
  }
  for (uint32_t txn = 0; txn < graph.transactions_count(); ++txn) {
    if (components.component(txn) == kNone) continue;
    ++search.transactions;
    starts.push_back(txn);
  }
  ShortestCycle shortest(graph, components);
  for (uint32_t start : starts) {
    const size_t bound = search.cycle.empty() ? kNone : search.cycle.size();
    auto cycle = shortest.through(start, bound);
    if (!cycle.empty() && cycle.size() < bound) search.cycle = std::move(cycle);
    if (search.cycle.size() == 2) break;  // a cycle cannot be shorter
    if (shortest.edges_visited() > kEdgesVisitedMax && !search.cycle.empty()) {
      search.exhaustive = false;
      break;
    }
  }
  return search;
}

std::string name_of_cycle(const std::vector<CycleStep>& cycle) {
  size_t counts[4] = {};
  for (const CycleStep& step : cycle) ++counts[static_cast<size_t>(step.kind)];
  const size_t rw = counts[static_cast<size_t>(EdgeKind::kRw)];
  std::string name;
  if (rw >= 2) name = "G2 (anti-dependency cycle: write skew, a phantom, or a read-only anomaly)";
  else if (rw == 1) name = "G-single (read skew, a lost update, or a stale read)";
  else if (counts[static_cast<size_t>(EdgeKind::kWr)] > 0) name = "G1c (circular information flow)";
  else name = "G0 (write cycle)";
  if (counts[static_cast<size_t>(EdgeKind::kTime)] > 0) name += ", against real time";
  return name;
}

}  // namespace elider::check
