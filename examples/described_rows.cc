// Described rows: a table whose columns are known only at run time.
//
// The columns come from a list, as they would from a file or a user. The program inserts rows,
// reads and changes single columns, finds rows by an index, and then prints all rows with the
// description that the database stores.
#include <cstdio>
#include <string>
#include <string_view>

#include "elider/elider.h"

using elider::Decimal;
using elider::Key;
using elider::Result;
using elider::RowBuilder;
using elider::RowReader;
using elider::RowSchema;
using elider::RowType;
using elider::Status;
using elider::Transaction;

namespace {

struct Described {
  const char* name;
  RowType type;
  elider::RowColumnOptions options;
};
const Described kColumns[] = {
    {"title", RowType::kText, {}},
    {"price", RowType::kDecimal, {.scale = 2}},
    {"stock", RowType::kInt32, {.default_value = 0}},
    {"tags", RowType::kJson, {.default_value = "[]"}},
    {"discontinued", RowType::kTimestamp, {.nullable = true}},
};

RowSchema articles() {
  RowSchema schema("articles");
  for (const Described& column : kColumns) schema.column(column.name, column.type, column.options);
  schema.index("by_stock", {"stock", elider::descending("price")});
  return schema;
}

// Takes some pieces of an article out of the stock, and returns their price.
Result<Decimal> sell(Transaction& txn, const elider::DescribedTable<>& table, RowBuilder& row, Key key, int32_t pieces) {
  ELIDER_ASSIGN(const RowReader article, txn.get(table, key));
  ELIDER_ASSIGN(const int32_t stock, article.get<int32_t>("stock"));  // a hot path would look up the position once
  if (stock < pieces) return Status::rollback("only " + std::to_string(stock) + " pieces are in stock");
  ELIDER_ASSIGN(Decimal price, article.get<Decimal>("price"));
  ELIDER_TRY(txn.update(table, key, row, [&](RowBuilder& change) { change.set("stock", stock - pieces); }));
  price.units *= pieces;
  return price;
}

// Prints a row without its types.
std::string text_of(const RowSchema& schema, const RowReader& row) {
  std::string words;
  for (size_t i = 0; i < schema.columns(); ++i) {
    const auto value = row.value(i);
    words += (i == 0 ? "" : ", ") + schema.column(i).name + " " + (value.ok() ? value->to_text() : value.status().message());
  }
  return words;
}

Status run() {
  ELIDER_ASSIGN(auto db, elider::Database::open());
  ELIDER_ASSIGN(auto table, db.create_table(articles()));
  RowBuilder row(table);
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.insert(table, 1, row.begin().set("title", "A lamp").set("price", Decimal{1250, 2}).set("stock", 5)));
    return txn.insert(table, 2, row.begin().set("title", "A chair").set("price", Decimal{80, 0}).set("tags", R"(["wood"])"));
  }));

  Decimal cost;
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    ELIDER_ASSIGN(cost, sell(txn, table, row, 1, 2));
    return {};
  }));
  std::printf("two lamps cost %s\n", cost.text().c_str());
  const Status sold_out = db.run([&](Transaction& txn) { return sell(txn, table, row, 2, 1).status(); });
  std::printf("a chair: %s\n", sold_out.message().c_str());
  const Status refused = db.run([&](Transaction& txn) { return txn.insert(table, 3, row.begin().set("title", 7)); });
  std::printf("a wrong type: %s\n", refused.message().c_str());

  ELIDER_ASSIGN(auto by_stock, db.index(table, "by_stock"));
  std::string sold_outs;
  ELIDER_TRY(db.run_read_only([&](Transaction& txn) -> Status {
    sold_outs.clear();
    return txn.scan(by_stock, elider::prefix(0), {.limit = 10}, [&](Key, const RowReader& article) -> Status {
      ELIDER_ASSIGN(const auto title, article.get<std::string_view>("title"));
      sold_outs += title;
      return {};
    });
  }));
  std::printf("not in stock: %s\n", sold_outs.c_str());

  ELIDER_ASSIGN(auto found, db.described_table("articles"));
  int rows = 0;
  ELIDER_TRY(db.run_read_only([&](Transaction& txn) {
    rows = 0;
    return txn.scan(found, {}, {}, [&](Key key, const RowReader& article) -> Status {
      std::printf("%llu: %s\n", static_cast<unsigned long long>(key), text_of(found.row_schema(), article).c_str());
      ++rows;
      return {};
    });
  }));
  const bool right = cost == Decimal{2500, 2} && sold_out.code() == elider::Code::kRolledBack &&
                     refused.code() == elider::Code::kInvalidArgument && sold_outs == "A chair" && rows == 2;
  return right ? Status() : Status::invalid_argument("the example computed unexpected results");
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
