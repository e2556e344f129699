// WrappedOutput: the lines of a table, broken between words if they are longer than the width of
// the terminal, or than 80 columns if the output is not a terminal. The continuation of a line
// begins below the line's text.
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdio>

namespace elider::bench {

class WrappedOutput {
 public:
  explicit WrappedOutput(std::FILE* out, size_t indent = 15);
  // Writes everything that was written to file() to `out`.
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

// The width of the terminal in columns; 80 if `out` is not a terminal.
size_t columns_of(std::FILE* out);

}  // namespace elider::bench
