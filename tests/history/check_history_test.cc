// Hand-made histories: every anomaly that check-history promises to find, and correct histories
// that it must accept. Each is written in the file format, so that the loader is tested on the way.
#include "tools/check_history/check_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/check_history/load.h"

namespace elider::check {
namespace {

using ::testing::HasSubstr;

// One line of a history. By default transactions overlap in time, so that real time orders none.
struct Line {
  std::string ops;
  uint64_t snapshot = 1;
  uint64_t order = 0;
  uint64_t begin = 0;
  uint64_t end = 1000;
  bool committed = true;
  bool read_only = false;
};

std::string text_of(const std::vector<Line>& lines, int tables = 1) {
  std::ostringstream text;
  for (int i = 0; i < tables; ++i)
    text << R"({"t":"table","position":)" << i << R"(,"name":")" << char('x' + i) << R"(","ordered":true,"groups":1})"
         << "\n";
  uint64_t session = 0;
  for (const Line& line : lines) {
    text << R"({"t":"txn","session":)" << session++ << R"(,"start_ns":)" << line.begin << R"(,"end_ns":)" << line.end << R"(,"snapshot":)"
         << line.snapshot << R"(,"order":)" << line.order << R"(,"outcome":")" << (line.committed ? "committed" : "aborted")
         << R"(","cause":"none","attempt":1,"procedure":"p","read_only":)" << (line.read_only ? "true" : "false") << R"(,"ops":[)"
         << line.ops << "]}\n";
  }
  return text.str();
}

Verdict check(const std::vector<Line>& lines, int tables = 1, const CheckOptions& options = {}) {
  std::istringstream stream(text_of(lines, tables));
  auto history = load_history(stream, "test");
  EXPECT_TRUE(history.ok()) << history.status().message();
  Verdict verdict = check_history(*history, options);
  std::ostringstream out;
  print(out, *history, verdict);
  EXPECT_THAT(out.str(),
              HasSubstr(std::string(verdict.holds() ? "\n" : "\nNOT ") + (options.strictly ? "strictly " : "") + "serializable\n"))
      << out.str();
  return verdict;
}

std::string cycle_of(const Verdict& verdict) {
  std::string kinds;
  for (const CycleStep& step : verdict.search.cycle) kinds += std::string(name_of(step.kind)) + " ";
  return kinds;
}

// The load that most histories begin with: x[1] and x[2] at version 1.
const Line kLoad{.ops = R"(["w",0,0,1,1],["w",0,0,2,1])", .snapshot = 0, .begin = 0, .end = 1};
constexpr uint64_t kLater = 10;

Line at(uint64_t order, std::string ops) { return {.ops = std::move(ops), .snapshot = 1, .order = order, .begin = kLater, .end = 1000}; }

TEST(CheckHistory, serial_history_is_accepted) {
  const Verdict verdict = check({kLoad,
                                 {.ops = R"(["r",0,0,1,1],["w",0,0,1,2])", .order = 1, .begin = 10, .end = 20},
                                 {.ops = R"(["r",0,0,1,2],["w",0,0,2,2])", .order = 2, .begin = 21, .end = 30},
                                 {.ops = R"(["r",0,0,1,2],["r",0,0,2,2])", .snapshot = 1, .begin = 31, .end = 40, .read_only = true}});
  EXPECT_TRUE(verdict.strictly_serializable());
  EXPECT_TRUE(verdict.graph_built);
  EXPECT_GT(verdict.edges, 0u);
}

TEST(CheckHistory, concurrent_serializable_history_is_accepted) {
  // The reader runs concurrently with both writers and sees only the first one, so its place is
  // between them.
  const Verdict verdict = check({kLoad, at(1, R"(["r",0,0,1,1],["w",0,0,1,2])"), at(3, R"(["r",0,0,2,1],["w",0,0,2,2])"),
                                 at(2, R"(["r",0,0,1,2],["r",0,0,2,1])")});
  EXPECT_TRUE(verdict.strictly_serializable());
}

TEST(CheckHistory, remove_and_reinsert_is_accepted) {
  const Verdict verdict = check({kLoad,
                                 {.ops = R"(["r",0,0,1,1],["d",0,0,1,2])", .order = 1, .begin = 10, .end = 20},
                                 {.ops = R"(["a",0,0,1,2])", .snapshot = 1, .begin = 21, .end = 30, .read_only = true},
                                 {.ops = R"(["a",0,0,1,0])", .snapshot = 1, .begin = 21, .end = 30, .read_only = true},
                                 {.ops = R"(["a",0,0,1,2],["w",0,0,1,3])", .snapshot = 2, .begin = 31, .end = 40},
                                 {.ops = R"(["s",0,0,9,false,[[1,3],[2,1]]])", .snapshot = 2, .begin = 41, .end = 50, .read_only = true},
                                 {.ops = R"(["s",0,0,9,true,[[2,1],[1,3]]])", .snapshot = 2, .begin = 41, .end = 50, .read_only = true}});
  EXPECT_TRUE(verdict.strictly_serializable());
}

TEST(CheckHistory, adds_that_did_not_read_are_accepted_in_version_order) {
  const Verdict verdict = check({kLoad, at(1, R"(["+",0,0,1,2])"), at(2, R"(["+",0,0,1,3])"), at(3, R"(["r",0,0,1,3])")});
  EXPECT_TRUE(verdict.strictly_serializable());
}

TEST(CheckHistory, adds_between_which_nobody_looked_may_have_come_in_any_order) {
  const Verdict verdict = check({kLoad, at(1, R"(["+",0,0,1,4])"), at(2, R"(["+",0,0,1,2])"), at(3, R"(["+",0,0,1,3])"),
                                 at(4, R"(["r",0,0,1,4])"), at(5, R"(["w",0,0,1,5])")});
  EXPECT_TRUE(verdict.strictly_serializable());
}

TEST(CheckHistory, a_reader_between_two_adds_fixes_their_order) {
  // It has seen what the later adder also wrote, but not what it added.
  const Verdict verdict = check({kLoad, at(1, R"(["+",0,0,1,3],["w",0,0,2,2])"), at(2, R"(["+",0,0,1,2])"),
                                 at(3, R"(["r",0,0,1,2],["r",0,0,2,2])")});
  EXPECT_FALSE(verdict.strictly_serializable());
}

TEST(CheckHistory, g0_write_cycle_is_caught) {
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2],["w",0,0,2,3])"), at(2, R"(["w",0,0,1,3],["w",0,0,2,2])")});
  EXPECT_FALSE(verdict.strictly_serializable());
  EXPECT_EQ(cycle_of(verdict), "ww ww ");
  EXPECT_THAT(name_of_cycle(verdict.search.cycle), HasSubstr("G0"));
}

TEST(CheckHistory, g1a_aborted_read_is_caught) {
  Line aborted = at(0, R"(["w",0,0,1,2])");
  aborted.committed = false;
  const Verdict verdict = check({kLoad, aborted, at(1, R"(["r",0,0,1,2])")});
  ASSERT_EQ(verdict.anomalies.size(), 1u);
  EXPECT_EQ(verdict.anomalies[0].kind, "G1a (aborted read)");
  EXPECT_THAT(verdict.anomalies[0].words, HasSubstr("T4 read version 2 of x[1], which T3 wrote"));
}

TEST(CheckHistory, version_that_an_aborted_and_a_committed_transaction_used_is_the_committed_one) {
  Line aborted = at(0, R"(["w",0,0,1,2])");
  aborted.committed = false;
  EXPECT_TRUE(check({kLoad, aborted, at(1, R"(["w",0,0,1,2])"), at(2, R"(["r",0,0,1,2])")}).strictly_serializable());
}

TEST(CheckHistory, g1b_intermediate_read_is_caught) {
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2],["w",0,0,1,3])"), at(2, R"(["r",0,0,1,2])")});
  ASSERT_FALSE(verdict.anomalies.empty());
  EXPECT_EQ(verdict.anomalies[0].kind, "G1b (intermediate read)");
}

TEST(CheckHistory, g1c_circular_information_flow_is_caught) {
  const Verdict verdict = check({kLoad, at(1, R"(["r",0,0,2,2],["w",0,0,1,2])"), at(2, R"(["r",0,0,1,2],["w",0,0,2,2])")});
  EXPECT_EQ(cycle_of(verdict), "wr wr ");
  EXPECT_THAT(name_of_cycle(verdict.search.cycle), HasSubstr("G1c"));
}

TEST(CheckHistory, lost_update_is_caught) {
  const Verdict verdict = check({kLoad, at(1, R"(["r",0,0,1,1],["w",0,0,1,2])"), at(2, R"(["r",0,0,1,1],["w",0,0,1,3])")});
  EXPECT_EQ(verdict.search.cycle.size(), 2u);
  EXPECT_THAT(name_of_cycle(verdict.search.cycle), HasSubstr("G-single"));
}

TEST(CheckHistory, write_skew_is_caught) {
  const Verdict verdict = check(
      {kLoad, at(1, R"(["r",0,0,1,1],["r",0,0,2,1],["w",0,0,1,2])"), at(2, R"(["r",0,0,1,1],["r",0,0,2,1],["w",0,0,2,2])")});
  EXPECT_EQ(cycle_of(verdict), "rw rw ");
  EXPECT_THAT(name_of_cycle(verdict.search.cycle), HasSubstr("G2"));
}

TEST(CheckHistory, phantom_write_skew_by_scans_is_caught) {
  // Both scan a range without 5 and 6, and each inserts one of them.
  const Verdict verdict = check(
      {kLoad, at(1, R"(["s",0,1,9,false,[[1,1],[2,1]]],["w",0,0,5,1])"), at(2, R"(["s",0,1,9,false,[[1,1],[2,1]]],["w",0,0,6,1])")});
  EXPECT_EQ(cycle_of(verdict), "rw rw ");
}

TEST(CheckHistory, phantom_write_skew_by_absent_reads_is_caught) {
  for (const char* version : {"0", "4"}) {
    const std::string absent5 = std::string(R"(["a",0,0,5,)") + version + "]", absent6 = std::string(R"(["a",0,0,6,)") + version + "]";
    const Verdict verdict = check({kLoad, at(1, absent5 + R"(,["w",0,0,6,5])"), at(2, absent6 + R"(,["w",0,0,5,5])")});
    EXPECT_EQ(cycle_of(verdict), "rw rw ");
  }
}

TEST(CheckHistory, scan_that_missed_an_insert_it_should_see_is_caught_against_real_time) {
  const Verdict verdict = check({kLoad,
                                 {.ops = R"(["w",0,0,5,1])", .order = 1, .begin = 10, .end = 20},
                                 {.ops = R"(["s",0,1,9,false,[[1,1],[2,1]]])", .order = 2, .begin = 30, .end = 40}});
  EXPECT_EQ(verdict.search.cycle.size(), 2u);
  EXPECT_THAT(name_of_cycle(verdict.search.cycle), HasSubstr("against real time"));
}

TEST(CheckHistory, scan_of_a_shortened_range_owes_nothing_beyond_it) {
  const Verdict verdict = check({kLoad,
                                 {.ops = R"(["w",0,0,5,1])", .order = 1, .begin = 10, .end = 20},
                                 {.ops = R"(["s",0,1,4,false,[[1,1],[2,1]]])", .order = 2, .begin = 30, .end = 40}});
  EXPECT_TRUE(verdict.strictly_serializable());
}

TEST(CheckHistory, scan_that_still_returned_a_removed_row_is_caught) {
  const Verdict verdict = check({kLoad,
                                 {.ops = R"(["r",0,0,1,1],["d",0,0,1,2])", .order = 1, .begin = 10, .end = 20},
                                 {.ops = R"(["s",0,1,9,false,[[1,1],[2,1]]])", .order = 2, .begin = 30, .end = 40}});
  EXPECT_FALSE(verdict.strictly_serializable());
  EXPECT_FALSE(verdict.search.cycle.empty());
}

TEST(CheckHistory, fractured_read_is_caught) {
  // One transaction writes both rows; the reader has one of before and one of after.
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2],["w",0,0,2,2])"), at(2, R"(["r",0,0,1,1],["r",0,0,2,2])")});
  EXPECT_EQ(verdict.search.cycle.size(), 2u);
  EXPECT_THAT(name_of_cycle(verdict.search.cycle), HasSubstr("G-single"));
}

TEST(CheckHistory, fractured_read_by_a_scan_is_caught) {
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2],["w",0,0,2,2])"), at(2, R"(["s",0,0,9,false,[[1,2],[2,1]]])")});
  EXPECT_EQ(verdict.search.cycle.size(), 2u);
}

TEST(CheckHistory, row_read_at_two_versions_is_caught) {
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2])"), at(2, R"(["r",0,0,1,1],["r",0,0,1,2])")});
  EXPECT_EQ(verdict.search.cycle.size(), 2u);
}

TEST(CheckHistory, stale_read_against_real_time_is_caught) {
  const Verdict verdict = check({kLoad,
                                 {.ops = R"(["w",0,0,1,2])", .snapshot = 2, .begin = 10, .end = 20},
                                 {.ops = R"(["r",0,0,1,1])", .snapshot = 1, .begin = 30, .end = 40, .read_only = true}});
  EXPECT_EQ(cycle_of(verdict), "rt rw ") << "the order numbers alone would hide it";
  EXPECT_GT(verdict.replay_failures, 0u);
}

TEST(CheckHistory, same_stale_read_is_accepted_where_the_transactions_overlap) {
  const Verdict verdict = check({kLoad,
                                 {.ops = R"(["w",0,0,1,2])", .snapshot = 2, .begin = 10, .end = 30},
                                 {.ops = R"(["r",0,0,1,1])", .snapshot = 1, .begin = 30, .end = 40, .read_only = true}});
  EXPECT_TRUE(verdict.strictly_serializable());
}

TEST(CheckHistory, read_only_anomaly_is_caught) {
  // Fekete, O'Neil, O'Neil: two updates that are serializable alone, and a reader that sees a state
  // which no serial order passes. x[1]: savings, x[2]: checking. The withdrawal saw neither change.
  const Verdict verdict = check({kLoad, at(2, R"(["r",0,0,1,1],["r",0,0,2,1],["w",0,0,2,2])"), at(1, R"(["r",0,0,1,1],["w",0,0,1,2])"),
                                 at(3, R"(["r",0,0,1,2],["r",0,0,2,1])")});
  EXPECT_EQ(verdict.search.cycle.size(), 3u);
  EXPECT_FALSE(verdict.strictly_serializable());
  const Verdict without_reader =
      check({kLoad, at(1, R"(["r",0,0,1,1],["r",0,0,2,1],["w",0,0,2,2])"), at(2, R"(["r",0,0,1,1],["w",0,0,1,2])")});
  EXPECT_TRUE(without_reader.strictly_serializable());
}

TEST(CheckHistory, long_fork_is_caught) {
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2])"), at(2, R"(["w",0,0,2,2])"), at(3, R"(["r",0,0,1,2],["r",0,0,2,1])"),
                                 at(4, R"(["r",0,0,1,1],["r",0,0,2,2])")});
  EXPECT_EQ(verdict.search.cycle.size(), 4u);
}

TEST(CheckHistory, shortest_of_two_cycles_is_shown) {
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2])"), at(2, R"(["w",0,0,2,2])"), at(3, R"(["r",0,0,1,2],["r",0,0,2,1])"),
                                 at(4, R"(["r",0,0,1,1],["r",0,0,2,2])"), at(5, R"(["r",0,0,1,2],["w",0,0,1,3],["w",0,0,2,3])"),
                                 at(6, R"(["r",0,0,1,2],["w",0,0,1,4])")});
  EXPECT_EQ(verdict.search.cycle.size(), 2u);
  EXPECT_TRUE(verdict.search.exhaustive);
}

TEST(CheckHistory, cycle_between_column_groups_of_one_row_is_caught) {
  const Line load{.ops = R"(["w",0,0,1,1],["w",0,1,1,1])", .snapshot = 0, .begin = 0, .end = 1};
  EXPECT_FALSE(check({load, at(1, R"(["r",0,0,1,1],["w",0,1,1,2])"), at(2, R"(["r",0,1,1,1],["w",0,0,1,2])")}).strictly_serializable());
  EXPECT_TRUE(check({load, at(1, R"(["r",0,0,1,1],["w",0,0,1,2])"), at(2, R"(["r",0,1,1,1],["w",0,1,1,2])")}).strictly_serializable());
}

TEST(CheckHistory, scan_without_column_group_0_is_judged_by_its_reads_alone) {
  std::string text = text_of({{.ops = R"(["w",0,0,1,1],["w",0,1,1,1])", .snapshot = 0, .begin = 0, .end = 1},
                              at(1, R"(["r",0,0,1,1],["w",0,0,1,2])"),
                              at(2, R"(["r",0,1,1,1],["s",0,0,9,false,[[1,1]]])")});
  const auto verdict_of = [](const std::string& lines) {
    std::istringstream stream(lines);
    auto history = load_history(stream, "test");
    EXPECT_TRUE(history.ok());
    return check_history(*history).strictly_serializable();
  };
  EXPECT_FALSE(verdict_of(text)) << "with one column group, version 1 is an old one";
  text.replace(text.find("\"groups\":1"), 10, "\"groups\":2");
  EXPECT_TRUE(verdict_of(text)) << "the version is that of group 1, which is current";
  const std::string read = R"(["r",0,1,1,1],["s")";
  text.replace(text.find(read), read.size(), R"(["r",0,0,1,2],)" + read);
  EXPECT_TRUE(verdict_of(text)) << "the version is that of group 1, though group 0 was read, too";
  text.replace(text.find("[[1,1]]"), 7, "[[1,9]]");
  EXPECT_FALSE(verdict_of(text)) << "no read of the row has this version";
}

TEST(CheckHistory, same_key_of_two_tables_is_two_items) {
  const Line load{.ops = R"(["w",0,0,1,1],["w",1,0,1,1])", .snapshot = 0, .begin = 0, .end = 1};
  EXPECT_TRUE(check({load, at(1, R"(["r",0,0,1,1],["w",0,0,1,2])"), at(2, R"(["r",1,0,1,1],["w",1,0,1,2])")}, 2).strictly_serializable());
}

TEST(CheckHistory, version_nobody_wrote_is_refused) {
  const Verdict verdict = check({kLoad, at(1, R"(["r",0,0,1,7])")});
  ASSERT_EQ(verdict.anomalies.size(), 1u);
  EXPECT_EQ(verdict.anomalies[0].kind, "read of a version that was never written");
}

TEST(CheckHistory, two_writes_of_one_version_are_refused) {
  const Verdict verdict = check({kLoad, at(1, R"(["w",0,0,1,2])"), at(2, R"(["w",0,0,1,2])")});
  ASSERT_FALSE(verdict.anomalies.empty());
  EXPECT_EQ(verdict.anomalies[0].kind, "duplicate version");
}

TEST(CheckHistory, version_that_goes_backwards_is_refused) {
  const Verdict by_own_read =
      check({{.ops = R"(["w",0,0,1,5])", .snapshot = 0, .begin = 0, .end = 1}, at(1, R"(["r",0,0,1,5],["w",0,0,1,4])")});
  ASSERT_FALSE(by_own_read.anomalies.empty());
  EXPECT_EQ(by_own_read.anomalies[0].kind, "version that goes backwards");
  // Real time tells the order of two blind writes.
  const Verdict by_time = check({kLoad,
                                 {.ops = R"(["w",0,0,1,3])", .order = 1, .begin = 10, .end = 20},
                                 {.ops = R"(["w",0,0,1,2])", .order = 2, .begin = 30, .end = 40}});
  EXPECT_FALSE(by_time.strictly_serializable());
  EXPECT_EQ(by_time.search.cycle.size(), 2u);
}

TEST(CheckHistory, real_time_can_be_disregarded_and_nothing_else) {
  const CheckOptions serializable{.strictly = false};
  const std::vector<Line> late = {kLoad,
                                  {.ops = R"(["r",0,0,1,1],["w",0,0,2,2])", .order = 1, .begin = 30, .end = 40},
                                  {.ops = R"(["w",0,0,1,2])", .order = 2, .begin = 10, .end = 20}};
  EXPECT_FALSE(check(late).strictly_serializable());
  EXPECT_TRUE(check(late, 1, serializable).holds());
  EXPECT_FALSE(check(late, 1, serializable).strictly_serializable()) << "that was not asked";
  const std::vector<Line> skewed = {kLoad, at(1, R"(["r",0,0,1,1],["w",0,0,2,2])"), at(2, R"(["r",0,0,2,1],["w",0,0,1,2])")};
  EXPECT_FALSE(check(skewed, 1, serializable).holds());
}

TEST(CheckHistory, removed_version_read_as_a_row_is_refused) {
  const Verdict verdict = check({kLoad, at(1, R"(["d",0,0,1,2])"), at(2, R"(["r",0,0,1,2])")});
  ASSERT_FALSE(verdict.anomalies.empty());
  EXPECT_EQ(verdict.anomalies[0].kind, "read of a removed row");
}

TEST(CheckHistory, absence_of_a_row_that_is_there_is_refused) {
  const Verdict verdict = check({kLoad, at(1, R"(["a",0,0,1,1])")});
  ASSERT_FALSE(verdict.anomalies.empty());
  EXPECT_EQ(verdict.anomalies[0].kind, "absence of a row that exists");
}

TEST(CheckHistory, scan_that_gives_an_own_write_which_was_never_made_is_refused) {
  const Verdict verdict = check({kLoad, at(1, R"(["s",0,0,9,false,[[1,1],[2,1],[3,0]]])")});
  ASSERT_FALSE(verdict.anomalies.empty());
  EXPECT_EQ(verdict.anomalies[0].kind, "internal");
  EXPECT_TRUE(check({kLoad, at(1, R"(["s",0,0,9,false,[[1,1],[2,1],[3,0]]],["w",0,0,3,1])")}).strictly_serializable());
  EXPECT_TRUE(check({kLoad, at(1, R"(["s",0,0,9,false,[[2,1]]],["d",0,0,1,2])")}).strictly_serializable());
  // Inserted, scanned, and removed again: only the absence that it first read is left.
  EXPECT_TRUE(check({kLoad, at(1, R"(["a",0,0,3,0],["s",0,0,9,false,[[1,1],[2,1],[3,0]]])")}).strictly_serializable());
  // Written in another column group than the one whose version a scan gives.
  EXPECT_TRUE(check({kLoad, at(1, R"(["s",0,0,9,false,[[1,0],[2,1]]],["w",0,1,1,1])")}).strictly_serializable());
}

TEST(CheckHistory, scan_out_of_order_or_range_is_refused) {
  EXPECT_EQ(check({kLoad, at(1, R"(["s",0,0,9,false,[[2,1],[1,1]]])")}).anomalies.size(), 1u);
  EXPECT_EQ(check({kLoad, at(1, R"(["s",0,0,9,true,[[1,1],[2,1]]])")}).anomalies.size(), 1u);
  EXPECT_EQ(check({kLoad, at(1, R"(["s",0,0,9,false,[[1,1],[1,1],[2,1]]])")}).anomalies.size(), 1u);
  EXPECT_EQ(check({kLoad, at(1, R"(["s",0,0,1,false,[[1,1],[2,1]]])")}).anomalies.size(), 1u);
}

TEST(CheckHistory, write_by_a_read_only_transaction_is_refused) {
  Line line = at(1, R"(["w",0,0,1,2])");
  line.read_only = true;
  EXPECT_EQ(check({kLoad, line}).anomalies.size(), 1u);
}

TEST(CheckHistory, add_to_a_row_that_is_not_there_is_refused) {
  std::istringstream stream(text_of({kLoad, at(1, R"(["d",0,0,1,2])"), at(2, R"(["+",0,0,1,3])")}));
  auto history = load_history(stream, "test");
  ASSERT_TRUE(history.ok());
  EXPECT_FALSE(check_history(*history).strictly_serializable());
}

TEST(CheckHistory, wrong_commit_order_of_a_serializable_history_is_refused_without_a_cycle) {
  std::istringstream stream(text_of({kLoad, at(2, R"(["w",0,0,1,2])"), at(1, R"(["r",0,0,1,2])")}));
  auto history = load_history(stream, "test");
  ASSERT_TRUE(history.ok());
  const Verdict verdict = check_history(*history);
  EXPECT_FALSE(verdict.strictly_serializable());
  EXPECT_TRUE(verdict.search.cycle.empty());
  std::ostringstream out;
  print(out, *history, verdict);
  EXPECT_THAT(out.str(), HasSubstr("is not a serial order"));
}

TEST(CheckHistory, cycle_is_printed_with_sessions_keys_and_versions) {
  std::istringstream stream(text_of({kLoad, at(1, R"(["r",0,0,1,1],["w",0,0,2,2])"), at(2, R"(["r",0,0,2,1],["w",0,0,1,2])")}));
  auto history = load_history(stream, "test");
  ASSERT_TRUE(history.ok());
  const Verdict verdict = check_history(*history);
  std::ostringstream out;
  print(out, *history, verdict);
  EXPECT_THAT(out.str(), HasSubstr("T3 read version 1 of x[1], and T4 wrote the next, version 2"));
  EXPECT_THAT(out.str(), HasSubstr("T4 read version 1 of x[2], and T3 wrote the next, version 2"));
  EXPECT_THAT(out.str(), HasSubstr("T3: session 1, p, attempt 1, snapshot 1"));
}

// -- scans through secondary indexes --------------------------------------------------------------

TEST(CheckHistory, an_index_scan_returns_what_the_index_has) {
  const Verdict verdict = check({{R"(["w",0,0,7,1],["v",0,0,7,30])", 1, 0},
                                 {R"(["w",0,0,8,1],["v",0,0,8,20])", 1, 1},
                                 {R"(["r",0,0,7,1],["r",0,0,8,1],["i",0,0,0,99,false,false,[[20,8],[30,7]]])", 1, 2},
                                 {R"(["r",0,0,7,1],["i",0,0,0,99,true,true,[[30,7]]])", 1, 3},
                                 {R"(["w",0,0,7,2],["v",0,0,7,10])", 1, 4},
                                 {R"(["i",0,0,30,30,false,false,[]])", 1, 5},
                                 {R"(["d",0,0,8,2])", 1, 6},
                                 {R"(["r",0,0,7,2],["i",0,0,0,99,false,false,[[10,7]]])", 1, 7}});
  EXPECT_TRUE(verdict.strictly_serializable());
}

// Both look for a row with value 5, do not find one, and insert one: write skew through an index.
TEST(CheckHistory, an_index_phantom_is_a_cycle) {
  const Verdict verdict = check({{R"(["i",0,0,5,5,false,false,[]],["w",0,0,1,1],["v",0,0,1,5])", 1, 0},
                                 {R"(["i",0,0,5,5,false,false,[]],["w",0,0,2,1],["v",0,0,2,5])", 1, 1}});
  EXPECT_EQ(cycle_of(verdict), "rw rw ");
}

TEST(CheckHistory, an_index_scan_that_missed_a_row_of_an_earlier_transaction_is_a_cycle) {
  // Real time: the row was there before the scan began.
  const Verdict verdict = check({{R"(["w",0,0,1,1],["v",0,0,1,5])", 1, 0, 0, 100}, {R"(["i",0,0,0,9,false,false,[]])", 1, 1, 200, 300}});
  EXPECT_THAT(cycle_of(verdict), ::testing::AnyOf("rw rt ", "rt rw "));
}

// A scan before two changes of a row does not depend on either of them. The reported cycle is that
// of the other transactions.
TEST(CheckHistory, an_index_scan_depends_on_no_version_that_it_did_not_see) {
  const Verdict verdict = check({{R"(["i",0,0,0,9,false,false,[]])", 1, 0},
                                 {R"(["w",0,0,1,1],["v",0,0,1,5])", 1, 1},
                                 {R"(["r",0,0,1,1],["w",0,0,1,2],["v",0,0,1,6])", 1, 2},
                                 {R"(["w",0,0,7,1],["v",0,0,7,50])", 1, 3, 0, 100},
                                 {R"(["i",0,0,50,50,false,false,[]])", 1, 4, 200, 300}});
  ASSERT_EQ(verdict.search.cycle.size(), 2u);
  for (const CycleStep& step : verdict.search.cycle) EXPECT_GE(step.txn, 3u);
}

TEST(CheckHistory, an_index_scan_that_misses_a_change_into_its_range) {
  const Verdict verdict = check({{R"(["w",0,0,1,1],["v",0,0,1,50])", 1, 0, 0, 100},
                                 {R"(["r",0,0,1,1],["w",0,0,1,2],["v",0,0,1,5])", 1, 1, 200, 300},
                                 {R"(["i",0,0,0,9,true,false,[]])", 1, 2, 400, 500}});
  EXPECT_THAT(cycle_of(verdict), ::testing::AnyOf("rw rt ", "rt rw "));
}

TEST(CheckHistory, an_index_scan_that_returns_what_is_not_there) {
  const Verdict verdict = check({{R"(["w",0,0,1,1],["v",0,0,1,5])", 1, 0}, {R"(["i",0,0,0,9,false,false,[[6,1]]])", 1, 1, 0, 1000}});
  ASSERT_EQ(verdict.anomalies.size(), 1u);
  EXPECT_EQ(verdict.anomalies[0].kind, "scan of an index value that was never written");
  EXPECT_EQ(verdict.replay_failures, 2u);  // it was given [1] with 6, and not [1] with 5
}

TEST(CheckHistory, an_index_scan_is_in_order_and_in_range) {
  const std::vector<Line> rows = {{R"(["w",0,0,1,1],["v",0,0,1,5],["w",0,0,2,1],["v",0,0,2,5])", 1, 0}};
  std::vector<Line> lines = rows;
  lines.push_back({R"(["i",0,0,0,9,false,false,[[5,2],[5,1]]])", 1, 1});
  Verdict verdict = check(lines);
  ASSERT_EQ(verdict.anomalies.size(), 1u);
  EXPECT_EQ(verdict.anomalies[0].kind, "scan out of order");
  lines = rows;
  lines.push_back({R"(["i",0,0,0,4,false,false,[[5,1]]])", 1, 1});
  verdict = check(lines);
  ASSERT_EQ(verdict.anomalies.size(), 1u);
  EXPECT_EQ(verdict.anomalies[0].kind, "scan out of range");
}

TEST(CheckHistory, an_index_scan_between_positions_covers_no_other_rows) {
  const std::vector<Line> rows = {{R"(["w",0,0,1,1],["v",0,0,1,5],["w",0,0,2,1],["v",0,0,2,5],["w",0,0,3,1],["v",0,0,3,5])", 1, 0, 0, 100}};
  const auto scan = [&](const char* operation) {
    std::vector<Line> lines = rows;
    lines.push_back({operation, 1, 1, 200, 300});
    return check(lines);
  };
  EXPECT_TRUE(scan(R"(["i",0,0,5,5,false,false,[[5,2]],2,2])").strictly_serializable());
  EXPECT_TRUE(scan(R"(["i",0,0,0,9,true,false,[[5,3],[5,2],[5,1]],4,0])").strictly_serializable());
  EXPECT_TRUE(scan(R"(["i",0,0,4,5,true,false,[[5,1]],0,1])").strictly_serializable());
  EXPECT_THAT(cycle_of(scan(R"(["i",0,0,5,5,false,false,[[5,2]],2,3])")), ::testing::AnyOf("rw rt ", "rt rw "));
  for (const char* outside : {R"(["i",0,0,5,5,false,false,[[5,1],[5,2]],2,2])", R"(["i",0,0,5,5,false,false,[[5,2],[5,3]],2,2])"}) {
    const Verdict verdict = scan(outside);
    ASSERT_EQ(verdict.anomalies.size(), 1u);
    EXPECT_EQ(verdict.anomalies[0].kind, "scan out of range");
  }
}

TEST(CheckHistory, an_index_scan_need_not_agree_on_rows_that_its_transaction_wrote) {
  const Verdict verdict = check({{R"(["w",0,0,1,1],["v",0,0,1,5])", 1, 0},
                                 {R"(["r",0,0,1,1],["i",0,0,0,9,false,false,[[7,1]]],["w",0,0,1,2],["v",0,0,1,8])", 1, 1}});
  EXPECT_TRUE(verdict.strictly_serializable());
}

}  // namespace
}  // namespace elider::check
