// The hash table of byte keys: compared with std::map and run by many threads, for every policy,
// with hashes of all bits and with hashes of a few bits, so that different keys have equal hashes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "index/row_key.h"
#include "tests/index/art_test_support.h"

namespace elider::index::test {
namespace {

constexpr uint32_t kKeyOffset = 24;

// Memory that a handle refers to: its key lies where the index expects it.
Handle make_row(Worker& worker, ByteKey key) {
  auto* const row = static_cast<std::byte*>(worker.allocate(kKeyOffset + sizeof(KeyBytes) + key.size(), MemoryPart::kRows));
  auto* const own = new (row + kKeyOffset) KeyBytes{key.size()};
  if (key.size() != 0) std::memcpy(own->data(), key.bytes->data(), key.size());
  return reinterpret_cast<Handle>(row);
}
size_t bytes_of_row(Handle row) { return kKeyOffset + sizeof(KeyBytes) + RowKey{kKeyOffset}.of(row).size(); }
void retire_key(Worker& worker, Handle row) { worker.retire_memory(reinterpret_cast<void*>(row), bytes_of_row(row), MemoryPart::kRows); }
void free_row(Worker& worker, Handle row) { worker.free(reinterpret_cast<void*>(row), bytes_of_row(row), MemoryPart::kRows); }

// Keys of 0 to about 300 bytes, many of which have the same beginning.
std::string text_of_key(uint64_t n) {
  if (n == 0) return {};
  return std::string(n % 3 == 0 ? n % 300 : 0, 'k') + "user:" + std::to_string(n);
}

template <class Sync>
struct HashBytesTest : testing::Test {
  using Table = HashTable<Sync, ByteKey>;
  using Held = HeldKey<ByteKey>;

  void start([[maybe_unused]] uint64_t hash_bits) {
#if ELIDER_TEST_POINTS
    byte_hash_bits = hash_bits;
#endif
    table = std::make_unique<Table>(HashKeys<ByteKey>(RowKey{kKeyOffset}));
#if ELIDER_TEST_POINTS
    byte_hash_bits = ~uint64_t{0};
#endif
  }
  Witness witness_of(const Held& key) {
    Witness witness;
    table->get(key.key(), witness);
    return witness;
  }
  void insert(uint64_t n) {
    const Held key(text_of_key(n));
    const auto there = model.find(n);
    const Witness seen = witness_of(key);
    const Handle row = make_row(*inside, key.key());
    const InsertResult result = table->get_or_insert(*inside, key.key(), row);
    ASSERT_EQ(result.inserted, there == model.end()) << n;
    ASSERT_EQ(result.handle, result.inserted ? row : there->second) << n;
    ASSERT_EQ(seen.holds(), !result.inserted) << "absence of key " << n << " was read";
    if (result.inserted) model[n] = row;
    else free_row(*inside, row);
  }
  void remove(uint64_t n) {
    const Held key(text_of_key(n));
    const auto there = model.find(n);
    const Witness seen = witness_of(key);
    const auto other = model.upper_bound(n);
    if (other != model.end()) {
      ASSERT_FALSE(table->remove(*inside, key.key(), other->second)) << "the row of another key";
    }
    ASSERT_TRUE(seen.holds());
    if (there == model.end()) {
      const Handle row = make_row(*inside, key.key());
      ASSERT_FALSE(table->remove(*inside, key.key(), row));
      free_row(*inside, row);
      return;
    }
    ASSERT_TRUE(table->remove(*inside, key.key(), there->second)) << n;
    ASSERT_FALSE(seen.holds());
    retire_key(*inside, there->second);
    model.erase(there);
  }
  Handle expected(uint64_t n) const {
    const auto entry = model.find(n);
    return entry == model.end() ? kNoHandle : entry->second;
  }
  void get(uint64_t n) {
    Witness witness;
    const Held key(text_of_key(n));
    ASSERT_EQ(table->get(key.key(), witness), expected(n)) << n;
    ASSERT_TRUE(witness.holds());
  }
  void multi_get(uint64_t space, size_t count) {
    std::vector<uint64_t> numbers(count);
    std::vector<Held> held;
    std::vector<KeyRef> keys;
    for (uint64_t& n : numbers) {
      n = random.below(space);
      held.emplace_back(text_of_key(n));
      keys.push_back(held.back().batch_key());
    }
    std::vector<Handle> handles(count);
    std::vector<Witness> witnesses(count);
    table->multi_get(keys.data(), count, handles.data(), random.one_in(4) ? nullptr : witnesses.data());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(handles[i], expected(numbers[i]));
      if (witnesses[i].version) {
        ASSERT_TRUE(witnesses[i].holds());
      }
    }
  }
  void check_all() {
    const Status status = table->verify();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(table->size(), model.size());
    for (const auto& [n, row] : model) ASSERT_NO_FATAL_FAILURE(get(n));
  }
  void run_random(uint64_t hash_bits, uint64_t space) {
    start(hash_bits);
    for (const uint64_t grow : {90u, 50u, 20u, 80u}) {
      for (uint64_t i = 0; i < scaled(3000); ++i) {
        const uint64_t n = random.below(space);
        switch (random.below(4)) {
          case 0: ASSERT_NO_FATAL_FAILURE(get(n)); break;
          case 1: ASSERT_NO_FATAL_FAILURE(multi_get(space, 1 + random.below(40))); break;
          default: ASSERT_NO_FATAL_FAILURE(random.below(100) < grow ? insert(n) : remove(n));
        }
        if (i % 64 == 0) inside.pass();
      }
      ASSERT_NO_FATAL_FAILURE(check_all());
    }
    while (!model.empty()) ASSERT_NO_FATAL_FAILURE(remove(model.begin()->first));
    ASSERT_NO_FATAL_FAILURE(check_all());
  }

  Arena arena;
  Inside inside{arena};
  std::unique_ptr<Table> table;
  std::map<uint64_t, Handle> model;
  Random random{seed_of_test()};
};
TYPED_TEST_SUITE(HashBytesTest, test::TablePolicies);

TYPED_TEST(HashBytesTest, RandomOperations) {
  for (const uint64_t space : {50u, 3000u}) ASSERT_NO_FATAL_FAILURE(this->run_random(~uint64_t{0}, space));
}

TYPED_TEST(HashBytesTest, RandomOperationsOnKeysWithEqualHashes) {
  if (!TestPoints::enabled()) GTEST_SKIP() << "hashes have all bits";
  for (const uint64_t bits : {uint64_t{0}, uint64_t{3}, uint64_t{0xfff}})
    ASSERT_NO_FATAL_FAILURE(this->run_random(bits, bits == 0 ? 60 : 600));
}

TYPED_TEST(HashBytesTest, EachIndexHasItsOwnSeed) {
  this->start(~uint64_t{0});
  HashKeys<ByteKey> one(RowKey{0}), other(RowKey{0});
  const HeldKey<ByteKey> key("key");
  EXPECT_NE(one.tag_of(key.key()), other.tag_of(key.key()));
  EXPECT_EQ(one.tag_of(ByteKey()), one.tag_of(HeldKey<ByteKey>("").key()));
}

TYPED_TEST(HashBytesTest, ReadingTheBucketsMeetsEachEntryOnce) {
  this->start(~uint64_t{0});
  for (uint64_t n = 0; n < 500; ++n) ASSERT_NO_FATAL_FAILURE(this->insert(n));
  const size_t buckets = this->table->bucket_count();
  Entries entries;
  for (size_t i = 0; i < buckets; ++i) {
    this->table->read_bucket(i, buckets, &entries);
    // Growth moves entries to buckets that the reading does not reach by itself.
    for (uint64_t n = 0; n < 40; ++n) ASSERT_NO_FATAL_FAILURE(this->insert(1000 + i * 40 + n));
  }
  ASSERT_GT(this->table->bucket_count(), buckets);
  std::map<Handle, int> times;
  for (const auto& [key, row] : entries) ++times[row];
  for (const auto& [row, count] : times) ASSERT_EQ(count, 1);
  for (uint64_t n = 0; n < 500; ++n) ASSERT_EQ(times.count(this->model[n]), 1u) << n;
}

template <class Sync>
struct HashBytesStressTest : testing::Test {
  using Table = HashTable<Sync, ByteKey>;
  using Held = HeldKey<ByteKey>;
  static constexpr uint64_t kKeys = 600;

  // Writers insert and remove the keys. A handle that any thread finds must have the key that it
  // looked up, even if the row has just been removed.
  void write(uint64_t operations, uint64_t seed) {
    Random random(seed);
    Inside inside(arena);
    for (uint64_t i = 0; i < operations; ++i) {
      if (random.one_in(16)) inside.pass();
      const Held key(text_of_key(random.below(kKeys)));
      Witness witness;
      const Handle there = table.get(key.key(), witness);
      if (there == kNoHandle) {
        const Handle row = make_row(*inside, key.key());
        const InsertResult result = table.get_or_insert(*inside, key.key(), row);
        ASSERT_TRUE(RowKey{kKeyOffset}.equals(result.handle, key.key()));
        if (!result.inserted) free_row(*inside, row);
        else ++left;
      } else {
        ASSERT_TRUE(RowKey{kKeyOffset}.equals(there, key.key()));
        if (random.one_in(2) && table.remove(*inside, key.key(), there)) {
          retire_key(*inside, there);
          --left;
        }
      }
    }
  }
  void read_until_done(uint64_t seed) {
    Random random(seed);
    while (!done.load()) {
      Inside inside(arena);
      std::vector<Held> held;
      KeyRef keys[40];
      Handle handles[40];
      Witness witnesses[40];
      for (KeyRef& key : keys) {
        held.emplace_back(text_of_key(random.below(kKeys)));
        key = held.back().batch_key();
      }
      table.multi_get(keys, 40, handles, witnesses);
      for (size_t i = 0; i < 40; ++i) {
        if (handles[i] != kNoHandle) {
          ASSERT_TRUE(RowKey{kKeyOffset}.equals(handles[i], held[i].key()));
        }
        Witness witness;
        const Handle again = table.get(held[i].key(), witness);
        if (witnesses[i].holds() && witness.holds() && witnesses[i].value == witness.value) {
          ASSERT_EQ(again, handles[i]);
        }
      }
    }
  }
  void run() {
    const uint64_t seed = seed_of_test();
    std::vector<std::thread> writers, readers;
    for (uint64_t t = 0; t < 3; ++t) writers.emplace_back([this, t, seed] { write(scaled(20000), seed + t); });
    for (uint64_t t = 0; t < 2; ++t) readers.emplace_back([this, t, seed] { read_until_done(seed + 100 + t); });
    for (std::thread& writer : writers) writer.join();
    done = true;
    for (std::thread& reader : readers) reader.join();
    const Status status = table.verify();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(table.size(), static_cast<size_t>(left.load()));
  }

  Arena arena;
  Table table{HashKeys<ByteKey>(RowKey{kKeyOffset})};
  std::atomic<bool> done{false};
  std::atomic<int64_t> left{0};
};
TYPED_TEST_SUITE(HashBytesStressTest, test::ConcurrentTablePolicies);

TYPED_TEST(HashBytesStressTest, ReadersFindTheRowsOfTheirKeys) { this->run(); }

#if ELIDER_TEST_POINTS
template <class Sync>
struct FewHashesFirst {
  FewHashesFirst() { byte_hash_bits = 63; }
  ~FewHashesFirst() { byte_hash_bits = ~uint64_t{0}; }
};
template <class Sync>
struct EqualHashStressTest : FewHashesFirst<Sync>, HashBytesStressTest<Sync> {};
TYPED_TEST_SUITE(EqualHashStressTest, test::ConcurrentTablePolicies);

TYPED_TEST(EqualHashStressTest, ReadersFindTheRowsOfTheirKeys) { this->run(); }

// A lookup finds a row by its tag, and is stopped while the row is removed and retired, and while
// another key with the same tag is inserted.
TEST(HashBytesRaceTest, ALookupMayReadTheKeyOfARowThatIsBeingRemoved) {
  byte_hash_bits = 0;
  HashTable<sync::Optimistic, ByteKey> table{HashKeys<ByteKey>(RowKey{kKeyOffset})};
  byte_hash_bits = ~uint64_t{0};
  Arena arena;
  Inside inside(arena);
  const HeldKey<ByteKey> a("a"), b("b");
  const Handle row = make_row(*inside, a.key());
  ASSERT_TRUE(table.get_or_insert(*inside, a.key(), row).inserted);
  TestStop stop("hash.tag_found");
  std::thread reader([&] {
    Inside own(arena);
    Witness witness;
    EXPECT_EQ(table.get(a.key(), witness), row);
    EXPECT_FALSE(witness.holds());
  });
  stop.wait_until_reached();
  ASSERT_TRUE(table.remove(*inside, a.key(), row));
  retire_key(*inside, row);
  for (int i = 0; i < 8; ++i) inside.pass();
  ASSERT_TRUE(table.get_or_insert(*inside, b.key(), make_row(*inside, b.key())).inserted);
  stop.go();
  reader.join();
  Witness witness;
  EXPECT_EQ(table.get(a.key(), witness), kNoHandle);
  EXPECT_NE(table.get(b.key(), witness), kNoHandle);
}
#endif

}  // namespace
}  // namespace elider::index::test
