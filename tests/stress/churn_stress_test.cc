// Churn: keys are inserted and removed for far longer than memory would last if any of it leaked. A
// small memory limit replaces hours of running. One thread must never reach the limit, and several
// threads only for a short time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/test_points.h"
#include "tests/support/database_test.h"
#include "tests/support/random.h"

namespace elider::test {
namespace {

struct Parcel {
  uint64_t owner = 0;
  std::array<uint64_t, 23> content{};
};

class ChurnStressTest : public DatabaseTest {
 protected:
  // An hour of churn fills any memory many times over; here the memory is small instead, and is
  // filled fourteen times by the queue, twice where a run's length is cut to a seventh (the
  // sanitizers, the emulator).
  static constexpr uint64_t kLimitBytes = 8u << 20;
  static constexpr Key kAlive = 2000;  // rows at one time, about 0.8 MB with their indexes

  void SetUp() override { open(kLimitBytes); }
  void open(uint64_t limit_bytes) {
    limit_bytes_ = limit_bytes;
    Options options;
    options.memory_limit_bytes = limit_bytes;
    reopen(options);
    SchemaOf<Parcel> schema("parcels");
    schema.key_index(GetParam().key_index)
        .column("owner", &Parcel::owner)
        .column("content", &Parcel::content)
        .index("by_owner", {"owner"}, [](const Parcel& parcel) { return parcel.owner; });
    parcels_ = create(schema);
    by_owner_ = *db_.index(parcels_, "by_owner");
  }
  static Parcel parcel(Key key) {
    Parcel parcel;
    parcel.owner = key % 1009;
    parcel.content.fill(key);
    return parcel;
  }
  static uint64_t in_use(const Statistics& s) { return s.memory.rows + s.memory.versions + s.memory.blocks + s.memory.indexes; }
  Status insert_parcel(Key key) {
    return db_.run([&](Transaction& txn) { return txn.insert(parcels_, key, parcel(key)); });
  }
  Status remove_parcel(Key key) {
    return db_.run([&](Transaction& txn) { return txn.remove(parcels_, key); });
  }
  // Several threads write like this. A thread that loses its processor within a transaction keeps
  // what others remove meanwhile, which can fill the memory. The memory must come back.
  static Status patiently(const std::function<Status()>& write) {
    const auto until = std::chrono::steady_clock::now() + TestStop::kTimeout;
    for (;;) {
      Status status = write();
      if (status.code() != Code::kMemoryLimit || std::chrono::steady_clock::now() > until) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // A queue: the newest key comes, the oldest goes. Keys are first, first + step, ...
  void queue(Key first, Key step, uint64_t count) {
    const auto run = [alone = step == 1](const std::function<Status()>& write) { return alone ? write() : patiently(write); };
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_OK(run([&] { return insert_parcel(first + i * step); })) << "insert " << i;
      if (i >= kAlive) {
        ASSERT_OK(run([&] { return remove_parcel(first + (i - kAlive) * step); })) << "remove " << i;
      }
    }
  }
  void expect_little_left(uint64_t rows) {
    db_.collect_garbage();
    const Statistics rest = db_.statistics();
    EXPECT_EQ(rest.retired_objects, 0u);
    EXPECT_EQ(rest.versions_alive, 0u);
    EXPECT_EQ(rest.tables[0].rows, rows);
    EXPECT_LE(rest.memory.reserved, limit_bytes_);
    // A hashed table keeps the buckets of its largest size (docs/limits.md). While a reader had
    // lost its processor, the table may have grown to the limit. Then the buckets take about 33 of
    // the 275 bytes that each of these rows takes with its entries.
    const uint64_t buckets = GetParam().ordered() ? 0 : rest.memory.reserved / 8;
    EXPECT_LE(in_use(rest), rows * 800 + (1u << 20) + buckets) << rest.to_json();
  }

  uint64_t limit_bytes_ = 0;
  Table<Parcel> parcels_;
  Index<Parcel> by_owner_;
};
ELIDER_ON_EVERY(ChurnStressTest);

// Each thread has memory of its own in hand, and one that loses its processor
// holds what others remove.
class ThreadedChurnStressTest : public ChurnStressTest {
 protected:
  static constexpr uint64_t kLimitBytes = 32u << 20;
  void SetUp() override { open(kLimitBytes); }
};
ELIDER_ON_CONCURRENT(ThreadedChurnStressTest);

// Each row is about 300 bytes with its index entries: this writes several times the limit.
TEST_P(ChurnStressTest, AQueueOfNewKeysNeverMeetsTheLimit) {
  queue(0, 1, std::max<uint64_t>(scaled(400'000), kAlive + 1));
  expect_little_left(kAlive);
}

TEST_P(ChurnStressTest, RandomKeysNeverMeetTheLimit) {
  TestRandom random;
  std::vector<Key> alive;
  for (uint64_t i = 0; i < scaled(300'000); ++i) {
    const Key key = random.next();
    ASSERT_OK(insert_parcel(key));
    alive.push_back(key);
    if (alive.size() <= kAlive) continue;
    std::swap(alive[random.below(alive.size())], alive.back());
    ASSERT_OK(remove_parcel(alive.back()));
    alive.pop_back();
  }
  expect_little_left(alive.size());
}

TEST_P(ChurnStressTest, OneKeyTurnedOverNeverMeetsTheLimit) {
  for (uint64_t i = 0; i < scaled(200'000); ++i) {
    ASSERT_OK(insert_parcel(7)) << "round " << i;
    ASSERT_OK(remove_parcel(7)) << "round " << i;
  }
  expect_little_left(0);
}

TEST_P(ChurnStressTest, AValueThatMovesInTheIndexNeverMeetsTheLimit) {
  for (Key key = 0; key < 100; ++key) ASSERT_OK(insert_parcel(key));
  for (uint64_t i = 0; i < scaled(300'000); ++i)
    ASSERT_OK(db_.run([&](Transaction& txn) {
      return txn.update(parcels_, i % 100, parcels_.columns(&Parcel::owner), [&](Parcel& p) { p.owner = i; });
    }));
  expect_little_left(100);
}

TEST_P(ChurnStressTest, RolledBackInsertsNeverMeetTheLimit) {
  for (uint64_t i = 0; i < scaled(200'000); ++i) {
    const Status status = db_.run([&](Transaction& txn) -> Status {
      if (Status insert = txn.insert(parcels_, i, parcel(i)); !insert.ok()) return insert;
      return Status::rollback();
    });
    ASSERT_CODE(Code::kRolledBack, status) << "round " << i;
  }
  expect_little_left(0);
}

TEST_P(ThreadedChurnStressTest, QueuesOfSeveralThreadsAndReadersNeverMeetTheLimit) {
  const uint64_t count = std::max<uint64_t>(scaled(150'000), kAlive + 1);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      read(db_, [&](Transaction& txn) {
        uint64_t rows = 0;
        EXPECT_OK(txn.scan(by_owner_, {}, {.limit = 500}, [&](Key key, const View<Parcel>& view) {
          EXPECT_EQ(view->content[22], key);
          return ++rows > 0;
        }));
      });
    }
  });
  std::vector<std::thread> writers;
  for (Key thread = 0; thread < 2; ++thread) writers.emplace_back([&, thread] { queue(thread, 2, count); });
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
  expect_little_left(2 * kAlive);
}

// What one thread inserts another removes: memory goes round between their allocators.
TEST_P(ThreadedChurnStressTest, InsertsOfOneThreadAndRemovesOfAnotherNeverMeetTheLimit) {
  const uint64_t count = scaled(300'000);
  std::atomic<uint64_t> inserted{0}, removed{0};
  std::thread remover([&] {
    for (uint64_t i = 0; i < count; ++i) {
      while (inserted.load() <= i) std::this_thread::yield();
      ASSERT_OK(patiently([&] { return remove_parcel(i); })) << "remove " << i;
      removed = i + 1;
    }
  });
  for (uint64_t i = 0; i < count && !HasFatalFailure(); ++i) {
    while (i >= removed.load() + kAlive && !HasFatalFailure()) std::this_thread::yield();
    EXPECT_OK(patiently([&] { return insert_parcel(i); })) << "insert " << i;
    inserted = i + 1;
  }
  remover.join();
  expect_little_left(0);
}

TEST_P(ThreadedChurnStressTest, AStalledReaderShowsAndWhatItHeldGoesAwayAfterIt) {
  queue(0, 1, kAlive);
  db_.collect_garbage();
  const Statistics before = db_.statistics();
  ActiveTransaction stalled = begin_read_only(db_);
  ASSERT_OK(stalled->get(parcels_, 0));
  uint64_t last_alive = 0, last_age = 0;
  for (int round = 0; round < 5; ++round) {
    std::thread([&] {
      for (Key key = 0; key < 1000; ++key) {
        ASSERT_OK(db_.run_read_only([](Transaction&) -> Status { return {}; }));  // a snapshot between the updates
        ASSERT_OK(db_.run([&](Transaction& txn) {
          return txn.update(parcels_, key % 100, parcels_.columns(&Parcel::content), [&](Parcel& p) { p.content[0] = key; });
        }));
      }
    }).join();
    const Statistics held = db_.statistics();
    EXPECT_GT(held.longest_active_us, last_age);
    last_alive = std::max(last_alive, held.versions_alive);
    last_age = held.longest_active_us;
  }
  EXPECT_GE(last_alive, 100u);  // a version at least of each row that it may still read
  EXPECT_GT(db_.statistics().memory.versions, before.memory.versions);
  auto view = stalled->get(parcels_, 5);
  ASSERT_OK(view);
  EXPECT_EQ((*view)->content[0], 5u);
  stalled.rollback();
  db_.collect_garbage();
  const Statistics after = db_.statistics();
  EXPECT_EQ(after.versions_alive, 0u);
  EXPECT_EQ(after.retired_objects, 0u);
  EXPECT_EQ(after.longest_active_us, 0u);
  EXPECT_LE(in_use(after), in_use(before) + (64u << 10));
}

TEST_P(ThreadedChurnStressTest, AReaderThatFillsTheMemoryFailsOthersOnlyWhileItStands) {
  for (Key key = 0; key < 100; ++key) ASSERT_OK(insert_parcel(key));
  ActiveTransaction stalled = begin_read_only(db_);
  Status status;
  std::thread([&] {
    for (Key key = 100; status.ok() && key < 1'000'000; ++key) {
      status = insert_parcel(key);
      if (status.ok()) status = remove_parcel(key);
    }
  }).join();
  EXPECT_CODE(Code::kMemoryLimit, status);
  ASSERT_OK(stalled->get(parcels_, 99));
  stalled.rollback();
  // Retries bring the memory back by themselves, within some attempts.
  int tries = 1;
  for (; tries <= 1000 && !(status = insert_parcel(9'999'999)).ok(); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_OK(status) << tries << " tries";
  ASSERT_OK(remove_parcel(9'999'999));
  expect_little_left(100);
  queue(10'000'000, 2, 2 * kAlive);
  EXPECT_LE(db_.statistics().memory.reserved, kLimitBytes);
}

}  // namespace
}  // namespace elider::test
