// The system performs some writes and reads only partly, or interrupts them. The functions under
// test continue, and complete the call. This program's pwrite and pread replace the system's, and
// do what a test has prescribed for the next calls.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "io/file.h"

namespace {

constexpr long kAll = -1;
struct Turn {
  int error = 0;     // an errno: the call does not do anything
  long part = kAll;  // at most this many bytes
};
std::vector<Turn> turns;  // for the next calls, in reverse order; later calls are not changed
size_t calls = 0;

// Returns how much of `size` to process. If the result is negative, nothing is processed, and errno
// says why.
long next(size_t size) {
  ++calls;
  if (turns.empty()) return static_cast<long>(size);
  const Turn turn = turns.back();
  turns.pop_back();
  if (turn.error != 0) {
    errno = turn.error;
    return -1;
  }
  return turn.part == kAll ? static_cast<long>(size) : std::min(turn.part, static_cast<long>(size));
}

}  // namespace

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  const long part = next(size);
  return part <= 0 ? part : ::syscall(SYS_pwrite64, descriptor, bytes, static_cast<size_t>(part), offset);
}
extern "C" ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  const long part = next(size);
  return part <= 0 ? part : ::syscall(SYS_pread64, descriptor, bytes, static_cast<size_t>(part), offset);
}

namespace elider::io {
namespace {

class ShortCalls : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i * 31 + i / 256);
    std::string text = (std::filesystem::temp_directory_path() / "elider_short_XXXXXX").string();
    ASSERT_NE(::mkdtemp(text.data()), nullptr);
    folder_ = text;
    path_ = folder_ / "file";
    ASSERT_TRUE(system_files().open(path_, OpenMode::kCreate, &file_).ok());
  }
  void TearDown() override {
    turns.clear();
    std::filesystem::remove_all(folder_);
  }
  // Prescribes the results of calls. The first element belongs to the first call.
  static void script(std::vector<Turn> of_calls) {
    std::reverse(of_calls.begin(), of_calls.end());
    turns = std::move(of_calls);
    calls = 0;
  }

  std::filesystem::path folder_;
  std::string path_;
  std::unique_ptr<File> file_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(20000);
};

TEST_F(ShortCalls, AWriteInPartsAndInterruptedEndsWithAllOfIt) {
  script({{0, 1}, {EINTR}, {0, 4096}, {EAGAIN}, {EINTR}, {0, 1}, {0, kAll}});
  const Status status = file_->write_and_sync(100, bytes_);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(calls, 7u);
  uint64_t size = 0;
  ASSERT_TRUE(file_->size(&size).ok());
  EXPECT_EQ(size, 100 + bytes_.size()) << "each part follows the one before";
  std::unique_ptr<Folder> folder;
  ASSERT_TRUE(system_files().open_folder(folder_, &folder).ok());
  ReadBuffer read;
  ASSERT_TRUE(read.read_part(*folder, "file", 100, bytes_.size()).ok());
  EXPECT_TRUE(std::equal(bytes_.begin(), bytes_.end(), read.bytes().begin(), read.bytes().end()));
}

TEST_F(ShortCalls, AWriteInPartsThatFailsThenIsAnError) {
  for (const int error : {EIO, ENOSPC, EDQUOT}) {
    script({{0, 4096}, {EINTR}, {error}});
    const Status status = file_->write_and_sync(0, bytes_);
    EXPECT_EQ(status.message(), file_error("write", path_, error).message());
    EXPECT_EQ(calls, 3u) << "and is not tried again";
  }
  script({{0, 4096}, {0, 0}});
  EXPECT_EQ(file_->write_and_sync(0, bytes_).message(), file_error("write", path_, ENOSPC).message()) << "no byte and no error";
}

TEST_F(ShortCalls, AReadInPartsAndInterruptedEndsWithAllOfIt) {
  ASSERT_TRUE(file_->write_and_sync(0, bytes_).ok());
  script({{0, 1}, {EINTR}, {0, 4096}, {EINTR}, {0, kAll}});
  std::vector<std::byte> read(bytes_.size());
  size_t count = 0;
  ASSERT_TRUE(file_->read_at(0, read, &count).ok());
  EXPECT_EQ(count, bytes_.size());
  EXPECT_EQ(read, bytes_);
  script({{0, 10}, {EIO}});
  EXPECT_EQ(file_->read_at(0, read, &count).message(), file_error("read", path_, EIO).message());
}

}  // namespace
}  // namespace elider::io
