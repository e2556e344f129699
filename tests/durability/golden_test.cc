// Opens the databases of tests/golden, which earlier versions of the engine wrote, and compares
// what the engine writes today with the newest of them. Therefore a change of both the writer and
// the reader does not go unnoticed. The manifest of database-v1 is as after a crash. Those of the
// others contain the end of the log, because they were closed. After a change of the format, use
// make_golden_program.cc to make a new folder.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "log/checkpoint_file.h"
#include "log/directory.h"
#include "tests/durability/golden_database.h"
#include "tests/durability/golden_rows.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

const std::filesystem::path kFolders = std::filesystem::path(ELIDER_TEST_SOURCE_DIR) / "tests" / "golden";
const std::filesystem::path kNewest = kFolders / "database-v3";
struct GoldenFolder {
  const char* name;
  bool closed;
  bool notes;      // whether it has the table of variable-size rows
  bool byte_keys;  // whether it has the tables with byte keys
};
constexpr GoldenFolder kAll[] = {{"database-v1", false, false, false},
                                 {"database-v1-closed", true, false, false},
                                 {"database-v2", true, true, false},
                                 {"database-v3", true, true, true}};
constexpr uint64_t kVersionNumber = 1;  // of a column group whose row was just inserted

class GoldenTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    options_.schemas = {golden::customer_schema().schema()};
  }
  void copy(const GoldenFolder& golden) {
    std::filesystem::remove_all(folder_ / "data");
    std::filesystem::copy(kFolders / golden.name, folder_ / "data");
  }
  void expect_opened(const GoldenFolder& golden);
  void expect_written_to(const GoldenFolder& golden);
  void expect_whole_or_refused(const GoldenFolder& golden);
};

void expect_rows(Database& database, const GoldenFolder& golden) {
  const golden::Rows expected = golden::expected_rows();
  golden::Rows found;
  if (golden.notes) {
    auto notes = database.table("notes");
    ASSERT_OK(notes);
    read(database, [&](Transaction& txn) {
      found.notes.clear();
      ASSERT_OK(txn.scan(*notes, KeyRange{}, ScanOptions{}, [&](Key key, RawView view) {
        found.notes[key] = std::string(reinterpret_cast<const char*>(view.bytes()), view.size());
        return true;
      }));
    });
    EXPECT_EQ(found.notes, expected.notes);
  }
  if (golden.byte_keys) {
    auto words = database.table<golden::Word, std::string_view>("words");
    auto texts = database.table("texts");
    ASSERT_OK(words);
    ASSERT_OK(texts);
    read(database, [&](Transaction& txn) {
      found.words.clear();
      found.texts.clear();
      ASSERT_OK(txn.scan(*words, ByteRange::all(), ScanOptions{}, [&](std::string_view key, const auto& view) {
        found.words[std::string(key)] = *view;
        return true;
      }));
      ASSERT_OK(txn.scan(*texts, ByteRange::all(), ScanOptions{}, [&](Bytes key, RawView view) {
        found.texts[key.to_string()] = std::string(reinterpret_cast<const char*>(view.bytes()), view.size());
        return true;
      }));
    });
    EXPECT_EQ(found.words, expected.words);
    EXPECT_EQ(found.texts, expected.texts);
  }
  const auto collect = [&]<class Row>(const char* name, std::map<Key, Row>* rows) {
    auto table = database.table<Row>(name);
    ASSERT_OK(table);
    read(database, [&](Transaction& txn) {
      rows->clear();
      ASSERT_OK(txn.scan(*table, KeyRange{}, ScanOptions{}, [&](Key key, const View<Row>& view) {
        (*rows)[key] = *view;
        return true;
      }));
    });
  };
  collect("kinds", &found.kinds);
  collect("stock", &found.stock);
  collect("customers", &found.customers);
  collect("papers", &found.papers);
  EXPECT_EQ(found.kinds, expected.kinds);
  EXPECT_EQ(found.stock, expected.stock);
  EXPECT_EQ(found.customers, expected.customers);
  EXPECT_EQ(found.papers, expected.papers);
  auto counters = database.table<golden::Counter>("counters");
  ASSERT_OK(counters);
  read(database, [&](Transaction& txn) {
    for (Key key = 0; key < 10; ++key) {
      auto view = txn.get(*counters, key);
      const auto row = expected.counters.find(key);
      ASSERT_EQ(view.ok(), row != expected.counters.end()) << key;
      if (view.ok()) {
        EXPECT_EQ(**view, row->second) << key;
      }
    }
  });
}

// Each policy opens the folder. Then the folder is opened again, from what the first opening has
// made of the files.
TEST_P(GoldenTest, TheFolderIsOpenedAndHasItsRows) {
  for (const GoldenFolder& golden : kAll) {
    SCOPED_TRACE(golden.name);
    copy(golden);
    for (int opening = 0; opening < 2 && !HasFailure(); ++opening) expect_opened(golden);
  }
}
void GoldenTest::expect_opened(const GoldenFolder& golden) {
  Database database = open();
  ASSERT_FALSE(HasFailure());
  expect_rows(database, golden);
  const uint64_t notes = golden.notes ? 3 : 0, words = golden.byte_keys ? 6 : 0, texts = golden.byte_keys ? 3 : 0;
  const uint64_t words_before = golden.byte_keys ? 5 : 0;  // in the checkpoint
  const Recovery& recovery = database.recovery();
  EXPECT_EQ(recovery.tables, 5u + (golden.notes ? 1 : 0) + (golden.byte_keys ? 2 : 0));
  EXPECT_EQ(recovery.rows, 4u + 8 + 3 + 2 + 2 + notes + words + texts);
  EXPECT_EQ(recovery.checkpoint_rows, 4u + 5 + 3 + 1 + notes + words_before + texts);
  EXPECT_EQ(recovery.records, 2u + 1 + 3) << "commits after the checkpoint, the table that was created, and further commits";
  EXPECT_EQ(recovery.cuts, std::vector<std::string>());
  EXPECT_OK(database.verify());
  const auto stock = database.table("stock"), counters = database.table("counters");
  ASSERT_OK(stock);
  ASSERT_OK(counters);
  EXPECT_EQ(stock->schema().columns, golden::stock_schema().schema().columns);
  EXPECT_EQ(counters->schema().key_index, KeyIndex::kHashed);
}

// The rows can be written to, so the version numbers of their groups were recovered.
TEST_P(GoldenTest, TheFolderIsWrittenToAndComesBack) {
  for (const GoldenFolder& golden : kAll) {
    SCOPED_TRACE(golden.name);
    copy(golden);
    expect_written_to(golden);
    if (HasFailure()) return;
  }
}
void GoldenTest::expect_written_to(const GoldenFolder& golden) {
  {
    Database database = open();
    ASSERT_FALSE(HasFailure());
    auto stock = database.table<golden::Stock>("stock");
    ASSERT_OK(stock);
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.add(*stock, 1, &golden::Stock::amount, 6));
      ASSERT_OK(txn.remove(*stock, 1000));
      if (golden.notes) {
        ASSERT_OK(golden::put_note(txn, *database.table("notes"), 1, golden::note_of(1, "of another size")));
        ASSERT_OK(txn.remove(*database.table("notes"), 4));
      }
      if (golden.byte_keys) {
        ASSERT_OK(golden::put_text(txn, *database.table("texts"), "a/1", "of another size"));
        ASSERT_OK((txn.remove(*database.table<golden::Word, std::string_view>("words"), "")));
      }
    });
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.add(*stock, 1, &golden::Stock::amount, -6));
      ASSERT_OK(txn.insert(*stock, 1000, {1, 2, 3, 4, 5}));
      const golden::Rows expected = golden::expected_rows();
      if (golden.notes) {
        for (const auto& [key, note] : expected.notes) ASSERT_OK(golden::put_note(txn, *database.table("notes"), key, note));
      }
      if (!golden.byte_keys) return;
      for (const auto& [key, text] : expected.texts) ASSERT_OK(golden::put_text(txn, *database.table("texts"), key, text));
      ASSERT_OK((txn.insert(*database.table<golden::Word, std::string_view>("words"), "", expected.words.at(""))));
    });
  }
  Database database = open();
  ASSERT_FALSE(HasFailure());
  expect_rows(database, golden);
}

// Nothing that it had when it was closed may be missing.
TEST_P(GoldenTest, OneThatWasClosedIsWholeOrRefused) {
  for (const GoldenFolder& golden : kAll)
    if (golden.closed && !HasFailure()) expect_whole_or_refused(golden);
}
void GoldenTest::expect_whole_or_refused(const GoldenFolder& golden) {
  uint64_t logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolders / golden.name)) {
    copy(golden);
    const std::filesystem::path name = entry.path().filename();
    if (name == "MANIFEST") {
      Database database = open();
      ASSERT_FALSE(HasFailure());
      expect_rows(database, golden);
    } else if (name.string().starts_with("log-")) {
      ++logs;
      std::filesystem::resize_file(folder_ / "data" / name, entry.file_size() - 1);
      EXPECT_REFUSED(Code::kCorrupt, name.string(), Database::open(options_));
    }
  }
  EXPECT_EQ(logs, 4u);
}

// -- database-v3-keys -----------------------------------------------------------------------------

template <class KeyType, class Stored>
void expect_table(Database& database, const char* name, const std::map<Stored, golden::Word>& expected, bool ordered = true) {
  SCOPED_TRACE(name);
  auto table = database.table<golden::Word, KeyType>(name);
  ASSERT_OK(table);
  std::map<Stored, golden::Word> found, scanned;
  read(database, [&](Transaction& txn) {
    for (const auto& [key, word] : expected)
      if (auto view = txn.get(*table, key); view.ok()) found[key] = **view;
    if (ordered) {
      ASSERT_OK(txn.scan(*table, ByteRange::all(), {}, [&](const KeyType& key, const View<golden::Word, KeyType>& view) {
        scanned[Stored(key)] = *view;
      }));
    }
  });
  EXPECT_TRUE(found == expected);
  if (ordered) {
    EXPECT_TRUE(scanned == expected);
  }
}
void expect_keys(Database& database) {
  const golden::Rows expected = golden::expected_rows();
  expect_table<std::string_view>(database, "signs", expected.signs, false);
  expect_table<std::string_view>(database, "names", expected.names);
  expect_table<golden::OrderKey>(database, "orders", expected.orders);
  expect_table<golden::PriceKey>(database, "prices", expected.prices);
  EXPECT_EQ(database.table("orders")->schema().key_fields, golden::order_schema().schema().key_fields);
  EXPECT_EQ(database.table("prices")->schema().key_fields, golden::price_schema().schema().key_fields);
  const std::map<std::string, uint64_t> rows = {{"signs", expected.signs.size()}, {"names", expected.names.size()},
                                                {"orders", expected.orders.size()}, {"prices", expected.prices.size()}};
  std::map<std::string, uint64_t> counted;
  for (const Statistics::Table& table : database.statistics().tables)
    if (rows.contains(table.name)) counted[table.name] = table.rows;
  EXPECT_EQ(counted, rows);
  auto by_length = database.index(*database.table<golden::Word, std::string_view>("names"), "by_length");
  ASSERT_OK(by_length);
  std::vector<std::string> found;
  read(database, [&](Transaction& txn) {
    ASSERT_OK(txn.scan(*by_length, {8, 8}, {}, [&](std::string_view key, const auto&) { found.emplace_back(key); }));
  });
  EXPECT_EQ(found, (std::vector<std::string>{std::string("12345678\0", 9), "user:1000001"}));
}

TEST_P(GoldenTest, TheFolderOfKeysIsOpenedAndWrittenTo) {
  copy({"database-v3-keys", true, false, false});
  options_.schemas = {golden::name_schema().schema()};
  for (int opening = 0; opening < 3 && !HasFailure(); ++opening) {
    Database database = open();
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(database.recovery().cuts, std::vector<std::string>());
    if (opening == 0) {
      EXPECT_EQ(database.recovery().checkpoint_rows, 1u + 3 + 3 + 2);
    }
    EXPECT_OK(database.verify());
    expect_keys(database);
    const auto tables = golden::make_key_tables(database);  // refused if a schema has changed
    ASSERT_OK(tables);
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.remove(tables->orders, {1, "shop", {5}, std::nullopt}));
      ASSERT_OK(txn.add(tables->names, "12345678", &golden::Word::uses, -1));
    });
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.insert(tables->orders, {1, "shop", {5}, std::nullopt}, {3, 3}));
      ASSERT_OK(txn.add(tables->names, "12345678", &golden::Word::uses, 1));
    });
  }
}

// -- database-v3-rows -----------------------------------------------------------------------------

std::string text_of(const RowSchema& schema, const RowReader& row) {
  EXPECT_OK(row.check());
  std::string words;
  for (size_t i = 0; i < schema.columns(); ++i)
    if (!schema.column(i).dropped) words += (words.empty() ? "" : " ") + row.value(i)->to_text();
  return words;
}
void expect_described(Database& database) {
  std::string names;
  for (const TableRef& table : database.tables()) names += table.schema().name + ' ';
  EXPECT_EQ(names, "guests sales pages ");
  const auto guests = golden::later_guest_rows().open(*database.table("guests"));
  ASSERT_OK(guests);
  EXPECT_REFUSED(Code::kSchemaMismatch, "column 'name'", golden::guest_rows().open(*database.table("guests")));
  const auto sales = database.described_table("sales");
  ASSERT_OK(sales);
  const auto pages = ValueSchema<std::string_view>("pages").open(*database.table("pages"));
  ASSERT_OK(pages);
  const auto by_name = database.index(*guests, "by_name");
  const auto by_customer = database.index(*sales, "by_customer");
  ASSERT_OK(by_name);
  ASSERT_OK(by_customer);
  std::map<Key, std::string> found, sold;
  std::map<std::string, std::string> values;
  std::string order;
  read(database, [&](Transaction& txn) {
    found.clear();
    sold.clear();
    values.clear();
    order.clear();
    ASSERT_OK(txn.scan(*guests, {}, {}, [&](Key key, const golden::LaterGuest& guest) {
      found[key] = std::string(guest.name) + ' ' + std::to_string(guest.age) + ' ' + std::string(guest.state) +
                   (guest.since ? ' ' + std::to_string(guest.since->time_since_epoch().count()) : "");
    }));
    ASSERT_OK(txn.scan(*sales, {}, {}, [&](Key key, const RowReader& row) { sold[key] = text_of(sales->row_schema(), row); }));
    const auto keep = [&](std::string_view key, const auto& value) { values[std::string(key)] = value.text(); };
    ASSERT_OK(txn.scan(*pages, ByteRange::all(), {}, keep));
    ASSERT_OK(txn.scan(*by_name, ColumnRange(), {}, [&](Key key, const golden::LaterGuest&) { order += std::to_string(key); }));
    ASSERT_OK(txn.scan(*by_customer, prefix("Eve"), {}, [&](Key key, const RowReader&) { order += ' ' + std::to_string(key); }));
  });
  EXPECT_EQ(found, (std::map<Key, std::string>{{1, "Ada 37 new -1"}, {2, "Bob 40 old"}, {4, "Eve 5 new"}}));
  EXPECT_EQ(sold, (std::map<Key, std::string>{{1, R"("Ada" 5.00 "["long","list","of","tags"]")"},
                                              {2, R"("Bob" 1.50 "{"a":1}")"},
                                              {3, R"("Eve" 1.50 "[]")"}}));
  EXPECT_EQ(values, (std::map<std::string, std::string>{{"", ""}, {"page/1", "short"}, {"page/2", std::string("\0\1", 2)}}));
  EXPECT_EQ(order, "124 3");
}

TEST_P(GoldenTest, TheFolderOfRowsIsOpenedAndWrittenTo) {
  copy({"database-v3-rows", true, false, false});
  options_.schemas.clear();
  for (int opening = 0; opening < 3 && !HasFailure(); ++opening) {
    Database database = open();
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(database.recovery().cuts, std::vector<std::string>());
    if (opening == 0) {
      EXPECT_EQ(database.recovery().checkpoint_rows, 3u + 2 + 2);
    }
    EXPECT_OK(database.verify());
    expect_described(database);
    const auto guests = golden::later_guest_rows().open(*database.table("guests"));
    const auto sales = database.described_table("sales");
    ASSERT_OK(sales);
    RowBuilder row(*sales);
    const auto change = [&](uint32_t by, const char* customer) {
      transact(database, [&](Transaction& txn) {
        ASSERT_OK(txn.update(*guests, 1, [&](golden::LaterGuest& guest) { guest.age += by; }));
        ASSERT_OK(txn.update(*sales, 1, row, [&](RowBuilder& sale) { sale.set("customer", customer); }));
        EXPECT_CODE(Code::kDuplicateKey, txn.insert(*sales, 9, row.begin().set("customer", "Bob")));
      });
    };
    change(1, "Another customer");
    change(~uint32_t{0}, "Ada");
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, GoldenTest, durable_combinations(), combination_name);

// -- byte by byte ---------------------------------------------------------------------------------

std::string text_of(log::Bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

struct Payloads {
  std::vector<std::string> records;  // sorted: which number one has, and so which of two streams is the first, is not known
  std::vector<std::string> blocks;   // of the checkpoint, each with its table and count before it
};

Status read_payloads(io::FileSystem& files, const std::string& folder, Payloads* payloads) {
  std::unique_ptr<log::Directory> directory;
  log::RecoveryFacts facts;
  if (Status status = log::Directory::open(files, {folder}, false, &directory); !status.ok()) return status;
  if (Status status = directory->judge(1, nullptr, &facts); !status.ok()) return status;
  io::ReadBuffer buffer;
  for (const log::SegmentFacts& segment : directory->segments()) {
    log::SegmentFacts again;
    const auto each = [&](const log::Record& record) {
      payloads->records.push_back(text_of(record.bytes));
      return Status();
    };
    Status status = log::read_segment(directory->folder_of(0), directory->manifest().database, segment.name, &buffer,
                                      [&](const log::FrameView& frame) { return log::read_records(frame, folder, each); }, &again);
    if (!status.ok()) return status;
  }
  std::sort(payloads->records.begin(), payloads->records.end());
  for (const log::Checkpoint& checkpoint : directory->manifest().checkpoints)
    for (uint32_t part = 0; part < checkpoint.parts; ++part) {
      std::unique_ptr<log::PartReader> reader;
      Status status = log::PartReader::open(directory->folder_of(0), directory->manifest().database, {checkpoint.number, part}, &reader);
      log::CheckpointBlock block;
      block.kind = log::BlockKind::kTable;
      while (status.ok() && block.kind != log::BlockKind::kEnd) {
        status = reader->next(&block);
        payloads->blocks.push_back(std::to_string(block.table) + "," + std::to_string(block.count) + ":" + text_of(block.payload));
      }
      if (!status.ok()) return status;
    }
  return {};
}

TEST(GoldenFolder, RecordsAndCheckpointRowsAreWhatIsWrittenToday) {
  Status status;
  io::MemoryFiles today(golden::golden_database(&status));
  ASSERT_OK(status);
  const TemporaryFolder temporary("elider_golden");
  std::filesystem::copy(kNewest, temporary.path() / "data");
  Payloads golden, written;
  ASSERT_OK(read_payloads(io::system_files(), temporary.path() / "data", &golden));
  ASSERT_OK(read_payloads(today, "db", &written));
  EXPECT_EQ(golden.records.size(), 8u + 7) << "tables and commits";
  EXPECT_EQ(written.records, golden.records);
  EXPECT_EQ(golden.blocks.size(), 7u + 7 + 1) << "tables, the rows of each, and the end";
  EXPECT_EQ(written.blocks, golden.blocks);
}

TEST(GoldenFolder, KeysAreWhatIsWrittenToday) {
  Status status;
  io::MemoryFiles today(golden::golden_database(&status, true));
  ASSERT_OK(status);
  const TemporaryFolder temporary("elider_golden");
  std::filesystem::copy(kFolders / "database-v3-keys", temporary.path() / "data");
  Payloads golden, written;
  ASSERT_OK(read_payloads(io::system_files(), temporary.path() / "data", &golden));
  ASSERT_OK(read_payloads(today, "db", &written));
  EXPECT_EQ(golden.records.size(), 4u + 3) << "tables and commits";
  EXPECT_EQ(written.records, golden.records);
  EXPECT_EQ(golden.blocks.size(), 4u + 4 + 1) << "tables, the rows of each, and the end";
  EXPECT_EQ(written.blocks, golden.blocks);
}

TEST(GoldenFolder, DescribedRowsAreWhatIsWrittenToday) {
  Status status;
  io::MemoryFiles today(golden::golden_rows(&status));
  ASSERT_OK(status);
  const TemporaryFolder temporary("elider_golden");
  std::filesystem::copy(kFolders / "database-v3-rows", temporary.path() / "data");
  Payloads golden, written;
  ASSERT_OK(read_payloads(io::system_files(), temporary.path() / "data", &golden));
  ASSERT_OK(read_payloads(today, "db", &written));
  EXPECT_EQ(golden.records.size(), 4u + 1 + 3 + 1 + 2 + 4) << "tables, commits and changes of tables";
  EXPECT_EQ(written.records, golden.records);
  EXPECT_EQ(golden.blocks.size(), 4u + 3 + 1) << "tables, one of which was dropped, the rows of the others, and the end";
  EXPECT_EQ(written.blocks, golden.blocks);
}

template <class T>
void put(std::string* to, T value) {
  to->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A row of the checkpoint as docs/formats.md describes it: the key, the version number of each
// column group, and the row's bytes.
TEST(GoldenFolder, ARowOfTheCheckpointIsAsTheFormatSays) {
  const TemporaryFolder temporary("elider_golden");
  std::filesystem::copy(kNewest, temporary.path() / "data");
  Payloads golden;
  ASSERT_OK(read_payloads(io::system_files(), temporary.path() / "data", &golden));
  std::string rows = "1,5:";
  for (Key key = 1; key <= 5; ++key) {
    for (const uint64_t word : {key, kVersionNumber, kVersionNumber}) put(&rows, word);
    for (const uint64_t word : {100 + key, Key{100}, 200 + key}) put(&rows, word);
    put(&rows, uint32_t{0});
    put(&rows, uint32_t{1});
  }
  EXPECT_NE(std::find(golden.blocks.begin(), golden.blocks.end(), rows), golden.blocks.end());
  // A variable-size row also has its size.
  std::string notes = "4,3:";
  for (const auto& [key, text] : std::map<Key, std::string>{{1, "one"}, {2, std::string(300, 't')}, {3, ""}}) {
    const std::string note = golden::note_of(key, text);
    for (const uint64_t word : {key, kVersionNumber, uint64_t{note.size()}}) put(&notes, word);
    notes += note;
  }
  EXPECT_NE(std::find(golden.blocks.begin(), golden.blocks.end(), notes), golden.blocks.end());
  // Byte keys: the size of the key in 2 bytes, and the key.
  std::string texts = "6,3:";
  const std::map<std::string, std::string> stored = {{"a/1", "one"}, {"a/2", std::string(300, 't')}, {"b", "removed later"}};
  for (const auto& [key, text] : stored) {
    put(&texts, static_cast<uint16_t>(key.size()));
    texts += key;
    for (const uint64_t word : {kVersionNumber, uint64_t{text.size()}}) put(&texts, word);
    texts += text;
  }
  EXPECT_NE(std::find(golden.blocks.begin(), golden.blocks.end(), texts), golden.blocks.end());
}

}  // namespace
}  // namespace elider::test
