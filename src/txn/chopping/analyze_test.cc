// Tests of the analysis of declared procedures: which pieces it merges, which it does not merge,
// and which declarations it refuses.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/test_points.h"
#include "elider/chopping.h"

namespace elider::chopping {
namespace {

using Pieces = std::vector<std::vector<std::string>>;

class AnalyzeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c", "d"}) all_.tables.push_back({name, {{"x"}, {"y", "z"}}});
  }
  void add(std::string name, std::vector<Operation> operations) { all_.procedures.push_back({std::move(name), std::move(operations)}); }
  void analyze_all() {
    const Status status = analyze(all_, choices_, &plan_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // Returns the pieces of a procedure in their order, by the names of their operations.
  Pieces pieces(const std::string& name) const {
    Pieces result;
    for (size_t p = 0; p < all_.procedures.size(); ++p)
      if (all_.procedures[p].name == name)
        for (const Piece& piece : plan_.procedures[p].pieces) {
          auto& names = result.emplace_back();
          for (const uint32_t o : piece.operations) names.push_back(all_.procedures[p].operations[o].name);
        }
    return result;
  }
  std::string refusal() {
    const Status status = analyze(all_, choices_, &plan_);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    const std::string prefix = "invalid argument: ";
    EXPECT_TRUE(status.message().starts_with(prefix)) << status.message();
    return status.message().substr(prefix.size());
  }

  Declaration all_;
  Choices choices_;
  Plan plan_;
};

// Three procedures. The first two conflict in two tables, and the third conflicts with both in one
// table.
TEST_F(AnalyzeTest, WhatTwoProceduresMeetAtTwiceIsMerged) {
  add("reader", {Operation("a").reads("a"), Operation("b").writes("b")});
  add("writer", {Operation("a").writes("a"), Operation("b").writes("b")});
  add("third", {Operation("b").writes("b"), Operation("c").reads("c")});
  analyze_all();
  EXPECT_EQ(pieces("reader"), (Pieces{{"a", "b"}}));
  EXPECT_EQ(pieces("writer"), (Pieces{{"a", "b"}}));
  EXPECT_EQ(pieces("third"), (Pieces{{"c"}, {"b"}})) << "what only reads comes first";
  ASSERT_EQ(plan_.merges.size(), 2u);
  for (const Merge& merge : plan_.merges) {
    EXPECT_EQ(merge.why, Merge::Why::kCycle);
    EXPECT_GE(merge.cycle.size(), 2u);
    EXPECT_EQ(merge.cycle.front().from.procedure, merge.procedure);
    for (size_t i = 0; i + 1 < merge.cycle.size(); ++i) EXPECT_EQ(merge.cycle[i].to.procedure, merge.cycle[i + 1].from.procedure);
  }
}

TEST_F(AnalyzeTest, APieceThatMeetsNothingStaysByItself) {
  add("one", {Operation("a").writes("a"), Operation("c").reads("c"), Operation("b").writes("b")});
  analyze_all();
  EXPECT_EQ(pieces("one"), (Pieces{{"c"}, {"a", "b"}})) << "two calls of it meet in a and in b";
}

TEST_F(AnalyzeTest, WhatMustRunBetweenTwoMergedOnesIsMerged) {
  add("one", {Operation("a").writes("a"), Operation("c").reads("c").needs({"a"}), Operation("b").writes("b").needs({"c"}),
              Operation("after").reads("d").needs({"b"})});
  analyze_all();
  EXPECT_EQ(pieces("one"), (Pieces{{"a", "c", "b"}, {"after"}}));
  ASSERT_EQ(plan_.merges.size(), 2u);
  EXPECT_EQ(plan_.merges.back().why, Merge::Why::kBetween);
}

TEST_F(AnalyzeTest, WithoutReorderingAllBetweenIsMerged) {
  choices_.reordering = false;
  add("one", {Operation("a").writes("a"), Operation("c").reads("c"), Operation("b").writes("b"), Operation("d").reads("d")});
  analyze_all();
  EXPECT_EQ(pieces("one"), (Pieces{{"a", "c", "b"}, {"d"}}));
}

TEST_F(AnalyzeTest, AddsCommuteWithEachOtherAlone) {
  add("adder", {Operation("a").adds("a", {"x"}), Operation("b").adds("b", {"x"})});
  analyze_all();
  EXPECT_EQ(pieces("adder").size(), 2u);
  choices_.adding = false;
  analyze_all();
  EXPECT_EQ(pieces("adder").size(), 1u);
  choices_.adding = true;
  add("watcher", {Operation("a").reads("a", {"x"}), Operation("b").writes("b", {"x"})});
  analyze_all();
  EXPECT_EQ(pieces("adder").size(), 1u);
}

TEST_F(AnalyzeTest, ColumnsAreToldApartAsAsked) {
  add("one", {Operation("a").writes("a", {"x"}), Operation("b").writes("b", {"y"})});
  add("two", {Operation("a").reads("a", {"y"}), Operation("b").writes("b", {"z"})});
  choices_.granularity = Granularity::kTable;
  analyze_all();
  EXPECT_EQ(pieces("two").size(), 1u);
  choices_.granularity = Granularity::kGroup;
  analyze_all();
  EXPECT_EQ(pieces("two").size(), 2u) << "a.x and a.y are in two groups";
  EXPECT_TRUE(std::any_of(plan_.conflicts.begin(), plan_.conflicts.end(),
                          [](const Conflict& c) { return c.advice == "put y and z of table 'b' into different column groups"; }));
  choices_.granularity = Granularity::kColumn;
  analyze_all();
  EXPECT_FALSE(
      std::any_of(plan_.conflicts.begin(), plan_.conflicts.end(), [](const Conflict& c) { return c.from.procedure != c.to.procedure; }));
}

TEST_F(AnalyzeTest, ReadersOnASnapshotMeetNothing) {
  add("reader", {Operation("a").reads("a"), Operation("b").scans("b")});
  add("writer", {Operation("a").writes("a"), Operation("b").inserts("c").fresh()});
  analyze_all();
  EXPECT_TRUE(plan_.procedures[0].on_snapshot);
  EXPECT_EQ(pieces("writer").size(), 2u);
  choices_.snapshots = false;
  add("inserter", {Operation("b").inserts("b").fresh(), Operation("a").writes("a")});
  analyze_all();
  EXPECT_EQ(pieces("reader").size(), 1u);
}

TEST_F(AnalyzeTest, FreshRowsMeetScansAndNotEachOther) {
  add("inserter", {Operation("a").inserts("a").fresh(), Operation("b").inserts("b").fresh()});
  analyze_all();
  EXPECT_EQ(pieces("inserter").size(), 2u);
  add("scanner", {Operation("a").scans("a"), Operation("c").writes("c")});
  add("other", {Operation("b").scans("b"), Operation("c").writes("c")});
  analyze_all();
  EXPECT_EQ(pieces("inserter").size(), 1u);
}

TEST_F(AnalyzeTest, RowsThatHangOnATokenMeetNothing) {
  add("maker", {Operation("row").inserts("b").token("a"), Operation("token").inserts("a").fresh()});
  add("taker", {Operation("token").scans("a").removes("a"), Operation("row").writes("b").token("a")});
  analyze_all();
  EXPECT_EQ(pieces("maker"), (Pieces{{"row"}, {"token"}})) << "the row before its token";
  EXPECT_EQ(pieces("taker"), (Pieces{{"token"}, {"row"}})) << "the token before its row";
  choices_.tokens = false;
  analyze_all();
  EXPECT_EQ(pieces("taker").size(), 1u);
}

TEST_F(AnalyzeTest, ACallKeepsTheOrderOfWhatItDoesToTheSame) {
  add("maker", {Operation("row").inserts("b").token("a"), Operation("token").inserts("a").fresh()});
  add("taker",
      {Operation("take").removes("a"), Operation("mark").writes("b", {"x"}).token("a"), Operation("sum").reads("b", {"x"}).token("a")});
  analyze_all();
  EXPECT_EQ(pieces("taker"), (Pieces{{"take"}, {"mark"}, {"sum"}}));
}

// A job is queued again under a new token. A worker that claims this token finds the job completed.
TEST_F(AnalyzeTest, ATokenIsHandedOnLast) {
  add("worker", {Operation("take").removes("a"), Operation("one").reads("b").token("a").writes("b").token("a"),
                 Operation("two").reads("c").token("a").writes("c").token("a"), Operation("back").inserts("a").fresh()});
  analyze_all();
  EXPECT_EQ(pieces("worker"), (Pieces{{"take", "one", "two", "back"}}));
}

TEST_F(AnalyzeTest, WithoutReorderingOnlyWhatComesLastIsDeferred) {
  choices_.reordering = false;
  add("publisher", {Operation("take").writes("a"), Operation("credit").adds("b", {"x"}).defers(), Operation("more").writes("c")});
  add("subscriber", {Operation("look").reads("b", {"x"}), Operation("log").inserts("d").fresh()});
  analyze_all();
  EXPECT_FALSE(plan_.deferrals[0].granted);
}

TEST_F(AnalyzeTest, ATokenThatComesTwiceIsNone) {
  add("taker", {Operation("take").removes("a"), Operation("row").writes("b").token("a")});
  add("returner", {Operation("back").inserts("a")});
  EXPECT_EQ(
      refusal(),
      "procedure 'returner', operation 'back': it inserts into table 'a', whose rows are tokens; they must be fresh, or a token could be "
      "claimed twice");
}

TEST_F(AnalyzeTest, ATokenMustBeInsertedOrRemoved) {
  add("maker", {Operation("token").inserts("a").fresh(), Operation("row").inserts("b").token("a")});
  EXPECT_EQ(refusal(), "procedure 'maker', operation 'row': neither this operation nor a later one inserts its token into table 'a'");
  all_.procedures.clear();
  add("taker", {Operation("row").writes("b").token("a"), Operation("token").removes("a")});
  EXPECT_EQ(refusal(), "procedure 'taker', operation 'row': neither this operation nor an earlier one removes its token from table 'a'");
}

TEST_F(AnalyzeTest, DifferentConstantPartitionsMeetNothing) {
  add("one", {Operation("a").writes("a").partition("=1"), Operation("b").writes("b").partition("=1")});
  add("two", {Operation("a").writes("a").partition("=2"), Operation("c").writes("c")});
  analyze_all();
  EXPECT_FALSE(
      std::any_of(plan_.conflicts.begin(), plan_.conflicts.end(), [](const Conflict& c) { return c.from.procedure != c.to.procedure; }));
}

// -- deferred operations --------------------------------------------------------------------------

TEST_F(AnalyzeTest, WhatOthersReadLaterMayBeDeferred) {
  add("publisher", {Operation("take").removes("a"), Operation("credit").adds("b", {"x"}).needs({"take"}).defers()});
  add("subscriber", {Operation("look").reads("b", {"x"}).writes("b", {"x"}), Operation("log").inserts("c").fresh()});
  analyze_all();
  ASSERT_EQ(plan_.deferrals.size(), 1u);
  EXPECT_TRUE(plan_.deferrals[0].granted);
  EXPECT_EQ(pieces("publisher"), (Pieces{{"take"}, {"credit"}}));
  EXPECT_TRUE(plan_.procedures[0].pieces[1].deferred);
  choices_.deferring = false;
  analyze_all();
  EXPECT_EQ(pieces("publisher").size(), 1u);
}

TEST_F(AnalyzeTest, AnotherWayBetweenThemForbidsIt) {
  add("publisher", {Operation("take").removes("a"), Operation("credit").adds("b", {"x"}).needs({"take"}).defers()});
  add("subscriber", {Operation("look").reads("b", {"x"}), Operation("log").writes("c")});
  add("between", {Operation("a").inserts("a").fresh(), Operation("c").writes("c")});
  analyze_all();
  ASSERT_EQ(plan_.deferrals.size(), 1u);
  EXPECT_FALSE(plan_.deferrals[0].granted);
  EXPECT_EQ(plan_.deferrals[0].path.size(), 2u);
  EXPECT_EQ(pieces("publisher").size(), 1u);
}

TEST_F(AnalyzeTest, ItsOwnProcedureMayNotWaitForIt) {
  add("publisher", {Operation("look").reads("b", {"x"}), Operation("credit").adds("b", {"x"}).defers()});
  analyze_all();
  EXPECT_FALSE(plan_.deferrals[0].granted);
  EXPECT_EQ(plan_.deferrals[0].why_not, "'publisher.look', which waits for 'publisher.credit', belongs to its own procedure");
}

// Each procedure would wait for the other's publication, so two calls could both miss the other's
// effects.
TEST_F(AnalyzeTest, WhoPublishesMayNotWaitForAnother) {
  add("one", {Operation("look").reads("c", {"x"}), Operation("credit").adds("b", {"x"}).defers()});
  add("two", {Operation("look").reads("b", {"x"}), Operation("credit").adds("c", {"x"}).defers()});
  analyze_all();
  EXPECT_FALSE(plan_.deferrals[0].granted && plan_.deferrals[1].granted);
}
TEST_F(AnalyzeTest, WhoPublishesMayNotMeetWhoWaitsForAnother) {
  add("one", {Operation("own").writes("a"), Operation("credit").adds("b", {"x"}).defers()});
  add("reads_one", {Operation("both").reads("b", {"x"}).writes("d")});
  add("two", {Operation("own").writes("d"), Operation("credit").adds("c", {"x"}).defers()});
  add("reads_two", {Operation("both").reads("c", {"x"}).writes("a")});
  analyze_all();
  EXPECT_FALSE(plan_.deferrals[0].granted && plan_.deferrals[1].granted);
}

// -- rollback -------------------------------------------------------------------------------------

TEST_F(AnalyzeTest, ARollbackComesBeforeWhatIsSeen) {
  add("one", {Operation("a").writes("a"), Operation("check").reads("c").rolls_back(), Operation("d").adds("d", {"x"})});
  analyze_all();
  EXPECT_EQ(pieces("one"), (Pieces{{"check"}, {"a"}, {"d"}}));
}

TEST_F(AnalyzeTest, ARollbackThatNeedsAWriteIsOnePieceWithIt) {
  add("one", {Operation("a").writes("a"), Operation("d").adds("d", {"x"}), Operation("check").reads("c").needs({"a"}).rolls_back()});
  analyze_all();
  EXPECT_EQ(pieces("one"), (Pieces{{"a", "check"}, {"d"}}));
  ASSERT_EQ(plan_.merges.size(), 1u);
  EXPECT_EQ(plan_.merges[0].why, Merge::Why::kRollback);
}

// The check needs only r1. However, r1 and r2 are one piece, and r2 needs the credit.
TEST_F(AnalyzeTest, ARollbackThatNeedsAWriteByAnotherPieceIsOnePieceWithIt) {
  add("one", {Operation("credit").adds("d", {"x"}), Operation("r1").reads("a", {"x"}), Operation("r2").reads("b", {"x"}).needs({"credit"}),
              Operation("check").reads("c").needs({"r1"}).rolls_back()});
  add("two", {Operation("a").writes("a", {"x"}), Operation("b").writes("b", {"x"})});
  analyze_all();
  EXPECT_EQ(pieces("one").size(), 1u);
}

TEST_F(AnalyzeTest, WithoutReorderingAllWritesBeforeARollbackAreOnePiece) {
  choices_.reordering = false;
  add("one", {Operation("d").adds("d", {"x"}), Operation("c").reads("c"), Operation("b").adds("b", {"x"}),
              Operation("check").reads("c").rolls_back(), Operation("a").adds("a", {"x"})});
  analyze_all();
  EXPECT_EQ(pieces("one"), (Pieces{{"d", "c", "b", "check"}, {"a"}}));
}

// -- mistakes -------------------------------------------------------------------------------------

TEST_F(AnalyzeTest, MistakesNameWhatIsWrong) {
  const auto refused = [&](Operation operation) {
    all_.procedures.clear();
    add("p", {std::move(operation)});
    return refusal();
  };
  EXPECT_EQ(refused(Operation("o").reads("nowhere")), "procedure 'p', operation 'o': table 'nowhere' does not exist");
  EXPECT_EQ(refused(Operation("o").reads("a", {"w"})), "procedure 'p', operation 'o': table 'a' does not have a column 'w'");
  EXPECT_EQ(refused(Operation("o").reads("a").needs({"other"})),
            "procedure 'p', operation 'o': it needs 'other', which is not an operation of its procedure");
  EXPECT_EQ(refused(Operation("o").reads("a").needs({"o"})), "procedure 'p', operation 'o': it needs 'o', which is not declared before it");
  EXPECT_EQ(refused(Operation("o").reads("a").fresh()), "procedure 'p', operation 'o': a read is marked fresh; only inserts can be");
  EXPECT_EQ(refused(Operation("o").writes("a").defers()),
            "procedure 'p', operation 'o': it is deferred, so it may only add or insert fresh rows, but it has a write of table 'a'");
  EXPECT_EQ(refused(Operation("")), "procedure 'p', operation '': its name is empty, or another operation has it");
  add("p", {Operation("o")});
  add("p", {Operation("o")});
  all_.procedures.erase(all_.procedures.begin());
  EXPECT_EQ(refusal(), "procedure 'p' is declared twice");
  all_.procedures.resize(1);
  all_.tables.push_back({"a", {}});
  EXPECT_EQ(refusal(), "table 'a' is declared twice");
  all_.tables.back() = {"e", std::vector<std::vector<std::string>>(kColumnsMax + 1)};
  EXPECT_EQ(refusal(), "table 'e' has more than 64 column groups");
}

TEST_F(AnalyzeTest, TablesOfSchemasHaveTheirGroups) {
  struct Row {
    uint64_t x, y;
  };
  const Table table = Table::of(SchemaOf<Row>("t").column("x", &Row::x).column("y", &Row::y).group({"y"}).schema());
  EXPECT_EQ(table.name, "t");
  EXPECT_EQ(table.groups, (std::vector<std::vector<std::string>>{{"x"}, {"y"}}));
}

}  // namespace
}  // namespace elider::chopping
