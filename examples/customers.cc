// Structs with text: rows of a C++ struct whose members may be text and bytes of any length, or
// null.
//
// The program writes customers, finds them by name through an index, changes one, and reads all of
// them page by page. Then it opens the same table without the struct, as tools do.
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "elider/elider.h"

using elider::Key;
using elider::Status;
using elider::Text;
using elider::Transaction;

namespace {

enum class Level : uint8_t { kBasic, kGold };

struct Customer {
  uint32_t age = 0;
  Level level = Level::kBasic;
  Text name{};
  std::optional<Text> email{};  // null if the customer does not have one
  elider::Decimal balance{};
};

elider::RowsOf<Customer> customers() {
  return elider::RowsOf<Customer>("customers")
      .column("age", &Customer::age)
      .column("level", &Customer::level)
      .column("name", &Customer::name)
      .column("email", &Customer::email)
      .column("balance", &Customer::balance, {.scale = 2})
      .index("by_name", {"name", elider::descending("age")});
}

Status run() {
  ELIDER_ASSIGN(auto db, elider::Database::open());
  ELIDER_ASSIGN(auto table, db.create_table(customers()));
  ELIDER_ASSIGN(auto by_name, db.index(table, "by_name"));

  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.insert(table, 1, {.age = 36, .level = Level::kGold, .name = "Ada", .email = "ada@example.org", .balance = {1250, 2}}));
    ELIDER_TRY(txn.insert(table, 2, {.age = 40, .name = "Bob"}));
    return txn.insert(table, 3, {.age = 41, .name = "Bob", .email = "bob@example.org"});
  }));

  std::string found;
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    found.clear();  // the procedure may run more than once
    ELIDER_TRY(txn.update(table, 2, [](Customer& bob) {
      bob.email = "robert@example.org";
      bob.balance.units += 100;
    }));
    // A member that is text refers to the row, so it is copied.
    return txn.scan(by_name, elider::prefix("Bob"), {}, [&](Key key, const Customer& bob) {
      found += std::to_string(key) + ' ' + std::string(bob.email.value_or("none")) + ' ';
    });
  }));
  std::printf("Bobs, the oldest first: %s\n", found.c_str());

  elider::EncodedScan scan(table);
  std::array<elider::StructView<Customer>, 2> page;
  size_t pages = 0, gold = 0;
  for (size_t rows = 1; rows != 0; ++pages) {
    ELIDER_TRY(db.run_read_only([&](Transaction& txn) -> Status {
      ELIDER_ASSIGN(rows, scan.next(txn, page));
      return {};
    }));
    for (size_t i = 0; i < rows; ++i) gold += page[i]->level == Level::kGold ? 1 : 0;
  }

  ELIDER_ASSIGN(auto described, db.described_table("customers"));
  std::string balance;
  ELIDER_TRY(db.run_read_only([&](Transaction& txn) -> Status {
    ELIDER_ASSIGN(const auto row, txn.get(described, 1));
    ELIDER_ASSIGN(const auto value, row.value("balance"));
    balance = value.to_text();
    return {};
  }));
  std::printf("Ada's balance: %s\n", balance.c_str());
  const bool right = found == "3 bob@example.org 2 robert@example.org " && pages == 3 && gold == 1 && balance == "12.50";
  return right ? Status() : Status::invalid_argument("the example computed unexpected results");
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
