// Two versions of a program: version 2 adds a column to the table that version 1 has created.
//
// Version 1 stores orders with a customer and a quantity. Version 2 also stores their state, and
// calls the customer a client. It opens the same folder, renames the column and adds the other one,
// and reads the orders of version 1 with the default state. The rows are not rewritten. Version 2
// may also open a folder that is new, or that it has upgraded before.
#include <cstdio>
#include <filesystem>
#include <string>

#include "elider/elider.h"

using elider::Key;
using elider::RowBuilder;
using elider::RowReader;
using elider::RowSchema;
using elider::RowType;
using elider::Status;
using elider::Transaction;

namespace version_1 {

RowSchema orders() { return RowSchema("orders").column("customer", RowType::kText).column("quantity", RowType::kInt32); }

Status run(const std::string& folder) {
  ELIDER_ASSIGN(auto db, elider::Database::open({.data_folders = {folder}}));
  ELIDER_ASSIGN(auto table, db.create_table(orders()));
  RowBuilder row(table);
  return db.run([&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.put(table, 1, row.begin().set("customer", "Ada").set("quantity", 3)));
    return txn.put(table, 2, row.begin().set("customer", "Bob").set("quantity", 5));
  });
}

}  // namespace version_1

namespace version_2 {

// The new column comes last, and has a default.
RowSchema orders() {
  return RowSchema("orders")
      .column("client", RowType::kText)
      .column("quantity", RowType::kInt32)
      .column("state", RowType::kText, {.default_value = "new"});
}

// A database cannot guess what was renamed, so the program does it first, if the old name exists.
Status rename_customer(elider::Database& db) {
  const auto table = db.described_table("orders");
  if (!table.ok() || !table->position("customer").ok()) return {};
  return db.rename_column("orders", "customer", "client");
}

Status run(const std::string& folder) {
  elider::Options options{.data_folders = {folder}};
  options.upgrade = true;
  ELIDER_ASSIGN(auto db, elider::Database::open(options));
  ELIDER_TRY(rename_customer(db));
  ELIDER_ASSIGN(auto table, db.create_table(orders()));  // adds the column
  RowBuilder row(table);
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    return txn.update(table, 1, row, [](RowBuilder& order) { order.set("state", "sent"); });
  }));
  return db.run_read_only([&](Transaction& txn) {
    return txn.scan(table, elider::KeyRange{}, {}, [](Key key, const RowReader& order) -> Status {
      ELIDER_ASSIGN(const std::string client, order.get<std::string>("client"));
      ELIDER_ASSIGN(const int32_t quantity, order.get<int32_t>("quantity"));
      ELIDER_ASSIGN(const std::string state, order.get<std::string>("state"));
      std::printf("order %llu: %d for %s, %s\n", static_cast<unsigned long long>(key), quantity, client.c_str(), state.c_str());
      return {};
    });
  });
}

}  // namespace version_2

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "elider_example_upgrade";
  std::filesystem::remove_all(folder);
  Status status = version_1::run(folder);
  if (status.ok()) status = version_2::run(folder);
  if (status.ok()) status = version_2::run(folder);
  // The table now has columns that version 1 does not know.
  const Status old = version_1::run(folder);
  std::printf("version 1 again: %s\n", old.message().c_str());
  if (status.ok() && old.code() != elider::Code::kSchemaMismatch) status = old;
  std::filesystem::remove_all(folder);
  if (!status.ok()) std::printf("error: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
