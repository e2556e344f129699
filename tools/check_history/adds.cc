#include "tools/check_history/adds.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace elider::check {
namespace {

using AddedItem = std::tuple<uint32_t, uint16_t, Key>;  // table, group, key

struct AddOrWrite {
  AddedItem item;
  uint64_t version;
  uint64_t operation;  // position of the operation
  uint32_t txn;
  bool adds;
};

AddedItem item_of(const RecordedOperation& operation) { return {operation.table, operation.group, operation.key}; }

template <class F>
void for_each_operation(const RecordedHistory& history, F&& f) {
  for (uint32_t t = 0; t < history.transactions.size(); ++t) {
    const RecordedTransaction& txn = history.transactions[t];
    for (uint64_t i = txn.operations_begin; i < txn.operations_begin + txn.operations_count; ++i) f(t, i, history.operations[i]);
  }
}

}  // namespace

void order_adds(RecordedHistory* history) {
  std::set<AddedItem> added;
  for_each_operation(*history, [&](uint32_t, uint64_t, const RecordedOperation& operation) {
    if (operation.kind == OperationKind::kAdd) added.insert(item_of(operation));
  });
  if (added.empty()) return;

  std::vector<AddOrWrite> writes;
  std::set<std::pair<AddedItem, uint64_t>> seen;
  for_each_operation(*history, [&](uint32_t t, uint64_t i, const RecordedOperation& operation) {
    const AddedItem item = item_of(operation);
    if (!history->transactions[t].committed || !added.contains(item)) return;
    if (!is_write(operation.kind)) seen.emplace(item, operation.version);
    else writes.push_back({item, operation.version, i, t, operation.kind == OperationKind::kAdd});
  });
  for (const RecordedTransaction& txn : history->transactions)
    for (uint64_t s = txn.scans_begin; txn.committed && s < txn.scans_begin + txn.scans_count; ++s) {
      const RecordedScan& scan = history->scans[s];
      for (uint64_t row = scan.rows_begin; row < scan.rows_begin + scan.rows_count; ++row)
        seen.emplace(AddedItem{scan.table, 0, history->rows[row].key}, history->rows[row].version);
    }

  std::sort(writes.begin(), writes.end(),
            [](const AddOrWrite& a, const AddOrWrite& b) { return std::tie(a.item, a.version) < std::tie(b.item, b.version); });
  const auto rank = [&](const AddOrWrite& write) {
    const RecordedTransaction& txn = history->transactions[write.txn];
    return std::tuple(txn.snapshot, txn.order);
  };
  for (size_t begin = 0; begin < writes.size();) {
    size_t end = begin;
    while (end < writes.size() && writes[end].adds && writes[end].item == writes[begin].item) {
      ++end;
      if (seen.contains({writes[end - 1].item, writes[end - 1].version})) break;
    }
    std::vector<AddOrWrite> run(writes.begin() + static_cast<std::ptrdiff_t>(begin), writes.begin() + static_cast<std::ptrdiff_t>(end));
    std::stable_sort(run.begin(), run.end(), [&](const AddOrWrite& a, const AddOrWrite& b) { return rank(a) < rank(b); });
    for (size_t i = 0; i < run.size(); ++i) history->operations[run[i].operation].version = writes[begin + i].version;
    begin = std::max(end, begin + 1);
  }
}

}  // namespace elider::check
