// What opening reports about its progress (Options::recovery_progress): every step, in order, with
// values that grow up to the end.
#include <fstream>
#include <optional>

#include "elider/files.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

using Step = RecoveryProgress::Step;

class ProgressTest : public DataFolderTest {
 protected:
  // Writes rows to a checkpoint, further rows to the log after it, and a secondary index.
  void fill(uint64_t rows) {
    const auto schema = indexed_account_schema(KeyIndex::kOrdered);
    options_.schemas = {schema.schema()};
    options_.checkpoint_log_bytes = 0;
    Database database = open();
    auto table = database.create_table(schema);
    ASSERT_OK(table);
    for (uint64_t begin = 0; begin < rows; begin += 1000) {
      if (begin == rows / 2) {
        ASSERT_OK(database.checkpoint());
      }
      transact(database, [&](Transaction& txn) {
        for (uint64_t i = begin; i < begin + 1000; ++i) ASSERT_OK(txn.insert(*table, i, Account{i, 5, static_cast<uint32_t>(i % 7), 0}));
      });
    }
  }
  std::vector<RecoveryProgress> told_at_opening() {
    std::vector<RecoveryProgress> told;
    Options options = options_;
    options.recovery_progress = [&](const RecoveryProgress& progress) { told.push_back(progress); };
    EXPECT_OK(Database::open(options));
    return told;
  }
};

// Returns the first and the last report of a step, or nothing if it was not reported.
std::optional<std::pair<RecoveryProgress, RecoveryProgress>> ends_of(const std::vector<RecoveryProgress>& told, Step step) {
  std::optional<std::pair<RecoveryProgress, RecoveryProgress>> ends;
  for (const RecoveryProgress& progress : told) {
    if (progress.step != step) continue;
    if (!ends.has_value()) ends.emplace(progress, progress);
    EXPECT_GE(progress.done, ends->second.done) << "it grows";
    EXPECT_LE(progress.done, progress.all);
    EXPECT_EQ(progress.all, ends->first.all) << "the total does not change";
    ends->second = progress;
  }
  return ends;
}

TEST_P(ProgressTest, EachStepIsToldGrowsAndEndsWithAllOfIt) {
  constexpr uint64_t kRows = 20000;
  fill(kRows);
  const std::vector<RecoveryProgress> told = told_at_opening();
  for (const Step step : {Step::kJudge, Step::kCheckpoint, Step::kLog, Step::kIndexes}) {
    SCOPED_TRACE("step " + std::to_string(static_cast<int>(step)));
    const auto ends = ends_of(told, step);
    ASSERT_TRUE(ends.has_value());
    EXPECT_GT(ends->second.all, 0u);
    EXPECT_EQ(ends->second.done, ends->second.all);
    if (step != Step::kIndexes) continue;
    EXPECT_EQ(ends->second.all, kRows);
    EXPECT_LT(ends->first.done, kRows) << "more than one report";
  }
  for (size_t i = 1; i < told.size(); ++i) EXPECT_GE(told[i].step, told[i - 1].step) << "one step after the other";
}

// The unused room at the end of the last file is also searched.
TEST_P(ProgressTest, AFileWithRoomAtItsEndIsToldWhole) {
  fill(2000);
  const std::string file = folder_ / "data" / "log-00000001-00-00000000";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + 100000);
  const auto ends = ends_of(told_at_opening(), Step::kJudge);
  ASSERT_TRUE(ends.has_value());
  EXPECT_GT(ends->second.all, 100000u);
  EXPECT_EQ(ends->second.done, ends->second.all);
}

// A torn tail is reported, with the reason.
TEST_P(ProgressTest, ATornTailIsReportedWithItsReason) {
  fill(2000);
  files::Log log;
  ASSERT_OK(files::verify_log(options_.data_folders, &log));
  ASSERT_EQ(log.cuts, std::vector<std::string>());
  const std::string file = log.segments.back().file;
  const uint64_t whole = log.segments.back().whole_bytes;
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(static_cast<std::streamoff>(whole)) << std::string(100, 'x');
  ASSERT_TRUE(stream.flush().good());
  const std::string words = "'" + file + "' from byte " + std::to_string(whole) + ": " +
                            std::to_string(std::filesystem::file_size(file) - whole) +
                            " bytes; the data there does not begin with a frame's magic number";
  ASSERT_OK(files::verify_log(options_.data_folders, &log));
  EXPECT_EQ(log.cuts, std::vector<std::string>{words});
  Database database = open();
  EXPECT_EQ(database.recovery().cuts, std::vector<std::string>{words});
}

TEST_P(ProgressTest, AnEmptyFolderHasNothingToTell) {
  EXPECT_TRUE(told_at_opening().empty());
}

INSTANTIATE_TEST_SUITE_P(Policies, ProgressTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
