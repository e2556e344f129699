// add: a commutative change of every numeric type, its wraparound, and reading it back.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "elider/elider.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

class AddTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    numbers_ = create(numbers_schema(GetParam().key_index));
    insert(numbers_, 1, Numbers{});
  }

  // The largest value plus one is the smallest, and the smallest minus one the largest.
  template <class Member>
  void check_wraparound(Member Numbers::*member) {
    using Limits = std::numeric_limits<Member>;
    using Unsigned = std::make_unsigned_t<Member>;
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.update(numbers_, 1, numbers_.columns(member), [&](Numbers& n) { n.*member = Limits::max(); }));
    });
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.add(numbers_, 1, member, Member{1})); });
    EXPECT_EQ(row(numbers_, 1).*member, Limits::min());
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.add(numbers_, 1, member, static_cast<Member>(Unsigned(0) - Unsigned(1)))); });
    EXPECT_EQ(row(numbers_, 1).*member, Limits::max());
  }

  Table<Numbers> numbers_;
};
ELIDER_ON_EVERY(AddTest);

TEST_P(AddTest, EveryNumericTypeAdds) {
  for (int round = 1; round <= 3; ++round) {
    transact(db_, [&](Transaction& txn) {
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::i8, int8_t{-5}));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::u8, uint8_t{6}));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::i16, int16_t{-700}));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::u16, uint16_t{800}));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::i32, -90'000));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::u32, 100'000u));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::i64, int64_t{-1} << 40));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::u64, uint64_t{1} << 50));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::f32, 0.25f));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::f64, -0.125));
    });
    const Numbers sum = row(numbers_, 1);
    EXPECT_EQ(sum.i8, -5 * round);
    EXPECT_EQ(sum.u8, 6 * round);
    EXPECT_EQ(sum.i16, -700 * round);
    EXPECT_EQ(sum.u16, 800 * round);
    EXPECT_EQ(sum.i32, -90'000 * round);
    EXPECT_EQ(sum.u32, 100'000u * round);
    EXPECT_EQ(sum.i64, (int64_t{-1} << 40) * round);
    EXPECT_EQ(sum.u64, (uint64_t{1} << 50) * round);
    EXPECT_EQ(sum.f32, 0.25f * static_cast<float>(round));
    EXPECT_EQ(sum.f64, -0.125 * round);
  }
}

TEST_P(AddTest, IntegersWrapAround) {
  check_wraparound(&Numbers::i8);
  check_wraparound(&Numbers::u8);
  check_wraparound(&Numbers::i16);
  check_wraparound(&Numbers::u16);
  check_wraparound(&Numbers::i32);
  check_wraparound(&Numbers::u32);
  check_wraparound(&Numbers::i64);
  check_wraparound(&Numbers::u64);
  const Numbers left = row(numbers_, 1);  // neighbours are not carried into
  EXPECT_EQ(left.f32, 0);
  EXPECT_EQ(left.f64, 0);
}

TEST_P(AddTest, AnAbsentKeyIsNotFound) {
  transact(db_, [&](Transaction& txn) {
    EXPECT_CODE(Code::kNotFound, txn.add(numbers_, 2, &Numbers::u64, uint64_t{1}));
    EXPECT_OK(txn.add(numbers_, 1, &Numbers::u64, uint64_t{1}));
  });
  EXPECT_FALSE(has(numbers_, 2));
  EXPECT_EQ(row(numbers_, 1).u64, 1u);
}

TEST_P(AddTest, OwnAddsAreRead) {
  transact(db_, [&](Transaction& txn) {
    for (int i = 1; i <= 4; ++i) {
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::i64, int64_t{10}));
      if (i % 2 == 1) continue;  // several adds before a read, too
      auto view = txn.get(numbers_, 1);
      ASSERT_OK(view);
      EXPECT_EQ((*view)->i64, 10 * i);
    }
  });
  EXPECT_EQ(row(numbers_, 1).i64, 40);
}

TEST_P(AddTest, SeveralAddsToOneColumnAreSummed) {
  transact(db_, [&](Transaction& txn) {
    for (int i = 1; i <= 20; ++i) {
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::i64, int64_t{i}));
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::u8, uint8_t{20}));  // 400 wraps around
      ASSERT_OK(txn.add(numbers_, 1, &Numbers::f64, 0.5));
    }
    ASSERT_OK(txn.add(numbers_, 1, &Numbers::i64, int64_t{-10}));
  });
  const Numbers sum = row(numbers_, 1);
  EXPECT_EQ(sum.i64, 200);
  EXPECT_EQ(sum.u8, 400 % 256);
  EXPECT_EQ(sum.f64, 10.0);
}

TEST_P(AddTest, AddsAndOtherWritesOfOneRowTakeEffectInTheirOrder) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.add(numbers_, 1, &Numbers::i32, 5));
    ASSERT_OK(txn.update(numbers_, 1, numbers_.columns(&Numbers::i32), [](Numbers& n) {
      EXPECT_EQ(n.i32, 5);
      n.i32 *= 10;
    }));
    ASSERT_OK(txn.add(numbers_, 1, &Numbers::i32, 1));
  });
  EXPECT_EQ(row(numbers_, 1).i32, 51);
  transact(db_, [&](Transaction& txn) {
    Numbers fresh{};
    fresh.i32 = 7;
    ASSERT_OK(txn.add(numbers_, 1, &Numbers::i32, 1));
    ASSERT_OK(txn.write(numbers_, 1, numbers_.columns(&Numbers::i32), fresh));
    ASSERT_OK(txn.add(numbers_, 1, &Numbers::i32, 1));
  });
  EXPECT_EQ(row(numbers_, 1).i32, 8);
  transact(db_, [&](Transaction& txn) {
    Numbers fresh{};
    fresh.i32 = 70;
    ASSERT_OK(txn.add(numbers_, 1, &Numbers::i32, 1));
    ASSERT_OK(txn.put(numbers_, 1, fresh));
    ASSERT_OK(txn.add(numbers_, 1, &Numbers::i32, 1));
  });
  EXPECT_EQ(row(numbers_, 1).i32, 71);
}

TEST_P(AddTest, AddToARowInsertedByTheSameTransaction) {
  transact(db_, [&](Transaction& txn) {
    Numbers fresh{};
    fresh.f64 = 1.5;
    ASSERT_OK(txn.insert(numbers_, 2, fresh));
    ASSERT_OK(txn.add(numbers_, 2, &Numbers::f64, 1.0));
    auto view = txn.get(numbers_, 2);
    ASSERT_OK(view);
    EXPECT_EQ((*view)->f64, 2.5);
  });
  EXPECT_EQ(row(numbers_, 2).f64, 2.5);
}

TEST_P(AddTest, AddToARowRemovedByTheSameTransactionIsNotFound) {
  transact(db_, [&](Transaction& txn) {
    ASSERT_OK(txn.remove(numbers_, 1));
    EXPECT_CODE(Code::kNotFound, txn.add(numbers_, 1, &Numbers::f64, 1.0));
  });
  EXPECT_FALSE(has(numbers_, 1));
}

TEST_P(AddTest, AnAddThatIsRolledBackIsGone) {
  EXPECT_CODE(Code::kRolledBack, db_.run([&](Transaction& txn) -> Status {
    EXPECT_OK(txn.add(numbers_, 1, &Numbers::i64, int64_t{10}));
    return Status::rollback();
  }));
  EXPECT_EQ(row(numbers_, 1), Numbers{});
}

TEST_P(AddTest, WhatIsNotNumericOrOfAnotherTypeIsRefused) {
  const TableRef table = *db_.table("numbers");
  const uint64_t delta = 1;
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "text", txn.add(table, 1, offset_of(&Numbers::text), ColumnType::kBytes, &delta));
    EXPECT_CODE(Code::kInvalidArgument, txn.add(table, 1, offset_of(&Numbers::i64), ColumnType::kDouble, &delta));
    EXPECT_CODE(Code::kInvalidArgument, txn.add(table, 1, offset_of(&Numbers::i64) + 1, ColumnType::kInt64, &delta));
    EXPECT_CODE(Code::kInvalidArgument, txn.add(table, 1, sizeof(Numbers) * 2, ColumnType::kInt64, &delta));
  });
  EXPECT_EQ(row(numbers_, 1), Numbers{});
}

TEST_P(AddTest, AColumnThatASecondaryIndexReadsIsRefused) {
  const Table<Account> accounts = create(indexed_account_schema(GetParam().key_index));
  insert(accounts, 1, Account{1, 1, 1, 1});
  transact(db_, [&](Transaction& txn) {
    EXPECT_REFUSED(Code::kInvalidArgument, "branch", txn.add(accounts, 1, &Account::branch, 1u));
    EXPECT_OK(txn.add(accounts, 1, &Account::balance, int64_t{1}));
  });
  EXPECT_EQ(row(accounts, 1), (Account{1, 2, 1, 1}));
}

}  // namespace
}  // namespace elider::test
