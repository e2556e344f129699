// What the log's tests share: a source of numbers, a commit of text, and reading everything back.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log/directory.h"
#include "log/files.h"
#include "log/log.h"
#include "tests/support/memory_files.h"

namespace elider::log {

class TestNumbers final : public NumberSource {
 public:
  explicit TestNumbers(uint64_t first = 1) : number_(first) {}
  uint64_t current() const override { return number_.load(); }
  uint64_t advance() override { return number_.fetch_add(1); }

 private:
  std::atomic<uint64_t> number_;
};

inline const std::vector<std::string> kFolders = {"db"};

inline std::unique_ptr<Folder> open_folder(FileSystem& files, const std::string& path = kFolders.front()) {
  std::unique_ptr<Folder> folder;
  EXPECT_TRUE(files.open_folder(path, &folder).ok());
  return folder;
}

// Record texts by number.
using State = std::multimap<uint64_t, std::string>;

struct Recovered {
  Status status;
  State state;
  RecoveryFacts facts;
};

inline Recovered recover(FileSystem& files, uint64_t to_number = kNumberMax, bool create = true) {
  Recovered result;
  std::unique_ptr<Directory> directory;
  result.status = Directory::open(files, kFolders, create, &directory);
  if (!result.status.ok()) return result;
  result.status = directory->recover(to_number, [&](uint32_t, uint32_t, const Record& record) {
    result.state.emplace(record.number, std::string(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()));
    return Status();
  }, &result.facts);
  return result;
}

// A directory with a log that runs.
struct Running {
  std::unique_ptr<Directory> directory;
  std::unique_ptr<TestNumbers> numbers;
  std::unique_ptr<Log> log;

  Status start(FileSystem& files, LogOptions options) {
    if (Status status = Directory::open(files, kFolders, true, &directory); !status.ok()) return status;
    RecoveryFacts facts;
    if (Status status = directory->recover(
            kNumberMax, [](uint32_t, uint32_t, const Record&) { return Status(); }, &facts);
        !status.ok())
      return status;
    uint32_t generation = 0;
    if (Status status = directory->begin_generation(options.streams, &generation); !status.ok()) return status;
    numbers = std::make_unique<TestNumbers>(directory->first_number());
    options.folders = directory->folders();
    return Log::start(options, directory->manifest().database, generation, *numbers, &log);
  }

  // The number that the commit had.
  Status commit(uint32_t worker, const std::string& text, uint64_t* number) {
    std::byte* place = nullptr;
    if (Status status = log->reserve(worker, text.size(), &place); !status.ok()) return status;
    log->begin_commit(worker);
    *number = numbers->current();
    std::memcpy(place, text.data(), text.size());
    log->publish(worker, *number, text.size());
    log->end_commit(worker);
    return {};
  }
};

}  // namespace elider::log
