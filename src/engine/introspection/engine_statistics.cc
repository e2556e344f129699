// EngineBase::statistics().
#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine_base.h"

namespace elider::detail {

Statistics EngineBase::statistics() const {
  Statistics s;
  s.procedures.resize(store_.procedures.count());
  for (uint32_t i = 0; i < s.procedures.size(); ++i) s.procedures[i].name = store_.procedures.name(i);
  const std::vector<txn::AnyTable*> tables = catalog_.tables();
  s.tables.resize(tables.size());
  for (size_t i = 0; i < tables.size(); ++i) add_memory(*tables[i], s.tables[i], s);
  std::vector<int64_t> rows(s.tables.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = tables[i]->recovered_rows();
  std::vector<txn::ConflictedKeys::Sums> conflicted(s.tables.size());
  pool_->for_each_counters([&](const txn::Counters& counters) {
    s.read_only_commits += static_cast<uint64_t>(counters.read_only_commits.get());
    s.lookups.of_rows += static_cast<uint64_t>(counters.lookups.of_rows.get());
    s.lookups.rows_kept += static_cast<uint64_t>(counters.lookups.rows_kept.get());
    s.lookups.of_trees += static_cast<uint64_t>(counters.lookups.of_trees.get());
    s.lookups.leaves_kept += static_cast<uint64_t>(counters.lookups.leaves_kept.get());
    for (uint32_t i = 0; i < s.procedures.size(); ++i) {
      const txn::ProcedureCounters* of = counters.procedures.find(i);
      if (of == nullptr) continue;
      s.procedures[i].commits += static_cast<uint64_t>(of->commits.get());
      s.commits += static_cast<uint64_t>(of->commits.get());
      const auto committed_by = [of](txn::CommittedBy way) {
        return static_cast<uint64_t>(of->committed_by[static_cast<size_t>(way)].get());
      };
      s.procedures[i].region_commits += committed_by(txn::CommittedBy::kRegion);
      s.procedures[i].lock_bit_commits += committed_by(txn::CommittedBy::kLockBits);
      s.procedures[i].locked_commits += committed_by(txn::CommittedBy::kLocks);
      for (size_t c = 0; c < kCauseCount; ++c) {
        s.procedures[i].aborts[c] += static_cast<uint64_t>(of->aborts[c].get());
        s.aborts[c] += static_cast<uint64_t>(of->aborts[c].get());
      }
    }
    for (uint32_t i = 0; i < s.tables.size(); ++i) {
      const txn::TableCounters* of = counters.tables.find(tables[i]->id());
      if (of == nullptr) continue;
      rows[i] += of->rows.get();
      s.tables[i].commits += static_cast<uint64_t>(of->commits.get());
      for (size_t c = 0; c < kCauseCount; ++c) s.tables[i].aborts[c] += static_cast<uint64_t>(of->aborts[c].get());
      if (of->conflicted() != nullptr) of->conflicted()->add_to(conflicted[i]);
    }
  });
  for (size_t i = 0; i < conflicted.size(); ++i) s.tables[i].conflicted_keys = txn::ConflictedKeys::most_conflicted(conflicted[i]);
  for (size_t i = 0; i < rows.size(); ++i) s.tables[i].rows = static_cast<uint64_t>(rows[i] > 0 ? rows[i] : 0);
  if (sync_ == SyncPolicy::kElided) add_elision(s);
  s.memory = {memory_.used_bytes(MemoryPart::kRows), memory_.used_bytes(MemoryPart::kVersions), memory_.used_bytes(MemoryPart::kBlocks),
              memory_.used_bytes(MemoryPart::kIndexes), memory_.free_bytes(), memory_.reserved_bytes()};
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
    if (!facts.failure.ok()) s.log_failure = facts.failure.message();
  }
  s.checkpoints = data_.checkpoint_facts();
  s.epoch = store_.workers.epoch();
  s.workers = pool_->in_use();
  s.turn_waits = pool_->turns.waits();
  if (const uint64_t oldest = store_.workers.oldest_entered_ns(); oldest != 0) {
    const uint64_t now = now_ns();
    s.longest_active_us = now > oldest ? (now - oldest) / 1000 : 0;
  }
  return s;
}

// Sets the table's name and memory figures. Row blocks and index nodes that are unlinked and wait
// for their grace period are counted only in Statistics::Memory, except for row blocks of different
// sizes, which count until they are freed.
void EngineBase::add_memory(const txn::AnyTable& table, Statistics::Table& its, Statistics& s) const {
  // A sum may be negative, because its counters are not read at one instant.
  const auto counted = [](int64_t sum) { return static_cast<uint64_t>(std::max<int64_t>(sum, 0)); };
  const storage::Layout& layout = table.layout();
  const storage::RowMemory& apart = layout.memory();
  uint64_t row_blocks = table.row_blocks() * memory_.bytes_taken(layout.block_bytes());
  if (layout.zones() != nullptr) row_blocks = layout.zones()->bytes();
  if (layout.inline_rows() != nullptr || !layout.plain_rows()) row_blocks = counted(apart.outside.bytes());
  if (layout.inline_rows() != nullptr) row_blocks += memory_.bytes_taken(layout.inline_rows()->bytes());

  its.name = table.schema().name;
  its.row_bytes = row_blocks + counted(apart.blocks.bytes());
  its.version_bytes = counted(apart.versions.bytes());
  its.index_bytes = table.index_bytes();
  s.versions_alive += counted(apart.versions.entries());
}

// Adds the counts of all places where hardware transactions may run (htm/site.h). Skips those that
// have not been used.
void EngineBase::add_elision(Statistics& s) const {
  const auto add = [&](std::string site, std::string table, const htm::SiteCounts& counts) {
    if (counts.attempts() + counts.fallbacks + counts.direct == 0) return;
    s.elision.push_back(
        {std::move(site), std::move(table), counts.commits, counts.in_vain, counts.fallbacks, counts.direct, counts.aborts});
  };
  constexpr const char* kSites[sync::kOperations] = {"index get", "index batch", "index scan", "index insert", "index remove"};
  for (txn::AnyTable* const table : catalog_.tables())
    for (size_t i = 0; i < sync::kOperations; ++i) {
      htm::SiteCounts counts;
      table->add_counts(static_cast<sync::Operation>(i), &counts);
      add(kSites[i], table->schema().name, counts);
    }
  if (store_.elision != nullptr) {
    add("record read", "", store_.elision->record_read.counts());
    add("commit", "", store_.elision->commit.counts());
  }
  for_each_site([&](std::string_view site, const htm::SiteCounts& counts) { add(std::string(site), "", counts); });
}

}  // namespace elider::detail
