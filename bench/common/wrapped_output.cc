#include "bench/common/wrapped_output.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace elider::bench {

namespace {

// Returns the width in characters, not bytes: "µs" has width 2.
size_t width_of(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}

std::string wrapped(std::string_view line, size_t columns, size_t indent) {
  std::string out;
  size_t width = 0;
  while (!line.empty()) {
    // Takes the next word with the blanks before it. The blanks are dropped if the line is broken
    // there.
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    const std::string_view word = line.substr(begin, line.find(' ', begin) - begin);
    const bool broken = width != 0 && width + begin + width_of(word) > columns;
    if (broken) {
      out += '\n';
      out.append(indent, ' ');
      width = indent;
    } else {
      out.append(begin, ' ');
      width += begin;
    }
    out += word;
    width += width_of(word);
    line.remove_prefix(begin + word.size());
  }
  return out;
}

}  // namespace

size_t columns_of(std::FILE* out) {
  winsize size{};
  constexpr size_t kColumns = 80;
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : kColumns;
}

WrappedOutput::WrappedOutput(std::FILE* out, size_t indent) : out_(out), indent_(indent), memory_(::open_memstream(&text_, &size_)) {}

WrappedOutput::~WrappedOutput() {
  if (memory_ == nullptr) return;
  std::fclose(memory_);
  const size_t columns = columns_of(out_);
  std::string all;
  for (std::string_view text(text_, size_); !text.empty();) {
    const size_t end = text.find('\n');
    all += wrapped(text.substr(0, end), columns, indent_);
    if (end == std::string_view::npos) break;
    all += '\n';
    text.remove_prefix(end + 1);
  }
  std::free(text_);
  static_cast<void>(std::fwrite(all.data(), 1, all.size(), out_));  // the program checks for failed writes when it ends
}

}  // namespace elider::bench
