// Indexes by columns of random types and directions, compared with a std::map. The model orders the
// values themselves, not their encodings.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

// Null is the first alternative, so it is less than all other values. A column has values of one
// other alternative: flags, signed numbers (also times and decimals), unsigned numbers, floating
// point numbers, or text (also bytes and UUIDs).
using ModelValue = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string>;
using ModelRow = std::vector<ModelValue>;
using ModelRows = std::map<Key, ModelRow>;

class ColumnIndexModelTest : public DatabaseTest {
 protected:
  static constexpr Key kKeys = 24;
  static constexpr size_t kColumns = 6, kIndexes = 4;

  void make_table(uint64_t number) {
    RowSchema schema("t" + std::to_string(number));
    schema.key_index(GetParam().key_index);
    types_.clear();
    nullable_.clear();
    for (size_t c = 0; c < kColumns; ++c) {
      const auto type = static_cast<RowType>(random_.below(kRowTypes - 1));  // JSON is the last
      types_.push_back(type);
      nullable_.push_back(random_.percent(50));
      schema.column("c" + std::to_string(c), type,
                    {.nullable = nullable_.back(), .scale = static_cast<uint8_t>(type == RowType::kDecimal ? 2 : 0)});
    }
    indexes_.clear();
    for (size_t i = 0; i < kIndexes; ++i) {
      ModelIndex& index = indexes_.emplace_back();
      index.unique = i == 0;
      std::vector<IndexColumn> columns;
      for (size_t c = 0; c < kColumns; ++c) index.columns.push_back(c);
      for (size_t c = kColumns; c-- > 1;) std::swap(index.columns[c], index.columns[random_.below(c + 1)]);
      index.columns.resize(random_.between(1, 3));
      for (const size_t c : index.columns) {
        columns.emplace_back("c" + std::to_string(c));
        columns.back().descending = random_.percent(40);
        index.descending.push_back(columns.back().descending);
      }
      const std::string name = "i" + std::to_string(i);
      if (index.unique) schema.unique_index(name, columns);
      else schema.index(name, columns);
    }
    auto table = db_.create_table(schema);
    ASSERT_OK(table);
    table_ = *table;
    for (size_t i = 0; i < kIndexes; ++i) indexes_[i].index = *db_.index(table_, "i" + std::to_string(i));
    rows_.clear();
  }

  std::string random_text() {
    static constexpr std::string_view kPieces[] = {"a", "b", "ab", std::string_view("\0", 1), "\x01", "\x7f", "\xc3\xa4",
                                                   "\xf0\x9f\x98\x80"};
    std::string text;
    for (uint64_t pieces = random_.below(4); pieces > 0; --pieces) text += kPieces[random_.below(std::size(kPieces))];
    return text;
  }
  ModelValue random_value(size_t column) {
    if (nullable_[column] && random_.percent(25)) return {};
    const auto small = static_cast<int64_t>(random_.below(5));
    const bool large = random_.percent(30);
    switch (types_[column]) {
      case RowType::kBool: return small % 2 == 0;
      case RowType::kInt8: return large ? small * 30 : small - 2;
      case RowType::kInt16: return large ? small * -8000 : small - 2;
      case RowType::kInt32: return large ? small * -500'000'000 : small - 2;
      case RowType::kInt64: return large ? (small - 2) * 4'000'000'000'000'000'000 : small - 2;
      case RowType::kTimestamp:
      case RowType::kDecimal: return large ? (small - 2) * 1'000'000'007 : small - 2;
      case RowType::kUInt8: return static_cast<uint64_t>(large ? small * 60 : small);
      case RowType::kUInt16: return static_cast<uint64_t>(large ? small * 16'000 : small);
      case RowType::kUInt32: return static_cast<uint64_t>(large ? small * 1'000'000'000 : small);
      case RowType::kUInt64: return large ? ~static_cast<uint64_t>(small) : static_cast<uint64_t>(small);
      case RowType::kFloat:
      case RowType::kDouble: return (large ? 1e10 : 0.5) * static_cast<double>(small - 2) + 0.0;
      case RowType::kText: return random_text();
      case RowType::kBytes: return random_text() + (large ? "\xff" : "");
      case RowType::kUuid: return std::string(15, large ? '\xff' : '\0') + static_cast<char>(small);
      case RowType::kJson: break;
    }
    return {};
  }
  // The value refers to the model's text.
  RowValue row_value(size_t column, const ModelValue& value) const {
    if (value.index() == 0) return {};
    switch (types_[column]) {
      case RowType::kBool: return std::get<bool>(value);
      case RowType::kTimestamp: return Timestamp(std::chrono::microseconds(std::get<int64_t>(value)));
      case RowType::kDecimal: return Decimal{std::get<int64_t>(value), 2};
      case RowType::kFloat: return static_cast<float>(std::get<double>(value));
      case RowType::kDouble: return std::get<double>(value);
      case RowType::kText: return std::string_view(std::get<std::string>(value));
      case RowType::kBytes: return Bytes(std::get<std::string>(value));
      case RowType::kUuid: {
        Uuid uuid;
        std::memcpy(uuid.bytes.data(), std::get<std::string>(value).data(), 16);
        return uuid;
      }
      default: break;
    }
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    return std::get<uint64_t>(value);
  }

  struct ModelIndex {
    DescribedIndex<Key> index;
    bool unique = false;
    std::vector<size_t> columns;
    std::vector<bool> descending;
  };
  static bool equal(const ModelIndex& index, size_t columns, const ModelRow& a, const ModelRow& b) {
    for (size_t c = 0; c < columns; ++c)
      if (a[index.columns[c]] != b[index.columns[c]]) return false;
    return true;
  }
  // Returns true if a unique index refuses this row.
  bool taken(const ModelRows& rows, Key key, const ModelRow& row) const {
    for (const ModelIndex& index : indexes_) {
      if (!index.unique) continue;
      if (std::any_of(index.columns.begin(), index.columns.end(), [&](size_t c) { return row[c].index() == 0; })) continue;
      for (const auto& [other, its] : rows)
        if (other != key && equal(index, index.columns.size(), row, its)) return true;
    }
    return false;
  }
  std::vector<Key> expected(const ModelRows& rows, const ModelIndex& index, size_t columns, const ModelRow& like) const {
    std::vector<Key> keys;
    for (const auto& [key, row] : rows)
      if (equal(index, columns, row, like)) keys.push_back(key);
    std::sort(keys.begin(), keys.end(), [&](Key a, Key b) {
      for (size_t c = 0; c < index.columns.size(); ++c) {
        const ModelValue &x = rows.at(a)[index.columns[c]], &y = rows.at(b)[index.columns[c]];
        if (x != y) return index.descending[c] ? y < x : x < y;
      }
      return a < b;
    });
    return keys;
  }
  ModelRow random_row() {
    ModelRow row;
    for (size_t c = 0; c < kColumns; ++c) row.push_back(random_value(c));
    return row;
  }

  // Compares a random range of a random index.
  void check(Transaction& txn, const ModelRows& rows) {
    const ModelIndex& index = indexes_[random_.below(kIndexes)];
    const size_t columns = random_.below(index.columns.size() + 1);
    ModelRow like = random_row();
    if (!rows.empty() && random_.percent(80)) {
      like = std::next(rows.begin(), static_cast<std::ptrdiff_t>(random_.below(rows.size())))->second;
    }
    std::vector<RowValue> values;
    for (size_t c = 0; c < columns; ++c) values.push_back(row_value(index.columns[c], like[index.columns[c]]));
    const auto range = index_prefix(index.index, values);
    ASSERT_OK(range);
    std::vector<Key> keys = expected(rows, index, columns, like);
    ASSERT_EQ(*txn.count(index.index, *range), keys.size());
    const bool reverse = random_.percent(50);
    if (reverse) std::reverse(keys.begin(), keys.end());
    std::vector<Key> found;
    ColumnRange rest = *range;
    const uint64_t page = random_.percent(50) ? kNoLimit : random_.between(1, 4);
    for (size_t before = 1; found.size() != before;) {  // page by page
      before = found.size();
      ColumnRange next = rest;
      ASSERT_OK(txn.scan(index.index, rest, {.limit = page, .reverse = reverse}, [&](const ColumnPosition& at, const RowReader&) {
        next = reverse ? rest.before(at) : rest.after(at);
      }));
      ASSERT_OK(txn.scan(index.index, rest, {.limit = page, .reverse = reverse}, [&](Key key, const RowReader&) { found.push_back(key); }));
      rest = next;
      if (page == kNoLimit) break;
    }
    EXPECT_EQ(found, keys);
  }

  // Runs one random operation, and changes `rows` in the same way.
  void step(Transaction& txn, RowBuilder& row, ModelRows& rows) {
    const Key key = random_.below(kKeys);
    const uint64_t what = random_.below(10);
    if (what < 2) {
      const Status status = txn.remove(table_, key);
      ASSERT_EQ(status.ok(), rows.erase(key) == 1) << status.message();
    } else if (what < 6 && rows.contains(key)) {
      ModelRow changed = rows[key];
      const size_t column = random_.below(kColumns);
      changed[column] = random_value(column);
      const Status status =
          txn.update(table_, key, row, [&](RowBuilder& change) { change.set(column, row_value(column, changed[column])); });
      ASSERT_EQ(status.code(), taken(rows, key, changed) ? Code::kDuplicateKey : Code::kOk) << status.message();
      if (status.ok()) rows[key] = changed;
    } else {
      const ModelRow made = random_row();
      row.begin();
      for (size_t c = 0; c < kColumns; ++c) row.set(c, row_value(c, made[c]));
      const bool insert = random_.percent(50);
      const Status status = insert ? txn.insert(table_, key, row) : txn.put(table_, key, row);
      const bool refused = (insert && rows.contains(key)) || taken(rows, key, made);
      ASSERT_EQ(status.code(), refused ? Code::kDuplicateKey : Code::kOk) << status.message();
      if (status.ok()) rows[key] = made;
    }
  }

  TestRandom random_;
  DescribedTable<> table_;
  std::vector<RowType> types_;
  std::vector<bool> nullable_;
  std::vector<ModelIndex> indexes_;
  ModelRows rows_;
};
ELIDER_ON_EVERY(ColumnIndexModelTest);

TEST_P(ColumnIndexModelTest, RandomTransactions) {
  for (uint64_t number = 0; number < scaled(4) && !HasFailure(); ++number) {
    make_table(number);
    RowBuilder row(table_);
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
      ModelRows rows = rows_;
      ActiveTransaction txn = begin(db_);
      for (uint64_t steps = random_.between(1, 8); steps > 0 && !HasFailure(); --steps) {
        step(*txn, row, rows);
        if (random_.percent(40) && !HasFailure()) check(*txn, rows);
      }
      if (random_.percent(75)) {
        EXPECT_OK(txn.commit());
        rows_ = rows;
      } else {
        txn.rollback();
      }
      if (random_.percent(20)) db_.collect_garbage();
      read(db_, [&](Transaction& reader) { check(reader, rows_); });
    }
    EXPECT_OK(db_.verify());
  }
}

}  // namespace
}  // namespace elider::test
