// tests/golden/database-v1: a folder that the engine wrote once, opened by the engine of today; and what it writes today,
// against it. Writer and reader may so not change together, and leave the databases behind that there are. Its manifest
// is as after a crash; that of database-v1-closed says where the log ends, as closing writes it.
// What a change of the format takes: make_golden_program.cc.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <tuple>

#include "log/checkpoint_file.h"
#include "log/directory.h"
#include "tests/durability/golden_database.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

const std::filesystem::path kFolders = std::filesystem::path(ELIDER_TEST_SOURCE_DIR) / "tests" / "golden";
const std::filesystem::path kGolden = kFolders / "database-v1";
constexpr uint64_t kSequence = 1;  // of a commit group whose row was just inserted

class GoldenTest : public DataFolderTest {
 protected:
  void SetUp() override {
    DataFolderTest::SetUp();
    std::filesystem::copy(kGolden, folder_ / "data");
    options_.schemas = {golden::customer_schema().schema()};
  }
};

void expect_rows(Database& database) {
  const golden::Rows expected = golden::expected_rows();
  golden::Rows found;
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

// By each policy that recovers; then once more, from what it has made of the files.
TEST_P(GoldenTest, TheFolderIsOpenedAndHasItsRows) {
  for (int opening = 0; opening < 2; ++opening) {
    Database database = open();
    ASSERT_FALSE(HasFailure());
    expect_rows(database);
    const Recovery& recovery = database.recovery();
    EXPECT_EQ(recovery.tables, 5u);
    EXPECT_EQ(recovery.rows, 4u + 8 + 3 + 2 + 2);
    EXPECT_EQ(recovery.checkpoint_rows, 4u + 5 + 3 + 1);
    EXPECT_EQ(recovery.records, 2u + 1 + 3) << "commits behind the checkpoint, the table that was made, and commits again";
    EXPECT_EQ(recovery.cuts, std::vector<std::string>());
    EXPECT_OK(database.verify());
    const auto stock = database.table("stock"), counters = database.table("counters");
    ASSERT_OK(stock);
    ASSERT_OK(counters);
    EXPECT_EQ(stock->schema().columns, golden::stock_schema().schema().columns);
    EXPECT_EQ(counters->schema().key_index, KeyIndex::kHashed);
  }
}

// What was there can be written to: the sequences of its groups, too, came back.
TEST_P(GoldenTest, TheFolderIsWrittenToAndComesBack) {
  {
    Database database = open();
    ASSERT_FALSE(HasFailure());
    auto stock = database.table<golden::Stock>("stock");
    ASSERT_OK(stock);
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.add(*stock, 1, &golden::Stock::amount, 6));
      ASSERT_OK(txn.remove(*stock, 1000));
    });
    transact(database, [&](Transaction& txn) {
      ASSERT_OK(txn.add(*stock, 1, &golden::Stock::amount, -6));
      ASSERT_OK(txn.insert(*stock, 1000, {1, 2, 3, 4, 5}));
    });
  }
  Database database = open();
  ASSERT_FALSE(HasFailure());
  expect_rows(database);
}

// Nothing that it had when it was closed may be missing.
TEST_P(GoldenTest, OneThatWasClosedIsWholeOrRefused) {
  const std::filesystem::path closed = kFolders / "database-v1-closed";
  uint64_t logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(closed)) {
    std::filesystem::remove_all(folder_ / "data");
    std::filesystem::copy(closed, folder_ / "data");
    const std::filesystem::path name = entry.path().filename();
    if (name == "MANIFEST") {
      Database database = open();
      ASSERT_FALSE(HasFailure());
      expect_rows(database);
    } else if (name.string().starts_with("log-")) {
      ++logs;
      std::filesystem::resize_file(folder_ / "data" / name, entry.file_size() - 1);
      EXPECT_REFUSED(Code::kCorrupt, name.string(), Database::open(options_));
    }
  }
  EXPECT_EQ(logs, 4u);
}

INSTANTIATE_TEST_SUITE_P(Policies, GoldenTest, durable_combinations(), combination_name);

// -- byte by byte ------------------------------------------------------------------------------------------------

std::string text_of(log::Bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

struct Payloads {
  std::vector<std::string> records;  // sorted: which number one has, and so which of two streams is the first, is not known
  std::vector<std::string> blocks;   // of the checkpoint, each with its table and count before it
};

Status read_payloads(log::FileSystem& files, const std::string& folder, Payloads* payloads) {
  std::unique_ptr<log::Directory> directory;
  log::RecoveryFacts facts;
  if (Status status = log::Directory::open(files, {folder}, false, &directory); !status.ok()) return status;
  if (Status status = directory->judge(1, nullptr, &facts); !status.ok()) return status;
  log::ReadBuffer buffer;
  for (const log::SegmentFacts& segment : directory->segments()) {
    log::SegmentFacts again;
    const auto each = [&](const log::Record& record) {
      payloads->records.push_back(text_of(record.bytes));
      return Status();
    };
    Status status = log::read_segment(files, folder, directory->manifest().database, segment.name, &buffer,
                                      [&](const log::FrameView& frame) { return log::read_records(frame, folder, each); }, &again);
    if (!status.ok()) return status;
  }
  std::sort(payloads->records.begin(), payloads->records.end());
  for (const log::Checkpoint& checkpoint : directory->manifest().checkpoints)
    for (uint32_t part = 0; part < checkpoint.parts; ++part) {
      std::unique_ptr<log::PartReader> reader;
      Status status = log::PartReader::open(files, folder, directory->manifest().database, {checkpoint.number, part}, &reader);
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
  log::MemoryFiles today(golden::golden_database(&status));
  ASSERT_OK(status);
  const TemporaryFolder temporary("elider_golden");
  std::filesystem::copy(kGolden, temporary.path() / "data");
  Payloads golden, written;
  ASSERT_OK(read_payloads(log::system_files(), temporary.path() / "data", &golden));
  ASSERT_OK(read_payloads(today, "db", &written));
  EXPECT_EQ(golden.records.size(), 5u + 7) << "tables and commits";
  EXPECT_EQ(written.records, golden.records);
  EXPECT_EQ(golden.blocks.size(), 4u + 4 + 1) << "tables, the rows of each, and the end";
  EXPECT_EQ(written.blocks, golden.blocks);
}

template <class T>
void put(std::string* to, T value) {
  to->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A row of the checkpoint as docs/formats.md describes it: key, the sequence of each commit group, the row's bytes.
TEST(GoldenFolder, ARowOfTheCheckpointIsAsTheFormatSays) {
  const TemporaryFolder temporary("elider_golden");
  std::filesystem::copy(kGolden, temporary.path() / "data");
  Payloads golden;
  ASSERT_OK(read_payloads(log::system_files(), temporary.path() / "data", &golden));
  std::string rows = "1,5:";
  for (Key key = 1; key <= 5; ++key) {
    for (const uint64_t word : {key, kSequence, kSequence}) put(&rows, word);
    for (const uint64_t word : {100 + key, Key{100}, 200 + key}) put(&rows, word);
    put(&rows, uint32_t{0});
    put(&rows, uint32_t{1});
  }
  EXPECT_NE(std::find(golden.blocks.begin(), golden.blocks.end(), rows), golden.blocks.end());
}

}  // namespace
}  // namespace elider::test
