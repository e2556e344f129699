// A write set against a model: words and ranges of zeros, in any order, and the record of them.
#include "heap/write_set.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/random.h"

namespace elider::heap {
namespace {

TEST(WriteSetTest, HoldsWhatWasWrittenLast) {
  test::TestRandom random(1);
  constexpr uint64_t kWords = 512, kRangeWords = 64;  // ranges begin at multiples of kRangeWords, as blocks do
  WriteSet writes;
  for (int round = 0; round < 200; ++round) {
    writes.clear();
    std::map<uint64_t, uint64_t> model;
    for (uint64_t i = 0, changes = random.below(200); i < changes; ++i) {
      if (random.below(8) == 0) {
        const uint64_t first = random.below(kWords / kRangeWords) * kRangeWords, count = 1 + random.below(kRangeWords);
        writes.zero(first, count);
        for (uint64_t word = first; word < first + count; ++word) model[word] = 0;
      } else {
        const uint64_t word = random.below(kWords);
        writes.put(word, i + 1);
        model[word] = i + 1;
      }
    }
    EXPECT_EQ(writes.empty(), model.empty());
    std::vector<uint64_t> expected(kWords, ~uint64_t{0});
    for (uint64_t word = 0; word < kWords; ++word) {
      const uint64_t* const found = writes.find(word);
      const auto in_model = model.find(word);
      ASSERT_EQ(found != nullptr, in_model != model.end()) << word;
      if (found == nullptr) continue;
      EXPECT_EQ(*found, in_model->second) << word;
      EXPECT_NE(writes.signature() & WriteSet::bit_of(word), 0u);
      expected[word] = in_model->second;
    }
    std::vector<uint64_t> memory(kWords, ~uint64_t{0});
    writes.copy_to(reinterpret_cast<std::byte*>(memory.data()));
    EXPECT_EQ(memory, expected);
    std::vector<uint64_t> record, replayed(kWords, ~uint64_t{0});
    writes.append_record(&record);
    for (std::span<const uint64_t> words = record; !words.empty();) {
      heap::Run run;
      ASSERT_TRUE(next_run(words, &run));
      run.copy_to(reinterpret_cast<std::byte*>(replayed.data()));
    }
    EXPECT_EQ(replayed, expected);
  }
}

TEST(WriteSetTest, ARunThatReachesTooFarIsRefused) {
  for (const std::vector<uint64_t>& record : {std::vector<uint64_t>{run_header(1, 2), 5},
                                              {run_header(1, 0)},
                                              {run_header(1, 0), ~uint64_t{0}},
                                              {run_header((uint64_t{1} << 48) - 1, 1), 5}}) {
    std::span<const uint64_t> words = record;
    heap::Run run;
    EXPECT_FALSE(next_run(words, &run));
  }
}

}  // namespace
}  // namespace elider::heap
