// Opening a database: invalid options are refused by name, and a database knows its policy.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "elider/elider.h"
#include "elider/laboratory.h"
#include "tests/support/compiled.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

TEST(OpenTest, DefaultOptionsChooseAPolicy) {
  auto database = Database::open();
  ASSERT_OK(database);
  EXPECT_NE(database->sync(), SyncPolicy::kAutomatic);
  EXPECT_TRUE(database->tables().empty());
  EXPECT_OK(database->verify());
}

TEST(OpenTest, EveryNamedPolicyIsUsedAsAsked) {
  for (SyncPolicy sync : {SyncPolicy::kOptimistic, SyncPolicy::kLatched, SyncPolicy::kSingleThreaded, SyncPolicy::kElided}) {
    Options options;
    options.sync = sync;
    if (left_out(options)) continue;
    auto database = Database::open(options);
    ASSERT_OK(database);
    EXPECT_EQ(database->sync(), sync);
  }
}

TEST(OpenTest, NamesOfPoliciesParseBack) {
  for (SyncPolicy sync :
       {SyncPolicy::kAutomatic, SyncPolicy::kOptimistic, SyncPolicy::kLatched, SyncPolicy::kSingleThreaded, SyncPolicy::kElided}) {
    SyncPolicy parsed = SyncPolicy::kAutomatic;
    EXPECT_TRUE(parse(name_of(sync), &parsed));
    EXPECT_EQ(parsed, sync);
  }
  SyncPolicy untouched = SyncPolicy::kLatched;
  EXPECT_FALSE(parse("wishful", &untouched));
  EXPECT_FALSE(parse("", &untouched));
  EXPECT_EQ(untouched, SyncPolicy::kLatched);
}

TEST(OpenTest, EveryNamedBackendIsUsedAsAskedAndMeansElided) {
  for (HtmBackend htm : {HtmBackend::kNone, HtmBackend::kAlwaysAborts}) {
    for (SyncPolicy sync : {SyncPolicy::kElided, SyncPolicy::kAutomatic}) {
      Options options;
      options.sync = sync;
      options.htm = htm;
      if (left_out(options)) continue;
      auto database = Database::open(options);
      ASSERT_OK(database);
      EXPECT_EQ(database->sync(), SyncPolicy::kElided);
      EXPECT_EQ(database->htm(), htm);
    }
  }
}

TEST(OpenTest, BaselinesMeanElided) {
  for (Protocol protocol : {Protocol::kWholeTransaction, Protocol::kSpinlock}) {
    Options options;
    options.protocol = protocol;
    for (HtmBackend htm : {HtmBackend::kAutomatic, HtmBackend::kNone}) {
      options.htm = htm;
      if (left_out(options)) continue;
      auto database = Database::open(options);
      ASSERT_OK(database);
      EXPECT_EQ(database->protocol(), protocol);
      EXPECT_EQ(database->sync(), SyncPolicy::kElided);
    }
    options.htm = HtmBackend::kAutomatic;
    options.sync = SyncPolicy::kOptimistic;
    EXPECT_EQ(Database::open(options).status().code(), Code::kInvalidArgument);
  }
}

TEST(OpenTest, SerialMeansOptimistic) {
  Options options;
  options.protocol = Protocol::kSerial;
  if (left_out(options)) GTEST_SKIP() << "the engine was left out";
  auto database = Database::open(options);
  ASSERT_OK(database);
  EXPECT_EQ(database->protocol(), Protocol::kSerial);
  EXPECT_EQ(database->sync(), SyncPolicy::kOptimistic);
  options.sync = SyncPolicy::kElided;
  EXPECT_EQ(Database::open(options).status().code(), Code::kInvalidArgument);
}

TEST(OpenTest, NamesOfProtocolsParseBack) {
  for (const auto& [protocol, name] : kProtocols) {
    Protocol parsed = Protocol::kOcc;
    EXPECT_EQ(name_of(protocol), name);
    EXPECT_TRUE(parse(name, &parsed));
    EXPECT_EQ(parsed, protocol);
  }
  Protocol untouched = Protocol::kWholeTransaction;
  EXPECT_FALSE(parse("wishful", &untouched));
  EXPECT_EQ(untouched, Protocol::kWholeTransaction);
}

TEST(OpenTest, NamesOfBackendsParseBack) {
  for (HtmBackend htm :
       {HtmBackend::kAutomatic, HtmBackend::kRtm, HtmBackend::kNone, HtmBackend::kAlwaysAborts, HtmBackend::kEmulated}) {
    HtmBackend parsed = HtmBackend::kAutomatic;
    EXPECT_TRUE(parse(name_of(htm), &parsed));
    EXPECT_EQ(parsed, htm);
  }
  HtmBackend untouched = HtmBackend::kRtm;
  EXPECT_FALSE(parse("wishful", &untouched));
  EXPECT_EQ(untouched, HtmBackend::kRtm);
}

TEST(OpenTest, AutomaticIsTheFastestThatWasMeasured) {
  auto database = Database::open();
  ASSERT_OK(database);
  EXPECT_EQ(database->sync(), SyncPolicy::kOptimistic);
  EXPECT_EQ(database->sync(), hardware().automatic);
  EXPECT_EQ(database->htm(), HtmBackend::kNone);
  EXPECT_FALSE(hardware().automatic_reason.empty());
}

// Elided uses the processor's hardware transactions only if they are proved to work.
TEST(OpenTest, ElidedRunsTheProcessorsRegionsOnlyOnProof) {
  const Hardware& machine = hardware();
  Options options;
  options.sync = SyncPolicy::kElided;
  if (left_out(options)) GTEST_SKIP() << "the engine was left out";
  auto database = Database::open(options);
  ASSERT_OK(database);
  EXPECT_EQ(database->htm() == HtmBackend::kRtm, machine.usable);
  EXPECT_EQ(database->htm(), machine.automatic_htm);
  EXPECT_FALSE(machine.usable && !machine.rtm);
}

// The option forces an instruction that the processor does not have. Opening is refused with a
// message; the process is not ended by a signal.
TEST(OpenTest, ForcingAMissingInstructionIsRefused) {
  Options options;
  options.sync = SyncPolicy::kElided;
  options.htm = HtmBackend::kRtm;
  auto database = Database::open(options);
  if (database.ok()) GTEST_SKIP() << "this machine executes XBEGIN";
  EXPECT_NE(database.status().message().find("rtm"), std::string::npos) << database.status().message();
  EXPECT_TRUE(database.status().code() == Code::kUnsupported || database.status().code() == Code::kInvalidArgument);
}

TEST(OpenTest, NonsenseOptionsAreRefusedByName) {
  const auto refused = [](const char* option, auto&& spoil) {
    Options options;
    spoil(options);
    EXPECT_REFUSED(Code::kInvalidArgument, option, Database::open(options));
  };
  refused("sync", [](Options& o) { o.sync = static_cast<SyncPolicy>(77); });
  refused("htm", [](Options& o) { o.sync = SyncPolicy::kElided, o.htm = static_cast<HtmBackend>(77); });
  refused("htm", [](Options& o) { o.sync = SyncPolicy::kOptimistic, o.htm = HtmBackend::kRtm; });
  refused("conflict_aborts_max", [](Options& o) { change_laboratory(o).elision.conflict_aborts_max = 1'000'001; });
  refused("write_lines_max", [](Options& o) { change_laboratory(o).elision.write_lines_max = 0; });
  refused("read_lines_max", [](Options& o) { change_laboratory(o).elision.read_lines_max = 65537; });
  refused("poor_percent", [](Options& o) { change_laboratory(o).elision.poor_percent = 101; });
  refused("off_runs", [](Options& o) { change_laboratory(o).elision.off_runs = 0; });
  refused("protocol", [](Options& o) { o.protocol = static_cast<Protocol>(77); });
  refused("memory_limit_bytes", [](Options& o) { o.memory_limit_bytes = 1; });
  refused("memory_limit_bytes", [](Options& o) { o.memory_limit_bytes = (4u << 20) - 1; });
  refused("block_threshold_bytes", [](Options& o) { o.block_threshold_bytes = kBlockThresholdMin - 1; });
  refused("block_threshold_bytes", [](Options& o) { o.block_threshold_bytes = (1u << 20) + 1; });
  refused("prefault_bytes", [](Options& o) { o.prefault_bytes = ~uint64_t{0}; });
  refused("workers_max", [](Options& o) { o.workers_max = 0; });
  refused("workers_max", [](Options& o) { o.workers_max = 4097; });
}

TEST(OpenTest, OptionsAtTheEndsOfTheirRangesAreTaken) {
  const auto taken = [](auto&& change) {
    Options options;
    change(options);
    EXPECT_OK(Database::open(options));
  };
  taken([](Options& o) { o.memory_limit_bytes = 4u << 20; });
  taken([](Options& o) { o.block_threshold_bytes = kBlockThresholdMin; });
  taken([](Options& o) { o.block_threshold_bytes = 1u << 20; });
  taken([](Options& o) { o.workers_max = 1; });
  taken([](Options& o) { o.workers_max = 4096; });
  taken([](Options& o) { o.huge_pages = false; });
}

TEST(OpenTest, DatabasesOfOneProcessAreApart) {
  auto first = Database::open();
  auto second = Database::open();
  ASSERT_OK(first);
  ASSERT_OK(second);
  auto accounts = first->create_table(account_schema(KeyIndex::kOrdered));
  ASSERT_OK(accounts);
  EXPECT_CODE(Code::kNotFound, second->table<Account>("accounts"));
  // A table used in another database's transaction is bad input, not a crash.
  Status inside;
  EXPECT_OK(second->run([&](Transaction& txn) -> Status {
    inside = txn.get(*accounts, 1).status();
    return {};
  }));
  EXPECT_CODE(Code::kInvalidArgument, inside);
  EXPECT_OK(second->run([&](Transaction& txn) -> Status {
    inside = txn.insert(*accounts, 1, Account{});
    return {};
  }));
  EXPECT_CODE(Code::kInvalidArgument, inside);
}

TEST(OpenTest, HandlesOfAnotherDatabaseAreRefused) {
  const auto schema = indexed_account_schema(KeyIndex::kOrdered);
  auto first = Database::open(), second = Database::open();
  ASSERT_OK(first);
  ASSERT_OK(second);
  auto accounts = first->create_table(schema), others = second->create_table(schema);
  ASSERT_OK(accounts);
  ASSERT_OK(others);
  const std::string branch[] = {"branch"};
  auto by_branch = first->index(*accounts, "by_branch");
  auto columns = first->columns(*accounts, branch);
  auto held = first->hold_snapshot();
  ASSERT_OK(by_branch);
  ASSERT_OK(columns);
  ASSERT_OK(held);
  EXPECT_REFUSED(Code::kInvalidArgument, "another database", second->index(*accounts, "by_branch"));
  EXPECT_REFUSED(Code::kInvalidArgument, "another database", second->columns(*accounts, branch));
  const auto nothing = [](Transaction&) {};
  EXPECT_REFUSED(Code::kInvalidArgument, "another database", second->run_read_only(nothing, {.snapshot = &*held}));
  EXPECT_REFUSED(Code::kInvalidArgument, "another database", second->begin_read_only(*held));
  transact(*first, [&](Transaction& txn) { ASSERT_OK(txn.insert(*accounts, 1, Account{1, 0, 1, 0})); });
  transact(*second, [&](Transaction& txn) {
    ASSERT_OK(txn.insert(*others, 1, Account{1, 0, 1, 0}));
    const auto all = [](Key, const View<Account>&) { return true; };
    EXPECT_REFUSED(Code::kInvalidArgument, "another database", txn.scan(*by_branch, KeyRange{}, {}, all));
    EXPECT_REFUSED(Code::kInvalidArgument, "another database", txn.scan(*accounts, KeyRange{}, {}, all));
    RawView view;
    EXPECT_REFUSED(Code::kInvalidArgument, "a table other than", txn.get(TableRef(*others), 1, *columns, &view));
    ActiveTransaction other = begin(*first);
    auto its = other->get(*accounts, 1);
    ASSERT_OK(its);
    EXPECT_CODE(Code::kInvalidArgument, txn.update(*others, *its, {}, [](Account&) { ADD_FAILURE(); }));
  });
  // Hints are ignored.
  const std::array<Key, 1> keys = {1};
  EXPECT_OK(second->run_group(
      std::span<const Key>(keys),
      [&](Key key, Touches& touches) {
        touches.row(*accounts, key, *columns);
        touches.row(*others, key, *columns);
        touches.range(*by_branch, 0);
      },
      [&](Key key, Transaction& txn) { return txn.get(*others, key).status(); }));
  // A sequence takes its numbers from its own database.
  auto numbers = first->sequence("numbers");
  ASSERT_OK(numbers);
  transact(*second, [&](Transaction&) { EXPECT_OK(numbers->next()); });
  EXPECT_CODE(Code::kNotFound, second->table("elider_sequences"));
}

TEST(OpenTest, AMovedDatabaseKeepsItsRows) {
  auto opened = Database::open();
  ASSERT_OK(opened);
  auto accounts = opened->create_table(account_schema(KeyIndex::kHashed));
  ASSERT_OK(accounts);
  transact(*opened, [&](Transaction& txn) { ASSERT_OK(txn.insert(*accounts, 1, Account{7, 70, 0, 0})); });
  Database moved = std::move(opened).value();
  read(moved, [&](Transaction& txn) {
    auto view = txn.get(*accounts, 1);
    ASSERT_OK(view);
    EXPECT_EQ((*view)->balance, 70);
  });
  EXPECT_OK(moved.verify());
}

TEST(OpenTest, MoreOpenTransactionsThanWorkersAreRefused) {
  Options options;
  options.workers_max = 3;
  auto database = Database::open(options);
  ASSERT_OK(database);
  std::vector<ActiveTransaction> open;
  Status refusal;
  for (int i = 0; i < 4 && refusal.ok(); ++i) {
    auto txn = database->begin();
    if (txn.ok()) open.push_back(std::move(txn).value());
    else refusal = txn.status();
  }
  EXPECT_CODE(Code::kMemoryLimit, refusal);
  EXPECT_GE(open.size(), 2u);  // the thread itself may count as one
  open.pop_back();
  EXPECT_OK(database->begin());
}

// A single-threaded database says whether the cause is another thread or too many transactions.
TEST(OpenTest, ASingleThreadedDatabaseNamesTheCauseOfARefusal) {
  Options options;
  options.sync = SyncPolicy::kSingleThreaded;
  options.workers_max = 2;
  if (left_out(options)) GTEST_SKIP() << "the engine was left out";
  auto database = Database::open(options);
  ASSERT_OK(database);
  std::vector<ActiveTransaction> open;
  Status refusal;
  for (int i = 0; i < 3 && refusal.ok(); ++i) {
    auto txn = database->begin();
    if (txn.ok()) open.push_back(std::move(txn).value());
    else refusal = txn.status();
  }
  EXPECT_REFUSED(Code::kMemoryLimit, "workers_max", refusal);
  std::thread([&] { EXPECT_REFUSED(Code::kInvalidArgument, "another thread", database->begin()); }).join();
}

}  // namespace
}  // namespace elider::test
