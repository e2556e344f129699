#include <algorithm>

#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {

Status find_customer(Transaction& txn, const Tables& tables, const CustomerChoice& choice, Scratch& scratch, Key* key) {
  if (choice.customer != 0) {
    *key = CustomerKey::pack_unchecked(choice.warehouse, choice.district, choice.customer);
    return {};
  }
  auto& namesakes = scratch.namesakes;
  namesakes.clear();
  const Key name = CustomerNameKey::pack_unchecked(choice.warehouse, choice.district, name_hash(choice.last));
  const ScanOptions options{.columns = tables.customer_name};
  Status status = txn.scan(tables.customer_by_name, {name, name}, options, [&](Key found, const View<Customer>& customer) {
    if (customer->last == choice.last) namesakes.push_back({customer->first, found});  // a different name may have the same hash
    return true;
  });
  if (!status.ok()) return status;
  if (namesakes.empty())
    return Status(Code::kNotFound, "district " + std::to_string(choice.district) + " of warehouse " + std::to_string(choice.warehouse) +
                                       " does not have a customer named " + choice.last.data());
  const auto middle = namesakes.begin() + static_cast<ptrdiff_t>((namesakes.size() + 1) / 2 - 1);
  std::nth_element(namesakes.begin(), middle, namesakes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  *key = middle->key;
  return {};
}

void touch_customer(Touches& touches, const Tables& tables, const CustomerChoice& choice, const Columns<Customer>& columns) {
  if (choice.customer != 0)
    return touches.row(tables.customer, CustomerKey::pack_unchecked(choice.warehouse, choice.district, choice.customer), columns);
  touches.range(tables.customer_by_name, CustomerNameKey::pack_unchecked(choice.warehouse, choice.district, name_hash(choice.last)));
}

}  // namespace elider::bench::tpcc
