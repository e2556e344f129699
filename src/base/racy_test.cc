#include "base/racy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace elider {
namespace {

TEST(Racy, CopiesAreExactAtEverySizeAndOffset) {
  for (size_t bytes = 0; bytes <= 200; ++bytes) {
    for (size_t offset : {0, 1, 4, 8}) {
      alignas(8) unsigned char shared[256];
      unsigned char in[256], out[256];
      for (size_t i = 0; i < 256; ++i) {
        shared[i] = static_cast<unsigned char>(i * 7 + 3);
        in[i] = out[i] = 0xee;
      }
      racy_copy_in(in + 1, shared + offset, bytes);
      for (size_t i = 0; i < 256; ++i) {
        const bool copied = i >= 1 && i < bytes + 1;
        ASSERT_EQ(in[i], copied ? shared[i - 1 + offset] : 0xee) << bytes << " bytes from " << offset;
      }
      racy_copy_out(out + offset, shared + 1, bytes);
      for (size_t i = 0; i < 256; ++i) {
        const bool copied = i >= offset && i < bytes + offset;
        ASSERT_EQ(out[i], copied ? shared[i - offset + 1] : 0xee) << bytes << " bytes to " << offset;
      }
    }
  }
}

TEST(Racy, ScalarsKeepTheirValue) {
  struct alignas(8) Pair {
    uint32_t a, b;
  };
  Pair pair{1, 2};
  racy_store(pair, Pair{3, 4});
  EXPECT_EQ(racy_load(pair).a, 3u);
  EXPECT_EQ(racy_load(pair).b, 4u);
  double number = 0;
  racy_store(number, 2.5);
  EXPECT_EQ(racy_load(number), 2.5);
}

// The sequence lock that these accessors are made for. TSan proves that the accessors suffice, and
// the comparison proves that the fences do.
TEST(Racy, ASequenceLockMadeOfThemNeverShowsATornCopy) {
  struct Row {
    std::atomic<uint64_t> word{0};
    uint64_t payload[10]{};
  } row;
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  std::atomic<uint64_t> torn{0}, validated{0};
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const uint64_t before = row.word.load(std::memory_order_acquire);
        if (before & 1) continue;
        uint64_t copy[10];
        racy_copy_in(copy, row.payload, sizeof(copy));
        racy_read_fence();
        if (row.word.load(std::memory_order_acquire) != before) continue;
        validated.fetch_add(1, std::memory_order_relaxed);
        for (uint64_t value : copy)
          if (value != copy[0]) torn.fetch_add(1);
      }
    });
  }
  for (uint64_t i = 1; i <= 100000 || validated.load() == 0; ++i) {
    row.word.fetch_add(1, std::memory_order_acquire);
    racy_write_fence();
    uint64_t fresh[10];
    for (uint64_t& value : fresh) value = i;
    racy_copy_out(row.payload, fresh, sizeof(fresh));
    row.word.fetch_add(1, std::memory_order_release);
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn.load(), 0u);
}

}  // namespace
}  // namespace elider
