// DependencyGraph: shows which transactions must precede which others, and why. It is Adya's direct
// serialization graph, extended with real-time order for strict serializability. It has an edge
// from T to U of kind
//
//   ww  if U wrote the version that follows one that T wrote
//   wr  if U read a version that T wrote
//   rw  if U wrote the version that follows one that T read
//   rt  if T ended before U began
//
// A history is strictly serializable if and only if the graph is acyclic. Versions are recorded, so
// edges are certain. Only the edges of absences that the replay resolved (Absence) depend on the
// commit order. cycle.h searches for cycles.
//
// Real-time order relates a quadratic number of pairs of transactions. To represent it with a
// linear number of edges, the graph has an additional node, called a moment, for each transaction's
// end. A transaction has an edge to the moment of its end, each moment has an edge to the next one,
// and the last moment before a transaction's beginning has an edge to that transaction.
// The nodes are numbered: first the transactions, in the order of the history, and then the
// moments.
// Thread safety: constant after construction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/check_history/chains.h"
#include "tools/check_history/replay.h"

namespace elider::check {

enum class EdgeKind : uint8_t { kWw = 0, kWr = 1, kRw = 2, kTime = 3 };
std::string_view name_of(EdgeKind kind);

// An edge takes four bytes, because the graph of a large history has a hundred million edges.
class Edge {
 public:
  // [31..30] kind  [29..0] target node
  Edge() = default;
  Edge(uint32_t target, EdgeKind kind) : bits_(target | static_cast<uint32_t>(kind) << kKindShift) {}
  uint32_t target() const { return bits_ & kTargetMask; }
  EdgeKind kind() const { return static_cast<EdgeKind>(bits_ >> kKindShift); }
  static constexpr uint32_t kKindShift = 30;
  static constexpr uint32_t kTargetMask = (uint32_t{1} << kKindShift) - 1;

 private:
  uint32_t bits_ = 0;
};
static_assert(sizeof(Edge) == 4);

class DependencyGraph {
 public:
  // The chains must outlive the graph. `strictly` adds real-time order.
  DependencyGraph(const Chains& chains, const std::vector<Absence>& absences, bool strictly);

  uint32_t nodes_count() const { return static_cast<uint32_t>(edge_begins_.size() - 1); }
  uint32_t transactions_count() const { return transactions_count_; }
  uint64_t edges_count() const { return edges_.size(); }
  bool is_transaction(uint32_t node) const { return node < transactions_count_; }
  std::span<const Edge> edges(uint32_t node) const {
    return {edges_.data() + edge_begins_[node], edges_.data() + edge_begins_[node + 1]};
  }

  // Explains why `from` must come before `to` by an edge of this kind, with keys and versions.
  std::string explain(uint32_t from, uint32_t to, EdgeKind kind) const;

 private:
  void order_moments();
  void gather_reads(const std::vector<Absence>& absences);
  template <class Use>
  void each_edge(Use&& use) const;
  template <class Use>
  void each_data_edge(uint32_t txn, Use&& use) const;
  std::span<const ChainRead> reads_of(uint32_t txn) const {
    return {reads_.data() + read_begins_[txn], reads_.data() + read_begins_[txn + 1]};
  }

  const Chains& chains_;
  uint32_t transactions_count_;
  std::vector<uint64_t> read_begins_;  // indexed by transaction; positions in reads_
  std::vector<ChainRead> reads_;
  std::vector<uint32_t> by_end_;       // committed transactions, sorted by their ends; moment i belongs to by_end_[i]
  std::vector<uint64_t> edge_begins_;  // indexed by node; positions in edges_
  std::vector<Edge> edges_;
};

}  // namespace elider::check
