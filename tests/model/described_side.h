// DescribedSide: the tables of a model test as tables of described rows, whose sizes change with
// their contents. Table 0 is used as a table of structs (StructTable), table 1 through builders and
// readers (DescribedTable), and table 2 in both ways in turn. The keys are numbers.
//
// Thread safety: one thread at a time.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/engine_side.h"

namespace elider::test {

class DescribedSide final : public EngineSide {
 public:
  DescribedSide(Database& database, KeyIndex key_index, uint32_t tables) {
    for (uint32_t t = 0; t < tables; ++t) add_table(database, key_index, t);
  }

  Outcome apply(Transaction& txn, const Operation& operation) const override {
    const Side& side = sides_[operation.table];
    const bool structs = operation.table == 2 ? operation.item.flags % 2 == 0 : operation.table == 0;
    return structs ? apply(txn, operation, side.items, side.item_by_branch, side.item_by_owner)
                   : apply(txn, operation, side.rows, side.row_by_branch, side.row_by_owner);
  }

 private:
  // An Item, whose body has the same number everywhere. The number is stored as text of a length
  // that depends on it, and 0 as null.
  struct Stored {
    uint64_t owner = 0;
    int64_t balance = 0;
    std::optional<Text> body{};
    uint32_t branch = 0;
    Bytes flags{};  // as many bytes as they need
  };
  static std::string body_of(const Item& item) { return std::to_string(item.body[0]) + std::string(item.body[0] % 300, 'x'); }
  static std::string flags_of(const Item& item) {
    std::string bytes;
    for (uint32_t rest = item.flags; rest != 0; rest >>= 8) bytes += static_cast<char>(rest & 0xff);
    return bytes;
  }
  static Item item_of(uint64_t owner, int64_t balance, uint32_t branch, Bytes flags, const std::optional<Text>& body) {
    Item item{owner, balance, branch, 0, {}};
    for (size_t i = flags.size(); i > 0; --i) item.flags = item.flags << 8 | static_cast<uint8_t>(flags.text()[i - 1]);
    if (body) item.body.fill(std::strtoull(std::string(*body).c_str(), nullptr, 10));
    EXPECT_EQ(flags.text(), flags_of(item));
    EXPECT_EQ(body.has_value(), item.body[0] != 0);
    EXPECT_EQ(body.value_or(Text()), body ? body_of(item) : "");
    return item;
  }
  static Item item_of(const Stored& row) { return item_of(row.owner, row.balance, row.branch, row.flags, row.body); }
  static Item item_of(const RowReader& row) {
    EXPECT_OK(row.check());
    return item_of(*row.get<uint64_t>("owner"), *row.get<int64_t>("balance"), *row.get<uint32_t>("branch"), *row.get<Bytes>("flags"),
                   *row.get<std::optional<Text>>("body"));
  }

  // Sets a row of either kind to an item. The texts must exist until the row is written.
  struct Texts {
    explicit Texts(const Item& item) : body(body_of(item)), flags(flags_of(item)) {}
    std::string body, flags;
  };
  static void set(Stored& row, const Item& item, const Texts& texts) {
    row = {item.owner, item.balance, {}, item.branch, Bytes(texts.flags)};
    if (item.body[0] != 0) row.body = texts.body;
  }
  static void set(RowBuilder& row, const Item& item, const Texts& texts) {
    row.set("flags", Bytes(texts.flags)).set("branch", item.branch).set("owner", item.owner).set("balance", item.balance);
    if (item.body[0] != 0) row.set("body", texts.body);
    else row.set_null("body");
  }

  template <class Table, class Write>
  Outcome store(const Table& table, const Item& item, Write&& write) const {
    const Texts texts(item);
    if constexpr (requires { typename Table::Row; }) {
      Stored row;
      set(row, item, texts);
      return {write(row).code(), {}};
    } else {
      RowBuilder row(table);
      set(row, item, texts);
      return {write(row).code(), {}};
    }
  }
  // change(Item) -> Item
  template <class Table, class Change>
  static Outcome update(Transaction& txn, const Table& table, Key key, Change&& change) {
    std::optional<Texts> texts;
    const auto changed = [&](const Item& old) {
      const Item item = change(old);
      texts.emplace(item);
      return item;
    };
    if constexpr (requires { typename Table::Row; }) {
      return {txn.update(table, key, [&](Stored& row) {
                const Item item = changed(item_of(row));
                set(row, item, *texts);
              }).code(), {}};
    } else {
      RowBuilder builder(table);
      return {txn.update(table, key, builder, [&](RowBuilder& row, const RowReader& old) {
                const Item item = changed(item_of(old));
                set(row, item, *texts);
              }).code(), {}};
    }
  }

  template <class Table, class Index>
  Outcome apply(Transaction& txn, const Operation& operation, const Table& table, const Index& by_branch, const Index& by_owner) const {
    using Kind = Operation::Kind;
    using Reader = typename Table::Reader;
    const Key key = operation.key;
    const auto wanted = [&](const Reader& row) {
      if constexpr (requires { typename Table::Row; }) return only_columns(item_of(*row), operation.columns);
      else return only_columns(item_of(row), operation.columns);
    };
    const auto scan = [&](const auto& source, const auto& range) {
      Outcome outcome;
      const ScanOptions options{.limit = operation.limit, .reverse = operation.reverse};
      const auto keep = [&](Key at, const Reader& row) { outcome.rows.emplace_back(at, wanted(row)); };
      const Status status = txn.scan(source, range, options, keep);
      outcome.code = status.code();
      if (!status.ok()) outcome.rows.clear();
      return outcome;
    };
    switch (operation.kind) {
      case Kind::kGet: {
        const auto row = txn.get(table, key);
        if (!row.ok()) return {row.status().code(), {}};
        return {Code::kOk, {{row->key(), wanted(*row)}}};
      }
      case Kind::kMultiGet: {
        std::vector<Reader> rows(operation.keys.size());
        Outcome outcome;
        outcome.code = txn.multi_get(table, operation.keys, rows).code();
        if (outcome.code != Code::kOk) return outcome;
        for (const Reader& row : rows)
          if (row) outcome.rows.emplace_back(row.key(), wanted(row));
        return outcome;
      }
      case Kind::kScan: return scan(table, operation.scanned_keys());
      case Kind::kScanBranch: return scan(by_branch, entries(operation, std::numeric_limits<uint32_t>::max()));
      case Kind::kScanOwner: return scan(by_owner, entries(operation, kKeyMax));
      case Kind::kInsert: return store(table, operation.item, [&](auto& row) { return txn.insert(table, key, row); });
      case Kind::kPut: return store(table, operation.item, [&](auto& row) { return txn.put(table, key, row); });
      case Kind::kUpdate: return update(txn, table, key, [&](const Item& old) { return operation.changed(old); });
      case Kind::kUpdateView: {
        const auto row = txn.get(table, key);
        if (!row.ok()) return {row.status().code(), {}};
        return update(txn, table, key, [&](const Item& old) { return operation.changed(old); });
      }
      case Kind::kWrite:
        return update(txn, table, key, [&](Item item) {
          copy_columns(item, operation.item, operation.columns);
          return item;
        });
      case Kind::kAdd:
        return update(txn, table, key, [&](Item item) {
          item.balance = static_cast<int64_t>(static_cast<uint64_t>(item.balance) + static_cast<uint64_t>(operation.delta));
          return item;
        });
      case Kind::kRemove: return {txn.remove(table, key).code(), {}};
    }
    return {};
  }

  static ColumnPosition position(const IndexPosition& at) {
    std::string entry(Bytes(prefix(at.value).from()).text());
    for (int shift = 56; shift >= 0; shift -= 8) entry += static_cast<char>(at.key >> shift & 0xff);
    return {OwnedBytes(entry)};
  }
  static ColumnRange entries(const Operation& operation, uint64_t largest) {
    ColumnRange rest = ColumnRange::between(prefix(operation.range.first), prefix(std::min(operation.range.last, largest)));
    if (operation.after) rest = rest.after(position(*operation.after));
    if (operation.before) rest = rest.before(position(*operation.before));
    return rest;
  }

  struct Side {
    StructTable<Stored> items;
    StructIndex<Stored> item_by_branch, item_by_owner;
    DescribedTable<> rows;
    DescribedIndex<> row_by_branch, row_by_owner;
  };
  void add_table(Database& database, KeyIndex key_index, uint32_t t) {
    RowsOf<Stored> rows("items_" + std::to_string(t));
    rows.column("owner", &Stored::owner)
        .column("balance", &Stored::balance)
        .column("body", &Stored::body)
        .column("branch", &Stored::branch)
        .column("flags", &Stored::flags)
        .key_index(key_index)
        .index("by_branch", {"branch"});
    if (Model::unique_owner(t)) rows.unique_index("by_owner", {"owner"});
    else rows.index("by_owner", {"owner"});
    Side side;
    auto items = database.create_table(rows);
    EXPECT_OK(items);
    side.items = *items;
    side.rows = *database.described_table("items_" + std::to_string(t));
    side.item_by_branch = *database.index(side.items, "by_branch");
    side.item_by_owner = *database.index(side.items, "by_owner");
    side.row_by_branch = *database.index(side.rows, "by_branch");
    side.row_by_owner = *database.index(side.rows, "by_owner");
    sides_.push_back(side);
  }

  std::vector<Side> sides_;
};

}  // namespace elider::test
