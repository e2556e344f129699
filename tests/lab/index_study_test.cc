// The index study: its keys, and that every index gives figures for the keys that it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/sanitizer.h"
#include "lab/index/index.h"
#include "lab/index/lock_free.h"
#include "lab/index/key_set.h"

namespace elider::bench {
namespace {

std::string text_of(IndexStudy::StudyKey key, KeyShape shape) {
  if (study_keys_of(shape) == StudyKeys::kNumbers) return std::to_string(key.number());
  return std::string(reinterpret_cast<const char*>(key.bytes()->data()), key.bytes()->size);
}

TEST(IndexStudyTest, KeysAreDifferentAndTheSameForASeed) {
  for (const KeyShape shape : kKeyShapes) {
    const KeySet one(shape, 3000, 7), again(shape, 3000, 7), other(shape, 3000, 8);
    std::set<std::string> texts;
    size_t differ = 0;
    for (size_t i = 0; i < 3000; ++i) {
      const std::string text = text_of(one.keys()[i], shape);
      EXPECT_TRUE(texts.insert(text).second) << text;
      EXPECT_EQ(text, text_of(again.keys()[i], shape));
      differ += text != text_of(other.keys()[i], shape);
    }
    EXPECT_GT(differ, 2000u) << name_of(shape);
    EXPECT_GE(one.bytes_a_key(), 8);
    EXPECT_LE(one.bytes_a_key(), 100);
  }
}

TEST(IndexStudyTest, EveryIndexTakesTheKeysThatItIsFor) {
  IndexStudyOptions options;
  options.indexes.assign(std::begin(kKeyIndexes), std::end(kKeyIndexes));
  options.shapes.assign(std::begin(kKeyShapes), std::end(kKeyShapes));
  options.lock_free = !kThreadSanitizer;  // it does not see the synchronization of a library that was not built for it
  options.records = 3000;
  options.seconds = 0.01;
  options.growing_lookups_pct = 50;
  options.growing_inserts_pct = 25;
  for (const SyncPolicy sync : {SyncPolicy::kOptimistic, SyncPolicy::kLatched, SyncPolicy::kElided, SyncPolicy::kSingleThreaded}) {
    options.sync = sync;
    options.threads = sync == SyncPolicy::kSingleThreaded ? 1 : 2;
    auto figures = run_index_study(options);
    ASSERT_TRUE(figures.ok()) << figures.status().message();
    // The three indexes with each of the five kinds of keys, and the lock-free table with both
    // kinds of numbers.
    ASSERT_EQ(figures->size(), options.lock_free && make_lock_free_table(1).ok() ? 17u : 15u);
    for (const IndexFigure& figure : *figures) {
      EXPECT_GT(figure.inserts_per_s, 0);
      EXPECT_GT(figure.lookups_per_s, 0);
      EXPECT_GT(figure.together_per_s, 0);
      EXPECT_GT(figure.puts_per_s, 0);
      EXPECT_GT(figure.mixed_per_s, 0);
      EXPECT_GT(figure.growing_per_s, 0);
      EXPECT_EQ(figure.scanned_per_s > 0, figure.index != "hash" && figure.index != kLockFree);
      EXPECT_GT(figure.bytes_a_key, 16);
    }
  }
}

}  // namespace
}  // namespace elider::bench
