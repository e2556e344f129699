#include "bench/heap/tpcc_transactions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "elider/try.h"

namespace elider::bench {

using namespace tpcc;

namespace {

// Finds the customer's key by number or by last name. If several customers have the last name,
// takes the middle one in the order of their first names (2.5.2.2).
Status find_customer(const HeapReader& reader, const TpccHeap& tables, const CustomerChoice& choice, tpcc::Scratch& scratch, Key* key) {
  if (choice.customer != 0) {
    *key = CustomerKey::pack_unchecked(choice.warehouse, choice.district, choice.customer);
    return {};
  }
  auto& namesakes = scratch.namesakes;
  namesakes.clear();
  const uint64_t name = CustomerNameKey::pack_unchecked(choice.warehouse, choice.district, name_hash(choice.last));
  Status status;
  tables.customer_by_name.for_each(reader, {name, 0}, [&](const KeyPair& entry, uint8_t) {
    if (entry.first != name) return false;
    const auto found = tables.customer.get(reader, entry.second);
    if (!found.ok()) {
      status = found.status();
      return false;
    }
    const Customer& customer = reader[*found];
    if (reader.read(customer.last) == choice.last) namesakes.push_back({reader.read(customer.first), entry.second});
    return true;
  });
  if (status.ok() && namesakes.empty())
    status = Status(Code::kNotFound, std::string("the TPC-C tables do not have a customer named ") + choice.last.data());
  if (!status.ok()) return status;
  const auto middle = namesakes.begin() + static_cast<ptrdiff_t>((namesakes.size() + 1) / 2 - 1);
  std::nth_element(namesakes.begin(), middle, namesakes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  *key = middle->key;
  return {};
}

Address address_at(const HeapReader& reader, const auto& row) {
  return {reader.read(row.street_1), reader.read(row.street_2), reader.read(row.city), reader.read(row.state), reader.read(row.zip)};
}

// Adds `amount` to the value at `place`.
void add_to(HeapTransaction& txn, auto& place, auto amount) {
  txn.write(place, static_cast<std::remove_reference_t<decltype(place)>>(txn.read(place) + amount));
}

Status take_from_stock(HeapTransaction& txn, TpccHeap& tables, const NewOrderInput& input, HeapPtr<Item> item_at, uint32_t i,
                       NewOrderOutput::Line* line, Text<24>* info) {
  const NewOrderInput::Line& wanted = input.lines[i];
  ELIDER_ASSIGN(const HeapPtr<Stock> stock_at, tables.stock.get(txn, StockKey::pack_unchecked(wanted.supply_warehouse, wanted.item)));
  Stock& stock = txn[stock_at];
  const auto quantity = static_cast<int32_t>(wanted.quantity);
  const int32_t before = txn.read(stock.quantity);
  line->stock_quantity = before + (before >= quantity + 10 ? -quantity : 91 - quantity);
  txn.write(stock.quantity, line->stock_quantity);
  add_to(txn, stock.ytd, wanted.quantity);
  add_to(txn, stock.order_count, 1u);
  if (wanted.supply_warehouse != input.warehouse) add_to(txn, stock.remote_count, 1u);
  const Item& item = txn[item_at];
  line->item_name = txn.read(item.name);
  line->price = txn.read(item.price);
  line->amount = line->price * wanted.quantity;
  line->brand = is_original(txn.read(item.data)) && is_original(txn.read(stock.data)) ? 'B' : 'G';
  *info = txn.read(stock.*kDistrictInfo[input.district - 1]);
  return {};
}

}  // namespace

Status new_order(HeapTransaction& txn, HeapPtr<TpccHeap> root, const NewOrderInput& input, NewOrderOutput* output) {
  TpccHeap& tables = txn[root];
  ELIDER_ASSIGN(const auto warehouse, tables.warehouse.get(txn, WarehouseKey::pack_unchecked(input.warehouse)));
  output->warehouse_tax = txn.read(txn[warehouse].tax);
  const Key customer_key = CustomerKey::pack_unchecked(input.warehouse, input.district, input.customer);
  ELIDER_ASSIGN(const auto customer, tables.customer.get(txn, customer_key));
  output->discount = txn.read(txn[customer].discount);
  output->last = txn.read(txn[customer].last);
  output->credit = txn.read(txn[customer].credit);
  std::array<Text<24>, kLinesMax> infos;
  for (uint32_t i = 0; i < input.line_count; ++i) {
    const auto item = tables.item.get(txn, ItemKey::pack_unchecked(input.lines[i].item));
    if (item.status().not_found()) return Status::rollback();  // only the last item may be nonexistent
    if (!item.ok()) return item.status();
    ELIDER_TRY(take_from_stock(txn, tables, input, *item, i, &output->lines[i], &infos[i]));
  }
  ELIDER_ASSIGN(const auto district, tables.district.get(txn, DistrictKey::pack_unchecked(input.warehouse, input.district)));
  output->district_tax = txn.read(txn[district].tax);
  output->order = txn.read(txn[district].next_order);
  txn.write(txn[district].next_order, output->order + 1);
  output->entry_date = input.date;
  const Key key = OrderKey::pack_unchecked(input.warehouse, input.district, output->order);
  const Order order = order_of(input, *output);
  ELIDER_ASSIGN(const auto order_at, txn.make<Order>(order));
  ELIDER_TRY(tables.order.insert(txn, key, order_at));
  ELIDER_TRY(tables.order_by_customer.insert(txn, customer_entry(key, order), 1));
  ELIDER_TRY(tables.new_order.insert(txn, key, 1));
  for (uint32_t i = 0; i < input.line_count; ++i) {
    const OrderLine line{.delivery_date = 0,
                         .amount = output->lines[i].amount,
                         .item = input.lines[i].item,
                         .supply_warehouse = static_cast<uint16_t>(input.lines[i].supply_warehouse),
                         .quantity = static_cast<uint16_t>(input.lines[i].quantity),
                         .district_info = infos[i]};
    ELIDER_ASSIGN(const auto line_at, txn.make<OrderLine>(line));
    ELIDER_TRY(tables.line.insert(txn, LineKey::pack_unchecked(input.warehouse, input.district, output->order, i + 1), line_at));
  }
  add_up(input, output);
  return {};
}

Status payment(HeapTransaction& txn, HeapPtr<TpccHeap> root, const PaymentInput& input, tpcc::Scratch& scratch, PaymentOutput* output) {
  TpccHeap& tables = txn[root];
  ELIDER_TRY(find_customer(txn, tables, input.customer, scratch, &output->customer));
  ELIDER_ASSIGN(const auto customer_at, tables.customer.get(txn, output->customer));
  Customer& customer = txn[customer_at];
  output->first = txn.read(customer.first);
  output->middle = txn.read(customer.middle);
  output->last = txn.read(customer.last);
  output->address = address_at(txn, customer);
  output->phone = txn.read(customer.phone);
  output->since = txn.read(customer.since);
  output->credit = txn.read(customer.credit);
  output->credit_limit = txn.read(customer.credit_limit);
  output->discount = txn.read(customer.discount);
  output->balance = txn.read(customer.balance) - input.amount;
  txn.write(customer.balance, output->balance);
  add_to(txn, customer.ytd_payment, int64_t{input.amount});
  add_to(txn, customer.payment_count, 1u);
  if (output->credit[0] == 'B') {
    Text<500> data = txn.read(customer.data);
    put_credit_entry(output->customer, input, &data);
    txn.write(customer.data, data);
    std::copy_n(data.begin(), output->data.size(), output->data.begin());
  }
  ELIDER_ASSIGN(const auto warehouse, tables.warehouse.get(txn, WarehouseKey::pack_unchecked(input.warehouse)));
  output->warehouse = address_at(txn, txn[warehouse]);
  output->warehouse_name = txn.read(txn[warehouse].name);
  add_to(txn, txn[warehouse].ytd, int64_t{input.amount});
  ELIDER_ASSIGN(const auto district, tables.district.get(txn, DistrictKey::pack_unchecked(input.warehouse, input.district)));
  output->district = address_at(txn, txn[district]);
  output->district_name = txn.read(txn[district].name);
  add_to(txn, txn[district].ytd, int64_t{input.amount});
  output->date = input.date;
  ELIDER_ASSIGN(const auto history, txn.make<History>(history_of(input, *output)));
  return tables.history.insert(txn, input.history_key, history);
}

Status delivery(HeapTransaction& txn, HeapPtr<TpccHeap> root, const DeliveryInput& input, DeliveryOutput* output) {
  TpccHeap& tables = txn[root];
  const int64_t date = input.date;
  for (uint32_t district = 1; district <= kDistricts; ++district) {
    output->order[district - 1] = 0;
    const KeyRange all = OrderKey::prefix(input.warehouse, district);
    const auto oldest = tables.new_order.at_least(txn, all.first);
    if (oldest.status().not_found() || (oldest.ok() && oldest->key > all.last)) continue;  // no order is waiting here (2.7.4.2)
    if (!oldest.ok()) return oldest.status();
    const Key key = oldest->key;
    const auto number = static_cast<uint32_t>(OrderKey::unpack(key)[2]);
    ELIDER_TRY(tables.new_order.erase(txn, key));
    ELIDER_ASSIGN(const auto order, tables.order.get(txn, key));
    txn.write(txn[order].carrier, static_cast<uint8_t>(input.carrier));
    int64_t amount = 0;
    const KeyRange lines = LineKey::prefix(input.warehouse, district, number);
    tables.line.for_each(txn, lines.first, [&](uint64_t line_key, HeapPtr<OrderLine> line) {
      if (line_key > lines.last) return false;
      amount += txn.read(txn[line].amount);
      txn.write(txn[line].delivery_date, date);
      return true;
    });
    const Key customer_key = CustomerKey::pack_unchecked(input.warehouse, district, txn.read(txn[order].customer));
    ELIDER_ASSIGN(const auto customer, tables.customer.get(txn, customer_key));
    add_to(txn, txn[customer].balance, amount);
    add_to(txn, txn[customer].delivery_count, 1u);
    output->order[district - 1] = number;
  }
  return {};
}

Status order_status(const HeapReader& reader, HeapPtr<TpccHeap> root, const OrderStatusInput& input, tpcc::Scratch& scratch,
                    OrderStatusOutput* output) {
  const TpccHeap& tables = reader[root];
  ELIDER_TRY(find_customer(reader, tables, input.customer, scratch, &output->customer));
  ELIDER_ASSIGN(const auto customer, tables.customer.get(reader, output->customer));
  output->first = reader.read(reader[customer].first);
  output->middle = reader.read(reader[customer].middle);
  output->last = reader.read(reader[customer].last);
  output->balance = reader.read(reader[customer].balance);
  output->order = 0;
  output->line_count = 0;
  const auto latest = tables.order_by_customer.at_most(reader, {output->customer, ~uint64_t{0}});
  if (latest.status().not_found() || (latest.ok() && latest->key.first != output->customer)) return {};
  if (!latest.ok()) return latest.status();
  ELIDER_ASSIGN(const auto order, tables.order.get(reader, latest->key.second));
  const auto [warehouse, district, number] = OrderKey::unpack(latest->key.second);
  output->order = static_cast<uint32_t>(number);
  output->entry_date = reader.read(reader[order].entry_date);
  output->carrier = reader.read(reader[order].carrier);
  const KeyRange lines = LineKey::prefix(warehouse, district, number);
  tables.line.for_each(reader, lines.first, [&](uint64_t key, HeapPtr<OrderLine> at) {
    if (key > lines.last || output->line_count == kLinesMax) return false;
    const OrderLine line = reader.read(reader[at]);
    output->lines[output->line_count++] = {line.delivery_date, line.amount, line.item, line.supply_warehouse, line.quantity};
    return true;
  });
  return {};
}

Status stock_level(const HeapReader& reader, HeapPtr<TpccHeap> root, const StockLevelInput& input, StockLevelOutput* output) {
  const TpccHeap& tables = reader[root];
  ELIDER_ASSIGN(const auto district, tables.district.get(reader, DistrictKey::pack_unchecked(input.warehouse, input.district)));
  const uint32_t next = reader.read(reader[district].next_order);
  const uint32_t oldest = next > kRecentOrders ? next - kRecentOrders : 1;
  std::array<uint32_t, kRecentOrders * kLinesMax> items;
  size_t count = 0;
  const Key last = LineKey::prefix(input.warehouse, input.district, next - 1).last;
  tables.line.for_each(reader, LineKey::prefix(input.warehouse, input.district, oldest).first, [&](uint64_t key, HeapPtr<OrderLine> line) {
    if (key > last || count == items.size()) return false;
    items[count++] = reader.read(reader[line].item);
    return true;
  });
  std::sort(items.begin(), items.begin() + static_cast<ptrdiff_t>(count));
  const auto end = std::unique(items.begin(), items.begin() + static_cast<ptrdiff_t>(count));
  output->low_stock = 0;
  for (auto item = items.begin(); item != end; ++item) {
    ELIDER_ASSIGN(const auto stock, tables.stock.get(reader, StockKey::pack_unchecked(input.warehouse, *item)));
    output->low_stock += reader.read(reader[stock].quantity) < input.threshold;
  }
  return {};
}

}  // namespace elider::bench
