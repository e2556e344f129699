#include "tools/check_history/model.h"

#include <algorithm>

namespace elider::check {

std::string key_text(const RecordedTable& table, Key key) {
  if (table.byte_keys.empty() || key / 2 >= table.byte_keys.size()) return std::to_string(key);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = key % 2 == 0 ? "before \"" : "\"";
  for (const char c : table.byte_keys[key / 2]) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) text += c;
    else text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text + '"';
}

uint32_t HistoryBuilder::table(std::string name, uint32_t groups) {
  history_.tables.push_back({std::move(name), groups, {}});
  return static_cast<uint32_t>(history_.tables.size() - 1);
}

uint32_t HistoryBuilder::procedure(const std::string& name) {
  // A history names only a few procedures, so a linear search is the fastest.
  const auto found = std::find(history_.procedures.begin(), history_.procedures.end(), name);
  if (found != history_.procedures.end()) return static_cast<uint32_t>(found - history_.procedures.begin());
  history_.procedures.push_back(name);
  return static_cast<uint32_t>(history_.procedures.size() - 1);
}

void HistoryBuilder::transaction(RecordedTransaction transaction) {
  transaction.operations_begin = history_.operations.size();
  transaction.scans_begin = history_.scans.size();
  transaction.operations_count = 0;
  transaction.scans_count = 0;
  transaction.index_scans_begin = history_.index_scans.size();
  transaction.index_scans_count = 0;
  transaction.index_values_begin = history_.index_values.size();
  transaction.index_values_count = 0;
  if (transaction.committed) ++history_.committed;
  history_.transactions.push_back(transaction);
}

void HistoryBuilder::operation(OperationKind kind, uint32_t table, uint16_t group, Key key, uint64_t version) {
  history_.operations.push_back({key, version, table, group, kind});
  ++history_.transactions.back().operations_count;
}

void HistoryBuilder::scan(uint32_t table, KeyRange range, bool reverse) {
  history_.scans.push_back({range, history_.rows.size(), 0, table, reverse});
  ++history_.transactions.back().scans_count;
}

void HistoryBuilder::row(Key key, uint64_t version) {
  history_.rows.push_back({key, version});
  ++history_.scans.back().rows_count;
}

void HistoryBuilder::index_scan(uint32_t table, uint32_t index, IndexEntry first, IndexEntry last, bool reverse, bool stopped) {
  history_.index_scans.push_back({first, last, history_.index_rows.size(), 0, table, index, reverse, stopped});
  ++history_.transactions.back().index_scans_count;
}

void HistoryBuilder::index_row(IndexEntry entry) {
  history_.index_rows.push_back(entry);
  ++history_.index_scans.back().rows_count;
}

void HistoryBuilder::index_value(uint32_t table, uint32_t index, IndexEntry entry) {
  history_.index_values.push_back({entry, table, index});
  ++history_.transactions.back().index_values_count;
}

}  // namespace elider::check
