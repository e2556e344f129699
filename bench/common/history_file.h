// HistoryFile writes every transaction as one line of JSON, for serializability checkers. The first
// lines describe the tables. docs/history.md specifies the format.
//
// The file is not synced to disk, and its size is not limited: a run of several minutes writes
// gigabytes. Lines of the same session are in order; lines of different sessions are interleaved.
// Thread safety: all threads may call on_transaction(); one thread opens and closes the file.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "elider/history.h"
#include "elider/status.h"

namespace elider::bench {

class HistoryFile : public HistorySink {
 public:
  // Creates or truncates the file. Fails with kInvalidArgument if it cannot be written; the message
  // names the file and the reason.
  static Result<std::unique_ptr<HistoryFile>> open(const std::string& path);
  ~HistoryFile() override;
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  void on_table(uint32_t position, const Schema& schema) override;
  void on_transaction(const HistoryTransaction& transaction) override;

  // Writes the buffered lines. No transaction may be recorded after this call. Fails with
  // kInvalidArgument if a write since open() failed, for example because the disk was full; the
  // file is then incomplete.
  Status close();

 private:
  HistoryFile(std::string path, std::FILE* file);
  void append(const std::string& line);

  static constexpr size_t kTablesMax = 1024;  // the maximum number of tables in a database

  const std::string path_;
  std::array<std::atomic<bool>, kTablesMax> byte_keys_{};  // by the table's position: whether it has byte keys
  std::mutex mutex_;   // guards the members below; a leaf lock: only the C library is called while it is held
  std::FILE* file_;    // null after close()
  int error_ = 0;      // errno of the first write that failed
};

}  // namespace elider::bench
