#include "tools/check_history/replay.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "tools/check_history/indexes.h"
#include "tools/check_history/presence.h"

namespace elider::check {
namespace {

class Replayer {
 public:
  Replayer(const Chains& chains, uint64_t absences_max, bool strictly)
      : chains_(chains),
        history_(chains.history()),
        absences_max_(absences_max),
        strictly_(strictly),
        current_(chains.items_count(), kInitial),
        present_(chains.items_count()) {}

  Replay run() {
    const std::vector<uint32_t> order = commit_order();
    for (uint32_t txn : order) {
      if (strictly_) check_real_time(txn);
      chains_.own_writes(txn, &own_);
      check_reads(txn);
      check_scans(txn);
      check_index_scans(txn);
      apply_writes(txn);
      apply_index_values(txn);
    }
    if (index_phantoms_) add_later_index_values(order);
    return std::move(replay_);
  }

 private:
  std::vector<uint32_t> commit_order() const {
    std::vector<uint32_t> order;
    order.reserve(history_.committed);
    for (uint32_t txn = 0; txn < history_.transactions.size(); ++txn) {
      if (history_.transactions[txn].committed) order.push_back(txn);
    }
    const auto rank = [&](uint32_t txn) {
      const RecordedTransaction& t = history_.transactions[txn];
      return std::tuple(t.snapshot, t.read_only, t.order, t.begin_ns);
    };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
    return order;
  }

  void check_real_time(uint32_t txn) {
    const RecordedTransaction& transaction = history_.transactions[txn];
    if (any_before_ && transaction.end_ns < latest_begin_ns_) {
      fail(txn, "ended before " + chains_.name_of_txn(latest_begin_txn_) + " began, but comes after it in the commit order");
      suspect(latest_begin_txn_);
    }
    if (!any_before_ || transaction.begin_ns > latest_begin_ns_) {
      latest_begin_ns_ = transaction.begin_ns;
      latest_begin_txn_ = txn;
      any_before_ = true;
    }
  }

  void check_reads(uint32_t txn) {
    const RecordedTransaction& transaction = history_.transactions[txn];
    for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
      if (is_write(history_.operations[i].kind)) continue;
      const uint32_t item = chains_.item_of_operation(i);
      const WriteIndex seen = chains_.seen_by_operation(i);
      if (seen == kUnresolved) check_absence(txn, item, "found no row ");
      else if (seen != kUnknown) check_seen(txn, item, seen);
    }
  }

  void check_seen(uint32_t txn, uint32_t item, WriteIndex seen) {
    const WriteIndex current = current_[item];
    if (seen == current) return;
    fail(txn, "read " + chains_.name_of_version(seen) + " of " + chains_.name_of_item(item) + ", but " +
                  chains_.name_of_version(current) + " was current" + by(current));
    suspect_writer(item, seen, current);
  }

  // Checks that the item was absent when transaction `txn` found it absent, and records the absence
  // for the graph.
  void check_absence(uint32_t txn, uint32_t item, const char* how) {
    WriteIndex seen = current_[item];
    if (!chains_.absent_at(seen)) {
      fail(txn, how + chains_.name_of_item(item) + ", but it existed" + by(seen));
      suspect_writer(item, kInitial, seen);
      // Assumes that the transaction saw the latest of the earlier absences, because this
      // assumption constrains the order the least.
      while (!chains_.absent_at(seen)) seen = seen == chains_.chain_begin(item) ? kInitial : seen - 1;
    }
    if (replay_.absences.size() < absences_max_) replay_.absences.push_back({txn, {item, seen}});
    else ++replay_.absences_left_out;
  }

  void check_scans(uint32_t txn) {
    const RecordedTransaction& transaction = history_.transactions[txn];
    for (uint64_t s = transaction.scans_begin; s < transaction.scans_begin + transaction.scans_count; ++s) {
      const RecordedScan& scan = history_.scans[s];
      returned_.clear();
      for (uint64_t row = scan.rows_begin; row < scan.rows_begin + scan.rows_count; ++row) {
        const uint32_t item = chains_.item_of_row(row);
        returned_.push_back(item);
        const WriteIndex seen = chains_.seen_by_row(row);
        if (seen != kUnknown) check_seen(txn, item, seen);
      }
      std::sort(returned_.begin(), returned_.end());
      check_rest_of_range(txn, scan);
    }
  }

  // Checks that every item of the range that the scan did not return was absent.
  void check_rest_of_range(uint32_t txn, const RecordedScan& scan) {
    const auto [first, last] = chains_.items_in(scan.table, scan.range);
    const bool bounded = last - first > absences_max_ - std::min<uint64_t>(absences_max_, replay_.absences.size());
    if (bounded) replay_.absences_left_out += last - first;
    auto returned = returned_.begin();
    for (size_t item = first; item < last; ++item) {
      if (bounded) item = present_.next(item, last);
      if (item == last) break;
      while (returned != returned_.end() && *returned < item) ++returned;
      if (returned != returned_.end() && *returned == item) continue;
      // The history does not record whether the transaction's own insert or removal came before or
      // after the scan.
      if (Chains::find_own(own_, static_cast<uint32_t>(item)) != nullptr) continue;
      check_absence(txn, static_cast<uint32_t>(item), "scanned and did not get ");
    }
  }

  void apply_writes(uint32_t txn) {
    const RecordedTransaction& transaction = history_.transactions[txn];
    for (uint64_t i = transaction.operations_begin; i < transaction.operations_begin + transaction.operations_count; ++i) {
      const RecordedOperation& operation = history_.operations[i];
      if (!is_write(operation.kind)) continue;
      const uint32_t item = chains_.item_of_operation(i);
      const WriteIndex before = current_[item];
      const bool backwards = before != kInitial && chains_.write(before).version >= operation.version && chains_.write(before).txn != txn;
      if (backwards) {
        fail(txn, "wrote version " + std::to_string(operation.version) + " of " + chains_.name_of_item(item) + " after " +
                      chains_.name_of_version(before) + by(before));
        suspect(chains_.write(before).txn);
      }
      if (operation.kind == OperationKind::kAdd && chains_.absent_at(before)) {
        fail(txn, "added to " + chains_.name_of_item(item) + ", which did not exist");
      }
      current_[item] = chains_.find_version(item, operation.version);
      if (operation.kind == OperationKind::kRemove && operation.group == 0) indexes_.remove_row(operation.table, operation.key);
      if (operation.kind == OperationKind::kRemove) present_.erase(item);
      else present_.insert(item);
    }
  }

  // Compares index scans with the model. Skips rows that the transaction itself wrote, because the
  // history does not record whether it wrote them before or after a scan.
  void check_index_scans(uint32_t txn) {
    const RecordedTransaction& transaction = history_.transactions[txn];
    for (uint64_t s = transaction.index_scans_begin; s < transaction.index_scans_begin + transaction.index_scans_count; ++s) {
      const RecordedIndexScan& scan = history_.index_scans[s];
      returned_entries_.assign(history_.index_rows.begin() + static_cast<std::ptrdiff_t>(scan.rows_begin),
                               history_.index_rows.begin() + static_cast<std::ptrdiff_t>(scan.rows_begin + scan.rows_count));
      const auto [first, last] = covered(scan);
      if (scan.reverse) std::reverse(returned_entries_.begin(), returned_entries_.end());
      for (const IndexEntry& entry : returned_entries_) {
        if (indexes_.writer(scan.table, scan.index, entry).has_value() || chains_.may_have_written_row(txn, scan.table, entry.key))
          continue;
        fail(txn, "scanned and got " + chains_.name_of_entry(scan.table, scan.index, entry) + ", which the index did not contain then");
      }
      indexes_.for_each(scan.table, scan.index, first, last, [&](const IndexEntry& entry, uint32_t writer) {
        if (std::binary_search(returned_entries_.begin(), returned_entries_.end(), entry) ||
            chains_.may_have_written_row(txn, scan.table, entry.key))
          return;
        missed(txn, scan, entry, writer);
      });
    }
  }

  // Reports a phantom: `txn` did not see the value that `writer` had given the row.
  void missed(uint32_t txn, const RecordedIndexScan& scan, const IndexEntry& entry, uint32_t writer) {
    fail(txn, "scanned and did not get " + chains_.name_of_entry(scan.table, scan.index, entry) + ", which the index contained since " +
                  chains_.name_of_txn(writer));
    suspect(writer);
    index_phantoms_ = true;
    precedes(txn, scan.table, entry.key, writer);
  }

  // Records for the graph that `txn` saw the row, or its absence, as it was before `writer` wrote
  // it.
  void precedes(uint32_t txn, uint32_t table, Key key, uint32_t writer) {
    chains_.own_writes(writer, &writes_);
    for (const auto& [item, version] : writes_) {
      if (chains_.item(item).table != table || chains_.item(item).key != key) continue;
      const WriteIndex write = chains_.find_version(item, version);
      if (replay_.absences.size() < absences_max_)
        replay_.absences.push_back({txn, {item, write == chains_.chain_begin(item) ? kInitial : write - 1, false}});
      else ++replay_.absences_left_out;
      return;
    }
  }

  // If index scans missed rows, the commit order does not prove that the history is correct, and
  // the graph decides. To decide, the graph also needs the rows that entered the range of a scan
  // after the scan.
  void add_later_index_values(const std::vector<uint32_t>& order) {
    std::map<std::pair<uint32_t, uint32_t>, std::multimap<IndexEntry, uint32_t>> later;  // each entry with the transaction that wrote it
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      const RecordedTransaction& txn = history_.transactions[*at];
      for (uint64_t s = txn.index_scans_begin; s < txn.index_scans_begin + txn.index_scans_count; ++s) {
        const RecordedIndexScan& scan = history_.index_scans[s];
        const auto& entries = later[{scan.table, scan.index}];
        const auto [first, last] = covered(scan);
        for (auto entry = entries.lower_bound(first); entry != entries.end() && entry->first <= last; ++entry)
          precedes(*at, scan.table, entry->first.key, entry->second);
      }
      for (uint64_t i = txn.index_values_begin; i < txn.index_values_begin + txn.index_values_count; ++i) {
        const RecordedIndexValue& value = history_.index_values[i];
        later[{value.table, value.index}].emplace(value.entry, *at);
      }
    }
  }

  std::pair<IndexEntry, IndexEntry> covered(const RecordedIndexScan& scan) const {
    std::pair<IndexEntry, IndexEntry> range{scan.first, scan.last};
    if (scan.stopped) (scan.reverse ? range.first : range.second) = history_.index_rows[scan.rows_begin + scan.rows_count - 1];
    return range;
  }

  void apply_index_values(uint32_t txn) {
    const RecordedTransaction& transaction = history_.transactions[txn];
    for (uint64_t i = transaction.index_values_begin; i < transaction.index_values_begin + transaction.index_values_count; ++i)
      indexes_.put(history_.index_values[i], txn);
  }

  std::string by(WriteIndex index) const {
    return index == kInitial ? "" : " (written by " + chains_.name_of_txn(chains_.write(index).txn) + ")";
  }

  void fail(uint32_t txn, std::string words) {
    ++replay_.failures_count;
    if (replay_.failures.size() < kFailuresKept) replay_.failures.push_back({txn, chains_.name_of_txn(txn) + " " + std::move(words)});
    suspect(txn);
  }

  void suspect(uint32_t txn) {
    if (replay_.suspects.size() < kSuspectsKept) replay_.suspects.push_back(txn);
  }

  void suspect_writer(uint32_t item, WriteIndex seen, WriteIndex current) {
    if (current != kInitial) suspect(chains_.write(current).txn);
    const WriteIndex next = chains_.next(item, seen);
    if (next != kInitial) suspect(chains_.write(next).txn);
  }

  const Chains& chains_;
  const RecordedHistory& history_;
  const uint64_t absences_max_;
  const bool strictly_;
  std::vector<WriteIndex> current_;  // the current write of each item
  PresenceSet present_;              // items whose row exists
  IndexModel indexes_;
  bool index_phantoms_ = false;
  std::vector<Chains::OwnWrite> own_;
  std::vector<uint32_t> returned_;
  std::vector<IndexEntry> returned_entries_;
  std::vector<Chains::OwnWrite> writes_;
  uint64_t latest_begin_ns_ = 0;
  uint32_t latest_begin_txn_ = 0;
  bool any_before_ = false;
  Replay replay_;
};

}  // namespace

Replay replay_in_commit_order(const Chains& chains, uint64_t absences_max, bool strictly) {
  return Replayer(chains, absences_max, strictly).run();
}

}  // namespace elider::check
