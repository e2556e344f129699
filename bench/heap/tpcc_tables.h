// TPC-C's tables in a durable heap (DUMBO, section 4.1). Each table is a B+-tree from key to row.
// Two more trees are secondary indexes, whose entries are pairs of keys: customers by name, and
// orders by customer. Keys and rows are the same as in bench/tpcc.
//
// Rows are copied from a Database that bench/tpcc has loaded. After the run, they are copied into a
// Database again, so that the code of bench/tpcc both loads and checks the tables.
// Thread safety: a TpccHeap is accessed only in transactions of its heap; one thread calls the two
// functions that copy.
#pragma once

#include <cstdint>

#include "bench/tpcc/schema.h"
#include "elider/database.h"
#include "elider/heap.h"
#include "elider/heap_ordered_map.h"

namespace elider::bench {

// A pair of keys, ordered by `first`, then by `second`.
struct KeyPair {
  uint64_t first, second;
  friend bool operator<(const KeyPair& a, const KeyPair& b) { return a.first != b.first ? a.first < b.first : a.second < b.second; }
};

template <class Row>
using HeapTable = HeapOrderedMap<uint64_t, HeapPtr<Row>>;

struct TpccHeap {
  HeapTable<tpcc::Warehouse> warehouse;
  HeapTable<tpcc::District> district;
  HeapTable<tpcc::Customer> customer;
  HeapTable<tpcc::History> history;
  HeapTable<tpcc::Order> order;
  HeapTable<tpcc::OrderLine> line;
  HeapTable<tpcc::Item> item;
  HeapTable<tpcc::Stock> stock;
  HeapOrderedMap<uint64_t, uint8_t> new_order;
  HeapOrderedMap<KeyPair, uint8_t> customer_by_name;   // CustomerNameKey, CustomerKey
  HeapOrderedMap<KeyPair, uint8_t> order_by_customer;  // CustomerKey, OrderKey
};

// name_entry() returns a customer's entry in customer_by_name, and customer_entry() an order's
// entry in order_by_customer.
inline KeyPair name_entry(uint64_t key, const tpcc::Customer& row) {
  return {tpcc::CustomerNameKey::pack_unchecked(row.warehouse, row.district, tpcc::name_hash(row.last)), key};
}
inline KeyPair customer_entry(uint64_t key, const tpcc::Order& row) {
  return {tpcc::CustomerKey::pack_unchecked(row.warehouse, row.district, row.customer), key};
}

// Copies all rows of the database, whose tables must be B+-trees, into the heap's root object
// "tpcc".
Result<HeapPtr<TpccHeap>> pour_into_heap(Database& db, const tpcc::Tables& tables, Heap& heap);
// Copies all rows of the heap into the database. Fails with kCorrupt if the heap's secondary
// indexes do not match its rows.
Status pour_into_database(Heap& heap, HeapPtr<TpccHeap> root, Database& db, const tpcc::Tables& tables);

}  // namespace elider::bench
