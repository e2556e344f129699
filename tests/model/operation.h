// Operation: one call of a transaction with its arguments, as a value, and Outcome:
// all that it answered. The model tests give one operation to the engine and to a
// model and compare the outcomes.
//
// Not every argument has a meaning for every kind. Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "tests/support/random.h"

namespace elider::test {

struct Item {
  uint64_t owner = 0;
  int64_t balance = 0;
  uint32_t branch = 0;
  uint32_t flags = 0;
  std::array<uint64_t, 12> body{};
  friend bool operator==(const Item&, const Item&) = default;
};

// Some of Item's columns, a bit each.
enum ColumnBit : uint32_t { kOwner = 1, kBalance = 2, kBranch = 4, kFlags = 8, kBody = 16, kAllColumns = 31 };

inline void copy_columns(Item& to, const Item& from, uint32_t columns) {
  if (columns & kOwner) to.owner = from.owner;
  if (columns & kBalance) to.balance = from.balance;
  if (columns & kBranch) to.branch = from.branch;
  if (columns & kFlags) to.flags = from.flags;
  if (columns & kBody) to.body = from.body;
}

inline Item only_columns(const Item& item, uint32_t columns) {
  Item kept;
  copy_columns(kept, item, columns);
  return kept;
}

struct Operation {
  enum class Kind : uint8_t {
    kGet, kMultiGet, kScan, kScanBranch, kScanOwner,  // reading
    kInsert, kPut, kUpdate, kUpdateView, kWrite, kAdd, kRemove,
  };
  static constexpr int kKinds = 12, kReadingKinds = 5;

  Kind kind = Kind::kGet;
  uint32_t table = 0;
  Key key = 0;
  uint32_t columns = kAllColumns;
  Item item;               // to insert, put or write; an update mixes it with what was there
  int64_t delta = 0;       // of an add
  std::vector<Key> keys;   // of a multi_get
  KeyRange range;          // of a scan
  // What cuts a scan's range. A scan by key uses the keys alone, which are the values.
  std::optional<IndexPosition> after, before;
  uint64_t limit = kNoLimit;
  bool reverse = false;


  IndexRange entries() const {
    IndexRange rest = range;
    if (after) rest = rest.after(*after);
    if (before) rest = rest.before(*before);
    return rest;
  }
  KeyRange scanned_keys() const {
    KeyRange rest = range;
    if (after) rest = rest.after(after->key);
    if (before) rest = rest.before(before->key);
    return rest;
  }

  bool reading() const { return static_cast<int>(kind) < kReadingKinds; }

  // What an update writes: it depends on what was there, so that a wrong read shows.
  Item changed(const Item& before) const {
    Item after = before;
    Item mixed = item;
    mixed.balance = static_cast<int64_t>(static_cast<uint64_t>(before.balance) * 31 + static_cast<uint64_t>(item.balance));
    mixed.flags = before.flags * 7 + item.flags;
    for (size_t i = 0; i < mixed.body.size(); ++i) mixed.body[i] += before.body[i];
    copy_columns(after, mixed, columns);
    return after;
  }
};

struct Outcome {
  Code code = Code::kOk;
  std::vector<std::pair<Key, Item>> rows;  // a multi_get has one for each key that is there
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  static constexpr const char* kNames[Operation::kKinds] = {"get", "multi_get", "scan",        "scan by_branch", "scan by_owner", "insert",
                                                            "put", "update",    "update view", "write",          "add",           "remove"};
  out << kNames[static_cast<int>(operation.kind)] << " table " << operation.table << " key " << operation.key << " columns "
      << operation.columns << " owner " << operation.item.owner << " branch " << operation.item.branch << " balance "
      << operation.item.balance << " range " << operation.range.first << ".." << operation.range.last;
  if (operation.after) out << " after " << operation.after->value << '/' << operation.after->key;
  if (operation.before) out << " before " << operation.before->value << '/' << operation.before->key;
  out << " limit " << static_cast<int64_t>(operation.limit) << (operation.reverse ? " reverse" : "") << " keys";
  for (Key key : operation.keys) out << ' ' << key;
  return out;
}

inline std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  out << name_of(outcome.code) << ":";
  for (const auto& [key, item] : outcome.rows)
    out << " {" << key << ": " << item.owner << ' ' << item.balance << ' ' << item.branch << ' ' << item.flags << ' ' << item.body[0]
        << '}';
  return out;
}

// What random operations are drawn from. Few keys make conflicts and
// reinsertions, many make splits.
struct OperationMix {
  uint64_t keys = 40;
  uint64_t branches = 6;
  uint64_t owners = 60;
  uint32_t tables = 3;
  bool ordered = true;           // scans by key are possible
  uint64_t reading_percent = 40;
};

inline Operation random_operation(TestRandom& random, const OperationMix& mix, bool reading_only) {
  Operation operation;
  using Kind = Operation::Kind;
  const bool reading = reading_only || random.percent(mix.reading_percent);
  do {
    const uint64_t kind = reading ? random.below(Operation::kReadingKinds)
                                  : random.between(Operation::kReadingKinds, Operation::kKinds - 1);
    operation.kind = static_cast<Kind>(kind);
  } while (operation.kind == Kind::kScan && !mix.ordered);
  operation.table = static_cast<uint32_t>(random.below(mix.tables));
  const auto any_key = [&] { return random.percent(2) ? kKeyMax - random.below(2) : random.below(mix.keys); };
  operation.key = any_key();
  operation.columns = static_cast<uint32_t>(random.percent(30) ? uint64_t{kAllColumns} : random.between(1, kAllColumns));
  operation.item = {random.below(mix.owners), static_cast<int64_t>(random.next()), static_cast<uint32_t>(random.below(mix.branches)),
                    static_cast<uint32_t>(random.next()), {}};
  operation.item.body.fill(random.next());
  operation.delta = static_cast<int64_t>(random.next());
  if (operation.kind == Kind::kMultiGet)
    for (uint64_t count = random.below(20); count > 0; --count) operation.keys.push_back(any_key());
  const uint64_t domain = operation.kind == Kind::kScan ? mix.keys : operation.kind == Kind::kScanBranch ? mix.branches : mix.owners;
  const uint64_t first = random.below(domain + 1);
  operation.range = random.percent(15) ? KeyRange{} : KeyRange{first, first + random.below(random.percent(50) ? 4 : domain)};
  const auto any_position = [&]() -> std::optional<IndexPosition> {
    if (!random.percent(25)) return std::nullopt;
    const Key key = any_key();
    return IndexPosition{operation.kind == Kind::kScan ? key : random.below(domain), key};
  };
  operation.after = any_position();
  operation.before = any_position();
  operation.limit = random.percent(60) ? kNoLimit : random.below(6);
  operation.reverse = random.percent(50);
  return operation;
}

}  // namespace elider::test
