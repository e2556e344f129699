// Writes the first inputs of the fuzz targets: the files of small databases, cut into
// what each target reads. To be run again where a format has changed; what libFuzzer
// has found beside stays good.
//
//   fuzz_make_corpus tests/fuzz/corpus
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "elider/elider.h"
#include "elider/heap.h"
#include "elider/row.h"
#include "elider/tuple.h"
#include "tests/crash/world.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/fuzz/heap_parts.h"
#include "tests/fuzz/row_schemas.h"

namespace elider::fuzz {
namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}
std::string text_of(log::Bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

// Every kind of entry and of table, without secondary indexes, whose key functions
// no input can bring along.
io::MemoryFiles::Contents small_database(int transactions, bool checkpoint) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  Options options;
  options.data_folders = kFolders;
  options.block_threshold_bytes = 64;
  auto db = Database::open(options);
  if (!db.ok()) return {};
  auto progress = db->create_table(crash::progress_schema());
  auto hot = db->create_table(crash::hot_schema());
  auto items = db->create_table(crash::item_schema());
  if (!progress.ok() || !hot.ok() || !items.ok()) return {};
  for (int i = 0; i < transactions; ++i) {
    const auto key = static_cast<Key>(i % 4);
    static_cast<void>(db->run([&](Transaction& txn) -> Status {
      static_cast<void>(txn.put(*progress, key, {1, 2}));
      static_cast<void>(txn.insert(*hot, key, {}));
      static_cast<void>(txn.add(*hot, key, &crash::Hot::sum, -5));
      static_cast<void>(txn.update(*progress, key, progress->columns(&crash::Progress::twice), [](crash::Progress& row) { ++row.twice; }));
      return i % 3 == 2 ? txn.remove(*progress, key) : txn.put(*items, key, {});
    }));
    static_cast<void>(db->wait_durable());
  }
  if (checkpoint && !db->checkpoint().ok()) return {};
  db = Database();
  return files.contents();
}

// Makes a database with tables of byte keys in each kind of index, and with a table of tuple keys.
io::MemoryFiles::Contents database_of_keys(int transactions, bool checkpoint) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  Options options;
  options.data_folders = kFolders;
  auto db = Database::open(options);
  if (!db.ok()) return {};
  std::vector<TableRef> tables;
  for (uint32_t id = crash::kFirstWords; id <= crash::kTupleTable; ++id) {
    Schema schema = id == crash::kTupleTable ? crash::tuple_schema().schema() : crash::word_schema(id).schema();
    schema.indexes.clear();
    auto table = db->create_table(schema);
    if (!table.ok()) return {};
    tables.push_back(*table);
  }
  const auto change = [](Transaction& txn, const TableRef& table, Bytes key, int i) -> Status {
    const crash::Word word{static_cast<uint64_t>(i), 1};
    const uint64_t five = 5;
    if (Status put = txn.put(table, key, std::as_bytes(std::span(&word, 1))); !put.ok()) return put;
    if (i % 3 == 2) return txn.remove(table, key);
    return i % 3 == 1 ? txn.add(table, key, offsetof(crash::Word, mark), ColumnType::kUInt64, &five) : Status();
  };
  for (int i = 0; i < transactions; ++i) {
    const Key number = crash::item_key(static_cast<uint32_t>(i % 2), static_cast<Key>(i) % crash::kItemsOfSession);
    EncodedTuple tuple;
    if (!tuple.set_tuple(crash::tuple_key(number)).ok()) return {};
    const Status status = db->run([&](Transaction& txn) -> Status {
      for (const TableRef& table : tables)
        if (Status done = change(txn, table, table.tuple_keys() ? Bytes(tuple.text()) : Bytes(crash::text_key(number)), i); !done.ok())
          return done;
      return {};
    });
    if (!status.ok() || !db->wait_durable().ok()) return {};
  }
  if (checkpoint && !db->checkpoint().ok()) return {};
  db = Database();
  return files.contents();
}

// As segment_fuzz.cc and records_fuzz.cc read them: under the name and the database that they make.
void write_log(const std::filesystem::path& folder, const std::string& name, const io::MemoryFiles::Contents& contents) {
  io::MemoryFiles files(contents);
  std::unique_ptr<log::Directory> directory;
  log::RecoveryFacts facts;
  std::string records;
  if (!log::Directory::open(files, kFolders, false, &directory).ok()) return;
  const auto keep = [&](uint32_t, uint32_t, const log::Record& record) {
    records += static_cast<char>(record.bytes.size() & 0xff);
    records += static_cast<char>(record.bytes.size() >> 8);
    records += text_of(record.bytes);
    return Status();
  };
  if (!directory->recover(log::kNumberMax, keep, &facts).ok()) return;
  write(folder / "records" / name, records);
  std::string segment = text_of(contents.at("db/" + log::file_name({1, 0, 0})));
  std::memcpy(segment.data() + 16, kDatabase.data(), 16);
  write(folder / "segment" / name, std::string(1, '\0') + segment);
  write(folder / "manifest" / name, text_of(contents.at("db/" + std::string(log::kManifestName))));
}

// As checkpoint_fuzz.cc reads them.
void write_checkpoint(const std::filesystem::path& folder, const std::string& name, const io::MemoryFiles::Contents& contents) {
  for (const auto& [path, bytes] : contents) {
    if (path.find("/checkpoint-") == std::string::npos) continue;
    std::string part = text_of(bytes);
    const uint64_t number = 7;
    std::memcpy(part.data() + 16, kDatabase.data(), 16);
    std::memcpy(part.data() + 32, &number, sizeof number);
    write(folder / "checkpoint" / name, std::string(1, '\0') + part);
  }
  write(folder / "manifest" / ("checkpoint_" + name), text_of(contents.at("db/" + std::string(log::kManifestName))));
}

// As heap_fuzz.cc reads them: with transactions in the log alone, and with freed objects.
void write_heap(const std::filesystem::path& folder, const std::string& name, int transactions, bool replays) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  auto heap = Heap::open(kHeapPath, heap_options());
  if (!heap.ok()) return;
  for (int i = 0; i < transactions; ++i) {
    if (replays && i == transactions / 2) static_cast<void>(heap->replay());
    static_cast<void>(heap->transaction([&](HeapTransaction& txn) -> Status {
      const auto root = txn.root<uint64_t>(i % 3 == 2 ? "another" : "root");
      if (root.ok()) txn.write(txn[*root], txn.read(txn[*root]) + 1);
      const auto block = txn.allocate<uint64_t>(static_cast<uint64_t>(1 + i % 9));
      return block.ok() && i % 2 == 0 ? txn.free(*block) : block.status();
    }));
  }
  write(folder / "heap" / name, std::string(1, '\0') + text_of(input_of(files.contents().at(kHeapPath))));
}

// As tuple_fuzz.cc decodes them, and one with all types.
template <class... Fields>
void write_tuple(const std::filesystem::path& folder, const std::string& name, const Fields&... fields) {
  EncodedTuple tuple;
  if (tuple.set(fields...).ok()) write(folder / "tuple" / name, std::string(tuple.text()));
}
void write_tuples(const std::filesystem::path& folder) {
  using namespace std::string_view_literals;
  const Timestamp time(std::chrono::microseconds(1'582'934'400'000'001));
  Uuid uuid;
  for (size_t i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<std::byte>(17 * i);
  const std::byte bytes[] = {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{255}};
  write_tuple(folder, "empty");
  write_tuple(folder, "text_integer", "eu\0\1 na\u00efve \U0001f600"sv, -70'000);
  write_tuple(folder, "text_integers", "a text of some length"sv, 300, std::optional<int8_t>());
  write_tuple(folder, "descending", Descending{"eu\1"}, Descending{~uint64_t{0}});
  write_tuple(folder, "bytes_uuid", std::span(bytes), Descending{uuid}, true);
  write_tuple(folder, "floats_timestamp", -1.5, 1.5f, Descending{time});
  write_tuple(folder, "nested", std::tuple(63, Descending{std::tuple("a"sv)}), nullptr);
  write_tuple(folder, "all", nullptr, false, true, 0, 63, 64, 65'536, -1, -65'537, 2.5f, -2.5, time, "eu"sv, std::span(bytes), uuid,
              std::tuple(std::tuple(), Descending{1}), Descending{std::tuple("b"sv, Descending{2})});
}

// As row_fuzz.cc reads them: the number of a schema, and a row.
void write_rows(const std::filesystem::path& folder) {
  for (size_t number = 0; number < 8; ++number) {
    const RowSchema schema = row_schema_of(number);
    for (const bool full : {false, true}) {
      RowBuilder row(schema);
      for (size_t i = 0; i < schema.columns(); ++i) {
        const RowType type = schema.column(i).type;
        if (schema.column(i).nullable && !full) continue;
        if (type == RowType::kText) row.set(i, "na\u00efve");
        else if (type == RowType::kJson) row.set(i, R"({"a": [1, -2.5e3, "\u00e4", true, null]})");
        else if (type == RowType::kBytes) row.set(i, Bytes("\xff bytes"));
        else if (type == RowType::kBool) row.set(i, full);
        else if (type == RowType::kFloat || type == RowType::kDouble) row.set(i, 1.5);
        else if (type == RowType::kTimestamp) row.set(i, Timestamp(std::chrono::microseconds(1'582'934'400'000'001)));
        else if (type == RowType::kDecimal) row.set(i, Decimal{1250, 2});
        else if (type == RowType::kUuid) row.set(i, Uuid{{std::byte{1}, std::byte{2}}});
        else row.set(i, 100);
      }
      const auto bytes = row.finish();
      if (!bytes.ok()) continue;
      std::string input(1, static_cast<char>(number));
      input.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
      write(folder / "row" / ("schema_" + std::to_string(number) + (full ? "_full" : "_nulls")), input);
    }
  }
}

}  // namespace
}  // namespace elider::fuzz

int main(int count, char** words) {
  using namespace elider::fuzz;
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_make_corpus FOLDER\n");
    return 2;
  }
  for (const int transactions : {0, 1, 6, 20}) {
    const std::string name = "transactions_" + std::to_string(transactions);
    write_heap(words[1], name, transactions, false);
    if (transactions >= 6) write_heap(words[1], "replayed_" + name, transactions, true);
    write_log(words[1], name, small_database(transactions, false));
    write_checkpoint(words[1], name, small_database(transactions, true));
  }
  for (const int transactions : {1, 4, 20}) {
    const std::string name = "keys_" + std::to_string(transactions);
    write_log(words[1], name, database_of_keys(transactions, false));
    write_checkpoint(words[1], name, database_of_keys(transactions, true));
  }
  write_tuples(words[1]);
  write_rows(words[1]);
  return 0;
}
