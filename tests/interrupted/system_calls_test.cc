// Signals interrupt system calls (EINTR). A database, its copies, the tools and a heap must go on
// as if nothing had happened, whichever call it is.
//
// The functions of this program precede those of the C library. While a kind of call is armed, each
// call of that kind fails with EINTR first, and is made when it is repeated.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>

#include "elider/elider.h"
#include "elider/files.h"
#include "elider/heap.h"
#include "log/fresh_folder.h"
#include "io/system_files.h"
#include "tests/support/rows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace {

constexpr std::array kNames = {"open",     "openat", "flock", "fdatasync", "fsync",   "renameat", "unlinkat", "mkdir",     "rmdir",
                               "fstat",    "stat",   "fstatat", "fcntl",   "pread",   "pwrite",   "fallocate", "posix_fallocate",
                               "readdir",  "faccessat", "ftruncate"};

constexpr size_t index_of(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return i;
  throw name;
}

std::array<std::atomic<bool>, kNames.size()> armed;
std::array<std::atomic<uint64_t>, kNames.size()> interrupted;

// Whether the call is to fail: every other one of a thread, so that the repeated call is made.
bool fails(size_t index) {
  thread_local std::array<bool, kNames.size()> failed{};
  if (!armed[index].load()) return false;
  failed[index] = !failed[index];
  if (!failed[index]) return false;
  ++interrupted[index];
  errno = EINTR;
  return true;
}

// The function that this program's one hides.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define ELIDER_INTERRUPTED(name, parameters, arguments)                \
  extern "C" int name parameters {                                     \
    static const auto function = real<int parameters>(#name);          \
    return fails(index_of(#name)) ? -1 : function arguments;           \
  }
ELIDER_INTERRUPTED(flock, (int descriptor, int how), (descriptor, how))
ELIDER_INTERRUPTED(fdatasync, (int descriptor), (descriptor))
ELIDER_INTERRUPTED(fsync, (int descriptor), (descriptor))
ELIDER_INTERRUPTED(renameat, (int from, const char* name, int to, const char* other), (from, name, to, other))
ELIDER_INTERRUPTED(unlinkat, (int folder, const char* name, int flags), (folder, name, flags))
ELIDER_INTERRUPTED(mkdir, (const char* path, mode_t mode), (path, mode))
ELIDER_INTERRUPTED(rmdir, (const char* path), (path))
ELIDER_INTERRUPTED(fstat, (int descriptor, struct stat* facts), (descriptor, facts))
ELIDER_INTERRUPTED(stat, (const char* path, struct stat* facts), (path, facts))
ELIDER_INTERRUPTED(fstatat, (int folder, const char* name, struct stat* facts, int flags), (folder, name, facts, flags))
ELIDER_INTERRUPTED(faccessat, (int folder, const char* name, int mode, int flags), (folder, name, mode, flags))
ELIDER_INTERRUPTED(ftruncate, (int descriptor, off_t bytes), (descriptor, bytes))
#undef ELIDER_INTERRUPTED

extern "C" int open(const char* path, int flags, ...) {
  static const auto function = real<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  return fails(index_of("open")) ? -1 : function(path, flags, mode);
}
extern "C" int openat(int folder, const char* path, int flags, ...) {
  static const auto function = real<int(int, const char*, int, ...)>("openat");
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  return fails(index_of("openat")) ? -1 : function(folder, path, flags, mode);
}
extern "C" int fcntl(int descriptor, int command, ...) {
  static const auto function = real<int(int, int, ...)>("fcntl");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fails(index_of("fcntl")) ? -1 : function(descriptor, command, argument);
}
extern "C" ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  static const auto function = real<ssize_t(int, void*, size_t, off_t)>("pread");
  return fails(index_of("pread")) ? -1 : function(descriptor, bytes, size, offset);
}
extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto function = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fails(index_of("pwrite")) ? -1 : function(descriptor, bytes, size, offset);
}
// While posix_fallocate is armed, the file system seems to lack this call, so the other is made.
extern "C" int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  static const auto function = real<int(int, int, off_t, off_t)>("fallocate");
  if (fails(index_of("fallocate"))) return -1;
  if (!armed[index_of("posix_fallocate")].load()) return function(descriptor, mode, offset, bytes);
  errno = EOPNOTSUPP;
  return -1;
}
extern "C" int posix_fallocate(int descriptor, off_t offset, off_t bytes) {
  static const auto function = real<int(int, off_t, off_t)>("posix_fallocate");
  return fails(index_of("posix_fallocate")) ? EINTR : function(descriptor, offset, bytes);
}
extern "C" dirent* readdir(DIR* folder) {
  static const auto function = real<dirent*(DIR*)>("readdir");
  return fails(index_of("readdir")) ? nullptr : function(folder);
}

namespace elider::test {
namespace {

// While it lives, calls of these kinds are interrupted.
class Interrupted {
 public:
  explicit Interrupted(size_t index) : first_(index), last_(index) { arm(true); }
  Interrupted() : first_(0), last_(kNames.size() - 1) { arm(true); }
  ~Interrupted() { arm(false); }

 private:
  void arm(bool on) const {
    for (size_t i = first_; i <= last_; ++i) armed[i].store(on);
  }
  const size_t first_, last_;
};

Options options_for(const std::string& folder) {
  Options options;
  options.sync = SyncPolicy::kOptimistic;
  options.huge_pages = false;
  options.workers_max = 4;
  options.memory_limit_bytes = 32u << 20;
  options.data_folders = {folder + "/one", folder + "/two"};
  options.flush_interval_us = 200;
  options.log_segment_bytes = 512u << 10;  // with room for small frames (fallocate)
  return options;
}

void use_database(const std::string& folder) {
  const Options options = options_for(folder);
  constexpr Key kRows = 8;
  for (Key run = 0; run < 2; ++run) {
    auto database = Database::open(options);
    ASSERT_OK(database);
    auto table = run == 0 ? database->create_table(grouped_account_schema(KeyIndex::kOrdered)) : database->table<Account>("accounts");
    ASSERT_OK(table);
    RunPolicy policy;
    policy.durability = Durability::kGroup;
    for (Key i = 0; i < kRows; ++i)
      ASSERT_OK(database->run([&](Transaction& txn) { return txn.insert(*table, run * kRows + i, Account{}); }, policy));
    ASSERT_OK(database->checkpoint());
    ASSERT_OK(database->backup(folder + "/copy" + std::to_string(run)));
    ASSERT_OK(database->run([&](Transaction& txn) { return txn.put(*table, 0, Account{}); }, policy));
  }
  files::Checked checked;
  ASSERT_OK(files::check(options.data_folders, {}, &checked));
  files::Copied copied;
  ASSERT_OK(files::restore(options.data_folders, folder + "/restored", &copied));
  EXPECT_CODE(Code::kCorrupt, io::system_files().open(folder, io::OpenMode::kWrite, nullptr));
  std::unique_ptr<log::FreshFolder> given_up;
  ASSERT_OK(log::FreshFolder::make(io::system_files(), folder + "/given_up", &given_up));
  given_up.reset();
  Options copy = options;
  for (const std::string name : {"/copy1", "/restored"}) {
    copy.data_folders = {folder + name};
    auto database = Database::open(copy);
    ASSERT_OK(database);
    auto table = database->table<Account>("accounts");
    ASSERT_OK(table);
    ASSERT_OK(database->run_read_only([&](Transaction& txn) { return txn.get(*table, 2 * kRows - 1).status(); }));
  }
}

void use_heap(const std::string& path, HeapMedium medium) {
  HeapOptions options;
  options.medium = medium;
  options.capacity_bytes = 16u << 20;
  options.threads_max = 2;
  options.log_bytes = 1u << 20;
  options.markers = 256;
  options.flush_ns = 0;
  for (int run = 0; run < 2; ++run) {
    auto heap = Heap::open(path, 1 << 20, options);
    ASSERT_OK(heap);
    for (int i = 0; i < 4; ++i)
      ASSERT_OK(heap->transaction([&](HeapTransaction& txn) { return txn.allocate<uint64_t>(32u << 10).status(); }));
  }
  ASSERT_OK(Heap::check(path));
}

void use_all(const TemporaryFolder& folder) {
  const std::string path = folder.path().string();
  use_database(path);
  use_heap(path + "/heap", HeapMedium::kFile);
  use_heap(path + "/mapped", HeapMedium::kDelay);
}

TEST(InterruptedSystemCalls, EachKindInItsTurnIsRepeated) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    SCOPED_TRACE(kNames[i]);
    const TemporaryFolder folder{"elider_interrupted"};
    interrupted[i].store(0);
    {
      const Interrupted each(i);
      use_all(folder);
    }
    EXPECT_GT(interrupted[i].load(), 0u) << "the story does not make this call";
  }
}

TEST(InterruptedSystemCalls, AllOfThemAreRepeated) {
  const TemporaryFolder folder{"elider_interrupted"};
  const Interrupted all;
  use_all(folder);
}

}  // namespace
}  // namespace elider::test
