// A section uses regions again after a page of code that only regions run has been discarded.
#include "htm/code_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <thread>

#include "base/sanitizer.h"
#include "htm/detect.h"
#include "htm/elide.h"
#include "htm/rtm.h"

#if ELIDER_HAVE_RTM

// A function with 64 KiB of code around it that belongs to no other function, because a system may
// also load pages next to a page that it loads.
asm(".section .text.elider_test_alone, \"ax\", @progbits\n"
    ".balign 65536\n"
    "elider_test_alone: ret\n"
    ".balign 65536, 0xcc\n"
    ".previous\n");
extern "C" void elider_test_alone();

namespace elider::htm {
namespace {

constexpr size_t kAloneBytes = 65536;

void take_code_away() {
  ASSERT_EQ(::madvise(reinterpret_cast<void*>(&elider_test_alone), kAloneBytes, MADV_DONTNEED), 0);
}
unsigned alone_in_a_region() {
  const unsigned status = Rtm::begin();
  if (status != kStarted) return status;
  elider_test_alone();
  Rtm::commit();
  return kStarted;
}
// Returns true if one of several attempts commits, because interrupts may abort a region at any
// time.
bool commits() {
  for (int i = 0; i < 100; ++i)
    if (alone_in_a_region() == kStarted) return true;
  return false;
}

class CodePagesTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(ELIDER_EMULATOR)
    GTEST_SKIP() << "the pages are not read where regions are emulated";
#endif
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the pages are not read with sanitizers";
    if (!detect().usable) GTEST_SKIP() << "no hardware transactions here: " << detect().reason;
    if (reinterpret_cast<uintptr_t>(&elider_test_alone) % kAloneBytes != 0) GTEST_SKIP() << "the system aligns programs to pages only";
    elider_test_alone();
    ASSERT_TRUE(commits());
    take_code_away();
    // This checks that the problem exists. On a processor that loads the page itself, the functions
    // under test are not needed.
    ASSERT_FALSE(commits()) << "a region has fetched code that was not there";
  }
};

TEST_F(CodePagesTest, ReadingThePagesBringsThemBack) {
  read_code_pages();
  EXPECT_TRUE(commits());
}

TEST_F(CodePagesTest, ASectionWhoseRunsTakeTheLockReadsThem) {
  struct Free {
    static constexpr bool held() { return false; }
  };
  Site site;
  constexpr int kRuns = 100;
  // Uses a new thread, which has not counted an abort with cause kSystem yet.
  std::thread([&site] {
    for (int run = 0; run < kRuns; ++run)
      run_region<Rtm>(
          site, Free(),
          []() -> bool {
            elider_test_alone();
            return true;
          },
          []() -> bool { return false; });
  }).join();
  const SiteCounts counts = site.counts();
  EXPECT_GT(counts.fallbacks, 0u);
  EXPECT_GT(counts.commits, uint64_t{kRuns} / 2);
}

}  // namespace
}  // namespace elider::htm

#endif  // ELIDER_HAVE_RTM
