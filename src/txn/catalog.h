// Catalog: the tables of a database. It creates them, logs their creation, and finds them by name.
//
// A table is never dropped, so a pointer to a table is valid as long as the catalog is.
// Thread safety: all threads may call all functions.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "base/memory.h"
#include "elider/schema.h"
#include "elider/status.h"
#include "txn/any_table.h"
#include "txn/store.h"

namespace elider::txn {

// How an engine makes its tables.
struct TableMaker {
  // Makes a table with this id. May throw std::bad_alloc.
  std::unique_ptr<AnyTable> (*make)(const Schema& schema, uint32_t id, const Store& store, uint32_t protocol_bytes);
  uint32_t protocol_bytes;  // per cell (storage::Layout)
};

class Catalog {
 public:
  // Does not use `store` before the first other call.
  Catalog(Memory& memory, Store& store, TableMaker maker) : memory_(memory), store_(store), maker_(maker) {}

  // Implements Database::create_table(), which describes the errors. The log records the creation
  // before any commit to the table.
  Result<AnyTable*> create(const Schema& schema);
  // Returns the table with this name, or null.
  AnyTable* find(std::string_view name) const;
  // Returns all tables, ordered by id.
  std::vector<AnyTable*> tables() const;
  // Like tables(), but includes every table that has been logged. It waits for a table that another
  // thread is creating, because this table may already be logged although no thread can find it.
  std::vector<AnyTable*> tables_logged();

  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

 private:
  Status log_creation(uint32_t id, const Schema& schema);

  Memory& memory_;
  Store& store_;
  const TableMaker maker_;
  std::mutex creation_mutex_;        // held by create(); acquired before mutex_
  mutable std::shared_mutex mutex_;  // guards tables_
  std::vector<std::unique_ptr<AnyTable>> tables_;
};

}  // namespace elider::txn
