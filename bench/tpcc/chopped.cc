// Chopped procedures for the three TPC-C transactions that change tables.
#include <utility>

#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {

Status install_chopped(Database& db, const Tables& tables, ChoppedTransactions* transactions, const InstallOptions& options) {
  Procedures procedures;
  transactions->new_order = add_new_order(procedures, tables);
  transactions->payment = add_payment(procedures, tables);
  transactions->delivery = add_delivery(procedures, tables, options.choices.deferring);
  return db.install(std::move(procedures), options);
}

}  // namespace elider::bench::tpcc
