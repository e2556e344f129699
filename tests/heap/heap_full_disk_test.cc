// A heap on a full disk: a file system in memory of a few MiB, which needs the right to mount one.
// Reading a hole of a file takes room there. If none is left, a signal ends the process that reads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "elider/heap.h"
#include "elider/try.h"
#include "tests/heap/defaults.h"
#include "tests/heap/golden_heap.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {
namespace {

struct DiskBlock {
  uint64_t words[1000];
};

// The disk is mounted in this thread's own namespace, so that nothing is left behind.
class SmallDisk {
 public:
  SmallDisk() : folder_("disk") {
    mounted_ = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  bool is_mounted() const { return mounted_; }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  uint64_t room() const {
    struct statvfs facts;
    return ::statvfs(folder_.path().c_str(), &facts) == 0 ? facts.f_bavail * facts.f_bsize : ~uint64_t{0};
  }
  // Uses all room that is left.
  void fill() const {
    const int file = ::open(path("filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string page(4096, 'x');
    while (::write(file, page.data(), page.size()) > 0) {
    }
    ::close(file);
    EXPECT_EQ(room(), 0u);
  }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

HeapOptions disk_options(HeapMedium medium) {
  HeapOptions options;
  set_backend(options);
  options.medium = medium;
  options.flush_ns = 0;
  options.threads_max = 2;
  options.log_bytes = 64 << 10;
  options.markers = 256;
  options.capacity_bytes = 64 << 20;
  return options;
}

class HeapFullDiskTest : public testing::TestWithParam<HeapMedium> {
 protected:
  void SetUp() override {
    if (!disk_.is_mounted()) GTEST_SKIP() << "no file system can be mounted here";
  }
  SmallDisk disk_;
};
INSTANTIATE_TEST_SUITE_P(On, HeapFullDiskTest, testing::Values(HeapMedium::kFile, HeapMedium::kDelay),
                         [](const auto& info) { return std::string(name_of(info.param)); });

Status write_block(Heap& heap, uint64_t value) {
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto block, txn.root<DiskBlock>("block"));
    for (uint64_t& word : txn[block].words) txn.write(word, value);
    return {};
  });
}
uint64_t block_of(Heap& heap) {
  uint64_t value = 0;
  EXPECT_OK(heap.read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto block, reader.root<DiskBlock>("block"));
    value = reader.read(reader[block].words[999]);
    return {};
  }));
  return value;
}

TEST_P(HeapFullDiskTest, AHeapThatHasNoRoomIsNotMade) {
  HeapOptions options = disk_options(GetParam());
  options.log_bytes = 4 << 20;
  EXPECT_REFUSED(Code::kIoError, "reserve", Heap::open(disk_.path("a.heap"), 1 << 20, options));
  EXPECT_REFUSED(Code::kIoError, "'" + disk_.path("a.heap") + "'", Heap::open(disk_.path("a.heap"), 1 << 20, options));
  EXPECT_GT(disk_.room(), 3u << 20);  // it took none
  EXPECT_OK(Heap::open(disk_.path("a.heap"), 1 << 20, disk_options(GetParam())));
}

// The heap itself fills the disk. It continues within the room that it has, and is opened again.
TEST_P(HeapFullDiskTest, AHeapThatFilledTheDiskGoesOn) {
  const HeapOptions options = disk_options(GetParam());
  {
    auto heap = Heap::open(disk_.path("a.heap"), options);
    ASSERT_OK(heap);
    ASSERT_OK(write_block(*heap, 1));
    Status status;
    while (status.ok()) status = heap->transaction([](HeapTransaction& txn) { return txn.allocate<DiskBlock>().status(); });
    EXPECT_REFUSED(Code::kIoError, "'" + disk_.path("a.heap") + "'", status);
    EXPECT_GT(heap->status().heap_bytes, 3u << 20);  // not twice its size, but what there was room for
    disk_.fill();
    for (uint64_t i = 2; i <= 300; ++i) ASSERT_OK(write_block(*heap, i));
    EXPECT_EQ(heap->status().read_only_because, "");
  }
  EXPECT_OK(Heap::check(disk_.path("a.heap")));
  auto heap = Heap::open(disk_.path("a.heap"), options);
  ASSERT_OK(heap);
  EXPECT_EQ(block_of(*heap), 300u);
  EXPECT_OK(write_block(*heap, 301));
}

// Older programs made heaps with holes, and copies may have them.
TEST_P(HeapFullDiskTest, AHeapWithHolesCanBeRead) {
  const std::string path = disk_.path("old.heap");
  const std::vector<std::byte> contents = golden_heap();
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(contents.size())), 0);
  constexpr size_t kPage = 4096;
  const std::vector<std::byte> zeros(kPage);
  for (size_t at = 0; at < contents.size(); at += kPage)
    if (std::memcmp(contents.data() + at, zeros.data(), kPage) != 0) {
      ASSERT_EQ(::pwrite(file, contents.data() + at, kPage, static_cast<off_t>(at)), static_cast<ssize_t>(kPage));
    }
  ::close(file);
  disk_.fill();
  const auto counter_of = [](Heap& heap) {
    uint64_t value = 0;
    EXPECT_OK(heap.read([&](HeapReader& reader) -> Status {
      ELIDER_ASSIGN(auto counter, reader.root<uint64_t>("counter"));
      value = reader.read(reader[counter]);
      for (uint64_t at = 64 << 10; at < 1 << 20; at += 4096) value += reader.read(reader[HeapPtr<uint64_t>::at(at)]);
      return {};
    }));
    return value;
  };
  EXPECT_OK(Heap::check(path));
  EXPECT_OK(Heap::status_of(path));
  {
    auto heap = Heap::open(path, disk_options(GetParam()));
    ASSERT_OK(heap);
    EXPECT_EQ(counter_of(*heap), 40u);
    EXPECT_NE(heap->status().read_only_because.find("reserve"), std::string::npos);
    EXPECT_REFUSED(Code::kIoError, "is now read-only", write_block(*heap, 1));
    EXPECT_CODE(Code::kIoError, heap->persist());
  }
  std::filesystem::remove(disk_.path("filler"));
  auto heap = Heap::open(path, disk_options(GetParam()));
  ASSERT_OK(heap);
  EXPECT_EQ(counter_of(*heap), 40u);
  EXPECT_OK(write_block(*heap, 1));
}

}  // namespace
}  // namespace elider::test
