// DatabaseTest: a gtest fixture with a database of the combination under test, verified at the end.
// transact(), read(): run a body of assertions as one transaction.
//
// Thread safety: a test is one thread, unless it starts others and joins them.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "elider/elider.h"
#include "tests/support/combination.h"
#include "tests/support/rows.h"
#include "tests/support/status_matchers.h"

namespace elider::test {

inline Database open_database(const Combination& combination, Options options = {}) {
  auto database = Database::open(options_of(combination, std::move(options)));
  EXPECT_OK(database);
  return std::move(database).value();
}

// Commits what body(Transaction&) does; the body may use ASSERT_*, whose failure rolls back.
template <class Body>
void transact(Database& database, Body&& body) {
  EXPECT_OK(database.run([&](Transaction& txn) -> Status {
    body(txn);
    return testing::Test::HasFatalFailure() ? Status::rollback() : Status();
  }));
}

// Runs body(Transaction&) on the newest snapshot.
template <class Body>
void read(Database& database, Body&& body) {
  EXPECT_OK(database.run_read_only([&](Transaction& txn) -> Status {
    body(txn);
    return testing::Test::HasFatalFailure() ? Status::rollback() : Status();
  }));
}

// Installs one procedure.
template <class Arguments>
Status install(Database& database, Procedure<Arguments> procedure) {
  Procedures procedures;
  procedures.add(std::move(procedure));
  return database.install(std::move(procedures));
}

inline ActiveTransaction begin(Database& database) {
  auto txn = database.begin();
  EXPECT_OK(txn);
  return std::move(txn).value();
}

inline ActiveTransaction begin_read_only(Database& database) {
  auto txn = database.begin_read_only();
  EXPECT_OK(txn);
  return std::move(txn).value();
}

class DatabaseTest : public testing::TestWithParam<Combination> {
 protected:
  void SetUp() override { reopen({}); }
  void TearDown() override { EXPECT_OK(db_.verify()); }

  void reopen(const Options& options) { db_ = open_database(GetParam(), options); }

  template <class Row>
  Table<Row> create(const SchemaOf<Row>& schema) {
    auto table = db_.create_table(schema);
    EXPECT_OK(table);
    return *table;
  }

  template <class Row>
  void insert(const Table<Row>& table, Key key, const Row& row) {
    transact(db_, [&](Transaction& txn) { ASSERT_OK(txn.insert(table, key, row)); });
  }

  // Returns the committed row. The test fails if there is not one.
  template <class Row>
  Row row(const Table<Row>& table, Key key) {
    Row found{};
    read(db_, [&](Transaction& txn) {
      auto view = txn.get(table, key);
      ASSERT_OK(view);
      found = **view;
    });
    return found;
  }

  template <class Row>
  bool has(const Table<Row>& table, Key key) {
    bool found = false;
    read(db_, [&](Transaction& txn) { found = txn.get(table, key).ok(); });
    return found;
  }

  Database db_;
};

}  // namespace elider::test
