// Runs the model of the durable heap's regions exhaustively (heap_model.h, regions()).
#include <gtest/gtest.h>

#include <type_traits>

#include "tests/exhaustive/heap_model.h"

namespace elider::models {
namespace regions {  // whose steps and phases have the names of the other models'

constexpr int kWriters = 3, kReader = 3;
constexpr uint8_t kInactive = 0xff;
enum Phase : uint8_t { kIdle, kDeciding, kWritten };
enum Step : uint8_t {
  kLook,
  kSayActive,
  kLookAgain,
  kWriteX,
  kWriteY,
  kSayInactive,
  kSayDeciding,
  kTakeNumber,
  kSayWritten,
  kLookForReader,  // loads
  kWait,
  kCommit,
  kMark,
  kSayIdle,
  kWaitForDurable,
  kAnswer,
  kGiveUp,  // it was aborted
  kDone,
};

struct RegionsState {
  uint8_t step[4] = {};
  uint8_t apart = 0;  // two more writers write words of their own; else there is one more, which writes the same
  uint8_t clock = 0;
  uint8_t x = 0, y = 0;        // the numbers that wrote them last
  uint8_t by_x = 0, by_y = 0;  // the writer + 1 whose region has written it
  uint8_t aborted[kWriters] = {};
  uint8_t active[4] = {kInactive, kInactive, kInactive, kInactive};
  uint8_t first[4] = {}, moment[4] = {};
  uint8_t phase[kWriters] = {}, value[kWriters] = {}, number[kWriters] = {}, saw[kWriters] = {}, saw_reader[kWriters] = {};
  uint8_t committed[kWriters] = {}, durable[kWriters] = {};
  uint8_t read_x[4] = {}, read_y[4] = {};
  uint8_t at[4] = {};
};
static_assert(std::has_unique_object_representations_v<RegionsState>);

bool writes_x_and_y(const RegionsState& s, int w) { return w == 0 || s.apart == 0; }

bool somebody_else_is_active(const RegionsState& s, int own, uint8_t below) {
  for (int w = 0; w < kWriters; ++w)
    if (w != own && s.active[w] < below) return true;
  return false;
}

// A transaction touches the word. Another one's region that has written it aborts.
void touch(RegionsState& s, uint8_t* by, int who) {
  if (*by == 0 || *by == who + 1) return;
  const int loser = *by - 1;
  s.aborted[loser] = 1;
  if (s.by_x == loser + 1) s.by_x = 0;
  if (s.by_y == loser + 1) s.by_y = 0;
}

// Waits for those that may have been read, one after the other. Returns false while it must wait.
bool waits_for_durable(RegionsState& s, int who, uint8_t up_to, RegionsFlaw flaw) {
  const int w = s.at[who];
  if (w != who && s.value[w] <= up_to && s.phase[w] == kWritten) return false;
  if (w != who && s.value[w] < up_to && s.phase[w] == kDeciding && flaw != RegionsFlaw::kIgnoresDeciding) return false;
  ++s.at[who];
  return true;
}

bool writer_step(RegionsState& s, int w, RegionsFlaw flaw, bool all) {
  const auto go = [&](Step step) {
    s.step[w] = step;
    return true;
  };
  const auto step = static_cast<Step>(s.step[w]);
  // An abort takes effect at any step of the region or, if all tracking is suspended, at the
  // commit.
  if (s.aborted[w] != 0 && step > kWriteX && step <= kCommit && (!all || step <= kSayInactive || step == kCommit)) return go(kGiveUp);
  switch (step) {
    case kLook: s.first[w] = s.clock; return go(all ? kSayActive : kWriteX);
    case kSayActive: s.active[w] = s.first[w]; return go(kLookAgain);
    case kLookAgain:
      s.moment[w] = flaw == RegionsFlaw::kMomentBeforeActive ? s.first[w] : s.clock;
      s.active[w] = s.moment[w];
      return go(kWriteX);
    case kWriteX:
      if (writes_x_and_y(s, w)) {
        touch(s, &s.by_x, w);
        s.read_x[w] = s.x;
        s.by_x = static_cast<uint8_t>(w + 1);
      }
      return go(kWriteY);
    case kWriteY:
      if (writes_x_and_y(s, w)) {
        touch(s, &s.by_y, w);
        s.read_y[w] = s.y;
        s.by_y = static_cast<uint8_t>(w + 1);
      }
      return go(all ? kSayInactive : kLookForReader);
    case kSayInactive: s.active[w] = kInactive; return go(flaw == RegionsFlaw::kStampsAfterWait ? kTakeNumber : kSayDeciding);
    case kSayDeciding:
      s.phase[w] = kDeciding;
      s.value[w] = s.clock;
      return go(kTakeNumber);
    case kTakeNumber: s.number[w] = ++s.clock; return go(flaw == RegionsFlaw::kStampsAfterWait ? kWait : kSayWritten);
    case kSayWritten:
      s.phase[w] = kWritten;
      s.value[w] = flaw == RegionsFlaw::kStampsAfterWait ? s.clock : s.number[w];
      return go(flaw == RegionsFlaw::kStampsAfterWait ? kCommit : kWait);
    case kLookForReader:  // two looks, one after the other
      if (flaw == RegionsFlaw::kLooksBeforeClock && s.saw_reader[w] == 0) {
        if (s.active[kReader] != kInactive) return false;
        s.saw_reader[w] = 1;
        return true;
      }
      s.saw[w] = s.clock;
      return go(flaw == RegionsFlaw::kLooksBeforeClock ? kCommit : kWait);
    case kWait:
      if (flaw != RegionsFlaw::kSkipsIsolationWait) {
        const uint8_t below = all ? s.number[w] : static_cast<uint8_t>(s.saw[w] + 1);
        if (s.active[kReader] < below || (all && somebody_else_is_active(s, w, below))) return false;
      }
      return go(all && flaw == RegionsFlaw::kStampsAfterWait ? kSayWritten : kCommit);
    case kCommit:
      if (!all) {
        s.number[w] = ++s.clock;
        s.phase[w] = kWritten;
        s.value[w] = flaw == RegionsFlaw::kSaysNumber ? s.number[w] : s.saw[w];
      }
      if (writes_x_and_y(s, w)) {
        s.x = s.y = s.number[w];
        s.by_x = s.by_y = 0;
      }
      s.committed[w] = 1;
      return go(kMark);
    case kMark: s.durable[w] = 1; return go(kSayIdle);
    case kSayIdle: s.phase[w] = kIdle; return go(flaw == RegionsFlaw::kWritersDoNotWait ? kAnswer : kWaitForDurable);
    case kWaitForDurable:
      if (!waits_for_durable(s, w, all ? s.moment[w] : static_cast<uint8_t>(s.number[w] - 1), flaw)) return false;
      if (s.at[w] < kWriters) return true;
      return go(kAnswer);
    case kGiveUp:
      s.active[w] = kInactive;
      s.phase[w] = kIdle;
      return go(kDone);
    default: return false;
  }
}

bool reader_step(RegionsState& s, RegionsFlaw flaw) {
  constexpr int r = kReader;
  const auto go = [&](Step step) {
    s.step[r] = step;
    return true;
  };
  switch (static_cast<Step>(s.step[r])) {
    case kLook: s.first[r] = s.clock; return go(kSayActive);
    case kSayActive: s.active[r] = s.first[r]; return go(kLookAgain);
    case kLookAgain:
      s.moment[r] = flaw == RegionsFlaw::kMomentBeforeActive ? s.first[r] : s.clock;
      s.active[r] = s.moment[r];
      return go(kWriteX);
    case kWriteX:
      touch(s, &s.by_x, r);
      s.read_x[r] = s.x;
      return go(kWriteY);
    case kWriteY:
      touch(s, &s.by_y, r);
      s.read_y[r] = s.y;
      return go(kSayInactive);
    case kSayInactive: s.active[r] = kInactive; return go(kWaitForDurable);
    case kWaitForDurable:
      if (!waits_for_durable(s, r, s.moment[r], flaw)) return false;
      return s.at[r] < kWriters ? true : go(kAnswer);
    default: return false;
  }
}

// Whether recovery keeps the transaction: its marker is there, and the markers of all numbers that
// it needs are there or were given up.
bool survives(const RegionsState& s, int w, bool all) {
  const int needs = all ? s.moment[w] : s.number[w] - 1;
  for (int other = 0; other < kWriters; ++other)
    if (other != w && s.number[other] != 0 && s.number[other] <= needs && s.durable[other] == 0 && s.step[other] != kDone) return false;
  return s.durable[w] != 0;
}

std::string wrong(const RegionsState& s, bool all) {
  for (int who = 0; who <= kReader; ++who) {
    const bool has_read = who == kReader ? s.step[who] > kWriteY : s.committed[who] != 0;
    if (!has_read) continue;
    if (who != kReader && s.step[who] == kAnswer && !survives(s, who, all)) return "it answered, and recovery drops it";
    if (s.read_x[who] != s.read_y[who]) return "x and y are of two transactions";
    if (all && s.read_x[who] > s.moment[who]) return "it saw a number above its moment";
    for (int w = 0; w < kWriters; ++w) {
      if (w == who || s.number[w] == 0 || !writes_x_and_y(s, w)) continue;
      if (who == kReader && s.committed[w] != 0 && s.number[w] <= s.moment[who] && s.number[w] > s.read_x[who]) return "it missed a commit";
      if (s.step[who] == kAnswer && s.number[w] == s.read_x[who] && !survives(s, w, all))
        return "it answered, and recovery drops what it saw";
    }
  }
  return {};
}

}  // namespace regions

SearchResult search(RegionsFlaw flaw, bool suspends_all, bool apart) {
  using namespace regions;
  RegionsState first;
  first.apart = apart ? 1 : 0;
  if (!apart) first.step[2] = kDone;
  return search_all(
      first, regions::kReader + 1,
      [&](RegionsState& s, int process) {
        const RegionsState before = s;
        const bool made = process == regions::kReader ? reader_step(s, flaw) : writer_step(s, process, flaw, suspends_all);
        if (!made) s = before;
        return made;
      },
      [&](const RegionsState& s) { return wrong(s, suspends_all); });
}

namespace {

TEST(HeapRegionsModel, TheOrdersOfStepsThatAreUsedAreSound) {
  for (const bool all : {false, true})
    for (const bool apart : {false, true}) {
      const SearchResult sound = search(RegionsFlaw::kNone, all, apart);
      EXPECT_EQ(sound.violation, "") << all << apart;
      EXPECT_GT(sound.states, 1000u);
    }
}

TEST(HeapRegionsModel, OthersAreNot) {
  for (const RegionsFlaw flaw :
       {RegionsFlaw::kMomentBeforeActive, RegionsFlaw::kSkipsIsolationWait, RegionsFlaw::kStampsAfterWait, RegionsFlaw::kWritersDoNotWait})
    EXPECT_NE(search(flaw, true, false).violation + search(flaw, true, true).violation, "") << static_cast<int>(flaw);
  for (const RegionsFlaw flaw : {RegionsFlaw::kMomentBeforeActive, RegionsFlaw::kSkipsIsolationWait, RegionsFlaw::kLooksBeforeClock,
                                 RegionsFlaw::kSaysNumber, RegionsFlaw::kWritersDoNotWait})
    EXPECT_NE(search(flaw, false, false).violation + search(flaw, false, true).violation, "") << static_cast<int>(flaw);
}

}  // namespace
}  // namespace elider::models
