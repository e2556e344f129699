// IndexScanRecord: what a history (elider/history.h) is told of a scan through a secondary index: one operation, beside
// the reads of the rows that it met.
//
// Thread safety: that of the transaction it belongs to.
#pragma once

#include <utility>
#include <vector>

#include "elider/history.h"

namespace elider::txn {

class IndexScanRecord {
 public:
  // operations: of the transaction; null where nothing is recorded.
  IndexScanRecord(std::vector<HistoryOperation>* operations, uint32_t table, uint32_t index, KeyRange values, bool reverse)
      : operations_(operations) {
    if (operations_ == nullptr) [[likely]] return;
    scan_.kind = HistoryOperation::Kind::kIndexScan;
    scan_.table = table;
    scan_.index = index;
    scan_.range = values;
    scan_.reverse = reverse;
  }
  void found(uint64_t value, Key key) {
    if (operations_ != nullptr) [[unlikely]] scan_.rows.emplace_back(value, key);
  }
  // It ends at the row that was found last.
  void stopped() { scan_.stopped = true; }
  void done() {
    if (operations_ != nullptr) [[unlikely]] operations_->push_back(std::move(scan_));
  }

 private:
  std::vector<HistoryOperation>* const operations_;
  HistoryOperation scan_;
};

}  // namespace elider::txn
