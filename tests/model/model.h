// Model: the tables of a model test as std::maps, and the answers and changes of each operation.
//
// The model is the simplest program that does what the headers promise; a difference between it and
// the engine is a defect of one of them. A Model is copied to keep a snapshot.
// Thread safety: a value.
#pragma once

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "tests/model/operation.h"

namespace elider::test {

// Whether, in the index under test, a transaction's own insert may split what it has read, and so
// be a phantom to itself.
inline bool own_splits_are_phantoms = false;

class Model {
 public:
  explicit Model(uint32_t tables) : tables_(tables) {}

  // unique_owner(t): whether table t has a unique index over its owners.
  static bool unique_owner(uint32_t table) { return table % 2 == 0; }

  Outcome apply(const Operation& operation) {
    using Kind = Operation::Kind;
    switch (operation.kind) {
      case Kind::kGet: return get(operation);
      case Kind::kMultiGet: return multi_get(operation);
      case Kind::kScan: return scan(operation, [](Key key, const Item&) { return key; });
      case Kind::kScanBranch: return scan(operation, [](Key, const Item& item) { return uint64_t{item.branch}; });
      case Kind::kScanOwner: return scan(operation, [](Key, const Item& item) { return item.owner; });
      case Kind::kInsert: return insert(operation);
      case Kind::kPut: return store(operation, operation.item);
      case Kind::kUpdate:
      case Kind::kUpdateView: return change(operation, [&](const Item& item) { return operation.changed(item); });
      case Kind::kWrite: return write(operation);
      case Kind::kAdd: return add(operation);
      case Kind::kRemove: return {table(operation).erase(operation.key) == 1 ? Code::kOk : Code::kNotFound, {}};
    }
    return {};
  }

  size_t rows(uint32_t table) const { return tables_[table].size(); }

 private:
  using Rows = std::map<Key, Item>;
  Rows& table(const Operation& operation) { return tables_[operation.table]; }

  Outcome get(const Operation& operation) {
    const auto found = table(operation).find(operation.key);
    if (found == table(operation).end()) return {Code::kNotFound, {}};
    return {Code::kOk, {{found->first, only_columns(found->second, operation.columns)}}};
  }

  Outcome multi_get(const Operation& operation) {
    Outcome outcome;
    for (Key key : operation.keys)
      if (const auto found = table(operation).find(key); found != table(operation).end())
        outcome.rows.emplace_back(key, only_columns(found->second, operation.columns));
    return outcome;
  }

  template <class Value>
  Outcome scan(const Operation& operation, Value&& value) {
    std::vector<std::tuple<uint64_t, Key, Item>> found;
    for (const auto& [key, item] : table(operation)) {
      const IndexPosition at{value(key, item), key};
      if (at.value < operation.range.first || at.value > operation.range.last) continue;
      if ((operation.after && at <= *operation.after) || (operation.before && at >= *operation.before)) continue;
      found.emplace_back(at.value, key, only_columns(item, operation.columns));
    }
    const auto before = [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    };
    std::sort(found.begin(), found.end(), before);
    if (operation.reverse) std::reverse(found.begin(), found.end());
    if (found.size() > operation.limit) found.resize(operation.limit);
    Outcome outcome;
    for (const auto& [_, key, item] : found) outcome.rows.emplace_back(key, item);
    return outcome;
  }

  Outcome insert(const Operation& operation) {
    if (table(operation).count(operation.key) != 0) return {Code::kDuplicateKey, {}};
    return store(operation, operation.item);
  }

  Outcome store(const Operation& operation, const Item& item) {
    if (unique_owner(operation.table))
      for (const auto& [key, other] : table(operation))
        if (key != operation.key && other.owner == item.owner) return {Code::kDuplicateKey, {}};
    table(operation)[operation.key] = item;
    return {};
  }

  template <class Change>
  Outcome change(const Operation& operation, Change&& change) {
    const auto found = table(operation).find(operation.key);
    if (found == table(operation).end()) return {Code::kNotFound, {}};
    return store(operation, change(found->second));
  }

  Outcome write(const Operation& operation) {
    return change(operation, [&](Item item) {
      copy_columns(item, operation.item, operation.columns);
      return item;
    });
  }

  Outcome add(const Operation& operation) {
    return change(operation, [&](Item item) {
      // Unsigned: it wraps around, as the engine's does.
      item.balance = static_cast<int64_t>(static_cast<uint64_t>(item.balance) + static_cast<uint64_t>(operation.delta));
      return item;
    });
  }

  std::vector<Rows> tables_;
};

}  // namespace elider::test
