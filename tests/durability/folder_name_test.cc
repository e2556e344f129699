// A new folder is durable only once its parent folder is synced. This holds for a new database, a
// backup and a restored database, however the name is spelled. Otherwise, an acknowledged commit is
// lost with the folder when the power fails.
#include <filesystem>
#include <set>

#include "elider/files.h"
#include "tests/durability/faulty_files.h"
#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

class FolderNameTest : public testing::TestWithParam<std::string> {
 protected:
  // Returns the true names of the folders that were synced while make() ran.
  template <class Make>
  std::set<std::filesystem::path> synced_while(Make&& make) {
    std::set<std::filesystem::path> synced;
    files_.plan([&](FileCall call, const std::string& path) -> Fault {
      if (call == FileCall::kSyncFolder) synced.insert(std::filesystem::canonical(path));
      return {};
    });
    EXPECT_OK(make());
    files_.plan(nullptr);
    return synced;
  }
  // Returns the path of folder `name` in the spelling under test. Creates `place`, its parent
  // folder.
  std::string spelled(const std::string& place, const std::string& name) {
    std::filesystem::create_directory(temporary_.path() / place);
    return (temporary_.path() / place / name).string() + GetParam();
  }
  std::filesystem::path true_name(const std::string& place) { return std::filesystem::canonical(temporary_.path() / place); }

  const TemporaryFolder temporary_{"elider_folder_name"};
  FaultyFiles files_{io::system_files()};
  io::SubstituteFiles substitute_{files_};
};

TEST_P(FolderNameTest, WhereItStandsIsSynced) {
  Options options;
  options.workers_max = 4;
  options.data_folders = {spelled("data", "x"), spelled("more data", "y")};
  const auto synced = synced_while([&] {
    auto database = Database::open(options);
    return database.ok() ? Status() : database.status();
  });
  EXPECT_TRUE(synced.contains(true_name("data")));
  EXPECT_TRUE(synced.contains(true_name("more data")));

  const std::string backup = spelled("backups", "b"), copy = spelled("copies", "c");
  const auto synced_by_backup = synced_while([&] {
    auto database = Database::open(options);
    return database.ok() ? database->backup(backup) : database.status();
  });
  EXPECT_TRUE(synced_by_backup.contains(true_name("backups")));
  const auto synced_by_restore = synced_while([&] {
    files::Copied copied;
    return files::restore({backup}, copy, &copied);
  });
  EXPECT_TRUE(synced_by_restore.contains(true_name("copies")));
}

INSTANTIATE_TEST_SUITE_P(Spellings, FolderNameTest, testing::Values("", "/", "//"), [](const auto& info) {
  return "Name" + std::to_string(info.index);
});

}  // namespace
}  // namespace elider::test
