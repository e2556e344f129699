// EngineOf: looking inside: statistics, garbage, and the check of every invariant.
#pragma once

#include <cxxabi.h>

#include <new>

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
      s.tables[i].commits += static_cast<uint64_t>(of->commits.get());
      for (size_t c = 0; c < kCauseCount; ++c) s.tables[i].aborts[c] += static_cast<uint64_t>(of->aborts[c].get());
    }
  });
  for (size_t i = 0; i < rows.size(); ++i) s.tables[i].rows = static_cast<uint64_t>(rows[i] > 0 ? rows[i] : 0);
  if constexpr (sync::kElides<Sync>) add_elision(s);
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
    s.log_records = facts.records;
    s.log_syncs = facts.syncs;
    s.log_room_waits = facts.room_waits;
    s.durable_lag_us = facts.lag_ns / 1000;
    s.durable_lag_sum_us = facts.lag_sum_ns / 1000;
    s.durable_lag_max_us = facts.lag_max_ns / 1000;
    s.log_io = name_of(data_.log_io());
    if (!facts.failure.ok()) s.log_failure = facts.failure.message();
  }
  s.checkpoints = data_.checkpoint_facts();
  s.epoch = store_.workers.epoch();
  s.workers = pool_->in_use();
  if (const uint64_t oldest = store_.workers.oldest_entered_ns(); oldest != 0) {
    const uint64_t now = now_ns();
    s.longest_active_us = now > oldest ? (now - oldest) / 1000 : 0;
  }
  return s;
}

// Sites where nothing ran are left out.
template <class Sync>
void EngineOf<Sync>::add_elision(Statistics& s) const {
  const auto add = [&](std::string site, std::string table, const htm::SiteCounts& counts) {
    if (counts.attempts() + counts.fallbacks + counts.direct == 0) return;
    s.elision.push_back(
        {std::move(site), std::move(table), counts.commits, counts.in_vain, counts.fallbacks, counts.direct, counts.aborts});
  };
  constexpr const char* kSites[sync::kOperations] = {"index get", "index batch", "index scan", "index insert", "index remove"};
  std::shared_lock lock(catalog_mutex_);
  for (const auto& table : tables_)
    for (size_t i = 0; i < sync::kOperations; ++i) {
      htm::SiteCounts counts;
      table->for_each_latch([&](const auto& latch) { counts.add(latch.site(static_cast<sync::Operation>(i)).counts()); });
      add(kSites[i], table->schema().name, counts);
    }
  add("record read", "", store_.elision->record_read.counts());
  add("commit", "", store_.elision->commit.counts());
  if (whole_ != nullptr) add("whole transaction", "", whole_->counts());
}

template <class Sync>
void EngineOf<Sync>::collect_garbage() {
  // A removed row takes three grace periods: unlinked, waited for once more, reclaimed.
  constexpr int kRoundsMax = 16;
  for (int round = 0; round < kRoundsMax && store_.workers.retired_objects() != 0; ++round) store_.workers.collect();
}

template <class Sync>
Status EngineOf<Sync>::prefault(uint64_t bytes) {
  if (memory_.prefault(bytes)) return {};
  return Status(Code::kMemoryLimit, "Options::prefault_bytes: the system has no " + std::to_string(bytes) + " bytes to give");
}

template <class Sync>
Status EngineOf<Sync>::verify() {
  SessionOf<Sync>* session = pool_->take();
  if (session == nullptr) return refuse_session();
  session->worker.enter();
  Status status;
  try {
    status = verify_tables();
  } catch (const std::bad_alloc&) {
    status = Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  } catch (const std::exception& error) {  // of a key function
    status = Status(Code::kProcedureThrew, std::string("a key function threw: ") + error.what());
  } catch (const abi::__forced_unwind&) {  // the key function ends the thread
    session->worker.leave();
    pool_->give_back(session);
    throw;
  } catch (...) {
    status = Status(Code::kProcedureThrew, "a key function threw what is no std::exception");
  }
  session->worker.leave();
  pool_->give_back(session);
  return status;
}

template <class Sync>
Status EngineOf<Sync>::verify_tables() {
  std::shared_lock lock(catalog_mutex_);
  for (const auto& table : tables_)
    if (Status status = verify_table(*table); !status.ok()) return status;
  return {};
}

// The indexes' own invariants; every row block that the key index leads to (verify_row); every entry of
// every secondary index (verify_entry).
template <class Sync>
Status EngineOf<Sync>::verify_table(TableType& table) {
  if (Status status = table.ordered() ? table.tree().verify() : table.hash().verify(); !status.ok()) return status;
  for (uint32_t i = 0; i < table.secondary_count(); ++i)
    if (Status status = table.secondary(i).verify(); !status.ok()) return status;

  std::string wrong;
  auto image = std::make_unique<std::byte[]>(table.layout().row_bytes());
  auto track = [](const index::Witness&, const auto&, const auto&) {};
  auto skip = [](index::Handle) {};
  auto check_row = [&](Key key, index::Handle handle) {
    wrong = verify_row(table, key, handle, image.get());
    return wrong.empty();
  };
  if (table.ordered()) txn::scan_leaves(table.tree(), Key{0}, kKeyMax, false, kNoLimit, track, skip, check_row);
  else table.hash().for_each(check_row);
  for (uint32_t i = 0; i < table.secondary_count() && wrong.empty(); ++i)
    txn::scan_leaves(table.secondary(i), index::SecondaryKey{0, 0}, index::SecondaryKey{~uint64_t{0}, kKeyMax}, false, kNoLimit, track,
                     skip, [&](const index::SecondaryKey& entry, index::Handle handle) {
                       wrong = verify_entry(table, i, entry, handle, image.get());
                       return wrong.empty();
                     });
  if (!wrong.empty()) return Status(Code::kInvalidArgument, "table '" + table.schema().name + "': " + wrong);
  return {};
}

// What is wrong with it, or nothing: its key finds it, its groups are unlocked, in use, and all there or
// all absent, and each secondary index finds it under its value.
template <class Sync>
std::string EngineOf<Sync>::verify_row(TableType& table, Key key, index::Handle handle, std::byte* image) {
  const storage::Layout& layout = table.layout();
  storage::Row* row = TableType::as_row(handle);
  const std::string named = "the row of key " + std::to_string(key);
  txn::PrimaryHint hint;
  index::Witness unneeded;
  if (table.find(key, hint, unneeded) != row) return named + " is not found by its key";
  const uint64_t w = row->cell(layout, 0).load();
  for (uint32_t g = 0; g < layout.group_count(); ++g) {
    const uint64_t of_group = row->cell(layout, g).load();
    if (storage::word::locked(of_group) || storage::word::removed(of_group)) return named + " is locked or removed";
    if (storage::word::absent(of_group) != storage::word::absent(w)) return "groups of key " + std::to_string(key) + " are not all there";
  }
  if (storage::word::absent(w)) return {};
  for (uint32_t i = 0; i < table.secondary_count(); ++i) {
    txn::reclaim::copy_locked(layout, row, layout.index_columns(i), image);
    txn::SecondaryHint secondary_hint;
    if (table.secondary(i).get({table.index_value(i, image), key}, secondary_hint, unneeded) != handle)
      return "index '" + table.schema().indexes[i].name + "' does not find " + named;
  }
  return {};
}

// What is wrong with it, or nothing: it leads to the row block that its key has, and either the row has
// (or, if it is absent, had last) that value, or the entry is on the list of those to be taken out.
template <class Sync>
std::string EngineOf<Sync>::verify_entry(TableType& table, uint32_t i, const index::SecondaryKey& entry, index::Handle handle,
                                         std::byte* image) {
  const storage::Layout& layout = table.layout();
  storage::Row* row = TableType::as_row(handle);
  const std::string named = "index '" + table.schema().indexes[i].name + "' leads from value " + std::to_string(entry.value) + " to ";
  txn::PrimaryHint hint;
  index::Witness unneeded;
  if (table.find(entry.primary, hint, unneeded) != row) return named + "a row block that key " + std::to_string(entry.primary) + " has not";
  if (row->cell(layout, 0).snapshot() != 0) {
    txn::reclaim::copy_locked(layout, row, layout.index_columns(i), image);
    if (table.index_value(i, image) == entry.value) return {};
  }
  std::lock_guard lock(table.stale().mutex);
  if (table.stale().unlisted) return {};
  const auto listed = table.stale().by_row.find(row);
  if (listed != table.stale().by_row.end())
    for (const txn::StaleEntry& stale : listed->second)
      if (stale.index == i && stale.value == entry.value) return {};
  return named + "key " + std::to_string(entry.primary) + ", whose row has another one, and nobody will take the entry out";
}

}  // namespace elider::detail
