// Runs the models of the durable heap's waits exhaustively: the orders of steps that are used have
// no violation, and every other one that is tried has one.
#include "tests/exhaustive/heap_model.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/exhaustive/search_all.h"

namespace elider::models {
namespace {

// -- algorithm 1 ----------------------------------------------------------------------------------

struct WaitsState {
  uint8_t step[2] = {};  // of the writer, and of the reader
  uint8_t clock = 1;
  uint8_t visible = 0, durable = 0;
  uint8_t stamp = 0;       // 0: the writer is not non-durable
  uint8_t active = 0;      // the reader is
  uint8_t saw_active = 0;  // the writer's snapshot
  uint8_t time = 0;        // the reader's
  uint8_t saw_stamp = 0;   // the reader's snapshot
  uint8_t read = 0, answered = 0;
};
static_assert(std::has_unique_object_representations_v<WaitsState>);

bool writer_step(WaitsState& s, const WaitsModel& model) {
  switch (s.step[0]++) {
    case 0:
      if (!model.stamps_after_wait) s.stamp = s.clock++;
      return true;
    case 1: s.saw_active = s.active; return true;
    case 2:
      // A reader that reads the word now would abort the writer; such runs end there, harmless.
      if (s.saw_active != 0 && s.active != 0) return false;
      return true;
    case 3:
      if (model.stamps_after_wait) s.stamp = s.clock++;
      return true;
    case 4: s.visible = 1; return true;
    case 5: s.durable = 1; return true;
    case 6: s.stamp = 0; return true;
    default: return false;
  }
}

bool reader_step(WaitsState& s, const WaitsModel& model) {
  switch (s.step[1]++) {
    case 0:
      if (model.time_before_active) s.time = s.clock++;
      return true;
    case 1: s.active = 1; return true;
    case 2:
      if (!model.time_before_active) s.time = s.clock++;
      return true;
    case 3: s.read = s.visible; return true;
    case 4: s.active = 0; return true;
    case 5: s.saw_stamp = s.stamp; return true;
    case 6: return s.saw_stamp == 0 || s.saw_stamp >= s.time || s.stamp != s.saw_stamp;
    case 7: s.answered = 1; return true;
    default: return false;
  }
}

// -- the software protocol ------------------------------------------------------------------------

constexpr int kWriters = 2, kReader = 2;
enum Phase : uint8_t { kIdle, kDeciding, kPublished, kWritten };

struct MomentsState {
  uint8_t step[3] = {};
  uint8_t clock = 0;
  uint8_t lock = 0;      // writer + 1
  uint8_t version = 0;   // of the line: the number that wrote it last
  uint8_t x = 0, y = 0;  // numbers, in the heap
  uint8_t phase[kWriters] = {}, value[kWriters] = {};
  uint8_t number[kWriters] = {}, durable[kWriters] = {}, moment_of[kWriters] = {};
  uint8_t active = 0xff;  // the reader's
  uint8_t first = 0, moment = 0, at = 0;
  uint8_t remembered[kWriters] = {};
  uint8_t read_x = 0, read_y = 0, answered = 0, newest = 0;
};
static_assert(std::has_unique_object_representations_v<MomentsState>);

bool writer_step(MomentsState& s, int w, MomentsFlaw flaw, bool durable_first) {
  switch (s.step[w]++) {
    case 0: s.moment_of[w] = s.clock; return true;  // of writers, the order of these matters as little as to each other
    case 1:
      if (s.lock != 0) return false;
      if (s.version > s.moment_of[w]) {  // refused: from its beginning
        s.step[w] = 0;
        return true;
      }
      s.lock = static_cast<uint8_t>(w + 1);
      return true;
    case 2:
      if (flaw == MomentsFlaw::kNumberBeforeDeciding) {
        s.number[w] = ++s.clock;
      } else {
        s.phase[w] = kDeciding;
        s.value[w] = s.clock;
      }
      return true;
    case 3:
      if (flaw == MomentsFlaw::kNumberBeforeDeciding) {
        s.phase[w] = kDeciding;
        s.value[w] = static_cast<uint8_t>(s.number[w] - 1);
      } else {
        s.number[w] = ++s.clock;
      }
      return true;
    case 4:
      if (durable_first && flaw != MomentsFlaw::kSkipsDurabilityWait && s.durable[w] == 0) {
        s.durable[w] = 1;
        --s.step[w];
        return true;
      }
      s.phase[w] = kPublished;
      s.value[w] = s.number[w];
      return true;
    case 5: return flaw == MomentsFlaw::kSkipsIsolationWait || s.active >= s.number[w];
    case 6: s.x = s.number[w]; return true;
    case 7: s.y = s.number[w]; return true;
    case 8: s.phase[w] = kWritten; return true;
    case 9:
      s.version = s.number[w];
      s.lock = 0;
      return true;
    case 10: s.durable[w] = 1; return true;
    case 11: s.phase[w] = kIdle; return true;
    default: return false;
  }
}

uint8_t read_word(const MomentsState& s, uint8_t in_heap) {
  for (int w = 0; w < kWriters; ++w)
    if (s.remembered[w] != 0) return s.remembered[w];
  return in_heap;
}

bool reader_step(MomentsState& s, MomentsFlaw flaw, bool durable_first) {
  const auto waits = [&] {
    --s.step[kReader];
    return false;
  };
  switch (s.step[kReader]++) {
    case 0: s.first = s.clock; return true;
    case 1: s.active = s.first; return true;
    case 2: s.moment = flaw == MomentsFlaw::kMomentBeforeActive ? s.first : s.clock; return true;
    case 3: s.active = s.moment; return true;
    case 4:
      if (s.phase[s.at] == kDeciding && s.value[s.at] < s.moment && flaw != MomentsFlaw::kIgnoresDeciding) return waits();
      if (s.phase[s.at] == kPublished && s.value[s.at] <= s.moment && flaw != MomentsFlaw::kIgnoresPublished)
        s.remembered[s.at] = s.value[s.at];
      if (++s.at < kWriters) --s.step[kReader];
      return true;
    case 5: s.read_x = read_word(s, s.x); return true;
    case 6: s.read_y = read_word(s, s.y); return true;
    case 7:
      s.active = 0xff;
      s.at = 0;
      return true;
    case 8:
      if (!durable_first && flaw != MomentsFlaw::kSkipsDurabilityWait && (s.phase[s.at] == kPublished || s.phase[s.at] == kWritten) &&
          s.value[s.at] <= s.moment)
        return waits();
      if (++s.at < kWriters) --s.step[kReader];
      return true;
    case 9: s.answered = 1; return true;
    default: return false;
  }
}

std::string wrong_moment(const MomentsState& s) {
  if (s.step[kReader] < 7) return {};
  if (s.read_x != s.read_y) return "x and y are of two transactions";
  if (s.read_x > s.moment) return "it saw a number above its moment";
  for (int w = 0; w < kWriters; ++w)
    if (s.number[w] != 0 && s.number[w] <= s.moment && s.number[w] > s.read_x) return "it missed a number up to its moment";
  for (int w = 0; w < kWriters; ++w)
    if (s.answered != 0 && s.number[w] != 0 && s.number[w] == s.read_x && s.durable[w] == 0)
      return "it answered before what it saw was durable";
  return {};
}

}  // namespace

SearchResult search(const WaitsModel& model) {
  return search_all(
      WaitsState{}, 2,
      [&](WaitsState& s, int process) {
        const WaitsState before = s;
        const bool made = process == 0 ? writer_step(s, model) : reader_step(s, model);
        if (!made) s = before;
        return made;
      },
      [](const WaitsState& s) {
        return s.answered != 0 && s.read != 0 && s.durable == 0 ? "it answered before what it saw was durable" : std::string();
      });
}

SearchResult search(MomentsFlaw flaw, bool durable_first) {
  return search_all(
      MomentsState{}, 3,
      [&](MomentsState& s, int process) {
        const MomentsState before = s;
        const bool made = process == kReader ? reader_step(s, flaw, durable_first) : writer_step(s, process, flaw, durable_first);
        if (!made) s = before;
        return made;
      },
      wrong_moment);
}

namespace {

TEST(HeapModel, BothMendsOfAlgorithmOneAreNeeded) {
  const SearchResult mended = search(WaitsModel{});
  EXPECT_EQ(mended.violation, "");
  EXPECT_GT(mended.states, 50u);
  EXPECT_NE(search(WaitsModel{.stamps_after_wait = true, .time_before_active = true}).violation, "") << "as published";
  EXPECT_NE(search(WaitsModel{.stamps_after_wait = true}).violation, "");
  EXPECT_NE(search(WaitsModel{.time_before_active = true}).violation, "");
}

TEST(HeapModel, TheSoftwareProtocolHasOneOrderOfSteps) {
  for (const bool durable_first : {false, true}) {
    const SearchResult sound = search(MomentsFlaw::kNone, durable_first);
    EXPECT_EQ(sound.violation, "");
    EXPECT_GT(sound.states, 1000u);
    for (const MomentsFlaw flaw : {MomentsFlaw::kMomentBeforeActive, MomentsFlaw::kNumberBeforeDeciding, MomentsFlaw::kIgnoresDeciding,
                                   MomentsFlaw::kIgnoresPublished, MomentsFlaw::kSkipsIsolationWait, MomentsFlaw::kSkipsDurabilityWait})
      EXPECT_NE(search(flaw, durable_first).violation, "") << static_cast<int>(flaw);
  }
}

}  // namespace
}  // namespace elider::models
