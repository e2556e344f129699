// The part of EngineBase that checks all invariants.
#pragma once

#include <new>

#include "base/thread_ends.h"
#include "engine/engine_base.h"
#include "index/scan.h"
#include "txn/reclaim.h"
#include "txn/table_cursor.h"

namespace elider::detail {

template <class Sync>
Status EngineBase<Sync>::verify() {
  EngineWorker* worker = pool_->take();
  if (worker == nullptr) return refuse_worker();
  worker->base.enter();
  Status status;
  try {
    status = verify_tables();
  } catch (const std::bad_alloc&) {
    status = Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  } catch (const std::exception& error) {  // thrown by a key function
    status = Status(Code::kProcedureThrew, std::string("a key function threw: ") + error.what());
  } catch (...) {
    if (thread_ends()) {
      worker->base.leave();
      pool_->give_back(worker);
      throw;
    }
    status = Status(Code::kProcedureThrew, "a key function threw an exception that is not a std::exception");
  }
  worker->base.leave();
  pool_->give_back(worker);
  return status;
}

template <class Sync>
Status EngineBase<Sync>::verify_tables() {
  std::shared_lock lock(catalog_mutex_);
  for (const auto& table : tables_)
    if (Status status = verify_table(*table); !status.ok()) return status;
  return {};
}

// Checks the invariants of the indexes themselves, every row block in the key index (verify_row),
// and every entry of every secondary index (verify_entry).
template <class Sync>
Status EngineBase<Sync>::verify_table(TableType& table) {
  const auto verify_index = [](const auto& index) { return index.verify(); };
  if (Status status = table.keys().visit(verify_index); !status.ok()) return status;
  for (uint32_t i = 0; i < table.secondary_count(); ++i)
    if (Status status = table.secondary(i).visit(verify_index); !status.ok()) return status;

  std::string wrong;
  auto image = std::make_unique<std::byte[]>(table.layout().column_image_bytes());
  txn::TableCursor<Sync> cursor(table);
  constexpr size_t kRowsAtOnce = 256;
  for (index::Entries entries; wrong.empty() && cursor.next(kRowsAtOnce, &entries);)
    for (size_t at = 0; at < entries.size() && wrong.empty(); ++at)
      wrong = verify_row(table, entries[at].first, entries[at].second, image.get());
  for (uint32_t i = 0; i < table.secondary_count() && wrong.empty(); ++i)
    table.secondary(i).visit([&](auto& index) {
      index::for_each_entry(index, [&](const auto& entry, index::Handle handle) {
        wrong = verify_entry(table, i, index::value_of(entry), index::primary_of(entry), handle, image.get());
        return wrong.empty();
      });
    });
  if (!wrong.empty()) return Status(Code::kInvalidArgument, "table '" + table.schema().name + "': " + wrong);
  return {};
}

// Returns a description of what is wrong with a row, or "" if it is correct. The key index must
// find the row by its key. The row's column groups must be unlocked, must not be removed, and must
// be either all present or all absent. Each secondary index must find the row under its value.
template <class Sync>
std::string EngineBase<Sync>::verify_row(TableType& table, KeyRef key, index::Handle handle, std::byte* image) {
  const storage::Layout& layout = table.layout();
  storage::Row* row = TableType::as_row(handle);
  const std::string named = "the row of key " + table.key_text(key);
  txn::PrimaryHint hint;
  index::Witness unneeded;
  if (table.find(key, hint, unneeded) != row) return named + " cannot be found by its key";
  const uint64_t w = row->cell(layout, 0).load();
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    const uint64_t of_group = row->cell(layout, g).load();
    if (storage::word::locked(of_group) || storage::word::removed(of_group)) return named + " is locked or removed";
    if (storage::word::absent(of_group) != storage::word::absent(w))
      return "some column groups of key " + table.key_text(key) + " are missing";
  }
  if (storage::word::absent(w)) return {};
  for (uint32_t i = 0; i < table.secondary_count(); ++i) {
    txn::reclaim::copy_locked(layout, row, layout.index_columns(i), image);
    txn::SecondaryHint secondary_hint;
    if (table.secondary(i).get(table.index_value(i, image), key, secondary_hint, unneeded) != handle)
      return "index '" + table.schema().indexes[i].name + "' does not find " + named;
  }
  return {};
}

// Returns a description of what is wrong with an entry, or "" if it is correct. The entry must lead
// to the row block of its key. In addition, either the row has the entry's value (or had it last,
// if the row is absent), or the entry is on the list of entries to remove.
template <class Sync>
std::string EngineBase<Sync>::verify_entry(TableType& table, uint32_t i, uint64_t value, KeyRef primary, index::Handle handle,
                                           std::byte* image) {
  const storage::Layout& layout = table.layout();
  storage::Row* row = TableType::as_row(handle);
  const KeyRef key = table.key_of(row, primary);
  const std::string named = "index '" + table.schema().indexes[i].name + "' leads from value " + std::to_string(value) + " to ";
  txn::PrimaryHint hint;
  index::Witness unneeded;
  if (table.find(key, hint, unneeded) != row)
    return named + "a row block that is not the row of key " + table.key_text(key);
  if (row->cell(layout, 0).snapshot() != 0) {
    txn::reclaim::copy_locked(layout, row, layout.index_columns(i), image);
    if (table.index_value(i, image) == value) return {};
  }
  std::lock_guard lock(table.stale().mutex);
  if (table.stale().unlisted) return {};
  const auto listed = table.stale().by_row.find(row);
  if (listed != table.stale().by_row.end())
    for (const txn::StaleEntry& stale : listed->second)
      if (stale.index == i && stale.value == value) return {};
  return named + "key " + table.key_text(key) + ", whose row has a different value, and the entry will not be removed";
}

}  // namespace elider::detail
