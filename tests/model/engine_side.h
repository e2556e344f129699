// EngineSide: the tables of a model test in a database, and how an Operation
// is given to a transaction.
//
// Thread safety: constant after construction.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/model/model.h"
#include "tests/support/byte_keys.h"
#include "tests/support/database_test.h"

namespace elider::test {

class EngineSide {
 public:
  virtual ~EngineSide() = default;
  virtual Outcome apply(Transaction& txn, const Operation& operation) const = 0;
};

// The model's keys are numbers. With byte keys, each number has a text or a tuple, and these have
// the same order as the numbers.
template <class KeyType>
class EngineSideOf final : public EngineSide {
 public:
  EngineSideOf(Database& database, KeyIndex key_index, uint32_t tables) {
    for (uint32_t t = 0; t < tables; ++t) add_table(database, key_index, t);
  }

  Outcome apply(Transaction& txn, const Operation& operation) const override {
    using Kind = Operation::Kind;
    const TableSide& side = tables_[operation.table];
    const Table<Item, KeyType>& table = side.table;
    const Given key(operation.key);
    const Columns<Item>& columns = side.columns[operation.columns];
    const auto change = [&](Item& item) { copy_columns(item, operation.changed(item), operation.columns); };
    switch (operation.kind) {
      case Kind::kGet: return get(txn, side, operation);
      case Kind::kMultiGet: return multi_get(txn, side, operation);
      case Kind::kScan: return scan(txn, table, KeysOf(operation).range(), side, operation);
      case Kind::kScanBranch: return scan(txn, side.by_branch, EntriesOf(operation).range(), side, operation);
      case Kind::kScanOwner: return scan(txn, side.by_owner, EntriesOf(operation).range(), side, operation);
      case Kind::kInsert: return {txn.insert(table, key.value(), operation.item).code(), {}};
      case Kind::kPut: return {txn.put(table, key.value(), operation.item).code(), {}};
      case Kind::kUpdate: return {txn.update(table, key.value(), columns, change).code(), {}};
      case Kind::kUpdateView: {
        auto view = txn.get(table, key.value(), columns);
        if (!view.ok()) return {view.status().code(), {}};
        return {txn.update(table, *view, columns, change).code(), {}};
      }
      case Kind::kWrite: return {txn.write(table, key.value(), columns, operation.item).code(), {}};
      case Kind::kAdd: return {txn.add(table, key.value(), &Item::balance, operation.delta).code(), {}};
      case Kind::kRemove: return {txn.remove(table, key.value()).code(), {}};
    }
    return {};
  }

 private:
  static constexpr bool kBytes = ByteKeyType<KeyType>;

  static constexpr bool kTuples = TupleKeyType<KeyType>;

  // A key of the type that the calls take.
  class Given {
   public:
    explicit Given(Key number) : number_(number), text_(kBytes && !kTuples ? text_of_number(number) : std::string()) {
      if constexpr (kTuples) {
        tuple_ = tuple_of_number(number);
        EXPECT_OK(encoded_.set_tuple(tuple_));
      }
    }
    KeyType value() const {
      if constexpr (kTuples) return tuple_;
      else if constexpr (kBytes) return text_;
      else return number_;
    }
    Bytes bytes() const { return kTuples ? Bytes(encoded_.bytes()) : Bytes(text_); }

   private:
    Key number_;
    std::string text_;
    NumberTuple tuple_;
    EncodedTuple encoded_;
  };
  static Key number(const KeyType& key) {
    if constexpr (kTuples) return number_of_tuple(key);
    else if constexpr (kBytes) return number_of_text(key);
    else return key;
  }
  // The range of keys of a scan, and the range of entries of a scan through an index.
  class KeysOf {
   public:
    explicit KeysOf(const Operation& operation)
        : operation_(operation),
          first_(operation.range.first),
          last_(operation.range.last),
          after_(operation.after ? operation.after->key : 0),
          before_(operation.before ? operation.before->key : 0) {}
    auto range() const {
      if constexpr (kBytes) {
        ByteRange rest(first_.bytes(), last_.bytes());
        if (operation_.after) rest = rest.after(after_.bytes());
        if (operation_.before) rest = rest.before(before_.bytes());
        return rest;
      } else {
        return operation_.scanned_keys();
      }
    }

   protected:
    const Operation& operation_;
    const Given first_, last_, after_, before_;
  };
  class EntriesOf : public KeysOf {
   public:
    using KeysOf::KeysOf;
    auto range() const {
      if constexpr (kBytes) {
        ByteIndexRange rest(this->operation_.range);
        if (this->operation_.after) rest = rest.after({this->operation_.after->value, this->after_.bytes()});
        if (this->operation_.before) rest = rest.before({this->operation_.before->value, this->before_.bytes()});
        return rest;
      } else {
        return this->operation_.entries();
      }
    }
  };

  struct TableSide {
    Table<Item, KeyType> table;
    Index<Item, KeyType> by_branch, by_owner;
    std::array<Columns<Item>, kAllColumns + 1> columns;  // by ColumnBits
  };

  // Table 0 has three column groups and a unique index; table 1 one group and none;
  // table 2 as 0, in two groups.
  void add_table(Database& database, KeyIndex key_index, uint32_t t) {
    SchemaOf<Item, KeyType> schema("items_" + std::to_string(t));
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
    auto view = txn.get(side.table, Given(operation.key).value(), side.columns[operation.columns]);
    if (!view.ok()) return {view.status().code(), {}};
    return {Code::kOk, {{number(view->key()), only_columns(**view, operation.columns)}}};
  }

  static Outcome multi_get(Transaction& txn, const TableSide& side, const Operation& operation) {
    const std::vector<Given> given(operation.keys.begin(), operation.keys.end());
    std::vector<KeyType> keys;
    for (const Given& key : given) keys.push_back(key.value());
    std::vector<View<Item, KeyType>> views(keys.size());
    Outcome outcome;
    outcome.code = txn.multi_get(side.table, keys, std::span(views), side.columns[operation.columns]).code();
    if (outcome.code != Code::kOk) return outcome;
    for (const View<Item, KeyType>& view : views)
      if (view) outcome.rows.emplace_back(number(view.key()), only_columns(*view, operation.columns));
    return outcome;
  }

  template <class Source, class Range>
  static Outcome scan(Transaction& txn, const Source& source, const Range& range, const TableSide& side, const Operation& operation) {
    ScanOptions options{operation.limit, operation.reverse, side.columns[operation.columns]};
    Outcome outcome;
    const Status status = txn.scan(source, range, options, [&](const KeyType& key, const View<Item, KeyType>& view) {
      outcome.rows.emplace_back(number(key), only_columns(*view, operation.columns));
      return true;
    });
    outcome.code = status.code();
    if (!status.ok()) outcome.rows.clear();
    return outcome;
  }

  std::vector<TableSide> tables_;
};

}  // namespace elider::test
