// ProgressLine: a line on standard error that shows how far a command is, and overwrites itself. It
// is shown only on a terminal, and erased at the end.
// Thread safety: one thread at a time may use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "elider/files.h"
#include "elider/recovery.h"

namespace elider::tools {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Returns a function that shows the progress of a recovery; empty if the line is not shown. The
  // function must not outlive this object.
  files::Tell tell();
  // Shows "<words>  <percent>%", unless the line already says so.
  void show(std::string_view words, uint64_t percent);
  // Shows "<words>  <count>", about ten times per second at most.
  void count(std::string_view words, uint64_t count);

 private:
  void print(const std::string& line);

  const bool terminal_;
  std::string line_;       // as shown
  uint64_t shown_ns_ = 0;  // when count() has shown it
};

}  // namespace elider::tools
