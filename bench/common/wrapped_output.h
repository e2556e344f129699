// WrappedOutput breaks the lines of a table between words, so that they fit the width of the
// terminal, or 80 columns if the output is not a terminal. Continuation lines are indented by
// `indent` columns.
// Thread safety: one thread uses it.
#pragma once

#include <cstddef>
#include <cstdio>

namespace elider::bench {

class WrappedOutput {
 public:
  explicit WrappedOutput(std::FILE* out, size_t indent = 15);
  // Copies what was written to file() to `out`, with long lines broken.
  ~WrappedOutput();
  WrappedOutput(const WrappedOutput&) = delete;
  WrappedOutput& operator=(const WrappedOutput&) = delete;

  std::FILE* file() const { return memory_ != nullptr ? memory_ : out_; }

 private:
  std::FILE* const out_;
  const size_t indent_;
  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* memory_;
};

// Returns the width of the terminal in columns, or 80 if `out` is not a terminal.
size_t columns_of(std::FILE* out);

}  // namespace elider::bench
