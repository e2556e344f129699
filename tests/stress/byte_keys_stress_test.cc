// Tables of byte and tuple keys in each kind of index, while threads insert, remove and read. The
// keys share long prefixes or their first 8 bytes, or are empty or as long as a key can be
// (tests/support/byte_keys.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "elider/elider.h"
#include "tests/support/byte_keys.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

struct Token {
  uint64_t number = 0;  // the key as a number
  int64_t value = 0;
};

// The keys of numbers, of both types.
struct Texts {
  using KeyType = std::string_view;
  static std::string key(Key number) { return text_of_number(number); }
  static Key number(std::string_view key) { return number_of_text(key); }
};
struct Tuples {
  using KeyType = NumberTuple;
  static NumberTuple key(Key number) { return tuple_of_number(number); }
  static Key number(const NumberTuple& key) { return number_of_tuple(key); }
};

class ByteKeysStressTest : public DatabaseTest {
 protected:
  static constexpr Key kNumbers = 96, kTokens = 40;

  template <class Keys>
  Table<Token, typename Keys::KeyType> make(const std::string& name) {
    SchemaOf<Token, typename Keys::KeyType> schema(name);
    schema.key_index(GetParam().key_index).column("number", &Token::number).column("value", &Token::value);
    auto table = db_.create_table(schema);
    EXPECT_OK(table);
    return *table;
  }
  // Reads all rows. Returns the number of rows and the sum of their values, or why the rows are
  // wrong.
  template <class Keys>
  Status sum_of(Transaction& txn, const Table<Token, typename Keys::KeyType>& table, Key* rows, int64_t* sum) {
    *rows = 0;
    *sum = 0;
    if (!GetParam().ordered()) {
      for (Key number = 0; number < kNumbers; ++number) {
        auto view = txn.get(table, Keys::key(number));
        if (view.status().not_found()) continue;
        if (!view.ok()) return view.status();
        if ((*view)->number != number) return Status(Code::kCorrupt, "row of another key");
        ++*rows;
        *sum += (*view)->value;
      }
      return {};
    }
    std::string wrong;
    Key next = 0;
    using KeyType = typename Keys::KeyType;
    Status status = txn.scan(table, ByteRange::all(), {}, [&](const KeyType& key, const View<Token, KeyType>& view) {
      const Key number = Keys::number(key);
      if (number < next || view->number != number) wrong = "key " + std::to_string(number) + " of row " + std::to_string(view->number);
      next = number + 1;
      ++*rows;
      *sum += view->value;
    });
    return wrong.empty() ? status : Status(Code::kCorrupt, wrong);
  }

  // Moves a token to another key in one transaction, if there is one and the other key is free.
  template <class Keys>
  Status move(const Table<Token, typename Keys::KeyType>& table, Key from, Key to) {
    return db_.run([&](Transaction& txn) -> Status {
      auto view = txn.get(table, Keys::key(from));
      if (view.status().not_found()) return {};
      if (!view.ok()) return view.status();
      const Token token{to, (*view)->value};
      Status status = txn.insert(table, Keys::key(to), token);
      if (status.code() == Code::kDuplicateKey) return Status::rollback();
      return status.ok() ? txn.remove(table, Keys::key(from)) : status;
    });
  }
  template <class Keys>
  void move_tokens(const Table<Token, typename Keys::KeyType>& table, uint64_t moves, TestRandom random) {
    for (uint64_t i = 0; i < moves; ++i) {
      const Key from = random.below(kNumbers);
      const Status status = move<Keys>(table, from, (from + 1 + random.below(kNumbers - 1)) % kNumbers);
      ASSERT_TRUE(status.ok() || status.code() == Code::kRolledBack) << status.message();
    }
  }
  // Two threads move tokens. A third one reads all of them, in a snapshot and as a transaction that
  // is validated: no token is missing or seen twice.
  template <class Keys>
  void tokens_are_kept(const std::string& name) {
    const auto table = make<Keys>(name);
    transact(db_, [&](Transaction& txn) {
      for (Key number = 0; number < kTokens; ++number)
        ASSERT_OK(txn.insert(table, Keys::key(number), {number, static_cast<int64_t>(number)}));
    });
    constexpr int64_t kSum = kTokens * (kTokens - 1) / 2;
    std::atomic<int> moving{2};
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        move_tokens<Keys>(table, scaled(1500), TestRandom(1).split(i));
        --moving;
      });
    Key rows = 0;
    int64_t sum = 0;
    const auto read_all = [&](Transaction& txn) { return sum_of<Keys>(txn, table, &rows, &sum); };
    const auto expect_all = [&](const Status& status) {
      EXPECT_OK(status);
      EXPECT_EQ(rows, kTokens);
      EXPECT_EQ(sum, kSum);
    };
    do {
      expect_all(db_.run_read_only(read_all));
      const Status status = db_.run(read_all, {.attempts_max = 3});
      if (status.code() != Code::kDeadline) expect_all(status);
    } while (moving != 0 && !HasFailure());
    for (std::thread& thread : threads) thread.join();
    expect_all(db_.run(read_all));
    EXPECT_OK(db_.verify());
  }

  // Inserts and removes the numbers of a class, and keeps a model of them.
  template <class Keys>
  void churn(const Table<Token, typename Keys::KeyType>& table, Key first, Key step, TestRandom random, std::set<Key>* model) {
    const Key count = 200;
    for (uint64_t i = 0; i < scaled(1200); ++i) {
      // Rises and falls, so that nodes are split and merged.
      const bool grows = i / count % 2 == 0;
      const Key number = first + step * (grows ? i % count : random.below(count));
      const Status status = db_.run([&](Transaction& txn) -> Status {
        auto view = txn.get(table, Keys::key(number));
        if (!view.ok() && !view.status().not_found()) return view.status();
        if (view.ok() != model->contains(number)) return Status(Code::kCorrupt, "key " + std::to_string(number) + " is lost or came back");
        if (view.ok() && (*view)->number != number) return Status(Code::kCorrupt, "row of another key");
        return view.ok() ? txn.remove(table, Keys::key(number)) : txn.insert(table, Keys::key(number), {number, 1});
      });
      ASSERT_OK(status);
      if (!model->erase(number)) model->insert(number);
    }
  }
  // Three threads write numbers that lie between each other.
  template <class Keys>
  void churn_is_kept(const std::string& name) {
    constexpr Key kThreads = 3;
    const auto table = make<Keys>(name);
    std::vector<std::set<Key>> models(kThreads);
    std::vector<std::thread> threads;
    for (Key i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] { churn<Keys>(table, i, kThreads, TestRandom(2).split(i), &models[i]); });
    for (std::thread& thread : threads) thread.join();
    std::set<Key> expected, found;
    for (const std::set<Key>& model : models) expected.insert(model.begin(), model.end());
    read(db_, [&](Transaction& txn) {
      using KeyType = typename Keys::KeyType;
      ASSERT_OK(txn.scan_rows(table, {}, [&](const KeyType& key, const View<Token, KeyType>& view) {
        EXPECT_EQ(Keys::number(key), view->number);
        found.insert(view->number);
      }));
    });
    EXPECT_TRUE(found == expected) << found.size() << " rows, not " << expected.size();
    db_.collect_garbage();
    EXPECT_OK(db_.verify());
  }
};
INSTANTIATE_TEST_SUITE_P(On, ByteKeysStressTest, testing::ValuesIn(combinations_of_byte_keys(true)), combination_name);

TEST_P(ByteKeysStressTest, TokensThatMoveBetweenTextsAreKept) { tokens_are_kept<Texts>("texts"); }
TEST_P(ByteKeysStressTest, TokensThatMoveBetweenTuplesAreKept) { tokens_are_kept<Tuples>("tuples"); }
TEST_P(ByteKeysStressTest, InsertedAndRemovedTextsAreAsTheModelSays) { churn_is_kept<Texts>("texts"); }
TEST_P(ByteKeysStressTest, InsertedAndRemovedTuplesAreAsTheModelSays) { churn_is_kept<Tuples>("tuples"); }

}  // namespace
}  // namespace elider::test
