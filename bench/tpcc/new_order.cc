// NewOrder (clause 2.4) reads its items in one batch and its stock rows in another, so that the
// cache misses of a batch overlap. It reads the district's order counter last, because every order
// of the district changes the counter, and there are fewer conflicts if the commit soon follows
// this read.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {
namespace {

using Goods = NewOrderCall::Goods;

Status read_items(Transaction& txn, const Tables& tables, const NewOrderInput& input, Goods* goods) {
  const size_t lines = input.line_count;
  std::array<Key, kLinesMax> keys;
  for (size_t i = 0; i < lines; ++i) keys[i] = ItemKey::pack_unchecked(input.lines[i].item);
  Status status =
      txn.multi_get(tables.item, std::span<const Key>(keys.data(), lines), std::span(goods->items.data(), lines), tables.item_sale);
  if (status.ok()) goods->count = goods->items[lines - 1] ? lines : lines - 1;
  return status;
}

Status read_stocks(Transaction& txn, const Tables& tables, const NewOrderInput& input, const Columns<Stock>& columns, Goods* goods) {
  const size_t count = goods->count;
  std::array<Key, kLinesMax> keys;
  for (size_t i = 0; i < count; ++i) keys[i] = StockKey::pack_unchecked(input.lines[i].supply_warehouse, input.lines[i].item);
  return txn.multi_get(tables.stock, std::span<const Key>(keys.data(), count), std::span(goods->stocks.data(), count), columns);
}

Status take_from_stock(Transaction& txn, const Tables& tables, const NewOrderInput& input, const Goods& goods, NewOrderOutput* output) {
  for (size_t i = 0; i < goods.count; ++i) {
    const NewOrderInput::Line& wanted = input.lines[i];
    NewOrderOutput::Line& line = output->lines[i];
    const auto quantity = static_cast<int32_t>(wanted.quantity);
    const auto sell = [&](Stock& stock) {
      stock.quantity += stock.quantity >= quantity + 10 ? -quantity : 91 - quantity;
      stock.ytd += wanted.quantity;
      ++stock.order_count;
      stock.remote_count += wanted.supply_warehouse != input.warehouse;
      line.stock_quantity = stock.quantity;
    };
    if (Status status = txn.update(tables.stock, goods.stocks[i], tables.stock_counts, sell); !status.ok()) return status;
  }
  return {};
}

// Copies the columns of the items and stock rows that no transaction changes.
void take_down(const NewOrderInput& input, Goods* goods, NewOrderOutput* output) {
  const auto info = kDistrictInfo[input.district - 1];
  for (size_t i = 0; i < goods->count; ++i) {
    const Item& item = *goods->items[i];
    const Stock& stock = *goods->stocks[i];
    NewOrderOutput::Line& line = output->lines[i];
    line.item_name = item.name;
    line.price = item.price;
    line.amount = item.price * input.lines[i].quantity;
    line.brand = is_original(item.data) && is_original(stock.data) ? 'B' : 'G';
    goods->infos[i] = stock.*info;
  }
}

// Gets the order's number from the district's counter.
Status take_number(Transaction& txn, const Tables& tables, const NewOrderInput& input, NewOrderOutput* output) {
  const Key key = DistrictKey::pack_unchecked(input.warehouse, input.district);
  auto district = txn.get(tables.district, key, tables.district_tax_next);
  if (!district.ok()) return district.status();
  output->district_tax = (*district)->tax;
  return txn.update(tables.district, *district, tables.district_next, [&](District& row) { output->order = row.next_order++; });
}

Status insert_order(Transaction& txn, const Tables& tables, const NewOrderInput& input, const Goods& goods, const NewOrderOutput& output) {
  const Key key = OrderKey::pack_unchecked(input.warehouse, input.district, output.order);
  const Order order = order_of(input, output);
  if (Status status = txn.insert(tables.order, key, order); !status.ok()) return status;
  if (Status status = txn.insert(tables.new_order, key, NewOrder{1}); !status.ok()) return status;
  for (uint32_t i = 0; i < goods.count; ++i) {
    const OrderLine line{.delivery_date = 0,
                         .amount = output.lines[i].amount,
                         .item = input.lines[i].item,
                         .supply_warehouse = static_cast<uint16_t>(input.lines[i].supply_warehouse),
                         .quantity = static_cast<uint16_t>(input.lines[i].quantity),
                         .district_info = goods.infos[i]};
    const Key line_key = LineKey::pack_unchecked(input.warehouse, input.district, output.order, i + 1);
    if (Status status = txn.insert(tables.line, line_key, line); !status.ok()) return status;
  }
  return {};
}

Status read_warehouse(Transaction& txn, const Tables& tables, const NewOrderInput& input, NewOrderOutput* output) {
  auto warehouse = txn.get(tables.warehouse, WarehouseKey::pack_unchecked(input.warehouse), tables.warehouse_tax);
  if (!warehouse.ok()) return warehouse.status();
  output->warehouse_tax = (*warehouse)->tax;
  return {};
}

Status read_customer(Transaction& txn, const Tables& tables, const NewOrderInput& input, NewOrderOutput* output) {
  const Key key = CustomerKey::pack_unchecked(input.warehouse, input.district, input.customer);
  auto customer = txn.get(tables.customer, key, tables.customer_terms);
  if (!customer.ok()) return customer.status();
  output->discount = (*customer)->discount;
  output->last = (*customer)->last;
  output->credit = (*customer)->credit;
  return {};
}

}  // namespace

bool is_original(const Text<50>& data) { return std::string_view(data.data(), data.size()).find("ORIGINAL") != std::string_view::npos; }

Order order_of(const NewOrderInput& input, const NewOrderOutput& output) {
  return {.entry_date = output.entry_date,
          .warehouse = static_cast<uint16_t>(input.warehouse),
          .customer = static_cast<uint16_t>(input.customer),
          .district = static_cast<uint8_t>(input.district),
          .carrier = 0,
          .line_count = static_cast<uint8_t>(input.line_count),
          .all_local = input.all_local};
}

void add_up(const NewOrderInput& input, NewOrderOutput* output) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < input.line_count; ++i) sum += output->lines[i].amount;
  const uint32_t tax = output->warehouse_tax + output->district_tax;
  output->total_cents = static_cast<double>(sum) * (1 - output->discount * 1e-4) * (1 + tax * 1e-4);
}

Status new_order(Transaction& txn, const Tables& tables, const NewOrderInput& input, NewOrderOutput* output) {
  if (Status status = read_warehouse(txn, tables, input, output); !status.ok()) return status;
  if (Status status = read_customer(txn, tables, input, output); !status.ok()) return status;
  Goods goods;
  if (Status status = read_items(txn, tables, input, &goods); !status.ok()) return status;
  if (Status status = read_stocks(txn, tables, input, tables.stock_sale[input.district - 1], &goods); !status.ok()) return status;
  take_down(input, &goods, output);
  if (Status status = take_from_stock(txn, tables, input, goods, output); !status.ok()) return status;
  if (Status status = take_number(txn, tables, input, output); !status.ok()) return status;
  output->entry_date = input.date;
  if (Status status = insert_order(txn, tables, input, goods, *output); !status.ok()) return status;
  // If the last item does not exist, the order is rolled back only after all other work, as
  // specified.
  if (goods.count != input.line_count) return Status::rollback();
  add_up(input, output);
  return {};
}

// If the call runs in pieces, it detects a nonexistent item before it writes anything.
ProcedureHandle<NewOrderCall> add_new_order(Procedures& to, const Tables& tables) {
  using chopping::Operation;
  const std::vector<std::string> sale{"quantity", "ytd", "order_count", "remote_count"};
  std::vector<std::string> information{"data"};
  for (uint32_t d = 1; d <= kDistricts; ++d) information.push_back((d < 10 ? "info_0" : "info_") + std::to_string(d));
  return to.add(
      Procedure<NewOrderCall>("NewOrder")
          .touch(touch_of<NewOrderCall>(tables))
          .operation(Operation("warehouse").reads("warehouse", {"tax"}),
                     [&tables](Transaction& txn, NewOrderCall& call) { return read_warehouse(txn, tables, *call.input, call.output); })
          .operation(Operation("customer").reads("customer", {"discount", "credit", "last"}),
                     [&tables](Transaction& txn, NewOrderCall& call) { return read_customer(txn, tables, *call.input, call.output); })
          .operation(Operation("items").reads("item", {"price", "name", "data"}).rolls_back(),
                     [&tables](Transaction& txn, NewOrderCall& call) -> Status {  // runs first, because it may roll back
                       call.in_group.begins();
                       if (Status status = read_items(txn, tables, *call.input, &call.goods); !status.ok()) return status;
                       return call.goods.count == call.input->line_count ? Status() : Status::rollback();
                     })
          .operation(Operation("stock_information").reads("stock", information).needs({"items"}),
                     [&tables](Transaction& txn, NewOrderCall& call) -> Status {
                       const Columns<Stock>& information = tables.stock_information[call.input->district - 1];
                       if (Status status = read_stocks(txn, tables, *call.input, information, &call.goods); !status.ok()) return status;
                       take_down(*call.input, &call.goods, call.output);
                       return {};
                     })
          // The first operation that can conflict. All operations that only read come before it.
          .operation(
              Operation("stock").reads("stock", sale).writes("stock", sale).needs({"items", "stock_information", "warehouse", "customer"}),
              [&tables](Transaction& txn, NewOrderCall& call) {
                return take_from_stock(txn, tables, *call.input, call.goods, call.output);
              })
          .operation(Operation("district").reads("district", {"tax", "next_order"}).writes("district", {"next_order"}),
                     [&tables](Transaction& txn, NewOrderCall& call) -> Status {
                       call.output->entry_date = call.input->date;
                       return take_number(txn, tables, *call.input, call.output);
                     })
          .operation(Operation("order")
                         .inserts("order")
                         .fresh()
                         .token("new_order")
                         .inserts("order_line")
                         .fresh()
                         .token("new_order")
                         .inserts("new_order")
                         .fresh()
                         .needs({"district", "items", "stock", "stock_information", "warehouse", "customer"}),
                     [&tables](Transaction& txn, NewOrderCall& call) -> Status {
                       if (Status status = insert_order(txn, tables, *call.input, call.goods, *call.output); !status.ok()) return status;
                       add_up(*call.input, call.output);
                       return {};
                     }));
}

void touch(Touches& touches, const Tables& tables, const NewOrderInput& input) {
  touches.row(tables.warehouse, WarehouseKey::pack_unchecked(input.warehouse), tables.warehouse_tax);
  touches.row(tables.customer, CustomerKey::pack_unchecked(input.warehouse, input.district, input.customer), tables.customer_terms);
  const std::span<const NewOrderInput::Line> lines(input.lines.data(), input.line_count);
  for (const NewOrderInput::Line& line : lines) touches.row(tables.item, ItemKey::pack_unchecked(line.item), tables.item_sale);
  for (const NewOrderInput::Line& line : lines)
    touches.row(tables.stock, StockKey::pack_unchecked(line.supply_warehouse, line.item), tables.stock_sale[input.district - 1]);
  touches.row(tables.district, DistrictKey::pack_unchecked(input.warehouse, input.district), tables.district_tax_next);
}

}  // namespace elider::bench::tpcc
