// The database of tests/golden/database-v3-rows: described rows, a struct with text, values, an
// index by columns, and changes of tables and columns before and after a checkpoint.
//
// Thread safety: one thread at a time, because the functions substitute the system's files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/durability/golden_database.h"

namespace elider::golden {

struct Guest {
  uint32_t age = 0;
  Text name{};
  std::optional<Timestamp> since{};
  Bytes photo{};
};
// A guest after the changes.
struct LaterGuest {
  uint32_t age = 0;
  Text name{};
  std::optional<Timestamp> since{};
  Text state{};
};

inline RowsOf<Guest> guest_rows() {
  return RowsOf<Guest>("guests")
      .column("age", &Guest::age)
      .column("name", &Guest::name)
      .column("since", &Guest::since)
      .column("photo", &Guest::photo)
      .index("by_name", {"name", descending("age")});
}
inline RowsOf<LaterGuest> later_guest_rows() {
  return RowsOf<LaterGuest>("guests")
      .column("age", &LaterGuest::age)
      .column("called", &LaterGuest::name)
      .column("since", &LaterGuest::since)
      .column("state", &LaterGuest::state);
}
inline RowSchema order_rows() {
  return RowSchema("orders")
      .column("customer", RowType::kText)
      .column("note", RowType::kText, {.nullable = true})
      .column("price", RowType::kDecimal, {.default_value = Decimal{150, 2}, .scale = 2})
      .column("tags", RowType::kJson, {.default_value = "[]"})
      .unique_index("by_customer", {"customer"});
}
inline Timestamp at(int64_t us) { return Timestamp(std::chrono::microseconds(us)); }

// Writes the rows that the checkpoint contains.
inline Status rows_before_checkpoint(Database& db) {
  ELIDER_ASSIGN(const auto guests, db.create_table(guest_rows()));
  ELIDER_ASSIGN(const auto orders, db.create_table(order_rows()));
  ELIDER_ASSIGN(const auto drafts, db.create_table<std::string_view>(RowSchema("drafts").column("n", RowType::kInt64)));
  ELIDER_ASSIGN(const auto pages, db.create_table(ValueSchema<std::string_view>("pages")));
  RowBuilder order(orders), draft(drafts);
  ELIDER_TRY(commit(db, false, [&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.insert(guests, 1, {36, "Ada", at(-1), "\xff"}));
    ELIDER_TRY(txn.insert(guests, 2, {40, "Bob", {}, {}}));
    ELIDER_TRY(txn.insert(guests, 3, {41, "Bob", at(0), "photo"}));
    ELIDER_TRY(txn.insert(orders, 1, order.begin().set("customer", "Ada").set("note", "urgent").set("price", Decimal{5, 0})));
    ELIDER_TRY(txn.insert(orders, 2, order.begin().set("customer", "Bob").set("tags", "{\"a\":1}")));
    ELIDER_TRY(txn.insert(drafts, "gone", draft.begin().set("n", 1)));
    ELIDER_TRY(txn.insert(pages, "", ""));
    return txn.insert(pages, "page/1", std::string(300, 'p'));
  }));
  ELIDER_TRY(db.add_column("guests", "state", RowType::kText, {.default_value = "new"}));
  ELIDER_TRY(db.drop_column("orders", "note"));
  return db.drop_table("drafts");
}
// Writes what follows the checkpoint, and is read from the log.
inline Status rows_after_checkpoint(Database& db) {
  ELIDER_ASSIGN(const auto guests, guest_rows().open(*db.table("guests")));
  ELIDER_ASSIGN(const auto orders, db.described_table("orders"));
  ELIDER_ASSIGN(const auto drafts, db.create_table(RowSchema("drafts").column("text", RowType::kText)));
  ELIDER_ASSIGN(const auto pages, ValueSchema<std::string_view>("pages").open(*db.table("pages")));
  RowBuilder order(orders), draft(drafts);
  ELIDER_TRY(commit(db, true, [&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.update(guests, 1, [](Guest& guest) { guest.age = 37; }));
    ELIDER_TRY(txn.remove(guests, 3));
    ELIDER_TRY(txn.insert(guests, 4, {5, "Eve", {}, "new"}));
    ELIDER_TRY(txn.update(orders, 1, order, [](RowBuilder& change) { change.set("tags", "[\"long\",\"list\",\"of\",\"tags\"]"); }));
    ELIDER_TRY(txn.insert(drafts, 1, draft.begin().set("text", "gone")));
    return txn.put(pages, "page/1", "short");
  }));
  ELIDER_TRY(db.rename_column("guests", "name", "called"));
  ELIDER_TRY(db.drop_column("guests", "photo"));
  ELIDER_TRY(db.rename_table("orders", "sales"));
  ELIDER_TRY(db.drop_table("drafts"));
  ELIDER_ASSIGN(const auto later, later_guest_rows().open(*db.table("guests")));
  return commit(db, true, [&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.update(later, 2, [](LaterGuest& guest) { guest.state = "old"; }));
    ELIDER_TRY(txn.insert(orders, 3, order.begin().set("customer", "Eve")));
    return txn.insert(pages, "page/2", std::string_view("\0\1", 2));
  });
}

// Returns the database's files in a folder "db", or no file if something failed; *status says what.
inline io::MemoryFiles::Contents golden_rows(Status* status) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  const auto make = []() -> Status {
    Options options = golden_options();
    options.schemas.clear();
    ELIDER_ASSIGN(Database db, Database::open(options));
    ELIDER_TRY(rows_before_checkpoint(db));
    ELIDER_TRY(db.checkpoint());
    return rows_after_checkpoint(db);
  };
  *status = make();
  return status->ok() ? files.contents() : io::MemoryFiles::Contents();
}

}  // namespace elider::golden
