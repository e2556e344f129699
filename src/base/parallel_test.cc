#include "base/parallel.h"

#include <gtest/gtest.h>

#include <new>

namespace elider {
namespace {

TEST(ParallelTest, EachPieceIsDoneOnce) {
  std::vector<std::atomic<int>> done(1000);
  EXPECT_TRUE(parallel(3, done.size(), [&](uint32_t, size_t i) {
                ++done[i];
                return Status();
              }).ok());
  for (const auto& times : done) EXPECT_EQ(times, 1);
}

TEST(ParallelTest, TheErrorOfTheSmallestPieceComesBack) {
  const auto work = [](uint32_t, size_t i) { return i < 7 ? Status() : Status(Code::kIoError, "piece " + std::to_string(i)); };
  const Status status = parallel(3, 100, work);
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_NE(status.message().find("piece 7"), std::string::npos) << status.message();
}

// The exception is thrown in the caller's thread or in another one, while the others still work.
TEST(ParallelTest, AnExceptionIsThrownOnceAllHaveEnded) {
  for (const uint32_t thrower : {0u, 1u, 2u}) {
    std::atomic<int> inside{0};
    std::atomic<uint32_t> arrived{0};
    EXPECT_THROW(static_cast<void>(parallel(3, 3, [&](uint32_t thread, size_t) {
                   ++inside;
                   arrived.fetch_add(1);
                   while (arrived.load() != 3) std::this_thread::yield();
                   if (thread == thrower) {
                     --inside;
                     throw std::bad_alloc();
                   }
                   std::this_thread::yield();
                   --inside;
                   return Status();
                 })),
                 std::bad_alloc);
    EXPECT_EQ(inside, 0);
  }
}

}  // namespace
}  // namespace elider
