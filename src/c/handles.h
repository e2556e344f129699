// The handles of the C interface (elider/c.h), and what its functions have in common: entry(),
// which turns exceptions to codes, operation(), which also keeps a transaction's last failure, and
// conversions of keys, values and structs. Thread safety: that of the handles.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_ends.h"
#include "base/threw.h"
#include "elider/c.h"
#include "elider/elider.h"

struct elider_error {
  elider::Status status;
  std::string message;      // made when it is asked for
  bool has_message = false;
  std::string table;        // a copy that ends with a zero
};

struct elider_options {
  elider::Options options;
};

struct elider_table {
  elider_table(elider_database* its_database, const elider::TableRef& table, std::string its_name)
      : database(its_database), ref(table), numbered(described_or_none<elider::Key>(table)), keyed(described_or_none<elider::Bytes>(table)),
        name(std::move(its_name)), sized(table.schema().sized_rows) {}
  template <class Key>
  static elider::DescribedTable<Key> described_or_none(const elider::TableRef& table) {
    return table.described() ? elider::DescribedTable<Key>(table.base()) : elider::DescribedTable<Key>();
  }

  elider_database* const database;
  const elider::TableRef ref;
  const elider::DescribedTable<elider::Key> numbered;  // of described rows; the operations use one of the two
  const elider::DescribedTable<elider::Bytes> keyed;
  const std::string name;
  const bool sized;
};

struct elider_columns {
  const elider_table* table;
  elider::ColumnsRef ref;
};

struct elider_index {
  elider_table* table;
  elider::IndexRef ref;
};

struct elider_sequence {
  elider::Sequence sequence;
};

struct elider_database {
  explicit elider_database(elider::Database opened) : database(std::move(opened)) {}

  elider::Database database;
  // Objects that must be freed before the database is closed.
  // relaxed: the program orders the last use before elider_close().
  std::atomic<uint64_t> in_use{0};

  std::mutex mutex;  // guards the rest
  std::map<const void*, std::unique_ptr<elider_table>> tables;  // by their TableBase
  std::map<std::pair<const void*, uint32_t>, std::unique_ptr<elider_index>> indexes;
  std::map<std::pair<const void*, const void*>, std::unique_ptr<elider_columns>> columns;
  std::map<std::string, std::unique_ptr<elider_sequence>> sequences;
};

struct elider_transaction {
  elider_transaction(elider_database* its_database, elider::Transaction* its_txn) : database(its_database), txn(its_txn) {}

  // The status for a code that a callback returned: the last failure if it has this code.
  elider::Status status_of(elider_code code) const;
  // Returns the status for a code that the body of the transaction returned.
  elider::Status answer(elider_code code) const { return doomed.ok() ? status_of(code) : doomed; }

  elider_database* const database;
  elider::Transaction* txn;
  elider::Status last;
  // An operation ended with an exception, so the transaction cannot commit.
  elider::Status doomed;
  bool interactive = false;
};

struct elider_builder {
  explicit elider_builder(const elider_table* its_table) : table(its_table), builder(its_table->numbered) {}
  const elider_table* const table;
  elider::RowBuilder builder;
};

struct elider_touches {
  elider::Touches& touches;
};

namespace elider::c {

// Stores the status in the error, if there is one, and returns its code.
elider_code report(elider_error* error, Status&& status) noexcept;

Status refuse_null(const char* what);

// The status for the exception that is being handled. If it ends the thread, it goes on.
Status caught();

// Calls work(), which returns a Status, and reports it. No exception leaves, except the one with
// which pthread_cancel() and pthread_exit() end a thread.
template <class Work>
elider_code entry(elider_error* error, Work&& work) {
  try {
    Status status = work();
    if (status.ok()) [[likely]] return ELIDER_OK;
    return report(error, std::move(status));
  } catch (...) {
    return report(error, caught());
  }
}

// Like entry(), but work(Transaction&) is an operation of a transaction.
template <class Work>
elider_code operation(elider_transaction* transaction, const void* table, elider_error* error, Work&& work) {
  if (transaction == nullptr || table == nullptr) [[unlikely]]
    return entry(error, [&] { return refuse_null(transaction == nullptr ? "the transaction" : "the table or index"); });
  if (!transaction->doomed.ok()) [[unlikely]] return report(error, Status(transaction->doomed));
  try {
    Status status = work(*transaction->txn);
    if (status.ok()) [[likely]] return ELIDER_OK;
    transaction->last = status;
    return report(error, std::move(status));
  } catch (...) {
    transaction->doomed = caught();
    transaction->last = transaction->doomed;
    return report(error, Status(transaction->doomed));
  }
}

// Calls use(key), with a Key or with Bytes.
template <class Use>
auto with_key(elider_key key, Use&& use) {
  if (key.data == nullptr) return use(Key{key.size_or_number});
  return use(Bytes(static_cast<const std::byte*>(key.data), key.size_or_number));
}
// Ok if the table has keys of this kind.
inline Status check_kind(const elider_table& table, elider_key key) {
  if (table.ref.byte_keys() == (key.data != nullptr)) [[likely]] return {};
  if (key.data == nullptr) return detail::refuse_number(table.ref, key.size_or_number);
  return detail::check_bytes(table.ref, Bytes(static_cast<const std::byte*>(key.data), key.size_or_number));
}

inline std::span<const std::byte> span_of(const void* data, size_t size) { return {static_cast<const std::byte*>(data), size}; }
inline Status check_memory(const void* data, size_t size, const char* what) {
  if (data != nullptr || size == 0) [[likely]] return {};
  return refuse_null(what);
}

// The row that a view shows.
inline elider_row row_of(const elider_table& table, const RawView& view) {
  if (!view) return {};
  elider_row row{};
  if (table.ref.byte_keys()) {
    const Bytes key = view.key_bytes();
    row.key = {key.data(), key.size()};
  } else {
    row.key = {nullptr, view.key()};
  }
  row.data = view.bytes();
  row.size = view.size();
  return row;
}

// Conversions of values. Text and bytes are not copied.
Result<RowValue> row_value(const elider_value& value);
elider_value value_of(const RowValue& value);
Result<TupleField> tuple_field(const elider_value& value, bool descending);
elider_value value_of(const TupleField& field);

// Copies a struct that begins with its size, as far as the caller knows it. The rest is zero.
//   kInvalidArgument  the size is not possible
//   kUnsupported      the caller sets members that this library does not know
template <class Struct>
Status read_struct(const Struct* given, const char* what, Struct* copy) {
  std::memset(static_cast<void*>(copy), 0, sizeof *copy);
  if (given == nullptr) return {};
  if (given->size < sizeof(size_t) || given->size > 4096)
    return Status::invalid_argument(std::string(what) + ".size is " + std::to_string(given->size) + "; set it to sizeof(" + what + ")");
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof *copy; i < given->size; ++i)
    if (bytes[i] != 0) return Status(Code::kUnsupported, std::string(what) + " has members that this library does not know");
  std::memcpy(static_cast<void*>(copy), given, given->size < sizeof *copy ? given->size : sizeof *copy);
  return {};
}

// A copy that elider_free() frees.
Status copy_text(std::string_view text, char** copy);

// The handle of a table, an index or columns, which lives as long as the database.
elider_table* handle_of(elider_database& database, const TableRef& table);
elider_index* handle_of(elider_table& table, const IndexRef& index);
const elider_columns* handle_of(elider_table& table, const ColumnsRef& columns);

// Names from an array of strings.
Result<std::vector<std::string>> names_of(const char* const* names, size_t count, const char* what);
Result<SecondaryIndex> index_of(const char* name, const char* const* columns, const unsigned* column_flags, size_t count, unsigned flags);

// The options and the range of a scan.
Status read_options(const elider_table& table, const elider_scan_options* options, ScanOptions* read);
Result<KeyRange> number_range(const elider_table& table, const elider_range* range);
Result<ByteRange> byte_range(const elider_table& table, const elider_range* range);
Result<ColumnRange> column_range(const elider_index& index, const elider_index_range* range);

// Returns the columns that a call names; null means all.
inline Result<ColumnsRef> columns_of(const elider_table& table, const elider_columns* columns) {
  if (columns == nullptr) [[likely]] return ColumnsRef();
  if (columns->table == &table) return columns->ref;
  return Status::invalid_argument("table '" + table.name + "': the columns belong to table '" + columns->table->name + "'");
}

// Counts an object that must be freed before the database is closed.
class InUse {
 public:
  explicit InUse(elider_database& database) : database_(&database) { database.in_use.fetch_add(1, std::memory_order_relaxed); }
  InUse(const InUse& other) : InUse(*other.database_) {}
  InUse& operator=(const InUse&) = delete;
  ~InUse() { database_->in_use.fetch_sub(1, std::memory_order_relaxed); }

 private:
  elider_database* database_;
};

// While it exists, this thread runs a transaction's body for the database. Unlike InUse, it does
// not write to memory that threads share.
class Running {
 public:
  explicit Running(const elider_database& database) : database_(database), outer_(innermost) { innermost = this; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { innermost = outer_; }
  static bool in_this_thread(const elider_database& database) {
    for (const Running* running = innermost; running != nullptr; running = running->outer_)
      if (&running->database_ == &database) return true;
    return false;
  }

 private:
  static inline constinit thread_local const Running* innermost = nullptr;
  const elider_database& database_;
  const Running* const outer_;
};

}  // namespace elider::c

struct elider_snapshot {
  elider_database* const database;
  elider::HeldSnapshot held;
  const elider::c::InUse use;
};
