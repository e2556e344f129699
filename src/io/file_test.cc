// Tests of the two implementations of files. Both write the same contents, and errors and short
// writes have the same effects in both.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "io/file.h"

namespace elider::io {
namespace {

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = (std::filesystem::temp_directory_path() / "elider_files_XXXXXX").string();
    ASSERT_NE(::mkdtemp(text.data()), nullptr);
    folder_ = text;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  static std::vector<std::byte> bytes(size_t count) {
    std::vector<std::byte> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(i * 31 + i / 256);
    return result;
  }

  std::unique_ptr<Folder> opened(const std::string& path) {
    std::unique_ptr<Folder> folder;
    const Status status = files_->open_folder(path, &folder);
    EXPECT_TRUE(status.ok()) << status.message();
    return folder;
  }

  FileSystem* files_ = &system_files();
  std::filesystem::path folder_;
};

TEST_F(FilesTest, WhatIsWrittenIsThere) {
  const std::string path = folder_ / "file";
  std::unique_ptr<File> file;
  ASSERT_TRUE(files_->open(path, OpenMode::kCreate, &file).ok());
  const auto large = bytes(3 << 20), small = bytes(100);
  ASSERT_TRUE(file->write_and_sync(0, small).ok());
  ASSERT_TRUE(file->write_and_sync(100, large).ok());
  ASSERT_TRUE(file->write_and_sync(100 + large.size(), {}).ok()) << "nothing is a write, too";
  file->forget(0, 1 << 20);
  const size_t all = small.size() + large.size();
  const auto folder = opened(folder_);
  ReadBuffer read;
  ASSERT_TRUE(read.read(*folder, "file", all).ok());
  ASSERT_EQ(read.bytes().size(), all);
  EXPECT_TRUE(std::equal(small.begin(), small.end(), read.bytes().begin()));
  EXPECT_TRUE(std::equal(large.begin(), large.end(), read.bytes().begin() + 100));
  const Status too_large = read.read(*folder, "file", all - 1);
  EXPECT_EQ(too_large.code(), Code::kCorrupt);
  EXPECT_NE(too_large.message().find("'" + path + "'"), std::string::npos) << too_large.message();
  EXPECT_EQ(read.bytes().size(), 0u);
  EXPECT_EQ(files_->open(path, OpenMode::kCreate, &file).code(), Code::kIoError) << "it is there already";
}

// /dev/full, the device that is always full.
TEST_F(FilesTest, AFullDiskIsAnErrorThatNamesTheFile) {
  std::unique_ptr<File> file;
  ASSERT_TRUE(files_->open("/dev/full", OpenMode::kCreateNew, &file).ok());
  const Status status = file->write_and_sync(0, bytes(100));
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_NE(status.message().find("cannot write '/dev/full': No space left on device"), std::string::npos) << status.message();
}

// A device that accepts every write and does not support sync.
TEST_F(FilesTest, ASyncThatFailsIsTold) {
  std::unique_ptr<File> file;
  ASSERT_TRUE(files_->open("/dev/null", OpenMode::kCreateNew, &file).ok());
  const Status status = file->write_and_sync(0, bytes(100));
  EXPECT_EQ(status.code(), Code::kIoError);
  EXPECT_NE(status.message().find("cannot sync '/dev/null': Invalid argument"), std::string::npos) << status.message();
}

TEST_F(FilesTest, AFileThatWasRemovedIsTold) {
  const std::string path = folder_ / "file";
  std::unique_ptr<File> file;
  ASSERT_TRUE(files_->open(path, OpenMode::kCreate, &file).ok());
  ASSERT_TRUE(file->write_and_sync(0, bytes(100)).ok());
  std::filesystem::remove(path);
  for (const Status& status : {file->write_and_sync(100, bytes(100)), file->sync()}) {
    EXPECT_EQ(status.code(), Code::kIoError);
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  }
}

// A limit of the file's size ends a write halfway. The rest of the write is tried alone, and fails.
// The test runs in a child process, because the limit applies to a process.
TEST_F(FilesTest, AShortWriteGoesOnAndEndsInItsError) {
  const std::string path = folder_ / "file";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10000, 10000};
    std::unique_ptr<File> file;
    if (!files_->open(path, OpenMode::kCreate, &file).ok() || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(3);
    const Status status = file->write_and_sync(0, bytes(20000));
    if (status.code() != Code::kIoError) ::_exit(4);
    ::_exit(status.message().ends_with("cannot write '" + path + "': File too large") ? 0 : 5);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  ASSERT_TRUE(WIFEXITED(how));
  EXPECT_EQ(WEXITSTATUS(how), 0);
  EXPECT_EQ(std::filesystem::file_size(path), 10000u) << "what there was room for was written";
}

TEST_F(FilesTest, AFolderWithoutRightsOrThatIsGoneIsNamed) {
  std::unique_ptr<File> file;
  const Status gone = files_->open(folder_ / "gone" / "file", OpenMode::kCreate, &file);
  EXPECT_EQ(gone.code(), Code::kIoError);
  EXPECT_NE(gone.message().find("gone/file'"), std::string::npos) << gone.message();
  if (::geteuid() == 0) return;  // root may do everything
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_read);
  const Status refused = files_->open(folder_ / "file", OpenMode::kCreate, &file);
  EXPECT_NE(refused.message().find("Permission denied"), std::string::npos) << refused.message();
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
}

// A process without a free descriptor can neither open an existing file nor create one.
TEST_F(FilesTest, AMessageSaysWhetherTheFileWasThere) {
  const auto folder = opened(folder_);
  std::unique_ptr<File> held;
  ASSERT_TRUE(folder->hold_file("LOCK", Hold::kExclusive, &held).ok());
  held.reset();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status there = folder->hold_file("LOCK", Hold::kExclusive, &held), missing = folder->hold_file("NONE", Hold::kExclusive, &held);
  std::unique_ptr<File> file;
  const Status emptied = folder->open("LOCK", OpenMode::kCreateNew, &file), not_new = folder->open("LOCK", OpenMode::kCreate, &file);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_NE(there.message().find("cannot open '" + folder->path_of("LOCK") + "': Too many open files"), std::string::npos)
      << there.message();
  EXPECT_NE(missing.message().find("cannot create '" + folder->path_of("NONE") + "'"), std::string::npos) << missing.message();
  EXPECT_NE(emptied.message().find("cannot open '" + folder->path_of("LOCK") + "'"), std::string::npos) << emptied.message();
  EXPECT_EQ(not_new.code(), Code::kIoError);
  EXPECT_NE(folder->open("LOCK", OpenMode::kCreate, &file).message().find("cannot create"), std::string::npos) << "it is there already";
}

TEST_F(FilesTest, HoldersShareAFolderOrExcludeEachOther) {
  const auto one = opened(folder_), two = opened(folder_);
  auto three = opened(folder_);
  ASSERT_TRUE(one->hold(Hold::kShared).ok());
  ASSERT_TRUE(two->hold(Hold::kShared).ok());
  EXPECT_EQ(three->hold(Hold::kExclusive).code(), Code::kInvalidArgument);
  std::unique_ptr<File> first, second, third;
  ASSERT_TRUE(one->hold_file("LOCK", Hold::kShared, &first).ok());
  ASSERT_TRUE(two->hold_file("LOCK", Hold::kShared, &second).ok());
  EXPECT_EQ(three->hold_file("LOCK", Hold::kExclusive, &third).code(), Code::kInvalidArgument);
  first.reset();
  second.reset();
  ASSERT_TRUE(three->hold_file("LOCK", Hold::kExclusive, &third).ok());
  EXPECT_EQ(one->hold_file("LOCK", Hold::kShared, &first).code(), Code::kInvalidArgument);
}

TEST_F(FilesTest, AFolderKnowsWhetherItsPathStillLeadsToIt) {
  const std::filesystem::path path = folder_ / "data";
  bool made = false;
  ASSERT_TRUE(files_->make_folder(path, &made).ok());
  EXPECT_TRUE(made);
  ASSERT_TRUE(files_->make_folder(path, &made).ok());
  EXPECT_FALSE(made);
  const auto folder = opened(path.string() + "//");
  EXPECT_EQ(folder->path(), path.string());
  EXPECT_TRUE(folder->check_place().ok());
  std::filesystem::rename(path, folder_ / "moved");
  EXPECT_TRUE(folder->check_place().message().ends_with("its path leads nowhere")) << folder->check_place().message();
  std::filesystem::create_directory(path);
  EXPECT_TRUE(folder->check_place().message().ends_with("its path leads to another folder")) << folder->check_place().message();
  EXPECT_FALSE(folder->remove_folder().ok());
  std::filesystem::remove(path);
  std::filesystem::create_symlink(folder_ / "moved", path);
  EXPECT_TRUE(folder->check_place().ok()) << "it leads there again";
}

// The path leads to something that is not a file. Opening it does not wait, and reports the reason.
TEST_F(FilesTest, WhatIsNoFileIsRefusedAtOnce) {
  const std::string fifo = folder_ / "fifo", folder = folder_ / "folder", device = folder_ / "device", socket = folder_ / "socket";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(::symlink("/dev/null", device.c_str()), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket.size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, socket.c_str());
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const std::string& path : {fifo, folder, device, socket}) {
    SCOPED_TRACE(path);
    for (const OpenMode mode : {OpenMode::kRead, OpenMode::kWrite, OpenMode::kCreateNew}) {
      if (path == device && mode == OpenMode::kCreateNew) continue;  // the device refuses bytes that it does not accept
      std::unique_ptr<File> file;
      const Status status = files_->open(path, mode, &file);
      EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
      EXPECT_NE(status.message().find("'" + path + "' is a "), std::string::npos) << status.message();
    }
    std::unique_ptr<File> held;
    EXPECT_EQ(opened(folder_)->hold_file(path.substr(path.find_last_of('/') + 1), Hold::kExclusive, &held).code(), Code::kCorrupt);
  }
  ::close(listener);
}

}  // namespace
}  // namespace elider::io
