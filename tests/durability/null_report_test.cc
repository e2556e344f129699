// The functions of elider/files.h without the reports that their callers do not want.
#include "tests/support/data_folder_test.h"

#include "elider/files.h"

namespace elider::test {
namespace {

class NullReportTest : public DataFolderTest {};

TEST_P(NullReportTest, EveryReportMayBeNull) {
  {
    Database database = open();
    auto accounts = database.create_table(account_schema(KeyIndex::kOrdered));
    ASSERT_OK(accounts);
    transact(database, [&](Transaction& txn) { ASSERT_OK(txn.insert(*accounts, 1, Account{1, 2, 3, 4})); });
  }
  const files::Folders& folders = options_.data_folders;
  const std::string copy = folder_ / "copy", restored = folder_ / "restored";
  EXPECT_OK(files::recover(folders, files::kNewest, true, {}, nullptr));
  EXPECT_OK(files::recover(folders, files::kNewest, false, {}, nullptr));
  EXPECT_OK(files::checkpoint(folders, {}, nullptr, nullptr));
  EXPECT_OK(files::backup(folders, copy, {}, nullptr));
  EXPECT_OK(files::restore({copy}, restored, nullptr));
  EXPECT_OK(files::check({restored}, {}, nullptr));
  EXPECT_OK(files::verify_log({restored}, nullptr));
  EXPECT_OK(files::logged_tables({restored}, nullptr));
  const files::Folders nowhere = {folder_ / "nowhere"};
  EXPECT_CODE(Code::kNotFound, files::recover(nowhere, files::kNewest, true, {}, nullptr));
  EXPECT_CODE(Code::kNotFound, files::check(nowhere, {}, nullptr));
}

INSTANTIATE_TEST_SUITE_P(Policies, NullReportTest, durable_combinations(), combination_name);

}  // namespace
}  // namespace elider::test
