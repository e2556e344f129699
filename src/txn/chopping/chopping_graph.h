// ChoppingGraph: the pieces of two calls of each procedure, with S-edges between siblings and
// C-edges between those that conflict (DBX-TC, section 3.1), and the search for SC-cycles.
//
// Two calls represent any number of them: a cycle through three calls of one procedure implies one
// through two, since all calls of a procedure have the same edges. Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "txn/chopping/resolved.h"

namespace elider::chopping {

class ChoppingGraph {
 public:
  // Each operation begins as a piece of its own. Procedures that run on a snapshot do not have
  // pieces.
  ChoppingGraph(const Resolved& resolved, const Choices& choices);

  struct Group {                       // a piece in the making
    std::vector<uint32_t> operations;  // by their places in the declaration, ascending
  };
  const std::vector<Group>& pieces(uint32_t procedure) const { return pieces_[procedure]; }
  bool on_snapshot(uint32_t procedure) const { return on_snapshot_[procedure]; }

  // Whether two operations conflict, whatever pieces they are in.
  bool conflict(OperationId one, OperationId other) const { return edges_[place(one)][place(other)]; }
  void remove_edge(OperationId one, OperationId other) { edges_[place(one)][place(other)] = edges_[place(other)][place(one)] = false; }
  void restore_edges(OperationId of);  // all that it has by its accesses
  bool has_conflict(OperationId id) const;
  bool conflicting(uint32_t procedure, const Group& piece) const;

  // Two pieces of one call that an SC-cycle passes through, and the cycle. It begins in the first
  // of them and ends in the second; the S-edge back is left out. Returns false if the graph does
  // not have a cycle.
  struct Cycle {
    uint32_t procedure = 0;
    size_t first = 0, second = 0;  // pieces
    std::vector<CycleStep> steps;
  };
  bool find_cycle(Cycle* cycle) const;

  // A path of C-edges and siblings from one procedure to another, which may be the same one. Empty
  // if none exists.
  std::vector<CycleStep> find_path(uint32_t from, uint32_t to) const;

  // Merges two pieces of a procedure, and all pieces that must run between them. Calls `between`
  // for each of these before it is merged.
  template <class F>
  void merge(uint32_t procedure, size_t first, size_t second, F&& between) {
    size_t merged = join(procedure, first, second);
    for (size_t caught; (caught = caught_between(procedure, merged)) != kNowhere;) {
      between(pieces_[procedure][merged], pieces_[procedure][caught]);
      merged = join(procedure, merged, caught);
    }
  }

  // Whether a piece needs another one, directly or through other pieces.
  bool needs(uint32_t procedure, size_t piece, size_t other) const { return needs_[procedure][piece][other]; }

 private:
  static constexpr size_t kNowhere = ~size_t{0};
  struct Node {
    uint32_t procedure, call;
    size_t piece;
  };

  size_t place(OperationId id) const { return begins_[id.procedure] + id.operation; }
  bool on_cycle(uint32_t procedure, size_t piece, const std::vector<std::vector<bool>>& conflicts, Cycle* cycle) const;
  // An edge between two pieces of different calls; returns false if none exists.
  bool edge(const Node& from, const Node& to, CycleStep* step) const;
  size_t join(uint32_t procedure, size_t first, size_t second);
  void find_needs(uint32_t procedure);
  size_t caught_between(uint32_t procedure, size_t merged) const;

  const Resolved& resolved_;
  const Choices& choices_;
  std::vector<size_t> begins_;            // by procedure: the place of its first operation
  std::vector<std::vector<bool>> edges_;  // by places
  std::vector<bool> on_snapshot_;
  std::vector<std::vector<Group>> pieces_;
  std::vector<std::vector<std::vector<bool>>> needs_;  // by procedure and piece: which others it needs
};

}  // namespace elider::chopping
