// Order-Status (clause 2.6) returns a customer's balance and latest order.
#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {

Status order_status(Transaction& txn, const Tables& tables, const OrderStatusInput& input, Scratch& scratch, OrderStatusOutput* output) {
  Key key = 0;
  if (Status status = find_customer(txn, tables, input.customer, scratch, &key); !status.ok()) return status;
  auto customer = txn.get(tables.customer, key, tables.customer_status);
  if (!customer.ok()) return customer.status();
  output->customer = key;
  output->first = (*customer)->first;
  output->middle = (*customer)->middle;
  output->last = (*customer)->last;
  output->balance = (*customer)->balance;

  // The index lists a customer's orders in the order of their keys, and therefore of their numbers.
  output->order = 0;
  output->line_count = 0;
  const ScanOptions latest{.limit = 1, .reverse = true, .columns = tables.order_status};
  Status status = txn.scan(tables.order_by_customer, {key, key}, latest, [&](Key order, const View<Order>& row) {
    output->order = static_cast<uint32_t>(OrderKey::unpack(order)[2]);
    output->entry_date = row->entry_date;
    output->carrier = row->carrier;
    return true;
  });
  if (!status.ok() || output->order == 0) return status;

  const auto [warehouse, district, number] = CustomerKey::unpack(key);
  const ScanOptions all{.columns = tables.line_status};
  return txn.scan(tables.line, LineKey::prefix(warehouse, district, output->order), all, [&](Key, const View<OrderLine>& line) {
    output->lines[output->line_count] = {line->delivery_date, line->amount, line->item, line->supply_warehouse, line->quantity};
    return ++output->line_count < kLinesMax;
  });
}

void touch(Touches& touches, const Tables& tables, const OrderStatusInput& input) {
  const CustomerChoice& choice = input.customer;
  touch_customer(touches, tables, choice, tables.customer_status);
  if (choice.customer == 0) return;
  touches.range(tables.order_by_customer, CustomerKey::pack_unchecked(choice.warehouse, choice.district, choice.customer));
}

}  // namespace elider::bench::tpcc
