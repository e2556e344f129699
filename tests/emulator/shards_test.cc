// Chooses the processor of this program. The threads of an emulated machine stay on one processor
// (lab/emulator/turn.cc), and the system does not separate two such programs. So shards that run
// concurrently each begin on a different processor.
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

namespace elider::test {
namespace {

// Returns the nth processor that the program may use, for the nth shard. If there is only one, all
// shards use it. Returns -1 if this is not a shard.
int processor_of_shard() {
  const char* const shard = std::getenv("GTEST_SHARD_INDEX");
  cpu_set_t allowed;
  if (shard == nullptr || ::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return -1;
  int left = std::atoi(shard) % CPU_COUNT(&allowed);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed) || left-- > 0) ++processor;
  return processor;
}

class AProcessorForEachShard : public testing::Environment {
 public:
  // Applies to all threads and processes that are started from here on.
  void SetUp() override {
    const int processor = processor_of_shard();
    if (processor < 0) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    ::sched_setaffinity(0, sizeof(only), &only);
  }
};

[[maybe_unused]] testing::Environment* const registered = testing::AddGlobalTestEnvironment(new AProcessorForEachShard);

TEST(Shards, EachBeginsOnAProcessorOfItsOwn) {
  if (std::getenv("GTEST_SHARD_INDEX") == nullptr) GTEST_SKIP() << "this is not a shard";
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(CPU_COUNT(&allowed), 1);
}

}  // namespace
}  // namespace elider::test
