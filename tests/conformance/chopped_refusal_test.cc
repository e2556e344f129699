// Chopped procedures (elider/procedure.h): which handles and which accesses are refused, under
// every protocol.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "tests/support/chopped_bank.h"
#include "tests/support/database_test.h"

namespace elider::test {
namespace {

using chopping::Operation;

class ChoppedRefusalTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    ASSERT_OK(bank_.create_tables(db_));
    ASSERT_OK(bank_.fill(db_));
  }

  ChoppedBank bank_;
};
ELIDER_ON_EVERY(ChoppedRefusalTest);

// It would be given the arguments of another type.
TEST_P(ChoppedRefusalTest, AHandleOfAnotherSetIsRefused) {
  struct Small {
    bool ran = false;
  };
  Procedures others;
  std::vector<ProcedureHandle<Small>> handles;
  for (const char* const name : {"first", "second", "third", "fourth"})
    handles.push_back(others.add(Procedure<Small>(name).operation(
        Operation("look").reads("accounts"), [](Transaction&, Small& call) { call.ran = true; })));
  ASSERT_OK(bank_.install(db_, true));
  std::vector<Small> its(handles.size());
  std::vector<ProcedureCall> calls;
  for (size_t i = 0; i < handles.size(); ++i) {
    const Status refused = db_.call(handles[i], its[i]);
    EXPECT_REFUSED(Code::kInvalidArgument, "not installed in this database", refused);
    if (i == 0) {
      EXPECT_REFUSED(Code::kInvalidArgument, "'first'", refused);
      EXPECT_REFUSED(Code::kInvalidArgument, "'transfer'", refused);
    }
    calls.emplace_back(handles[i], its[i]);
  }
  ChoppedBank::Transfer good;
  good.from = 1, good.to = 2, good.amount = 5, good.entry = bank_.next_entry.fetch_add(1);
  calls.emplace_back(bank_.transfer, good);
  std::vector<Status> outcomes(calls.size());
  EXPECT_CODE(Code::kInvalidArgument, db_.call_group(calls, outcomes));
  for (size_t i = 0; i < handles.size(); ++i) EXPECT_REFUSED(Code::kInvalidArgument, "not installed in this database", outcomes[i]);
  EXPECT_OK(outcomes.back());
  ChoppedBank::Audit found;
  ASSERT_OK(db_.call(bank_.audit, found));
  EXPECT_EQ(found.transfers, 1u);
  for (const Small& call : its) EXPECT_FALSE(call.ran);
}

TEST_P(ChoppedRefusalTest, AHandleServesInEveryDatabaseOfItsSet) {
  struct Call {
    uint64_t deposits = 0;
  };
  Procedures procedures;
  const ProcedureHandle<Call> look = procedures.add(
      Procedure<Call>("look").operation(Operation("look").reads("accounts"), [](Transaction&, Call& call) { ++call.deposits; }));
  ASSERT_OK(db_.install(procedures));
  Database second = open_database(GetParam());
  ChoppedBank bank;
  ASSERT_OK(bank.create_tables(second));
  ASSERT_OK(second.install(procedures));
  Call call;
  EXPECT_OK(db_.call(look, call));
  EXPECT_OK(second.call(look, call));
}

// Even an access of no columns tells whether a row is there.
TEST_P(ChoppedRefusalTest, AnAccessOfNoColumnsIsDeclared) {
  struct Bytes {
    std::array<char, 24> content;
  };
  const Table<Bytes> bytes = create(SchemaOf<Bytes>("bytes")), others = create(SchemaOf<Bytes>("others"));
  const ColumnsRef none = *db_.columns(bank_.accounts, {});
  struct Call {
    int what;
  };
  using Access = std::function<Status(Transaction&)>;
  const auto rows = [](Key, RawView) { return true; };
  RawView view;
  const TableRef accounts = bank_.accounts, branches = bank_.branches;
  const ColumnsRef none_of_branches = *db_.columns(branches, {});
  const std::vector<Access> declared = {
      [&](Transaction& txn) { return txn.insert(bytes, 1, Bytes{}); },
      [&](Transaction& txn) { return txn.get(bytes, 1).status(); },
      [&](Transaction& txn) { return txn.update(bytes, 1, {}, [](Bytes& row) { row.content[0] = 'x'; }); },
      [&](Transaction& txn) { return txn.write(bytes, 1, {}, Bytes{}); },
      [&](Transaction& txn) { return txn.scan(bytes, KeyRange{}, {}, [](Key, const View<Bytes>&) { return true; }); },
      [&](Transaction& txn) { return txn.put(bytes, 1, Bytes{}); },
      [&](Transaction& txn) { return txn.remove(bytes, 1); },
      [&](Transaction& txn) { return txn.get(accounts, 1, none, &view); },
  };
  const std::vector<Access> undeclared = {
      [&](Transaction& txn) { return txn.get(others, 1).status(); },
      [&](Transaction& txn) { return txn.update(others, 1, {}, [](Bytes&) {}); },
      [&](Transaction& txn) { return txn.write(others, 1, {}, Bytes{}); },
      [&](Transaction& txn) { return txn.scan(others, KeyRange{}, {}, [](Key, const View<Bytes>&) { return true; }); },
      [&](Transaction& txn) { return txn.put(others, 1, Bytes{}); },
      [&](Transaction& txn) { return txn.get(branches, 1, none_of_branches, &view); },
      [&](Transaction& txn) { return txn.scan(accounts, KeyRange{}, {.columns = none}, rows); },
  };
  Procedures procedures;
  const auto add = [&](const char* name, const std::vector<Access>& accesses) {
    return procedures.add(Procedure<Call>(name).operation(
        Operation("some").reads("accounts").reads("bytes").writes("bytes").scans("bytes").inserts("bytes").removes("bytes"),
        [&accesses](Transaction& txn, Call& call) { return accesses[static_cast<size_t>(call.what)](txn); }));
  };
  const ProcedureHandle<Call> good = add("good", declared), bad = add("bad", undeclared);
  InstallOptions options;
  options.check_accesses = true;
  ASSERT_OK(db_.install(std::move(procedures), options));
  for (Call call{0}; call.what < static_cast<int>(declared.size()); ++call.what) {
    SCOPED_TRACE(call.what);
    EXPECT_OK(db_.call(good, call));
  }
  for (Call call{0}; call.what < static_cast<int>(undeclared.size()); ++call.what) {
    SCOPED_TRACE(call.what);
    EXPECT_REFUSED(Code::kInvalidArgument, "which it does not declare", db_.call(bad, call));
  }
}

// The key of a view has the kind of its own table's keys.
TEST_P(ChoppedRefusalTest, AViewOfAnotherTableIsRefused) {
  struct Call {
    int64_t deposits = 0;
  };
  struct Text {
    int64_t value = 0;
  };
  const auto made = db_.create_table(SchemaOf<Text, std::string_view>("texts").column("value", &Text::value));
  ASSERT_OK(made);
  const TableRef texts = *made;
  const ProcedureHandle<Call> mistaken = [&] {
    Procedures procedures;
    const ProcedureHandle<Call> handle = procedures.add(Procedure<Call>("mistaken").operation(
        Operation("some").reads("accounts").reads("texts").writes("texts"), [&](Transaction& txn, Call&) -> Status {
          RawView view;
          if (Status status = txn.get(TableRef(bank_.accounts), Key{1}, {}, &view); !status.ok()) return status;
          void* image = nullptr;
          return txn.edit(texts, view, {}, &image);
        }));
    EXPECT_OK(db_.install(std::move(procedures)));
    return handle;
  }();
  Call call;
  EXPECT_REFUSED(Code::kInvalidArgument, "texts", db_.call(mistaken, call));
}

}  // namespace
}  // namespace elider::test
