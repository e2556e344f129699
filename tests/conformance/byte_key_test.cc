// Tests of tables with byte keys: every call, ranges and paging, bad input, messages, groups,
// phantoms. tests/model/model_test.cc compares random programs with std::map.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "elider/tuple.h"
#include "tests/support/byte_keys.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using TextView = View<Account, std::string_view>;

class ByteKeyTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(byte_account_schema(GetParam().key_index));
    ASSERT_OK(table);
    accounts_ = *table;
    by_branch_ = *db_.index(accounts_, "by_branch");
    by_owner_ = *db_.index(accounts_, "by_owner");
  }
  void fill(const std::vector<std::string>& keys) {
    transact(db_, [&](Transaction& txn) {
      for (size_t i = 0; i < keys.size(); ++i)
        ASSERT_OK(txn.insert(accounts_, keys[i], {i, static_cast<int64_t>(i), static_cast<uint32_t>(i % 3), 0}));
    });
  }
  std::vector<std::string> scan(Transaction& txn, const ByteRange& range, const ScanOptions& options = {}) {
    std::vector<std::string> found;
    EXPECT_OK(txn.scan(accounts_, range, options, [&](std::string_view key, const TextView& view) {
      EXPECT_EQ(view.key(), key);
      found.emplace_back(key);
    }));
    return found;
  }
  std::vector<std::string> scan(const ByteRange& range, const ScanOptions& options = {}) {
    std::vector<std::string> found;
    read(db_, [&](Transaction& txn) { found = scan(txn, range, options); });
    return found;
  }

  // Returns all keys in order. Reads them through a secondary index, because not every key index is
  // ordered.
  std::vector<std::string> all_keys() {
    std::vector<std::string> found;
    read(db_, [&](Transaction& txn) {
      EXPECT_OK(txn.scan(by_branch_, {}, {}, [&](std::string_view key, const TextView&) { found.emplace_back(key); }));
    });
    std::sort(found.begin(), found.end());
    return found;
  }
  void every_call_finds_the_key();
  void an_absent_key_that_comes_is_a_conflict();

  Table<Account, std::string_view> accounts_;
  Index<Account, std::string_view> by_branch_, by_owner_;
};
INSTANTIATE_TEST_SUITE_P(On, ByteKeyTest, testing::ValuesIn(combinations_of_byte_keys(false)), combination_name);

class ByteKeyConflictTest : public ByteKeyTest {};
INSTANTIATE_TEST_SUITE_P(On, ByteKeyConflictTest, testing::ValuesIn(combinations_of_byte_keys(true)), combination_name);

class OrderedByteKeyTest : public ByteKeyTest {};
INSTANTIATE_TEST_SUITE_P(On, OrderedByteKeyTest, testing::ValuesIn(combinations_of_ordered_byte_keys(false)), combination_name);

class OrderedByteKeyConflictTest : public ByteKeyTest {};
INSTANTIATE_TEST_SUITE_P(On, OrderedByteKeyConflictTest, testing::ValuesIn(combinations_of_ordered_byte_keys(true)), combination_name);

using Keys = std::vector<std::string>;

TEST_P(ByteKeyTest, EveryCallFindsTheKey) { every_call_finds_the_key(); }

void ByteKeyTest::every_call_finds_the_key() {
  const Keys keys = unlike_keys();
  fill(keys);
  transact(db_, [&](Transaction& txn) {
    for (size_t i = 0; i < keys.size(); ++i) {
      auto view = txn.get(accounts_, keys[i]);
      ASSERT_OK(view);
      EXPECT_EQ((*view)->owner, i);
      EXPECT_EQ(view->key(), keys[i]);
      ASSERT_OK(txn.update(accounts_, *view, {}, [](Account& a) { a.balance += 100; }));
      ASSERT_OK(txn.update(accounts_, keys[i], accounts_.columns(&Account::flags), [](Account& a) { a.flags = 7; }));
      ASSERT_OK(txn.add(accounts_, keys[i], &Account::balance, 1000));
      EXPECT_CODE(Code::kDuplicateKey, txn.insert(accounts_, keys[i], {}));
    }
    std::vector<std::string_view> asked(keys.begin(), keys.end());
    const std::string absent = keys.back() + "?";
    asked.push_back(absent.size() <= kKeyBytesMax ? std::string_view(absent) : "?");
    std::vector<TextView> views(asked.size());
    ASSERT_OK(txn.multi_get(accounts_, asked, std::span(views)));
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(views[i]);
      EXPECT_EQ(views[i].key(), keys[i]);
      EXPECT_EQ(views[i]->balance, static_cast<int64_t>(i) + 1100);
      EXPECT_EQ(views[i]->flags, 7u);
    }
    EXPECT_FALSE(views.back());
    ASSERT_OK(txn.multi_get(accounts_, {}, std::span(views).first(0)));
  });
  Keys sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(all_keys(), sorted);
  if (GetParam().ordered()) {
    EXPECT_EQ(scan(ByteRange::all()), sorted);
    std::reverse(sorted.begin(), sorted.end());
    EXPECT_EQ(scan(ByteRange::all(), {.reverse = true}), sorted);
  }
  transact(db_, [&](Transaction& txn) {
    for (size_t i = 0; i < keys.size(); i += 2) ASSERT_OK(txn.remove(accounts_, keys[i]));
    for (size_t i = 1; i < keys.size(); i += 2) ASSERT_OK(txn.put(accounts_, keys[i], {i, -1, 9, 0}));
    ASSERT_OK(txn.write(accounts_, keys[1], accounts_.columns(&Account::flags), {0, 0, 0, 55}));
  });
  read(db_, [&](Transaction& txn) {
    for (size_t i = 0; i < keys.size(); ++i) {
      auto view = txn.get(accounts_, keys[i]);
      EXPECT_EQ(view.ok(), i % 2 == 1) << i;
      if (view.ok()) {
        EXPECT_EQ((*view)->balance, -1);
      }
    }
    EXPECT_EQ((*txn.get(accounts_, keys[1]))->flags, 55u);
    size_t found = 0;
    EXPECT_OK(txn.scan(by_branch_, {9, 9}, {}, [&](std::string_view key, const TextView& view) {
      EXPECT_EQ(view.key(), key);
      ++found;
    }));
    EXPECT_EQ(found, keys.size() / 2);
  });
}

TEST_P(ByteKeyTest, AViewDoesNotShowItsKeyAfterItsTransaction) {
  fill({"a", "b"});
  TextView kept, several[2];
  const std::vector<std::string_view> asked{"a", "b"};
  read(db_, [&](Transaction& txn) { kept = *txn.get(accounts_, "a"); });
  EXPECT_FALSE(kept.shows());
  read(db_, [&](Transaction& txn) { ASSERT_OK(txn.multi_get(accounts_, asked, std::span<TextView>(several))); });
  EXPECT_FALSE(several[1].shows());
}

TEST_P(OrderedByteKeyTest, RangesIncludeWhatTheySay) {
  const std::string ff(3, '\xff'), zero(1, '\0');
  const Keys keys{"", zero, "a", "a" + zero, "ab", "ab" + zero, "abc", "ac", "b", ff, ff + "x", "\xff\xff\xff\xff"};
  fill(keys);
  EXPECT_EQ(scan({"a", "ab"}), (Keys{"a", "a" + zero, "ab"}));
  EXPECT_EQ(scan({"b", "a"}), Keys());
  EXPECT_EQ(scan({"", ""}), Keys{""});
  EXPECT_EQ(scan(ByteRange::until("a", "ab")), (Keys{"a", "a" + zero}));
  EXPECT_EQ(scan(ByteRange::from("b")), (Keys{"b", ff, ff + "x", "\xff\xff\xff\xff"}));
  for (const bool reverse : {false, true}) {
    const auto in_order = [&](Keys all) {
      if (reverse) std::reverse(all.begin(), all.end());
      return all;
    };
    const ScanOptions options{.reverse = reverse};
    EXPECT_EQ(scan(ByteRange::prefix("ab"), options), in_order({"ab", "ab" + zero, "abc"}));
    EXPECT_EQ(scan(ByteRange::prefix(ff), options), in_order({ff, ff + "x", "\xff\xff\xff\xff"}));
    EXPECT_EQ(scan(ByteRange::prefix(""), options), in_order(keys));
    EXPECT_EQ(scan(ByteRange::prefix("zz"), options), Keys());
    EXPECT_EQ(scan(ByteRange::prefix(std::string(kKeyBytesMax + 1, 'a')), options), Keys());
    EXPECT_EQ(scan(ByteRange::prefix("ab"), {.limit = 1, .reverse = reverse}), Keys{reverse ? "abc" : "ab"});
    for (const uint64_t limit : {1u, 2u, 5u}) {
      Keys paged;
      for (;;) {
        const std::string at = paged.empty() ? std::string() : paged.back();
        const ByteRange all = ByteRange::prefix("a");
        const ByteRange rest = paged.empty() ? all : reverse ? all.before(at) : all.after(at);
        const Keys page = scan(rest, {.limit = limit, .reverse = reverse});
        if (page.empty() || paged.size() > keys.size()) break;
        paged.insert(paged.end(), page.begin(), page.end());
      }
      EXPECT_EQ(paged, in_order({"a", "a" + zero, "ab", "ab" + zero, "abc", "ac"}));
    }
  }
  EXPECT_EQ(scan(ByteRange::prefix("ab").after("aa")), (Keys{"ab", "ab" + zero, "abc"}));
  EXPECT_EQ(scan(ByteRange::prefix("ab").before("b")), (Keys{"ab", "ab" + zero, "abc"}));
  EXPECT_EQ(scan(ByteRange::prefix("ab").before("aa")), Keys());
  EXPECT_EQ(scan(ByteRange::prefix("ab").after("b")), Keys());
  const std::string longest(kKeyBytesMax, 'q'), longer = longest + "q";
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(accounts_, longest, {1000, 0, 0, 0})); });
  EXPECT_EQ(scan(ByteRange::from(longest)).front(), longest);
  EXPECT_EQ(scan(ByteRange::from(longer)).front(), ff);
  EXPECT_EQ(scan({"c", longest}), Keys{longest});
  EXPECT_EQ(scan({"c", longer}), Keys{longest});
  EXPECT_EQ(scan(ByteRange::until("c", longer)), Keys{longest});
  EXPECT_EQ(scan(ByteRange::until("c", longest)), Keys());
}

TEST_P(OrderedByteKeyTest, EncodedTuplesAreKeys) {
  using Order = std::tuple<std::string, uint32_t, int64_t>;
  std::vector<Order> orders;
  for (const char* region : {"eu", "eu\xc3\xa9", "us"})
    for (const uint32_t warehouse : {1u, 2u, 256u})
      for (const int64_t number : {-1, 0, 7}) orders.emplace_back(region, warehouse, number);
  transact(db_, [&](Transaction& txn) {
    for (size_t i = 0; i < orders.size(); ++i) {
      EncodedTuple key;
      ASSERT_OK(key.set_tuple(orders[i]));
      ASSERT_OK(txn.insert(accounts_, key.bytes(), {i, 0, 0, 0}));
    }
  });
  const auto found = [&](const TuplePrefix& prefix) {
    EXPECT_OK(prefix.status());
    std::vector<Order> all;
    for (const std::string& key : scan(prefix)) {
      auto order = decode_tuple<Order>(Bytes(key).span());
      EXPECT_OK(order);
      if (order.ok()) all.push_back(*order);
    }
    return all;
  };
  EXPECT_EQ(found(prefix()), orders);
  EXPECT_EQ(found(prefix("eu")), std::vector<Order>(orders.begin(), orders.begin() + 9));
  EXPECT_EQ(found(prefix("us", 256)), std::vector<Order>(orders.begin() + 24, orders.end()));
  EXPECT_EQ(found(prefix("us", 3)), std::vector<Order>());
}

TEST_P(ByteKeyTest, AnIndexScanGoesOnBehindAPosition) {
  const Keys keys = unlike_keys();
  fill(keys);
  for (const bool reverse : {false, true}) {
    std::vector<std::pair<uint64_t, std::string>> expected, paged;
    for (size_t i = 0; i < keys.size(); ++i) expected.emplace_back(i % 3, keys[i]);
    std::sort(expected.begin(), expected.end());
    if (reverse) std::reverse(expected.begin(), expected.end());
    for (;;) {
      std::string at;
      ByteIndexRange rest;
      if (!paged.empty()) {
        at = paged.back().second;
        rest = reverse ? rest.before({paged.back().first, at}) : rest.after({paged.back().first, at});
      }
      size_t found = 0;
      read(db_, [&](Transaction& txn) {
        EXPECT_OK(txn.scan(by_branch_, rest, {.limit = 2, .reverse = reverse}, [&](ByteIndexPosition position, const TextView&) {
          paged.emplace_back(position.value, position.key.to_string());
          ++found;
        }));
      });
      if (found == 0 || paged.size() > expected.size()) break;
    }
    EXPECT_EQ(paged, expected);
  }
}

TEST_P(ByteKeyTest, AUniqueIndexNamesTheHolder) {
  fill({"user:0000001", "user:0000002"});
  transact(db_, [&](Transaction& txn) {
    const Status taken = txn.insert(accounts_, "user:0000003", {1, 0, 0, 0});
    EXPECT_CODE(Code::kDuplicateKey, taken);
    EXPECT_NE(taken.message().find("\"user:0000002\""), std::string::npos) << taken.message();
    EXPECT_EQ(taken.key_bytes(), "user:0000003");
  });
}

TEST_P(ByteKeyTest, StatusesHaveTheWholeKey) {
  const std::string longest = std::string(kKeyBytesMax - 1, 'k') + '\n';
  fill({"user:0000001", "user:0000002", longest});
  transact(db_, [&](Transaction& txn) {
    Status status = txn.insert(accounts_, "user:0000002", {});
    EXPECT_EQ(status.message(), "duplicate key (table 'texts', key \"user:0000002\")");
    EXPECT_TRUE(status.has_key());
    EXPECT_TRUE(status.has_key_bytes());
    EXPECT_EQ(status.key(), 0u);
    const Status copy = status;
    EXPECT_EQ(copy.key_bytes(), "user:0000002");
    const Status moved = std::move(status);
    EXPECT_EQ(moved.key_bytes(), "user:0000002");
    EXPECT_EQ(status.code(), Code::kDuplicateKey);  // NOLINT: tests the moved-from status
    EXPECT_FALSE(status.has_key());
    EXPECT_EQ(status.table(), "texts");
    EXPECT_EQ(txn.get(accounts_, "").status().message(), "not found (table 'texts', key \"\")");
    EXPECT_EQ(txn.get(accounts_, std::string_view("a\0b", 3)).status().message(), "not found (table 'texts', key \"a\\x00b\")");
    const Status of_long = txn.insert(accounts_, longest, {});
    EXPECT_EQ(of_long.key_bytes(), longest);
    EXPECT_EQ(of_long.message(), "duplicate key (table 'texts', key \"" + std::string(64, 'k') + "...\" of 1024 bytes)");
  });
}

TEST_P(ByteKeyTest, AWrongKeyIsRefusedAndChangesNothing) {
  fill({"a"});
  const auto numbers = create(account_schema(KeyIndex::kOrdered, "numbers"));
  insert(numbers, 1, Account{1, 1, 1, 1});
  const std::string longer(kKeyBytesMax + 1, 'x');
  const TableRef bytes_ref = accounts_, numbers_ref = numbers;
  transact(db_, [&](Transaction& txn) {
    const auto refused = [](const Status& status, const std::string& names) {
      EXPECT_CODE(Code::kInvalidArgument, status);
      EXPECT_NE(status.message().find(names), std::string::npos) << status.message();
    };
    const Account row{5, 5, 5, 5};
    const std::string too_long = "table 'texts': the key \"" + std::string(64, 'x') + "...\" of 1025 bytes";
    refused(txn.get(accounts_, longer).status(), too_long);
    refused(txn.insert(accounts_, longer, row), too_long);
    refused(txn.put(accounts_, longer, row), too_long);
    refused(txn.update(accounts_, longer, {}, [](Account&) {}), too_long);
    refused(txn.write(accounts_, longer, accounts_.columns(&Account::flags), row), too_long);
    refused(txn.add(accounts_, longer, &Account::balance, 1), too_long);
    refused(txn.remove(accounts_, longer), too_long);
    std::vector<std::string_view> asked{"a", longer};
    std::vector<TextView> views(2);
    refused(txn.multi_get(accounts_, asked, std::span(views)), too_long);

    RawView view;
    void* image = nullptr;
    const auto row_bytes = std::as_bytes(std::span(&row, 1));
    const auto stop = [](auto&&...) { return false; };
    const std::string number = "table 'texts' has byte keys; the number key 1 ";
    refused(txn.get(bytes_ref, 1, {}, &view), number);
    refused(txn.insert(bytes_ref, 1, row_bytes), number);
    refused(txn.put(bytes_ref, 1, row_bytes), number);
    refused(txn.edit(bytes_ref, 1, {}, &image), number);
    refused(txn.write(bytes_ref, 1, accounts_.columns(&Account::flags), &row), number);
    refused(txn.remove(bytes_ref, 1), number);
    const Key one = 1;
    refused(txn.multi_get(bytes_ref, &one, 1, {}, &view), number);
    const int64_t delta = 1;
    refused(txn.add(bytes_ref, 1, offset_of(&Account::balance), ColumnType::kInt64, &delta), number);
    refused(txn.scan(bytes_ref, KeyRange{1, 2}, {}, FunctionRef<bool(Key, RawView)>(stop)), number);
    const IndexRef index = by_branch_;
    refused(txn.scan(index, IndexRange{}, {}, FunctionRef<bool(Key, RawView)>(stop)), "table 'texts' has byte keys");
    refused(txn.scan(index, IndexRange{}, {}, FunctionRef<bool(IndexPosition, RawView)>(stop)), "table 'texts' has byte keys");
    // Calls that take a range or many keys do not name a key that was not given.
    const std::string numbers_given = "table 'texts' has byte keys; number keys were given";
    refused(txn.scan(bytes_ref, KeyRange{}, {}, FunctionRef<bool(Key, RawView)>(stop)), numbers_given);
    const Bytes bytes = row_bytes;
    refused(txn.insert_many(bytes_ref, std::span(&one, 1), std::span(&bytes, 1)), numbers_given);

    const std::string text = "table 'numbers' has number keys; the byte key \"a\"";
    refused(txn.get(numbers_ref, "a", {}, &view), text);
    refused(txn.insert(numbers_ref, "a", row_bytes), text);
    refused(txn.put(numbers_ref, "a", row_bytes), text);
    refused(txn.edit(numbers_ref, "a", {}, &image), text);
    refused(txn.write(numbers_ref, "a", numbers.columns(&Account::flags), &row), text);
    refused(txn.add(numbers_ref, "a", offset_of(&Account::balance), ColumnType::kInt64, &delta), text);
    refused(txn.remove(numbers_ref, "a"), text);
    const Bytes a = "a";
    const std::string texts = "table 'numbers' has number keys; byte keys were given";
    refused(txn.multi_get(numbers_ref, &a, 1, {}, &view), texts);
    refused(txn.scan(numbers_ref, ByteRange::all(), {}, FunctionRef<bool(Bytes, RawView)>(stop)), texts);
    refused(txn.get(TableRef(), "a", {}, &view), "an empty TableRef");
  });
  EXPECT_EQ(all_keys(), Keys{"a"});
  EXPECT_EQ(row(numbers, 1), (Account{1, 1, 1, 1}));
}

TEST_P(ByteKeyTest, ATableHasOneKindOfKey) {
  EXPECT_CODE(Code::kSchemaMismatch, db_.table<Account>("texts"));
  EXPECT_OK((db_.table<Account, Bytes>("texts")));
  create(account_schema(KeyIndex::kOrdered, "numbers"));
  EXPECT_CODE(Code::kSchemaMismatch, (db_.table<Account, std::string_view>("numbers")));
  Schema schema = byte_account_schema(GetParam().key_index);
  schema.key_kind = KeyKind::kNumbers;
  EXPECT_CODE(Code::kSchemaMismatch, db_.create_table(schema));
  const KeyIndex another = GetParam().key_index == KeyIndex::kHashed ? KeyIndex::kRadix : KeyIndex::kHashed;
  EXPECT_CODE(Code::kSchemaMismatch, db_.create_table(byte_account_schema(another)));
  EXPECT_CODE(Code::kInvalidArgument, db_.create_table(SchemaOf<Account, Bytes>("other").zoned()));
  EXPECT_CODE(Code::kInvalidArgument, db_.create_table(SchemaOf<Account, Bytes>("other").inline_rows(10)));
  EXPECT_REFUSED(Code::kInvalidArgument, "inline_rows needs number keys",
                 db_.create_table(SchemaOf<Account, Bytes>("other").hashed().inline_rows(10)));
}

TEST_P(ByteKeyTest, AGroupFindsTheRowsItNames) {
  const Keys keys = unlike_keys();
  fill(keys);
  std::vector<size_t> calls(keys.size());
  for (size_t i = 0; i < calls.size(); ++i) calls[i] = i;
  std::vector<Status> outcomes(calls.size());
  std::vector<std::string> seen(calls.size());
  EXPECT_OK(db_.run_group(
      std::span(calls),
      [&](size_t i, Touches& touches) {
        touches.row(accounts_, keys[i]);
        touches.row(accounts_, 5);  // a hint of the wrong kind is ignored
        touches.row(accounts_, std::string(kKeyBytesMax + 1, 'x'));
        touches.range(accounts_, keys[i]);
        touches.range(by_branch_, 1);
      },
      [&](size_t i, Transaction& txn) -> Status {
        ELIDER_ASSIGN(auto view, txn.get(accounts_, keys[i]));
        std::string other(2000, 'z');  // overwrites the stack of the call; the view's key must not change
        seen[i] = view.key();
        ELIDER_TRY(txn.update(accounts_, view, {}, [](Account& a) { a.balance += 10; }));
        std::vector<std::string_view> asked{keys[i], "absent"};
        std::vector<TextView> views(2);
        ELIDER_TRY(txn.multi_get(accounts_, asked, std::span(views)));
        EXPECT_EQ(views[0].key(), keys[i]);
        return txn.update(accounts_, keys[i], {}, [](Account& a) { a.balance += 100; });
      },
      std::span(outcomes)));
  for (const Status& outcome : outcomes) EXPECT_OK(outcome);
  EXPECT_EQ(seen, keys);
  read(db_, [&](Transaction& txn) {
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ((*txn.get(accounts_, keys[i]))->balance, static_cast<int64_t>(i) + 110);
  });
}

TEST_P(ByteKeyTest, TwoThreadsAddUnderKeysWithALongSharedPrefix) {
  if (!GetParam().threads()) GTEST_SKIP() << "one thread alone";
  const std::string prefix(14, 'p');
  constexpr int kTimes = 300;
  const auto work = [&](int thread) {
    for (int i = 0; i < kTimes; ++i) {
      const std::string key = prefix + std::to_string((i * 7 + thread) % 40);
      EXPECT_OK(db_.run([&](Transaction& txn) -> Status {
        auto view = txn.get(accounts_, key);
        if (view.ok()) return txn.update(accounts_, *view, {}, [](Account& a) { ++a.balance; });
        if (!view.not_found()) return view.status();
        return txn.insert(accounts_, key, {static_cast<uint64_t>(i * 2 + thread), 1, 0, 0});
      }));
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  int64_t sum = 0;
  read(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.scan(by_branch_, {}, {}, [&](std::string_view, const TextView& view) { sum += view->balance; }));
  });
  EXPECT_EQ(sum, 2 * kTimes);
}

TEST_P(OrderedByteKeyConflictTest, AnInsertIntoAScannedPrefixIsAPhantom) {
  fill({"user:0000001", "user:0000005"});
  ActiveTransaction first = begin(db_);
  EXPECT_EQ(scan(*first, ByteRange::prefix("user:")).size(), 2u);
  EXPECT_OK(first->update(accounts_, "user:0000001", {}, [](Account& a) { ++a.balance; }));
  ActiveTransaction second = begin(db_);
  EXPECT_OK(second->insert(accounts_, "user:0000003", {77, 0, 0, 0}));
  const Status committed = second.commit();
  const Status late = first.commit();
  EXPECT_FALSE(committed.ok() && late.ok());
}

TEST_P(ByteKeyConflictTest, AnAbsentKeyThatComesIsAConflict) { an_absent_key_that_comes_is_a_conflict(); }

void ByteKeyTest::an_absent_key_that_comes_is_a_conflict() {
  fill({"user:0000001"});
  ActiveTransaction first = begin(db_);
  EXPECT_TRUE(first->get(accounts_, "user:0000002").not_found());
  EXPECT_OK(first->update(accounts_, "user:0000001", {}, [](Account& a) { ++a.balance; }));
  ActiveTransaction second = begin(db_);
  EXPECT_OK(second->insert(accounts_, "user:0000002", {77, 0, 0, 0}));
  const Status committed = second.commit();
  const Status late = first.commit();
  EXPECT_FALSE(committed.ok() && late.ok());
  if (late.retryable() && late.has_key()) {
    EXPECT_EQ(late.key_bytes().substr(0, 5), "user:");
  }
}

class HashedByteKeyTest : public ByteKeyTest {};
INSTANTIATE_TEST_SUITE_P(On, HashedByteKeyTest, testing::ValuesIn(combinations_of_hashed_byte_keys(false)), combination_name);

TEST_P(HashedByteKeyTest, AScanByKeyIsRefused) {
  fill({"a", "b"});
  for (const bool reverse : {false, true})
    transact(db_, [&](Transaction& txn) {
      EXPECT_REFUSED(Code::kUnsupported, "'texts'",
                     txn.scan(accounts_, ByteRange::prefix("a"), {.reverse = reverse}, [](std::string_view, const TextView&) {}));
      EXPECT_OK(txn.get(accounts_, "a"));
    });
  read(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kUnsupported, txn.scan(accounts_, ByteRange::all(), {}, [](std::string_view, const TextView&) {}));
  });
}

TEST_P(HashedByteKeyTest, TheTableGrowsAndIsEmptied) {
  constexpr size_t kKeys = 6000, kAtOnce = 100;
  const auto key = [](size_t i) { return "account/" + std::to_string(i * i * 31) + std::string(i % 70, '/'); };
  for (size_t begin = 0; begin < kKeys; begin += kAtOnce)
    transact(db_, [&](Transaction& txn) {
      for (size_t i = begin; i < begin + kAtOnce; ++i)
        ASSERT_OK(txn.insert(accounts_, key(i), {i, static_cast<int64_t>(i), static_cast<uint32_t>(i % 3), 0}));
    });
  ASSERT_OK(db_.verify());
  EXPECT_EQ(all_keys().size(), kKeys);
  for (size_t begin = 0; begin < kKeys; begin += kAtOnce)
    transact(db_, [&](Transaction& txn) {
      std::vector<std::string> keys;
      for (size_t i = begin; i < begin + kAtOnce; ++i) keys.push_back(key(i));
      const std::vector<std::string_view> asked(keys.begin(), keys.end());
      std::vector<TextView> views(asked.size());
      ASSERT_OK(txn.multi_get(accounts_, asked, std::span(views)));
      for (size_t i = 0; i < kAtOnce; ++i) {
        ASSERT_TRUE(views[i]) << keys[i];
        EXPECT_EQ(views[i]->owner, begin + i);
        EXPECT_EQ(views[i].key(), keys[i]);
        ASSERT_OK(txn.remove(accounts_, keys[i]));
      }
    });
  db_.collect_garbage();
  ASSERT_OK(db_.verify());
  EXPECT_EQ(all_keys(), Keys());
}

#if ELIDER_TEST_POINTS
// Runs with hashes of one bit, so half of the keys have the same hash.
class EqualHashTest : public ByteKeyTest {
  FewHashes few_{1};
};
INSTANTIATE_TEST_SUITE_P(On, EqualHashTest, testing::ValuesIn(combinations_of_hashed_byte_keys(false)), combination_name);

class EqualHashConflictTest : public EqualHashTest {};
INSTANTIATE_TEST_SUITE_P(On, EqualHashConflictTest, testing::ValuesIn(combinations_of_hashed_byte_keys(true)), combination_name);

TEST_P(EqualHashTest, EveryCallFindsTheKey) {
  every_call_finds_the_key();
  ASSERT_OK(db_.verify());
}

TEST_P(EqualHashConflictTest, AnAbsentKeyThatComesIsAConflict) { an_absent_key_that_comes_is_a_conflict(); }
#endif

TEST_P(ByteKeyTest, InsertManyInsertsTheRowsBeforeABadKey) {
  const std::string long_key(kKeyBytesMax + 1, 'x');
  const std::vector<std::string_view> keys{"first", "second", long_key, "last"};
  std::vector<Account> rows;
  for (uint64_t owner = 900; owner < 904; ++owner) rows.push_back(Account{owner, 1, 1, 0});
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "too long", txn.insert_many(accounts_, keys, rows));
    EXPECT_OK(txn.get(accounts_, "second").status());
    EXPECT_TRUE(txn.get(accounts_, "last").not_found());
    EXPECT_OK(txn.remove(accounts_, "second"));
    EXPECT_EQ(*txn.version(accounts_, "second"), 0u);
  });
}

}  // namespace
}  // namespace elider::test
