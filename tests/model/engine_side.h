// EngineSide: the tables of a model test in a database, and how an Operation
// is given to a transaction.
//
// Thread safety: constant after construction.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/model/model.h"
#include "tests/support/database_test.h"

namespace elider::test {

class EngineSide {
 public:
  EngineSide(Database& database, KeyIndex key_index, uint32_t tables) {
    for (uint32_t t = 0; t < tables; ++t) add_table(database, key_index, t);
  }

  Outcome apply(Transaction& txn, const Operation& operation) const {
    using Kind = Operation::Kind;
    const TableSide& side = tables_[operation.table];
    const Table<Item>& table = side.table;
    const Columns<Item>& columns = side.columns[operation.columns];
    const auto change = [&](Item& item) { copy_columns(item, operation.changed(item), operation.columns); };
    switch (operation.kind) {
      case Kind::kGet: return get(txn, side, operation);
      case Kind::kMultiGet: return multi_get(txn, side, operation);
      case Kind::kScan: return scan(txn, table, operation.scanned_keys(), side, operation);
      case Kind::kScanBranch: return scan(txn, side.by_branch, operation.entries(), side, operation);
      case Kind::kScanOwner: return scan(txn, side.by_owner, operation.entries(), side, operation);
      case Kind::kInsert: return {txn.insert(table, operation.key, operation.item).code(), {}};
      case Kind::kPut: return {txn.put(table, operation.key, operation.item).code(), {}};
      case Kind::kUpdate: return {txn.update(table, operation.key, columns, change).code(), {}};
      case Kind::kUpdateView: {
        auto view = txn.get(table, operation.key, columns);
        if (!view.ok()) return {view.status().code(), {}};
        return {txn.update(table, *view, columns, change).code(), {}};
      }
      case Kind::kWrite: return {txn.write(table, operation.key, columns, operation.item).code(), {}};
      case Kind::kAdd: return {txn.add(table, operation.key, &Item::balance, operation.delta).code(), {}};
      case Kind::kRemove: return {txn.remove(table, operation.key).code(), {}};
    }
    return {};
  }

 private:
  struct TableSide {
    Table<Item> table;
    Index<Item> by_branch, by_owner;
    std::array<Columns<Item>, kAllColumns + 1> columns;  // by ColumnBits
  };

  // Table 0 has three commit groups and a unique index; table 1 one group and none;
  // table 2 as 0, in two groups.
  void add_table(Database& database, KeyIndex key_index, uint32_t t) {
    SchemaOf<Item> schema("items_" + std::to_string(t));
    schema.key_index(key_index)
        .column("owner", &Item::owner)
        .column("balance", &Item::balance)
        .column("branch", &Item::branch)
        .column("flags", &Item::flags)
        .column("body", &Item::body)
        .index("by_branch", {"branch"}, [](const Item& item) { return uint64_t{item.branch}; });
    const auto owner = [](const Item& item) { return item.owner; };
    if (Model::unique_owner(t)) schema.unique_index("by_owner", {"owner"}, owner);
    else schema.index("by_owner", {"owner"}, owner);
    if (t % 3 == 0) schema.group({"balance"}).group({"branch", "body"});
    if (t % 3 == 2) schema.group({"owner", "flags"});
    TableSide side;
    auto table = database.create_table(schema);
    EXPECT_OK(table);
    side.table = *table;
    side.by_branch = *database.index(side.table, "by_branch");
    side.by_owner = *database.index(side.table, "by_owner");
    static const std::array<std::string, 5> kNames{"owner", "balance", "branch", "flags", "body"};
    for (uint32_t bits = 1; bits < kAllColumns; ++bits) {
      std::vector<std::string> names;
      for (uint32_t i = 0; i < kNames.size(); ++i)
        if (bits >> i & 1) names.push_back(kNames[i]);
      auto columns = database.columns(side.table, names);
      EXPECT_OK(columns);
      side.columns[bits] = Columns<Item>(columns->set());
    }
    tables_.push_back(side);  // kAllColumns stays the default: all
  }

  static Outcome get(Transaction& txn, const TableSide& side, const Operation& operation) {
    auto view = txn.get(side.table, operation.key, side.columns[operation.columns]);
    if (!view.ok()) return {view.status().code(), {}};
    return {Code::kOk, {{view->key(), only_columns(**view, operation.columns)}}};
  }

  static Outcome multi_get(Transaction& txn, const TableSide& side, const Operation& operation) {
    std::vector<View<Item>> views(operation.keys.size());
    Outcome outcome;
    outcome.code = txn.multi_get<Item>(side.table, operation.keys, views, side.columns[operation.columns]).code();
    if (outcome.code != Code::kOk) return outcome;
    for (const View<Item>& view : views)
      if (view) outcome.rows.emplace_back(view.key(), only_columns(*view, operation.columns));
    return outcome;
  }

  template <class Source, class Range>
  static Outcome scan(Transaction& txn, const Source& source, const Range& range, const TableSide& side, const Operation& operation) {
    ScanOptions options{operation.limit, operation.reverse, side.columns[operation.columns]};
    Outcome outcome;
    const Status status = txn.scan(source, range, options, [&](Key key, const View<Item>& view) {
      outcome.rows.emplace_back(key, only_columns(*view, operation.columns));
      return true;
    });
    outcome.code = status.code();
    if (!status.ok()) outcome.rows.clear();
    return outcome;
  }

  std::vector<TableSide> tables_;
};

}  // namespace elider::test
