#include "storage/layout.h"

#include <algorithm>

#include "storage/number.h"
#include "storage/record.h"

namespace elider::storage {

namespace {
uint32_t round_up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }
}  // namespace

Layout::Layout(const detail::TableBase* table, const Schema& schema, uint32_t block_threshold_bytes, uint32_t protocol_bytes,
               bool byte_keys)
    : table_(table),
      schema_(schema),
      row_bytes_(schema.row_bytes),
      least_row_bytes_(schema.row_bytes),
      protocol_bytes_(round_up(protocol_bytes, 8)),
      byte_keys_(byte_keys),
      plain_rows_(!byte_keys && !schema.sized_rows) {
  uint32_t group_count = 1;
  for (const Column& column : schema.columns) group_count = std::max(group_count, column.group + 1);
  groups_.resize(group_count);

  // Every byte of a row belongs to one piece, which is a described column or the bytes between
  // columns (group 0).
  std::vector<uint32_t> order(schema.columns.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return schema.columns[a].offset < schema.columns[b].offset; });
  uint32_t at = 0;
  for (uint32_t i : order) {
    const Column& column = schema.columns[i];
    if (column.offset > at) pieces_.push_back({at, column.offset - at, 0, 0, 0});
    pieces_.push_back({column.offset, column.size, column.group, 0, uint64_t{1} << i});
    at = column.offset + column.size;
  }
  if (at < row_bytes_) pieces_.push_back({at, row_bytes_ - at, 0, 0, 0});
  if (schema.sized_rows) {
    least_row_bytes_ = 0;
    for (const Column& column : schema.columns) least_row_bytes_ = std::max(least_row_bytes_, column.offset + column.size);
  }
  place_groups(block_threshold_bytes);

  all_ = compile(~uint64_t{0}, true);
  none_ = compile(0, false);
  invalid_ = std::make_unique<ColumnSet>();
  uint64_t indexed = 0;
  for (const SecondaryIndex& index : schema.indexes) indexed |= columns_of(index).columns;
  set_indexed_columns(indexed);
  for (const Placed& piece : pieces_)
    for (uint32_t i = 0; i < schema.columns.size(); ++i)
      if (piece.columns == uint64_t{1} << i && is_number(schema.columns[i].type))
        numbers_.push_back({piece.row_offset, piece.payload_offset, piece.group, schema.columns[i].type, piece.columns});
}

const ColumnSet& Layout::columns_of(const SecondaryIndex& index) const {
  if (!schema_.row_columns.empty()) return *all_;
  uint64_t columns = 0;
  for (uint32_t i = 0; i < schema_.columns.size(); ++i)
    if (std::find(index.columns.begin(), index.columns.end(), schema_.columns[i].name) != index.columns.end()) columns |= uint64_t{1} << i;
  return of_columns(columns);
}

void Layout::place_groups(uint32_t block_threshold_bytes) {
  if (groups_.size() == 1) {
    for (Placed& piece : pieces_) piece.payload_offset = piece.row_offset;
    groups_[0].payload_bytes = row_bytes_;
  } else {
    for (Placed& piece : pieces_) {
      Group& group = groups_[piece.group];
      // Keeps each payload offset equal to the row offset modulo 8, so that columns stay aligned
      // and adjacent.
      const uint32_t base = group.payload_bytes;
      piece.payload_offset = base % 8 <= piece.row_offset % 8 ? base - base % 8 + piece.row_offset % 8
                                                              : round_up(base, 8) + piece.row_offset % 8;
      group.payload_bytes = piece.payload_offset + piece.size;
    }
  }
  for (Group& group : groups_) {
    group.block = group.payload_bytes >= block_threshold_bytes || schema_.sized_rows;
    group.cell_offset = block_bytes_ + protocol_bytes_;
    block_bytes_ += protocol_bytes_ + kCellHeaderBytes + round_up(group.block ? sizeof(void*) : std::max(group.payload_bytes, 1u), 8);
  }
}

std::unique_ptr<ColumnSet> Layout::compile(uint64_t columns, bool whole) const {
  auto set = std::make_unique<ColumnSet>();
  set->table = table_;
  set->columns = columns;
  set->whole = whole;
  for (uint32_t g = 0; g < group_count(); ++g) {
    set->begin[g] = static_cast<uint32_t>(set->spans.size());
    for (const Placed& piece : pieces_) {
      if (piece.group != g || !(whole || (piece.columns & columns))) continue;
      set->bytes[g] += piece.size;
      if (set->spans.size() > set->begin[g]) {
        Span& last = set->spans.back();
        if (last.row_offset + last.size == piece.row_offset && last.payload_offset + last.size == piece.payload_offset) {
          last.size += piece.size;
          continue;
        }
      }
      set->spans.push_back({piece.row_offset, piece.payload_offset, piece.size});
    }
    if (set->spans.size() > set->begin[g] || whole) set->groups |= 1u << g;
  }
  for (uint32_t g = group_count(); g <= kColumnGroupsMax; ++g) set->begin[g] = static_cast<uint32_t>(set->spans.size());
  if (set->groups != 0) set->read_groups = set->groups;
  find_lines(*set);
  count_lines_written(*set);
  return set;
}

void Layout::count_lines_written(ColumnSet& set) const {
  constexpr uint32_t kLine = 64, kMost = 255;
  for (uint32_t g = 0; g < group_count(); ++g)
    for (uint32_t word = 0; word < 8; ++word) {
      // Spans are in ascending order of their offsets.
      uint32_t lines = 0, last = ~uint32_t{0};
      const auto add = [&](uint32_t offset, uint32_t bytes) {
        const uint32_t first = (8 * word + offset) / kLine, end = (8 * word + offset + bytes - 1) / kLine;
        lines += end - first + (first == last ? 0 : 1);
        last = end;
      };
      add(0, kCellHeaderBytes);
      if (groups_[g].block) add(kCellHeaderBytes, sizeof(void*));
      for (uint32_t s = set.begin[g]; s < set.begin[g + 1] && !groups_[g].block; ++s)
        add(kCellHeaderBytes + set.spans[s].payload_offset, set.spans[s].size);
      set.lines_written[g][word] = static_cast<uint8_t>(std::min(lines, kMost));
    }
}

void Layout::find_lines(ColumnSet& set) const {
  constexpr uint32_t kLine = 64, kLinesMax = 8;
  auto add = [&](uint32_t offset) {
    for (uint32_t line : set.lines)
      if (line / kLine == offset / kLine) return;
    if (set.lines.size() < kLinesMax) set.lines.push_back(offset);
  };
  for (uint32_t g = 0; g < group_count(); ++g) {
    if (!(set.groups >> g & 1)) continue;
    if (protocol_bytes_ != 0) add(groups_[g].cell_offset - protocol_bytes_);
    add(groups_[g].cell_offset);
    // A small row is stored after the cell and the key, whose size varies.
    for (uint32_t at = kLine; sized_rows() && at <= 2 * kLine; at += kLine) add(groups_[g].cell_offset + at);
    if (groups_[g].block) continue;
    for (uint32_t s = set.begin[g]; s < set.begin[g + 1]; ++s) {
      const uint32_t first = groups_[g].cell_offset + kCellHeaderBytes + set.spans[s].payload_offset;
      for (uint32_t at = first; at < first + set.spans[s].size; at += kLine) add(at);
      add(first + set.spans[s].size - 1);
    }
  }
  if (set.lines.empty()) set.lines.push_back(0);
}

namespace {
size_t place_of(uint64_t columns) { return columns * 0x9e3779b97f4a7c15 >> 58; }
}  // namespace

// Does not take the lock. If the result is null, the set may still exist.
const ColumnSet* Layout::find(uint64_t columns) const {
  for (size_t i = 0; i < kProbes; ++i) {
    // acquire: pairs with the release in of_columns_locked(), so that the set's contents are
    // visible.
    const ColumnSet* set = places_[(place_of(columns) + i) % kPlaces].load(std::memory_order_acquire);
    if (set == nullptr) break;
    if (set->columns == columns) return set;
  }
  return nullptr;
}

const ColumnSet& Layout::of_columns(uint64_t columns) const {
  if (const ColumnSet* set = find(columns)) return *set;
  std::lock_guard lock(mutex_);
  return of_columns_locked(columns);
}

const ColumnSet& Layout::of_union(uint64_t columns, OwnColumnSets& own) const {
  if (const ColumnSet* set = find(columns)) return *set;
  constexpr size_t kLookedAt = 8;  // a transaction often repeats its last columns
  for (size_t i = own.size(); i != 0 && i + kLookedAt > own.size(); --i)
    if (own[i - 1]->table == table_ && own[i - 1]->columns == columns) return *own[i - 1];
  {
    std::lock_guard lock(mutex_);
    const bool known = compiled_.contains(columns);
    if (known || unions_kept_ < kUnionsKept) {
      const ColumnSet& set = of_columns_locked(columns);
      unions_kept_ += !known;
      return set;
    }
  }
  return *own.emplace_back(compile(columns, false));
}

const ColumnSet& Layout::of_columns_locked(uint64_t columns) const {
  const auto known = compiled_.find(columns);
  const ColumnSet& set = known != compiled_.end() ? *known->second : *compiled_.emplace(columns, compile(columns, false)).first->second;
  for (size_t i = 0; i < kProbes; ++i) {
    auto& place = places_[(place_of(columns) + i) % kPlaces];
    const ColumnSet* there = place.load(std::memory_order_relaxed);  // written only under the lock
    if (there == nullptr) place.store(&set, std::memory_order_release);
    if (there == nullptr || there == &set) break;
  }
  return set;
}

const ColumnSet& Layout::of_spans(const detail::ColumnSpan* spans, size_t count) const {
  uint64_t columns = 0;
  for (size_t s = 0; s < count; ++s) {
    bool found = false;
    for (uint32_t i = 0; i < schema_.columns.size() && !found; ++i)
      if (schema_.columns[i].offset == spans[s].offset && schema_.columns[i].size == spans[s].size) {
        columns |= uint64_t{1} << i;
        found = true;
      }
    if (!found) return *invalid_;
  }
  return of_columns(columns);
}

}  // namespace elider::storage
