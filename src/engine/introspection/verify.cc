#include "engine/introspection/verify.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bits.h"
#include "elider/key_field.h"
#include "elider/row.h"
#include "txn/ranks.h"
#include "txn/reclaim.h"
#include "txn/table_cursor.h"

namespace elider::detail {

namespace {

// Returns a description of what is wrong with a row, or "" if it is correct. The key index must
// find the row by its key. The row's column groups must be unlocked, must not be removed, and must
// be either all present or all absent. Each secondary index must find the row under its value.
std::string verify_row(txn::AnyTable& table, KeyRef key, index::Handle handle, std::byte* image) {
  const storage::Layout& layout = table.layout();
  storage::Row* row = txn::AnyTable::as_row(handle);
  const std::string named = "the row of key " + table.key_text(key);
  if (table.find_row(key) != row) return named + " cannot be found by its key";
  const std::vector<KeyField>& fields = table.schema().key_fields;
  if (!fields.empty() && !check_tuple_key(fields, bytes_of(key).span()).ok()) return named + " does not have a key " + text_of(fields);
  const uint64_t w = row->cell(layout, 0).load();
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    const uint64_t of_group = row->cell(layout, g).load();
    if (storage::word::locked(of_group) || storage::word::removed(of_group)) return named + " is locked or removed";
    if (storage::word::absent(of_group) != storage::word::absent(w))
      return "some column groups of key " + table.key_text(key) + " are missing";
  }
  if (storage::word::absent(w)) return {};
  for (const uint32_t i : Bits(table.usable_indexes())) {
    txn::EntryBuffer buffer;
    index::IndexValue value;
    if (!table.index_value(i, txn::reclaim::image_locked(table, row, i, image), key, buffer, &value) ||
        table.find_entry(i, value, key) != handle)
      return "index '" + table.index_definition(i).name + "' does not find " + named;
  }
  return {};
}

// Returns a description of what is wrong with an entry, or "" if it is correct. The entry must lead
// to the row block of its key. In addition, the row must have the entry's value (or, if the row is
// absent, must have had it last), unless the entry is on the list of entries to remove.
std::string verify_entry(txn::AnyTable& table, uint32_t i, const txn::AnyTable::Entry& entry, std::byte* image) {
  const storage::Layout& layout = table.layout();
  storage::Row* row = txn::AnyTable::as_row(entry.handle);
  const KeyRef key = entry.key;
  const std::string named =
      "index '" + table.index_definition(i).name + "' leads from value " + table.value_text(i, entry.value, key) + " to ";
  if (table.find_row(key) != row)
    return named + "a row block that is not the row of key " + table.key_text(key);
  if (row->cell(layout, 0).snapshot() != 0 &&
      table.has_index_value(i, txn::reclaim::image_locked(table, row, i, image), key, entry.value))
    return {};
  std::lock_guard lock(table.stale().mutex);
  if (table.stale().unlisted) return {};
  const auto listed = table.stale().by_row.find(row);
  if (listed != table.stale().by_row.end())
    for (const txn::StaleEntry& stale : listed->second)
      if (stale.index == i && table.same_value(i, stale.value, entry.value)) return {};
  return named + "key " + table.key_text(key) + ", whose row has a different value, and the entry will not be removed";
}

// Returns a description of what is wrong with the counts of a ranked index, or "" if they are
// correct. Its entries and rows must have been verified.
std::string verify_counts(txn::AnyTable& table, uint32_t i, std::byte* image) {
  const storage::Layout& layout = table.layout();
  txn::RankBuilder expected;
  table.for_each_entry(i, [&](const txn::AnyTable::Entry& entry) {
    storage::Row* row = txn::AnyTable::as_row(entry.handle);
    if (!storage::word::absent(row->cell(layout, 0).load()) &&
        table.has_index_value(i, txn::reclaim::image_locked(table, row, i, image), entry.key, entry.value))
      expected.add(bytes_of(KeyRef(entry.value.entry())));
    return true;
  });
  txn::AnyTable& counts = *table.ranks(i);
  std::map<std::string, int64_t, std::less<>> found;
  uint32_t levels = 0;
  const auto its = std::make_unique<std::byte[]>(counts.layout().column_image_bytes());
  txn::TableCursor cursor(counts);
  for (index::Entries entries; cursor.next(256, &entries);)
    for (const auto& [key, handle] : entries) {
      storage::Row* row = txn::AnyTable::as_row(handle);
      if (storage::word::absent(row->cell(counts.layout(), 0).load())) continue;
      for (uint32_t g = 0; g < counts.layout().group_count(); ++g)
        storage::copy_to_image(counts.layout().all(), g, its.get(), row->cell(counts.layout(), g).payload(counts.layout().group(g)));
      found.emplace(bytes_of(key).to_string(), load_row<int64_t>(&its[offsetof(txn::RankRow, rows)]));
      levels = std::max(levels, txn::RankKey::level_of(bytes_of(key)));
    }
  const std::string named = "the counts of index '" + table.index_definition(i).name + "' ";
  for (const auto& [key, rows] : expected.finish(levels)) {
    const std::string at = "at level " + std::to_string(txn::RankKey::level_of(Bytes(key)));
    const auto stored = found.find(key);
    if (stored == found.end()) return named + "lack a boundary " + at;
    if (static_cast<uint64_t>(stored->second) != rows)
      return named + "are wrong " + at + ": " + std::to_string(stored->second) + " instead of " + std::to_string(rows);
    found.erase(stored);
  }
  if (!found.empty()) return named + "have a boundary that is not an entry of the index";
  return {};
}

}  // namespace

Status verify_table(txn::AnyTable& table) {
  if (Status status = table.verify_indexes(); !status.ok()) return status;

  std::string wrong;
  auto image = std::make_unique<std::byte[]>(table.layout().column_image_bytes());
  txn::TableCursor cursor(table);
  constexpr size_t kRowsAtOnce = 256;
  for (index::Entries entries; wrong.empty() && cursor.next(kRowsAtOnce, &entries);)
    for (size_t at = 0; at < entries.size() && wrong.empty(); ++at)
      wrong = verify_row(table, entries[at].first, entries[at].second, image.get());
  for (const uint32_t i : Bits(table.maintained_indexes()))
    if (wrong.empty()) table.for_each_entry(i, [&](const txn::AnyTable::Entry& entry) {
      wrong = verify_entry(table, i, entry, image.get());
      return wrong.empty();
    });
  for (const uint32_t i : Bits(table.usable_indexes() & table.ranked_indexes()))
    if (wrong.empty()) wrong = verify_counts(table, i, image.get());
  if (!wrong.empty()) return Status(Code::kInvalidArgument, "table '" + table.schema().name + "': " + wrong);
  return {};
}

}  // namespace elider::detail
