// Payment (clause 2.5) changes its warehouse's and its district's sum by commutative additions, so
// that Payments to the same warehouse do not conflict on these sums. Without
// TableChoice::additions, it reads and writes the sums instead, as in the papers.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {
namespace {

// The entry that a Payment prepends to the data of a customer with bad credit.
class CreditEntry {
 public:
  CreditEntry(Key customer, const PaymentInput& input) {
    const auto [warehouse, district, number] = CustomerKey::unpack(customer);
    for (const uint64_t value : {number, district, warehouse, uint64_t{input.district}, uint64_t{input.warehouse}}) {
      append(value);
      *end_++ = ' ';
    }
    append(input.amount / 100);
    *end_++ = '.';
    *end_++ = static_cast<char>('0' + input.amount / 10 % 10);
    *end_++ = static_cast<char>('0' + input.amount % 10);
    *end_++ = '|';
  }
  // Prepends the entry to `data`. The oldest entries are cut off at its end.
  void put_before(Text<500>& data) const {
    const auto size = static_cast<size_t>(end_ - text_.data());
    std::memmove(data.data() + size, data.data(), data.size() - size);
    std::memcpy(data.data(), text_.data(), size);
  }

 private:
  void append(uint64_t value) { end_ = std::to_chars(end_, text_.data() + text_.size(), value).ptr; }
  std::array<char, 64> text_;
  char* end_ = text_.data();
};

Status pay(Transaction& txn, const Tables& tables, Key key, const PaymentInput& input, PaymentOutput* output) {
  auto customer = txn.get(tables.customer, key, tables.customer_payment);
  if (!customer.ok()) return customer.status();
  const Customer& row = **customer;
  output->customer = key;
  output->first = row.first;
  output->middle = row.middle;
  output->last = row.last;
  output->address = address_of(row);
  output->phone = row.phone;
  output->since = row.since;
  output->credit = row.credit;
  output->credit_limit = row.credit_limit;
  output->discount = row.discount;
  Status status = txn.update(tables.customer, *customer, tables.customer_paid, [&](Customer& changed) {
    changed.balance -= input.amount;
    changed.ytd_payment += input.amount;
    ++changed.payment_count;
    output->balance = changed.balance;
  });
  if (!status.ok() || row.credit[0] != 'B') return status;
  return txn.update(tables.customer, key, tables.customer_data, [&](Customer& changed) {
    put_credit_entry(key, input, &changed.data);
    std::copy_n(changed.data.begin(), output->data.size(), output->data.begin());
  });
}

Status insert_history(Transaction& txn, const Tables& tables, const PaymentInput& input, const PaymentOutput& output) {
  return txn.insert(tables.history, input.history_key, history_of(input, output));
}

Status read_warehouse(Transaction& txn, const Tables& tables, const PaymentInput& input, PaymentOutput* output) {
  auto warehouse = txn.get(tables.warehouse, WarehouseKey::pack_unchecked(input.warehouse), tables.warehouse_address);
  if (!warehouse.ok()) return warehouse.status();
  output->warehouse = address_of(**warehouse);
  output->warehouse_name = (*warehouse)->name;
  return {};
}
Status read_district(Transaction& txn, const Tables& tables, const PaymentInput& input, PaymentOutput* output) {
  auto district = txn.get(tables.district, DistrictKey::pack_unchecked(input.warehouse, input.district), tables.district_address);
  if (!district.ok()) return district.status();
  output->district = address_of(**district);
  output->district_name = (*district)->name;
  return {};
}
Status add_to_sums(Transaction& txn, const Tables& tables, const PaymentInput& input) {
  const Key warehouse = WarehouseKey::pack_unchecked(input.warehouse);
  const Key district = DistrictKey::pack_unchecked(input.warehouse, input.district);
  if (!tables.additions) {
    Status status = txn.update(tables.warehouse, warehouse, tables.warehouse_checked, [&](Warehouse& row) { row.ytd += input.amount; });
    return status.ok() ? txn.update(tables.district, district, tables.district_sum, [&](District& row) { row.ytd += input.amount; })
                       : status;
  }
  if (Status status = txn.add(tables.warehouse, warehouse, &Warehouse::ytd, input.amount); !status.ok()) return status;
  return txn.add(tables.district, district, &District::ytd, input.amount);
}

}  // namespace

void put_credit_entry(Key customer, const PaymentInput& input, Text<500>* data) { CreditEntry(customer, input).put_before(*data); }

History history_of(const PaymentInput& input, const PaymentOutput& output) {
  const Text<10>&warehouse = output.warehouse_name, &district = output.district_name;
  const auto [customer_warehouse, customer_district, customer] = CustomerKey::unpack(output.customer);
  History history{.date = output.date,
                  .amount = input.amount,
                  .customer = static_cast<uint16_t>(customer),
                  .customer_warehouse = static_cast<uint16_t>(customer_warehouse),
                  .warehouse = static_cast<uint16_t>(input.warehouse),
                  .customer_district = static_cast<uint8_t>(customer_district),
                  .district = static_cast<uint8_t>(input.district),
                  .data = {}};
  const auto blanks = std::copy(warehouse.begin(), warehouse.end(), history.data.begin());
  std::copy(district.begin(), district.end(), std::fill_n(blanks, 4, ' '));
  return history;
}

Status payment(Transaction& txn, const Tables& tables, const PaymentInput& input, Scratch& scratch, PaymentOutput* output) {
  Key customer = 0;
  if (Status status = find_customer(txn, tables, input.customer, scratch, &customer); !status.ok()) return status;
  if (Status status = pay(txn, tables, customer, input, output); !status.ok()) return status;
  if (Status status = read_warehouse(txn, tables, input, output); !status.ok()) return status;
  if (Status status = read_district(txn, tables, input, output); !status.ok()) return status;
  if (Status status = add_to_sums(txn, tables, input); !status.ok()) return status;
  output->date = input.date;
  return insert_history(txn, tables, input, *output);
}

ProcedureHandle<PaymentCall> add_payment(Procedures& to, const Tables& tables) {
  using chopping::Operation;
  const std::vector<std::string> address{"name", "street_1", "street_2", "city", "state", "zip"};
  const std::vector<std::string> name{"last", "first", "warehouse", "district"};
  std::vector<std::string> read{"discount", "credit", "middle", "last", "first", "phone", "since", "credit_limit",
                                "street_1", "street_2", "city", "state", "zip"};
  return to.add(
      Procedure<PaymentCall>("Payment")
          .touch(touch_of<PaymentCall>(tables))
          .operation(Operation("warehouse").reads("warehouse", address),
                     [&tables](Transaction& txn, PaymentCall& call) {
                       call.in_group.begins();
                       return read_warehouse(txn, tables, *call.input, call.output);
                     })
          .operation(Operation("district").reads("district", address),
                     [&tables](Transaction& txn, PaymentCall& call) { return read_district(txn, tables, *call.input, call.output); })
          .operation(Operation("customer_found").scans("customer", name),
                     [&tables](Transaction& txn, PaymentCall& call) {
                       return find_customer(txn, tables, call.input->customer, *call.scratch, &call.customer);
                     })
          .operation(Operation("customer")
                         .reads("customer", read)
                         .writes("customer", {"balance", "ytd_payment", "payment_count", "data"})
                         .needs({"customer_found"}),
                     [&tables](Transaction& txn, PaymentCall& call) { return pay(txn, tables, call.customer, *call.input, call.output); })
          .operation(Operation("history").inserts("history").fresh().needs({"customer", "warehouse", "district"}),
                     [&tables](Transaction& txn, PaymentCall& call) {
                       call.output->date = call.input->date;
                       return insert_history(txn, tables, *call.input, *call.output);
                     })
          .operation(Operation("sums").adds("warehouse", {"ytd"}).adds("district", {"ytd"}),
                     [&tables](Transaction& txn, PaymentCall& call) { return add_to_sums(txn, tables, *call.input); }));
}

void touch(Touches& touches, const Tables& tables, const PaymentInput& input) {
  touch_customer(touches, tables, input.customer, tables.customer_payment);
  touches.row(tables.warehouse, WarehouseKey::pack_unchecked(input.warehouse), tables.warehouse_address);
  touches.row(tables.district, DistrictKey::pack_unchecked(input.warehouse, input.district), tables.district_address);
}

}  // namespace elider::bench::tpcc
