// The heap refuses large allocations of all threads. Then a commit is refused, or a group is
// written in smaller pieces, or the log fails and reports this. The process does not end, and
// acknowledged commits are durable.
//
// This file replaces operator new for the whole test program. It is not inlined, because gcc would
// otherwise warn of a mismatch between new and free().
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/log_test_support.h"

namespace {

std::atomic<size_t> largest{~size_t{0}};  // the largest allocation that succeeds

void* allocate_or_null(size_t bytes) { return bytes > largest.load() ? nullptr : std::malloc(bytes != 0 ? bytes : 1); }
void* allocate_or_throw(size_t bytes) {
  void* const memory = allocate_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) { return allocate_or_throw(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes) { return allocate_or_throw(bytes); }
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
[[gnu::noinline]] void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace elider::log {
namespace {

// While this exists, larger allocations fail.
class Limit {
 public:
  explicit Limit(size_t bytes) { largest.store(bytes); }
  ~Limit() { largest.store(~size_t{0}); }
};

// Accepts all writes, without using memory.
class NoFile final : public File {
 public:
  explicit NoFile(const std::string& path) : File(path) {}
  Status write_at(uint64_t, std::span<const std::byte>) override { return {}; }
  Status sync() override { return {}; }
  Status read_at(uint64_t, std::span<std::byte>, size_t* count) override { return *count = 0, Status(); }
  Status size(uint64_t* bytes) override { return *bytes = 0, Status(); }
};
class NoFolder final : public Folder {
 public:
  NoFolder() : Folder("db") {}
  Status open(const std::string& name, OpenMode, std::unique_ptr<File>* file) override {
    return *file = std::make_unique<NoFile>(path_of(name)), Status();
  }
  Status list(std::vector<std::string>* names) override { return names->clear(), Status(); }
  Status rename(const std::string&, const std::string&) override { return {}; }
  Status remove(const std::string&) override { return {}; }
  Status sync() override { return {}; }
  Status sync_name() override { return {}; }
  Status hold(Hold) override { return {}; }
  Status hold_file(const std::string&, Hold, std::unique_ptr<File>*) override { return {}; }
  Status check_place() override { return {}; }
  Status remove_folder() override { return {}; }
};

class LogHeap : public testing::Test {
 protected:
  void SetUp() override {
    LogOptions options;
    options.folders = {&folder_};
    options.buffer_bytes = 1u << 20;
    running_.numbers = std::make_unique<TestNumbers>();
    ASSERT_TRUE(Log::start(options, DatabaseId{1, 2}, 1, *running_.numbers, &running_.log).ok());
  }
  Status commit(size_t bytes) { return running_.commit(0, std::string(bytes, 'x'), &number_); }

  NoFolder folder_;
  Running running_;
  uint64_t number_ = 0;
};

TEST_F(LogHeap, ACommitWithoutRoomIsRefusedAndTheLogGoesOn) {
  {
    const Limit limit(100'000);
    EXPECT_EQ(commit(10).code(), Code::kMemoryLimit) << "the buffer";
  }
  EXPECT_TRUE(commit(10).ok());
  const std::string large(700'000, 'x');
  std::byte* place = nullptr;
  {
    const Limit limit(600'000);
    EXPECT_EQ(running_.log->reserve(0, large.size(), &place).code(), Code::kMemoryLimit) << "a block of its own";
  }
  EXPECT_TRUE(commit(large.size()).ok());
  EXPECT_TRUE(running_.log->wait_durable(number_).ok());
  EXPECT_EQ(running_.log->facts().records, 2u);
}

TEST_F(LogHeap, AGroupThatDoesNotFitIsWrittenInPieces) {
  ASSERT_TRUE(commit(10).ok());
  ASSERT_TRUE(running_.log->wait_durable(number_).ok());
  const std::string text(60'000, 'x');
  const Limit limit(150'000);
  std::byte* place = nullptr;
  ASSERT_TRUE(running_.log->reserve(0, 10, &place).ok());
  running_.log->begin_commit(0);
  for (int i = 0; i < 8; ++i) {
    running_.log->publish(0, number_ = running_.numbers->current(), i == 0 ? 10 : text.size());
    ASSERT_TRUE(running_.log->reserve(0, text.size(), &place).ok());
  }
  running_.log->end_commit(0);
  EXPECT_TRUE(running_.log->wait_durable(number_).ok());
  EXPECT_EQ(running_.log->facts().records, 9u);
  EXPECT_GE(running_.log->facts().frames, 4u);
}

TEST_F(LogHeap, ARecordThatFitsNowhereFailsTheLog) {
  ASSERT_TRUE(commit(10).ok());
  ASSERT_TRUE(running_.log->wait_durable(number_).ok());
  const uint64_t durable = running_.log->durable();
  std::byte* place = nullptr;
  const Limit limit(100'000);
  ASSERT_TRUE(running_.log->reserve(0, 300'000, &place).ok()) << "the ring has the room";
  running_.log->begin_commit(0);
  running_.log->publish(0, number_ = running_.numbers->current(), 300'000);
  running_.log->end_commit(0);
  EXPECT_EQ(running_.log->wait_durable(number_).code(), Code::kMemoryLimit);
  EXPECT_EQ(commit(10).code(), Code::kMemoryLimit);
  EXPECT_LT(running_.log->durable(), number_);
  EXPECT_GE(running_.log->durable(), durable);
}

}  // namespace
}  // namespace elider::log
