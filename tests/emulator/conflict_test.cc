// Two threads: which one loses a conflict, what counts as a conflict, and that uncommitted data is
// not visible.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "lab/emulator/schedule.h"
#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

using emulator::run_schedule;

// The second thread accesses memory once while the first one is in its region. Returns the first
// one's status. The flags are outside of instrumented memory, because the schedule itself must not
// conflict.
class Meeting {
 public:
  template <class First, class Second>
  unsigned run(First&& first, Second&& second) {
    met_ = false;
    for (uint64_t seed = 1; seed < 200; ++seed) {
      forget();
      unsigned status = 0;
      run_schedule(seed, {[&] {
                            status = attempt([&] {
                              first();
                              reached();
                              for (int i = 0; i < 300 && !is_done(); ++i) look(lines_[15].words[0]);
                            });
                            reached();
                          },
                          [&] {
                            for (int i = 0; i < 300 && !is_reached(); ++i) look(lines_[14].words[0]);
                            if (is_reached() && status == 0) met();
                            second();
                            done();
                          }});
      if (has_met()) return status;
    }
    ADD_FAILURE() << "the threads never met";
    return 0;
  }
  CacheLine& line(size_t i) { return lines_[i]; }

 private:
  __attribute__((no_sanitize_thread)) void forget() {
    reached_ = false;
    done_ = false;
  }
  __attribute__((no_sanitize_thread)) void met() { met_ = true; }
  __attribute__((no_sanitize_thread)) bool has_met() { return met_; }
  __attribute__((no_sanitize_thread)) void reached() { reached_ = true; }
  __attribute__((no_sanitize_thread)) bool is_reached() { return reached_; }
  __attribute__((no_sanitize_thread)) void done() { done_ = true; }
  __attribute__((no_sanitize_thread)) bool is_done() { return done_; }

  volatile bool reached_ = false;
  volatile bool done_ = false;
  volatile bool met_ = false;
  Lines lines_ = make_lines(16);
};

constexpr unsigned kLost = kConflict | kRetry;

TEST(Conflict, write_outside_dooms_a_reader) {
  Meeting meeting;
  EXPECT_EQ(meeting.run([&] { look(meeting.line(0).words[0]); }, [&] { meeting.line(0).words[0] = 1; }), kLost);
}

TEST(Conflict, write_outside_dooms_a_writer_and_stays) {
  Meeting meeting;
  EXPECT_EQ(meeting.run([&] { meeting.line(0).words[0] = 5; }, [&] { meeting.line(0).words[0] = 1; }), kLost);
  EXPECT_EQ(meeting.line(0).words[0], 1u);
}

TEST(Conflict, read_outside_dooms_a_writer_and_sees_the_old_value) {
  Meeting meeting;
  uint64_t seen = 99;
  EXPECT_EQ(meeting.run([&] { meeting.line(0).words[0] = 5; }, [&] { seen = meeting.line(0).words[0]; }), kLost);
  EXPECT_EQ(seen, 0u);
}

TEST(Conflict, read_outside_leaves_a_reader) {
  Meeting meeting;
  EXPECT_EQ(meeting.run([&] { look(meeting.line(0).words[0]); }, [&] { look(meeting.line(0).words[0]); }), kStarted);
}

TEST(Conflict, atomics_outside_doom_like_plain_accesses) {
  Meeting meeting;
  auto& word = reinterpret_cast<std::atomic<uint64_t>&>(meeting.line(0).words[0]);
  EXPECT_EQ(meeting.run([&] { word.load(); }, [&] { word.fetch_add(1); }), kLost);
  EXPECT_EQ(meeting.run([&] { word.store(1); }, [&] { word.load(); }), kLost);
  EXPECT_EQ(meeting.run([&] { word.load(); }, [&] { word.load(); }), kStarted);
  // A compare-exchange acquires the line even if it fails.
  uint64_t expected = 12345;
  EXPECT_EQ(meeting.run([&] { word.load(); }, [&] { word.compare_exchange_strong(expected, 1); }), kLost);
}

TEST(Conflict, copies_outside_doom) {
  Meeting meeting;
  char buffer[256] = {};
  EXPECT_EQ(meeting.run([&] { meeting.line(3).words[7] = 1; }, [&] { std::memcpy(buffer, &meeting.line(0), 256); }), kLost);
  EXPECT_EQ(meeting.run([&] { look(meeting.line(3).words[7]); }, [&] { std::memcpy(&meeting.line(0), buffer, 256); }), kLost);
  EXPECT_EQ(meeting.run([&] { look(meeting.line(3).words[7]); }, [&] { meeting.line(3) = meeting.line(1); }), kLost);
}

TEST(Conflict, words_of_one_line_are_one) {
  Meeting meeting;
  EXPECT_EQ(meeting.run([&] { look(meeting.line(0).words[0]); }, [&] { meeting.line(0).words[7] = 1; }), kLost);
  EXPECT_EQ(meeting.run([&] { look(meeting.line(0).words[7]); }, [&] { meeting.line(1).words[0] = 1; }), kStarted);
}

TEST(Conflict, region_that_asks_last_wins) {
  Meeting meeting;
  uint64_t& second = meeting.line(10).words[0];  // alone on its line
  EXPECT_EQ(meeting.run([&] { meeting.line(0).words[0] = 5; },
                        [&] { second = attempt([&] { meeting.line(0).words[0] = meeting.line(0).words[0] + 1; }); }),
            kLost);
  EXPECT_EQ(second, kStarted);
  EXPECT_EQ(meeting.line(0).words[0], 1u);
  EXPECT_EQ(meeting.run([&] { look(meeting.line(0).words[0]); }, [&] { second = attempt([&] { meeting.line(0).words[0] = 9; }); }), kLost);
  EXPECT_EQ(second, kStarted);
}

TEST(Conflict, regions_that_read_the_same_both_commit) {
  Meeting meeting;
  uint64_t& second = meeting.line(10).words[0];
  const auto read = [&] { look(meeting.line(0).words[0]); };
  EXPECT_EQ(meeting.run(read, [&] { second = attempt(read); }), kStarted);
  EXPECT_EQ(second, kStarted);
}

TEST(Conflict, local_of_the_frame_of_begin_is_shared_like_any_memory) {
  for (uint64_t seed = 1; seed < 300; ++seed) {
    uint64_t seen = 0, kept = 0;
    uint64_t* shared = nullptr;
    uint64_t tries = 0;
    run_schedule(seed, {[&] {
                          uint64_t local = 1;
                          __atomic_store_n(&shared, &local, __ATOMIC_SEQ_CST);
                          if (elider_emulator_begin() == kStarted) {
                            local = 2;
                            for (int i = 0; i < 20; ++i) look(local);
                            elider_emulator_abort(1);
                          }
                          while (__atomic_load_n(&tries, __ATOMIC_SEQ_CST) == 0) look(local);
                          kept = local;
                        },
                        [&] {
                          uint64_t* local = nullptr;
                          while ((local = __atomic_load_n(&shared, __ATOMIC_SEQ_CST)) == nullptr) look(seen);
                          seen = __atomic_fetch_add(local, 10, __ATOMIC_SEQ_CST);
                          __atomic_store_n(&tries, 1, __ATOMIC_SEQ_CST);
                        }});
    ASSERT_EQ(seen, 1u) << seed;
    ASSERT_EQ(kept, 11u) << seed;
  }
}

// Both words are equal whenever no region is open. A region changes both, and every thread checks
// them.
TEST(Isolation, nobody_sees_half_a_region) {
  const Lines lines = make_lines(2);
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    lines[0].words[0] = lines[1].words[0] = 0;
    int commits = 0, torn = 0;
    const auto writer = [&] {
      for (int i = 0; i < 4; ++i) {
        const unsigned status = attempt([&] {
          lines[0].words[0] = lines[0].words[0] + 1;
          lines[1].words[0] = lines[1].words[0] + 1;
        });
        if (status == kStarted) __atomic_fetch_add(&commits, 1, __ATOMIC_SEQ_CST);
      }
    };
    const auto reader = [&] {
      for (int i = 0; i < 4; ++i) {
        uint64_t a = 0, b = 0;
        const unsigned status = attempt([&] {
          a = lines[0].words[0];
          b = lines[1].words[0];
        });
        if (status == kStarted && a != b) __atomic_fetch_add(&torn, 1, __ATOMIC_SEQ_CST);
      }
    };
    run_schedule(seed, {writer, writer, reader});
    ASSERT_EQ(torn, 0) << seed;
    ASSERT_EQ(lines[0].words[0], static_cast<uint64_t>(commits)) << seed;
    ASSERT_EQ(lines[1].words[0], static_cast<uint64_t>(commits)) << seed;
  }
}

// Code outside of regions never sees an uncommitted value, and its own stores are never lost.
TEST(Isolation, code_outside_is_never_in_the_middle_of_a_region) {
  const Lines lines = make_lines(2);
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    lines[0].words[0] = lines[0].words[1] = 0;
    bool odd_seen = false;
    uint64_t stores = 0;
    run_schedule(seed, {[&] {
                          for (int i = 0; i < 4; ++i) {
                            attempt([&] {
                              lines[0].words[0] = lines[0].words[0] + 1;
                              look(lines[1].words[0]);
                              lines[0].words[0] = lines[0].words[0] + 1;
                            });
                          }
                        },
                        [&] {
                          for (int i = 0; i < 6; ++i) {
                            odd_seen |= lines[0].words[0] % 2 != 0;
                            lines[0].words[1] = ++stores;
                          }
                        }});
    ASSERT_FALSE(odd_seen) << seed;
    ASSERT_EQ(lines[0].words[1], 6u) << seed;
  }
}

struct Pair {
  uint64_t a, b, c, d, e;
};

// The compiler announces both sides of an object's copy before it copies: see emulator.h.
TEST(Isolation, copies_of_objects_outside_are_not_missed) {
  const Lines lines = make_lines(3);
  auto& shared = *reinterpret_cast<Pair*>(&lines[0]);
  auto& other = *reinterpret_cast<Pair*>(&lines[1]);
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    shared = Pair{0, 0, 0, 0, 0};
    bool torn = false;
    run_schedule(seed, {[&] {
                          other = Pair{1, 1, 1, 1, 1};
                          shared = other;  // then nothing else for a while
                          look(lines[2].words[0]);
                        },
                        [&] {
                          for (int i = 0; i < 3; ++i) {
                            uint64_t first = 0, last = 0;
                            const unsigned status = attempt([&] {
                              first = shared.a;
                              look(lines[2].words[1]);
                              last = shared.e;
                            });
                            torn |= status == kStarted && first != last;
                          }
                        }});
    ASSERT_FALSE(torn) << seed;
  }
}

}  // namespace
}  // namespace elider::emulator_test
