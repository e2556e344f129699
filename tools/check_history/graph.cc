#include "tools/check_history/graph.h"

#include <algorithm>

namespace elider::check {

std::string_view name_of(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kWw: return "ww";
    case EdgeKind::kWr: return "wr";
    case EdgeKind::kRw: return "rw";
    case EdgeKind::kTime: return "rt";
  }
  return "?";
}

DependencyGraph::DependencyGraph(const Chains& chains, const std::vector<Absence>& absences, bool strictly)
    : chains_(chains), transactions_count_(static_cast<uint32_t>(chains.history().transactions.size())) {
  gather_reads(absences);
  if (strictly) order_moments();
  // Counts the edges first, and then fills one array, in which the edges are grouped by their start
  // nodes.
  edge_begins_.assign(transactions_count_ + by_end_.size() + 1, 0);
  each_edge([&](uint32_t from, Edge) { ++edge_begins_[from + 1]; });
  for (size_t node = 0; node + 1 < edge_begins_.size(); ++node) edge_begins_[node + 1] += edge_begins_[node];
  edges_.resize(edge_begins_.back());
  std::vector<uint64_t> fill(edge_begins_.begin(), edge_begins_.end() - 1);
  each_edge([&](uint32_t from, Edge edge) { edges_[fill[from]++] = edge; });
}

void DependencyGraph::gather_reads(const std::vector<Absence>& absences) {
  const RecordedHistory& history = chains_.history();
  const auto each_read = [&](auto&& use) {
    for (uint32_t txn = 0; txn < transactions_count_; ++txn) {
      const RecordedTransaction& transaction = history.transactions[txn];
      if (!transaction.committed) continue;
      const auto give = [&](uint32_t item, WriteIndex seen) {
        if (seen != kUnknown && seen != kUnresolved) use(txn, ChainRead{item, seen});
      };
      for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
        if (!is_write(history.operations[i].kind)) give(chains_.item_of_operation(i), chains_.seen_by_operation(i));
      }
      for (uint64_t s = transaction.scans_begin; s < transaction.scans_begin + transaction.scans_count; ++s) {
        const RecordedScan& scan = history.scans[s];
        for (uint64_t row = scan.rows_begin; row < scan.rows_begin + scan.rows_count; ++row) {
          give(chains_.item_of_row(row), chains_.seen_by_row(row));
        }
      }
    }
    for (const Absence& absence : absences) use(absence.txn, absence.read);
  };
  read_begins_.assign(transactions_count_ + 1, 0);
  each_read([&](uint32_t txn, ChainRead) { ++read_begins_[txn + 1]; });
  for (uint32_t txn = 0; txn < transactions_count_; ++txn) read_begins_[txn + 1] += read_begins_[txn];
  reads_.resize(read_begins_.back());
  std::vector<uint64_t> fill(read_begins_.begin(), read_begins_.end() - 1);
  each_read([&](uint32_t txn, ChainRead read) { reads_[fill[txn]++] = read; });
}

void DependencyGraph::order_moments() {
  const auto& transactions = chains_.history().transactions;
  for (uint32_t txn = 0; txn < transactions_count_; ++txn) {
    if (transactions[txn].committed) by_end_.push_back(txn);
  }
  std::sort(by_end_.begin(), by_end_.end(), [&](uint32_t a, uint32_t b) { return transactions[a].end_ns < transactions[b].end_ns; });
}

// Calls use(other transaction, kind, item, version of the edge) for each edge that results from the
// reads and writes of `txn`. A wr edge is found at the reader, so the caller must reverse it.
template <class Use>
void DependencyGraph::each_data_edge(uint32_t txn, Use&& use) const {
  for (const ChainRead& read : reads_of(txn)) {
    if (read.itself && read.seen != kInitial && chains_.write(read.seen).txn != txn) {
      use(chains_.write(read.seen).txn, EdgeKind::kWr, read.item, read.seen, read.seen);
    }
    const WriteIndex next = chains_.next(read.item, read.seen);
    const WriteIndex seen = read.itself ? read.seen : kUnknown;
    if (next != kInitial && chains_.write(next).txn != txn) use(chains_.write(next).txn, EdgeKind::kRw, read.item, seen, next);
  }
  const RecordedHistory& history = chains_.history();
  const RecordedTransaction& transaction = history.transactions[txn];
  for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
    if (!is_write(history.operations[i].kind)) continue;
    const uint32_t item = chains_.item_of_operation(i);
    const WriteIndex own = chains_.find_version(item, history.operations[i].version);
    // Two transactions may claim to have written one version. This is reported elsewhere, and only
    // the transaction that `chains_` names gets an edge.
    if (own == kUnknown || chains_.write(own).txn != txn) continue;
    const WriteIndex next = chains_.next(item, own);
    if (next != kInitial) use(chains_.write(next).txn, EdgeKind::kWw, item, own, next);
  }
}

template <class Use>
void DependencyGraph::each_edge(Use&& use) const {
  const auto& transactions = chains_.history().transactions;
  for (uint32_t txn = 0; txn < transactions_count_; ++txn) {
    if (!transactions[txn].committed) continue;
    each_data_edge(txn, [&](uint32_t other, EdgeKind kind, uint32_t, WriteIndex, WriteIndex) {
      if (kind == EdgeKind::kWr) use(other, Edge(txn, kind));
      else use(txn, Edge(other, kind));
    });
    const auto moment = std::lower_bound(by_end_.begin(), by_end_.end(), transactions[txn].begin_ns,
                                         [&](uint32_t other, uint64_t begin_ns) { return transactions[other].end_ns < begin_ns; });
    if (moment != by_end_.begin()) {
      use(transactions_count_ + static_cast<uint32_t>(moment - by_end_.begin()) - 1, Edge(txn, EdgeKind::kTime));
    }
  }
  for (uint32_t moment = 0; moment < by_end_.size(); ++moment) {
    use(by_end_[moment], Edge(transactions_count_ + moment, EdgeKind::kTime));
    if (moment + 1 < by_end_.size()) use(transactions_count_ + moment, Edge(transactions_count_ + moment + 1, EdgeKind::kTime));
  }
}

std::string DependencyGraph::explain(uint32_t from, uint32_t to, EdgeKind kind) const {
  const std::string a = chains_.name_of_txn(from), b = chains_.name_of_txn(to);
  if (kind == EdgeKind::kTime) {
    const auto& transactions = chains_.history().transactions;
    return a + " ended " + std::to_string(transactions[to].begin_ns - transactions[from].end_ns) + " ns before " + b + " began";
  }
  std::string words;
  const uint32_t finder = kind == EdgeKind::kWr ? to : from;
  const uint32_t wanted = kind == EdgeKind::kWr ? from : to;
  each_data_edge(finder, [&](uint32_t other, EdgeKind found, uint32_t item, WriteIndex seen, WriteIndex next) {
    if (!words.empty() || found != kind || other != wanted) return;
    const std::string of_item = " of " + chains_.name_of_item(item);
    const std::string read = seen == kUnknown            ? "scanned an index and did not get " + chains_.name_of_item(item)
                             : seen == kInitial          ? "found no row " + chains_.name_of_item(item)
                             : chains_.absent_at(seen) ? "found the row " + chains_.name_of_item(item) + " removed"
                                                       : "read " + chains_.name_of_version(seen) + of_item;
    if (kind == EdgeKind::kWw) {
      words = a + " wrote " + chains_.name_of_version(seen) + of_item + ", and " + b + " the next, " + chains_.name_of_version(next);
    } else if (kind == EdgeKind::kWr) {
      words = a + " wrote " + chains_.name_of_version(seen) + of_item + ", which " + b + " saw";
    } else {
      words = a + " " + read + ", and " + b + " wrote the next, " + chains_.name_of_version(next);
    }
  });
  return words;
}

}  // namespace elider::check
