// The process's heap is exhausted at each allocation of a transaction in turn, on a working disk
// and on one that fails at each call. Story: the transaction commits completely or not at all, and
// no thread waits for it forever.
#include <gtest/gtest.h>

#include <string>

#include "elider/heap.h"
#include "elider/try.h"
#include "tests/support/memory_files.h"
#include "tests/support/limited_heap.h"
#include "tests/heap/defaults.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

using DiskCall = io::MemoryFiles::Call;

struct Cell {
  uint64_t values[100];
};

HeapOptions small_log() {
  HeapOptions options;
  set_backend(options);
  options.threads_max = 2;
  options.log_bytes = 64 << 10;
  options.markers = 256;
  options.capacity_bytes = 16 << 20;
  options.background_replay = false;
  return options;
}

// Writes, allocates a block that was used before, and allocates a new one.
Status change(Heap& heap, uint64_t value) {
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto cell, txn.root<Cell>("cell"));
    for (uint64_t& place : txn[cell].values) txn.write(place, value);
    ELIDER_ASSIGN(auto block, txn.allocate<std::byte>(1000));
    ELIDER_TRY(txn.free(block));
    return txn.allocate<std::byte>(1000).status();
  });
}

uint64_t cell_of(Heap& heap) {
  uint64_t value = 0;
  EXPECT_OK(heap.read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto cell, reader.root<Cell>("cell"));
    value = reader.read(reader[cell].values[0]);
    for (const uint64_t& place : reader[cell].values) EXPECT_EQ(reader.read(place), value) << "half of a transaction";
    return {};
  }));
  return value;
}

TEST(HeapExhaustedTest, ATransactionWithoutMemoryIsRolledBack) {
  io::MemoryFiles files;
  const io::SubstituteFiles substitute(files);
  uint64_t failures = 0;
  bool enough = false;
  for (int64_t allocations = 0; !enough; ++allocations) {
    auto heap = Heap::open("/disk/" + std::to_string(allocations) + ".heap", 1 << 20, small_log());
    ASSERT_OK(heap);
    ASSERT_OK(change(*heap, 1));
    const Status status = limited(
        allocations, [&] { return change(*heap, 2); }, &enough);
    if (status.ok()) {
      EXPECT_EQ(cell_of(*heap), 2u);
    } else {
      ++failures;
      EXPECT_TRUE(status.code() == Code::kMemoryLimit || status.code() == Code::kProcedureThrew || status.code() == Code::kIoError)
          << status.message();
      EXPECT_EQ(cell_of(*heap), status.code() == Code::kIoError ? 2u : 1u);
    }
    if (status.code() != Code::kIoError) {
      EXPECT_OK(change(*heap, 3));
      EXPECT_OK(heap->persist());
    }
  }
  EXPECT_GT(failures, 3u);
}

// There is not even memory for the disk's error message.
TEST(HeapExhaustedTest, ADiskThatFailsWithoutMemoryStopsTheHeap) {
  uint64_t stopped = 0;
  for (const DiskCall::Kind kind : {DiskCall::Kind::kWrite, DiskCall::Kind::kSync}) {
    bool enough = false;
    for (int64_t allocations = 0; !enough; ++allocations) {
      io::MemoryFiles files;
      const io::SubstituteFiles substitute(files);
      auto heap = Heap::open("/disk/a.heap", 1 << 20, small_log());
      ASSERT_OK(heap);
      ASSERT_OK(change(*heap, 1));
      files.refuse_with(
          [kind](const DiskCall& call) { return call.kind == kind ? Status(Code::kIoError, std::string(100, 'x')) : Status(); });
      const Status status = limited(
          allocations, [&] { return change(*heap, 2); }, &enough);
      EXPECT_FALSE(status.ok());
      if (status.code() == Code::kIoError) {
        ++stopped;
        EXPECT_CODE(Code::kIoError, change(*heap, 3));
        EXPECT_CODE(Code::kIoError, heap->persist());
        EXPECT_EQ(cell_of(*heap), 2u);
      }
    }
  }
  EXPECT_GT(stopped, 2u);
}

TEST(HeapExhaustedTest, AReplayWithoutMemoryCanBeTriedAgain) {
  const TemporaryFolder folder("exhausted");
  bool enough = false;
  for (int64_t allocations = 0; !enough; ++allocations) {
    const std::string path = (folder.path() / (std::to_string(allocations) + ".heap")).string();
    auto heap = Heap::open(path, 1 << 20, small_log());
    ASSERT_OK(heap);
    ASSERT_OK(change(*heap, 1));
    const Status status = limited(
        allocations, [&] { return heap->replay(); }, &enough);
    EXPECT_TRUE(status.ok() || status.code() == Code::kMemoryLimit) << status.message();
    EXPECT_OK(heap->replay());
    ASSERT_OK(change(*heap, 2));
    bool closed = false;
    EXPECT_OK(limited(
        allocations,
        [&] {
          *heap = Heap();
          return Status();
        },
        &closed));
    auto again = Heap::open(path, 1 << 20, small_log());
    ASSERT_OK(again);
    EXPECT_EQ(cell_of(*again), 2u);
  }
}

}  // namespace
}  // namespace elider::test
