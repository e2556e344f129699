#include "bench/tpcc/schema.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace elider::bench::tpcc {
namespace {

// Keeps the first error of several calls that each return a Result.
class Steps {
 public:
  template <class T>
  void take(Result<T> result, T* out) {
    if (!status_.ok()) return;
    if (result.ok()) *out = std::move(*result);
    else status_ = result.status();
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// Adds the address columns, which warehouses, districts and customers have.
template <class Row>
void describe_address(SchemaOf<Row>& schema) {
  schema.column("street_1", &Row::street_1)
      .column("street_2", &Row::street_2)
      .column("city", &Row::city)
      .column("state", &Row::state)
      .column("zip", &Row::zip);
}

SchemaOf<Warehouse> warehouse_schema(bool groups) {
  SchemaOf<Warehouse> schema("warehouse");
  schema.column("ytd", &Warehouse::ytd).column("tax", &Warehouse::tax).column("name", &Warehouse::name);
  describe_address(schema);
  if (groups) schema.group({"ytd"});
  return schema;
}

SchemaOf<District> district_schema(bool groups) {
  SchemaOf<District> schema("district");
  schema.column("ytd", &District::ytd)
      .column("next_order", &District::next_order)
      .column("tax", &District::tax)
      .column("name", &District::name);
  describe_address(schema);
  if (groups) schema.group({"next_order"}).group({"ytd"});
  return schema;
}

SchemaOf<Customer> customer_schema(bool groups) {
  SchemaOf<Customer> schema("customer");
  schema.column("balance", &Customer::balance)
      .column("ytd_payment", &Customer::ytd_payment)
      .column("payment_count", &Customer::payment_count)
      .column("delivery_count", &Customer::delivery_count)
      .column("discount", &Customer::discount)
      .column("warehouse", &Customer::warehouse)
      .column("id", &Customer::id)
      .column("district", &Customer::district)
      .column("credit", &Customer::credit)
      .column("middle", &Customer::middle)
      .column("last", &Customer::last)
      .column("first", &Customer::first)
      .column("phone", &Customer::phone);
  describe_address(schema);
  schema.column("data", &Customer::data).column("since", &Customer::since).column("credit_limit", &Customer::credit_limit);
  // One in ten Payments changes `data`, because the customer has bad credit. Nevertheless, `data`
  // is in the group of the columns that are only read, because a third group would add a third
  // commit word to each row.
  if (groups)
    schema.group({"discount", "warehouse", "id", "district", "credit", "middle", "last", "first", "phone", "since", "credit_limit",
                  "street_1", "street_2", "city", "state", "zip", "data"});
  schema.index("by_name", {"warehouse", "district", "last"}, [](const Customer& customer) {
    return CustomerNameKey::pack_unchecked(customer.warehouse, customer.district, name_hash(customer.last));
  });
  return schema;
}

SchemaOf<History> history_schema() {
  SchemaOf<History> schema("history");
  schema.column("date", &History::date)
      .column("amount", &History::amount)
      .column("customer", &History::customer)
      .column("customer_warehouse", &History::customer_warehouse)
      .column("warehouse", &History::warehouse)
      .column("customer_district", &History::customer_district)
      .column("district", &History::district)
      .column("data", &History::data);
  return schema;
}

SchemaOf<Order> order_schema() {
  SchemaOf<Order> schema("order");
  schema.column("entry_date", &Order::entry_date)
      .column("warehouse", &Order::warehouse)
      .column("customer", &Order::customer)
      .column("district", &Order::district)
      .column("carrier", &Order::carrier)
      .column("line_count", &Order::line_count)
      .column("all_local", &Order::all_local);
  schema.index("by_customer", {"warehouse", "district", "customer"},
               [](const Order& order) { return CustomerKey::pack_unchecked(order.warehouse, order.district, order.customer); });
  return schema;
}

SchemaOf<OrderLine> line_schema() {
  SchemaOf<OrderLine> schema("order_line");
  schema.column("delivery_date", &OrderLine::delivery_date)
      .column("amount", &OrderLine::amount)
      .column("item", &OrderLine::item)
      .column("supply_warehouse", &OrderLine::supply_warehouse)
      .column("quantity", &OrderLine::quantity)
      .column("district_info", &OrderLine::district_info);
  return schema;
}

SchemaOf<Item> item_schema() {
  SchemaOf<Item> schema("item");
  schema.column("price", &Item::price).column("image", &Item::image).column("name", &Item::name).column("data", &Item::data);
  return schema;
}

SchemaOf<Stock> stock_schema(bool apart) {
  SchemaOf<Stock> schema("stock");
  schema.column("quantity", &Stock::quantity)
      .column("ytd", &Stock::ytd)
      .column("order_count", &Stock::order_count)
      .column("remote_count", &Stock::remote_count)
      .column("data", &Stock::data);
  for (uint32_t d = 1; d <= kDistricts; ++d) schema.column((d < 10 ? "info_0" : "info_") + std::to_string(d), kDistrictInfo[d - 1]);
  if (apart)
    schema.group({"data", "info_01", "info_02", "info_03", "info_04", "info_05", "info_06", "info_07", "info_08", "info_09", "info_10"});
  return schema;
}

void compile_columns(Tables& t) {
  using H = History;
  using W = Warehouse;
  using D = District;
  using C = Customer;
  using O = Order;
  using L = OrderLine;
  using S = Stock;
  t.warehouse_tax = t.warehouse.columns(&W::tax);
  t.warehouse_address = t.warehouse.columns(&W::name, &W::street_1, &W::street_2, &W::city, &W::state, &W::zip);
  t.district_tax_next = t.district.columns(&D::tax, &D::next_order);
  t.district_next = t.district.columns(&D::next_order);
  t.district_address = t.district.columns(&D::name, &D::street_1, &D::street_2, &D::city, &D::state, &D::zip);
  t.customer_name = t.customer.columns(&C::last, &C::first);
  t.customer_terms = t.customer.columns(&C::discount, &C::credit, &C::last);
  t.customer_paid = t.customer.columns(&C::balance, &C::ytd_payment, &C::payment_count);
  t.customer_payment = t.customer.columns(&C::balance, &C::ytd_payment, &C::payment_count, &C::discount, &C::credit, &C::middle, &C::last,
                                          &C::first, &C::phone, &C::since, &C::credit_limit, &C::street_1, &C::street_2, &C::city,
                                          &C::state, &C::zip);
  t.customer_data = t.customer.columns(&C::data);
  t.customer_status = t.customer.columns(&C::balance, &C::middle, &C::last, &C::first);
  t.customer_delivered = t.customer.columns(&C::balance, &C::delivery_count);
  t.order_status = t.order.columns(&O::entry_date, &O::carrier, &O::line_count);
  t.order_delivery = t.order.columns(&O::customer, &O::line_count);
  t.order_carrier = t.order.columns(&O::carrier);
  t.line_status = t.line.columns(&L::delivery_date, &L::amount, &L::item, &L::supply_warehouse, &L::quantity);
  t.line_delivery = t.line.columns(&L::amount, &L::delivery_date);
  t.line_date = t.line.columns(&L::delivery_date);
  t.line_item = t.line.columns(&L::item);
  t.item_sale = t.item.columns(&Item::price, &Item::name, &Item::data);
  t.stock_counts = t.stock.columns(&S::quantity, &S::ytd, &S::order_count, &S::remote_count);
  t.stock_quantity = t.stock.columns(&S::quantity);
  for (uint32_t d = 0; d < kDistricts; ++d) {
    t.stock_sale[d] = t.stock.columns(&S::quantity, &S::ytd, &S::order_count, &S::remote_count, &S::data, kDistrictInfo[d]);
    t.stock_information[d] = t.stock.columns(&S::data, kDistrictInfo[d]);
  }
  t.warehouse_checked = t.warehouse.columns(&W::ytd);
  t.district_sum = t.district.columns(&D::ytd);
  t.district_checked = t.district.columns(&D::ytd, &D::next_order);
  t.customer_checked = t.customer.columns(&C::balance, &C::ytd_payment, &C::delivery_count);
  t.history_checked =
      t.history.columns(&H::amount, &H::customer, &H::customer_warehouse, &H::warehouse, &H::customer_district, &H::district);
  t.order_checked = t.order.columns(&O::customer, &O::carrier, &O::line_count);
  t.line_checked = t.line.columns(&L::delivery_date, &L::amount, &L::item, &L::supply_warehouse, &L::quantity);
}

}  // namespace

uint64_t name_hash(const Text<16>& last) {
  uint64_t words[2];
  std::memcpy(words, last.data(), sizeof words);
  const uint64_t mixed = (words[0] ^ (words[1] * 0x9fb21c651e98df25)) * 0xd6e8feb86659fd93;
  return mixed >> 20;  // the upper 44 bits, which the multiplication mixes best
}

namespace {
// point_index() is the key index of tables that no transaction scans, and scanned_index() that of
// tables that some transactions scan.
KeyIndex point_index(IndexChoice choice) {
  if (choice == IndexChoice::kArt) return KeyIndex::kRadix;
  return choice == IndexChoice::kBtree ? KeyIndex::kOrdered : KeyIndex::kHashed;
}
KeyIndex scanned_index(IndexChoice choice) {
  if (choice == IndexChoice::kArt) return KeyIndex::kRadix;
  return choice == IndexChoice::kHash ? KeyIndex::kHashed : KeyIndex::kOrdered;
}

// Returns true if a stock row's constant columns are a separate column group. An existing table
// keeps the groups that it was created with. In a new table, these columns are a separate group
// under the protocol `chopped`, because an early piece reads them.
bool apart_from_counts(const Database& db) {
  const auto made = db.table("stock");
  if (!made.ok()) return db.protocol() == Protocol::kChopped;
  return std::ranges::any_of(made->schema().columns, [](const Column& column) { return column.group != 0; });
}
}  // namespace

std::vector<Schema> indexed_schemas(const TableChoice& choice) {
  return {customer_schema(choice.groups).key_index(point_index(choice.index)).zoned(choice.zones).schema(),
          order_schema().key_index(scanned_index(choice.index)).zoned(choice.zones).schema()};
}

std::string_view name_of(IndexChoice index) {
  switch (index) {
    case IndexChoice::kBtree: return "btree";
    case IndexChoice::kArt: return "art";
    case IndexChoice::kHash: return "hash";
    default: return "mixed";
  }
}

Result<Tables> create_tables(Database& db, const TableChoice& choice) {
  const KeyIndex point = point_index(choice.index), scanned = scanned_index(choice.index);
  const uint32_t zones = choice.zones;
  Tables tables;
  tables.additions = choice.additions;
  Steps steps;
  steps.take(db.create_table(warehouse_schema(choice.groups).key_index(point).zoned(zones)), &tables.warehouse);
  steps.take(db.create_table(district_schema(choice.groups).key_index(point).zoned(zones)), &tables.district);
  steps.take(db.create_table(customer_schema(choice.groups).key_index(point).zoned(zones)), &tables.customer);
  steps.take(db.create_table(history_schema().key_index(scanned).zoned(zones)), &tables.history);
  steps.take(db.create_table(item_schema().key_index(point).zoned(zones)), &tables.item);
  steps.take(db.create_table(stock_schema(choice.groups && apart_from_counts(db)).key_index(point).zoned(zones)), &tables.stock);
  steps.take(db.create_table(SchemaOf<NewOrder>("new_order").column("undelivered", &NewOrder::undelivered).key_index(scanned).zoned(zones)),
             &tables.new_order);
  steps.take(db.create_table(order_schema().key_index(scanned).zoned(zones)), &tables.order);
  steps.take(db.create_table(line_schema().key_index(scanned).zoned(zones)), &tables.line);
  if (!steps.status().ok()) return steps.status();
  steps.take(db.index(tables.customer, "by_name"), &tables.customer_by_name);
  steps.take(db.index(tables.order, "by_customer"), &tables.order_by_customer);
  if (!steps.status().ok()) return steps.status();
  compile_columns(tables);
  return tables;
}

}  // namespace elider::bench::tpcc
