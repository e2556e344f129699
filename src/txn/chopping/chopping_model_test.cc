// An exhaustive model of chopped execution. It uses random declarations, and programs that obey
// them. It runs all interleavings of the pieces of two or three calls. Each interleaving must be
// equivalent to some serial order of the calls, both in all reads and in the tables at the end. The
// other guarantees of the analysis must hold as well: needed operations come first, and the effects
// of a procedure that may still roll back are not visible.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "base/test_points.h"
#include "elider/chopping.h"
#include "tests/support/index_test_support.h"

namespace elider::chopping {
namespace {

constexpr uint32_t kTables = 3, kRows = 2;

// Rows by (table, row number). Each row has two columns, each in its own column group. Absent rows
// are not in the map.
using Row = std::array<uint64_t, 2>;
using State = std::map<std::pair<uint32_t, uint32_t>, Row>;

struct Call {
  uint32_t procedure, number;
  uint32_t row;  // the argument of the call: the row of every table that it uses
};
// The reads of a call, by operation, mixed into one number each.
using Seen = std::vector<uint64_t>;

uint64_t mixed(uint64_t a, uint64_t b) { return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd; }

class World {
 public:
  World(const Declaration& declaration, std::vector<Call> calls) : declaration_(declaration), calls_(std::move(calls)) {
    for (uint32_t t = 0; t < kTables; ++t) state_[{t, 0}] = {t + 1, 0};
    for (const Call& call : calls_) seen_.emplace_back(declaration.procedures[call.procedure].operations.size());
  }

  // A written value depends on the call, on the reads of the operations that this operation needs,
  // as the declaration says, and on this operation's own reads.
  void run(size_t which, uint32_t o) {
    const Call& call = calls_[which];
    const Operation& operation = declaration_.procedures[call.procedure].operations[o];
    uint64_t knows = mixed(call.number, o);
    for (const std::string& need : operation.after) knows = mixed(knows, seen_[which][place(call.procedure, need)]);
    uint64_t& seen = seen_[which][o];
    uint32_t fresh_row = kRows + 64 * call.number + 4 * o;  // a different row for each operation
    for (const Access& access : operation.accesses) {
      const uint32_t t = static_cast<uint32_t>(access.table.back() - 'a');
      const size_t column = access.columns.empty() ? 0 : access.columns.front() == "y";
      const auto at = state_.find({t, call.row});
      switch (access.kind) {
        case AccessKind::kRead:
          if (access.columns.empty())
            seen = mixed(seen, at == state_.end() ? 7 : mixed(at->second[0], at->second[1]));
          else
            seen = mixed(seen, at == state_.end() ? 7 : at->second[column]);
          break;
        case AccessKind::kWrite:
          if (at == state_.end())
            seen = mixed(seen, 7);
          else if (access.columns.empty())
            at->second = {mixed(knows, seen), mixed(seen, knows)};
          else
            at->second[column] = mixed(knows, seen);
          break;
        case AccessKind::kAdd:
          if (at == state_.end())
            seen = mixed(seen, 7);
          else
            at->second[column] += mixed(call.number, o);
          break;
        case AccessKind::kInsert:
          seen = mixed(seen, state_.insert({{t, access.fresh ? fresh_row++ : call.row}, Row{knows, 0}}).second ? 1 : 2);
          break;
        case AccessKind::kRemove: seen = mixed(seen, state_.erase({t, call.row})); break;
        case AccessKind::kScan:
          for (const auto& [key, row] : state_)
            if (key.first == t) seen = mixed(seen, mixed(key.second, access.columns.empty() ? mixed(row[0], row[1]) : row[column]));
          break;
      }
    }
  }
  friend bool operator==(const World& one, const World& other) { return one.state_ == other.state_ && one.seen_ == other.seen_; }

 private:
  size_t place(uint32_t p, const std::string& name) const {
    const auto& operations = declaration_.procedures[p].operations;
    return static_cast<size_t>(std::find_if(operations.begin(), operations.end(), [&](const Operation& o) { return o.name == name; }) -
                               operations.begin());
  }

  const Declaration& declaration_;
  const std::vector<Call> calls_;
  State state_;
  std::vector<Seen> seen_;
};

class ChoppingModelTest : public testing::Test {
 protected:
  void TearDown() override { set_mutant(Mutant::kNone); }

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  void draw() {
    all_ = {};
    for (uint32_t t = 0; t < kTables; ++t) all_.tables.push_back({std::string(1, static_cast<char>('a' + t)), {{"x"}, {"y"}}});
    for (uint32_t p = 0, procedures = 1 + below(3); p < procedures; ++p) {
      Procedure procedure{"p" + std::to_string(p), {}};
      for (uint32_t o = 0, operations = 2 + below(3); o < operations; ++o) {
        Operation operation("o" + std::to_string(o));
        for (uint32_t i = 0, accesses = 1 + below(2); i < accesses; ++i) draw_access(operation);
        for (uint32_t before = 0; before < o; ++before)
          if (below(4) == 0) operation.after.push_back("o" + std::to_string(before));
        operation.may_roll_back = below(8) == 0;
        procedure.operations.push_back(std::move(operation));
      }
      all_.procedures.push_back(std::move(procedure));
    }
    choices_ = {};
    choices_.granularity = kGranularities[below(3)];
    choices_.snapshots = false;
    choices_.reordering = below(4) != 0;
    choices_.adding = below(4) != 0;
  }
  void draw_access(Operation& operation) {
    const std::string table(1, static_cast<char>('a' + below(kTables)));
    const std::vector<std::string> column{below(2) ? "x" : "y"};
    switch (below(8)) {
      case 0: operation.writes(table, column); break;
      case 1: operation.writes(table); break;
      case 2: operation.adds(table, column); break;
      case 3: operation.inserts(table); break;
      case 4: operation.inserts(table).fresh(); break;
      case 5: operation.removes(table); break;
      case 6: operation.scans(table, column); break;
      default: operation.reads(table, column); break;
    }
  }

  // Returns false if some interleaving is not equivalent to a serial order.
  bool serializable(const std::vector<Call>& calls) {
    std::vector<World> serial;
    std::vector<size_t> order(calls.size());
    std::iota(order.begin(), order.end(), size_t{0});
    do {
      World world(all_, calls);
      for (const size_t which : order)
        for (uint32_t o = 0; o < all_.procedures[calls[which].procedure].operations.size(); ++o) world.run(which, o);
      serial.push_back(std::move(world));
    } while (std::next_permutation(order.begin(), order.end()));
    std::vector<size_t> at(calls.size());
    return explore(World(all_, calls), calls, at, serial);
  }
  bool explore(const World& world, const std::vector<Call>& calls, std::vector<size_t>& at, const std::vector<World>& serial) {
    bool ended = true;
    for (size_t which = 0; which < calls.size(); ++which) {
      const auto& pieces = plan_.procedures[calls[which].procedure].pieces;
      if (at[which] == pieces.size()) continue;
      ended = false;
      World next = world;
      for (const uint32_t o : pieces[at[which]].operations) next.run(which, o);
      ++at[which];
      const bool held = explore(next, calls, at, serial);
      --at[which];
      if (!held) return false;
    }
    return !ended || std::find(serial.begin(), serial.end(), world) != serial.end();
  }

  bool promises_hold() const {
    for (uint32_t p = 0; p < all_.procedures.size(); ++p) {
      const auto& operations = all_.procedures[p].operations;
      std::vector<std::string> done;
      bool seen = false;
      for (const Piece& piece : plan_.procedures[p].pieces) {
        for (const uint32_t o : piece.operations) {
          if (operations[o].may_roll_back && seen) return false;
          for (const std::string& need : operations[o].after)
            if (std::find(done.begin(), done.end(), need) == done.end()) return false;
          done.push_back(operations[o].name);
        }
        seen = seen || piece.writes;
      }
      if (done.size() != operations.size()) return false;
    }
    return true;
  }

  // Returns how many of the given number of random declarations break a guarantee.
  uint64_t broken(int declarations) {
    uint64_t broken = 0;
    for (int i = 0; i < declarations; ++i) {
      draw();
      EXPECT_TRUE(analyze(all_, choices_, &plan_).ok());
      const uint32_t procedures = static_cast<uint32_t>(all_.procedures.size());
      bool holds = promises_hold();
      std::vector<Call> calls;
      size_t pieces = 0;
      for (uint32_t c = 0, wanted = 2 + below(2); c < wanted; ++c) {
        calls.push_back({below(procedures), c + 1, below(4) == 0 ? 1u : 0u});
        pieces += plan_.procedures[calls.back().procedure].pieces.size();
      }
      if (pieces <= 9) holds = holds && serializable(calls);
      broken += holds ? 0 : 1;
    }
    return broken;
  }

  static constexpr Granularity kGranularities[] = {Granularity::kTable, Granularity::kGroup, Granularity::kColumn};
  std::mt19937_64 random_{index::test::seed_of_test()};
  Declaration all_;
  Choices choices_;
  Plan plan_;
};

TEST_F(ChoppingModelTest, EveryInterleavingOfPiecesIsSerializable) { EXPECT_EQ(broken(3000), 0u); }

TEST_F(ChoppingModelTest, DefectsOfTheAnalysisAreFound) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "built without mutants";
  for (const Mutant mutant : {Mutant::kLeaveCycle, Mutant::kForgetSibling, Mutant::kRollBackLate}) {
    set_mutant(mutant);
    EXPECT_NE(broken(1000), 0u) << static_cast<int>(mutant);
  }
}

}  // namespace
}  // namespace elider::chopping
