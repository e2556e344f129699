#include "bench/heap/tpcc_tables.h"

#include <string>
#include <utility>
#include <vector>

#include "elider/try.h"

namespace elider::bench {

using namespace tpcc;

namespace {

constexpr size_t kRowsATransaction = 100;

template <class Row>
using Rows = std::vector<std::pair<uint64_t, Row>>;

// Reads the next rows of a table, beginning at the key `from`.
template <class Row>
Status next_rows(Database& db, const Table<Row>& table, uint64_t from, Rows<Row>* rows) {
  return db.run_read_only([&](Transaction& txn) -> Status {
    rows->clear();
    return txn.scan(table, {from, ~Key{0}}, {.limit = kRowsATransaction}, [&](Key key, const View<Row>& row) {
      rows->emplace_back(key, *row);
      return true;
    });
  });
}

// Calls add(txn, key, row), in transactions of the heap, for each row of the database's table.
template <class Row, class Add>
Status pour(Database& db, const Table<Row>& table, Heap& heap, Add&& add) {
  Rows<Row> rows;
  for (uint64_t from = 0;; from = rows.back().first + 1) {
    ELIDER_TRY(next_rows(db, table, from, &rows));
    if (rows.empty()) return {};
    ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) -> Status {
      for (const auto& [key, row] : rows) ELIDER_TRY(add(txn, key, row));
      return {};
    }));
  }
}

template <class Row>
Status put_row(HeapTransaction& txn, HeapTable<Row>& table, uint64_t key, const Row& row) {
  ELIDER_ASSIGN(const HeapPtr<Row> made, txn.make<Row>(row));
  return table.insert(txn, key, made);
}

// Inserts each row of one of the heap's tables into `table`. row_of(reader, value) reads a row.
template <class Row, class Map, class RowOf>
Status pour_back(Heap& heap, const Map& map, Database& db, const Table<Row>& table, RowOf&& row_of) {
  Rows<Row> rows;
  for (uint64_t from = 0;; from = rows.back().first + 1) {
    ELIDER_TRY(heap.read([&](HeapReader& reader) {
      rows.clear();
      map.for_each(reader, from, [&](uint64_t key, const auto& value) {
        rows.emplace_back(key, row_of(reader, value));
        return rows.size() < kRowsATransaction;
      });
    }));
    if (rows.empty()) return {};
    ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
      for (const auto& [key, row] : rows)
        if (Status status = txn.insert(table, key, row); !status.ok()) return status;
      return {};
    }));
  }
}

}  // namespace

Result<HeapPtr<TpccHeap>> pour_into_heap(Database& db, const Tables& tables, Heap& heap) {
  HeapPtr<TpccHeap> root;
  ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(root, txn.root<TpccHeap>("tpcc"));
    return {};
  }));
  const auto simply = [root](auto table) {
    return [root, table](HeapTransaction& txn, uint64_t key, const auto& row) { return put_row(txn, txn[root].*table, key, row); };
  };
  ELIDER_TRY(pour(db, tables.warehouse, heap, simply(&TpccHeap::warehouse)));
  ELIDER_TRY(pour(db, tables.district, heap, simply(&TpccHeap::district)));
  ELIDER_TRY(pour(db, tables.history, heap, simply(&TpccHeap::history)));
  ELIDER_TRY(pour(db, tables.line, heap, simply(&TpccHeap::line)));
  ELIDER_TRY(pour(db, tables.item, heap, simply(&TpccHeap::item)));
  ELIDER_TRY(pour(db, tables.stock, heap, simply(&TpccHeap::stock)));
  ELIDER_TRY(pour(db, tables.new_order, heap,
                  [&](HeapTransaction& txn, uint64_t key, const NewOrder&) { return txn[root].new_order.insert(txn, key, 1); }));
  ELIDER_TRY(pour(db, tables.customer, heap, [&](HeapTransaction& txn, uint64_t key, const Customer& row) -> Status {
    ELIDER_TRY(put_row(txn, txn[root].customer, key, row));
    return txn[root].customer_by_name.insert(txn, name_entry(key, row), 1);
  }));
  ELIDER_TRY(pour(db, tables.order, heap, [&](HeapTransaction& txn, uint64_t key, const Order& row) -> Status {
    ELIDER_TRY(put_row(txn, txn[root].order, key, row));
    return txn[root].order_by_customer.insert(txn, customer_entry(key, row), 1);
  }));
  return root;
}

Status pour_into_database(Heap& heap, HeapPtr<TpccHeap> root, Database& db, const Tables& tables) {
  // The tables' address, which does not change after this point.
  const TpccHeap* its = nullptr;
  ELIDER_TRY(heap.read([&](HeapReader& reader) { its = &reader[root]; }));
  const auto row_of = [](const HeapReader& reader, const auto& pointer) { return reader.read(reader[pointer]); };
  ELIDER_TRY(pour_back(heap, its->warehouse, db, tables.warehouse, row_of));
  ELIDER_TRY(pour_back(heap, its->district, db, tables.district, row_of));
  ELIDER_TRY(pour_back(heap, its->customer, db, tables.customer, row_of));
  ELIDER_TRY(pour_back(heap, its->history, db, tables.history, row_of));
  ELIDER_TRY(pour_back(heap, its->order, db, tables.order, row_of));
  ELIDER_TRY(pour_back(heap, its->line, db, tables.line, row_of));
  ELIDER_TRY(pour_back(heap, its->item, db, tables.item, row_of));
  ELIDER_TRY(pour_back(heap, its->stock, db, tables.stock, row_of));
  ELIDER_TRY(pour_back(heap, its->new_order, db, tables.new_order, [](const HeapReader&, uint8_t value) { return NewOrder{value}; }));
  uint64_t wrong = 0;
  ELIDER_TRY(heap.read([&](HeapReader& reader) {
    wrong = 0;
    its->customer.for_each(reader, [&](uint64_t key, HeapPtr<Customer> row) {
      wrong += !its->customer_by_name.contains(reader, name_entry(key, reader.read(reader[row])));
    });
    its->order.for_each(reader, [&](uint64_t key, HeapPtr<Order> row) {
      wrong += !its->order_by_customer.contains(reader, customer_entry(key, reader.read(reader[row])));
    });
    wrong += its->customer_by_name.size(reader) != its->customer.size(reader);
    wrong += its->order_by_customer.size(reader) != its->order.size(reader);
  }));
  if (wrong == 0) return {};
  return {Code::kCorrupt,
          std::to_string(wrong) + " entries of the heap's indexes (customers by name, orders by customer) do not match their rows"};
}

}  // namespace elider::bench
