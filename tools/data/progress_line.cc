#include "tools/data/progress_line.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace elider::tools {

namespace {

const char* name_of(RecoveryProgress::Step step) {
  switch (step) {
    case RecoveryProgress::Step::kJudge: return "checking the log";
    case RecoveryProgress::Step::kCheckpoint: return "loading the checkpoint";
    case RecoveryProgress::Step::kLog: return "applying the log";
    case RecoveryProgress::Step::kIndexes: return "building indexes";
  }
  return "";
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (!line_.empty()) fmt::print(stderr, "\r{:{}}\r", "", line_.size());
}

files::Tell ProgressLine::tell() {
  if (!terminal_) return {};
  return [this](const RecoveryProgress& progress) {
    show(name_of(progress.step), progress.all == 0 ? 100 : 100 * progress.done / progress.all);
  };
}

void ProgressLine::show(std::string_view words, uint64_t percent) { print(fmt::format("{:<28}{:>4}%", words, percent)); }

void ProgressLine::count(std::string_view words, uint64_t count) {
  if (!terminal_) return;
  const auto now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  if (now - shown_ns_ < 100'000'000) return;
  shown_ns_ = now;
  print(fmt::format("{:<28}{:>12}", words, count));
}

void ProgressLine::print(const std::string& line) {
  if (!terminal_ || line == line_) return;
  fmt::print(stderr, "\r{:<{}}", line, line_.size());
  line_ = line;
}

}  // namespace elider::tools
