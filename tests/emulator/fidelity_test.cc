// Compares the models with published figures: HyPer-HTM figure 5 (random lines), DBX figures 1a to
// 1d (reads, hyperthreading, order, duration), and the first touch of a page.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "base/random.h"
#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

// The share of aborts among `rounds` regions that each access `count` random lines of `lines`.
double abort_share(const Lines& lines, size_t lines_count, uint32_t count, uint32_t rounds, bool write) {
  Random random(count * 2 + write);
  std::vector<uint32_t> picks(count);
  uint32_t aborts = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    for (uint32_t& pick : picks) pick = static_cast<uint32_t>(random.below(lines_count));
    const uint32_t* const pick = picks.data();
    CacheLine* const line = lines.get();
    const unsigned status = attempt([&] {
      for (uint32_t i = 0; i < count; ++i) {
        volatile uint64_t& word = line[pick[i]].words[0];
        if (write) {
          word = i;
        } else {
          look(word);
        }
      }
    });
    if (status != kStarted) {
      EXPECT_EQ(status, kCapacity);
      ++aborts;
    }
  }
  return static_cast<double>(aborts) / rounds;
}

constexpr size_t kManyLines = 65536;  // 4 MiB

TEST(Fidelity, half_of_regions_with_about_200_random_written_lines_abort) {
  const Lines lines = make_lines(kManyLines);
  EXPECT_LT(abort_share(lines, kManyLines, 64, 500, true), 0.01);
  EXPECT_LT(abort_share(lines, kManyLines, 128, 500, true), 0.10);
  const double at_192 = abort_share(lines, kManyLines, 192, 500, true);
  const double at_224 = abort_share(lines, kManyLines, 224, 500, true);
  EXPECT_GT(at_192, 0.10);
  EXPECT_GT(at_224, 0.30);
  EXPECT_LT(at_224, 0.70);
  EXPECT_GT(abort_share(lines, kManyLines, 256, 500, true), 0.60);
  EXPECT_GT(abort_share(lines, kManyLines, 384, 300, true), 0.99);
}

TEST(Fidelity, hyperthreading_halves_the_ways) {
  const Lines lines = make_lines(kManyLines);
  const WithOptions half([](auto& options) { options.hyperthreading = true; });
  EXPECT_LT(abort_share(lines, kManyLines, 24, 500, true), 0.05);
  EXPECT_GT(abort_share(lines, kManyLines, 96, 500, true), 0.40);
  EXPECT_GT(abort_share(lines, kManyLines, 128, 500, true), 0.85);
}

TEST(Fidelity, twelve_ways_hold_more) {
  const Lines lines = make_lines(kManyLines);
  const WithOptions more([](auto& options) { options.ways = 12; });
  EXPECT_LT(abort_share(lines, kManyLines, 256, 300, true), 0.05);
  EXPECT_GT(abort_share(lines, kManyLines, 512, 300, true), 0.80);
}

// Writes in order fill the cache almost completely (31 KB of 32, according to DBX). One way of each
// set is left for what the test itself reads.
unsigned write_in_order(const Lines& lines, size_t count) {
  CacheLine* const line = lines.get();
  return attempt([&] {
    for (size_t i = 0; i < count; ++i) line[i].words[0] = i;
  });
}

TEST(Fidelity, lines_in_order_fill_the_cache) {
  const Lines lines = make_lines(600);
  EXPECT_EQ(write_in_order(lines, 448), kStarted);
  EXPECT_EQ(write_in_order(lines, 513), kCapacity);
  const WithOptions half([](auto& options) { options.hyperthreading = true; });
  EXPECT_EQ(write_in_order(lines, 192), kStarted);
  EXPECT_EQ(write_in_order(lines, 257), kCapacity);
}

unsigned read_in_order(const Lines& lines, size_t count) {
  CacheLine* const line = lines.get();
  return attempt([&] {
    for (size_t i = 0; i < count; ++i) look(line[i].words[0]);
  });
}

double read_abort_share(const Lines& lines, size_t count) {
  int aborts = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) aborts += read_in_order(lines, count) != kStarted;
  return static_cast<double>(aborts) / kRounds;
}

TEST(Fidelity, reads_reach_far_beyond_the_cache) {
  const Lines lines = make_lines(kManyLines + 64);
  EXPECT_LT(read_abort_share(lines, 4096), 0.2);  // 256 KiB: eight times the cache
  const double at_4_mib = read_abort_share(lines, 65000);
  EXPECT_GT(at_4_mib, 0.25);
  EXPECT_LT(at_4_mib, 0.70);
  EXPECT_EQ(read_abort_share(lines, kManyLines + 16), 1.0);
}

TEST(Fidelity, hyperthreading_halves_the_read_set) {
  const Lines lines = make_lines(kManyLines);
  const WithOptions half([](auto& options) { options.hyperthreading = true; });
  const double at_2_mib = read_abort_share(lines, 32500);
  EXPECT_GT(at_2_mib, 0.25);
  EXPECT_LT(at_2_mib, 0.75);
  EXPECT_EQ(read_abort_share(lines, 33000), 1.0);
}

TEST(Fidelity, reads_before_writes_fit_and_writes_before_reads_do_not) {
  const Lines lines = make_lines(8192);
  const WithOptions certain([](auto& options) { options.read_eviction_abort_rate = 0; });
  CacheLine* const line = lines.get();
  const auto reads = [line] {
    for (size_t i = 512; i < 8192; ++i) look(line[i].words[0]);
  };
  const auto writes = [line] {
    for (size_t i = 0; i < 256; ++i) line[i].words[0] = i;
  };
  EXPECT_EQ(attempt([&] { reads(), writes(); }), kStarted);
  EXPECT_EQ(attempt([&] { writes(), reads(); }), kCapacity);
}

TEST(Fidelity, longer_regions_meet_the_timer_more_often) {
  const WithOptions timer([](auto& options) { options.accesses_per_interrupt = 1000; });
  const Lines lines = make_lines(1);
  volatile uint64_t* const word = &lines[0].words[0];
  const auto share = [&](uint32_t accesses) {
    constexpr int kRounds = 400;
    int aborts = 0;
    for (int round = 0; round < kRounds; ++round) {
      const unsigned status = attempt([&] {
        for (uint32_t i = 0; i < accesses; ++i) look(*word);
      });
      EXPECT_TRUE(status == kStarted || status == 0) << status;
      aborts += status != kStarted;
    }
    return static_cast<double>(aborts) / kRounds;
  };
  EXPECT_LT(share(50), 0.15);
  const double half = share(500);
  EXPECT_GT(half, 0.30);
  EXPECT_LT(half, 0.70);
  EXPECT_EQ(share(1100), 1.0);
}

class Pages {
 public:
  explicit Pages(size_t count) : bytes_(count * 4096) {
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~Pages() { munmap(memory_, bytes_); }
  volatile char& page(size_t i) { return memory_[i * 4096]; }

 private:
  size_t bytes_;
  char* memory_;
};

TEST(Fidelity, first_touch_of_a_page_aborts_until_a_write_outside) {
  ASSERT_EQ(attempt([] {}), kStarted);
  Pages pages(4);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(attempt([&] { pages.page(0) = 1; }), 0u);
    EXPECT_EQ(attempt([&] { look(pages.page(1)); }), 0u);
  }
  pages.page(0) = 1;
  EXPECT_EQ(attempt([&] { pages.page(0) = 2; }), kStarted);
  // A page of zeros is there for readers alone.
  look(pages.page(1));
  EXPECT_EQ(attempt([&] { look(pages.page(1)); }), kStarted);
  EXPECT_EQ(attempt([&] { pages.page(1) = 1; }), 0u);
  pages.page(1) = 1;
  EXPECT_EQ(attempt([&] { pages.page(1) = 2; }), kStarted);
  const WithOptions without([](auto& options) { options.page_faults = false; });
  EXPECT_EQ(attempt([&] { pages.page(3) = 2; }), kStarted);
}

TEST(Fidelity, spurious_aborts_come_at_their_rate) {
  const Lines lines = make_lines(1);
  for (const double rate : {0.01, 0.1, 0.5, 1.0}) {
    const WithOptions spurious([&](auto& options) { options.spurious_abort_rate = rate; });
    constexpr int kRounds = 2000;
    int aborts = 0;
    for (int round = 0; round < kRounds; ++round) {
      const unsigned status = attempt([&] {
        for (uint64_t i = 0; i < 16; ++i) lines[0].words[0] = i;
      });
      EXPECT_TRUE(status == kStarted || status == 0 || status == kRetry) << status;
      aborts += status != kStarted;
    }
    EXPECT_NEAR(static_cast<double>(aborts) / kRounds, rate, 0.05);
  }
}

}  // namespace
}  // namespace elider::emulator_test
