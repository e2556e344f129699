// Tables of byte strings without columns (elider/value_table.h) on every engine and key index.
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class ValueTableTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    auto table = db_.create_table(ValueSchema("cache").key_index(GetParam().key_index));
    ASSERT_OK(table);
    cache_ = *table;
  }
  ValueTable<> cache_;
};
ELIDER_ON_EVERY(ValueTableTest);

TEST_P(ValueTableTest, ValuesAreInsertedReadReplacedAndRemoved) {
  const std::string zeros(70'000, '\0');
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.put(cache_, 1, "one"));
    EXPECT_OK(txn.insert(cache_, 2, zeros));
    EXPECT_OK(txn.insert(cache_, 3, Bytes()));
    EXPECT_OK(txn.insert(cache_, 4, std::as_bytes(std::span("four"))));
    EXPECT_CODE(Code::kDuplicateKey, txn.insert(cache_, 1, "again"));
    EXPECT_EQ(txn.get(cache_, 1)->text(), "one") << "its own write";
  });
  transact(db_, [&](Transaction& txn) {
    const auto two = txn.get(cache_, 2);
    ASSERT_OK(two);
    EXPECT_EQ(two->bytes(), zeros);
    EXPECT_EQ(two->size(), zeros.size());
    EXPECT_EQ(two->key(), 2u);
    const auto empty = txn.get(cache_, 3);
    ASSERT_OK(empty);
    EXPECT_TRUE(*empty) << "an empty value is not an absent one";
    EXPECT_TRUE(empty->shows());
    EXPECT_EQ(empty->text(), "");
    EXPECT_EQ(txn.get(cache_, 4)->text(), std::string_view("four", 5));
    EXPECT_OK(txn.put(cache_, 1, zeros));
    EXPECT_OK(txn.put(cache_, 2, "short"));
    EXPECT_OK(txn.remove(cache_, 4));
    EXPECT_CODE(Code::kNotFound, txn.get(cache_, 4));
    EXPECT_CODE(Code::kNotFound, txn.remove(cache_, 5));
  });
  transact(db_, [&](Transaction& txn) {
    const Key keys[] = {1, 2, 4};
    std::array<ValueView<>, 3> values;
    ASSERT_OK(txn.multi_get(cache_, keys, values));
    EXPECT_EQ(values[0].bytes(), zeros);
    EXPECT_EQ(values[1].text(), "short");
    EXPECT_FALSE(values[2]);
  });
}

TEST_P(ValueTableTest, ValuesAreScanned) {
  std::vector<Key> keys;
  std::vector<std::string> texts;
  for (Key key = 0; key < 50; ++key) {
    keys.push_back(key);
    texts.push_back(std::string(key * 10, 'x'));
  }
  const std::vector<Bytes> values(texts.begin(), texts.end());
  transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert_many(cache_, keys, values)); });
  size_t rows = 0;
  read(db_, [&](Transaction& txn) {
    rows = 0;
    EXPECT_OK(txn.scan_rows(cache_, [&](Key key, const ValueView<>& value) {
      EXPECT_EQ(value.text(), texts[key]);
      ++rows;
    }));
  });
  EXPECT_EQ(rows, keys.size());
  if (!is_ordered(GetParam().key_index)) return;
  std::string seen;
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.scan(cache_, {3, 9}, {.limit = 3, .reverse = true}, [&](Key key, Bytes value) {
      seen += std::to_string(key) + ':' + std::to_string(value.size()) + ' ';
    }));
  });
  EXPECT_EQ(seen, "9:90 8:80 7:70 ");
  EncodedScan scan(cache_, {40, 49});
  std::array<ValueView<>, 4> page;
  size_t total = 0;
  for (size_t count = 1; count != 0;) {
    read(db_, [&](Transaction& txn) { count = *scan.next(txn, page); });
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(page[i].text(), texts[page[i].key()]);
      ++total;
    }
  }
  EXPECT_EQ(total, 10u);
}

TEST_P(ValueTableTest, TablesMayHaveByteAndTupleKeys) {
  const auto named = db_.create_table(ValueSchema<std::string_view>("named"));
  ASSERT_OK(named);
  using DayKey = std::tuple<std::string, int32_t>;
  const auto days = db_.create_table(ValueSchema<DayKey>("days").hashed());
  ASSERT_OK(days);
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.put(*named, "page/1", "first"));
    EXPECT_OK(txn.put(*named, std::string("page/2"), "second"));
    EXPECT_OK(txn.put(*days, {"eu", 3}, "three"));
    EXPECT_EQ(txn.get(*days, {"eu", 3})->text(), "three");
    EXPECT_EQ(txn.get(*named, "page/1")->key(), "page/1");
    std::string seen;
    EXPECT_OK(txn.scan(*named, ByteRange::prefix("page/"), {}, [&](std::string_view key, const auto& value) {
      seen += std::string(key) + '=' + std::string(value.text()) + ' ';
    }));
    EXPECT_EQ(seen, "page/1=first page/2=second ");
    const std::string_view keys[] = {"page/2", "page/3"};
    std::array<ValueView<std::string_view>, 2> values;
    EXPECT_OK(txn.multi_get(*named, keys, values));
    EXPECT_EQ(values[0].text(), "second");
    EXPECT_FALSE(values[1]);
    EXPECT_NE(*txn.version(*days, {"eu", 4}), 1u);
    EXPECT_OK(txn.remove(*days, {"eu", 3}));
  });
}

TEST_P(ValueTableTest, MistakesAreRefused) {
  const auto small = db_.create_table(ValueSchema("small").key_index(GetParam().key_index).value_bytes_max(4));
  ASSERT_OK(small);
  transact(db_, [&](Transaction& txn) {
    EXPECT_OK(txn.put(*small, 1, "four"));
    EXPECT_REFUSED(Code::kInvalidArgument, "table 'small': the value has 5 bytes, but the maximum is 4", txn.put(*small, 1, "fives"));
    EXPECT_CODE(Code::kInvalidArgument, txn.insert(*small, 2, "fives"));
    EXPECT_CODE(Code::kInvalidArgument, txn.put(ValueTable<>(), 1, "x"));
  });
  EXPECT_CODE(Code::kSchemaMismatch, db_.create_table(ValueSchema("small").key_index(GetParam().key_index)));
  EXPECT_OK(ValueSchema("small").open(*db_.table("small")));
  EXPECT_REFUSED(Code::kSchemaMismatch, "keys", ValueSchema<std::string_view>("small").open(*db_.table("small")));
  const auto plain = create(account_schema(GetParam().key_index, "plain"));
  EXPECT_REFUSED(Code::kSchemaMismatch, "rows with columns", ValueSchema("plain").open(plain));
  ASSERT_OK(db_.create_table(RowSchema("rows").column("a", RowType::kBool)));
  EXPECT_REFUSED(Code::kSchemaMismatch, "described rows", ValueSchema("rows").open(*db_.table("rows")));
}

}  // namespace
}  // namespace elider::test
