// The durable heap by itself: what its transactions see and keep, its statuses, its allocator, and
// concurrent threads.
#include "elider/heap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "elider/try.h"
#include "tests/heap/heap_fixture.h"
#include "tests/support/random.h"
#include "tests/support/status_matchers.h"

namespace elider::test {
namespace {

struct Counter {
  uint64_t hits;
  uint32_t small;
  char letter;
};
struct Cells {
  uint64_t values[512];
};

class HeapTest : public testing::TestWithParam<std::pair<HeapMedium, HeapIsolation>>, protected HeapFixture {
 protected:
  HeapTest() {
    options_.medium = GetParam().first;
    options_.isolation = GetParam().second;
    options_.flush_ns = 0;
    options_.capacity_bytes = 64 << 20;
    options_.log_bytes = 1 << 20;
    options_.markers = 256;
    reopen();
  }
};

std::string name_of_parameter(const testing::TestParamInfo<HeapTest::ParamType>& info) {
  return std::string(name_of(info.param.first)) + "_" + std::string(name_of(info.param.second));
}
INSTANTIATE_TEST_SUITE_P(On, HeapTest,
                         testing::Values(std::pair{HeapMedium::kFile, HeapIsolation::kSerializable},
                                         std::pair{HeapMedium::kDelay, HeapIsolation::kSerializable},
                                         std::pair{HeapMedium::kDelay, HeapIsolation::kSnapshot}),
                         name_of_parameter);

TEST_P(HeapTest, WhatIsCommittedIsThereInTheNextProcess) {
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto counter, txn.root<Counter>("counter"));
    txn.write(txn[counter].hits, 7);
    txn.write(txn[counter].small, 8);
    txn.write(txn[counter].letter, 'x');
    EXPECT_EQ(txn.read(txn[counter].hits), 7u);
    return {};
  }));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(heap_.read([&](HeapReader& reader) -> Status {
      ELIDER_ASSIGN(const auto counter, reader.root<Counter>("counter"));
      const Counter read = reader.read(reader[counter]);
      EXPECT_EQ(read.hits, 7u);
      EXPECT_EQ(read.small, 8u);
      EXPECT_EQ(read.letter, 'x');
      return {};
    }));
    reopen();
  }
}

TEST_P(HeapTest, WhatFailsOrThrowsDoesNothing) {
  const auto spoil = [](HeapTransaction& txn) {
    auto counter = txn.root<Counter>("counter");
    EXPECT_OK(counter);
    txn.write(txn[*counter].hits, 1);
  };
  EXPECT_CODE(Code::kRolledBack, heap_.transaction([&](HeapTransaction& txn) {
    spoil(txn);
    return Status::rollback();
  }));
  EXPECT_REFUSED(Code::kProcedureThrew, "in its words", heap_.transaction([&](HeapTransaction& txn) {
    spoil(txn);
    throw std::runtime_error("in its words");
  }));
  EXPECT_CODE(Code::kNotFound, heap_.read([&](HeapReader& reader) { return reader.root<Counter>("counter").status(); }));
  EXPECT_EQ(check().blocks, 0u);
}

TEST_P(HeapTest, MistakesAreRefusedInWords) {
  uint64_t local = 0;
  EXPECT_REFUSED(Code::kInvalidArgument, "outside the heap", heap_.transaction([&](HeapTransaction& txn) { txn.write(local, 1); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "offset 12345672",
                 heap_.transaction([&](HeapTransaction& txn) { static_cast<void>(txn.free(HeapPtr<Counter>::at(12345672))); }));
  const HeapPtr<Counter> null;
  EXPECT_REFUSED(Code::kInvalidArgument, "is the HeapPtr null?",
                 heap_.transaction([&](HeapTransaction& txn) { txn.write(txn[null], {}); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "is the HeapPtr null?", heap_.transaction([&](HeapTransaction& txn) { txn.claim(txn[null]); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "inside a heap's procedure",
                 heap_.read([&](HeapReader&) { return heap_.transaction([](HeapTransaction&) {}); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "inside a heap's procedure", heap_.transaction([&](HeapTransaction&) { return heap_.persist(); }));
  EXPECT_OK(heap_.transaction([&](HeapTransaction&) { EXPECT_GT(heap_.status().used_bytes, 0u); }));
  {
    auto other = Heap::open((folder_.path() / "other.heap").string(), 1 << 20, options_);
    ASSERT_OK(other);
    EXPECT_REFUSED(Code::kInvalidArgument, "inside a heap's procedure",
                   heap_.transaction([&](HeapTransaction&) { return other->read([](HeapReader&) {}); }));
  }
  EXPECT_REFUSED(Code::kInvalidArgument, "1 to 255",
                 heap_.transaction([&](HeapTransaction& txn) { return txn.root<Counter>("").status(); }));
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.root<Counter>("counter").status(); }));
  EXPECT_REFUSED(Code::kSchemaMismatch, "Counter",
                 heap_.transaction([&](HeapTransaction& txn) { return txn.root<Cells>("counter").status(); }));
  EXPECT_REFUSED(Code::kMemoryLimit, "capacity_bytes",
                 heap_.transaction([&](HeapTransaction& txn) { return txn.allocate<std::byte>(1 << 30).status(); }));
  EXPECT_REFUSED(Code::kInvalidArgument, "in use", Heap::open(path_, 1 << 20, options_));
  HeapOptions wrong = options_;
  wrong.markers = 1000;
  EXPECT_REFUSED(Code::kInvalidArgument, "markers", Heap::open(path_, 1 << 20, wrong));
  wrong = options_;
  wrong.wait = HeapWait::kOwn;
  wrong.backend = HtmBackend::kAlwaysAborts;
  EXPECT_REFUSED(Code::kInvalidArgument, "requires backend 'none'", Heap::open((folder_.path() / "b.heap").string(), 1 << 20, wrong));
  wrong = options_;
  wrong.medium = HeapMedium::kDax;
  EXPECT_REFUSED(Code::kUnsupported, "persistent memory", Heap::open((folder_.path() / "b.heap").string(), 1 << 20, wrong));
  std::ofstream(folder_.path() / "c.heap") << std::string(10'000, 'x');
  EXPECT_REFUSED(Code::kCorrupt, "c.heap", Heap::open((folder_.path() / "c.heap").string(), 1 << 20, options_));
  EXPECT_CODE(Code::kNotFound, Heap::check((folder_.path() / "d.heap").string()));
  // And the heap continues.
  EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.root<Counter>("counter").status(); }));
}

TEST_P(HeapTest, ATransactionThatTheLogHasNoRoomForIsRefused) {
  const Status status = heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto words, txn.allocate<uint64_t>(100'000));
    for (uint64_t i = 0; i < 100'000; ++i) txn.write((&txn[words])[i], i);
    return {};
  });
  EXPECT_REFUSED(Code::kMemoryLimit, "log_bytes", status);
  EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.root<Counter>("counter").status(); }));
}

// Half of log_bytes, whether the log is empty or full: 8 bytes a word, and 8 for each run of
// neighbours.
TEST_P(HeapTest, HowMuchATransactionMayWriteDoesNotDependOnTheLog) {
  constexpr uint64_t kMost = (1 << 19) / 8;
  HeapPtr<uint64_t> words;
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(words, txn.allocate<uint64_t>(2 * kMost));
    return {};
  }));
  const auto write = [&](uint64_t count) {
    return heap_.transaction([&](HeapTransaction& txn) {
      for (uint64_t i = 0; i < count; ++i) txn.write((&txn[words])[i], i + 1);
    });
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(write(kMost - 2));  // two runs, because a run has at most 65,535 words
    EXPECT_REFUSED(Code::kMemoryLimit, "log_bytes", write(kMost));
  }
}

TEST_P(HeapTest, ALargeObjectIsUsedAgainAndIsZero) {
  constexpr uint64_t kWords = 500'000;  // 4 MB; the log has 1 MiB
  uint64_t used = 0;
  for (uint64_t round = 1; round <= 4; ++round) {
    HeapPtr<uint64_t> words;
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(words, txn.allocate<uint64_t>(kWords));
      txn.write((&txn[words])[7], round);
      EXPECT_EQ(txn.read((&txn[words])[8]), 0u);
      return {};
    }));
    if (round == 3) reopen();
    ASSERT_OK(heap_.read([&](HeapReader& reader) {
      for (uint64_t i = 0; i < kWords; ++i) ASSERT_EQ(reader.read((&reader[words])[i]), i == 7 ? round : 0) << i;
    }));
    for (uint64_t i = 0; i < kWords; i += 10'000)
      ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) {
        for (uint64_t k = i; k < i + 10'000; ++k) txn.write((&txn[words])[k], k + round);
      }));
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.free(words); }));
    if (round == 1) used = heap_.status().used_bytes;
    EXPECT_EQ(heap_.status().used_bytes, used);
  }
  EXPECT_EQ(check().lost_bytes, 0u);
}

// Transactions do not wait for each other in a cycle, whether they write or only read.
TEST_P(HeapTest, UnderEveryWaitEverybodyEnds) {
  for (const HeapWait wait : {HeapWait::kTotal, HeapWait::kOwn}) {
    if (wait == HeapWait::kOwn && options_.backend != HtmBackend::kAutomatic) continue;
    options_.wait = wait;
    reopen();
    HeapPtr<Cells> cells;
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(cells, txn.root<Cells>("cells"));
      return {};
    }));
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (uint64_t i = 0; i < scaled(options_.medium == HeapMedium::kFile ? 40 : 1000); ++i)
          EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) {
            const uint64_t sum = txn.read(txn[cells].values[0]) + txn.read(txn[cells].values[8]);
            std::this_thread::yield();
            if (t == 0) txn.write(txn[cells].values[i % 2 * 8], sum + 1);
          }));
      });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_P(HeapTest, AFootprintIsOfLines) {
  HeapPtr<uint64_t> words;
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(words, txn.allocate<uint64_t>(10'000));
    return {};
  }));
  HeapFootprint before, after;
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) {
    before = txn.footprint();
    uint64_t* const its = &txn[words];
    for (uint64_t i = 0; i < 100; ++i) static_cast<void>(txn.read(its[i * 8]));
    for (uint64_t i = 0; i < 100; ++i) static_cast<void>(txn.read(its[i * 8]));
    for (uint64_t i = 0; i < 30; ++i) txn.write(its[2000 + i * 8], 1);
    for (uint64_t i = 0; i < 30; ++i) txn.write(its[2000 + i * 8], 2);
    after = txn.footprint();
  }));
  EXPECT_EQ(before.lines_read, 0u);
  EXPECT_EQ(before.lines_written, 0u);
  EXPECT_EQ(after.lines_read, options_.isolation == HeapIsolation::kSnapshot ? 0u : 100u);
  EXPECT_EQ(after.lines_written, 30u);
}

TEST_P(HeapTest, RootsAreForgottenByName) {
  for (const char* name : {"a", "b", "c"})
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.root<Counter>(name).status(); }));
  EXPECT_EQ(check().roots, 3u);
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.remove_root("b"); }));
  EXPECT_CODE(Code::kNotFound, heap_.transaction([&](HeapTransaction& txn) { return txn.remove_root("b"); }));
  EXPECT_OK(heap_.read([&](HeapReader& reader) { return reader.root<Counter>("c").status(); }));
  const HeapCheck checked = check();
  EXPECT_EQ(checked.roots, 2u);
  EXPECT_EQ(checked.lost_bytes, 0u);
}

// Blocks of all sizes, allocated and freed at random, some by transactions that are rolled back:
// each keeps its contents, none overlap, all bytes are accounted for, and the heap grows.
TEST_P(HeapTest, TheAllocatorLosesNothing) {
  struct Block {
    HeapPtr<std::byte> at;
    uint64_t bytes;
    uint8_t fill;
  };
  TestRandom random(1);
  std::vector<Block> blocks;
  for (uint64_t round = 0; round < scaled(1500); ++round) {
    std::vector<Block> now;
    const bool keeps = random.below(4) != 0;
    const Status status = heap_.transaction([&](HeapTransaction& txn) -> Status {
      now = blocks;  // the procedure may run again if the log is full
      for (uint64_t i = 0; i < 4; ++i) {
        if (now.size() > 200 || (!now.empty() && random.below(3) == 0)) {
          const size_t which = random.below(now.size());
          std::vector<std::byte> bytes(now[which].bytes);
          txn.read_bytes(&txn[now[which].at], bytes);
          for (const std::byte byte : bytes)
            if (byte != std::byte{now[which].fill}) return Status::invalid_argument("changed");
          ELIDER_TRY(txn.free(now[which].at));
          now[which] = now.back();
          now.pop_back();
        } else {
          const uint64_t bytes = random.below(10) == 0 ? 1 + random.below(40'000) : 1 + random.below(500);
          ELIDER_ASSIGN(auto block, txn.allocate<std::byte>(bytes));
          std::vector<std::byte> contents(bytes);
          txn.read_bytes(&txn[block], contents);
          for (const std::byte byte : contents)
            if (byte != std::byte{0}) return Status::invalid_argument("not 0");
          const auto fill = static_cast<uint8_t>(1 + random.below(255));
          std::fill(contents.begin(), contents.end(), std::byte{fill});
          txn.write_bytes(&txn[block], contents);
          now.push_back({block, bytes, fill});
        }
      }
      return keeps ? Status() : Status::rollback();
    });
    if (keeps) {
      ASSERT_OK(status);
      blocks = now;
    } else {
      ASSERT_CODE(Code::kRolledBack, status);
    }
    if (round % 500 == 499) {
      const HeapCheck checked = check();
      EXPECT_EQ(checked.blocks, blocks.size());
      EXPECT_EQ(checked.lost_bytes, 0u);
      EXPECT_EQ(checked.block_bytes + checked.free_bytes + checked.unused_bytes + 16 * (heap_.status().used_bytes / (64 << 10)) <
                    heap_.status().used_bytes,
                true);
    }
  }
}

// Sums hold in every view, and in the end all moves are there.
TEST_P(HeapTest, TransfersOfManyThreadsKeepTheSum) {
  constexpr uint64_t kAccounts = 40, kEach = 100;
  HeapPtr<Cells> cells;
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(cells, txn.root<Cells>("cells"));
    for (uint64_t i = 0; i < kAccounts; ++i) txn.write(txn[cells].values[i * 8], kEach);
    return {};
  }));
  std::atomic<uint64_t> wrong{0}, running{2};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      TestRandom random(100 + t);
      for (uint64_t i = 0; i < scaled(options_.medium == HeapMedium::kFile ? 150 : 5000); ++i) {
        const uint64_t from = 8 * random.below(kAccounts), to = 8 * random.below(kAccounts);
        EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) {
          auto& values = txn[cells].values;
          if (txn.read(values[from]) == 0) return;
          txn.write(values[from], txn.read(values[from]) - 1);
          txn.write(values[to], txn.read(values[to]) + 1);
        }));
      }
      running.fetch_sub(1);
    });
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (running.load() != 0) {
        uint64_t sum = 0;
        EXPECT_OK(heap_.read([&](HeapReader& reader) {
          for (uint64_t i = 0; i < kAccounts; ++i) sum += reader.read(reader[cells].values[i * 8]);
        }));
        if (sum != kAccounts * kEach) wrong.fetch_add(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  reopen();
  uint64_t sum = 0;
  EXPECT_OK(heap_.read([&](HeapReader& reader) {
    for (uint64_t i = 0; i < kAccounts; ++i) sum += reader.read(reader[cells].values[i * 8]);
  }));
  EXPECT_EQ(sum, kAccounts * kEach);
}

TEST_P(HeapTest, StatusSaysWhatTheProcessorsRegionsSuspend) {
  if (options_.backend != HtmBackend::kRtm) GTEST_SKIP() << "of ELIDER_HEAP_BACKEND=rtm";
  EXPECT_EQ(heap_.status().backend.substr(0, 3), "RTM");
  options_.suspended_reads = false;
  reopen();
  EXPECT_EQ(heap_.status().backend, "RTM");
}

// Two transactions each read both words and write one. Only snapshot isolation lets both commit.
TEST_P(HeapTest, WriteSkewIsPossibleUnderSnapshotIsolationAlone) {
  if (options_.backend != HtmBackend::kAutomatic) GTEST_SKIP() << "procedures that wait for each other run in software, alone";
  HeapPtr<Cells> cells;
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(cells, txn.root<Cells>("cells"));
    return {};
  }));
  std::atomic<int> read{0};
  uint64_t sums[2] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      bool first = true;
      EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) {
        auto& values = txn[cells].values;
        sums[t] = txn.read(values[0]) + txn.read(values[64]);
        if (first) {
          read.fetch_add(1);
          while (read.load() < 2) std::this_thread::yield();
        }
        first = false;
        txn.write(values[t == 0 ? 0 : 64], 1);
      }));
    });
  for (std::thread& thread : threads) thread.join();
  if (options_.isolation == HeapIsolation::kSnapshot)
    EXPECT_EQ(sums[0] + sums[1], 0u);
  else
    EXPECT_EQ(sums[0] + sums[1], 1u);
}

// Far more than the log and its markers hold, under all three ways of replaying.
TEST_P(HeapTest, TheLogGoesRoundAndRound) {
  for (const bool background : {false, true}) {
    options_.background_replay = background;
    options_.durability = HeapDurability::kLater;
    reopen();
    HeapPtr<Cells> cells;
    for (uint64_t i = 1; i <= 3000; ++i)
      ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
        ELIDER_ASSIGN(cells, txn.root<Cells>("cells"));
        for (uint64_t k = 0; k < 100; ++k) txn.write(txn[cells].values[(i * 7 + k) % 512], i);
        return {};
      }));
    ASSERT_OK(heap_.persist());
    EXPECT_GT(heap_.status().replays, 5u);
    reopen();
    EXPECT_OK(heap_.read([&](HeapReader& reader) {
      for (uint64_t k = 0; k < 100; ++k) EXPECT_EQ(reader.read(reader[cells].values[(3000 * 7 + k) % 512]), 3000u);
    }));
  }
}

TEST_P(HeapTest, ThreadsBeyondTheSlotsWaitForOne) {
  options_.threads_max = 2;
  path_ = (folder_.path() / "few.heap").string();
  reopen();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        EXPECT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
          ELIDER_ASSIGN(auto counter, txn.root<Counter>("counter"));
          txn.write(txn[counter].hits, txn.read(txn[counter].hits) + 1);
          return {};
        }));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(heap_.read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto counter, reader.root<Counter>("counter"));
    EXPECT_EQ(reader.read(reader[counter].hits), 120u);
    return {};
  }));
}

TEST_P(HeapTest, ACapacityThatIsNoMultipleOfAnythingHolds) {
  options_.capacity_bytes = (1 << 20) + 5;
  path_ = (folder_.path() / "odd.heap").string();
  heap_ = {};
  auto opened = Heap::open(path_, options_.capacity_bytes, options_);
  ASSERT_OK(opened);
  *opened = Heap();
  reopen();
  const Status full = heap_.transaction([](HeapTransaction& txn) {
    Status status;
    while (status.ok()) status = txn.allocate<std::byte>(1000).status();
    return status;
  });
  EXPECT_REFUSED(Code::kMemoryLimit, "capacity_bytes", full);
  EXPECT_OK(heap_.transaction([](HeapTransaction& txn) { return txn.allocate<std::byte>(1000).status(); }));
}

class HeapFileTest : public testing::Test, protected HeapFixture {
 protected:
  HeapFileTest() {
    options_.medium = HeapMedium::kDelay;
    options_.flush_ns = 0;
    options_.capacity_bytes = 64 << 20;
    options_.log_bytes = 64 << 10;
    options_.markers = 256;
    options_.threads_max = 2;
  }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void set_contents(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
};

TEST_F(HeapFileTest, NoObjectIsLargerThanTheLargestBlock) {
  options_.medium = HeapMedium::kFile;
  options_.capacity_bytes = uint64_t{16} << 40;
  auto opened = Heap::open(path_, 1 << 20, options_);
  if (opened.status().code() == Code::kMemoryLimit) GTEST_SKIP() << "no address space of 16 TiB";
  ASSERT_OK(opened);
  EXPECT_REFUSED(Code::kMemoryLimit, "8 TiB",
                 opened->transaction([](HeapTransaction& txn) { return txn.allocate<std::byte>(uint64_t{9} << 40).status(); }));
}

// A program opens what is left of a heap's file. It succeeds, or says why not and changes nothing.
TEST_F(HeapFileTest, AFileThatWasCutShortIsRefused) {
  reopen();
  ASSERT_OK(heap_.transaction([](HeapTransaction& txn) { return txn.root<Cells>("cells").status(); }));
  for (int i = 0; i < 30; ++i) ASSERT_OK(heap_.transaction([](HeapTransaction& txn) { return txn.allocate<std::byte>(90'000).status(); }));
  const uint64_t log_bytes = heap_.status().log_bytes, used = heap_.status().used_bytes;
  heap_ = {};
  const std::string whole = contents();
  ASSERT_GT(used, 2u << 20);
  for (const HeapMedium medium : {HeapMedium::kFile, HeapMedium::kDelay})
    for (const uint64_t bytes : {uint64_t{17}, uint64_t{100}, uint64_t{5000}, log_bytes - 1, log_bytes, log_bytes + 4096,
                                 log_bytes + (1 << 20) + 1, log_bytes + used - 1}) {
      SCOPED_TRACE(std::string(name_of(medium)) + ", cut to " + std::to_string(bytes));
      const std::string cut = whole.substr(0, bytes);
      set_contents(cut);
      options_.medium = medium;
      const auto opened = Heap::open(path_, 1 << 20, options_);
      EXPECT_CODE(Code::kCorrupt, opened);
      EXPECT_TRUE(contents() == cut);
      EXPECT_CODE(Code::kCorrupt, Heap::check(path_));
    }
}

TEST_F(HeapFileTest, WhatIsNoHeapIsLeftAlone) {
  for (const std::string& bytes : {std::string(1 << 20, '\0'), std::string(17, '\0'), std::string("elider"), std::string("some text")}) {
    set_contents(bytes);
    EXPECT_CODE(bytes == "elider" ? Code::kOk : Code::kCorrupt, Heap::open(path_, 1 << 20, options_));
    if (bytes != "elider") {
      EXPECT_TRUE(contents() == bytes);
    }
  }
}

TEST_F(HeapFileTest, AMakingThatWasCutShortBeginsAnew) {
  options_.threads_max = 1;
  reopen();
  heap_ = {};
  const std::string whole = contents();
  options_.threads_max = 8;
  for (const std::string& begun :
       {std::string(), std::string(16, '\0'), std::string("elider heap new", 16), std::string("elider heap new", 16) + whole.substr(16)}) {
    set_contents(begun);
    EXPECT_CODE(Code::kCorrupt, Heap::check(path_));
    EXPECT_TRUE(contents() == begun);
    reopen();
    ASSERT_OK(heap_.transaction([](HeapTransaction& txn) { return txn.root<Cells>("cells").status(); }));
    const HeapCheck checked = check();
    EXPECT_EQ(checked.roots, 1u);
    EXPECT_EQ(checked.lost_bytes, 0u);
    heap_ = {};
  }
}

TEST_F(HeapFileTest, ACheckFindsABlockThatIsFreeTwice) {
  reopen();
  HeapPtr<Counter> blocks[2];
  for (HeapPtr<Counter>& block : blocks)
    ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(block, txn.make<Counter>({1, 2, 'x'}));
      return {};
    }));
  for (const HeapPtr<Counter>& block : blocks) ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { return txn.free(block); }));
  EXPECT_EQ(check().free_blocks, 2u);
  // The list's first block, the second one freed, leads to itself, not to the other.
  ASSERT_OK(heap_.transaction([&](HeapTransaction& txn) { txn.write(txn[blocks[1]].hits, blocks[1].offset() - 8); }));
  heap_ = {};
  EXPECT_REFUSED(Code::kCorrupt, "twice", Heap::check(path_));
}

}  // namespace
}  // namespace elider::test
