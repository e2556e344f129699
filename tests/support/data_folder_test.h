// DataFolderTest: a gtest fixture with a temporary folder and options that keep a database in it.
//
// Thread safety: a test is one thread, unless it starts others and joins them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/database_test.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {

class DataFolderTest : public testing::TestWithParam<Combination> {
 protected:
  void SetUp() override {
    options_ = options_of(GetParam());
    options_.data_folders = {folder_ / "data"};
  }

  Database open() { return open(options_); }
  static Database open(const Options& options) {
    auto database = Database::open(options);
    EXPECT_OK(database);
    return std::move(database).value();
  }
  // The options for a database in that folder alone.
  Options options_for(const std::filesystem::path& folder) const {
    Options options = options_;
    options.data_folders = {folder};
    return options;
  }

  template <class Row>
  static std::map<Key, Row> rows(Database& database, const Table<Row>& table) {
    std::map<Key, Row> found;
    EXPECT_OK(database.run_read_only([&](Transaction& txn) -> Status {
      found.clear();
      return txn.scan(table, KeyRange{}, ScanOptions{}, [&](Key key, const View<Row>& view) {
        found[key] = *view;
        return true;
      });
    }));
    return found;
  }

  // Counts the files of the data folder whose names begin with `begin`.
  size_t count_files(const std::string& begin, const char* folder = "data") const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / folder))
      count += entry.path().filename().string().starts_with(begin);
    return count;
  }
  // Counts checkpoints by their first parts. The number of further parts depends on which threads
  // got the rows.
  size_t count_checkpoints() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "data")) {
      const std::string name = entry.path().filename().string();
      count += name.starts_with("checkpoint-") && name.ends_with("-00000000");
    }
    return count;
  }

  const TemporaryFolder temporary_{"elider_data"};
  const std::filesystem::path folder_ = temporary_.path();
  Options options_;
};

// Under occ, one combination of each kind: many threads, also on radix trees; one thread; lock
// elision whose regions never succeed; and lock elision whose regions succeed if the build emulates
// them or the machine has them.
inline std::vector<Combination> durable_combinations_of_occ() {
  std::vector<Combination> chosen = combinations(false, true);
  std::erase_if(chosen, [](const Combination& each) {
    return each.protocol != Protocol::kOcc || each.sync == SyncPolicy::kLatched ||
           (each.sync == SyncPolicy::kElided && each.htm == HtmBackend::kNone) ||
           (each.sync != SyncPolicy::kOptimistic && each.key_index != KeyIndex::kOrdered);
  });
  return chosen;
}
// Also one combination of each other protocol.
inline auto durable_combinations() {
  std::vector<Combination> chosen = durable_combinations_of_occ();
  const std::vector<Combination> others = one_of_each_other_protocol();
  chosen.insert(chosen.end(), others.begin(), others.end());
  return testing::ValuesIn(chosen);
}

}  // namespace elider::test
