// HistoryFile: writes every transaction as one line of JSON, for checkers of serializability. The
// format is described in docs/history.md; the first lines describe the tables.
//
// Not durable and not bounded: a run of minutes writes gigabytes. Lines of one session are in
// order; those of different sessions are mixed as they come.
// Thread safety: on_transaction by all threads; open and close by one.
#pragma once

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

  // Writes what is buffered. kInvalidArgument if any write since open() failed (a full disk): the
  // file is then not a whole history. No transaction may come after it.
  Status close();

 private:
  HistoryFile(std::string path, std::FILE* file);
  void append(const std::string& line);

  const std::string path_;
  std::mutex mutex_;   // guards all below; a leaf lock: nothing is called under it but the C library
  std::FILE* file_;    // null after close()
  int error_ = 0;      // errno of the first write that failed
};

}  // namespace elider::bench
