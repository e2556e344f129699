#include "txn/catalog.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/bits.h"
#include "base/clock.h"
#include "base/status_words.h"
#include "base/test_points.h"
#include "elider/history.h"
#include "log/log.h"
#include "txn/ranks.h"
#include "txn/refuse.h"
#include "txn/sweep.h"
#include "txn/table_record.h"

namespace elider::txn {

namespace {
// A table of counts has two versions: the one with which it is created, and its removal.
constexpr uint32_t kDroppedCountsVersion = 1;

Status not_found(std::string_view name) { return Status(Code::kNotFound, "table '" + std::string(name) + "' does not exist"); }
}  // namespace

// -- tables ---------------------------------------------------------------------------------------

Status Catalog::check_room(const std::string& name, size_t tables) const {
  // Does not need mutex_: only the holder of creation_mutex_ adds tables.
  if (slots_.size() + tables <= kTablesMax) return {};
  return Status::invalid_argument("table '" + name + "': the database has already had " + std::to_string(kTablesMax) +
                                  " tables, the maximum, which includes dropped tables");
}

Result<std::unique_ptr<AnyTable>> Catalog::make(const Schema& schema, uint32_t id) {
  std::unique_ptr<AnyTable> made = maker_.make(schema, id, store_, maker_.protocol_bytes);
  made->make_zones(memory_);
  if (!made->make_inline_rows(memory_))
    return Status(Code::kMemoryLimit,
                  "table '" + schema.name + "': not enough memory for " + std::to_string(schema.inline_rows) + " inline rows");
  made->set_elision(store_.laboratory.elision);
  return made;
}

// Makes the tables of the counts of ranked indexes. They get the ids after that of `table`.
Status Catalog::make_counts(AnyTable& table, std::vector<std::unique_ptr<AnyTable>>* made) {
  for (uint32_t i = 0; i < table.schema().indexes.size(); ++i) {
    const SecondaryIndex& index = table.schema().indexes[i];
    if (!index.ranked) continue;
    const Schema schema = rank_schema(table.id(), index.name);
    if (find_locked(schema.name) != nullptr)
      return Status::invalid_argument("table '" + table.schema().name + "', index '" + index.name +
                                      "': the counts need a table named '" + schema.name + "', but this table already exists; rename it");
    Result<std::unique_ptr<AnyTable>> counts = make(schema, table.id() + static_cast<uint32_t>(made->size()));
    if (!counts.ok()) return counts.status();
    (*counts)->mark_counts();
    if (!table.lacks_indexes()) table.set_ranks(i, **counts);
    made->push_back(*std::move(counts));
  }
  return {};
}

// Returns the tables that have the counts of a table's indexes, also those that are left over
// (Catalog).
std::vector<AnyTable*> Catalog::counts_of(const AnyTable& table) const {
  const std::string prefix = rank_table_name(table.id(), "");
  std::shared_lock lock(mutex_);
  std::vector<AnyTable*> found;
  for (auto at = names_.lower_bound(prefix); at != names_.end() && at->first.starts_with(prefix); ++at) found.push_back(at->second);
  return found;
}

// Finds the tables of the counts of recovered tables.
Status Catalog::link_counts() {
  for (const Slot& slot : slots_) {
    if (slot.table == nullptr || slot.table->dropped()) continue;
    AnyTable& table = *slot.table;
    for (AnyTable* const counts : counts_of(table)) counts->mark_counts();
    for (uint32_t i = 0; i < table.schema().indexes.size(); ++i) {
      const SecondaryIndex& index = table.schema().indexes[i];
      if (!index.ranked) continue;
      const Schema schema = rank_schema(table.id(), index.name);
      const auto counts = names_.find(schema.name);
      if (counts == names_.end() || !storage::difference(counts->second->schema(), schema).empty())
        return Status(Code::kCorrupt, "table '" + table.schema().name + "', index '" + index.name + "': the table '" + schema.name +
                                          "' with its counts is missing");
      if (!table.lacks_indexes()) table.set_ranks(i, *counts->second);
    }
  }
  return {};
}

// The sink is called before any thread can find the table, so the history names the table before a
// transaction uses it. mutex_ is not held during the call, because the sink is the application's
// code.
void Catalog::tell_history(const AnyTable& table) {
  if (store_.options.history != nullptr) store_.options.history->on_table(table.id(), table.schema());
}

Result<AnyTable*> Catalog::create(const Schema& schema) {
  if (Status status = storage::check_schema(schema, store_.options.leave_out_indexes); !status.ok()) return status;
  std::lock_guard one_at_a_time(creation_mutex_);
  if (AnyTable* there = find_locked(schema.name)) {
    if (!there->usable())
      return Status::invalid_argument("table '" + schema.name + "' is being dropped; create it when drop_table() has returned");
    if (const std::string what = storage::difference(there->schema(), schema); !what.empty()) {
      const auto differs = [&](const std::string& words) {
        return Status(Code::kSchemaMismatch, "table '" + schema.name + "' already exists with a different schema: " + words);
      };
      return differs(store_.options.upgrade ? words_of(storage::upgraded(there->schema(), schema).status()) : what);
    }
    if (there->lacks_indexes() && !storage::lacks_key_functions(schema))
      return Status(Code::kSchemaMismatch,
                    "table '" + schema.name + "' was opened without its secondary indexes (Options::leave_out_indexes)");
    return there;
  }
  const auto ranked = std::count_if(schema.indexes.begin(), schema.indexes.end(), [](const SecondaryIndex& i) { return i.ranked; });
  if (Status status = check_room(schema.name, 1 + static_cast<size_t>(ranked)); !status.ok()) return status;
  Result<std::unique_ptr<AnyTable>> first = make(schema, static_cast<uint32_t>(slots_.size()));
  if (!first.ok()) return first.status();
  AnyTable* const table = first->get();
  std::vector<std::unique_ptr<AnyTable>> made;
  made.push_back(*std::move(first));
  if (Status status = make_counts(*table, &made); !status.ok()) return status;
  if (Status status = add_new(std::move(made)); !status.ok()) return status;
  return table;
}

// Logs the creation of these tables, which have the next ids, and lets transactions find them. The
// caller holds creation_mutex_.
Status Catalog::add_new(std::vector<std::unique_ptr<AnyTable>> made) {
  std::vector<std::vector<std::byte>> records(made.size());
  std::map<std::string, AnyTable*, std::less<>> named;
  for (size_t i = 0; i < made.size(); ++i) {
    encode_table(made[i]->id(), made[i]->schema(), &records[i]);
    named.emplace(made[i]->schema().name, made[i].get());
  }
  const std::vector<std::span<const std::byte>> all(records.begin(), records.end());
  const auto add = [&](bool room_alone) {
    std::unique_lock lock(mutex_);
    if (room_alone) {
      const size_t needed = slots_.size() + made.size();
      if (needed > slots_.capacity()) slots_.reserve(std::max(needed, 2 * slots_.size()));
      return;
    }
    for (std::unique_ptr<AnyTable>& each : made) slots_.push_back({std::move(each), 0});
    names_.merge(named);
  };
  add(true);
  SnapshotNumber number = 0;
  if (Status status = log_records(all, &number); !status.ok()) return status;
  for (const std::unique_ptr<AnyTable>& each : made) each->set_created(number);
  ELIDER_TEST_POINT("catalog.table_logged");
  // If the sink throws, the table still exists, because the log already records it.
  try {
    for (const std::unique_ptr<AnyTable>& each : made) tell_history(*each);
  } catch (...) {
    add(false);
    throw;
  }
  add(false);
  return {};
}

// Appends records, which get the same number, to the log. The caller holds creation_mutex_, so the
// threads that change tables do not use the log's last worker at the same time. If an error occurs
// after the first record, the log has failed, and recovery does not find any of the records.
Status Catalog::log_records(std::span<const std::span<const std::byte>> records, SnapshotNumber* number) {
  log::Log* const log = store_.log;
  *number = store_.snapshots.current();
  if (log == nullptr) return {};
  const uint32_t worker = store_.workers.workers_max();
  for (size_t i = 0; i < records.size(); ++i) {
    std::byte* place = nullptr;
    Status status = log->reserve(worker, records[i].size(), &place);
    if (!status.ok()) {
      if (i != 0) log->end_commit(worker);
      return status;
    }
    if (i == 0) {
      log->begin_commit(worker);
      *number = store_.snapshots.current();
    }
    std::memcpy(place, records[i].data(), records[i].size());
    log->publish(worker, *number, records[i].size());
  }
  log->end_commit(worker);
  return {};
}

AnyTable* Catalog::find_locked(std::string_view name) const {
  std::shared_lock lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

AnyTable* Catalog::find(std::string_view name) const {
  AnyTable* const table = find_locked(name);
  return table == nullptr || !table->usable() ? nullptr : table;
}

std::vector<AnyTable*> Catalog::tables() const {
  std::shared_lock lock(mutex_);
  std::vector<AnyTable*> all;
  for (const Slot& slot : slots_)
    if (slot.table != nullptr && !slot.table->dropped()) all.push_back(slot.table.get());
  return all;
}

std::vector<Catalog::TableAt> Catalog::tables_at(SnapshotNumber number) {
  std::unique_lock made(creation_mutex_, std::defer_lock);
  if (!ELIDER_MUTANT(kSkipCreationLock) && !made.try_lock()) {
    ELIDER_TEST_POINT("checkpoint.awaits_table");
    made.lock();
  }
  std::shared_lock lock(mutex_);
  std::vector<TableAt> all;
  for (uint32_t id = 0; id < slots_.size(); ++id) {
    const Slot& slot = slots_[id];
    if (slot.table != nullptr && slot.table->versions().created() > number) break;  // like all later ones
    if (slot.table != nullptr && slot.table->dropped_at() > number) all.push_back({id, slot.table.get(), 0});
    else all.push_back({id, nullptr, slot.dropped_version});
  }
  return all;
}

// -- changes --------------------------------------------------------------------------------------

Status Catalog::change(std::string_view name, FunctionRef<Result<Schema>(const Schema&)> change, SnapshotNumber* number) {
  std::lock_guard one_at_a_time(creation_mutex_);
  const Result<AnyTable*> table = find_changeable(name);
  if (!table.ok()) return table.status();
  Result<Schema> changed = change((*table)->schema());
  return changed.ok() ? change_to(**table, *std::move(changed), number) : changed.status();
}

Result<AnyTable*> Catalog::find_changeable(std::string_view name) const {
  AnyTable* const table = find(name);
  if (table == nullptr) return not_found(name);
  if (const std::string& index = slots_[table->id()].new_index; !index.empty())
    return Status::invalid_argument("table '" + std::string(name) + "' cannot be changed while index '" + index +
                                    "' is being created; call again when create_index() has returned");
  return table;
}

// The caller holds creation_mutex_.
Status Catalog::change_to(AnyTable& table, Schema schema, SnapshotNumber* number) {
  if (Status status = storage::check_schema(schema, true); !status.ok()) return status;
  const std::string old_name = table.schema().name;
  std::string new_name = schema.name;
  const bool renamed = new_name != old_name;
  if (renamed && find_locked(new_name) != nullptr) return Status::invalid_argument("table '" + new_name + "' already exists");
  const uint32_t version = table.versions().current().version + 1;
  std::vector<std::byte> record;
  encode_table(table.id(), schema, &record, version);
  std::unique_ptr<storage::SchemaVersions::Version> made = table.versions().prepare(std::move(schema), version);
  if (Status status = log_record(record, number); !status.ok()) return status;
  ELIDER_TEST_POINT("catalog.change_logged");
  std::unique_lock lock(mutex_);
  if (renamed) {
    auto node = names_.extract(old_name);
    node.key() = std::move(new_name);
    names_.insert(std::move(node));
  }
  table.change_schema(std::move(made), *number);
  return {};
}

Result<AnyTable*> Catalog::begin_drop(std::string_view name) {
  std::lock_guard one_at_a_time(creation_mutex_);
  const Result<AnyTable*> table = find_changeable(name);
  if (table.ok()) (*table)->set_usable(false);
  return table;
}

Status Catalog::end_drop(AnyTable& table, uint64_t wait_us, SnapshotNumber* number) {
  const auto keep = [&](Status status) {
    table.set_usable(true);
    return status;
  };
  std::vector<AnyTable*> dropped;  // the tables of counts
  try {
    ELIDER_TEST_POINT("catalog.drop_begun");
    if (!ELIDER_MUTANT(kDropAtOnce))
      if (Status status = await_transactions(wait_us, "table '" + table.schema().name + "' was not dropped"); !status.ok())
        return keep(std::move(status));
    ELIDER_TEST_POINT("catalog.drop_alone");
    std::lock_guard one_at_a_time(creation_mutex_);
    const uint32_t version = table.versions().current().version + 1;
    std::vector<std::byte> record;
    encode_dropped_table(table.id(), table.schema().name, &record, version);
    std::vector<AnyTable*> counts = counts_of(table);
    std::vector<std::vector<std::byte>> records{std::move(record)};
    for (AnyTable* const each : counts)
      encode_dropped_table(each->id(), each->schema().name, &records.emplace_back(), kDroppedCountsVersion);
    const std::vector<std::span<const std::byte>> all(records.begin(), records.end());
    dropped = std::move(counts);
    if (Status status = log_records(all, number); !status.ok()) return keep(std::move(status));
    ELIDER_TEST_POINT("catalog.drop_logged");
    std::unique_lock lock(mutex_);
    for (AnyTable* const each : dropped) forget(*each, kDroppedCountsVersion, *number);
    forget(table, version, *number);
  } catch (const std::bad_alloc&) {
    return keep(Status(Code::kMemoryLimit, Cause::kMemoryLimit));
  }
  sweep_soon(table);
  for (AnyTable* const each : dropped) sweep_soon(*each);
  return {};
}

// Drops a table whose removal has been logged. The caller holds mutex_.
void Catalog::forget(AnyTable& table, uint32_t version, SnapshotNumber number) {
  slots_[table.id()].dropped_version = version;
  if (const auto named = names_.find(table.schema().name); named != names_.end() && named->second == &table) names_.erase(named);
  table.set_usable(false);
  table.set_dropped(number);
}

// Frees the table's memory now, if no thread reads a snapshot. Otherwise, transactions free it
// when these readers have ended.
void Catalog::sweep_soon(AnyTable& table) {
  if (WorkerLoan worker = lend_worker(store_.workers)) {
    const Inside inside(*worker);
    sweep(*worker, table);
  }
  for (uint64_t before = ~uint64_t{0}; !table.swept() && table.portions_swept() != before; store_.workers.collect())
    before = table.portions_swept();
}

// -- indexes --------------------------------------------------------------------------------------

Status Catalog::begin_index(std::string_view name, const SecondaryIndex& definition, NewIndex* index) {
  std::lock_guard one_at_a_time(creation_mutex_);
  const Result<AnyTable*> found = find_changeable(name);
  if (!found.ok()) return found.status();
  AnyTable& table = **found;
  const std::string named = "table '" + table.schema().name + "', index '" + definition.name + "': ";
  if (!definition.by_columns)
    return Status::invalid_argument(named + "an index with a key function must be in the schema that creates the table; "
                                            "an index by columns can be created later");
  if (table.lacks_indexes())
    return Status::invalid_argument(named + "the table was opened without its indexes (Options::leave_out_indexes)");
  Schema changed = table.schema();
  changed.indexes.push_back(definition);
  if (Status status = storage::check_schema(changed, true); !status.ok()) return status;
  if (Status status = storage::check_names(changed); !status.ok()) return status;
  if (definition.ranked)
    if (Status status = check_room(table.schema().name); !status.ok()) return status;
  std::string& new_index = slots_[table.id()].new_index;
  new_index = definition.name;
  try {
    IndexSlot* const slot = table.add_index(definition);
    if (slot != nullptr) return *index = {&table, slot}, Status();
    new_index.clear();
  } catch (...) {
    new_index.clear();
    throw;
  }
  return Status::invalid_argument(named + "the table has " + std::to_string(kSecondaryIndexesMax) +
                                  " indexes, the maximum, which includes dropped indexes whose memory has not been freed yet");
}

Status Catalog::await_transactions(uint64_t wait_us, const std::string& what) {
  const uint64_t now = now_ns(), deadline_ns = wait_us > (~uint64_t{0} - now) / 1000 ? ~uint64_t{0} : now + 1000 * wait_us;
  const auto reads = [&](uint32_t worker) { return store_.snapshots.reads(worker); };
  if (store_.workers.await_inside(deadline_ns, reads)) return {};
  return Status(Code::kDeadline, what + ": a transaction that began before is still open after " + std::to_string(wait_us / 1000) +
                                     " ms; end it, also if it belongs to this thread");
}

Status Catalog::create_counts(NewIndex* index) {
  std::lock_guard one_at_a_time(creation_mutex_);
  const Schema schema = rank_schema(index->table->id(), index->slot->definition.name);
  if (AnyTable* const left = find_locked(schema.name))
    if (Status status = drop_counts_locked(*left); !status.ok()) return status;
  if (Status status = check_room(index->table->schema().name); !status.ok()) return status;
  Result<std::unique_ptr<AnyTable>> made = make(schema, static_cast<uint32_t>(slots_.size()));
  if (!made.ok()) return made.status();
  AnyTable* const counts = made->get();
  counts->mark_counts();
  std::vector<std::unique_ptr<AnyTable>> all;
  all.push_back(*std::move(made));
  if (Status status = add_new(std::move(all)); !status.ok()) return status;
  index->counts = counts;
  return {};
}

void Catalog::drop_counts(AnyTable& counts) noexcept {
  try {
    std::lock_guard one_at_a_time(creation_mutex_);
    static_cast<void>(drop_counts_locked(counts));
  } catch (const std::bad_alloc&) {
  }
}

// The caller holds creation_mutex_. Another thread may already have dropped the counts.
Status Catalog::drop_counts_locked(AnyTable& counts) {
  if (counts.dropped()) return {};
  std::vector<std::byte> record;
  encode_dropped_table(counts.id(), counts.schema().name, &record, kDroppedCountsVersion);
  SnapshotNumber number = 0;
  if (Status status = log_record(record, &number); !status.ok()) return status;
  {
    std::unique_lock lock(mutex_);
    forget(counts, kDroppedCountsVersion, number);
  }
  sweep_soon(counts);
  return {};
}

Status Catalog::end_index(const NewIndex& index, SnapshotNumber* number) {
  AnyTable& table = *index.table;
  std::lock_guard one_at_a_time(creation_mutex_);
  Schema changed = table.schema();
  changed.indexes.push_back(index.slot->definition);
  const uint32_t version = table.versions().current().version + 1;
  std::vector<std::byte> record;
  encode_table(table.id(), changed, &record, version, true);
  std::unique_ptr<storage::SchemaVersions::Version> made = table.versions().prepare(std::move(changed), version);
  if (Status status = log_record(record, number); !status.ok()) return status;
  ELIDER_TEST_POINT("catalog.index_logged");
  if (index.counts != nullptr) table.set_ranks(AnyTable::slot_of(index.slot->position), *index.counts);
  table.set_index_usable(*index.slot, *number);
  std::unique_lock lock(mutex_);
  table.change_schema(std::move(made), *number);
  slots_[table.id()].new_index.clear();
  return {};
}

void Catalog::cancel_index(const NewIndex& index) noexcept {
  {
    std::lock_guard one_at_a_time(creation_mutex_);
    index.table->forget_index(AnyTable::slot_of(index.slot->position));
    slots_[index.table->id()].new_index.clear();
  }
  if (index.counts != nullptr) drop_counts(*index.counts);
  free_index(index);
}

void Catalog::free_index(const NewIndex& index) noexcept {
  AnyTable& table = *index.table;
  const uint32_t i = AnyTable::slot_of(index.slot->position);
  try {
    if (WorkerLoan worker = lend_worker(store_.workers)) {
      const Inside inside(*worker);
      sweep_index(*worker, table, i);
    }
    const auto present = [&] { return (table.present_indexes() >> i & 1) != 0; };
    for (uint64_t before = ~uint64_t{0}; present() && table.portions_swept() != before; store_.workers.collect())
      before = table.portions_swept();
  } catch (const std::bad_alloc&) {
  }
}

// The record is logged first. So a transaction that does not maintain the index commits with the
// record's number or a later one, and recovery up to an earlier number finds a unique index in
// which each value is unique.
Status Catalog::drop_index(std::string_view name, std::string_view index, NewIndex* dropped, SnapshotNumber* number) {
  std::lock_guard one_at_a_time(creation_mutex_);
  const Result<AnyTable*> found = find_changeable(name);
  if (!found.ok()) return found.status();
  AnyTable& table = **found;
  Schema changed = table.schema();
  if (std::erase_if(changed.indexes, [&](const SecondaryIndex& each) { return each.name == index; }) == 0)
    return Status(Code::kNotFound, "table '" + table.schema().name + "' does not have an index named '" + std::string(index) + "'");
  IndexSlot* const slot = table.usable_index(index);
  if (slot == nullptr)
    return Status::invalid_argument("index '" + std::string(index) + "' of table '" + table.schema().name +
                                    "' cannot be dropped, because the table was opened without its indexes "
                                    "(Options::leave_out_indexes)");
  const uint32_t version = table.versions().current().version + 1;
  std::vector<std::byte> record;
  encode_table(table.id(), changed, &record, version, true);
  std::unique_ptr<storage::SchemaVersions::Version> made = table.versions().prepare(std::move(changed), version);
  if (Status status = log_record(record, number); !status.ok()) return status;
  ELIDER_TEST_POINT("catalog.index_drop_logged");
  {
    std::unique_lock lock(mutex_);
    table.change_schema(std::move(made), *number);
  }
  table.forget_index(AnyTable::slot_of(slot->position));
  *dropped = {&table, slot, slot->counts.load(std::memory_order_acquire)};
  return {};
}

// -- recovery -------------------------------------------------------------------------------------

Result<AnyTable*> Catalog::recover(const Schema& schema, uint32_t version) {
  if (Status status = storage::check_schema(schema, true); !status.ok()) return status;
  if (Status status = check_room(schema.name); !status.ok()) return status;
  Result<std::unique_ptr<AnyTable>> made = make(schema, static_cast<uint32_t>(slots_.size()));
  if (!made.ok()) return made.status();
  slots_.push_back({*std::move(made), 0});
  AnyTable& table = *slots_.back().table;
  if (version != 0) recover_change(table, schema, version);
  return &table;
}

void Catalog::recover_dropped(uint32_t version) { slots_.push_back({nullptr, version}); }

void Catalog::recover_change(AnyTable& table, Schema schema, uint32_t version) {
  table.change_schema(table.versions().prepare(std::move(schema), version), 0);
  table.reset_indexes();
}

void Catalog::recover_drop(AnyTable& table, uint32_t version) {
  table.set_usable(false);
  table.set_dropped(0);
  slots_[table.id()].dropped_version = version;
}

void Catalog::recover_key_functions(AnyTable& table, Schema schema) {
  recover_change(table, std::move(schema), table.versions().current().version);
}

Status Catalog::name_recovered() {
  for (const Slot& slot : slots_) {
    if (slot.table == nullptr) continue;
    if (slot.table->dropped()) {
      sweep_soon(*slot.table);
      continue;
    }
    const std::string& name = slot.table->schema().name;
    if (!names_.emplace(name, slot.table.get()).second) return Status(Code::kCorrupt, "two tables are named '" + name + "'");
    tell_history(*slot.table);
  }
  return link_counts();
}

}  // namespace elider::txn
