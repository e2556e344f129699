// ValueTable executes YCSB's operations on elider's table of values, through the public interface,
// in the transactions of one thread.
//
// It uses the untyped interface, because the row size is chosen at run time. The code path is the
// same as with the typed interface. Values are checked when they are read (bench/ycsb/value.h).
// Thread safety: one thread uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/ycsb/key_format.h"
#include "bench/ycsb/operation.h"
#include "bench/ycsb/value.h"
#include "elider/table.h"
#include "elider/transaction.h"

namespace elider::bench {

class ValueTable {
 public:
  ValueTable(TableRef table, uint32_t value_bytes, const KeyFormat& format = KeyFormat())
      : table_(table), value_bytes_(value_bytes), format_(format), row_(value_bytes) {}

  // Makes one attempt at a transaction. Executes the operations in order. If `batch` is true, first
  // looks up the keys of all operations except inserts with one multi_get. Returns the
  // transaction's error, or kInvalidArgument if a value differs from what was written.
  Status run(Transaction& txn, std::span<const Operation> operations, bool batch);
  // Like run(), but the transaction has only one operation.
  [[gnu::always_inline]] inline Status run_one(Transaction& txn, const Operation& operation) {
    if (operation.kind == OperationKind::kRead) [[likely]] return read(txn, operation.key);
    scanned_rows_ = 0;
    return run_next(txn, operation);
  }
  uint64_t scanned_rows() const { return scanned_rows_; }  // rows visited by the latest attempt at a scanning transaction

 private:
  Status run_next(Transaction& txn, const Operation& operation);
  Status run_batch(Transaction& txn, std::span<const Operation> operations);
  [[gnu::always_inline]] inline Status read(Transaction& txn, Key key) {
    RawView view;
    Status status = format_.with_key(key, [&](auto at) { return txn.get(table_, at, ColumnsRef(), &view); });
    if (status.ok() && !value_ends_match(view.bytes(), value_bytes_, key)) [[unlikely]] return damaged_value(key);
    return status;
  }
  Status update(Transaction& txn, const Operation& operation);
  Status read_modify_write(Transaction& txn, Key key);
  Status insert(Transaction& txn, Key key);
  Status scan(Transaction& txn, Key key, uint32_t rows);
  Status write_view(Transaction& txn, const Operation& operation, RawView view);
  Status get_batch(Transaction& txn, uint32_t count);

  const TableRef table_;
  const uint32_t value_bytes_;
  const KeyFormat format_;
  std::array<Key, kOperationsMax> keys_;
  std::array<RawView, kOperationsMax> views_;
  std::vector<std::byte> row_;  // buffer for the row of an insert or a blind write
  uint64_t scanned_rows_ = 0;
};

}  // namespace elider::bench
