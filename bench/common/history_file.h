// HistoryFile: writes every transaction as one line of JSON, for checkers of serializability. The
// format is described in docs/history.md; the first lines describe the tables.
//
// The file is not durable, and its size is not limited: a run of minutes writes gigabytes. The
// lines of one session are in order. The lines of different sessions are mixed.
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
  // Truncates the file. kInvalidArgument: it cannot be written; the
  // message names it and the reason.
  static Result<std::unique_ptr<HistoryFile>> open(const std::string& path);
  ~HistoryFile() override;
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  void on_table(uint32_t position, const Schema& schema) override;
  void on_transaction(const HistoryTransaction& transaction) override;

  // Writes the buffered lines. No transaction may be recorded after this call. kInvalidArgument: a
  // write since open() failed, for example because the disk was full. The file is then incomplete.
  Status close();

 private:
  HistoryFile(std::string path, std::FILE* file);
  void append(const std::string& line);

  static constexpr size_t kTablesMax = 1024;  // the greatest number of tables of a database

  const std::string path_;
  std::array<std::atomic<bool>, kTablesMax> byte_keys_{};  // whether a table has byte keys, by position
  std::mutex mutex_;   // guards all below; a leaf lock: only the C library is called while it is held
  std::FILE* file_;    // null after close()
  int error_ = 0;      // errno of the first write that failed
};

}  // namespace elider::bench
