// ChoppingGraph: a graph whose nodes are the pieces of two calls to each procedure. S-edges connect
// the pieces of a call, and C-edges connect conflicting pieces of different calls (DBX-TC, section
// 3.1). The class also searches the graph for SC-cycles, which contain both kinds of edges.
//
// Two calls per procedure represent any number of concurrent calls. All calls to a procedure have
// the same edges. If there is an SC-cycle through three or more calls to a procedure, there is thus
// also an SC-cycle through at most two of them. Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "txn/chopping/resolved.h"

namespace elider::chopping {

class ChoppingGraph {
 public:
  // Initially each operation is a separate piece. Procedures that run on a snapshot do not have
  // pieces.
  ChoppingGraph(const Resolved& resolved, const Choices& choices);

  struct Group {                       // a piece during the construction
    std::vector<uint32_t> operations;  // by their positions in the declaration, ascending
  };
  const std::vector<Group>& pieces(uint32_t procedure) const { return pieces_[procedure]; }
  bool on_snapshot(uint32_t procedure) const { return on_snapshot_[procedure]; }

  // Returns true if two operations conflict, regardless of the pieces that contain them.
  bool conflict(OperationId one, OperationId other) const { return edges_[place(one)][place(other)]; }
  void remove_edge(OperationId one, OperationId other) { edges_[place(one)][place(other)] = edges_[place(other)][place(one)] = false; }
  void restore_edges(OperationId of);  // restores all edges that the operation's accesses cause
  bool has_conflict(OperationId id) const;
  bool conflicting(uint32_t procedure, const Group& piece) const;

  // An SC-cycle, and two pieces of one call that it passes through. The steps lead from the first
  // piece to the second. The S-edge from the second piece back to the first is left out.
  struct Cycle {
    uint32_t procedure = 0;
    size_t first = 0, second = 0;  // pieces
    std::vector<CycleStep> steps;
  };
  // Returns false if the graph does not contain an SC-cycle.
  bool find_cycle(Cycle* cycle) const;

  // Returns a path of conflicts from one procedure to another, which may be the same one. Returns
  // an empty path if none exists.
  std::vector<CycleStep> find_path(uint32_t from, uint32_t to) const;

  // Merges two pieces of a procedure, and all pieces that must run between them. Calls
  // between(merged, piece) before it merges such a piece.
  template <class F>
  void merge(uint32_t procedure, size_t first, size_t second, F&& between) {
    size_t merged = join(procedure, first, second);
    for (size_t caught; (caught = caught_between(procedure, merged)) != kNowhere;) {
      between(pieces_[procedure][merged], pieces_[procedure][caught]);
      merged = join(procedure, merged, caught);
    }
  }

  // Returns true if `piece` depends on `other`, directly or through other pieces.
  bool needs(uint32_t procedure, size_t piece, size_t other) const { return needs_[procedure][piece][other]; }

 private:
  static constexpr size_t kNowhere = ~size_t{0};
  struct Node {
    uint32_t procedure, call;
    size_t piece;
  };

  size_t place(OperationId id) const { return begins_[id.procedure] + id.operation; }
  bool on_cycle(uint32_t procedure, size_t piece, const std::vector<std::vector<bool>>& conflicts, Cycle* cycle) const;
  // Sets *step to a C-edge between two pieces of different calls. Returns false if none exists.
  bool edge(const Node& from, const Node& to, CycleStep* step) const;
  size_t join(uint32_t procedure, size_t first, size_t second);
  void find_needs(uint32_t procedure);
  size_t caught_between(uint32_t procedure, size_t merged) const;

  const Resolved& resolved_;
  const Choices& choices_;
  std::vector<size_t> begins_;            // by procedure: the position of its first operation
  std::vector<std::vector<bool>> edges_;  // by the positions of two operations
  std::vector<bool> on_snapshot_;
  std::vector<std::vector<Group>> pieces_;
  std::vector<std::vector<std::vector<bool>>> needs_;  // by procedure and piece: the pieces that it depends on
};

}  // namespace elider::chopping
