#include "txn/write_set.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "htm/prefault.h"

namespace elider::txn {

void WriteSet::make_room(size_t entries, size_t additions) {
  htm::reserve_prefaulted(entries_, entries);
  positions_.make_room(static_cast<uint32_t>(entries));
  while (additions_.size() < additions) {
    auto of_row = std::make_unique<std::vector<Addition>>();
    htm::reserve_prefaulted(*of_row, 4);
    additions_.push_back(std::move(of_row));
  }
}

WriteEntry& WriteSet::add(detail::TableBase& table, storage::Row* row, KeyRef key, uint32_t g, WriteKind kind,
                          const storage::ColumnSet& set, uint64_t expected, std::byte* image) {
  storage::Cell& cell = row->cell(table.layout(), g);
  // Adds the write before its position. In the opposite order, an exception could leave a position
  // without a write.
  WriteEntry& write = entries_.emplace_back(&cell, row, &table, key, image, &set, expected, g, kind);
  positions_.insert(&cell, static_cast<uint32_t>(entries_.size() - 1));
  note_table(table);
  return write;
}

void WriteSet::make_present(detail::TableBase& table, storage::Row* row, KeyRef key, const uint64_t* words, const void* source,
                            size_t bytes, bool created) {
  const storage::Layout& layout = table.layout();
  assert(!created || find_any(row, layout) == nullptr);
  std::byte* image = layout.sized_rows() ? sized_image(bytes) : created ? arena_.allocate(layout.row_bytes()) : image_of(table, row);
  if (bytes != 0) std::memcpy(image, source, bytes);
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    WriteEntry* write = created ? nullptr : find(row, layout, g);
    if (write == nullptr) write = &add(table, row, key, g, WriteKind::kPresent, layout.all(), words[g], image);
    write->kind = WriteKind::kPresent;
    write->columns = &layout.all();
    write->image = image;
    write->additions = nullptr;
    write->created |= created;
  }
}

std::vector<Addition>& WriteSet::new_additions() {
  if (additions_used_ == additions_.size()) additions_.push_back(std::make_unique<std::vector<Addition>>());
  std::vector<Addition>& additions = *additions_[additions_used_++];
  additions.clear();
  return additions;
}

void WriteSet::add_number(WriteEntry& write, const storage::Number& number, const void* delta) {
  const uint32_t offset = number.row_offset;
  if (write.kind == WriteKind::kPresent || (write.columns->columns & number.column)) {
    storage::add_numbers(number.type, write.image + offset, write.image + offset, delta);
    return;
  }
  if (write.additions == nullptr) write.additions = &new_additions();
  for (Addition& earlier : *write.additions)
    if (earlier.row_offset == offset) {
      auto* sum = reinterpret_cast<std::byte*>(&earlier.delta);
      storage::add_numbers(number.type, sum, sum, delta);
      return;
    }
  Addition addition{offset, number.payload_offset, number.type, 0};
  std::memcpy(&addition.delta, delta, storage::number_bytes(number.type));
  write.additions->push_back(addition);
}

void WriteSet::forget_additions(WriteEntry& write, const storage::ColumnSet& set) {
  if (write.additions == nullptr) return;
  std::erase_if(*write.additions, [&](const Addition& a) {
    for (uint32_t s = set.begin[write.group]; s < set.begin[write.group + 1]; ++s)
      if (a.row_offset >= set.spans[s].row_offset && a.row_offset < set.spans[s].row_offset + set.spans[s].size) return true;
    return false;
  });
  if (write.additions->empty()) write.additions = nullptr;
}

void WriteSet::sort_by_address() {
  std::sort(entries_.begin(), entries_.end(), [](const WriteEntry& a, const WriteEntry& b) { return std::less<>()(a.cell, b.cell); });
  positions_.clear();
  for (size_t i = 0; i < entries_.size(); ++i) positions_.insert(entries_[i].cell, static_cast<uint32_t>(i));
}

void WriteSet::count_other_tables(Counters& counters) const {
  const uint64_t commit = ++counters.commits_counted;
  for (const WriteEntry& write : entries_) {
    const uint32_t id = write.table->id();
    if (id < kTablesWithBit) continue;
    TableCounters& its = counters.tables[id];
    if (std::exchange(its.counted_in, commit) != commit) its.commits.add(1);
  }
}

}  // namespace elider::txn
