// Rows that are stored at places determined by their keys (SchemaOf::inline_rows,
// storage/inline_rows.h).
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

// The tests use far more keys than places.
constexpr uint64_t kPlaces = 64;
constexpr Key kInlineKeys = 400;

std::vector<Combination> hashed(std::vector<Combination> all) {
  std::erase_if(all, [](const Combination& combination) { return combination.key_index != KeyIndex::kHashed; });
  return all;
}

class InlineRowsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    accounts_ = create(schema("accounts").inline_rows(kPlaces));
  }
  static SchemaOf<Account> schema(const char* name) {
    return SchemaOf<Account>(name).hashed().column("balance", &Account::balance).column("owner", &Account::owner);
  }
  static Account account(Key key, int64_t balance) { return {key, balance, 0, 0}; }

  Table<Account> accounts_;
};
INSTANTIATE_TEST_SUITE_P(On, InlineRowsTest, testing::ValuesIn(hashed(combinations(false, false))), combination_name);

TEST_P(InlineRowsTest, RowsWithAndWithoutAPlaceAreWhatTheyWouldBeElsewhere) {
  std::map<Key, int64_t> model;
  TestRandom random;
  for (int round = 0; round < 6000; ++round) {
    const Key key = random.below(kInlineKeys);
    const bool there = model.contains(key);
    transact(db_, [&](Transaction& txn) {
      auto view = txn.get(accounts_, key);
      ASSERT_EQ(view.ok(), there);
      if (there) {
        ASSERT_EQ((*view)->owner, key);
        ASSERT_EQ((*view)->balance, model[key]);
      }
      switch (random.below(4)) {
        case 0:
          if (!there) break;
          ASSERT_OK(txn.remove(accounts_, key));
          model.erase(key);
          break;
        case 1:
          if (!there) break;
          ASSERT_OK(txn.update(accounts_, key, {}, [&](Account& a) { a.balance = round; }));
          model[key] = round;
          break;
        default:
          ASSERT_OK(txn.put(accounts_, key, account(key, round)));
          model[key] = round;
      }
    });
  }
  EXPECT_GT(model.size(), 2 * kPlaces);
  std::vector<Key> keys(kInlineKeys);
  for (Key key = 0; key < kInlineKeys; ++key) keys[key] = key;
  read(db_, [&](Transaction& txn) {
    std::vector<View<Account>> views(keys.size());
    ASSERT_OK(txn.multi_get<Account>(accounts_, keys, views));
    for (Key key = 0; key < kInlineKeys; ++key) {
      ASSERT_EQ(static_cast<bool>(views[key]), model.contains(key));
      if (model.contains(key)) {
        EXPECT_EQ(views[key]->balance, model[key]);
      }
    }
  });
}

TEST_P(InlineRowsTest, ANewRowOfARemovedKeyIsFound) {
  for (int64_t balance = 1; balance <= 100; ++balance) {
    insert(accounts_, 7, account(7, balance));
    EXPECT_EQ(row(accounts_, 7).balance, balance);
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.remove(accounts_, 7)); });
    EXPECT_FALSE(has(accounts_, 7));
  }
}

// An insert that is rolled back eventually gives its place back.
TEST_P(InlineRowsTest, RowsThatAreRolledBackAreGone) {
  for (Key key = 0; key < kInlineKeys; ++key)
    EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
      EXPECT_OK(txn.insert(accounts_, key, account(key, 1)));
      return Status::rollback();
    }));
  for (Key key = 0; key < kInlineKeys; ++key) EXPECT_FALSE(has(accounts_, key));
  for (Key key = 0; key < kInlineKeys; ++key) insert(accounts_, key, account(key, 2));
  for (Key key = 0; key < kInlineKeys; ++key) EXPECT_EQ(row(accounts_, key).balance, 2);
}

TEST_P(InlineRowsTest, ATableForWhosePlacesThereIsNoMemoryIsRefused) {
  Options options;
  options.memory_limit_bytes = 16u << 20;
  reopen(options);
  EXPECT_REFUSED(Code::kMemoryLimit, "1000000 inline rows", db_.create_table(schema("large").inline_rows(1'000'000)));
  insert(create(schema("small").inline_rows(1'000)), 1, account(1, 1));
}

// A data folder stores the number of places. If there is not enough memory for them, rows are
// stored elsewhere.
TEST_P(InlineRowsTest, ADatabaseThatIsOpenedAgainHasThem) {
  const TemporaryFolder folder("elider_inline_rows");
  Options options;
  options.data_folders = {folder.path().string()};
  options.durability = Durability::kGroup;
  reopen(options);
  Table<Account> kept = create(schema("kept").inline_rows(200'000));
  for (Key key = 0; key < 50; ++key) insert(kept, key, account(key, 5));
  for (const uint64_t limit : {uint64_t{0}, uint64_t{8} << 20}) {
    db_ = Database();
    options.memory_limit_bytes = limit;
    reopen(options);
    kept = *db_.table<Account>("kept");
    EXPECT_EQ(kept.schema().inline_rows, limit == 0 ? 200'000u : 0u);
    for (Key key = 0; key < 50; ++key) EXPECT_EQ(row(kept, key).balance, 5);
    EXPECT_OK(db_.verify());
  }
  db_ = Database();
  options.memory_limit_bytes = 0;
  options.schemas = {schema("kept").inline_rows(1'000)};
  reopen(options);
  EXPECT_EQ(db_.table<Account>("kept")->schema().inline_rows, 1'000u) << "the program may choose another number";
  EXPECT_EQ(row(*db_.table<Account>("kept"), 49).balance, 5);
  reopen({});  // before the folder goes
}

TEST_P(InlineRowsTest, SchemasTheyDoNotGoWithAreRefused) {
  EXPECT_REFUSED(Code::kInvalidArgument, "hashed", db_.create_table(schema("other").ordered().inline_rows(10)));
  Schema sized = schema("other").inline_rows(10).schema();
  sized.sized_rows = true;
  EXPECT_REFUSED(Code::kInvalidArgument, "fixed-size rows", db_.create_table(sized));
  Schema large = schema("other").inline_rows(10).schema();
  large.row_bytes = 257;
  EXPECT_REFUSED(Code::kInvalidArgument, "257", db_.create_table(large));
  EXPECT_OK(db_.create_table(schema("accounts"))) << "the number of places does not belong to the schema";
}

class InlineRowsOfSeveralTest : public InlineRowsTest {};
INSTANTIATE_TEST_SUITE_P(On, InlineRowsOfSeveralTest, testing::ValuesIn(hashed(combinations(true, false))), combination_name);

// All threads insert, remove and find keys. Each row that is found belongs to its key.
TEST_P(InlineRowsOfSeveralTest, APlaceIsNeverAnotherKeys) {
  constexpr Key kFew = 24;
  std::atomic<int64_t> inserted{0}, removed{0};
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed)
    threads.emplace_back([&, seed] {
      TestRandom random(seed);
      for (int round = 0; round < 3000; ++round) {
        const Key key = random.below(kFew);
        int change = 0;
        EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
          change = 0;
          auto view = txn.get(accounts_, key);
          if (view.ok()) {
            EXPECT_EQ((*view)->owner, key);
            if (round % 3 == 0) return txn.update(accounts_, key, {}, [](Account& a) { ++a.balance; });
            change = -1;
            return txn.remove(accounts_, key);
          }
          if (!view.status().not_found()) return view.status();
          change = 1;
          return txn.insert(accounts_, key, account(key, 1));
        }));
        (change > 0 ? inserted : removed) += change != 0 ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  int64_t there = 0;
  for (Key key = 0; key < kFew; ++key) there += has(accounts_, key);
  EXPECT_EQ(there, inserted - removed);
}

}  // namespace
}  // namespace elider::test
