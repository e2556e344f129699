// The transactions that made the databases of tests/golden, and the rows that the databases
// contain. Neither may change, because the folders do not change. A later format adds tables:
// version 2 added the notes, and version 3 the words and texts. database-v3-keys has tables of the
// same format, for the other kinds of keys and indexes: signs, names, orders and prices.
//
// The databases have tables with one and with several column groups, with indexes, hashed, with
// variable-size rows, and with byte and tuple keys. There is a checkpoint after half of the
// commits, a second opening, which creates another table, and log entries of all kinds in two
// streams. Thread safety: none.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "tests/support/memory_files.h"

namespace elider::golden {

// A column of each type.
struct Kinds {
  int8_t i8 = 0;
  uint8_t u8 = 0;
  int16_t i16 = 0;
  uint16_t u16 = 0;
  std::array<char, 2> two{};
  int32_t i32 = 0;
  uint32_t u32 = 0;
  int64_t i64 = 0;
  uint64_t u64 = 0;
  float f32 = 0;
  std::array<char, 4> four{};
  double f64 = 0;
  friend bool operator==(const Kinds&, const Kinds&) = default;
};
static_assert(sizeof(Kinds) == 48, "no bytes of no member, which would be of no known value");
// Has two column groups.
struct Stock {
  uint64_t item = 0;
  int64_t amount = 0;
  uint64_t rest = 0;  // no column describes it
  uint32_t orders = 0;
  uint32_t place = 0;
  friend bool operator==(const Stock&, const Stock&) = default;
};
// Has three column groups and two secondary indexes.
struct Customer {
  uint64_t owner = 0;
  int64_t balance = 0;
  uint32_t branch = 0;
  uint32_t flags = 0;
  friend bool operator==(const Customer&, const Customer&) = default;
};
struct Counter {
  int64_t sum = 0;
  double weight = 0;
  friend bool operator==(const Counter&, const Counter&) = default;
};
// Large enough to be kept as a block; its table is made last.
struct Paper {
  uint64_t revision = 0;
  std::array<char, 88> text{};
  friend bool operator==(const Paper&, const Paper&) = default;
};

inline SchemaOf<Kinds> kinds_schema() {
  SchemaOf<Kinds> schema("kinds");
  schema.column("i8", &Kinds::i8).column("u8", &Kinds::u8).column("i16", &Kinds::i16).column("u16", &Kinds::u16);
  schema.column("two", &Kinds::two).column("i32", &Kinds::i32).column("u32", &Kinds::u32).column("i64", &Kinds::i64);
  return schema.column("u64", &Kinds::u64).column("f32", &Kinds::f32).column("four", &Kinds::four).column("f64", &Kinds::f64);
}
inline SchemaOf<Stock> stock_schema() {
  SchemaOf<Stock> schema("stock");
  schema.column("item", &Stock::item).column("amount", &Stock::amount).column("orders", &Stock::orders).column("place", &Stock::place);
  return schema.group({"amount", "orders"});
}
inline SchemaOf<Customer> customer_schema() {
  SchemaOf<Customer> schema("customers");
  schema.column("owner", &Customer::owner).column("balance", &Customer::balance);
  schema.column("branch", &Customer::branch).column("flags", &Customer::flags).group({"balance"}).group({"flags"});
  schema.index("by_branch", {"branch"}, [](const Customer& customer) { return uint64_t{customer.branch}; });
  return schema.unique_index("by_owner", {"owner"}, [](const Customer& customer) { return customer.owner; });
}
inline SchemaOf<Counter> counter_schema() {
  SchemaOf<Counter> schema("counters");
  return schema.hashed().column("sum", &Counter::sum).column("weight", &Counter::weight);
}
inline SchemaOf<Paper> paper_schema() {
  SchemaOf<Paper> schema("papers");
  return schema.column("revision", &Paper::revision).column("text", &Paper::text);
}

// A number, and text of any length.
inline Schema note_schema() {
  Schema schema;
  schema.name = "notes";
  schema.row_bytes = 2000;
  schema.sized_rows = true;
  schema.columns = {{"n", ColumnType::kUInt64, 0, 8, 0}};
  return schema;
}
// Byte keys.
struct Word {
  uint64_t length = 0;
  int64_t uses = 0;
  friend bool operator==(const Word&, const Word&) = default;
};
inline SchemaOf<Word, std::string_view> word_schema() {
  SchemaOf<Word, std::string_view> schema("words");
  schema.column("length", &Word::length).column("uses", &Word::uses);
  return schema.group({"uses"});
}
// Byte keys and variable-size rows.
inline Schema text_schema() {
  Schema schema;
  schema.name = "texts";
  schema.key_index = KeyIndex::kRadix;
  schema.key_kind = KeyKind::kBytes;
  schema.row_bytes = 2000;
  schema.sized_rows = true;
  return schema;
}
// Byte keys in a hash table, and in a B+-tree with a secondary index.
inline SchemaOf<Word, std::string_view> sign_schema() {
  SchemaOf<Word, std::string_view> schema("signs");
  return schema.hashed().column("length", &Word::length).column("uses", &Word::uses);
}
inline SchemaOf<Word, std::string_view> name_schema() {
  SchemaOf<Word, std::string_view> schema("names");
  schema.ordered().column("length", &Word::length).column("uses", &Word::uses).group({"uses"});
  return schema.index("by_length", {"length"}, [](const Word& word) { return word.length; });
}
// Tuple keys in a radix tree and in a B+-tree.
using OrderKey = std::tuple<uint16_t, std::string, Descending<int64_t>, std::optional<int32_t>>;
inline SchemaOf<Word, OrderKey> order_schema() {
  SchemaOf<Word, OrderKey> schema("orders");
  return schema.column("length", &Word::length).column("uses", &Word::uses).group({"uses"});
}
using PriceKey = std::tuple<Descending<std::string>, std::optional<Descending<bool>>>;
inline SchemaOf<Word, PriceKey> price_schema() {
  SchemaOf<Word, PriceKey> schema("prices");
  return schema.ordered().column("length", &Word::length).column("uses", &Word::uses);
}
inline std::string note_of(uint64_t n, const std::string& text) { return std::string(reinterpret_cast<const char*>(&n), sizeof n) + text; }

inline Options golden_options() {
  Options options;
  options.sync = SyncPolicy::kOptimistic;
  options.huge_pages = false;
  options.workers_max = 8;
  options.block_threshold_bytes = 64;
  options.data_folders = {"db"};
  options.log_threads = 2;
  options.log_segment_bytes = 4096;
  options.log_buffer_bytes = 4096;
  options.schemas = {kinds_schema(), stock_schema(), customer_schema()};  // in the order of their ids
  return options;
}

// -- the rows -------------------------------------------------------------------------------------

inline const std::string kLongWord(kKeyBytesMax, 'w');
inline constexpr Key kFarKey = ~uint64_t{0} - 1;  // a varint of ten bytes

inline Kinds kinds_of(int value) {
  const auto narrow = static_cast<int8_t>(value);
  return {.i8 = narrow,
          .u8 = static_cast<uint8_t>(narrow),
          .i16 = narrow,
          .u16 = static_cast<uint16_t>(narrow),
          .two = {'a', 'b'},
          .i32 = narrow,
          .u32 = static_cast<uint32_t>(narrow),
          .i64 = narrow,
          .u64 = static_cast<uint64_t>(narrow),
          .f32 = 0.5f * static_cast<float>(narrow),
          .four = {'c', 'd', 'e', 'f'},
          .f64 = 0.25 * narrow};
}
inline Paper paper_of(uint64_t revision) {
  Paper paper{revision, {}};
  paper.text.fill(static_cast<char>('0' + revision % 10));
  return paper;
}

struct Rows {
  std::map<Key, Kinds> kinds;
  std::map<Key, Stock> stock;
  std::map<Key, Customer> customers;
  std::map<Key, Counter> counters;
  std::map<Key, Paper> papers;
  std::map<Key, std::string> notes;
  std::map<std::string, Word> words;
  std::map<std::string, std::string> texts;
  std::map<std::string, Word> signs, names;
  std::map<OrderKey, Word> orders;
  std::map<PriceKey, Word> prices;
};

// Written down once more, and not computed by what the commits do.
inline Rows expected_rows() {
  Rows rows;
  rows.kinds = {{0, kinds_of(0)}, {1, kinds_of(-1)}, {200, kinds_of(100)}, {kFarKey, kinds_of(-128)}};
  rows.stock = {{1, {101, 94, 201, 7, 3}},   {2, {102, 100, 202, 0, 1}},          {3, {103, -900, 203, 1, 1}}, {5, {55, 56, 57, 58, 59}},
                {1000, {1, 2, 3, 4, 5}},     {1001, {2, 4, 6, 8, 10}},            {1002, {3, 6, 9, 12, 15}},   {999, {4, 8, 12, 16, 20}}};
  rows.customers = {{1, {11, 350, 2, 5}}, {2, {12, 20, 7, 0}}, {4, {13, 40, 7, 1}}};
  rows.counters = {{1, {42, 2.5}}, {2, {-5, 0}}};
  rows.papers = {{8, paper_of(3)}, {9, paper_of(2)}};
  rows.notes = {{1, note_of(111, "one")}, {2, note_of(2, "shorter")}, {4, note_of(4, std::string(1000, 'l'))}};
  rows.words = {{"", {0, 3}}, {"apple", {5, 1}}, {"apples", {6, 2}}, {"application", {11, -4}}, {kLongWord, {1024, 7}}, {"zebra", {5, 0}}};
  rows.texts = {{"a/1", "one"}, {"a/2", std::string(700, 'u')}, {std::string("a\0b", 3), "x"}};
  rows.signs = {{"", {1, 2}}, {"12345678", {2, 3}}, {"123456789", {3, 4}}, {kLongWord, {5, 6}}};
  rows.names = {{"", {7, 1}}, {"12345678", {7, 12}}, {std::string("12345678\0", 9), {8, 1}}, {"user:1000001", {8, -1}}};
  rows.orders = {{{1, "", {-1}, std::nullopt}, {1, 1}},
                 {{1, "shop", {int64_t{1} << 40}, 70'000}, {2, 22}},
                 {{1, "shop", {5}, std::nullopt}, {3, 3}},
                 {{1, std::string("shop\0", 5), {5}, -1}, {4, 4}},
                 {{65'535, "naïve", {5}, 0}, {6, 6}}};
  rows.prices = {{{{"b"}, std::nullopt}, {1, 2}}, {{{"a"}, Descending<bool>{true}}, {2, 0}}, {{{""}, Descending<bool>{false}}, {3, 1}}};
  return rows;
}

// -- the commits ----------------------------------------------------------------------------------

// Runs `body` and waits until it is durable. Each stream has every other worker: what is held
// makes the next one's turn.
template <class Body>
Status commit(Database& db, bool second_stream, Body&& body) {
  ActiveTransaction held;
  if (second_stream) {
    auto begun = db.begin();
    if (!begun.ok()) return begun.status();
    held = std::move(*begun);
  }
  if (Status status = db.run(body); !status.ok()) return status;
  return db.wait_durable();
}

inline Status put_note(Transaction& txn, TableRef notes, Key key, const std::string& note) {
  return txn.put(notes, key, std::as_bytes(std::span(note)));
}

inline Status put_text(Transaction& txn, TableRef texts, std::string_view key, const std::string& text) {
  return txn.put(texts, key, std::as_bytes(std::span(text)));
}

inline Status first_opening() {
  auto opened = Database::open(golden_options());
  if (!opened.ok()) return opened.status();
  Database db = std::move(*opened);
  const auto kinds = db.create_table(kinds_schema());
  const auto stock = db.create_table(stock_schema());
  const auto customers = db.create_table(customer_schema());
  const auto counters = db.create_table(counter_schema());
  const auto notes = db.create_table(note_schema());
  const auto words = db.create_table(word_schema());
  const auto texts = db.create_table(text_schema());
  for (const Status& made :
       {kinds.status(), stock.status(), customers.status(), counters.status(), notes.status(), words.status(), texts.status()})
    if (!made.ok()) return made;
  Status status = commit(db, false, [&](Transaction& txn) -> Status {
    for (const auto& [key, value] : std::map<Key, int>{{0, 0}, {1, 1}, {200, 100}, {kFarKey, -128}})
      if (Status put = txn.insert(*kinds, key, kinds_of(value)); !put.ok()) return put;
    for (const auto& [key, text] : std::map<Key, std::string>{{1, "one"}, {2, std::string(300, 't')}, {3, ""}})
      if (Status put = put_note(txn, *notes, key, note_of(key, text)); !put.ok()) return put;
    for (Key key = 1; key <= 5; ++key)
      if (Status put = txn.insert(*stock, key, {100 + key, 100, 200 + key, 0, 1}); !put.ok()) return put;
    for (const std::string& word : {std::string(), std::string("apple"), std::string("apples"), std::string("gone"), kLongWord})
      if (Status put = txn.insert(*words, word, {word.size(), 1}); !put.ok()) return put;
    if (Status put = put_text(txn, *texts, "a/1", "one"); !put.ok()) return put;
    if (Status put = put_text(txn, *texts, "a/2", std::string(300, 't')); !put.ok()) return put;
    return put_text(txn, *texts, "b", "removed later");
  });
  if (status.ok()) status = commit(db, true, [&](Transaction& txn) -> Status {
    if (Status put = txn.insert(*customers, 1, {11, 300, 1, 0}); !put.ok()) return put;
    if (Status put = txn.insert(*customers, 2, {12, 20, 7, 0}); !put.ok()) return put;
    if (Status put = txn.insert(*customers, 3, {13, 30, 7, 0}); !put.ok()) return put;
    return txn.insert(*counters, 1, {40, 2.5});
  });
  if (status.ok()) status = db.checkpoint();
  // After the checkpoint: changes of some columns, additions and removals. One addition has other
  // columns of its group in the same commit.
  if (status.ok()) status = commit(db, false, [&](Transaction& txn) -> Status {
    if (Status put = txn.update(*stock, 1, stock->columns(&Stock::place), [](Stock& row) { row.place = 3; }); !put.ok()) return put;
    if (Status put = txn.update(*stock, 1, stock->columns(&Stock::orders), [](Stock& row) { row.orders = 7; }); !put.ok()) return put;
    if (Status put = txn.add(*stock, 3, &Stock::amount, -1000); !put.ok()) return put;
    if (Status put = txn.add(*stock, 3, &Stock::orders, 1); !put.ok()) return put;
    if (Status put = put_note(txn, *notes, 2, note_of(2, "shorter")); !put.ok()) return put;
    if (Status put = txn.remove(*notes, 3); !put.ok()) return put;
    // Entries with shared prefixes, also between entries with number keys.
    if (Status put = txn.add(*words, "apples", &Word::uses, 1); !put.ok()) return put;
    if (Status put = txn.insert(*words, "application", {11, -4}); !put.ok()) return put;
    if (Status put = put_text(txn, *texts, "a/2", std::string(700, 'u')); !put.ok()) return put;
    if (Status put = txn.remove(*texts, "b"); !put.ok()) return put;
    if (Status put = txn.remove(*words, "gone"); !put.ok()) return put;
    return txn.remove(*stock, 4);
  });
  if (status.ok()) status = commit(db, true, [&](Transaction& txn) -> Status {
    if (Status put = txn.put(*stock, 5, {55, 56, 57, 58, 59}); !put.ok()) return put;
    if (Status put = txn.update(*customers, 1, customers->columns(&Customer::branch), [](Customer& row) { row.branch = 2; }); !put.ok())
      return put;
    if (Status put = txn.add(*customers, 1, &Customer::balance, 50); !put.ok()) return put;
    return txn.remove(*customers, 3);
  });
  return status;
}

inline Status second_opening() {
  auto opened = Database::open(golden_options());
  if (!opened.ok()) return opened.status();
  Database db = std::move(*opened);
  const auto kinds = db.table<Kinds>("kinds");
  const auto stock = db.table<Stock>("stock");
  const auto customers = db.table<Customer>("customers");
  const auto counters = db.table<Counter>("counters");
  const auto papers = db.create_table(paper_schema());
  const auto notes = db.table("notes");
  const auto words = db.table<Word, std::string_view>("words");
  const auto texts = db.table("texts");
  for (const Status& made : {kinds.status(), stock.status(), customers.status(), counters.status(), papers.status(), notes.status(),
                             words.status(), texts.status()})
    if (!made.ok()) return made;
  // Alike, with keys up and down.
  Status status = commit(db, false, [&](Transaction& txn) -> Status {
    uint32_t times = 0;
    for (const Key key : std::array<Key, 4>{1000, 1001, 1002, 999}) {
      ++times;
      if (Status put = txn.insert(*stock, key, {times, 2 * times, 3 * times, 4 * times, 5 * times}); !put.ok()) return put;
    }
    if (Status put = txn.add(*stock, 1, &Stock::amount, -6); !put.ok()) return put;
    if (Status put = put_note(txn, *notes, 4, note_of(4, std::string(1000, 'l'))); !put.ok()) return put;
    const uint64_t hundred_and_ten = 110;
    if (Status put = txn.add(*notes, 1, 0, ColumnType::kUInt64, &hundred_and_ten); !put.ok()) return put;
    return txn.add(*counters, 1, &Counter::sum, 2);
  });
  if (status.ok()) status = commit(db, true, [&](Transaction& txn) -> Status {
    if (Status put = txn.insert(*papers, 8, paper_of(1)); !put.ok()) return put;
    if (Status put = txn.insert(*papers, 9, paper_of(2)); !put.ok()) return put;
    if (Status put = txn.insert(*customers, 4, {13, 40, 7, 1}); !put.ok()) return put;  // the owner of a row that is gone
    if (Status put = txn.add(*words, "", &Word::uses, 2); !put.ok()) return put;
    if (Status put = txn.add(*words, kLongWord, &Word::uses, 6); !put.ok()) return put;
    if (Status put = txn.insert(*words, "zebra", {5, 0}); !put.ok()) return put;
    if (Status put = put_text(txn, *texts, std::string_view("a\0b", 3), "x"); !put.ok()) return put;
    return txn.insert(*counters, 2, {-5, 0});
  });
  if (status.ok()) status = commit(db, true, [&](Transaction& txn) -> Status {
    if (Status put = txn.put(*papers, 8, paper_of(3)); !put.ok()) return put;
    if (Status put = txn.update(*customers, 1, customers->columns(&Customer::flags), [](Customer& row) { row.flags = 5; }); !put.ok())
      return put;
    return txn.put(*kinds, 1, kinds_of(-1));
  });
  return status;
}

// -- the commits of database-v3-keys --------------------------------------------------------------

struct KeyTables {
  Table<Word, std::string_view> signs, names;
  Table<Word, OrderKey> orders;
  Table<Word, PriceKey> prices;
};
inline Result<KeyTables> make_key_tables(Database& db) {
  const auto signs = db.create_table(sign_schema()), names = db.create_table(name_schema());
  const auto orders = db.create_table(order_schema());
  const auto prices = db.create_table(price_schema());
  for (const Status& made : {signs.status(), names.status(), orders.status(), prices.status()})
    if (!made.ok()) return made;
  return KeyTables{*signs, *names, *orders, *prices};
}

// There is a checkpoint after the first commit.
inline Status commits_before_checkpoint(Database& db, const KeyTables& t) {
  return commit(db, false, [&](Transaction& txn) -> Status {
    // A checkpoint has the rows of a hash table in random order, so there is one.
    if (Status put = txn.insert(t.signs, "12345678", {1, 2}); !put.ok()) return put;
    for (const std::string_view name : {std::string_view(), std::string_view("12345678"), std::string_view("gone")})
      if (Status put = txn.insert(t.names, name, {7, 1}); !put.ok()) return put;
    if (Status put = txn.insert(t.orders, {1, "", {-1}, std::nullopt}, {1, 1}); !put.ok()) return put;
    if (Status put = txn.insert(t.orders, {1, "shop", {int64_t{1} << 40}, 70'000}, {2, 2}); !put.ok()) return put;
    if (Status put = txn.insert(t.orders, {2, "gone", {0}, 1}, {0, 0}); !put.ok()) return put;
    if (Status put = txn.insert(t.prices, {{"b"}, std::nullopt}, {1, 1}); !put.ok()) return put;
    return txn.insert(t.prices, {{"gone"}, std::nullopt}, {0, 0});
  });
}
inline Status commits_after_checkpoint(Database& db, const KeyTables& t) {
  Status status = commit(db, true, [&](Transaction& txn) -> Status {
    if (Status put = txn.put(t.signs, "12345678", {2, 3}); !put.ok()) return put;
    if (Status put = txn.insert(t.signs, "123456789", {3, 4}); !put.ok()) return put;
    if (Status put = txn.insert(t.signs, "", {1, 2}); !put.ok()) return put;
    if (Status put = txn.insert(t.signs, "gone", {1, 2}); !put.ok()) return put;
    if (Status put = txn.add(t.names, "12345678", &Word::uses, 11); !put.ok()) return put;
    if (Status put = txn.insert(t.names, std::string_view("12345678\0", 9), {8, 1}); !put.ok()) return put;
    if (Status put = txn.remove(t.names, "gone"); !put.ok()) return put;
    if (Status put = txn.add(t.orders, {1, "shop", {int64_t{1} << 40}, 70'000}, &Word::uses, 20); !put.ok()) return put;
    if (Status put = txn.insert(t.orders, {1, "shop", {5}, std::nullopt}, {3, 3}); !put.ok()) return put;
    return txn.remove(t.orders, {2, "gone", {0}, 1});
  });
  if (status.ok()) status = commit(db, false, [&](Transaction& txn) -> Status {
    if (Status put = txn.insert(t.signs, kLongWord, {5, 6}); !put.ok()) return put;
    if (Status put = txn.remove(t.signs, "gone"); !put.ok()) return put;
    if (Status put = txn.insert(t.names, "user:1000001", {8, -1}); !put.ok()) return put;
    if (Status put = txn.insert(t.orders, {1, std::string("shop\0", 5), {5}, -1}, {4, 4}); !put.ok()) return put;
    if (Status put = txn.insert(t.orders, {65'535, "naïve", {5}, 0}, {6, 6}); !put.ok()) return put;
    if (Status put = txn.update(t.prices, {{"b"}, std::nullopt}, t.prices.columns(&Word::uses), [](Word& row) { row.uses = 2; }); !put.ok())
      return put;
    if (Status put = txn.insert(t.prices, {{"a"}, Descending<bool>{true}}, {2, 0}); !put.ok()) return put;
    if (Status put = txn.insert(t.prices, {{""}, Descending<bool>{false}}, {3, 1}); !put.ok()) return put;
    return txn.remove(t.prices, {{"gone"}, std::nullopt});
  });
  return status;
}
inline Status key_commits() {
  Options options = golden_options();
  options.schemas = {name_schema()};
  auto opened = Database::open(options);
  if (!opened.ok()) return opened.status();
  Database db = std::move(*opened);
  const auto tables = make_key_tables(db);
  Status status = tables.status();
  if (status.ok()) status = commits_before_checkpoint(db, *tables);
  if (status.ok()) status = db.checkpoint();
  return status.ok() ? commits_after_checkpoint(db, *tables) : status;
}

// Returns the database's files in a folder "db", or no file if something failed; *status says
// what. `keys`: the files of database-v3-keys.
inline io::MemoryFiles::Contents golden_database(Status* status, bool keys = false) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  if (keys) {
    *status = key_commits();
    return status->ok() ? files.contents() : io::MemoryFiles::Contents();
  }
  *status = first_opening();
  if (status->ok()) *status = second_opening();
  return status->ok() ? files.contents() : io::MemoryFiles::Contents();
}

}  // namespace elider::golden
