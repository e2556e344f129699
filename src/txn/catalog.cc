#include "txn/catalog.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/test_points.h"
#include "elider/history.h"
#include "log/log.h"
#include "txn/table_record.h"

namespace elider::txn {

Result<AnyTable*> Catalog::create(const Schema& schema) {
  if (Status status = storage::check_schema(schema, store_.options.leave_out_indexes); !status.ok()) return status;
  std::lock_guard one_at_a_time(creation_mutex_);
  if (AnyTable* there = find(schema.name)) {
    if (const std::string what = storage::difference(there->schema(), schema); !what.empty())
      return Status(Code::kSchemaMismatch, "table '" + schema.name + "' already exists with a different schema: " + what);
    if (there->lacks_indexes() && !storage::lacks_key_functions(schema))
      return Status(Code::kSchemaMismatch,
                    "table '" + schema.name + "' was opened without its secondary indexes (Options::leave_out_indexes)");
    return there;
  }
  // Does not need mutex_: only the holder of creation_mutex_ adds tables.
  if (tables_.size() >= kTablesMax)
    return Status::invalid_argument("table '" + schema.name + "': the database already has " + std::to_string(kTablesMax) +
                                    " tables, the maximum");
  std::unique_ptr<AnyTable> made = maker_.make(schema, static_cast<uint32_t>(tables_.size()), store_, maker_.protocol_bytes);
  made->make_zones(memory_);
  if (!made->make_inline_rows(memory_))
    return Status(Code::kMemoryLimit,
                  "table '" + schema.name + "': not enough memory for " + std::to_string(schema.inline_rows) + " inline rows");
  made->set_elision(store_.laboratory.elision);
  const auto add = [&](bool room_alone) {
    std::unique_lock lock(mutex_);
    room_alone ? tables_.reserve(tables_.size() + 1) : tables_.push_back(std::move(made));
  };
  add(true);
  if (Status status = log_creation(made->id(), schema); !status.ok()) return status;
  ELIDER_TEST_POINT("catalog.table_logged");
  // The sink is called before any thread can find the table, so the history names the table before
  // a transaction uses it. mutex_ is not held during the call, because the sink is the
  // application's code. If the sink throws, the table still exists, because the log already records
  // it.
  try {
    if (store_.options.history != nullptr) store_.options.history->on_table(made->id(), made->schema());
  } catch (...) {
    add(false);
    throw;
  }
  add(false);
  return tables_.back().get();
}

// Appends the creation to the log. The caller holds creation_mutex_, so the threads that create
// tables do not use the log's last worker at the same time.
Status Catalog::log_creation(uint32_t id, const Schema& schema) {
  log::Log* const log = store_.log;
  if (log == nullptr) return {};
  const uint32_t worker = store_.workers.workers_max();
  std::vector<std::byte> bytes;
  encode_table(id, schema, &bytes);
  std::byte* place = nullptr;
  if (Status status = log->reserve(worker, bytes.size(), &place); !status.ok()) return status;
  log->begin_commit(worker);
  std::memcpy(place, bytes.data(), bytes.size());
  log->publish(worker, store_.snapshots.current(), bytes.size());
  log->end_commit(worker);
  return {};
}

AnyTable* Catalog::find(std::string_view name) const {
  std::shared_lock lock(mutex_);
  for (const auto& table : tables_)
    if (table->schema().name == name) return table.get();
  return nullptr;
}

std::vector<AnyTable*> Catalog::tables() const {
  std::shared_lock lock(mutex_);
  std::vector<AnyTable*> all;
  for (const auto& table : tables_) all.push_back(table.get());
  return all;
}

std::vector<AnyTable*> Catalog::tables_logged() {
  std::unique_lock made(creation_mutex_, std::defer_lock);
  if (!ELIDER_MUTANT(kSkipCreationLock) && !made.try_lock()) {
    ELIDER_TEST_POINT("checkpoint.awaits_table");
    made.lock();
  }
  return tables();
}

}  // namespace elider::txn
