// Random schemas and rows against a model: a list of values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "elider/row.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::row_model_tests {
namespace {

using test::TestRandom;

// A value that owns its text.
struct Owned {
  RowValue value;
  std::string text;
  RowValue view() const {
    if (value.kind() == RowValue::Kind::kText) return std::string_view(text);
    if (value.kind() == RowValue::Kind::kBytes) return std::as_bytes(std::span(text));
    return value;
  }
};

bool same(const RowValue& a, const RowValue& b) {
  return a.kind() == b.kind() && a.word() == b.word() && a.negative() == b.negative() && a.text() == b.text() && a.uuid() == b.uuid() &&
         std::bit_cast<uint64_t>(a.number()) == std::bit_cast<uint64_t>(b.number()) &&
         (a.kind() != RowValue::Kind::kDecimal || a.decimal() == b.decimal());
}

std::string random_text(TestRandom& random, bool utf8) {
  const uint64_t kinds = random.below(20);
  const uint64_t size = kinds < 5 ? 0 : kinds < 19 ? random.below(20) : random.below(3000);
  std::string text;
  while (text.size() < size) {
    if (!utf8) text += static_cast<char>(random.next());
    else if (random.percent(80)) text += static_cast<char>(random.below(128));
    else text += random.percent(50) ? "\u00e4" : "\U0001f600";
  }
  return text;
}

std::string random_json(TestRandom& random, int depth) {
  switch (random.below(depth > 3 ? 4 : 6)) {
    case 0: return "null";
    case 1: return std::to_string(static_cast<int64_t>(random.next()));
    case 2: return "\"\\u00e4\u00e4\"";
    case 3: return " true ";
    case 4: return "[" + random_json(random, depth + 1) + "," + random_json(random, depth + 1) + "]";
    default: return "{\"a\":" + random_json(random, depth + 1) + "}";
  }
}

Owned random_value(TestRandom& random, const RowColumn& column) {
  if (column.nullable && random.percent(30)) return {};
  const uint64_t word = random.percent(20) ? random.below(3) - 1 : random.next();
  switch (column.type) {
    case RowType::kBool: return {word % 2 == 0, {}};
    case RowType::kInt8: return {static_cast<int8_t>(word), {}};
    case RowType::kInt16: return {static_cast<int16_t>(word), {}};
    case RowType::kInt32: return {static_cast<int32_t>(word), {}};
    case RowType::kInt64: return {static_cast<int64_t>(word), {}};
    case RowType::kUInt8: return {static_cast<uint8_t>(word), {}};
    case RowType::kUInt16: return {static_cast<uint16_t>(word), {}};
    case RowType::kUInt32: return {static_cast<uint32_t>(word), {}};
    case RowType::kUInt64: return {word, {}};
    case RowType::kFloat: return {static_cast<float>(static_cast<int64_t>(word)) / 3, {}};
    case RowType::kDouble: return {static_cast<double>(static_cast<int64_t>(word)) / 3, {}};
    case RowType::kTimestamp: return {Timestamp(std::chrono::microseconds(static_cast<int64_t>(word))), {}};
    case RowType::kDecimal: return {Decimal{static_cast<int64_t>(word), column.scale}, {}};
    case RowType::kUuid: {
      Uuid uuid;
      for (std::byte& byte : uuid.bytes) byte = static_cast<std::byte>(random.next());
      return {uuid, {}};
    }
    case RowType::kText: return {"", random_text(random, true)};
    case RowType::kJson: return {"", random_json(random, 0)};
    case RowType::kBytes: return {Bytes(), random_text(random, false)};
  }
  return {};
}

RowSchema random_schema(TestRandom& random, size_t columns) {
  RowSchema schema("t");
  for (size_t i = 0; i < columns; ++i) {
    RowColumn column{"c" + std::to_string(i), static_cast<RowType>(random.below(kRowTypes)), random.percent(40), 0, {}};
    if (column.type == RowType::kDecimal) column.scale = static_cast<uint8_t>(random.below(kDecimalScaleMax + 1));
    const Owned value = random.percent(50) ? random_value(random, column) : Owned();
    schema.column(column.name, column.type, {.nullable = column.nullable, .default_value = value.view(), .scale = column.scale});
  }
  EXPECT_OK(schema.status());
  return schema;
}

using Model = std::vector<Owned>;

Owned owned(const RowValue& value) { return {value, std::string(value.text())}; }

// Sets all columns that must be set, and some others, in any order, some of them twice.
void set_some(TestRandom& random, const RowSchema& schema, RowBuilder& row, Model* model) {
  std::vector<size_t> order(schema.columns());
  std::iota(order.begin(), order.end(), size_t{0});
  if (random.percent(50))
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const size_t column : order) {
    const RowColumn& described = schema.column(column);
    if ((described.nullable || described.default_bytes) && random.percent(30)) continue;
    for (int times = random.percent(10) ? 2 : 1; times > 0; --times) {
      (*model)[column] = random_value(random, described);
      if (random.percent(50)) row.set(column, (*model)[column].view());
      else row.set(described.name, (*model)[column].view());
    }
  }
}

void compare(const RowSchema& schema, const RowReader& reader, const Model& model) {
  ASSERT_OK(reader.check());
  for (size_t i = 0; i < schema.columns(); ++i) {
    const auto value = reader.value(i);
    ASSERT_OK(value);
    ASSERT_TRUE(same(*value, model[i].view()))
        << schema.column(i).name << ": " << value->to_text() << " versus " << model[i].view().to_text();
    ASSERT_EQ(reader.is_null(i), model[i].value.is_null());
  }
}

// Reads each column as its C++ type.
void compare_types(const RowSchema& schema, const RowReader& reader, const Model& model) {
  const auto check = [&]<class T>(size_t i) {
    const auto value = reader.get<std::optional<T>>(i);
    ASSERT_OK(value);
    ASSERT_TRUE(same(RowValue(*value), model[i].view())) << i;
    const auto exact = reader.get<T>(i);
    if (model[i].value.is_null()) {
      ASSERT_CODE(Code::kInvalidArgument, exact);
    } else {
      ASSERT_OK(exact);
      ASSERT_TRUE(same(RowValue(*exact), model[i].view()));
    }
  };
  for (size_t i = 0; i < schema.columns(); ++i) {
    switch (schema.column(i).type) {
      case RowType::kBool: check.operator()<bool>(i); break;
      case RowType::kInt8: check.operator()<int8_t>(i); break;
      case RowType::kInt16: check.operator()<int16_t>(i); break;
      case RowType::kInt32: check.operator()<int32_t>(i); break;
      case RowType::kInt64: check.operator()<int64_t>(i); break;
      case RowType::kUInt8: check.operator()<uint8_t>(i); break;
      case RowType::kUInt16: check.operator()<uint16_t>(i); break;
      case RowType::kUInt32: check.operator()<uint32_t>(i); break;
      case RowType::kUInt64: check.operator()<uint64_t>(i); break;
      case RowType::kFloat: check.operator()<float>(i); break;
      case RowType::kDouble: check.operator()<double>(i); break;
      case RowType::kTimestamp: check.operator()<Timestamp>(i); break;
      case RowType::kDecimal: check.operator()<Decimal>(i); break;
      case RowType::kUuid: check.operator()<Uuid>(i); break;
      case RowType::kText:
      case RowType::kJson: check.operator()<std::string_view>(i); break;
      case RowType::kBytes: check.operator()<Bytes>(i); break;
    }
  }
}

std::vector<std::byte> copy_of(const Result<std::span<const std::byte>>& built) {
  EXPECT_OK(built);
  return built.ok() ? std::vector<std::byte>(built->begin(), built->end()) : std::vector<std::byte>();
}

// A row of `schema`, changes of it, and the same row read with more columns and changed with them.
void live_through(TestRandom& random, const RowSchema& schema, size_t more_columns) {
  RowBuilder row(schema);
  Model model;
  for (size_t i = 0; i < schema.columns(); ++i) model.push_back(owned(schema.default_value(i)));
  set_some(random, schema, row, &model);
  const auto bytes = copy_of(row.finish());
  const auto reader = RowReader::open(schema, bytes);
  ASSERT_OK(reader);
  compare(schema, *reader, model);
  compare_types(schema, *reader, model);

  RowBuilder again(schema);  // a row has one encoding
  for (size_t i = 0; i < schema.columns(); ++i) again.set(i, model[i].view());
  ASSERT_EQ(copy_of(again.finish()), bytes);

  Model changed = model;
  row.edit(*reader);
  for (uint64_t changes = random.below(5); changes > 0 && schema.columns() != 0; --changes) {
    const size_t column = random.below(schema.columns());
    changed[column] = random_value(random, schema.column(column));
    row.set(column, changed[column].view());
  }
  const auto edited = copy_of(row.finish());
  const auto after = RowReader::open(schema, edited);
  ASSERT_OK(after);
  compare(schema, *after, changed);

  RowSchema later = schema;
  for (size_t i = 0; i < more_columns && later.columns() < kRowColumnsMax; ++i) {
    const RowColumn column{"later" + std::to_string(i), static_cast<RowType>(random.below(kRowTypes)), random.percent(50), 0, {}};
    Owned value;
    while (!column.nullable && value.value.is_null()) value = random_value(random, column);
    later.column(column.name, column.type, {.nullable = column.nullable, .default_value = value.view()});
    model.push_back(value);
  }
  const auto old = RowReader::open(later, bytes);
  ASSERT_OK(old);
  ASSERT_EQ(old->columns_written(), schema.columns());
  compare(later, *old, model);
  compare_types(later, *old, model);
  RowBuilder grown(later);
  const auto full = copy_of(grown.edit(*old).finish());
  const auto grown_reader = RowReader::open(later, full);
  ASSERT_OK(grown_reader);
  ASSERT_EQ(grown_reader->columns_written(), later.columns());
  compare(later, *grown_reader, model);
  if (later.columns() != schema.columns()) {
    ASSERT_CODE(Code::kSchemaMismatch, RowReader::open(schema, full));
  }
}

TEST(RowModel, RandomRowsReadAsTheyWereSet) {
  TestRandom random;
  for (uint64_t round = 0; round < test::scaled(3000); ++round) {
    SCOPED_TRACE(round);
    live_through(random, random_schema(random, random.below(20)), random.below(12));
    if (HasFatalFailure()) return;
  }
}

TEST(RowModel, EveryNumberOfColumns) {
  TestRandom random;
  for (const size_t columns : {0u, 1u, 7u, 8u, 9u, 15u, 16u, 63u, 64u, 65u, 127u, 128u, 999u, 1000u}) {
    for (uint64_t round = 0; round < test::scaled(columns < 100 ? 30 : 3); ++round) {
      SCOPED_TRACE(columns);
      live_through(random, random_schema(random, columns), random.below(3));
      if (HasFatalFailure()) return;
    }
  }
}

// Whatever the bytes are, the reader stays inside them. Sanitizers and a guard after the end see an
// access outside.
TEST(RowModel, DamagedRowsAreRefusedOrRead) {
  TestRandom random;
  for (uint64_t round = 0; round < test::scaled(300); ++round) {
    const RowSchema schema = random_schema(random, 1 + random.below(20));
    RowBuilder row(schema);
    Model model(schema.columns());
    set_some(random, schema, row, &model);
    const auto good = copy_of(row.finish());
    for (int damage = 0; damage < 30; ++damage) {
      std::vector<std::byte> bytes = good;
      for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
        bytes[random.below(random.percent(70) ? std::min<size_t>(bytes.size(), 60) : bytes.size())] = static_cast<std::byte>(random.next());
      if (random.percent(30)) bytes.resize(random.below(bytes.size() + 1));
      bytes.shrink_to_fit();
      const auto reader = RowReader::open(schema, bytes);
      if (!reader.ok()) continue;
      const bool whole = reader->check().ok();
      for (size_t i = 0; i < schema.columns(); ++i) {
        const auto value = reader->value(i);
        if (value.ok()) {
          ASSERT_FALSE(value->to_text().empty());
        } else {
          ASSERT_FALSE(whole && value.status().code() == Code::kCorrupt);
        }
      }
      RowBuilder again(schema);
      const auto rebuilt = again.edit(*reader).finish();
      if (whole && reader->columns_written() == schema.columns()) {
        ASSERT_EQ(copy_of(rebuilt), bytes);
      }
    }
  }
}

}  // namespace
}  // namespace elider::row_model_tests
