// Table, Txn, TableView, Index: what the Python package's classes of these names are made of.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/core.h"
#include "python/src/keys.h"
#include "python/src/rows.h"

namespace elider::python {

struct Table {
  Table(std::shared_ptr<Core> its_core, const TableRef& its_ref, const std::string& its_name, KeyCodec its_keys, nb::object row_type,
        std::vector<std::string> fields)
      : core(std::move(its_core)), ref(its_ref), name(its_name), keys(std::move(its_keys)), rows(ref, name, std::move(row_type),
          std::move(fields)) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  // The table's rows as encoded bytes, which RowCodec has checked.
  ValueTable<Key> by_number() const { return ValueTable<Key>(ref.base()); }
  ValueTable<Bytes> by_bytes() const { return ValueTable<Bytes>(ref.base()); }

  std::shared_ptr<Core> core;
  TableRef ref;
  std::string name;
  KeyCodec keys;
  RowCodec rows;
};

// A transaction as Python code sees it. It may be kept after its end, and then refuses calls.
class Txn {
 public:
  explicit Txn(std::shared_ptr<Core> its_core);
  ~Txn();
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  // Returns the transaction, or raises: it has ended, or belongs to another thread.
  Transaction& use();
  // Also raises if the table belongs to another database.
  Transaction& use(const Table& table);
  // Raises the status of an operation. A conflict is remembered, also if the program ignores it.
  void check(const Status& status, const Place& place = {});
  bool is_open() const { return txn_ != nullptr; }

  // A procedure's attempt begins and ends.
  void attempt(Transaction* txn) { txn_ = txn, failed_ = Status(); }
  void ended() { txn_ = nullptr; }
  const Status& failed() const { return failed_; }

  // Interactive transactions.
  void begin(bool read_only, const HeldSnapshot* at = nullptr);
  SnapshotNumber commit(Durability durability);
  void rollback();
  void begin_again(uint32_t attempts_max, uint64_t deadline_us);

  std::shared_ptr<Core> core;

 private:
  struct Interactive;
  Transaction* txn_ = nullptr;
  Status failed_;
  const void* thread_;
  std::unique_ptr<Interactive> interactive_;
};

// The operations of a table in a transaction, or each in its own transaction (txn is null).
struct Target {
  Table& table;
  Txn* txn;
};
// A table in a transaction: txn[table].
struct TableView {
  nb::object table_object, txn_object;
  Table* table;
  Txn* txn;
};

// Runs body(Transaction&), which may raise, as a procedure. Holds the GIL if Core::keeps_lock.
SnapshotNumber run(Core& core, const char* what, bool read_only, RunPolicy policy, FunctionRef<Status(Transaction&)> body,
                   const Place& place = {});
// Like run(), but without the GIL, for a body that does not use Python.
SnapshotNumber run_unlocked(Core& core, const char* what, bool read_only, RunPolicy policy, FunctionRef<Status(Transaction&)> body);

// Calls operation(key) with the key in the form of the table.
template <class F>
Status with_key(const Table& table, const EngineKey& key, F&& operation) {
  return table.keys.numbers() ? operation(key.number) : operation(key.bytes);
}

// Keys and rows that are written together.
struct Batch {
  std::vector<Key> numbers;
  std::string bytes;                 // of keys and rows
  std::vector<size_t> key_ends, row_ends;  // offsets in `bytes`; a key precedes its row
  size_t size() const { return row_ends.size(); }
  void clear();
  void add(Key key, std::span<const std::byte> row);
  void add(Bytes key, std::span<const std::byte> row);
  Bytes key(size_t i) const;
  Bytes row(size_t i) const;
  // Inserts or replaces all rows.
  Status write(Transaction& txn, const Table& table, bool replace) const;
};

// Converts a value to a RowValue, which refers to it.
RowValue row_value(nb::handle value, std::vector<nb::object>* owners);
// The part of a table that a scan reads; the bounds are empty objects or None if they are missing.
using AnyRange = std::variant<KeyRange, ByteRange>;
AnyRange range_of(const Table& table, nb::handle prefix, nb::handle start, nb::handle stop);

struct Index {
  nb::object table_object;
  Table* table;
  IndexRef ref;
  std::string name;
};
ColumnRange range_of(const Index& index, nb::handle prefix, nb::handle start, nb::handle stop);

void bind_database(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_scans(nb::module_& module);
void bind_arrow(nb::module_& module);

// Makes the iterator of items(), keys() and values(): kind 'i', 'k' or 'v'.
nb::object make_items(nb::object table, nb::object txn, nb::object index, char kind, nb::handle prefix, nb::handle start, nb::handle stop,
                      bool reverse, nb::handle limit);
uint64_t limit_of(nb::handle limit);

}  // namespace elider::python
