// The structures of the durable heap, each compared with its counterpart in the standard library.
// The operations are random, some in transactions that are rolled back, and the heap is reopened in
// between. An empty structure must have released all its memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "elider/heap.h"
#include "elider/heap_map.h"
#include "elider/heap_ordered_map.h"
#include "elider/heap_queue.h"
#include "elider/heap_string.h"
#include "elider/heap_vector.h"
#include "elider/try.h"
#include "tests/heap/heap_fixture.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

struct Wide {
  uint64_t a, b, c;
  friend bool operator==(const Wide&, const Wide&) = default;
};
Wide wide(uint64_t seed) { return {seed, seed * 3, ~seed}; }

class StructuresTest : public testing::TestWithParam<HeapIsolation>, protected HeapFixture {
 protected:
  StructuresTest() {
    options_.medium = HeapMedium::kDelay;
    options_.flush_ns = 0;
    options_.isolation = GetParam();
    options_.capacity_bytes = 256 << 20;
    reopen();
  }
  uint64_t blocks() {
    const HeapCheck checked = check();
    EXPECT_EQ(checked.lost_bytes, 0u);
    return checked.blocks;
  }
  template <class T>
  HeapPtr<T> root(const char* name) {
    HeapPtr<T> found;
    EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(found, txn.root<T>(name));
      return {};
    }));
    return found;
  }
  // Makes a round of some steps, and keeps it or rolls it back. step(txn, model) changes both in
  // the same way.
  template <class Model, class Step>
  void round(TestRandom& random, Model& model, Step&& step) {
    const bool keeps = random.below(5) != 0;
    const uint64_t seed = random.next(), steps = 1 + random.below(5);
    Model changed;
    const Status status = heap_.transaction([&](HeapTransaction& txn) -> Status {
      TestRandom its(seed);  // the same in each attempt
      changed = model;
      for (uint64_t i = 0; i < steps; ++i) ELIDER_TRY(step(txn, changed, its));
      return keeps ? Status() : Status::rollback();
    });
    ASSERT_CODE(keeps ? Code::kOk : Code::kRolledBack, status);
    if (keeps) model = std::move(changed);
  }
};

INSTANTIATE_TEST_SUITE_P(Under, StructuresTest, testing::Values(HeapIsolation::kSerializable, HeapIsolation::kSnapshot),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Applies the operations of a map of either kind to it and to std::map.
template <class Map>
Status change_map(HeapTransaction& txn, HeapPtr<Map> map, std::map<uint64_t, Wide>& model, TestRandom& random, uint64_t keys) {
  const uint64_t key = random.below(keys);
  const Wide value = wide(random.next());
  switch (random.below(4)) {
    case 0: {
      const Status status = txn[map].insert(txn, key, value);
      EXPECT_EQ(status.ok(), !model.contains(key)) << status.message();
      model.try_emplace(key, value);
      return {};
    }
    case 1: {
      const Status status = txn[map].erase(txn, key);
      EXPECT_EQ(status.ok(), model.erase(key) != 0) << status.message();
      return {};
    }
    default: model[key] = value; return txn[map].put(txn, key, value);
  }
}

TEST_P(StructuresTest, AMapIsAMap) {
  const auto map = root<HeapMap<uint64_t, Wide>>("map");
  const uint64_t before = blocks();
  std::map<uint64_t, Wide> model;
  TestRandom random(1);
  for (uint64_t i = 0; i < scaled(6000); ++i) {
    round(random, model, [&](HeapTransaction& txn, auto& its, TestRandom& draws) { return change_map(txn, map, its, draws, 4000); });
    if (i % 2000 != 1999) continue;
    reopen();
    ASSERT_OK(heap_.read([&](HeapReader& reader) {
      EXPECT_EQ(reader[map].size(reader), model.size());
      std::map<uint64_t, Wide> found;
      reader[map].for_each(reader, [&](uint64_t key, const Wide& value) { EXPECT_TRUE(found.emplace(key, value).second); });
      EXPECT_TRUE(found == model);
      for (uint64_t key = 0; key < 4000; ++key) {
        const auto value = reader[map].get(reader, key);
        ASSERT_EQ(value.ok(), model.contains(key));
        if (value.ok()) {
          ASSERT_EQ(*value, model[key]);
        }
      }
    }));
  }
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].clear(txn); }));
  EXPECT_OK(heap_.read([&](HeapReader& reader) { EXPECT_EQ(reader[map].size(reader), 0u); }));
  EXPECT_EQ(blocks(), before);
}

TEST_P(StructuresTest, AnOrderedMapIsAMapInOrder) {
  using Map = HeapOrderedMap<uint64_t, Wide>;
  const auto map = root<Map>("map");
  const uint64_t before = blocks();
  std::map<uint64_t, Wide> model;
  TestRandom random(2);
  for (uint64_t i = 0; i < scaled(6000); ++i) {
    round(random, model, [&](HeapTransaction& txn, auto& its, TestRandom& draws) { return change_map(txn, map, its, draws, 4000); });
    if (i % 500 != 499) continue;
    reopen();
    ASSERT_OK(heap_.read([&](HeapReader& reader) {
      std::vector<uint64_t> keys, reversed;
      reader[map].for_each(reader, [&](uint64_t key, const Wide& value) {
        EXPECT_EQ(value, model[key]);
        keys.push_back(key);
      });
      reader[map].for_each_reversed(reader, [&](uint64_t key, const Wide&) { reversed.push_back(key); });
      std::reverse(reversed.begin(), reversed.end());
      std::vector<uint64_t> wanted;
      for (const auto& [key, value] : model) wanted.push_back(key);
      ASSERT_EQ(keys, wanted);
      ASSERT_EQ(reversed, wanted);
      EXPECT_EQ(reader[map].size(reader), model.size());
      EXPECT_EQ(reader[map].first(reader)->key, wanted.front());
      EXPECT_EQ(reader[map].last(reader)->key, wanted.back());
      for (int k = 0; k < 200; ++k) {
        const uint64_t key = random.below(4100);
        const auto above = model.lower_bound(key);
        const auto least = reader[map].at_least(reader, key);
        ASSERT_EQ(least.ok(), above != model.end());
        if (least.ok()) {
          ASSERT_EQ(least->key, above->first);
        }
        const auto below = model.upper_bound(key);
        const auto most = reader[map].at_most(reader, key);
        ASSERT_EQ(most.ok(), below != model.begin());
        if (most.ok()) {
          ASSERT_EQ(most->key, std::prev(below)->first);
        }
        ASSERT_EQ(reader[map].contains(reader, key), model.contains(key));
      }
    }));
  }
  // One by one, so that every leaf and node becomes empty.
  while (!model.empty()) {
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].erase(txn, model.begin()->first); }));
    model.erase(model.begin());
    if (model.empty()) break;
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].erase(txn, model.rbegin()->first); }));
    model.erase(std::prev(model.end()));
  }
  EXPECT_OK(heap_.read([&](HeapReader& reader) {
    EXPECT_TRUE(reader[map].empty(reader));
    EXPECT_CODE(Code::kNotFound, reader[map].first(reader));
  }));
  EXPECT_EQ(blocks(), before);
  // And cleared at once, after keys that only rise.
  for (uint64_t key = 0; key < 5000; key += 100)
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      for (uint64_t i = 0; i < 100; ++i) ELIDER_TRY(txn[map].insert(txn, key + i, wide(key + i)));
      return {};
    }));
  EXPECT_OK(heap_.read([&](HeapReader& reader) { EXPECT_EQ(reader[map].size(reader), 5000u); }));
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].clear(txn); }));
  EXPECT_EQ(blocks(), before);
}

// Leaves and inner nodes become empty in the middle, and are used again. A high tree becomes low
// again.
TEST_P(StructuresTest, AnOrderedMapGrowsAndShrinksInWaves) {
  using Map = HeapOrderedMap<int32_t, std::array<uint64_t, 30>>;
  const auto map = root<Map>("map");
  const uint64_t before = blocks();
  std::map<int32_t, std::array<uint64_t, 30>> model;
  TestRandom random(6);
  const auto check = [&] {
    ASSERT_OK(heap_.read([&](HeapReader& reader) {
      std::vector<int32_t> wanted, keys, reversed;
      for (const auto& [key, value] : model) wanted.push_back(key);
      const auto take = [&](std::vector<int32_t>& into) {
        return [&](int32_t key, const auto& value) {
          EXPECT_EQ(value, model[key]);
          into.push_back(key);
          return into.size() <= wanted.size();  // so that cyclic links are also found
        };
      };
      reader[map].for_each(reader, take(keys));
      reader[map].for_each_reversed(reader, take(reversed));
      std::reverse(reversed.begin(), reversed.end());
      ASSERT_EQ(keys, wanted);
      ASSERT_EQ(reversed, wanted);
    }));
  };
  for (int wave = 0; wave < 3; ++wave) {
    while (model.size() < 600) {
      const int32_t key = static_cast<int32_t>(random.below(1000)) - 500;
      model[key] = {random.next()};
      ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].put(txn, key, model[key]); }));
    }
    while (model.size() > 1) {
      auto one = model.lower_bound(static_cast<int32_t>(random.below(1000)) - 500);
      if (one == model.end()) --one;
      ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].erase(txn, one->first); }));
      model.erase(one);
      if (model.size() % 50 == 0) check();
      if (HasFatalFailure()) return;
    }
    check();
    EXPECT_EQ(blocks(), before + 1) << "a leaf, and nothing above it";
  }
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].erase(txn, model.begin()->first); }));
  EXPECT_EQ(blocks(), before);
}

// Hashes like HeapMap hashes 16 bytes, up to the second word. If HeapMap changes its hash, the next
// test fails.
uint64_t hash_of_first_word(uint64_t word) {
  uint64_t hash = (0x9e3779b97f4a7c15u ^ word) * 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 32;
  hash *= 0x94d049bb133111ebu;
  return hash ^ hash >> 29;
}

TEST_P(StructuresTest, AMapHoldsKeysWhoseHashesAreEqual) {
  using Key = std::array<uint64_t, 2>;
  const auto map = root<HeapMap<Key, uint64_t>>("map");
  const auto equal = [](uint64_t i) { return Key{i, hash_of_first_word(i) ^ 5}; };
  const uint64_t before = blocks();
  for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].insert(txn, equal(i), i); }));
  EXPECT_LE(blocks(), before + 10) << "one leaf below nine nodes, or their hashes are not equal";
  for (uint64_t i = 0; i < 100; i += 2) ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].erase(txn, equal(i)); }));
  EXPECT_OK(heap_.read([&](HeapReader& reader) {
    EXPECT_EQ(reader[map].size(reader), 50u);
    for (uint64_t i = 0; i < 100; ++i) {
      const auto found = reader[map].get(reader, equal(i));
      ASSERT_EQ(found.ok(), i % 2 == 1);
      if (found.ok()) {
        ASSERT_EQ(*found, i);
      }
    }
  }));
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].clear(txn); }));
  EXPECT_EQ(blocks(), before);
  // And those that share their first word alone are spread.
  for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[map].insert(txn, {7, i}, i); }));
  EXPECT_GE(blocks(), before + 50);
}

TEST_P(StructuresTest, AVisitMayEnd) {
  const auto map = root<HeapMap<uint64_t, uint64_t>>("map");
  const auto ordered = root<HeapOrderedMap<uint64_t, uint64_t>>("ordered");
  const auto vector = root<HeapVector<uint64_t>>("vector");
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    for (uint64_t i = 0; i < 5000; ++i) {
      ELIDER_TRY(txn[map].put(txn, i, i));
      if (i >= 500) continue;
      ELIDER_TRY(txn[ordered].put(txn, i, i));
      ELIDER_TRY(txn[vector].push_back(txn, i));
    }
    return {};
  }));
  EXPECT_OK(heap_.read([&](HeapReader& reader) {
    for (uint64_t wanted = 1; wanted < 60; ++wanted) {
      uint64_t seen = 0;
      const auto visit = [&](uint64_t, uint64_t) { return ++seen < wanted; };
      const auto expect = [&](const char* what) {
        EXPECT_EQ(seen, wanted) << what;
        seen = 0;
      };
      reader[map].for_each(reader, visit);
      expect("map");
      reader[ordered].for_each(reader, visit);
      expect("ordered");
      reader[ordered].for_each(reader, 100, visit);
      expect("ordered, from a key");
      reader[ordered].for_each_reversed(reader, 400, visit);
      expect("reversed, from a key");
      reader[vector].for_each(reader, visit);
      expect("vector");
    }
  }));
}

// Elements whose size is not a multiple of a word are adjacent.
TEST_P(StructuresTest, SmallAndLargeObjectsAreKept) {
  using Three = std::array<uint8_t, 3>;
  using Page = std::array<uint64_t, 300>;
  const auto threes = root<HeapVector<Three>>("threes");
  const auto bytes = root<HeapMap<uint8_t, uint8_t>>("bytes");
  const auto pages = root<HeapMap<uint16_t, Page>>("pages");
  const auto queue = root<HeapQueue<Page>>("queue");
  const auto small = root<HeapQueue<uint8_t>>("small");
  const uint64_t before = blocks();
  const auto three = [](uint64_t i) { return Three{static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8), 7}; };
  for (uint64_t i = 0; i < 300; ++i)
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_TRY(txn[threes].push_back(txn, three(i)));
      ELIDER_TRY(txn[bytes].put(txn, static_cast<uint8_t>(i), static_cast<uint8_t>(i ^ 255)));
      ELIDER_TRY(txn[pages].put(txn, static_cast<uint16_t>(i % 100), Page{i}));
      ELIDER_TRY(txn[queue].push(txn, Page{i}));
      return txn[small].push(txn, static_cast<uint8_t>(i));
    }));
  reopen();
  for (uint64_t i = 0; i < 300; ++i)
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      EXPECT_EQ(txn[threes].read(txn, i), three(i));
      ELIDER_ASSIGN(const uint8_t byte, txn[bytes].get(txn, static_cast<uint8_t>(i)));
      EXPECT_EQ(byte, static_cast<uint8_t>(i ^ 255));
      ELIDER_ASSIGN(const Page page, txn[pages].get(txn, static_cast<uint16_t>(i % 100)));
      EXPECT_EQ(page, Page{200 + i % 100});
      ELIDER_ASSIGN(const Page first, txn[queue].pop(txn));
      EXPECT_EQ(first, Page{i});
      ELIDER_ASSIGN(const uint8_t popped, txn[small].pop(txn));
      EXPECT_EQ(popped, static_cast<uint8_t>(i));
      return {};
    }));
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_TRY(txn[threes].clear(txn));
    ELIDER_TRY(txn[bytes].clear(txn));
    ELIDER_TRY(txn[pages].clear(txn));
    ELIDER_TRY(txn[queue].clear(txn));
    return txn[small].clear(txn);
  }));
  EXPECT_EQ(blocks(), before);
}

TEST_P(StructuresTest, AVectorIsAVector) {
  const auto vector = root<HeapVector<Wide>>("vector");
  const uint64_t before = blocks();
  std::vector<Wide> model;
  TestRandom random(3);
  for (uint64_t i = 0; i < scaled(3000); ++i)
    round(random, model, [&](HeapTransaction& txn, std::vector<Wide>& its, TestRandom& draws) -> Status {
      const Wide value = wide(draws.next());
      switch (draws.below(4)) {
        case 0: {
          const auto popped = txn[vector].pop_back(txn);
          EXPECT_EQ(popped.ok(), !its.empty());
          if (popped.ok()) {
            EXPECT_EQ(*popped, its.back());
            its.pop_back();
          }
          return {};
        }
        case 1:
          if (its.empty()) return {};
          txn[vector].write(txn, its.size() / 2, value);
          its[its.size() / 2] = value;
          return {};
        default: its.push_back(value); return txn[vector].push_back(txn, value);
      }
    });
  reopen();
  EXPECT_OK(heap_.read([&](HeapReader& reader) {
    std::vector<Wide> found;
    reader[vector].for_each(reader, [&](uint64_t, const Wide& value) { found.push_back(value); });
    EXPECT_EQ(found, model);
  }));
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[vector].clear(txn); }));
  EXPECT_EQ(blocks(), before);
}

TEST_P(StructuresTest, AStringIsAString) {
  const auto string = root<HeapString>("string");
  const uint64_t before = blocks();
  std::string model;
  TestRandom random(4);
  for (uint64_t i = 0; i < scaled(2000); ++i)
    round(random, model, [&](HeapTransaction& txn, std::string& its, TestRandom& draws) -> Status {
      const std::string text(draws.below(40), static_cast<char>('a' + draws.below(26)));
      EXPECT_EQ(txn[string].str(txn), its);
      EXPECT_EQ(txn[string].compare(txn, text) < 0, its < text);
      switch (draws.below(6)) {
        case 0: its = text; return txn[string].assign(txn, text);
        case 1: its.clear(); return txn[string].clear(txn);
        default: its += text; return txn[string].append(txn, text);
      }
    });
  reopen();
  EXPECT_OK(heap_.read([&](HeapReader& reader) { EXPECT_TRUE(reader[string].equals(reader, model)); }));
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[string].clear(txn); }));
  EXPECT_EQ(blocks(), before);
}

TEST_P(StructuresTest, AQueueIsAQueue) {
  const auto queue = root<HeapQueue<Wide>>("queue");
  const uint64_t before = blocks();
  std::deque<Wide> model;
  TestRandom random(5);
  for (uint64_t i = 0; i < scaled(4000); ++i)
    round(random, model, [&](HeapTransaction& txn, std::deque<Wide>& its, TestRandom& draws) -> Status {
      EXPECT_EQ(txn[queue].size(txn), its.size());
      EXPECT_EQ(txn[queue].front(txn).ok(), !its.empty());
      if (draws.below(i % 2000 < 1000 ? 3 : 2) == 0) {
        const auto popped = txn[queue].pop(txn);
        EXPECT_EQ(popped.ok(), !its.empty());
        if (popped.ok()) {
          EXPECT_EQ(*popped, its.front());
          its.pop_front();
        }
        return {};
      }
      const Wide value = wide(draws.next());
      its.push_back(value);
      return txn[queue].push(txn, value);
    });
  reopen();
  while (!model.empty()) {
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(const Wide popped, txn[queue].pop(txn));
      EXPECT_EQ(popped, model.front());
      return {};
    }));
    model.pop_front();
  }
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[queue].clear(txn); }));
  EXPECT_EQ(blocks(), before);
}

TEST_P(StructuresTest, TwoThreadsPutIntoOneMap) {
  const auto map = root<HeapMap<uint64_t, uint64_t>>("map");
  const auto ordered = root<HeapOrderedMap<uint64_t, uint64_t>>("ordered");
  const uint64_t puts = scaled(3000);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < puts; ++i)
        ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
          ELIDER_TRY(txn[map].put(txn, 2 * i + t, i));
          ELIDER_TRY(txn[map].put(txn, 1'000'000 + i % 10, t));
          return txn[ordered].put(txn, 2 * i + t, i);
        }));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(heap_.read([&](HeapReader& reader) {
    EXPECT_EQ(reader[map].size(reader), 2 * puts + 10);
    uint64_t next = 0;
    reader[ordered].for_each(reader, [&](uint64_t key, uint64_t value) {
      EXPECT_EQ(key, next++);
      EXPECT_EQ(value, key / 2);
    });
    EXPECT_EQ(next, 2 * puts);
  }));
}

// One thread sets values and counts what it set. The other one makes the entries move. No value is
// lost, not even under snapshot isolation.
template <class Map>
void set_while_they_move(Heap& heap, HeapPtr<Map> map, uint64_t kept) {
  ASSERT_OK(heap.transaction([&](HeapTransaction& txn) -> Status {
    for (uint64_t key = 0; key < kept; ++key) ELIDER_TRY(txn[map].put(txn, 10 * key, 0));
    return {};
  }));
  std::atomic<bool> done{false};
  std::thread mover([&] {
    TestRandom random(7);
    while (!done.load()) {
      const uint64_t key = 10 * random.below(kept) + 1 + random.below(9);
      const bool puts = random.below(2) == 0;
      const Status status =
          heap.transaction([&](HeapTransaction& txn) { return puts ? txn[map].put(txn, key, 1) : txn[map].erase(txn, key); });
      EXPECT_TRUE(status.ok() || status.not_found());
    }
  });
  TestRandom random(8);
  std::map<uint64_t, uint64_t> model;
  for (uint64_t i = 1; i <= scaled(20'000); ++i) {
    const uint64_t key = 10 * random.below(kept);
    ASSERT_OK(heap.transaction([&](HeapTransaction& txn) { return txn[map].put(txn, key, i); }));
    model[key] = i;
    if (i % 500 != 0) continue;
    ASSERT_OK(heap.read([&](HeapReader& reader) {
      for (const auto& [its, value] : model) {
        const auto found = reader[map].get(reader, its);
        ASSERT_TRUE(found.ok()) << its;
        ASSERT_EQ(*found, value) << its << " after " << i;
      }
    }));
  }
  done.store(true);
  mover.join();
}

TEST_P(StructuresTest, WhatIsSetWhileAMapsEntriesMoveIsNotLost) {
  set_while_they_move(heap_, root<HeapMap<uint64_t, uint64_t>>("map"), 1500);
}
TEST_P(StructuresTest, WhatIsSetWhileAnOrderedMapsEntriesMoveIsNotLost) {
  set_while_they_move(heap_, root<HeapOrderedMap<uint64_t, uint64_t>>("map"), 40);
}

TEST_P(StructuresTest, OnePushesAndOnePops) {
  const auto queue = root<HeapQueue<uint64_t>>("queue");
  const uint64_t count = scaled(10'000);
  std::thread producer([&] {
    for (uint64_t i = 0; i < count; ++i) ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn[queue].push(txn, i); }));
  });
  for (uint64_t next = 0; next < count;) {
    uint64_t popped = 0;
    const Status status = heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(popped, txn[queue].pop(txn));
      return {};
    });
    if (status.not_found()) continue;
    ASSERT_OK(status);
    ASSERT_EQ(popped, next++);
  }
  producer.join();
}

}  // namespace
}  // namespace elider::test
