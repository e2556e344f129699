// The nine tables of TPC-C (specification revision 5.11, clause 1.3): their row types and keys, and
// the columns that each transaction reads or writes, which are compiled once.
//
// This file defines only the layout: load.h fills the tables, transactions.h changes them. Money is
// in cents and rates are in ten-thousandths, so that sums are exact. Dates are seconds since 1970.
// A null date or carrier is stored as 0. A key column is repeated in the row only if a secondary
// index needs it.
//
// Column groups (DBX-TC, section 4.3) separate columns that different transactions change:
// - The year-to-date sums of warehouses and districts are separate from the taxes, which every
//   NewOrder reads, and d_next_o_id is separate from both. Therefore, a Payment and a NewOrder in
//   the same warehouse do not conflict.
// - A customer's balance is separate from the columns that NewOrder reads.
// - Under the protocol `chopped`, a stock row's constant columns are separate from its counters,
//   because NewOrder reads them in an earlier piece than the one that conflicts. Under other
//   protocols, a stock row is one group: NewOrder reads s_dist and writes s_quantity anyway, and a
//   second commit word increased NewOrder's number of instructions by 2%.
// Thread safety: Tables is constant once create_tables() has returned.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "elider/database.h"

namespace elider::bench::tpcc {

template <size_t N>
using Text = std::array<char, N>;  // padded with zeros

inline constexpr uint32_t kDistricts = 10;
inline constexpr uint32_t kLinesMin = 5;
inline constexpr uint32_t kLinesMax = 15;
inline constexpr uint32_t kWarehousesMax = 65535;

// The numbers of rows. The defaults are those of the specification (clause 1.2.1). Smaller numbers
// are for tests, and do not give TPC-C results.
struct Sizes {
  uint32_t warehouses = 1;
  uint32_t items = 100'000;  // 1 to 131,070
  uint32_t customers = 3000;  // per district; 1 to 4,095
  // Each district is loaded with one order per customer; the last 30% of them wait for delivery.
  uint32_t delivered_orders() const { return customers * 7 / 10; }
  // The number of last names in use, out of 1,000. In each district, every one of them belongs to
  // at least one customer.
  uint32_t last_names() const { return customers < 1000 ? customers : 1000; }
};

struct Warehouse {
  int64_t ytd;
  uint32_t tax;
  Text<10> name;
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
};

struct District {
  int64_t ytd;
  uint32_t next_order;
  uint32_t tax;
  Text<10> name;
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
};

// The columns that Payment and Delivery change come first, then those that New-Order reads. With
// the headers of the two cells, all of these fit into two cache lines. Only Payment and
// Order-Status read the columns after them. The struct does not contain padding.
struct Customer {
  int64_t balance, ytd_payment;
  uint32_t payment_count, delivery_count;
  uint32_t discount;
  uint16_t warehouse, id;
  uint8_t district;
  Text<2> credit, middle;
  Text<16> last, first, phone;
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
  Text<500> data;
  int64_t since, credit_limit;
};
static_assert(sizeof(Customer) == 672);

struct History {
  int64_t date;
  uint32_t amount;
  uint16_t customer, customer_warehouse, warehouse;
  uint8_t customer_district, district;
  Text<24> data;
};

struct NewOrder {
  uint8_t undelivered;  // always 1: the key contains all information, but a row must have a column
};

struct Order {
  int64_t entry_date;
  uint16_t warehouse, customer;
  uint8_t district, carrier, line_count, all_local;
};

struct OrderLine {
  int64_t delivery_date;
  uint32_t amount, item;
  uint16_t supply_warehouse, quantity;
  Text<24> district_info;
};

struct Item {
  uint32_t price, image;
  Text<24> name;
  Text<50> data;
};

struct Stock {
  int32_t quantity;
  uint32_t ytd, order_count, remote_count;
  Text<50> data;
  Text<24> info_01, info_02, info_03, info_04, info_05, info_06, info_07, info_08, info_09, info_10;
};

// s_dist_01 to s_dist_10, indexed by district - 1.
inline constexpr std::array<Text<24> Stock::*, kDistricts> kDistrictInfo = {
    &Stock::info_01, &Stock::info_02, &Stock::info_03, &Stock::info_04, &Stock::info_05,
    &Stock::info_06, &Stock::info_07, &Stock::info_08, &Stock::info_09, &Stock::info_10};

using WarehouseKey = KeyLayout<16>;
using DistrictKey = KeyLayout<16, 4>;        // warehouse, district
using CustomerKey = KeyLayout<16, 4, 12>;    // warehouse, district, customer
using OrderKey = KeyLayout<16, 4, 28>;       // warehouse, district, order; also for NewOrder rows
using LineKey = KeyLayout<16, 4, 28, 4>;     // warehouse, district, order, line
using ItemKey = KeyLayout<17>;
using StockKey = KeyLayout<16, 17>;          // warehouse, item
using HistoryKey = KeyLayout<24, 40>;        // source (see below), counter
using CustomerNameKey = KeyLayout<16, 4, 44>;  // warehouse, district, hash of the last name

// Returns a hash of the name for the index by last name. Different names may have the same hash, so
// a scan of this index must compare the names.
uint64_t name_hash(const Text<16>& last);

// The source in a history row's key is the loader or the thread that ran the Payment.
inline constexpr uint32_t kLoaderSource = 0;
inline constexpr uint32_t source_of_thread(uint32_t thread) { return thread + 1; }

enum class IndexChoice : uint8_t {
  kMixed,  // hash tables, but B+-trees for orders, order lines and new orders, which are scanned, and for history, whose keys ascend
  kBtree,  // only B+-trees
  kArt,    // only radix trees; secondary indexes are B+-trees
  kHash,   // only hash tables; secondary indexes are B+-trees; for mixes of NewOrders and Payments, which do not scan tables
};

// How the tables are created. The papers' TPC-C has neither column groups nor additions.
struct TableChoice {
  IndexChoice index = IndexChoice::kMixed;
  uint32_t zones = 0;     // Schema::zones of all tables
  bool groups = true;     // columns that different transactions change form separate column groups
  bool additions = true;  // Payments add to their warehouse's and district's sums without reading them
};

struct Tables {
  bool additions = true;  // TableChoice::additions
  Table<Warehouse> warehouse;
  Table<District> district;
  Table<Customer> customer;
  Table<History> history;
  Table<NewOrder> new_order;
  Table<Order> order;
  Table<OrderLine> line;
  Table<Item> item;
  Table<Stock> stock;
  Index<Customer> customer_by_name;  // value: CustomerNameKey
  Index<Order> order_by_customer;    // value: CustomerKey

  Columns<Warehouse> warehouse_tax, warehouse_address;
  Columns<District> district_tax_next, district_next, district_address;
  Columns<Customer> customer_name, customer_terms, customer_paid, customer_payment, customer_data, customer_status,
      customer_delivered;
  Columns<Order> order_status, order_delivery, order_carrier;
  Columns<OrderLine> line_status, line_delivery, line_date, line_item;
  Columns<Item> item_sale;
  Columns<Stock> stock_counts, stock_quantity;
  std::array<Columns<Stock>, kDistricts> stock_sale, stock_information;  // by district - 1
  // The columns that the consistency checks read.
  Columns<Warehouse> warehouse_checked;
  Columns<District> district_sum, district_checked;
  Columns<Customer> customer_checked;
  Columns<History> history_checked;
  Columns<Order> order_checked;
  Columns<OrderLine> line_checked;
};

std::string_view name_of(IndexChoice index);  // "mixed", "btree", "art", "hash"

// Returns the schemas of the tables that have secondary indexes. Opening an existing database
// requires them (Options::schemas), because the indexes' key functions are not stored in any file.
std::vector<Schema> indexed_schemas(const TableChoice& choice);
inline std::vector<Schema> indexed_schemas(IndexChoice index) { return indexed_schemas(TableChoice{.index = index}); }

// Creates the nine tables, or opens existing ones. Errors come from the database; the message names
// the table.
Result<Tables> create_tables(Database& db, const TableChoice& choice);
inline Result<Tables> create_tables(Database& db, IndexChoice index) { return create_tables(db, TableChoice{.index = index}); }

}  // namespace elider::bench::tpcc
