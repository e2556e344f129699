#include "tools/check_history/presence.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace elider::check {
namespace {

TEST(PresenceSet, agrees_with_a_set_at_every_size) {
  for (size_t count : {1, 2, 63, 64, 65, 4095, 4096, 4097, 300000}) {
    PresenceSet set(count);
    std::set<size_t> model;
    std::mt19937_64 random(count);
    for (int step = 0; step < 20000; ++step) {
      const size_t item = random() % count;
      if (random() % 2 == 0) {
        set.insert(item);
        model.insert(item);
      } else {
        set.erase(item);
        model.erase(item);
      }
      const size_t from = random() % count, end = from + random() % (count - from + 1);
      const auto next = model.lower_bound(from);
      ASSERT_EQ(set.next(from, end), next == model.end() || *next >= end ? end : *next) << count << " from " << from << " to " << end;
      ASSERT_EQ(set.contains(from), model.contains(from));
    }
  }
}

TEST(PresenceSet, empty_has_no_member) {
  PresenceSet set(0);
  EXPECT_EQ(set.next(0, 0), 0u);
}

}  // namespace
}  // namespace elider::check
