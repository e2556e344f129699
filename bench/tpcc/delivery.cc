// Delivery (clause 2.7) delivers the oldest waiting order of each of the ten districts in one
// transaction. Each step handles all districts, so that the orders, then their lines, and then the
// customers are each looked up in one batch, whose cache misses overlap.
#include <span>

#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {
namespace {

using Batch = DeliveryCall::Batch;

Status take_oldest(Transaction& txn, const Tables& tables, uint32_t warehouse, Batch* batch, DeliveryOutput* output) {
  batch->count = 0;
  for (uint32_t district = 1; district <= kDistricts; ++district) {
    uint32_t& number = output->order[district - 1] = 0;
    Key oldest = 0;
    Status status = txn.scan(tables.new_order, OrderKey::prefix(warehouse, district), {.limit = 1}, [&](Key key, const View<NewOrder>&) {
      oldest = key;
      number = static_cast<uint32_t>(OrderKey::unpack(key)[2]);
      return true;
    });
    if (!status.ok()) return status;
    if (number == 0) continue;  // no order is waiting here (2.7.4.2)
    if (status = txn.remove(tables.new_order, oldest); !status.ok()) return status;
    batch->orders[batch->count++] = oldest;
  }
  return {};
}

Status hand_to_carrier(Transaction& txn, const Tables& tables, uint32_t carrier, Batch* batch) {
  std::array<View<Order>, kDistricts> views;
  const std::span<const Key> keys(batch->orders.data(), batch->count);
  Status status = txn.multi_get(tables.order, keys, std::span(views.data(), keys.size()), tables.order_delivery);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < batch->count; ++i) {
    const auto [warehouse, district, number] = OrderKey::unpack(batch->orders[i]);
    if (!views[i]) return Status(Code::kNotFound, "order " + std::to_string(number) + " waits for delivery but does not exist");
    batch->line_counts[i] = views[i]->line_count;
    batch->customers[i] = CustomerKey::pack_unchecked(warehouse, district, views[i]->customer);
    status = txn.update(tables.order, views[i], tables.order_carrier, [&](Order& order) { order.carrier = static_cast<uint8_t>(carrier); });
    if (!status.ok()) return status;
  }
  return {};
}

Status date_lines(Transaction& txn, const Tables& tables, int64_t date, Batch* batch) {
  std::array<Key, kDistricts * kLinesMax> keys;
  std::array<View<OrderLine>, kDistricts * kLinesMax> views;
  size_t count = 0;
  for (uint32_t i = 0; i < batch->count; ++i) {
    const auto [warehouse, district, number] = OrderKey::unpack(batch->orders[i]);
    for (uint32_t line = 1; line <= batch->line_counts[i]; ++line)
      keys[count++] = LineKey::pack_unchecked(warehouse, district, number, line);
  }
  Status status =
      txn.multi_get(tables.line, std::span<const Key>(keys.data(), count), std::span(views.data(), count), tables.line_delivery);
  if (!status.ok()) return status;
  size_t at = 0;
  for (uint32_t i = 0; i < batch->count; ++i) {
    batch->amounts[i] = 0;
    for (const size_t end = at + batch->line_counts[i]; at < end; ++at) {
      if (!views[at])
        return Status(Code::kNotFound, "the order line with key " + std::to_string(keys[at]) + " waits for delivery but does not exist");
      batch->amounts[i] += views[at]->amount;
      status = txn.update(tables.line, views[at], tables.line_date, [&](OrderLine& row) { row.delivery_date = date; });
      if (!status.ok()) return status;
    }
  }
  return {};
}

Status charge_customers(Transaction& txn, const Tables& tables, const Batch& batch) {
  std::array<View<Customer>, kDistricts> views;
  const std::span<const Key> keys(batch.customers.data(), batch.count);
  Status status = txn.multi_get(tables.customer, keys, std::span(views.data(), keys.size()), tables.customer_delivered);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < batch.count; ++i) {
    if (!views[i])
      return Status(Code::kNotFound, "the customer with key " + std::to_string(batch.customers[i]) + " has an order but does not exist");
    status = txn.update(tables.customer, views[i], tables.customer_delivered, [&](Customer& customer) {
      customer.balance += batch.amounts[i];
      ++customer.delivery_count;
    });
    if (!status.ok()) return status;
  }
  return {};
}

// Like charge_customers(), but with additions, which can be deferred.
Status credit_customers(Transaction& txn, const Tables& tables, const Batch& batch) {
  for (uint32_t i = 0; i < batch.count; ++i) {
    Status status = txn.add(tables.customer, batch.customers[i], &Customer::balance, batch.amounts[i]);
    if (status.ok()) status = txn.add(tables.customer, batch.customers[i], &Customer::delivery_count, 1);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Status delivery(Transaction& txn, const Tables& tables, const DeliveryInput& input, DeliveryOutput* output) {
  Batch batch;
  if (Status status = take_oldest(txn, tables, input.warehouse, &batch, output); !status.ok()) return status;
  if (Status status = hand_to_carrier(txn, tables, input.carrier, &batch); !status.ok()) return status;
  if (Status status = date_lines(txn, tables, input.date, &batch); !status.ok()) return status;
  return charge_customers(txn, tables, batch);
}

// Only the call that has removed an order's NewOrder row changes the order and its lines. If the
// call defers its additions, the customers' balances may change later than the rest.
ProcedureHandle<DeliveryCall> add_delivery(Procedures& to, const Tables& tables, bool deferring) {
  using chopping::Operation;
  const Operation customer = deferring
                                 ? Operation("customer").adds("customer", {"balance", "delivery_count"}).needs({"order", "lines"}).defers()
                                 : Operation("customer")
                                       .reads("customer", {"balance", "delivery_count"})
                                       .writes("customer", {"balance", "delivery_count"})
                                       .needs({"order", "lines"});
  return to.add(
      Procedure<DeliveryCall>("Delivery")
          .touch(touch_of<DeliveryCall>(tables))
          .operation(Operation("new_order").scans("new_order").removes("new_order"),
                     [&tables](Transaction& txn, DeliveryCall& call) {
                       call.in_group.begins();
                       return take_oldest(txn, tables, call.input->warehouse, &call.batch, call.output);
                     })
          .operation(
              Operation("order")
                  .reads("order", {"customer", "line_count"})
                  .token("new_order")
                  .writes("order", {"carrier"})
                  .token("new_order")
                  .needs({"new_order"}),
              [&tables](Transaction& txn, DeliveryCall& call) { return hand_to_carrier(txn, tables, call.input->carrier, &call.batch); })
          .operation(Operation("lines")
                         .reads("order_line", {"amount", "delivery_date"})
                         .token("new_order")
                         .writes("order_line", {"delivery_date"})
                         .token("new_order")
                         .needs({"order"}),
                     [&tables](Transaction& txn, DeliveryCall& call) { return date_lines(txn, tables, call.input->date, &call.batch); })
          .operation(customer, [&tables, deferring](Transaction& txn, DeliveryCall& call) {
            return deferring ? credit_customers(txn, tables, call.batch) : charge_customers(txn, tables, call.batch);
          }));
}

void touch(Touches& touches, const Tables& tables, const DeliveryInput& input) {
  for (uint32_t district = 1; district <= kDistricts; ++district)
    touches.range(tables.new_order, OrderKey::prefix(input.warehouse, district).first);
}

}  // namespace elider::bench::tpcc
