// The five transactions of TPC-C as procedures of elider. Each procedure gets an input, runs in one
// Transaction, and stores in its output what a terminal would show (clauses 2.4.3 to 2.8.3).
//
// A procedure may run several times, until its transaction commits. It therefore modifies only the
// transaction, its output and its scratch memory; the last run's output is the result. As a
// deviation from the specification, Delivery runs immediately and not through a queue (2.7.2.1).
// Thread safety: outputs and scratch memory belong to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/common/driver.h"
#include "bench/tpcc/input.h"
#include "bench/tpcc/schema.h"
#include "elider/procedure.h"
#include "elider/database.h"
#include "elider/touches.h"
#include "elider/transaction.h"

namespace elider::bench::tpcc {

inline constexpr uint32_t kRecentOrders = 20;  // the number of orders that Stock-Level reads

struct Address {
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
};
template <class Row>
Address address_of(const Row& row) {
  return {row.street_1, row.street_2, row.city, row.state, row.zip};
}

struct NewOrderOutput {
  struct Line {
    Text<24> item_name;
    int32_t stock_quantity;
    uint32_t price, amount;
    char brand;  // 'B' for a branded item, 'G' for a generic one
  };
  uint32_t order = 0, discount = 0, warehouse_tax = 0, district_tax = 0;
  int64_t entry_date = 0;
  double total_cents = 0;
  Text<16> last{};
  Text<2> credit{};
  std::array<Line, kLinesMax> lines;
};

struct PaymentOutput {
  int64_t date = 0;
  Address warehouse{}, district{}, address{};
  Text<10> warehouse_name{}, district_name{};
  Key customer = 0;
  Text<16> first{}, last{}, phone{};
  Text<2> middle{}, credit{};
  int64_t since = 0, credit_limit = 0, balance = 0;
  uint32_t discount = 0;
  Text<200> data{};  // set for a customer with bad credit
};

struct OrderStatusOutput {
  struct Line {
    int64_t delivery_date;
    uint32_t amount, item, supply_warehouse, quantity;
  };
  Key customer = 0;
  int64_t balance = 0, entry_date = 0;
  Text<16> first{}, last{};
  Text<2> middle{};
  uint32_t order = 0, carrier = 0, line_count = 0;
  std::array<Line, kLinesMax> lines;
};

struct DeliveryOutput {
  std::array<uint32_t, kDistricts> order{};  // the delivered order, indexed by district - 1; 0: no order was waiting
};

struct StockLevelOutput {
  uint32_t low_stock = 0;
};

// Memory that procedures reuse, so that they do not allocate.
struct Scratch {
  struct Namesake {
    Text<16> first;
    Key key;
  };
  std::vector<Namesake> namesakes;
};

// Finds the customer's key by number or by last name. If several customers have the last name,
// takes the middle one in the order of their first names (2.5.2.2, 2.6.2.2). Fails with kNotFound
// if no customer has the name.
Status find_customer(Transaction& txn, const Tables& tables, const CustomerChoice& choice, Scratch& scratch, Key* key);

// Returns Status::rollback() if the last item does not exist.
Status new_order(Transaction& txn, const Tables& tables, const NewOrderInput& input, NewOrderOutput* output);
Status payment(Transaction& txn, const Tables& tables, const PaymentInput& input, Scratch& scratch, PaymentOutput* output);
Status order_status(Transaction& txn, const Tables& tables, const OrderStatusInput& input, Scratch& scratch, OrderStatusOutput* output);
Status delivery(Transaction& txn, const Tables& tables, const DeliveryInput& input, DeliveryOutput* output);
Status stock_level(Transaction& txn, const Tables& tables, const StockLevelInput& input, StockLevelOutput* output);

// -- computations, independent of where the rows are stored ---------------------------------------

bool is_original(const Text<50>& data);  // `data` is i_data or s_data
Order order_of(const NewOrderInput& input, const NewOrderOutput& output);
// Computes the order's total from its lines, which must all be set.
void add_up(const NewOrderInput& input, NewOrderOutput* output);
// Prepends the Payment's entry to the data of a customer with bad credit.
void put_credit_entry(Key customer, const PaymentInput& input, Text<500>* data);
History history_of(const PaymentInput& input, const PaymentOutput& output);

// -- chopped procedures, for Protocol::kChopped ---------------------------------------------------

// The part of a call's argument that is used only if the call runs in a group. The call reports to
// `times` that it has begun. `procedure_id` is the procedure for which the statistics count the
// call.
struct InGroup {
  GroupTimes* times = nullptr;  // null: the call does not run in a group
  size_t place = 0;
  uint32_t procedure_id = 0;
  void begins() const {
    if (times != nullptr) [[unlikely]] times->runs(place);
  }
};
struct NewOrderCall {
  struct Goods {
    size_t count = 0;  // number of lines whose item exists: all, or all but the last one
    std::array<View<Item>, kLinesMax> items;
    std::array<View<Stock>, kLinesMax> stocks;
    std::array<Text<24>, kLinesMax> infos;  // each stock row's s_dist for the order's district
  };
  const NewOrderInput* input;
  NewOrderOutput* output;
  Goods goods = {};
  InGroup in_group = {};
};
struct PaymentCall {
  const PaymentInput* input;
  PaymentOutput* output;
  Scratch* scratch;
  Key customer = 0;
  InGroup in_group = {};
};
struct DeliveryCall {
  struct Batch {
    uint32_t count = 0;                  // number of districts with a waiting order
    std::array<Key, kDistricts> orders;  // the keys of both the NewOrder rows and the Order rows
    std::array<Key, kDistricts> customers;
    std::array<uint32_t, kDistricts> line_counts;
    std::array<int64_t, kDistricts> amounts;
  };
  const DeliveryInput* input;
  DeliveryOutput* output;
  Batch batch = {};
  InGroup in_group = {};
};
ProcedureHandle<NewOrderCall> add_new_order(Procedures& to, const Tables& tables);
ProcedureHandle<PaymentCall> add_payment(Procedures& to, const Tables& tables);
ProcedureHandle<DeliveryCall> add_delivery(Procedures& to, const Tables& tables, bool deferring);
struct ChoppedTransactions {
  ProcedureHandle<NewOrderCall> new_order;
  ProcedureHandle<PaymentCall> payment;
  ProcedureHandle<DeliveryCall> delivery;
};
// Installs the three procedures; called once per database. `tables` must outlive the database. The
// two read-only transactions are not chopped.
Status install_chopped(Database& db, const Tables& tables, ChoppedTransactions* transactions, const InstallOptions& options = {});

// Announce the rows that a transaction will access, as far as its input determines them
// (Database::run_group).
void touch_customer(Touches& touches, const Tables& tables, const CustomerChoice& choice, const Columns<Customer>& columns);
void touch(Touches& touches, const Tables& tables, const NewOrderInput& input);
void touch(Touches& touches, const Tables& tables, const PaymentInput& input);
void touch(Touches& touches, const Tables& tables, const OrderStatusInput& input);
void touch(Touches& touches, const Tables& tables, const DeliveryInput& input);
void touch(Touches& touches, const Tables& tables, const StockLevelInput& input);

// Returns a function that announces the rows that a call of type `Call` will access.
template <class Call>
auto touch_of(const Tables& tables) {
  return [&tables](const Call& call, Touches& touches) {
    touches.procedure_id(call.in_group.procedure_id);
    touch(touches, tables, *call.input);
  };
}

}  // namespace elider::bench::tpcc
