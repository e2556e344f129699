// Writes a database with every kind of table for tests/commands/rows.py: each kind of key, of row
// and of key index, with the values at the ends of each type.
//
//   commands_rows_fixture FOLDER
//
// With --rows N, writes only one table of described rows for measurements.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "elider/described.h"
#include "elider/elider.h"
#include "elider/tuple_key.h"

namespace {

using namespace elider;

struct Person {
  char name[16];
  int64_t balance;
  uint8_t level;  // followed by seven bytes of padding
  double ratio;
};
struct Blind {  // a struct without described columns
  uint32_t a, b;
};
struct Head {
  uint32_t kind;
  uint16_t flags;
};

using Place = std::tuple<std::string, int32_t, Descending<Timestamp>, std::optional<double>>;
using Odd = std::tuple<std::vector<std::byte>, float, bool, Uuid, std::tuple<uint8_t, std::string>, Descending<std::optional<std::string>>>;

Timestamp at(int64_t us) { return Timestamp(std::chrono::microseconds(us)); }
std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

Status write_structs(Database& db) {
  const auto person_schema = [](auto schema) {
    return schema.column("name", &Person::name)
        .column("balance", &Person::balance)
        .column("level", &Person::level)
        .column("ratio", &Person::ratio)
        .group({"balance"});
  };
  ELIDER_ASSIGN(auto people, db.create_table(person_schema(SchemaOf<Person>("people")).index("by_level", {"level"}, [](const Person& p) {
    return uint64_t{p.level};
  })));
  ELIDER_ASSIGN(auto hashed, db.create_table(person_schema(SchemaOf<Person>("hashed people").hashed().inline_rows(100))));
  ELIDER_ASSIGN(auto zoned, db.create_table(person_schema(SchemaOf<Person>("zoned people").zoned())));
  ELIDER_ASSIGN(auto words, db.create_table(person_schema(SchemaOf<Person, std::string_view>("words"))));
  ELIDER_ASSIGN(auto hashed_words, db.create_table(person_schema(SchemaOf<Person, std::string_view>("hashed words").hashed())));
  ELIDER_ASSIGN(auto blind, db.create_table(SchemaOf<Blind>("blind").radix()));
  return db.run([&](Transaction& txn) -> Status {
    for (const Key key : {Key{0}, Key{1}, Key{2}, Key{9007199254740993}, kKeyMax}) {
      Person person;
      std::memset(static_cast<void*>(&person), 0, sizeof person);
      std::snprintf(person.name, sizeof person.name, key == 2 ? "0xname, \"q\"" : "name %u", static_cast<unsigned>(key % 1000));
      if (key == 1) std::memcpy(person.name, "a\0b\xff", 4);
      if (key == 0) reinterpret_cast<unsigned char*>(&person)[30] = 7;  // in the padding
      person.balance = key == 0 ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(key);
      person.level = static_cast<uint8_t>(key);
      person.ratio = key == 1 ? -0.0 : key == 2 ? std::numeric_limits<double>::quiet_NaN() : 0.1 * static_cast<double>(key % 7);
      ELIDER_TRY(txn.insert(people, key, person));
      ELIDER_TRY(txn.insert(hashed, key, person));
      ELIDER_TRY(txn.insert(zoned, key, person));
      ELIDER_TRY(txn.insert(blind, key, {static_cast<uint32_t>(key), 0x41424344}));
      for (const std::string& text : {std::string("plain"), std::string(), std::string("0x12"), std::string("\"quoted\""),
                                      std::string("z\0\xff", 3), std::string("\xc3\xa4\xe2\x82\xac"), std::string(1024, 'k')}) {
        ELIDER_TRY(txn.put(words, text, person));
        ELIDER_TRY(txn.put(hashed_words, text, person));
      }
    }
    return {};
  });
}

Status write_sized(Database& db) {
  Schema raw;
  raw.name = "raw";
  raw.row_bytes = 5000;
  raw.sized_rows = true;
  Schema head = raw;
  head.name = "sized";
  head.columns = {{"kind", ColumnType::kUInt32, 0, 4, 0}, {"flags", ColumnType::kUInt16, 6, 2, 0}};  // two bytes between them
  Schema texts = raw;
  texts.name = "texts";
  texts.key_kind = KeyKind::kBytes;
  texts.key_index = KeyIndex::kOrdered;
  ELIDER_ASSIGN(auto raw_table, db.create_table(raw));
  ELIDER_ASSIGN(auto head_table, db.create_table(head));
  ELIDER_ASSIGN(auto text_table, db.create_table(texts));
  return db.run([&](Transaction& txn) -> Status {
    Key key = 0;
    for (const std::string& text : {std::string(), std::string("text"), std::string("0xab"), std::string("two\nlines\t"),
                                    std::string("\0\1\2", 3), std::string(4000, 'x'), std::string("\x80")}) {
      ++key;
      ELIDER_TRY(txn.insert(raw_table, key, bytes_of(text)));
      ELIDER_TRY(txn.insert(text_table, Bytes(std::to_string(key)), bytes_of(text)));
      std::string row(8, '\0');
      row[0] = static_cast<char>(key);
      if (key == 3) row[4] = 'p';
      ELIDER_TRY(txn.insert(head_table, key, bytes_of(row + text)));
    }
    return {};
  });
}

Status write_tuples(Database& db) {
  ELIDER_ASSIGN(auto places, db.create_table(SchemaOf<Blind, Place>("places").column("a", &Blind::a).column("b", &Blind::b)));
  ELIDER_ASSIGN(auto odd, db.create_table(SchemaOf<Blind, Odd>("odd").ordered().column("a", &Blind::a)));
  ELIDER_ASSIGN(auto hashed, db.create_table(SchemaOf<Blind, Odd>("hashed odd").hashed().column("a", &Blind::a)));
  Uuid uuid;
  for (size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::byte>(17 * i);
  return db.run([&](Transaction& txn) -> Status {
    uint32_t n = 0;
    for (const char* text : {"", "eu", "say \"no\" \\ yes", "line\nbreak\x01", "\xc3\xa4, (b)"})
      for (const int32_t number : {0, -5, 100, std::numeric_limits<int32_t>::min()}) {
        std::optional<double> ratio;
        if (number != 0) ratio = number == -5 ? -1.5 : number == 100 ? std::numeric_limits<double>::infinity() : 5e-324;
        ELIDER_TRY(txn.insert(places, {text, number, Descending<Timestamp>{at(1'700'000'000'000'000 + number)}, ratio}, {++n, 0}));
        if (number == 100)
          ELIDER_TRY(
              txn.insert(places, {text, number, Descending<Timestamp>{at(std::numeric_limits<int64_t>::max())}, std::nullopt}, {++n, 0}));
        const std::vector<std::byte> bytes = bytes_of(std::string("\0\1\xff", static_cast<size_t>(number == 0 ? 0 : 3)) + text);
        for (const std::optional<std::string>& last : {std::optional<std::string>(), std::optional<std::string>(text)}) {
          const auto key = std::tuple(
              Bytes(bytes), number == 0 ? std::numeric_limits<float>::quiet_NaN() : 0.1f * static_cast<float>(number), number > 0, uuid,
              std::tuple(static_cast<uint8_t>(200), std::string_view(text)), Descending<std::optional<std::string_view>>{last});
          ELIDER_TRY(txn.put(odd, key, {++n, 0}));
          ELIDER_TRY(txn.put(hashed, key, {n, 0}));
        }
      }
    return {};
  });
}

template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

Status write_described(Database& db) {
  RowSchema schema("described");
  schema.column("flag", RowType::kBool, {.nullable = true})
      .column("i8", RowType::kInt8, {.nullable = true})
      .column("i16", RowType::kInt16, {.nullable = true})
      .column("i32", RowType::kInt32, {.default_value = -7})
      .column("i64", RowType::kInt64, {.nullable = true})
      .column("u8", RowType::kUInt8, {.nullable = true})
      .column("u16", RowType::kUInt16, {.nullable = true})
      .column("u32", RowType::kUInt32, {.nullable = true})
      .column("u64", RowType::kUInt64, {.nullable = true})
      .column("f32", RowType::kFloat, {.nullable = true, .default_value = 0.1f})
      .column("f64", RowType::kDouble, {.nullable = true})
      .column("when", RowType::kTimestamp, {.nullable = true})
      .column("price", RowType::kDecimal, {.nullable = true, .default_value = Decimal{1250, 2}, .scale = 2})
      .column("id", RowType::kUuid, {.nullable = true})
      .column("text", RowType::kText, {.nullable = true, .default_value = "none, yet"})
      .column("blob", RowType::kBytes, {.nullable = true})
      .column("json", RowType::kJson, {.nullable = true})
      .column("key", RowType::kText, {.nullable = true})
      .column("k\xc3\xb6nig, \"x\"", RowType::kText, {.nullable = true});
  ELIDER_ASSIGN(auto table, db.create_table(schema));
  RowBuilder row(table);
  const double doubles[] = {0.0,
                            -0.0,
                            5e-324,
                            -1.7976931348623157e308,
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            from_bits<double>(0x7ff8000000000000),
                            from_bits<double>(0xfff8000000000000),
                            from_bits<double>(0x7ff4000000000001),
                            0.1,
                            1e22,
                            123456789.125};
  const float floats[] = {0.0f, -0.0f, 1e-45f, 3.4028235e38f, std::numeric_limits<float>::infinity(), from_bits<float>(0x7f800001), 0.1f};
  const char* texts[] = {"", "null", "\"quoted\"", "a,b", "line\nbreak\r\n", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\x01\x7f", "0x12"};
  const char* documents[] = {
      "null", "\"null\"", "{\"a\" : [1,\n 2.50, {}]}", "[]", "1e300", "\"\\u0000\\ud83d\\ude00\"", "{\"a\":1,\"a\":2}"};
  return db.run([&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.insert(table, 0, row.begin()));
    for (Key key = 1; key <= 24; ++key) {
      const bool low = key % 2 == 0;
      row.begin().set("flag", low).set("i8", low ? -128 : 127).set("i16", low ? -32768 : 32767);
      row.set("i32", low ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max());
      row.set("i64", low ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max());
      row.set("u8", low ? 0 : 255).set("u16", low ? 0 : 65535).set("u32", low ? 0u : ~0u);
      row.set("u64", low ? (uint64_t{1} << 53) + 1 : ~uint64_t{0});
      row.set("f32", floats[key % std::size(floats)]).set("f64", doubles[key % std::size(doubles)]);
      row.set("when", at(low ? std::numeric_limits<int64_t>::min() : 1'764'454'580'123'456 + static_cast<int64_t>(key)));
      row.set("price", Decimal{low ? std::numeric_limits<int64_t>::min() : -5, 2});
      Uuid uuid;
      for (size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::byte>(key * i);
      const std::string_view text = texts[key % std::size(texts)];
      row.set("id", uuid).set("text", text).set("blob", Bytes(std::string_view("\0\1\xff", key % 4)));
      row.set("json", documents[key % std::size(documents)]).set("key", text).set(schema.columns() - 1, text);
      if (key > 20) {
        row.begin();
        for (size_t i = 0; i < schema.columns(); ++i)
          if (schema.column(i).nullable) row.set_null(i);
      }
      ELIDER_TRY(txn.insert(table, key, row));
    }
    return {};
  });
}

Status write_more_described(Database& db) {
  ELIDER_ASSIGN(auto hashed, db.create_table<std::string_view>(RowSchema("hashed described").hashed().column("n", RowType::kUInt64)));
  ELIDER_ASSIGN(auto tuples, db.create_table<std::tuple<std::string, uint32_t>>(
                                 RowSchema("described tuples").column("note", RowType::kText, {.nullable = true})));
  ELIDER_ASSIGN(auto indexed, db.create_table(RowSchema("indexed")
                                                  .column("kind", RowType::kText)
                                                  .column("gone", RowType::kText, {.nullable = true})
                                                  .column("price", RowType::kDecimal, {.nullable = true, .scale = 2})
                                                  .row_bytes_max(2u << 20)
                                                  .index("by_price", {"kind", descending("price")})
                                                  .unique_index("by_kind", {"kind"})));
  RowBuilder item(indexed);
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    for (uint64_t i = 0; i < 20; ++i)
      ELIDER_TRY(txn.insert(indexed, i, item.begin().set("kind", std::to_string(i)).set("gone", "x").set("price", Decimal{int64_t(i), 1})));
    return {};
  }));
  ELIDER_TRY(db.drop_column("indexed", "gone"));
  ELIDER_TRY(db.add_column("indexed", "added", RowType::kText, {.default_value = "new"}));
  ELIDER_ASSIGN(auto documents, db.create_table(RowSchema("documents").column("document", RowType::kJson)));
  ELIDER_TRY(db.create_table(RowSchema("empty").column("n", RowType::kInt8)));
  ELIDER_ASSIGN(Sequence sequence, db.sequence("order ids", SequenceOptions{.start = 100, .chunk = 10}));
  ELIDER_TRY(sequence.next());
  RowBuilder number(hashed), note(tuples), document(documents);
  return db.run([&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.insert(documents, 1, document.begin().set("document", "[1e400, -0.0,\n\t1e-400]")));
    for (uint64_t i = 0; i < 40; ++i) {
      ELIDER_TRY(txn.insert(hashed, std::to_string(i * i), number.begin().set("n", i)));
      ELIDER_TRY(txn.insert(tuples, {i % 2 == 0 ? "eu" : "us", static_cast<uint32_t>(i)}, note.begin().set("note", std::to_string(i))));
    }
    return {};
  });
}

// One table with the columns of orders: text, numbers, times.
Status write_many(Database& db, uint64_t rows) {
  ELIDER_ASSIGN(auto orders, db.create_table(RowSchema("orders")
                                                 .column("customer", RowType::kText)
                                                 .column("price", RowType::kDouble)
                                                 .column("quantity", RowType::kInt32)
                                                 .column("placed", RowType::kInt64)
                                                 .column("note", RowType::kText, {.nullable = true})));
  RowBuilder row(orders);
  for (uint64_t begin = 0; begin < rows; begin += 1000)
    ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
      for (uint64_t i = begin; i < begin + 1000 && i < rows; ++i) {
        const uint64_t mixed = i * 0x9e3779b97f4a7c15 >> 20;
        row.begin().set(0, "customer " + std::to_string(mixed % 100000)).set(1, static_cast<double>(mixed % 1000000) / 100);
        row.set(2, static_cast<int32_t>(mixed % 100)).set(3, static_cast<int64_t>(1'700'000'000'000'000 + mixed));
        if (i % 3 == 0) row.set(4, "left at the door");
        ELIDER_TRY(txn.insert(orders, i, row));
      }
      return {};
    }));
  return db.checkpoint();
}

Status write(const char* folder, uint64_t rows) {
  Options options;
  options.data_folders = {folder};
  options.error_if_exists = true;
  ELIDER_ASSIGN(Database db, Database::open(options));
  if (rows != 0) return write_many(db, rows);
  ELIDER_TRY(write_structs(db));
  ELIDER_TRY(write_sized(db));
  ELIDER_TRY(write_tuples(db));
  ELIDER_TRY(write_described(db));
  ELIDER_TRY(write_more_described(db));
  return db.wait_durable();
}

}  // namespace

int main(int count, char** words) {
  const bool many = count == 4 && std::strcmp(words[2], "--rows") == 0;
  if (count != 2 && !many) {
    std::fprintf(stderr, "usage: commands_rows_fixture FOLDER [--rows N]\n");
    return 2;
  }
  const Status status = write(words[1], many ? std::strtoull(words[3], nullptr, 10) : 0);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
