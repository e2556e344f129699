#include "txn/any_table.h"

#include <algorithm>
#include <utility>

#include "elider/tuple.h"

namespace elider::txn {

std::string AnyTable::value_text(uint32_t i, IndexValue value, KeyRef key) const {
  const ColumnIndex* const columns = column_index(i);
  return columns == nullptr ? std::to_string(value.number()) : tuple_to_text(columns->tuple_of(*value.entry(), key).span());
}

IndexSlot* AnyTable::usable_index(std::string_view name) const {
  for (const uint32_t i : Bits(usable_indexes()))
    if (index_definition(i).name == name) return slots_[i].load(std::memory_order_acquire);
  return nullptr;
}

IndexSlot* AnyTable::add_index(const SecondaryIndex& definition) {
  const uint64_t free = ~present_indexes();
  if (free == 0) return nullptr;
  const auto i = static_cast<uint32_t>(std::countr_zero(free));
  const IndexSlot* const last = slots_[i].load(std::memory_order_acquire);
  all_slots_.reserve(all_slots_.size() + 1);
  put_slot(i, make_index(last == nullptr ? i : last->position + kSecondaryIndexesMax, definition));
  const uint64_t bit = uint64_t{1} << i;
  present_.fetch_or(bit, std::memory_order_release);
  maintained_.fetch_or(bit, std::memory_order_release);
  find_indexed_columns();
  return slots_[i].load(std::memory_order_acquire);
}

void AnyTable::set_index_usable(IndexSlot& slot, SnapshotNumber from) {
  slot.usable_from = from;
  usable_.fetch_or(uint64_t{1} << slot_of(slot.position), std::memory_order_release);
}

void AnyTable::forget_index(uint32_t i) {
  const uint64_t others = ~(uint64_t{1} << i);
  usable_.fetch_and(others, std::memory_order_acq_rel);
  maintained_.fetch_and(others, std::memory_order_acq_rel);
  ranked_.fetch_and(others, std::memory_order_acq_rel);
  find_indexed_columns();
}

void AnyTable::reset_indexes() {
  present_.store(0, std::memory_order_release);
  for (auto& slot : slots_) slot.store(nullptr, std::memory_order_release);
  all_slots_.clear();
  const size_t count = lacks_indexes() ? 0 : schema().indexes.size();
  for (uint32_t i = 0; i < count; ++i) put_slot(i, make_index(i, schema().indexes[i]));
  const uint64_t all = count == 0 ? 0 : ~uint64_t{0} >> (kSecondaryIndexesMax - count);
  present_.store(all, std::memory_order_release);
  maintained_.store(all, std::memory_order_release);
  usable_.store(all, std::memory_order_release);
  find_indexed_columns();
}

void AnyTable::find_indexed_columns() {
  uint64_t columns = 0;
  for (const uint32_t i : Bits(maintained_indexes())) columns |= index_columns(i).whole ? ~uint64_t{0} : index_columns(i).columns;
  // A table without its indexes refuses writes of the columns that they would read.
  if (lacks_indexes())
    for (const SecondaryIndex& index : schema().indexes) columns |= layout().columns_of(index).columns;
  set_indexed_columns(columns);
}

}  // namespace elider::txn
