// WrappedOutput: a table's lines, broken between words where they are longer than the
// terminal is wide, or than 80 columns where there is no terminal. What a line goes on
// with stands below its text.
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdio>

namespace elider::bench {

class WrappedOutput {
 public:
  explicit WrappedOutput(std::FILE* out, size_t indent = 15);
  // Writes what file() was given to `out`.
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

// Columns of the terminal that `out` is; 80 where it is none.
size_t columns_of(std::FILE* out);

}  // namespace elider::bench
