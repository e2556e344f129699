// What a region does while its tracking is suspended: all tracking, as on POWER, or only that of
// reads.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "lab/emulator/schedule.h"
#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

// What the body changes must not be near the frame of begin, which belongs to the region.
void on_another_thread(const std::function<void()>& body) { std::thread(body).join(); }

TEST(Suspension, what_is_written_while_suspended_stays_when_the_region_aborts) {
  const Lines lines = make_lines(2);
  EXPECT_EQ(attempt([&] {
              lines[0].words[0] = 1;
              elider_emulator_suspend();
              lines[1].words[0] = lines[0].words[0] + 1;
              elider_emulator_track();
              elider_emulator_abort(3);
            }),
            kExplicit | 3u << 24);
  EXPECT_EQ(lines[0].words[0], 0u);
  EXPECT_EQ(lines[1].words[0], 2u);
}

TEST(Suspension, what_is_written_while_suspended_is_seen_at_once) {
  const Lines lines = make_lines(3);
  EXPECT_EQ(attempt([&] {
              lines[0].words[0] = 1;
              elider_emulator_suspend();
              lines[1].words[0] = 7;
              on_another_thread([lines = lines.get()] { lines[2].words[0] = lines[1].words[0]; });
              elider_emulator_track();
            }),
            kStarted);
  EXPECT_EQ(lines[2].words[0], 7u);
  EXPECT_EQ(lines[0].words[0], 1u);
}

TEST(Suspension, a_conflict_while_suspended_is_met_where_tracking_is_taken_up) {
  const Lines lines = make_lines(4);
  lines[3].words[0] = 99;
  const unsigned status = attempt([&] {
    lines[0].words[0] = 1;
    elider_emulator_suspend();
    on_another_thread([lines = lines.get()] { lines[3].words[0] = lines[0].words[0]; });
    lines[1].words[0] = 5;  // it goes on
    elider_emulator_track();
    lines[2].words[0] = 6;
  });
  EXPECT_EQ(status & kConflict, kConflict);
  EXPECT_EQ(lines[3].words[0], 0u);
  EXPECT_EQ(lines[0].words[0], 0u);
  EXPECT_EQ(lines[1].words[0], 5u);
  EXPECT_EQ(lines[2].words[0], 0u);
}

TEST(Suspension, a_suspended_write_to_what_the_region_has_accessed_aborts_it) {
  const Lines lines = make_lines(1);
  for (const bool writes : {false, true}) {
    lines[0] = {};
    const unsigned status = attempt([&] {
      if (writes)
        lines[0].words[0] = 1;
      else
        look(lines[0].words[0]);
      elider_emulator_suspend();
      lines[0].words[1] = 2;
      elider_emulator_track();
    });
    EXPECT_EQ(status & kConflict, kConflict);
    EXPECT_EQ(lines[0].words[0], 0u);
    EXPECT_EQ(lines[0].words[1], 2u);
  }
}

// The counter of the loop is in the frame of begin. The undo of another region must not change it
// meanwhile.
TEST(Suspension, a_suspended_thread_goes_on_in_the_frame_of_begin) {
  const Lines lines = make_lines(2);
  const unsigned status = elider_emulator_begin();
  if (status == kStarted) {
    lines[0].words[0] = 1;
    elider_emulator_suspend();
    volatile int i = 0;
    while (i < 10) {
      if (i == 5) on_another_thread([lines = lines.get()] { look(lines[0].words[0]); });
      lines[1].words[0] += 1;
      const int next = i + 1;
      i = next;
    }
    elider_emulator_track();
    elider_emulator_commit();
  }
  EXPECT_EQ(status & kConflict, kConflict);
  EXPECT_EQ(lines[1].words[0], 10u);
}

TEST(Suspension, a_suspended_region_may_block_and_allocate) {
  const Lines lines = make_lines(1);
  EXPECT_EQ(attempt([&] {
              lines[0].words[0] = 1;
              elider_emulator_suspend();
              {
                const std::string words(1000, 'x');
                std::this_thread::yield();
              }
              elider_emulator_track();
            }),
            kStarted);
}

TEST(Suspension, reads_that_are_suspended_conflict_with_nobody) {
  const Lines lines = make_lines(2);
  EXPECT_EQ(attempt([&] {
              elider_emulator_suspend_loads();
              look(lines[0].words[0]);
              elider_emulator_track();
              lines[1].words[0] = 1;
              // A write elsewhere: of a line that was read so.
              elider_emulator_suspend();
              on_another_thread([lines = lines.get()] { lines[0].words[0] = 2; });
              elider_emulator_track();
            }),
            kStarted);
  EXPECT_EQ(lines[0].words[0], 2u);
  EXPECT_EQ(emulator::last_region().lines_read, 0u);
}

TEST(Suspension, writes_are_the_regions_while_reads_are_suspended) {
  const Lines lines = make_lines(1);
  EXPECT_EQ(attempt([&] {
              elider_emulator_suspend_loads();
              lines[0].words[0] = 1;
              elider_emulator_track();
              elider_emulator_abort(1);
            }),
            kExplicit | 1u << 24);
  EXPECT_EQ(lines[0].words[0], 0u);
}

TEST(SuspensionDeathTest, misuse_ends_the_process_with_words) {
  EXPECT_DEATH(elider_emulator_suspend(), "outside a region");
  EXPECT_DEATH(attempt([] { elider_emulator_suspend(); }), "commit while tracking is suspended");
  const WithOptions loads([](auto& options) { options.suspension = emulator::Suspension::kLoads; });
  EXPECT_DEATH(attempt([] { elider_emulator_suspend(); }), "does not support this kind of suspension");
  EXPECT_EQ(attempt([] {
              elider_emulator_suspend_loads();
              elider_emulator_track();
            }),
            kStarted);
}

}  // namespace
}  // namespace elider::emulator_test
