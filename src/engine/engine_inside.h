// EngineOf: looking inside: statistics, garbage, and the check of every invariant.
#pragma once

#include "engine/engine_of.h"

namespace elider::detail {

template <class Sync>
Statistics EngineOf<Sync>::statistics() const {
  Statistics s;
  s.procedures.resize(store_.procedures.count());
  for (uint32_t i = 0; i < s.procedures.size(); ++i) s.procedures[i].name = store_.procedures.name(i);
  {
    std::shared_lock lock(catalog_mutex_);
    s.tables.resize(tables_.size());
    for (size_t i = 0; i < tables_.size(); ++i) s.tables[i].name = tables_[i]->schema().name;
    for (const auto& table : tables_) {
      const auto entries = static_cast<uint64_t>(table->ordered() ? table->tree().size() : table->hash().size());
      s.tables[table->id()].row_bytes = entries * table->layout().block_bytes();
    }
  }
  std::vector<int64_t> rows(s.tables.size());
  pool_->for_each_counters([&](const txn::Counters& counters) {
    s.read_only_commits += static_cast<uint64_t>(counters.read_only_commits.get());
    for (uint32_t i = 0; i < s.procedures.size(); ++i) {
      const txn::ProcedureCounters* of = counters.procedures.find(i);
      if (of == nullptr) continue;
      s.procedures[i].commits += static_cast<uint64_t>(of->commits.get());
      s.commits += static_cast<uint64_t>(of->commits.get());
      for (size_t c = 0; c < kCauseCount; ++c) {
        s.procedures[i].aborts[c] += static_cast<uint64_t>(of->aborts[c].get());
        s.aborts[c] += static_cast<uint64_t>(of->aborts[c].get());
      }
    }
    for (uint32_t i = 0; i < s.tables.size(); ++i) {
      const txn::TableCounters* of = counters.tables.find(i);
      if (of == nullptr) continue;
      rows[i] += of->rows.get();
      for (size_t c = 0; c < kCauseCount; ++c) s.tables[i].aborts[c] += static_cast<uint64_t>(of->aborts[c].get());
    }
  });
  for (size_t i = 0; i < rows.size(); ++i) s.tables[i].rows = static_cast<uint64_t>(rows[i] > 0 ? rows[i] : 0);
  s.memory = {memory_.used_bytes(MemoryPart::kRows), memory_.used_bytes(MemoryPart::kVersions), memory_.used_bytes(MemoryPart::kBlocks),
              memory_.used_bytes(MemoryPart::kIndexes), memory_.free_bytes(), memory_.reserved_bytes()};
  s.versions_alive = store_.versions_alive.load(std::memory_order_relaxed);  // relaxed: a count
  s.retired_objects = store_.workers.retired_objects();
  s.snapshot = store_.snapshots.current();
  if (store_.log != nullptr) {
    const log::LogFacts facts = store_.log->facts();
    s.durable_snapshot = facts.durable;
    s.log_bytes = facts.bytes;
    s.log_frames = facts.frames;
  }
  s.epoch = store_.workers.epoch();
  s.workers = pool_->in_use();
  if (const uint64_t oldest = store_.workers.oldest_entered_ns(); oldest != 0) {
    const uint64_t now = now_ns();
    s.longest_active_us = now > oldest ? (now - oldest) / 1000 : 0;
  }
  return s;
}

template <class Sync>
void EngineOf<Sync>::collect_garbage() {
  // A removed row takes three grace periods: unlinked, waited for once more, reclaimed.
  constexpr int kRoundsMax = 16;
  for (int round = 0; round < kRoundsMax && store_.workers.retired_objects() != 0; ++round) store_.workers.collect();
}

template <class Sync>
Status EngineOf<Sync>::verify() {
  SessionOf<Sync>* session = pool_->take();
  if (session == nullptr) return refuse_session();
  session->worker.enter();
  Status status;
  {
    std::shared_lock lock(catalog_mutex_);
    for (const auto& table : tables_)
      if (status = verify_table(*table, *session); !status.ok()) break;
  }
  session->worker.leave();
  pool_->give_back(session);
  return status;
}

// The indexes' own invariants; every row of an ordered table is unlocked, in use, and found by each
// secondary index under its value; every secondary entry leads to the row block that its key has.
template <class Sync>
Status EngineOf<Sync>::verify_table(TableType& table, SessionOf<Sync>&) {
  const storage::Layout& layout = table.layout();
  const std::string named = "table '" + table.schema().name + "': ";
  if (Status status = table.ordered() ? table.tree().verify() : table.hash().verify(); !status.ok()) return status;
  for (uint32_t i = 0; i < table.secondary_count(); ++i)
    if (Status status = table.secondary(i).verify(); !status.ok()) return status;

  std::string wrong;
  auto image = std::make_unique<std::byte[]>(layout.row_bytes());
  auto track = [](const index::Witness&, const auto&) {};
  auto skip = [](index::Handle) {};
  auto check_row = [&](Key key, index::Handle handle) {
    storage::Row* row = TableType::as_row(handle);
    const uint64_t w = row->cell(layout, 0).load();
    for (uint32_t g = 0; g < layout.group_count(); ++g) {
      const uint64_t of_group = row->cell(layout, g).load();
      if (storage::word::locked(of_group) || storage::word::removed(of_group)) wrong = named + "the row of key " + std::to_string(key) + " is locked or removed";
      if (storage::word::absent(of_group) != storage::word::absent(w)) wrong = named + "groups of key " + std::to_string(key) + " are not all there";
    }
    if (storage::word::absent(w)) return wrong.empty();
    for (uint32_t i = 0; i < table.secondary_count() && wrong.empty(); ++i) {
      txn::reclaim::copy_locked(layout, row, layout.index_columns(i), image.get());
      txn::SecondaryHint hint;
      index::Witness unneeded;
      if (table.secondary(i).get({table.index_value(i, image.get()), key}, hint, unneeded) != handle)
        wrong = named + "index '" + table.schema().indexes[i].name + "' does not find the row of key " + std::to_string(key);
    }
    return wrong.empty();
  };
  if (table.ordered()) txn::scan_leaves(table.tree(), Key{0}, kKeyMax, false, kNoLimit, track, skip, check_row);
  for (uint32_t i = 0; i < table.secondary_count() && wrong.empty(); ++i)
    txn::scan_leaves(table.secondary(i), index::SecondaryKey{0, 0}, index::SecondaryKey{~uint64_t{0}, kKeyMax}, false, kNoLimit, track, skip,
                     [&](const index::SecondaryKey& entry, index::Handle handle) {
                       txn::PrimaryHint hint;
                       index::Witness unneeded;
                       if (table.find(entry.primary, hint, unneeded) != TableType::as_row(handle))
                         wrong = named + "index '" + table.schema().indexes[i].name + "' leads from value " + std::to_string(entry.value) +
                                 " to a row block that key " + std::to_string(entry.primary) + " has not";
                       return wrong.empty();
                     });
  if (!wrong.empty()) return Status(Code::kInvalidArgument, wrong);
  return {};
}

}  // namespace elider::detail
