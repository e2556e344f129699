// Two overlapping transactions on one structure, forced. What one sets while the other one moves
// entries elsewhere is not lost, not even under snapshot isolation. Operations do not conflict if
// the headers say so. structures_test.cc tests what a structure does by itself.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "elider/heap.h"
#include "elider/heap_map.h"
#include "elider/heap_ordered_map.h"
#include "elider/heap_queue.h"
#include "elider/heap_vector.h"
#include "elider/try.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

class StructuresRaceTest : public testing::TestWithParam<HeapIsolation> {
 protected:
  StructuresRaceTest() : folder_("structures_race") {
    HeapOptions options;
    options.medium = HeapMedium::kDelay;
    options.flush_ns = 0;
    options.isolation = GetParam();
    options.capacity_bytes = 64 << 20;
    options.log_bytes = 16 << 20;  // so that no commit waits for the replayer, which would wait
    options.markers = 1u << 16;    // for the transaction that waits for that commit
    options.threads_max = 4;
    auto opened = Heap::open((folder_.path() / "a.heap").string(), 1 << 20, options);
    EXPECT_OK(opened);
    heap_ = std::move(*opened);
  }
  template <class T>
  HeapPtr<T> root(const char* name) {
    HeapPtr<T> found;
    change([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(found, txn.root<T>(name));
      return {};
    });
    return found;
  }
  template <class Procedure>
  void change(Procedure&& procedure) {
    EXPECT_OK(heap_.transaction(procedure));
  }
  // When `outer` has done its work for the first time, `inner` runs on another thread. It has
  // locked its lines and taken its number before outer commits. Returns how often one of them ran
  // again.
  template <class Outer, class Inner>
  int overlap(Outer&& outer, Inner&& inner) {
    const uint64_t before = heap_.status().last_number;
    std::atomic<int> runs{0};
    std::atomic<bool> ended{false};
    std::thread other;
    change([&](HeapTransaction& txn) -> Status {
      const Status status = outer(txn);
      runs.fetch_add(1);
      if (other.joinable()) return status;
      other = std::thread([&] {
        change([&](HeapTransaction& its) -> Status {
          runs.fetch_add(1);
          return inner(its);
        });
        ended.store(true);
      });
      while (heap_.status().last_number == before && !ended.load()) std::this_thread::yield();
      return status;
    });
    other.join();
    return runs.load() - 2;
  }
  template <class First, class Second>
  int overlap_in_any_order(TestRandom& random, First&& first, Second&& second) {
    return random.percent(50) ? overlap(first, second) : overlap(second, first);
  }

  TemporaryFolder folder_;
  Heap heap_;
};

INSTANTIATE_TEST_SUITE_P(Under, StructuresRaceTest, testing::Values(HeapIsolation::kSerializable, HeapIsolation::kSnapshot),
                         [](const auto& info) { return std::string(name_of(info.param)); });

using Three = std::array<uint64_t, 3>;

TEST_P(StructuresRaceTest, WhatIsSetWhileAMapsLeafGrowsSplitsOrShrinksIsNotLost) {
  using Map = HeapMap<uint64_t, Three>;
  constexpr uint64_t kKeys = 4500;
  const auto map = root<Map>("map"), full = root<Map>("full");
  for (uint64_t key = 0; key < kKeys; key += 500)
    change([&](HeapTransaction& txn) -> Status {
      for (uint64_t i = key; i < key + 500; ++i) ELIDER_TRY(txn[full].put(txn, i, {}));
      return {};
    });
  // The keys of one leaf are adjacent in this order.
  std::vector<uint64_t> order, place(kKeys);
  ASSERT_OK(heap_.read([&](HeapReader& reader) {
    reader[full].for_each(reader, [&](uint64_t key, const Three&) {
      place[key] = order.size();
      order.push_back(key);
    });
  }));
  ASSERT_EQ(order.size(), kKeys);
  TestRandom random(1);
  std::map<uint64_t, Three> model;
  uint64_t count = 0;
  const auto set_beside = [&](uint64_t key, auto&& moves) {
    const Three value{++count, count, count};
    overlap_in_any_order(random, moves, [&](HeapTransaction& txn) { return txn[map].put(txn, key, value); });
    model[key] = value;
    ASSERT_OK(heap_.read([&](HeapReader& reader) { ASSERT_EQ(reader[map].get(reader, key).value(), value); }));
  };
  for (uint64_t key = 0; key < kKeys; ++key) {
    const auto put = [&](HeapTransaction& txn) { return txn[map].put(txn, key, {}); };
    std::vector<uint64_t> beside;
    for (uint64_t at = place[key] < 8 ? 0 : place[key] - 8; at < std::min(place[key] + 8, kKeys); ++at)
      if (order[at] < key) beside.push_back(order[at]);
    const bool races = key % 2 == 0 && (key < 500 || key >= 4100);  // leaves grow; leaves of 16 split
    if (!races || beside.empty())
      change(put);
    else
      set_beside(beside[random.below(beside.size())], put);
    model[key] = {};
    if (HasFatalFailure()) return;
  }
  // The last entry of the leaf takes the place of the erased one.
  for (uint64_t at = 0; at + 16 < kKeys; at += 20) {
    const uint64_t key = order[at];
    const uint64_t beside = order[at + 1 + random.below(12)];
    set_beside(beside, [&](HeapTransaction& txn) { return txn[map].erase(txn, key); });
    model.erase(key);
    if (HasFatalFailure()) return;
  }
  ASSERT_OK(heap_.read([&](HeapReader& reader) {
    std::map<uint64_t, Three> found;
    reader[map].for_each(reader, [&](uint64_t key, const Three& value) { found.emplace(key, value); });
    EXPECT_TRUE(found == model);
    EXPECT_EQ(reader[map].size(reader), model.size());
  }));
}

TEST_P(StructuresRaceTest, WhatIsSetWhileAnOrderedMapsLeafSplitsOrShrinksIsNotLost) {
  const auto map = root<HeapOrderedMap<uint64_t, uint64_t>>("map");
  constexpr uint64_t kKeys = 2000;
  std::map<uint64_t, uint64_t> model;
  for (uint64_t key = 0; key < kKeys; key += 2) {  // keys that rise: leaves are full
    change([&](HeapTransaction& txn) { return txn[map].put(txn, key, 0); });
    model[key] = 0;
  }
  TestRandom random(2);
  uint64_t count = 0;
  const auto set_beside = [&](uint64_t key, auto&& moves) {
    const uint64_t value = ++count;
    overlap_in_any_order(random, moves, [&](HeapTransaction& txn) { return txn[map].put(txn, key, value); });
    model[key] = value;
    ASSERT_OK(heap_.read([&](HeapReader& reader) { ASSERT_EQ(reader[map].get(reader, key).value(), value); }));
  };
  // The last entry of a leaf moves forward, from any place.
  for (uint64_t key = kKeys / 2; key > kKeys / 2 - 240; key -= 2) {
    set_beside(key, [&](HeapTransaction& txn) { return txn[map].erase(txn, key - 2); });
    change([&](HeapTransaction& txn) -> Status {
      ELIDER_TRY(txn[map].erase(txn, key));
      return txn[map].insert(txn, key - 2, model[key - 2]);
    });
    model.erase(key);
    if (HasFatalFailure()) return;
  }
  for (uint64_t key = kKeys / 2 + 3; key < kKeys - 60; key += 10) {
    set_beside(key + 1 + 2 * random.below(25), [&](HeapTransaction& txn) { return txn[map].put(txn, key, 0); });
    model[key] = 0;
    if (HasFatalFailure()) return;
  }
  ASSERT_OK(heap_.read([&](HeapReader& reader) {
    std::map<uint64_t, uint64_t> found;
    std::vector<uint64_t> keys, reversed;
    reader[map].for_each(reader, [&](uint64_t key, uint64_t value) {
      found.emplace(key, value);
      keys.push_back(key);
    });
    reader[map].for_each_reversed(reader, [&](uint64_t key, uint64_t) { reversed.push_back(key); });
    EXPECT_TRUE(found == model);
    EXPECT_TRUE(std::equal(keys.begin(), keys.end(), reversed.rbegin(), reversed.rend()));
  }));
}

TEST_P(StructuresRaceTest, WhatIsSetWhileAVectorGrowsIsNotLost) {
  const auto vector = root<HeapVector<uint64_t>>("vector");
  TestRandom random(3);
  std::vector<uint64_t> model;
  while (model.size() < 300) {
    const auto push = [&](HeapTransaction& txn) { return txn[vector].push_back(txn, 0); };
    if (model.size() < 4) {
      change(push);
    } else {
      const uint64_t index = random.between(model.size() / 2, model.size() - 1), value = 1 + random.below(1000);
      overlap_in_any_order(random, push, [&](HeapTransaction& txn) -> Status {
        txn[vector].write(txn, index, value);
        return {};
      });
      model[index] = value;
    }
    model.push_back(0);
  }
  ASSERT_OK(heap_.read([&](HeapReader& reader) {
    std::vector<uint64_t> found;
    reader[vector].for_each(reader, [&](uint64_t, uint64_t value) { found.push_back(value); });
    EXPECT_EQ(found, model);
  }));
}

// Each of these removes leaves or segments that the other one uses.
TEST_P(StructuresRaceTest, WhatIsPutWhileANeighbourGoesIsThere) {
  const auto map = root<HeapOrderedMap<uint64_t, uint64_t>>("map");
  const auto keys_of = [&](bool reversed) {
    std::vector<uint64_t> keys;
    EXPECT_OK(heap_.read([&](HeapReader& reader) {
      const auto take = [&](uint64_t key, uint64_t) { keys.push_back(key); };
      if (reversed)
        reader[map].for_each_reversed(reader, take);
      else
        reader[map].for_each(reader, take);
    }));
    return keys;
  };
  TestRandom random(4);
  std::map<uint64_t, uint64_t> model;
  for (uint64_t key = 0; key < 400; ++key) {
    change([&](HeapTransaction& txn) { return txn[map].put(txn, key * 100, 0); });
    model[key * 100] = 0;
  }
  // Two transactions erase neighbours, so that adjacent leaves become empty at the same time. Or
  // one erases a key, and the other one inserts a key at its place.
  while (model.size() > 50) {
    auto first = model.lower_bound(random.below(model.rbegin()->first));
    if (std::next(first) == model.end()) continue;
    const uint64_t erased = first->first, next = std::next(first)->first;
    const bool puts = random.percent(20);
    overlap_in_any_order(
        random, [&](HeapTransaction& txn) { return txn[map].erase(txn, erased); },
        [&](HeapTransaction& txn) { return puts ? txn[map].put(txn, erased + 1, 1) : txn[map].erase(txn, next); });
    model.erase(erased);
    if (puts)
      model[erased + 1] = 1;
    else
      model.erase(next);
  }
  std::vector<uint64_t> wanted;
  for (const auto& [key, value] : model) wanted.push_back(key);
  EXPECT_EQ(keys_of(false), wanted);
  EXPECT_EQ(keys_of(true), std::vector<uint64_t>(wanted.rbegin(), wanted.rend()));
}

TEST_P(StructuresRaceTest, PutsOfTwoKeysSeldomConflictInAMap) {
  const auto map = root<HeapMap<uint64_t, uint64_t>>("map");
  int again = 0;
  for (uint64_t key = 0; key < 300; key += 2) {
    const auto put = [map](uint64_t its) { return [=](HeapTransaction& txn) { return txn[map].put(txn, its, its); }; };
    const int conflicts = overlap(put(key), put(key + 1));
    if (key >= 100) again += conflicts != 0;  // the arenas of all threads have their chunks
  }
  EXPECT_LT(again, 100 / 4);
  EXPECT_OK(heap_.read([&](HeapReader& reader) { EXPECT_EQ(reader[map].size(reader), 300u); }));
}

TEST_P(StructuresRaceTest, APushAndAPopConflictSeldom) {
  const auto queue = root<HeapQueue<uint64_t>>("queue");
  // A serializable pop has read the line that a push writes if the two are close.
  const uint64_t apart = GetParam() == HeapIsolation::kSerializable ? 200 : 1;
  for (uint64_t i = 0; i < apart; ++i) change([&](HeapTransaction& txn) { return txn[queue].push(txn, i); });
  TestRandom random(5);
  int again = 0;
  for (uint64_t i = 0; i < 150; ++i) {
    uint64_t popped = ~uint64_t{0};
    again += overlap_in_any_order(
                 random, [&](HeapTransaction& txn) { return txn[queue].push(txn, apart + i); },
                 [&](HeapTransaction& txn) -> Status {
                   ELIDER_ASSIGN(popped, txn[queue].pop(txn));
                   return {};
                 }) != 0;
    ASSERT_EQ(popped, i);
  }
  EXPECT_LT(again, 150 / 10);
}

// Two transactions overlap. One changes the last element, and the other one removes it. The removed
// element has the change, or the changed element is still there.
TEST_P(StructuresRaceTest, WhatIsTakenAwayIsNotChangedBesides) {
  constexpr Three kBefore{1, 1, 1}, kAfter{7, 7, 7};
  const auto vector = root<HeapVector<uint64_t>>("vector");
  const auto map = root<HeapMap<uint64_t, Three>>("map");
  const auto ordered = root<HeapOrderedMap<uint64_t, Three>>("ordered");
  constexpr uint64_t kCount = 100;
  const auto fill = [&] {
    change([&](HeapTransaction& txn) -> Status {
      ELIDER_TRY(txn[vector].clear(txn));
      ELIDER_TRY(txn[map].clear(txn));
      ELIDER_TRY(txn[ordered].clear(txn));
      for (uint64_t i = 0; i < kCount; ++i) {
        ELIDER_TRY(txn[vector].push_back(txn, 1));
        ELIDER_TRY(txn[map].put(txn, i, kBefore));
        ELIDER_TRY(txn[ordered].put(txn, i, kBefore));
      }
      return {};
    });
  };
  uint64_t taken = 0;
  fill();
  overlap(
      [&](HeapTransaction& txn) -> Status {
        ELIDER_ASSIGN(taken, txn[vector].pop_back(txn));
        return {};
      },
      [&](HeapTransaction& txn) -> Status {
        txn[vector].write(txn, kCount - 1, 7);
        return {};
      });
  EXPECT_EQ(taken, 7u);
  fill();
  overlap(
      [&](HeapTransaction& txn) {
        taken = 0;
        txn[vector].for_each(txn, [&](uint64_t, uint64_t value) { taken += value; });
        return txn[vector].clear(txn);
      },
      [&](HeapTransaction& txn) -> Status {
        txn[vector].write(txn, 50, 7);
        return {};
      });
  EXPECT_EQ(taken, kCount + 6);
  const auto takes_all = [&](auto pointer) {
    for (uint64_t key = 0; key < kCount; key += 9) {
      fill();
      overlap(
          [&](HeapTransaction& txn) {
            taken = 0;
            txn[pointer].for_each(txn, [&](uint64_t, const Three& value) { taken += value == kAfter; });
            return txn[pointer].clear(txn);
          },
          [&](HeapTransaction& txn) { return txn[pointer].put(txn, key, kAfter); });
      EXPECT_EQ(taken, 1u) << key;
    }
  };
  takes_all(map);
  takes_all(ordered);
}

}  // namespace
}  // namespace elider::test
