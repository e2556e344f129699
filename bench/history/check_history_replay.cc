#include "bench/history/check_history_replay.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "bench/history/check_history_presence.h"

namespace elider::check {
namespace {

class Replayer {
 public:
  Replayer(const Chains& chains, uint64_t absences_max)
      : chains_(chains),
        history_(chains.history()),
        absences_max_(absences_max),
        current_(chains.items_count(), kInitial),
        present_(chains.items_count()) {}

  Replay run() {
    for (uint32_t txn : commit_order()) {
      check_real_time(txn);
      chains_.own_writes(txn, &own_);
      check_reads(txn);
      check_scans(txn);
      apply_writes(txn);
    }
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

  // The key has no row in the eyes of `txn`: which absence was it?
  void check_absence(uint32_t txn, uint32_t item, const char* how) {
    WriteIndex seen = current_[item];
    if (!chains_.absent_at(seen)) {
      fail(txn, how + chains_.name_of_item(item) + ", but it was there" + by(seen));
      suspect_writer(item, kInitial, seen);
      // The latest absence before is the one that asks the least of the order.
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

  // Every item of the range that was not returned is one that the scan found absent.
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
      // Whether an own insert or removal came before the scan or after it is not recorded.
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
        fail(txn, "added to " + chains_.name_of_item(item) + ", which was not there");
      }
      current_[item] = chains_.find_version(item, operation.version);
      if (operation.kind == OperationKind::kRemove) present_.erase(item);
      else present_.insert(item);
    }
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
  std::vector<WriteIndex> current_;  // by item
  PresenceSet present_;              // items that have a row
  std::vector<Chains::OwnWrite> own_;
  std::vector<uint32_t> returned_;
  uint64_t latest_begin_ns_ = 0;
  uint32_t latest_begin_txn_ = 0;
  bool any_before_ = false;
  Replay replay_;
};

}  // namespace

Replay replay_in_commit_order(const Chains& chains, uint64_t absences_max) { return Replayer(chains, absences_max).run(); }

}  // namespace elider::check
