// Story: sessions move money with commits that wait for the disk, and at some call the disk fails.
// It is full or broken, or the folder or the right to use it is gone. From then on, nothing is
// acknowledged. Every commit is refused with an error that names the file, no call is repeated, and
// the data in memory is consistent. When the database is opened again with a working disk,
// everything that was acknowledged is there, and no transaction is incomplete.
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <future>
#include <thread>
#include <vector>

#include "io/file.h"
#include "tests/durability/fault_world.h"

namespace elider::test {
namespace {

class FaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(FaultTest, EndsAcknowledgementAndLosesNothingAcknowledged) {
  for (uint32_t number = 1; number <= 4; ++number) {
    SCOPED_TRACE("call " + std::to_string(number));
    FaultyWorld world;
    constexpr Key kSessions = 3;
    std::array<uint64_t, kSessions> told{};
    std::array<std::vector<uint64_t>, kSessions> numbers;  // of all commits, acknowledged or not
    uint64_t said_durable = 0;
    {
      auto opened = Database::open(options_of(LogFailure::kReadOnly));
      ASSERT_OK(opened);
      Database database = std::move(*opened);
      const Table<Account> table = make_accounts(database);
      world.arm(GetParam(), number);
      std::array<Status, kSessions> ended;
      std::vector<std::thread> sessions;
      for (Key session = 0; session < kSessions; ++session)
        sessions.emplace_back([&, session] {
          RunPolicy policy;
          policy.durability = Durability::kGroup;
          uint64_t commit = 0;
          policy.commit_number = &commit;
          while (ended[session].ok()) {
            uint64_t count = 0;
            ended[session] = transfer(database, table, session, &count, policy);
            if (ended[session].ok()) told[session] = count;
            numbers[session].push_back(commit);
          }
        });
      for (std::thread& thread : sessions) thread.join();
      EXPECT_EQ(world.faults, 1u);
      for (const Status& status : ended) {
        EXPECT_CODE(Code::kIoError, status);
        EXPECT_NE(status.message().find("'" + world.failed_path + "'"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(GetParam().words), std::string::npos) << status.message();
      }
      Balances state;
      EXPECT_OK(look(database, table, &state)) << "reads go on";
      EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
      for (Key session = 0; session < kSessions; ++session) EXPECT_GE(state.transfers[session], told[session]);
      uint64_t count = 0;
      for (const Durability durability : {Durability::kNone, Durability::kAsync, Durability::kGroup}) {
        RunPolicy policy;
        policy.durability = durability;
        EXPECT_CODE(Code::kIoError, transfer(database, table, 0, &count, policy));
      }
      EXPECT_CODE(Code::kIoError, database.create_table(document_schema(KeyIndex::kHashed)));
      EXPECT_CODE(Code::kIoError, database.wait_durable());
      Balances again;
      EXPECT_OK(look(database, table, &again));
      EXPECT_EQ(again.transfers, state.transfers) << "refused commits left nothing";
      const Statistics statistics = database.statistics();
      said_durable = statistics.durable_snapshot;
      EXPECT_EQ(statistics.log_failure, ended[0].message());
      EXPECT_NE(statistics.to_json().find("\"log_failure\""), std::string::npos);
      EXPECT_OK(database.verify());
    }
    EXPECT_EQ(world.later_calls, 0u) << "nothing is tried again, not even when the database closes";
    world.files.plan(nullptr);
    auto database = Database::open(options_of(LogFailure::kReadOnly));
    ASSERT_OK(database);
    // A number without commits is durable without a frame that says so.
    for (const auto& of_session : numbers)
      for (const uint64_t commit : of_session)
        if (commit <= said_durable) {
          EXPECT_LE(commit, database->recovery().snapshot);
        }
    auto table = database->table<Account>("accounts");
    ASSERT_OK(table);
    Balances state;
    ASSERT_OK(look(*database, *table, &state));
    EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts)) << "a transaction came back in part";
    for (Key session = 0; session < kSessions; ++session) EXPECT_GE(state.transfers[session], told[session]) << "session " << session;
    uint64_t count = 0;
    EXPECT_OK(transfer(*database, *table, 0, &count, {}));
    EXPECT_OK(database->wait_durable());
  }
}

TEST_P(FaultTest, StopsEverythingWhereThatIsAskedFor) {
  FaultyWorld world;
  auto opened = Database::open(options_of(LogFailure::kStop));
  ASSERT_OK(opened);
  Database database = std::move(*opened);
  const Table<Account> table = make_accounts(database);
  world.arm(GetParam(), 1);
  Status status;
  uint64_t count = 0;
  while (status.ok()) status = transfer(database, table, 0, &count, {});
  EXPECT_CODE(Code::kIoError, status);
  Balances state;
  EXPECT_CODE(Code::kIoError, look(database, table, &state));
  EXPECT_CODE(Code::kIoError, database.run([](Transaction&) { return Status(); }));
  EXPECT_CODE(Code::kIoError, database.begin());
  EXPECT_CODE(Code::kIoError, database.begin_read_only());
  EXPECT_REFUSED(Code::kIoError, "'" + world.failed_path + "'", database.wait_durable());
  std::promise<Status> told;
  database.when_durable(~uint64_t{0}, [&](const Status& why) { told.set_value(why); });
  EXPECT_CODE(Code::kIoError, told.get_future().get());
  EXPECT_FALSE(database.statistics().log_failure.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Disk, FaultTest,
    testing::Values(FaultCase{"full", FileCall::kWrite, ENOSPC, 0, "No space left on device"},
                    FaultCase{"full_in_the_midst", FileCall::kWrite, ENOSPC, 70, "No space left on device"},
                    FaultCase{"broken_write", FileCall::kWrite, EIO, 300, "Input/output error"},
                    FaultCase{"broken_sync", FileCall::kSync, EIO, 0, "Input/output error"},
                    FaultCase{"over_quota_sync", FileCall::kSync, EDQUOT, 0, "Disk quota exceeded"},
                    FaultCase{"folder_vanished", FileCall::kCreate, ENOENT, 0, "No such file or directory"},
                    FaultCase{"permission_lost", FileCall::kCreate, EACCES, 0, "Permission denied"},
                    FaultCase{"no_descriptors", FileCall::kCreate, EMFILE, 0, "Too many open files"},
                    FaultCase{"broken_folder_sync", FileCall::kSyncFolder, EIO, 0, "Input/output error"}),
    [](const auto& info) { return info.param.name; });

Database open_under_group() {
  Options options = options_of(LogFailure::kReadOnly);
  options.durability = Durability::kGroup;
  auto database = Database::open(options);
  EXPECT_OK(database);
  return std::move(*database);
}

// A commit is in memory, and may not be on the disk. A read that may see it is refused, and the
// message says how to read anyway. What was durable before can be read.
TEST(ReadsAfterAFault, ShowUnderGroupWhatIsOnTheDisk) {
  FaultyWorld world;
  Database database = open_under_group();
  const Table<Account> table = make_accounts(database);
  uint64_t count = 0;
  ASSERT_OK(transfer(database, table, 0, &count, {}));
  auto held = database.hold_snapshot();
  ASSERT_OK(held);
  ASSERT_OK(transfer(database, table, 1, &count, {}));
  world.arm({"broken", FileCall::kSync, EIO, 0, ""}, 1);
  ASSERT_CODE(Code::kIoError, transfer(database, table, 2, &count, {}));

  const auto look = [&](const RunPolicy& policy, Balances* state) {
    return database.run_read_only([&](Transaction& txn) -> Status {
      for (Key key = 0; key < kAccounts; ++key) {
        auto view = txn.get(table, key);
        if (!view.ok()) return view.status();
        state->transfers[key] = (*view)->owner;
      }
      return {};
    }, policy);
  };
  Balances state;
  const Status refused = look({}, &state);
  EXPECT_REFUSED(Code::kIoError, "'" + world.failed_path + "'", refused);
  EXPECT_REFUSED(Code::kIoError, "RunPolicy::durability to Durability::kAsync", refused);
  ActiveTransaction open = begin_read_only(database);
  EXPECT_OK(open->get(table, 0));
  EXPECT_REFUSED(Code::kIoError, "Durability::kAsync", open.commit());

  RunPolicy policy;
  policy.durability = Durability::kAsync;
  EXPECT_OK(look(policy, &state));
  EXPECT_EQ(state.transfers[2], 1u) << "as it is in memory";
  RunPolicy then;
  then.snapshot = &*held;
  EXPECT_OK(look(then, &state)) << "all of it was durable";
  EXPECT_EQ(state.transfers[0], 1u);
  EXPECT_EQ(state.transfers[1], 0u);
  EXPECT_OK(database.backup("copy"));
}

// The log ends because a folder cannot be synced. All commits are on the disk, so reads promise the
// same as before.
TEST(ReadsAfterAFault, GoOnUnderGroupWhereNothingIsLost) {
  FaultyWorld world;
  Database database = open_under_group();
  const Table<Account> table = make_accounts(database);
  uint64_t count = 0;
  ASSERT_OK(transfer(database, table, 0, &count, {}));
  world.arm({"broken", FileCall::kSyncFolder, EIO, 0, ""}, 1);
  ASSERT_CODE(Code::kIoError, database.checkpoint());
  ASSERT_CODE(Code::kIoError, transfer(database, table, 0, &count, {}));
  Balances state;
  while (!look(database, table, &state).ok()) std::this_thread::yield();  // until the log's threads have ended
  EXPECT_EQ(state.transfers[0], 1u);
  EXPECT_OK(look(database, table, &state));
}

// These tests use the system's own files.
class FaultOfTheSystem : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    options_ = options_of(LogFailure::kReadOnly);
    options_.data_folders = {folder_ + "/db"};
    options_.log_segment_bytes = 1u << 20;
    policy_.durability = Durability::kGroup;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = (std::filesystem::temp_directory_path() / "elider_fault_XXXXXX").string();
  Options options_;
  RunPolicy policy_;
};

TEST_F(FaultOfTheSystem, AFolderThatVanishesEndsAcknowledgement) {
  auto database = Database::open(options_);
  ASSERT_OK(database);
  const Table<Account> table = make_accounts(*database);
  std::filesystem::remove_all(folder_ + "/db");
  uint64_t count = 0;
  EXPECT_REFUSED(Code::kIoError, folder_ + "/db/log-", transfer(*database, table, 0, &count, policy_));
  EXPECT_CODE(Code::kIoError, transfer(*database, table, 0, &count, {}));
}

// The folder was replaced by a copy that was made while the database was open. The copy contains
// less, and it opens.
TEST_F(FaultOfTheSystem, AFolderThatWasReplacedIsLeftAsItIs) {
  namespace fs = std::filesystem;
  const std::string folder = options_.data_folders[0];
  {
    auto database = Database::open(options_);
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    uint64_t count = 0;
    ASSERT_OK(transfer(*database, table, 0, &count, policy_));
    fs::copy(folder, folder + ".copy");
    ASSERT_OK(transfer(*database, table, 0, &count, policy_));
    fs::rename(folder, folder + ".open");
    fs::rename(folder + ".copy", folder);
  }
  for (const uint64_t transfers : {1, 2}) {
    {
      Balances state;
      look_again(options_, &state);
      EXPECT_EQ(state.transfers[0], transfers);
    }
    fs::remove_all(folder);
    if (transfers == 1) fs::rename(folder + ".open", folder);
  }
}

// While this object lives, the process's files cannot grow beyond this size. A write across the
// limit is a short one, and the next one fails.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit less{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &less), 0);
  }
  ~FileSizeLimit() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*const handler_)(int);
};

TEST_F(FaultOfTheSystem, AFileThatMayNotGrowEndsAcknowledgementAndLosesNothing) {
  uint64_t told = 0;
  {
    auto database = Database::open(options_);
    ASSERT_OK(database);
    const Table<Account> table = make_accounts(*database);
    const FileSizeLimit limit(32u << 10);
    Status status;
    while (status.ok()) {
      uint64_t count = 0;
      status = transfer(*database, table, 0, &count, policy_);
      if (status.ok()) told = count;
    }
    EXPECT_REFUSED(Code::kIoError, folder_ + "/db/log-", status);
    EXPECT_NE(status.message().find("File too large"), std::string::npos) << status.message();
    EXPECT_OK(database->verify());
  }
  EXPECT_GT(told, 0u);
  Balances state;
  look_again(options_, &state);
  EXPECT_EQ(state.sum, kOpening * static_cast<int64_t>(kAccounts));
  EXPECT_GE(state.transfers[0], told);
  EXPECT_LE(state.transfers[0], told + 1);
}

}  // namespace
}  // namespace elider::test
