// One region by itself: what it undoes, what its status says, and what it must not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/emulator/support.h"

namespace elider::emulator_test {
namespace {

using emulator::thread_counters;

TEST(Region, commit_keeps_writes) {
  const Lines lines = make_lines(2);
  EXPECT_EQ(attempt([&] {
              lines[0].words[0] = 1;
              lines[1].words[7] = 2;
            }),
            kStarted);
  EXPECT_EQ(lines[0].words[0], 1u);
  EXPECT_EQ(lines[1].words[7], 2u);
}

TEST(Region, explicit_abort_undoes_and_tells_its_code) {
  const Lines lines = make_lines(1);
  for (const unsigned code : {0u, 1u, 0x7Fu, 0xFFu}) {
    const unsigned status = attempt([&] {
      lines[0].words[0] = 7;
      elider_emulator_abort(static_cast<unsigned char>(code));
    });
    EXPECT_EQ(status, kExplicit | code << 24);
    EXPECT_EQ(lines[0].words[0], 0u);
  }
}

TEST(Region, abort_outside_is_nothing_and_active_tells) {
  elider_emulator_abort(3);
  EXPECT_EQ(elider_emulator_active(), 0);
  int inside = 0;
  EXPECT_EQ(attempt([&] { inside = elider_emulator_active(); }), kStarted);
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(elider_emulator_active(), 0);
}

// Every size, aligned and not, at every place of two lines, with its neighbours unharmed.
template <class T>
void undoes_writes_of() {
  struct __attribute__((packed)) Unaligned {
    T value;
  };
  alignas(64) static unsigned char bytes[128];
  for (size_t at = 0; at + sizeof(T) <= sizeof(bytes); ++at) {
    for (size_t i = 0; i < sizeof(bytes); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + at);
    const unsigned status = attempt([&] {
      auto* place = reinterpret_cast<Unaligned*>(bytes + at);
      place->value = static_cast<T>(place->value + 1);
      place->value = static_cast<T>(place->value * 3);
      elider_emulator_abort(1);
    });
    ASSERT_EQ(status, kExplicit | 1u << 24);
    for (size_t i = 0; i < sizeof(bytes); ++i) ASSERT_EQ(bytes[i], static_cast<unsigned char>(i * 7 + at)) << at << " " << i;
  }
}

TEST(Region, abort_undoes_plain_writes_of_every_size) {
  undoes_writes_of<uint8_t>();
  undoes_writes_of<uint16_t>();
  undoes_writes_of<uint32_t>();
  undoes_writes_of<uint64_t>();
  undoes_writes_of<unsigned __int128>();
  undoes_writes_of<float>();
  undoes_writes_of<double>();
}

template <class T>
void undoes_atomics_of() {
  alignas(64) static std::atomic<T> words[4];
  for (size_t i = 0; i < 4; ++i) words[i].store(static_cast<T>(10 + i));
  const unsigned status = attempt([&] {
    words[0].store(1);
    words[0].fetch_add(5);
    words[1].exchange(2);
    words[1].fetch_xor(0x55);
    words[2].fetch_sub(3);
    words[2].fetch_or(0x40);
    words[2].fetch_and(0x42);
    T expected = 13;
    words[3].compare_exchange_strong(expected, 77);
    expected = 0;
    words[3].compare_exchange_weak(expected, 78);
    elider_emulator_abort(expected == 77 ? 2 : 3);
  });
  EXPECT_EQ(code_of(status), 2u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(words[i].load(), static_cast<T>(10 + i));
}

TEST(Region, abort_undoes_atomic_operations_of_every_size) {
  undoes_atomics_of<uint8_t>();
  undoes_atomics_of<uint16_t>();
  undoes_atomics_of<uint32_t>();
  undoes_atomics_of<uint64_t>();
}

struct Odd {
  char bytes[100];
};

// What a failed compare-exchange reports is a write as well.
TEST(Region, abort_undoes_what_a_failed_compare_exchange_saw) {
  const Lines lines = make_lines(2);
  std::atomic<uint64_t> word{5};
  uint64_t& expected = lines[0].words[3];
  expected = 1;
  EXPECT_EQ(code_of(attempt([&] {
              word.compare_exchange_strong(expected, 2);
              elider_emulator_abort(static_cast<unsigned char>(expected));
            })),
            5u);
  EXPECT_EQ(expected, 1u);
}

TEST(Region, abort_undoes_copies_of_every_kind) {
  const Lines lines = make_lines(64);
  auto* memory = reinterpret_cast<char*>(lines.get());
  for (int i = 0; i < 4096; ++i) memory[i] = static_cast<char>(i * 31);
  const std::vector<char> before(memory, memory + 4096);
  const std::vector<char> source(300, 'x');
  const Odd odd{{1, 2, 3}};
  const std::vector<std::function<void()>> kinds = {
      [&] { std::memcpy(memory + 13, source.data(), source.size()); },
      [&] { std::memmove(memory + 100, memory + 50, 200); },
      [&] { std::memmove(memory + 50, memory + 100, 200); },
      [&] { std::memset(memory + 1, 0, 1000); },
      [&] { std::memset(memory + 8, 0, 24); },
      [&] { std::memcpy(memory + 70, source.data(), 8); },
      [&] { std::copy_n(source.data(), 24, memory + 60); },
      [&] { std::copy(source.begin(), source.end(), memory + 3); },
      [&] { std::fill_n(memory + 5, 77, 'y'); },
      [&] { *reinterpret_cast<Odd*>(memory + 640) = odd; },
      [&] { *reinterpret_cast<Odd*>(memory + 640) = *reinterpret_cast<Odd*>(memory + 800); },
      [&] { std::swap(*reinterpret_cast<Odd*>(memory + 640), *reinterpret_cast<Odd*>(memory + 800)); },
      [&] { *reinterpret_cast<Odd*>(memory + 640) = Odd{}; },
  };
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto& kind = kinds[i];
    bool changed = false;
    const unsigned status = attempt([&] {
      kind();
      for (size_t k = 0; k < 4096; ++k) {
        if (memory[k] != before[k]) elider_emulator_abort(1);
      }
    });
    changed = status == (kExplicit | 1u << 24);
    EXPECT_TRUE(changed) << i;
    EXPECT_TRUE(std::equal(before.begin(), before.end(), memory)) << i;
  }
}

TEST(Region, copies_move_overlapping_bytes_right) {
  const Lines lines = make_lines(16);
  auto* memory = reinterpret_cast<unsigned char*>(lines.get());
  ASSERT_EQ(attempt([] {}), kStarted);  // from here on the runtime copies
  for (int distance = -130; distance <= 130; ++distance) {
    for (int i = 0; i < 1024; ++i) memory[i] = static_cast<unsigned char>(i ^ i >> 8);
    std::memmove(memory + 300 + distance, memory + 300, 333);
    for (int i = 0; i < 333; ++i) ASSERT_EQ(memory[300 + distance + i], static_cast<unsigned char>((300 + i) ^ (300 + i) >> 8));
  }
}

// The compiler may keep them in registers or on the stack, and stores there are not announced.
TEST(Region, abort_restores_locals_of_the_frame) {
  uint64_t locals[6] = {1, 2, 3, 4, 5, 6};
  volatile uint64_t count = 0;
  uint64_t sum = 100;
  const unsigned status = elider_emulator_begin();
  if (status == kStarted) {
    for (uint64_t& local : locals) {
      local += 10;
      sum += local;
    }
    count = count + 1;
    elider_emulator_abort(static_cast<unsigned char>(sum - 100));
  }
  EXPECT_EQ(code_of(status), 81u);
  EXPECT_EQ(sum, 100u);
  EXPECT_EQ(count, 0u);
  EXPECT_THAT(locals, testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

__attribute__((noinline)) void write_deep(uint64_t* of_caller, int depth) {
  volatile uint64_t mine[16];
  for (int i = 0; i < 16; ++i) mine[i] = static_cast<uint64_t>(depth + i);
  if (depth > 0) write_deep(of_caller, depth - 1);
  *of_caller += mine[depth & 15];
  if (depth == 10) elider_emulator_abort(9);
}

TEST(Region, abort_from_deep_below_restores_the_callers_of_begin) {
  uint64_t mine = 5;
  unsigned status = 0;
  const auto section = [&]() __attribute__((noinline)) { status = attempt([&] { write_deep(&mine, 10); }); };
  section();
  EXPECT_EQ(code_of(status), 9u);
  EXPECT_EQ(mine, 5u);
}

TEST(Region, nested_regions_are_one_and_abort_as_one) {
  const Lines lines = make_lines(3);
  EXPECT_EQ(attempt([&] {
              lines[0].words[0] = 1;
              attempt([&] { lines[1].words[0] = 2; });
              lines[2].words[0] = 3;
            }),
            kStarted);
  EXPECT_EQ(lines[1].words[0], 2u);

  bool inner_returned = false;
  const unsigned status = attempt([&] {
    lines[0].words[0] = 10;
    attempt([&] {
      lines[1].words[0] = 20;
      elider_emulator_abort(4);
    });
    inner_returned = true;
  });
  EXPECT_EQ(status, kExplicit | kNested | 4u << 24);
  EXPECT_FALSE(inner_returned);
  EXPECT_EQ(lines[0].words[0], 1u);
  EXPECT_EQ(lines[1].words[0], 2u);

  // After the inner commit the abort is the outer region's, and undoes the inner one's writes too.
  EXPECT_EQ(attempt([&] {
              attempt([&] { lines[1].words[0] = 21; });
              elider_emulator_abort(5);
            }),
            kExplicit | 5u << 24);
  EXPECT_EQ(lines[1].words[0], 2u);
}

TEST(Region, nesting_is_bounded_as_on_the_processor) {
  std::function<void(int)> nest = [&](int levels) {
    if (levels > 0) attempt([&] { nest(levels - 1); });
  };
  EXPECT_EQ(attempt([&] { nest(6); }), kStarted);
  EXPECT_EQ(attempt([&] { nest(7); }), kNested);
}

TEST(Region, calls_that_cannot_be_undone_abort_it) {
  std::mutex mutex;
  std::atomic<uint64_t> word{0};
  const Lines lines = make_lines(1);
  static std::atomic<void*> kept{nullptr};
  std::map<int, int> map{{1, 1}, {2, 2}, {3, 3}};
  std::list<int> list{1, 2}, more{3};
  const std::vector<std::function<void()>> calls = {
      [] { kept = std::malloc(10); }, [] { kept = new int; },  [] { std::string(100, 'x').swap(*new std::string); },
      [&] { mutex.lock(); },          [] { ::sched_yield(); },
      [] { kept = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); },
      [&] { word.wait(0); },          [&] { map.erase(2); },   [&] { list.splice(list.end(), more); },
      [] { ::pthread_exit(nullptr); }};
  for (size_t i = 0; i < calls.size(); ++i) {
    const uint64_t before = thread_counters().call_aborts;
    EXPECT_EQ(attempt([&] {
                lines[0].words[0] = 1;
                calls[i]();
              }),
              0u)
        << i;
    EXPECT_EQ(thread_counters().call_aborts, before + 1) << i;
    EXPECT_EQ(lines[0].words[0], 0u) << i;
  }
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_EQ(map, (std::map<int, int>{{1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(list, (std::list<int>{1, 2}));
}

TEST(Region, counters_tell_what_happened) {
  const Lines lines = make_lines(8);
  emulator::reset_counters();
  EXPECT_EQ(attempt([&] {
              for (int i = 0; i < 5; ++i) lines[i].words[0] = 1;
            }),
            kStarted);
  attempt([] { elider_emulator_abort(1); });
  const emulator::Counters counters = thread_counters();
  EXPECT_EQ(counters.begun, 2u);
  EXPECT_EQ(counters.committed, 1u);
  EXPECT_EQ(counters.explicit_aborts, 1u);
  EXPECT_GE(counters.lines_written_max, 5u);
  EXPECT_LE(counters.lines_written_max, 8u);
  EXPECT_EQ(emulator::counters().committed, 1u);
}

__attribute__((noinline)) bool section_without_commit(const Lines& lines, bool early) {
  if (elider_emulator_begin() != kStarted) return false;
  if (early) return true;  // the defect
  lines[0].words[0] = 1;
  elider_emulator_commit();
  return true;
}

TEST(RegionDeathTest, missing_commit_ends_the_process) {
  const Lines lines = make_lines(1);
  EXPECT_TRUE(section_without_commit(lines, false));
  EXPECT_DEATH(section_without_commit(lines, true), "a commit is missing");
}

__attribute__((noinline)) void rounds_without_commit(volatile int& rounds) {
  while (rounds > 0) {
    if (elider_emulator_begin() == kStarted) rounds = rounds - 1;
  }
  std::abort();  // so that its end does not tell
}

TEST(RegionDeathTest, second_round_without_commit_ends_the_process) {
  volatile int rounds = 5;
  EXPECT_DEATH(rounds_without_commit(rounds), "a commit is missing");
}

TEST(RegionDeathTest, commit_outside_ends_the_process) {
  EXPECT_DEATH(elider_emulator_commit(), "commit outside a region");
  EXPECT_EQ(attempt([] {}), kStarted);
  EXPECT_DEATH(elider_emulator_commit(), "commit outside a region");
}

TEST(RegionDeathTest, options_out_of_range_end_the_process) {
  const auto with = [](auto change) {
    emulator::Options options;
    change(options);
    emulator::configure(options);
  };
  EXPECT_DEATH(with([](auto& o) { o.sets = 48; }), "sets=48 is not a power of two");
  EXPECT_DEATH(with([](auto& o) { o.ways = 0; }), "ways=0");
  EXPECT_DEATH(with([](auto& o) { o.spurious_abort_rate = 1.5; }), "spurious_abort_rate=1.5");
  EXPECT_DEATH(with([](auto& o) { o.accesses_per_turn = 0; }), "accesses_per_turn=0");
}

}  // namespace
}  // namespace elider::emulator_test
