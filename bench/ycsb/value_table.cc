#include "bench/ycsb/value_table.h"

#include "bench/ycsb/scanned_values.h"

namespace elider::bench {

namespace {

// Represents a row of any size. Only its address is used: it is never copied, and its sizeof is not
// the size of the row.
struct ValueRow {
  std::byte first;
};

}  // namespace

Status ValueTable::run(Transaction& txn, std::span<const Operation> operations, bool batch) {
  scanned_rows_ = 0;
  if (batch) return run_batch(txn, operations);
  for (const Operation& operation : operations.first(operations.size() - 1))
    if (Status status = run_next(txn, operation); !status.ok()) [[unlikely]] return status;
  return run_next(txn, operations.back());
}

Status ValueTable::run_next(Transaction& txn, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kRead: return read(txn, operation.key);
    case OperationKind::kUpdate: return update(txn, operation);
    case OperationKind::kReadModifyWrite: return read_modify_write(txn, operation.key);
    case OperationKind::kInsert: return insert(txn, operation.key);
    case OperationKind::kScan: return scan(txn, operation.key, operation.scan_rows);
  }
  return {};
}

Status ValueTable::run_batch(Transaction& txn, std::span<const Operation> operations) {
  uint32_t wanted = 0;
  for (const Operation& operation : operations)
    if (operation.kind != OperationKind::kInsert) keys_[wanted++] = operation.key;
  if (Status status = get_batch(txn, wanted); !status.ok()) [[unlikely]] return status;
  uint32_t view = 0;
  for (const Operation& operation : operations) {
    Status status = operation.kind == OperationKind::kInsert ? insert(txn, operation.key) : write_view(txn, operation, views_[view++]);
    if (!status.ok()) [[unlikely]] return status;
  }
  return {};
}

Status ValueTable::get_batch(Transaction& txn, uint32_t count) {
  if (format_.is_number()) return txn.multi_get(table_, keys_.data(), count, ColumnsRef(), views_.data());
  std::byte memory[kOperationsMax][KeyFormat::kBytesMax];
  Bytes keys[kOperationsMax];
  for (uint32_t i = 0; i < count; ++i) keys[i] = format_.key_of(keys_[i], memory[i]);
  return txn.multi_get(table_, keys, count, ColumnsRef(), views_.data());
}

Status ValueTable::write_view(Transaction& txn, const Operation& operation, RawView view) {
  if (!view || !value_ends_match(view.bytes(), value_bytes_, operation.key)) [[unlikely]] return damaged_value(operation.key);
  if (operation.kind == OperationKind::kRead) return {};
  return txn.update(Table<ValueRow>(table_.base()), View<ValueRow>(view), Columns<ValueRow>(), [&](ValueRow& row) {
    // Reads the private image and not the view, because the image contains this transaction's
    // earlier writes to the same key.
    const uint64_t counter = operation.kind == OperationKind::kUpdate ? operation.counter : value_counter(&row) + 1;
    fill_value(&row, value_bytes_, operation.key, counter);
  });
}

Status ValueTable::update(Transaction& txn, const Operation& operation) {
  fill_value(row_.data(), value_bytes_, operation.key, operation.counter);
  return format_.with_key(operation.key, [&](auto at) { return txn.write(table_, at, ColumnsRef(), row_.data()); });
}

Status ValueTable::read_modify_write(Transaction& txn, Key key) {
  void* image = nullptr;
  Status status = format_.with_key(key, [&](auto at) { return txn.edit(table_, at, ColumnsRef(), &image); });
  if (!status.ok()) [[unlikely]] return status;
  if (!value_ends_match(image, value_bytes_, key)) [[unlikely]] return damaged_value(key);
  fill_value(image, value_bytes_, key, value_counter(image) + 1);
  return txn.edited(table_, image);
}

Status ValueTable::insert(Transaction& txn, Key key) {
  fill_value(row_.data(), value_bytes_, key, 0);
  return format_.with_key(key, [&](auto at) { return txn.insert(table_, at, row_); });
}

Status ValueTable::scan(Transaction& txn, Key key, uint32_t rows) {
  ScannedValues scanned(key, value_bytes_);
  ScanOptions scan_options;
  scan_options.limit = rows;
  Status status;
  if (format_.is_number()) {
    status = txn.scan(table_, KeyRange{key, kKeyMax}, scan_options,
                      [&](Key at, RawView view) -> bool { return scanned.take(at, view.bytes()); });
  } else {
    std::byte memory[KeyFormat::kBytesMax];
    status = txn.scan(table_, ByteRange::from(format_.key_of(key, memory)), scan_options,
                      [&](Bytes at, RawView view) -> bool { return scanned.take(format_.number_of(at), view.bytes()); });
  }
  if (!status.ok()) [[unlikely]] return status;
  scanned_rows_ += scanned.rows();
  return scanned.status();
}

}  // namespace elider::bench
