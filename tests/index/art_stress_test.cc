// The radix tree under many threads: writers with keys of their own and with shared keys, readers
// that check invariants, scans, witnesses, and reclamation. Also meant for the thread and address
// sanitizers.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/index/art_test_support.h"

namespace elider::index::test {
namespace {

template <class C>
struct ArtStressTest : testing::Test {
  using Key = typename C::Key;
  using Tree = RadixTree<typename C::Sync, Key>;
  using Contents = typename Tree::Contents;
  using Held = HeldKey<Key>;
  static constexpr uint64_t kSpace = 3000;
  static constexpr uint64_t kWriters = 3;

  // Keys n with n % 5 < 3 belong to writer n % 5. All writers share those with n % 5 == 3. Those
  // with n % 5 == 4 are always present. Their strings form clusters, so that nodes of all kinds are
  // created and removed.
  static std::string text(uint64_t n) {
    std::string made(1, static_cast<char>('a' + n / 5 % 3));
    made += n % 7 < 3 ? "zzz" : "zz";
    made += static_cast<char>(n >> 8);
    made += static_cast<char>(n);
    if constexpr (std::is_same_v<Key, ByteKey>) made += std::string(n % 3, 'e');
    return text_of(Held(made).key());
  }
  static const std::vector<Held>& keys() {
    static const std::vector<Held> all = [] {
      std::vector<Held> made;
      for (uint64_t n = 0; n < kSpace; ++n) made.emplace_back(text(n));
      return made;
    }();
    return all;
  }
  void fill() {
    Inside inside(arena);
    for (uint64_t n = 4; n < kSpace; n += 5) ASSERT_TRUE(tree.get_or_insert(*inside, keys()[n].key(), handle_of(n)).inserted);
  }
  void write(uint64_t id, uint64_t steps, uint64_t seed) {
    Inside inside(arena);
    Random random(seed);
    std::unordered_map<uint64_t, Handle> own;
    for (uint64_t i = 0; i < steps; ++i) {
      const bool shared = random.one_in(4);
      const uint64_t n = random.below(kSpace / 5) * 5 + (shared ? 3 : id);
      const Key key = keys()[n].key();
      Witness witness;
      const Handle there = tree.get(key, witness);
      if (shared) {
        if (there == kNoHandle) {
          const InsertResult result = tree.get_or_insert(*inside, key, handle_of(n, id));
          ASSERT_EQ(number_of_handle(result.handle), n);
          if (result.inserted) ++shared_inserted;
          if (result.inserted) {
            ASSERT_FALSE(witness.holds()) << "of the key's absence, beyond its insertion";
          }
        } else if (tree.remove(*inside, key, there)) {
          ++shared_removed;
        }
      } else {
        const auto known = own.find(n);
        ASSERT_EQ(there, known == own.end() ? kNoHandle : known->second);
        if (known == own.end()) {
          const Handle handle = handle_of(n, i);
          ASSERT_TRUE(tree.get_or_insert(*inside, key, handle).inserted);
          own.emplace(n, handle);
        } else {
          ASSERT_TRUE(tree.remove(*inside, key, there));
          own.erase(n);
        }
        ASSERT_FALSE(witness.holds());
      }
      if (i % 64 == 0) inside.pass();
    }
    inserted_left += own.size();
  }
  void read_until_done(uint64_t seed) {
    Inside inside(arena);
    Random random(seed);
    while (!done.load()) {
      const uint64_t n = random.below(kSpace);
      switch (random.below(3)) {
        case 0: look(n); break;
        case 1: batch(random); break;
        default: scan(n, random.one_in(2)); break;
      }
      inside.pass();
    }
  }
  void look(uint64_t n) {
    Witness first, second;
    const Handle before = tree.get(keys()[n].key(), first);
    const Handle after = tree.get(keys()[n].key(), second);
    if (n % 5 == 4) {
      ASSERT_EQ(before, handle_of(n));
    }
    if (before != kNoHandle) {
      ASSERT_EQ(number_of_handle(before), n);
    }
    if (first.holds()) {
      ASSERT_EQ(before, after);
    }
  }
  void batch(Random& random) {
    constexpr size_t kCount = 24;
    typename Tree::BatchKey batched[kCount];
    uint64_t numbers[kCount];
    Handle handles[kCount];
    Witness witnesses[kCount];
    for (size_t i = 0; i < kCount; ++i) {
      numbers[i] = random.below(kSpace);
      batched[i] = keys()[numbers[i]].batch_key();
    }
    tree.multi_get(batched, kCount, handles, witnesses);
    for (size_t i = 0; i < kCount; ++i) {
      if (numbers[i] % 5 == 4) {
        ASSERT_EQ(handles[i], handle_of(numbers[i]));
      }
      if (handles[i] != kNoHandle) {
        ASSERT_EQ(number_of_handle(handles[i]), numbers[i]);
      }
    }
  }
  // Scans everything: each permanent key is found once, and all keys are in order.
  void scan(uint64_t, bool forward) {
    Contents contents;
    NoHint hint;
    const Held lowest{std::string()};
    Bound<Key> at{lowest.key(), !forward};
    uint64_t lasting = 0;
    std::string last;
    bool first = true;
    while (true) {
      tree.read_leaf(at, forward ? Direction::kForward : Direction::kBackward, hint, contents);
      for (size_t i = 0; i < contents.count; ++i) {
        const size_t entry = forward ? i : contents.count - 1 - i;
        const uint64_t n = number_of_handle(contents.handles[entry]);
        const std::string found = text_of(contents.keys[entry]);
        ASSERT_EQ(found, text(n));
        ASSERT_TRUE(first || (forward ? last < found : found < last));
        last = found;
        first = false;
        lasting += n % 5 == 4 ? 1 : 0;
      }
      if (forward ? contents.range.to.end : !(lowest.key() < contents.range.from)) break;
      at = forward ? contents.range.to : Bound<Key>{contents.range.from, false};
    }
    ASSERT_EQ(lasting, kSpace / 5);
  }

  Arena arena;
  Tree tree;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> inserted_left{0}, shared_inserted{0}, shared_removed{0};
};
TYPED_TEST_SUITE(ArtStressTest, ConcurrentRadixCombinations);

TYPED_TEST(ArtStressTest, WritersAndReadersAgree) {
  const uint64_t seed = seed_of_test();
  this->fill();
  std::vector<std::thread> writers, readers;
  for (uint64_t t = 0; t < this->kWriters; ++t) writers.emplace_back([this, t, seed] { this->write(t, scaled(30000), seed + t); });
  for (uint64_t t = 0; t < 2; ++t) readers.emplace_back([this, t, seed] { this->read_until_done(seed + 100 + t); });
  for (std::thread& writer : writers) writer.join();
  this->done = true;
  for (std::thread& reader : readers) reader.join();
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(this->tree.size(), this->kSpace / 5 + this->inserted_left + this->shared_inserted - this->shared_removed);
}

// Two threads append keys and remove their own. The tree then holds little more than the keys that
// are present, under a memory limit that all insertions together would exceed many times.
TYPED_TEST(ArtStressTest, QueuesOfTwoThreadsStayBounded) {
  Arena small(uint64_t{8} << 20);
  std::atomic<uint64_t> tail{0};
  const auto churn = [&] {
    Inside inside(small);
    std::vector<uint64_t> queue;
    size_t head = 0;
    for (uint64_t i = 0; i < scaled(100000); ++i) {
      const uint64_t n = tail++;
      const typename TestFixture::Held key(text_of(n));
      ASSERT_TRUE(this->tree.get_or_insert(*inside, key.key(), handle_of(n)).inserted) << "the limit was reached after " << i;
      queue.push_back(n);
      if (queue.size() - head > 100) {
        const typename TestFixture::Held oldest(text_of(queue[head]));
        ASSERT_TRUE(this->tree.remove(*inside, oldest.key(), handle_of(queue[head])));
        ++head;
      }
      if (i % 32 == 0) inside.pass();
    }
  };
  std::thread other(churn);
  churn();
  other.join();
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LE(this->tree.size(), 200u);
  EXPECT_LE(this->tree.memory_bytes(), 256u * 1024);
}

// Several threads insert the same keys. Each key has one winner, and all threads agree on it.
TYPED_TEST(ArtStressTest, EachKeyHasOneWinner) {
  const uint64_t count = scaled(20000);
  std::vector<std::vector<Handle>> seen(4);
  std::atomic<uint64_t> wins{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Inside inside(this->arena);
      for (uint64_t n = 0; n < count; ++n) {
        const typename TestFixture::Held key(text_of(n % 2 == 0 ? n : n * 0x9e3779b97f4a7c15u));
        const InsertResult result = this->tree.get_or_insert(*inside, key.key(), handle_of(n, t));
        wins += result.inserted ? 1 : 0;
        seen[t].push_back(result.handle);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wins, count);
  for (uint64_t t = 1; t < 4; ++t) EXPECT_EQ(seen[t], seen[0]);
  const Status status = this->tree.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(this->tree.size(), count);
}

}  // namespace
}  // namespace elider::index::test
