// Compares the hash table with std::map, and tests growth, witnesses and memory, for every policy.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <vector>

#include "tests/index/index_combinations.h"

namespace elider::index::test {
namespace {

template <class Sync>
struct HashModelTest : testing::Test {
  using Table = HashTable<Sync>;

  void insert(uint64_t n) {
    const auto [entry, fresh] = model.try_emplace(n, handle_of(n, ++generation));
    const Witness seen = witness_of(n);
    const InsertResult result = table.get_or_insert(*inside, n, fresh ? entry->second : handle_of(n, ++generation), hint);
    ASSERT_EQ(result.inserted, fresh) << n;
    ASSERT_EQ(result.handle, entry->second) << n;
    ASSERT_EQ(seen.holds(), !fresh) << "absence of key " << n << " was read";
    ASSERT_EQ(result.before.version, seen.version);
    ASSERT_EQ(result.before.value, seen.value);
    ASSERT_EQ(result.split_off.version, nullptr);
  }
  void remove(uint64_t n) {
    const auto entry = model.find(n);
    const Witness seen = witness_of(n);
    ASSERT_FALSE(table.remove(*inside, n, handle_of(n + 1)));
    ASSERT_TRUE(seen.holds());
    ASSERT_EQ(table.remove(*inside, n, entry == model.end() ? handle_of(n) : entry->second), entry != model.end()) << n;
    ASSERT_EQ(seen.holds(), entry == model.end());
    if (entry != model.end()) model.erase(entry);
  }
  Witness witness_of(uint64_t n) {
    Witness witness;
    table.get(n, hint, witness);
    return witness;
  }
  Handle expected(uint64_t n) const {
    const auto entry = model.find(n);
    return entry == model.end() ? kNoHandle : entry->second;
  }
  void get(uint64_t n) {
    Witness witness;
    ASSERT_EQ(table.get(n, hint, witness), expected(n)) << n;
    ASSERT_TRUE(witness.holds());
  }
  void multi_get(uint64_t space, size_t count) {
    std::vector<uint64_t> keys(count);
    for (uint64_t& key : keys) key = random.below(space);
    std::vector<Handle> handles(count);
    std::vector<Witness> witnesses(count);
    table.multi_get(keys.data(), count, handles.data(), random.one_in(4) ? nullptr : witnesses.data());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(handles[i], expected(keys[i]));
      if (witnesses[i].version) {
        ASSERT_TRUE(witnesses[i].holds());
      }
    }
  }
  void check_all() {
    const Status status = table.verify();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(table.size(), model.size());
    for (const auto& [n, handle] : model) ASSERT_NO_FATAL_FAILURE(get(n));
  }

  Arena arena;
  Inside inside{arena};
  Table table;
  NoHint hint;
  std::map<uint64_t, Handle> model;
  uint64_t generation = 0;
  Random random{seed_of_test()};
};
TYPED_TEST_SUITE(HashModelTest, test::TablePolicies);

TYPED_TEST(HashModelTest, RandomOperationsGrowShrinkAndEmpty) {
  for (const uint64_t space : {50u, 3000u, 100000u}) {
    for (const uint64_t grow : {90u, 50u, 20u, 80u}) {
      for (uint64_t i = 0; i < scaled(15000); ++i) {
        const uint64_t n = this->random.below(space);
        switch (this->random.below(4)) {
          case 0: ASSERT_NO_FATAL_FAILURE(this->get(n)); break;
          case 1: ASSERT_NO_FATAL_FAILURE(this->multi_get(space, 1 + this->random.below(40))); break;
          default: ASSERT_NO_FATAL_FAILURE(this->random.below(100) < grow ? this->insert(n) : this->remove(n));
        }
        if (i % 64 == 0) this->inside.pass();
      }
      ASSERT_NO_FATAL_FAILURE(this->check_all());
    }
    while (!this->model.empty()) ASSERT_NO_FATAL_FAILURE(this->remove(this->model.begin()->first));
    ASSERT_NO_FATAL_FAILURE(this->check_all());
  }
}

TYPED_TEST(HashModelTest, LargestAndSmallestKeysAreKeys) {
  for (const uint64_t n : {uint64_t{0}, ~uint64_t{0}}) {
    Witness witness;
    EXPECT_EQ(this->table.get(n, witness), kNoHandle);
    EXPECT_TRUE(this->table.get_or_insert(*this->inside, n, 7).inserted);
    EXPECT_FALSE(witness.holds());
    EXPECT_EQ(this->table.get(n, witness), 7u);
    EXPECT_TRUE(this->table.remove(*this->inside, n, 7));
    EXPECT_EQ(this->table.get(n, witness), kNoHandle);
  }
}

// Every prefix of a growing table is valid, including all limits of segments and of the directory.
TYPED_TEST(HashModelTest, GrowthKeepsEveryKeyAndLittleMemory) {
  const uint64_t n = std::max<uint64_t>(scaled(150000), 30000);
  for (uint64_t i = 0; i < n; ++i) {
    ASSERT_TRUE(this->table.get_or_insert(*this->inside, i, handle_of(i)).inserted);
    if (i % 4001 == 0) {
      const Status status = this->table.verify();
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
  Witness witness;
  for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(this->table.get(i, witness), handle_of(i));
  const double load = static_cast<double>(n) / static_cast<double>(this->table.bucket_count());
  EXPECT_GT(load, 2.2);
  EXPECT_LT(load, 2.5);
  EXPECT_LT(this->table.memory_bytes(), n * 36 + 600'000);
  ASSERT_TRUE(this->table.verify().ok());
}

// A step of growth moves keys to a bucket with a word of its own. A transaction that has read these
// keys, or their absence, must not miss an insertion in the new bucket.
TYPED_TEST(HashModelTest, AWitnessFromBeforeGrowthNeverMissesAnInsertion) {
  std::vector<std::pair<uint64_t, Witness>> absent;
  uint64_t next = 0;
  for (int round = 0; round < 60; ++round) {
    absent.clear();
    for (uint64_t key = 1'000'000; key < 1'000'200; ++key) {
      Witness witness;
      ASSERT_EQ(this->table.get(key, witness), kNoHandle);
      absent.emplace_back(key, witness);
    }
    for (int i = 0; i < 100; ++i, ++next) ASSERT_TRUE(this->table.get_or_insert(*this->inside, next, handle_of(next)).inserted);
    for (const auto& [key, witness] : absent) {
      ASSERT_TRUE(this->table.get_or_insert(*this->inside, key, handle_of(key)).inserted);
      ASSERT_FALSE(witness.holds());
    }
    for (const auto& [key, witness] : absent) ASSERT_TRUE(this->table.remove(*this->inside, key, handle_of(key)));
  }
}

TYPED_TEST(HashModelTest, ChurnOfNewKeysTakesBoundedMemory) {
  for (uint64_t n = 0; n < 2000; ++n) ASSERT_TRUE(this->table.get_or_insert(*this->inside, n, handle_of(n)).inserted);
  for (uint64_t n = 2000; n < 2000 + scaled(200000); ++n) {
    ASSERT_TRUE(this->table.get_or_insert(*this->inside, n, handle_of(n)).inserted);
    ASSERT_TRUE(this->table.remove(*this->inside, n - 2000, handle_of(n - 2000)));
    if (n % 16 == 0) this->inside.pass();
    ASSERT_LT(this->table.memory_bytes(), 200'000u);
  }
  ASSERT_TRUE(this->table.verify().ok());
}

TYPED_TEST(HashModelTest, WithoutMemoryNothingIsChanged) {
  Arena small(uint64_t{4} << 20);
  Inside inside(small);
  uint64_t inserted = 0;
  InsertResult result;
  while (true) {
    result = this->table.get_or_insert(*inside, inserted, handle_of(inserted));
    if (!result.inserted) break;
    ASSERT_LT(++inserted, 1'000'000u) << "the limit is never reached";
  }
  EXPECT_EQ(result.handle, kNoHandle);
  EXPECT_GT(inserted, 10'000u);
  const Status status = this->table.verify();
  EXPECT_TRUE(status.ok()) << status.message();
  Witness witness;
  for (uint64_t n = 0; n <= inserted; ++n) ASSERT_EQ(this->table.get(n, witness), n < inserted ? handle_of(n) : kNoHandle);
  for (uint64_t n = 0; n < inserted; ++n) ASSERT_TRUE(this->table.remove(*inside, n, handle_of(n)));
  for (int i = 0; i < 8; ++i) inside.pass();
  EXPECT_TRUE(this->table.get_or_insert(*inside, inserted, handle_of(inserted)).inserted);
}

TYPED_TEST(HashModelTest, ADumpNamesEveryEntry) {
  for (uint64_t n = 0; n < 400; ++n) ASSERT_TRUE(this->table.get_or_insert(*this->inside, n, n + 1000).inserted);
  std::ostringstream out;
  this->table.dump(out);
  EXPECT_NE(out.str().find("400 entries"), std::string::npos);
  for (uint64_t n = 0; n < 400; ++n)
    EXPECT_NE(out.str().find(" " + std::to_string(n) + "->" + std::to_string(n + 1000)), std::string::npos);
}

}  // namespace
}  // namespace elider::index::test
