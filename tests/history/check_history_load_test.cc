// The loader refuses what is not a whole history, and says in which line.
#include "tools/check_history/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/common/history_file.h"
#include "tests/support/temporary_folder.h"

namespace elider::check {
namespace {

using ::testing::HasSubstr;

const std::string kTable = R"({"t":"table","position":0,"name":"x","ordered":true,"groups":1})" "\n";

std::string txn(const std::string& ops) {
  return R"({"t":"txn","session":3,"start_ns":5,"end_ns":9,"snapshot":18446744073709551615,"order":2,"outcome":"committed",)"
         R"("cause":"none","attempt":1,"procedure":"p","read_only":false,"ops":[)" + ops + "]}\n";
}

std::string refusal(const std::string& text) {
  std::istringstream stream(text);
  auto history = load_history(stream, "h.jsonl");
  return history.ok() ? "" : history.status().message();
}

TEST(LoadHistory, whole_history_keeps_every_field) {
  std::istringstream stream(kTable + txn(R"(["r",0,0,18446744073709551615,4],["s",0,1,9,true,[[7,2],[3,0]]],["+",0,1,5,6])"));
  auto history = load_history(stream, "h.jsonl");
  ASSERT_TRUE(history.ok()) << history.status().message();
  ASSERT_EQ(history->transactions.size(), 1u);
  const RecordedTransaction& t = history->transactions[0];
  EXPECT_EQ(t.session, 3u);
  EXPECT_EQ(t.begin_ns, 5u);
  EXPECT_EQ(t.end_ns, 9u);
  EXPECT_EQ(t.snapshot, ~uint64_t{0});
  EXPECT_EQ(t.line, 2u);
  EXPECT_EQ(t.operations_count, 2u);
  EXPECT_EQ(t.scans_count, 1u);
  EXPECT_EQ(history->operations[0].key, ~uint64_t{0});
  EXPECT_EQ(history->operations[1].kind, OperationKind::kAdd);
  EXPECT_EQ(history->operations[1].group, 1u);
  EXPECT_TRUE(history->scans[0].reverse);
  EXPECT_EQ(history->scans[0].rows_count, 2u);
  EXPECT_EQ(history->rows[1].key, 3u);
}

TEST(LoadHistory, byte_keys_are_ordered_bytewise_and_ends_are_left_out) {
  const std::string table = R"({"t":"table","position":0,"name":"x","ordered":true,"groups":1,"byte_keys":true})" "\n";
  const std::string lines = table + txn(R"(["r",0,0,"b",4],["r",0,0,"\u00ff",4],["r",0,0,"",1],["s",0,"a","b",false,[["a\u0000",2]]],)"
                                        R"(["s",0,"",null,false,[]],["i",0,0,1,2,false,false,[[1,"b"]],"",null],["v",0,0,"b",7])");
  std::istringstream stream(lines);
  auto history = load_history(stream, "h.jsonl");
  ASSERT_TRUE(history.ok()) << history.status().message();
  const std::vector<std::string> sorted{"", "a", std::string("a\0", 2), "b", "\xff"};
  EXPECT_EQ(history->tables[0].byte_keys, sorted);
  EXPECT_EQ(history->operations[0].key, 7u);
  EXPECT_EQ(history->operations[1].key, 9u);
  EXPECT_EQ(history->operations[2].key, 1u);
  EXPECT_EQ(history->scans[0].range.first, 3u);
  EXPECT_EQ(history->scans[0].range.last, 6u);  // before "b"
  EXPECT_EQ(history->rows[0].key, 5u);
  EXPECT_EQ(history->scans[1].range.first, 1u);
  EXPECT_EQ(history->scans[1].range.last, kKeyMax);
  EXPECT_EQ(history->index_rows[0].key, 7u);
  EXPECT_EQ(history->index_scans[0].last.key, kKeyMax);
  EXPECT_EQ(history->index_values[0].entry.key, 7u);
  EXPECT_EQ(key_text(history->tables[0], 5), "\"a\\x00\"");
  EXPECT_THAT(refusal(table + txn(R"(["r",0,0,1,4])")), HasSubstr("a key is 1, not a string"));
  EXPECT_THAT(refusal(table + txn(R"(["r",0,0,"\u0100",4])")), HasSubstr("above U+00FF"));
  EXPECT_THAT(refusal(table + txn(R"(["i",0,0,1,2,false,false,[]])")), HasSubstr("does not have 10 elements"));
}

TEST(LoadHistory, truncated_file_is_refused_with_its_line) {
  const std::string whole = kTable + txn(R"(["r",0,0,1,4])");
  EXPECT_EQ(refusal(whole), "");
  // Cut at every byte of the last line: none may pass as a shorter history.
  for (size_t size = kTable.size() + 1; size < whole.size(); ++size) {
    EXPECT_THAT(refusal(whole.substr(0, size)), HasSubstr("h.jsonl:2: ")) << size;
  }
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
}

TEST(LoadHistory, malformed_lines_are_refused_with_the_field) {
  EXPECT_THAT(refusal(kTable + "{]\n"), HasSubstr("h.jsonl:2: it is not valid JSON"));
  EXPECT_THAT(refusal(kTable + "\n"), HasSubstr("h.jsonl:2: it is not valid JSON"));
  EXPECT_THAT(refusal("[1]\n"), HasSubstr("h.jsonl:1: it is not a JSON object"));
  EXPECT_THAT(refusal("{\"t\":\"row\"}\n"), HasSubstr("not \"table\" or \"txn\""));
  EXPECT_THAT(refusal("{\"t\":\"txn\"}\n"), HasSubstr("field \"session\" is missing"));
  EXPECT_THAT(refusal(txn(R"(["r",0,0,1,4])")), HasSubstr("table 0, which is not described on an earlier line"));
  EXPECT_THAT(refusal(kTable + kTable), HasSubstr("table position 0 where 1 comes next"));
  EXPECT_THAT(refusal(kTable + txn(R"(["q",0,0,1,4])")), HasSubstr("\"q\" is unknown"));
  EXPECT_THAT(refusal(kTable + txn(R"(["r",0,0,1])")), HasSubstr("does not have 5 elements"));
  EXPECT_THAT(refusal(kTable + txn(R"(["r",0,0,-1,4])")), HasSubstr("a key is -1"));
  EXPECT_THAT(refusal(kTable + txn(R"(["r",0,70000,1,4])")), HasSubstr("more than 65535"));
  EXPECT_THAT(refusal(kTable + txn(R"(["s",0,1,2,false,[[1]]])")), HasSubstr("is not [key, version]"));
  EXPECT_THAT(refusal(kTable + txn("7")), HasSubstr("operation 7 is not an array"));
}

TEST(LoadHistory, time_that_runs_backwards_is_refused) {
  std::string line = txn("");
  line.replace(line.find("\"end_ns\":9"), 10, "\"end_ns\":4");
  EXPECT_THAT(refusal(kTable + line), HasSubstr("\"end_ns\" is before"));
}

TEST(LoadHistory, missing_file_is_refused_by_name) {
  auto history = load_history("/nonexistent/h.jsonl");
  ASSERT_FALSE(history.ok());
  EXPECT_THAT(history.status().message(), HasSubstr("/nonexistent/h.jsonl"));
}

TEST(LoadHistory, what_is_nested_deeply_is_refused_in_few_words) {
  for (const size_t depth : {size_t{100}, size_t{1'000'000}}) {
    std::istringstream stream("{\"t\":\"txn\",\"ops\":" + std::string(depth, '[') + std::string(depth, ']') + "}\n");
    const auto history = load_history(stream, "deep");
    ASSERT_FALSE(history.ok());
    EXPECT_THAT(history.status().message(), HasSubstr("deep:1: it is nested"));
    EXPECT_LT(history.status().message().size(), 200u);
  }
}

TEST(LoadHistory, what_the_history_file_writes_is_read_back) {
  const test::TemporaryFolder folder("elider_history");
  const std::string path = folder.path() / "history.jsonl";
  {
    auto file = bench::HistoryFile::open(path);
    ASSERT_TRUE(file.ok());
    Schema schema;
    schema.name = "odd \"name\"";
    (*file)->on_table(0, schema);
    HistoryTransaction transaction;
    transaction.worker = 1;
    transaction.begin_ns = 2;
    transaction.end_ns = 3;
    transaction.committed = true;
    transaction.procedure = "p\n";
    using Kind = HistoryOperation::Kind;
    for (Kind kind :
         {Kind::kRead, Kind::kReadAbsent, Kind::kScan, Kind::kIndexScan, Kind::kWrite, Kind::kRemove, Kind::kAdd, Kind::kIndexValue}) {
      HistoryOperation operation;
      operation.kind = kind;
      operation.key = kKeyMax;
      operation.version = 8;
      if (kind == Kind::kScan || kind == Kind::kIndexScan) operation.rows = {{1, 2}, {3, 4}};
      operation.range = {1, 9};
      operation.index = 5;
      operation.value = 6;
      operation.stopped = true;
      transaction.operations.push_back(operation);
      if (kind != Kind::kIndexScan) continue;
      operation.first_key = 7;
      operation.last_key = 8;
      transaction.operations.push_back(operation);
    }
    (*file)->on_transaction(transaction);
    ASSERT_TRUE((*file)->close().ok());
  }
  auto history = load_history(path);
  ASSERT_TRUE(history.ok()) << history.status().message();
  EXPECT_EQ(history->tables[0].name, "odd \"name\"");
  EXPECT_EQ(history->procedures[0], "p\n");
  ASSERT_EQ(history->operations.size(), 5u);
  EXPECT_EQ(history->operations[4].kind, OperationKind::kAdd);
  EXPECT_EQ(history->scans[0].range.last, 9u);
  EXPECT_EQ(history->rows[1].version, 4u);
  ASSERT_EQ(history->index_scans.size(), 2u);
  EXPECT_EQ(history->index_scans[0].first, (IndexEntry{1, 0}));
  EXPECT_EQ(history->index_scans[0].last, (IndexEntry{9, kKeyMax}));
  EXPECT_EQ(history->index_scans[1].first, (IndexEntry{1, 7}));
  EXPECT_EQ(history->index_scans[1].last, (IndexEntry{9, 8}));
  EXPECT_EQ(history->index_scans[0].index, 5u);
  EXPECT_TRUE(history->index_scans[0].stopped);
  EXPECT_EQ(history->index_rows[1], (IndexEntry{3, 4}));
  ASSERT_EQ(history->index_values.size(), 1u);
  EXPECT_EQ(history->index_values[0].entry, (IndexEntry{6, kKeyMax}));
}

}  // namespace
}  // namespace elider::check
