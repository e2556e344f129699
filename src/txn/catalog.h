// Catalog: the tables of a database. It creates, changes and drops them, logs this, and finds
// tables by name.
//
// A table has an id, its position, which no other table ever gets. The log has one record for each
// creation, change or removal of a table, with the number of the table's version. The record is
// logged before any thread can use the new version. So every commit that depends on it has the same
// snapshot number or a later one, and recovery, which keeps all records up to some number, also
// keeps the version (docs/schema-changes.md).
//
// Dropping. (1) The table becomes unusable: operations on it return kNotFound from now on. (2) The
// call waits until the transactions that began before have ended, because they may still commit
// writes to the table. Readers of snapshots, which do not write, are not awaited. (3) The removal
// is logged. Invariant: the number n of this record is at least the number of every commit to the
// table. So a checkpoint whose number is below n contains the table, and later checkpoints do not
// need it. (4) The table's rows and indexes are freed after a grace period (txn/sweep.h). The
// object itself stays, so a pointer to a table is valid as long as the catalog is.
//
// The counts of a ranked index are in a table of their own (txn/ranks.h), which is created and
// dropped with the index's table: their records have the same snapshot number, so recovery finds
// all of them or none. The name of such a table contains the id of the index's table. If the index
// is created later, the creation of its counts is logged before the index is; if it is dropped, the
// removal of its counts is logged after that of the index. So a crash in between leaves counts
// without an index. They are dropped with the table, or when an index of this name is created.
//
// Thread safety: all threads may call all functions; functions for recovery must be called before
// all others, by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory.h"
#include "elider/function_ref.h"
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

  // Implements Database::create_table(), which describes the errors.
  Result<AnyTable*> create(const Schema& schema);
  // Returns the table with this name, or null. A table that is being dropped is not found.
  AnyTable* find(std::string_view name) const;
  // Returns all tables but those that have been dropped, ordered by id.
  std::vector<AnyTable*> tables() const;
  // A table as of a snapshot.
  struct TableAt {
    uint32_t id;
    AnyTable* table;           // null if the table had been dropped
    uint32_t dropped_version;  // the version of the removal, if it had been dropped
  };
  // Returns all tables that had been created or dropped up to this snapshot, ordered by id. The
  // caller's worker must have begun to read the snapshot. Waits for a
  // thread that is creating, changing or dropping a table, because this may already be logged
  // although no thread can see it.
  std::vector<TableAt> tables_at(SnapshotNumber number);

  // Replaces the schema of a table by change(current schema), which may change the name and the row
  // columns. Sets *number to the snapshot number of the change. Returns the status of change(), or
  //   kNotFound         no table has this name
  //   kInvalidArgument  another table has the new name
  //   kIoError          the log could not be written; the table is unchanged
  Status change(std::string_view name, FunctionRef<Result<Schema>(const Schema&)> change, SnapshotNumber* number);

  // Implements Database::drop_table(), which describes the errors. begin_drop() makes the table
  // unusable. Then end_drop(), which waits and logs the removal, or cancel_drop() must follow. If
  // end_drop() fails, the table is usable again.
  Result<AnyTable*> begin_drop(std::string_view name);
  void cancel_drop(AnyTable& table) { table.set_usable(true); }
  Status end_drop(AnyTable& table, uint64_t wait_us, SnapshotNumber* number);

  // Implements Database::create_index(), which describes the errors. begin_index() adds an index
  // that readers cannot use. Then the caller fills it (txn/index_build.h). Then end_index() logs
  // the new schema, or cancel_index() removes the index, also if end_index() has failed or thrown.
  // Meanwhile, the table cannot be changed in another way, or dropped.
  struct NewIndex {
    AnyTable* table = nullptr;
    IndexSlot* slot = nullptr;
    AnyTable* counts = nullptr;  // if the index is ranked
  };
  Status begin_index(std::string_view table, const SecondaryIndex& definition, NewIndex* index);
  // Creates the empty table of the counts of a ranked index. The caller inserts the counts before
  // it calls end_index(), which lets writers maintain them.
  Status create_counts(NewIndex* index);
  Status end_index(const NewIndex& index, SnapshotNumber* number);
  void cancel_index(const NewIndex& index) noexcept;
  // Waits until the transactions that began before the call have ended, but not for readers of
  // snapshots. `what` begins the message.
  //   kDeadline  after `wait_us` microseconds, such a transaction was still open
  Status await_transactions(uint64_t wait_us, const std::string& what);
  // Implements Database::drop_index(), which describes the errors. free_index() must follow.
  Status drop_index(std::string_view table, std::string_view name, NewIndex* dropped, SnapshotNumber* number);
  // Frees the entries now, if no transaction can use the index. Otherwise, transactions free them
  // when these have ended. If memory is exhausted, the entries are freed with the table.
  void free_index(const NewIndex& index) noexcept;
  // Drops the counts of an index that has been dropped. No transaction may write to them. If the
  // removal cannot be logged, they are left over (see above).
  void drop_counts(AnyTable& counts) noexcept;

  // -- recovery -----------------------------------------------------------------------------------

  // Adds a table with the next id, whose indexes may lack their key functions. It is not found by
  // its name before name_recovered().
  Result<AnyTable*> recover(const Schema& schema, uint32_t version);
  // Adds an id whose table has been dropped.
  void recover_dropped(uint32_t version);
  // Replaces the schema of a recovered table, or drops the table.
  void recover_change(AnyTable& table, Schema schema, uint32_t version);
  void recover_drop(AnyTable& table, uint32_t version);
  // Makes the secondary indexes of a recovered table. `schema` has their key functions.
  void recover_key_functions(AnyTable& table, Schema schema);
  // Makes recovered tables known by name, and frees the memory of dropped ones.
  //   kCorrupt  two tables have the same name
  Status name_recovered();

  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

 private:
  struct Slot {
    std::unique_ptr<AnyTable> table;  // null if the table was dropped before the database was opened
    uint32_t dropped_version = 0;     // the version of the removal, if the table is dropped
    std::string new_index = {};       // the name of the index that is being created, if any; guarded by creation_mutex_
  };
  Status change_to(AnyTable& table, Schema schema, SnapshotNumber* number);
  Status check_room(const std::string& name, size_t tables = 1) const;
  Result<std::unique_ptr<AnyTable>> make(const Schema& schema, uint32_t id);
  Status make_counts(AnyTable& table, std::vector<std::unique_ptr<AnyTable>>* made);
  Status add_new(std::vector<std::unique_ptr<AnyTable>> made);
  std::vector<AnyTable*> counts_of(const AnyTable& table) const;
  Status drop_counts_locked(AnyTable& counts);
  void forget(AnyTable& table, uint32_t version, SnapshotNumber number);
  Status link_counts();
  void tell_history(const AnyTable& table);
  AnyTable* find_locked(std::string_view name) const;
  Status log_record(std::span<const std::byte> record, SnapshotNumber* number) { return log_records({&record, 1}, number); }
  Status log_records(std::span<const std::span<const std::byte>> records, SnapshotNumber* number);
  void sweep_soon(AnyTable& table);
  // Finds a table that may be changed. The caller holds creation_mutex_.
  Result<AnyTable*> find_changeable(std::string_view name) const;

  Memory& memory_;
  Store& store_;
  const TableMaker maker_;
  std::mutex creation_mutex_;        // held by threads that create, change or drop a table; acquired before mutex_
  mutable std::shared_mutex mutex_;  // guards the members below
  std::vector<Slot> slots_;          // by id
  std::map<std::string, AnyTable*, std::less<>> names_;
};

}  // namespace elider::txn
