// A model of additions after the core of a call (src/txn/chopping/piece_transaction.h) in atomic
// steps, and an exhaustive search of all their interleavings. It is not the engine. It proves the
// rule, and shows that leaving out a part of the rule breaks it.
//
// There are three calls, each of which takes its number in its core and then adds to two rows, and
// two readers of snapshots. What a reader sees of a row must be one addition of each call whose
// number is not above its own, and none of any other call. Either of two rules ensures this:
//   wait     an addition waits until no call with a smaller number is in progress: elider's rule
//   redo     an addition is also made to each newer version, and its own version is put below
//            them: DBX-TC's Algorithm 1, corrected
// Algorithm 1 as printed is a mutant. If all versions are newer, it adds to the oldest one twice,
// and does not make a version with its own number.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/exhaustive/search_all.h"

namespace elider::models::additions {
namespace {

enum class Rule { kWait, kRedo };
enum class Flaw {
  kNone,
  kAddAtOnce,   // without the wait of its rule
  kAsPrinted,   // Algorithm 1 to the letter
  kNeverRedo,   // its lines 4 to 10 are left out
  kListLate,    // a call lists itself once it has its number
  kReadAtOnce,  // a reader does not wait for the calls that it may have to see
};

constexpr int kCalls = 3, kReaders = 2, kRows = 2;
constexpr uint8_t kIdle = 0xff;

struct Version {
  uint8_t number = 0;
  std::array<uint8_t, kCalls> additions{};  // of each call
};
struct Row {
  uint8_t versions = 0;
  std::array<Version, kCalls> version;  // the newest first
  std::array<uint8_t, kCalls> latest{};
};
struct Call {
  uint8_t at = 0, listed = kIdle, number = 0, row = 0;
};
struct Reader {
  uint8_t at = 0, number = 0, scanned = 0, row = 0, wrong = 0;
};
struct State {
  uint8_t s = 1, falling = 0;
  std::array<Row, kRows> rows;
  std::array<Call, kCalls> calls;
  std::array<Reader, kReaders> readers;
};

class Model {
 public:
  Model(Rule rule, Flaw flaw) : rule_(rule), flaw_(flaw) {}

  // False: it waits, or has ended.
  bool step(State& state, int process) const {
    if (process < kCalls) return run(state, process);
    return read(state, state.readers[static_cast<size_t>(process - kCalls)]);
  }

  static std::string wrong(const State& state) {
    for (const Reader& reader : state.readers)
      if (reader.wrong) return "a reader at " + std::to_string(reader.number) + " does not see what is committed there";
    if (state.falling) return "a version is newer than the one that is put above it";
    for (const Call& call : state.calls)
      if (call.at != kEnded) return "";
    for (const Row& row : state.rows)
      for (const uint8_t additions : row.latest)
        if (additions != 1) return "the latest value lacks an addition, or has one twice";
    return "";
  }

 private:
  static constexpr uint8_t kEnded = 5;

  bool run(State& state, int process) const {
    const auto self = static_cast<size_t>(process);
    Call& me = state.calls[self];
    switch (me.at) {
      case 0:
        if (flaw_ != Flaw::kListLate) me.listed = state.s;
        break;
      case 1:  // its core commits
        me.number = state.s;
        break;
      case 2: me.listed = me.number; break;
      case 3:  // under the row's lock
        if (rule_ == Rule::kWait && flaw_ != Flaw::kAddAtOnce)
          for (size_t other = 0; other < kCalls; ++other)
            if (other != self && state.calls[other].listed < me.number) return false;
        // The calls begin with different rows.
        add(state, state.rows[(self + me.row) % kRows], self, me.number);
        if (++me.row < kRows) return true;
        break;
      case 4: me.listed = kIdle; break;
      default: return false;
    }
    ++me.at;
    return true;
  }

  void add(State& state, Row& row, size_t call, uint8_t number) const {
    ++row.latest[call];
    size_t at = 0;
    if (rule_ == Rule::kRedo && flaw_ != Flaw::kNeverRedo)
      for (; at < row.versions && row.version[at].number > number; ++at) ++row.version[at].additions[call];
    if (flaw_ == Flaw::kAsPrinted && at != 0 && at == row.versions) {
      ++row.version[at - 1].additions[call];
      return;
    }
    if (at == row.versions || row.version[at].number != number) {
      if (at < row.versions && row.version[at].number > number) state.falling = 1;
      for (size_t i = row.versions++; i > at; --i) row.version[i] = row.version[i - 1];
      const size_t below = at + 1;
      if (below == row.versions)
        row.version[at].additions = {};  // as it was before all calls
      else
        row.version[at].additions = row.version[below].additions;
      row.version[at].number = number;
    }
    ++row.version[at].additions[call];
  }

  bool read(State& state, Reader& me) const {
    switch (me.at) {
      case 0: me.number = state.s++; break;
      case 1:
        if (flaw_ == Flaw::kReadAtOnce) break;
        if (state.calls[me.scanned].listed <= me.number) return false;
        if (++me.scanned < kCalls) return true;
        break;
      case 2: {
        const Row& row = state.rows[me.row];
        size_t at = 0;
        while (at < row.versions && row.version[at].number > me.number) ++at;
        for (size_t c = 0; c < kCalls; ++c) {
          const Call& call = state.calls[c];
          const uint8_t expected = call.at > 1 && call.number <= me.number;
          if ((at < row.versions ? row.version[at].additions[c] : 0) != expected) me.wrong = 1;
        }
        if (++me.row < kRows) return true;
        break;
      }
      default: return false;
    }
    ++me.at;
    return true;
  }

  const Rule rule_;
  const Flaw flaw_;
};

SearchResult search(Rule rule, Flaw flaw) {
  const Model model(rule, flaw);
  return search_all(
      State{}, kCalls + kReaders, [&](State& state, int process) { return model.step(state, process); },
      [](const State& state) { return Model::wrong(state); });
}

TEST(AdditionModel, BothRulesKeepEverySnapshotWhole) {
  for (const Rule rule : {Rule::kWait, Rule::kRedo}) {
    const SearchResult result = search(rule, Flaw::kNone);
    EXPECT_EQ(result.violation, "");
    EXPECT_GT(result.states, 10'000u);
    std::printf("%llu states of additions\n", static_cast<unsigned long long>(result.states));
  }
}

TEST(AdditionModel, EachStepIsNeeded) {
  for (const Flaw flaw : {Flaw::kAddAtOnce, Flaw::kListLate, Flaw::kReadAtOnce})
    EXPECT_NE(search(Rule::kWait, flaw).violation, "") << static_cast<int>(flaw);
  for (const Flaw flaw : {Flaw::kAsPrinted, Flaw::kNeverRedo, Flaw::kListLate, Flaw::kReadAtOnce})
    EXPECT_NE(search(Rule::kRedo, flaw).violation, "") << static_cast<int>(flaw);
}

}  // namespace
}  // namespace elider::models::additions
