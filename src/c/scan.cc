// Scans, cursors, counts and ranks.
#include <variant>

#include "c/handles.h"
#include "elider/table_scan.h"

using elider::Bytes;
using elider::ByteRange;
using elider::ColumnPosition;
using elider::ColumnRange;
using elider::Key;
using elider::KeyRange;
using elider::RawView;
using elider::Result;
using elider::ScanOptions;
using elider::Status;
using elider::Transaction;
using elider::c::entry;
using elider::c::operation;
using elider::c::refuse_null;
using elider::c::row_of;

struct elider_cursor {
  elider_table* table;
  std::variant<elider::RawTableScan, elider::RawIndexScan> scan;
  std::vector<RawView> page;
  elider::c::InUse use;
};

namespace elider::c {

namespace {

constexpr KeyRange kNothing{1, 0};

Bytes bytes_of(const elider_key& key) { return {static_cast<const std::byte*>(key.data), key.size_or_number}; }

// Encoded values that begin entries of an index, or none.
struct Edge {
  std::string bytes;
  std::string end;  // the first string after all entries that begin with `bytes`
  std::span<const std::byte> from() const { return std::as_bytes(std::span(bytes)); }
  std::span<const std::byte> to() const { return std::as_bytes(std::span(end)); }
  bool to_end() const { return end.empty(); }
  Status status() const { return {}; }
};

Result<Edge> edge_of(const elider_index& index, const elider_value* values, size_t count) {
  if (count != 0 && values == nullptr) return refuse_null("the values of the range");
  if (count > kIndexColumnsMax)
    return Status::invalid_argument("the range of the index has " + std::to_string(count) + " values; an index has at most " +
                                    std::to_string(kIndexColumnsMax) + " columns");
  std::vector<RowValue> list;
  for (size_t i = 0; i < count; ++i) {
    const auto value = row_value(values[i]);
    if (!value.ok()) return value.status();
    list.push_back(*value);
  }
  const auto range = index_prefix(index.ref, list);
  if (!range.ok()) return range.status();
  Edge edge;
  edge.bytes = range->entries().fields().to_string();
  edge.end = edge.bytes;
  while (!edge.end.empty() && static_cast<unsigned char>(edge.end.back()) == 0xff) edge.end.pop_back();
  if (!edge.end.empty()) edge.end.back() = static_cast<char>(static_cast<unsigned char>(edge.end.back()) + 1);
  return edge;
}

}  // namespace

Status read_options(const elider_table& table, const elider_scan_options* options, ScanOptions* read) {
  elider_scan_options copy;
  if (Status status = read_struct(options, "elider_scan_options", &copy); !status.ok()) return status;
  const auto columns = columns_of(table, copy.columns);
  if (!columns.ok()) return columns.status();
  *read = {.limit = copy.limit == 0 ? kNoLimit : copy.limit, .reverse = copy.reverse, .columns = *columns, .skip = copy.skip};
  return {};
}

Result<KeyRange> number_range(const elider_table& table, const elider_range* range) {
  if (range == nullptr) return KeyRange();
  KeyRange keys;
  if ((range->flags & ELIDER_PREFIX) != 0)
    return Status::invalid_argument("table '" + table.name + "': a range of numbers cannot have ELIDER_PREFIX");
  if ((range->flags & (ELIDER_FROM | ELIDER_AFTER)) != 0) {
    if (Status status = check_kind(table, range->from); !status.ok()) return status;
    keys.first = range->from.size_or_number;
    if ((range->flags & ELIDER_AFTER) != 0 && keys.first++ == kKeyMax) return kNothing;
  }
  if ((range->flags & (ELIDER_TO | ELIDER_THROUGH)) != 0) {
    if (Status status = check_kind(table, range->to); !status.ok()) return status;
    keys.last = range->to.size_or_number;
    if ((range->flags & ELIDER_THROUGH) == 0 && keys.last-- == 0) return kNothing;
  }
  return keys;
}

Result<ByteRange> byte_range(const elider_table& table, const elider_range* range) {
  if (range == nullptr) return ByteRange();
  const uint32_t flags = range->flags;
  const bool from = (flags & (ELIDER_FROM | ELIDER_AFTER)) != 0, prefix = (flags & ELIDER_PREFIX) != 0;
  const bool to = (flags & (ELIDER_TO | ELIDER_THROUGH)) != 0;
  if (from)
    if (Status status = check_kind(table, range->from); !status.ok()) return status;
  if (to || prefix)
    if (Status status = check_kind(table, range->to); !status.ok() && (!prefix || range->to.data == nullptr)) return status;
  if (prefix) {
    if (to || (flags & ELIDER_FROM) != 0)
      return Status::invalid_argument("table '" + table.name + "': only ELIDER_AFTER can be added to ELIDER_PREFIX");
    if (table.ref.tuple_keys()) {
      const Status fits = check_tuple_prefix(table.ref.schema().key_fields, bytes_of(range->to).span());
      if (!fits.ok()) return Status::invalid_argument("table '" + table.name + "', the prefix of the range: " + fits.message());
    }
    const ByteRange keys = ByteRange::prefix(bytes_of(range->to));
    return from ? keys.after(bytes_of(range->from)) : keys;
  }
  const Bytes first = from ? bytes_of(range->from) : Bytes();
  const ByteRange keys = !to                               ? ByteRange::from(first)
                         : (flags & ELIDER_THROUGH) != 0 ? ByteRange(first, bytes_of(range->to))
                                                         : ByteRange::until(first, bytes_of(range->to));
  return (flags & ELIDER_AFTER) != 0 ? keys.after(first) : keys;
}

Result<ColumnRange> column_range(const elider_index& index, const elider_index_range* range) {
  if (range == nullptr) return ColumnRange();
  for (const void* position : {range->after, range->before})
    if (const size_t size = position == range->after ? range->after_size : range->before_size;
        position != nullptr && size > ELIDER_POSITION_BYTES_MAX)
      return Status::invalid_argument("a position in an index has at most " + std::to_string(ELIDER_POSITION_BYTES_MAX) + " bytes, not " +
                                      std::to_string(size));
  const auto first = edge_of(index, range->first, range->first_count);
  if (!first.ok()) return first.status();
  const auto last = edge_of(index, range->last, range->last_count);
  if (!last.ok()) return last.status();
  ColumnRange rows = ColumnRange::between(*first, *last);
  const auto position = [](const void* data, size_t size) { return ColumnPosition{OwnedBytes(Bytes(span_of(data, size)))}; };
  if (range->after != nullptr) rows = rows.after(position(range->after, range->after_size));
  if (range->before != nullptr) rows = rows.before(position(range->before, range->before_size));
  return rows;
}

}  // namespace elider::c

namespace {

// Passes rows to a visitor, and keeps the code with which it ended the scan.
class Visits {
 public:
  Visits(const elider_transaction& transaction, const elider_table& table, elider_visitor visit, void* context)
      : transaction_(transaction), table_(table), visit_(visit), context_(context) {}
  bool row(const RawView& view, Bytes position = {}) {
    elider_row row = row_of(table_, view);
    row.position = position.data();
    row.position_size = position.size();
    return (code_ = visit_(&row, context_)) == ELIDER_OK;
  }
  Status result(Status scanned) const {
    if (!scanned.ok() || code_ == ELIDER_OK || code_ == ELIDER_STOP) return scanned;
    return transaction_.status_of(code_);
  }

 private:
  const elider_transaction& transaction_;
  const elider_table& table_;
  const elider_visitor visit_;
  void* const context_;
  elider_code code_ = ELIDER_OK;
};

}  // namespace

extern "C" {

elider_code elider_scan(elider_transaction* transaction, elider_table* table, const elider_range* range, const elider_scan_options* options,
                        elider_visitor visit, void* context, elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (visit == nullptr) return refuse_null("the visitor");
    ScanOptions its;
    if (Status status = elider::c::read_options(*table, options, &its); !status.ok()) return status;
    Visits visits(*transaction, *table, visit, context);
    if (table->ref.byte_keys()) {
      const auto keys = elider::c::byte_range(*table, range);
      if (!keys.ok()) return keys.status();
      return visits.result(txn.scan(table->ref, *keys, its, [&](Bytes, const RawView& view) { return visits.row(view); }));
    }
    const auto keys = elider::c::number_range(*table, range);
    if (!keys.ok()) return keys.status();
    return visits.result(txn.scan(table->ref, *keys, its, [&](Key, const RawView& view) { return visits.row(view); }));
  });
}

elider_code elider_scan_rows(elider_transaction* transaction, elider_table* table, const elider_scan_options* options, elider_visitor visit,
                             void* context, elider_error* error) {
  return operation(transaction, table, error, [&](Transaction& txn) -> Status {
    if (visit == nullptr) return refuse_null("the visitor");
    ScanOptions its;
    if (Status status = elider::c::read_options(*table, options, &its); !status.ok()) return status;
    const elider::RowScanOptions rows{.columns = its.columns};
    Visits visits(*transaction, *table, visit, context);
    if (table->ref.byte_keys())
      return visits.result(txn.scan_rows(table->ref, rows, [&](Bytes, const RawView& view, unsigned) { return visits.row(view); }));
    return visits.result(txn.scan_rows(table->ref, rows, [&](Key, const RawView& view, unsigned) { return visits.row(view); }));
  });
}

elider_code elider_scan_index(elider_transaction* transaction, elider_index* index, const elider_index_range* range,
                              const elider_scan_options* options, elider_visitor visit, void* context, elider_error* error) {
  return operation(transaction, index, error, [&](Transaction& txn) -> Status {
    if (visit == nullptr) return refuse_null("the visitor");
    ScanOptions its;
    if (Status status = elider::c::read_options(*index->table, options, &its); !status.ok()) return status;
    const auto rows = elider::c::column_range(*index, range);
    if (!rows.ok()) return rows.status();
    Visits visits(*transaction, *index->table, visit, context);
    return visits.result(txn.scan(index->ref, *rows, its, [&](const ColumnPosition& position, const RawView& view) {
      return visits.row(view, position.entry.bytes());
    }));
  });
}

elider_code elider_count(elider_transaction* transaction, elider_index* index, const elider_index_range* range, uint64_t limit,
                         uint64_t* count, elider_error* error) {
  return operation(transaction, index, error, [&](Transaction& txn) -> Status {
    if (count == nullptr) return refuse_null("the place for the number of rows");
    const auto rows = elider::c::column_range(*index, range);
    if (!rows.ok()) return rows.status();
    const auto counted = txn.count(index->ref, *rows, limit == 0 ? elider::kNoLimit : limit);
    if (counted.ok()) *count = *counted;
    return counted.status();
  });
}
elider_code elider_index_position(elider_transaction* transaction, elider_index* index, elider_key key, void* position, size_t* size,
                                  elider_error* error) {
  return operation(transaction, index, error, [&](Transaction& txn) -> Status {
    if (position == nullptr || size == nullptr) return refuse_null("the place for the position");
    const auto its = elider::c::with_key(key, [&](const auto& given) { return txn.position(index->ref, given); });
    if (!its.ok()) return its.status();
    *size = its->entry.size();
    std::memcpy(position, its->entry.bytes().data(), *size);
    return {};
  });
}
elider_code elider_rank(elider_transaction* transaction, elider_index* index, elider_key key, uint64_t* rank, elider_error* error) {
  return operation(transaction, index, error, [&](Transaction& txn) -> Status {
    if (rank == nullptr) return refuse_null("the place for the rank");
    const auto its = elider::c::with_key(key, [&](const auto& given) { return txn.rank(index->ref, given); });
    if (its.ok()) *rank = *its;
    return its.status();
  });
}

elider_code elider_cursor_open(elider_table* table, const elider_range* range, const elider_scan_options* options, elider_cursor** cursor,
                               elider_error* error) {
  return entry(error, [&]() -> Status {
    if (table == nullptr || cursor == nullptr) return refuse_null("the table or the place for the cursor");
    *cursor = nullptr;
    ScanOptions its;
    if (Status status = elider::c::read_options(*table, options, &its); !status.ok()) return status;
    const elider::c::InUse use(*table->database);
    if (table->ref.byte_keys()) {
      const auto keys = elider::c::byte_range(*table, range);
      if (!keys.ok()) return keys.status();
      *cursor = new elider_cursor{table, elider::RawTableScan(table->ref, *keys, its), {}, use};
    } else {
      const auto keys = elider::c::number_range(*table, range);
      if (!keys.ok()) return keys.status();
      *cursor = new elider_cursor{table, elider::RawTableScan(table->ref, *keys, its), {}, use};
    }
    return {};
  });
}
elider_code elider_cursor_open_index(elider_index* index, const elider_index_range* range, const elider_scan_options* options,
                                     elider_cursor** cursor, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (index == nullptr || cursor == nullptr) return refuse_null("the index or the place for the cursor");
    *cursor = nullptr;
    ScanOptions its;
    if (Status status = elider::c::read_options(*index->table, options, &its); !status.ok()) return status;
    const auto rows = elider::c::column_range(*index, range);
    if (!rows.ok()) return rows.status();
    *cursor = new elider_cursor{index->table, elider::RawIndexScan(index->ref, *rows, its), {}, elider::c::InUse(*index->table->database)};
    return {};
  });
}
elider_code elider_cursor_copy(const elider_cursor* cursor, elider_cursor** copy, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (cursor == nullptr || copy == nullptr) return refuse_null("the cursor or the place for its copy");
    *copy = nullptr;
    *copy = new elider_cursor{cursor->table, cursor->scan, {}, cursor->use};
    return {};
  });
}
elider_code elider_cursor_next(elider_cursor* cursor, elider_transaction* transaction, elider_row* rows, size_t room, size_t* count,
                               elider_error* error) {
  return operation(transaction, cursor, error, [&](Transaction& txn) -> Status {
    if (rows == nullptr || count == nullptr || room == 0) return refuse_null("the place for the rows or for their number");
    *count = 0;
    cursor->page.resize(room);
    const auto read = std::visit([&](auto& scan) { return scan.next(txn, cursor->page); }, cursor->scan);
    if (!read.ok()) return read.status();
    for (size_t i = 0; i < *read; ++i) rows[i] = row_of(*cursor->table, cursor->page[i]);
    *count = *read;
    return {};
  });
}
void elider_cursor_free(elider_cursor* cursor) { delete cursor; }

}  // extern "C"
