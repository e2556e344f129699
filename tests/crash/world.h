// World: the tables that the crash tests write to. Functions read a database's whole state as
// bytes, and compare two states.
//
// The tables cover everything that recovery has to put together: several tables, some of which are
// created during the run, column groups, additions, secondary indexes, rows stored as blocks, keys
// that are removed and inserted again, byte and tuple keys in each kind of index, structs with text
// (described rows) that grow and shrink, and values without columns.
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "elider/elider.h"

namespace elider::crash {

// One row per session, whose number is the key: how many of its transactions have committed.
struct Progress {
  uint64_t count = 0;
  uint64_t twice = 0;  // in a group of its own: 2 * count
};
// Shared by all sessions; the version rises with every write of any of them.
struct Account {
  uint64_t version = 0;
  int64_t balance = 0;
  uint32_t branch = 0;
  uint32_t transfers = 0;
};
// The transactions only add to these rows.
struct Hot {
  int64_t sum = 0;
  uint64_t count = 0;
};
// Each row belongs to one session, which inserts and removes it. It is large enough to be stored as
// a block.
struct Item {
  uint64_t version = 0;
  std::array<char, 88> text{};
};
// Each row belongs to one session. Its key is a byte string or a tuple.
struct Word {
  uint64_t version = 0;
  uint64_t mark = 0;  // in a group of its own; in one table also with a secondary index
};

// Each row belongs to one session. Its text has up to a few hundred bytes.
struct Note {
  uint64_t version = 0;
  std::optional<Text> text{};
  Bytes mark{};
};

enum class TableId : uint8_t { kProgress, kAccounts, kHot, kItems, kLate };  // kLate + i: made during the run
inline constexpr uint32_t kLateTables = 3;
inline constexpr uint32_t kFirstWords = static_cast<uint32_t>(TableId::kLate) + kLateTables;  // all but the first are made during the run
inline constexpr uint32_t kByteTables = 3;  // kFirstWords + i: byte keys in each kind of index
inline constexpr uint32_t kTupleTable = kFirstWords + kByteTables;
inline constexpr uint32_t kNotes = kTupleTable + 1;  // made during the run, as is the next one
inline constexpr uint32_t kValues = kNotes + 1;
inline constexpr uint32_t kTables = kValues + 1;
inline constexpr Key kAccounts = 12;
inline constexpr Key kHotRows = 2;
inline constexpr Key kItemsOfSession = 6;
inline constexpr uint32_t kSessionsMax = 6;
inline constexpr Key item_key(uint32_t session, uint64_t item) { return uint64_t{session} * 1000 + item; }

static_assert(std::has_unique_object_representations_v<Progress> && std::has_unique_object_representations_v<Account> &&
                  std::has_unique_object_representations_v<Hot> && std::has_unique_object_representations_v<Item> &&
                  std::has_unique_object_representations_v<Word>,
              "rows are compared as bytes");

inline std::string table_name(uint32_t table) {
  static const char* const kNames[] = {"progress", "accounts", "hot", "items"};
  if (table >= kNotes) return table == kNotes ? "notes" : "values";
  if (table >= kFirstWords) return table == kTupleTable ? "tuples" : "words" + std::to_string(table - kFirstWords);
  return table < 4 ? kNames[table] : "late" + std::to_string(table - 4);
}

// A row of `words` and `tuples` is named by the number item_key(session, item). These keys share
// their first 8 bytes or long prefixes, or are empty or as long as a key can be.
inline std::string text_key(Key number) {
  const auto session = static_cast<char>('0' + number / 1000);
  switch (number % 1000) {
    case 0: return session == '1' ? std::string() : std::string(1, session);
    case 1: return std::string("12345678") + session;
    case 2: return std::string("12345678") + session + '\0';
    case 3: return std::string(40, 'p') + session;
    case 4: return std::string(40, 'p') + session + "q";
    default: return std::string(kKeyBytesMax - 1, 'L') + session;
  }
}
using TupleKey = std::tuple<Descending<uint32_t>, std::string, std::optional<int64_t>>;
inline TupleKey tuple_key(Key number) {
  const Key item = number % 1000;
  return {{static_cast<uint32_t>(number / 1000)}, item < 3 ? std::string("a\0b", 3) : std::string(20, 'b'),
          item % 3 == 0 ? std::nullopt : std::optional(item % 3 == 1 ? -1 : int64_t{70'000})};
}

inline SchemaOf<Progress> progress_schema() {
  SchemaOf<Progress> schema(table_name(0));
  schema.column("count", &Progress::count).column("twice", &Progress::twice).group({"twice"});
  return schema;
}
inline SchemaOf<Account> account_schema() {
  SchemaOf<Account> schema(table_name(1));
  schema.column("version", &Account::version)
      .column("balance", &Account::balance)
      .column("branch", &Account::branch)
      .column("transfers", &Account::transfers)
      .group({"balance"})
      .group({"transfers"})
      .index("by_branch", {"branch"}, [](const Account& account) { return uint64_t{account.branch}; });
  return schema;
}
inline SchemaOf<Hot> hot_schema() {
  SchemaOf<Hot> schema(table_name(2));
  schema.hashed().column("sum", &Hot::sum).column("count", &Hot::count).group({"sum"});
  return schema;
}
inline SchemaOf<Item> item_schema(uint32_t table = static_cast<uint32_t>(TableId::kItems)) {
  SchemaOf<Item> schema(table_name(table));
  schema.column("version", &Item::version).column("text", &Item::text);
  return schema;
}

inline SchemaOf<Word, std::string_view> word_schema(uint32_t table) {
  SchemaOf<Word, std::string_view> schema(table_name(table));
  schema.key_index(std::array{KeyIndex::kRadix, KeyIndex::kHashed, KeyIndex::kOrdered}[table - kFirstWords]);
  schema.column("version", &Word::version).column("mark", &Word::mark).group({"mark"});
  if (table == kFirstWords) schema.index("by_mark", {"mark"}, [](const Word& word) { return word.mark; });
  return schema;
}
inline SchemaOf<Word, TupleKey> tuple_schema() {
  SchemaOf<Word, TupleKey> schema(table_name(kTupleTable));
  schema.column("version", &Word::version).column("mark", &Word::mark).group({"mark"});
  return schema.index("by_mark", {descending("mark"), "version"});
}
inline RowsOf<Note> note_rows() {
  return RowsOf<Note>(table_name(kNotes))
      .column("version", &Note::version)
      .column("text", &Note::text)
      .column("mark", &Note::mark)
      .index("by_mark", {descending("mark"), "version"});
}
inline ValueSchema<> value_schema() { return ValueSchema(table_name(kValues)); }
// The schemas whose key functions opening needs. Opening creates these tables. The index of the
// tuples is by columns, so opening does not need their schema.
inline std::vector<Schema> schemas_with_indexes() { return {account_schema().schema(), word_schema(kFirstWords).schema()}; }

struct Tables {
  Table<Progress> progress;
  Table<Account> accounts;
  Table<Hot> hot;
  Table<Item> items;
};
inline Result<Tables> create_tables(Database& db) {
  auto progress = db.create_table(progress_schema());
  if (!progress.ok()) return progress.status();
  auto accounts = db.create_table(account_schema());
  if (!accounts.ok()) return accounts.status();
  auto hot = db.create_table(hot_schema());
  if (!hot.ok()) return hot.status();
  auto items = db.create_table(item_schema());
  if (!items.ok()) return items.status();
  return Tables{*progress, *accounts, *hot, *items};
}

// -- the whole state ------------------------------------------------------------------------------

// A row's place: the table in the high byte, then the key.
inline constexpr uint64_t place_of(uint32_t table, Key key) { return uint64_t{table} << 56 | key; }
inline constexpr uint64_t place_of(TableId table, Key key) { return place_of(static_cast<uint32_t>(table), key); }
using State = std::map<uint64_t, std::string>;

template <class Row>
std::string bytes_of(const Row& row) {
  return std::string(reinterpret_cast<const char*>(&row), sizeof row);
}
// The bytes of a row that an encoded table stores.
template <class Encoded, class Row>
std::string encoded_bytes_of(const Encoded& table, const Row& row) {
  const auto bytes = table.finished(row);
  return bytes.ok() ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : bytes.status().message();
}
template <class Row>
Row row_of(const std::string& bytes) {
  Row row;
  std::memcpy(&row, bytes.data(), sizeof row);
  return row;
}

inline std::string describe(uint64_t place) {
  return "row " + std::to_string(place << 8 >> 8) + " of table '" + table_name(static_cast<uint32_t>(place >> 56)) + "'";
}

// Returns the numbers of the keys of a table of byte strings or tuples.
inline const std::map<std::string, Key>& numbers_of_keys(bool tuples) {
  static const auto make = [](bool of_tuples) {
    std::map<std::string, Key> numbers;
    for (uint32_t session = 0; session < kSessionsMax; ++session)
      for (Key item = 0; item < kItemsOfSession; ++item) {
        const Key number = item_key(session, item);
        EncodedTuple tuple;
        const bool encoded = of_tuples && tuple.set_tuple(tuple_key(number)).ok();
        numbers[encoded ? std::string(tuple.text()) : text_key(number)] = number;
      }
    return numbers;
  };
  static const std::map<std::string, Key> texts = make(false), of_tuples = make(true);
  return tuples ? of_tuples : texts;
}

// keep(Key, RawView) -> bool
template <class Keep>
Status read_byte_keys(Transaction& txn, const TableRef& table, bool tuples, Keep&& keep) {
  const std::map<std::string, Key>& numbers = numbers_of_keys(tuples);
  if (!is_ordered(table.schema().key_index)) {
    for (const auto& [text, number] : numbers) {
      RawView view;
      Status status = txn.get(table, text, ColumnsRef{}, &view);
      if (status.ok()) keep(number, view);
      else if (!status.not_found()) return status;
    }
    return {};
  }
  std::string unknown;
  Status status = txn.scan(table, ByteRange::all(), ScanOptions{}, [&](Bytes key, RawView view) {
    const auto found = numbers.find(key.to_string());
    if (found == numbers.end()) unknown = "there is a key of " + std::to_string(key.size()) + " bytes in '" + table.schema().name + "'";
    return found != numbers.end() && keep(found->second, view);
  });
  return unknown.empty() ? status : Status(Code::kCorrupt, unknown);
}

// Reads every row of every table. A table that is not one of these is an error.
inline Status read_state(Database& db, State* state) {
  state->clear();
  std::vector<TableRef> tables(kTables);
  for (const TableRef& table : db.tables()) {
    uint32_t id = 0;
    while (id < kTables && table_name(id) != table.schema().name) ++id;
    if (id == kTables) return Status(Code::kCorrupt, "there is a table '" + table.schema().name + "'");
    tables[id] = table;
  }
  return db.run_read_only([&](Transaction& txn) -> Status {
    state->clear();
    for (uint32_t id = 0; id < kTables; ++id) {
      if (!tables[id]) continue;
      const auto keep = [&](Key key, RawView view) {
        state->emplace(place_of(id, key), std::string(reinterpret_cast<const char*>(view.bytes()), view.size()));
        return true;
      };
      if (tables[id].byte_keys()) {
        if (Status status = read_byte_keys(txn, tables[id], id == kTupleTable, keep); !status.ok()) return status;
        continue;
      }
      if (is_ordered(tables[id].schema().key_index)) {
        if (Status status = txn.scan(tables[id], KeyRange{}, ScanOptions{}, keep); !status.ok()) return status;
        continue;
      }
      for (Key key = 0; key < kHotRows; ++key) {
        RawView view;
        Status status = txn.get(tables[id], key, ColumnsRef{}, &view);
        if (status.ok()) keep(key, view);
        else if (!status.not_found()) return status;
      }
    }
    return {};
  });
}

// Returns an empty text, or the first difference.
inline std::string difference(const State& expected, const State& found) {
  for (const auto& [place, bytes] : expected) {
    const auto there = found.find(place);
    if (there == found.end()) return describe(place) + " is missing";
    if (there->second != bytes) return describe(place) + " has other contents";
  }
  for (const auto& [place, bytes] : found)
    if (!expected.contains(place)) return describe(place) + " should not be there";
  return "";
}

}  // namespace elider::crash
