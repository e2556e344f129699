// The reader of log files. The input is a segment. Its first byte does not belong to the file: it
// decides whether the checksums of the header and the frames are corrected. Two recoveries must
// give the same result. A refusal must name the file.
#include <cstring>

#include "tests/fuzz/fuzz_support.h"

namespace elider::fuzz {
namespace {

template <class T>
T get(const std::vector<std::byte>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Walks from frame to frame by their sizes.
void fit_checksums(std::vector<std::byte>& bytes) {
  using namespace log;
  if (bytes.size() < kSegmentHeaderBytes) return;
  const uint64_t header_sum = checksum(std::span(bytes).first(56), 0);
  std::memcpy(bytes.data() + 56, &header_sum, sizeof header_sum);
  const uint64_t seed = seed_of(kDatabase, {1, 0, 0});
  for (size_t at = kSegmentHeaderBytes; at + kFrameHeaderBytes <= bytes.size();) {
    const size_t payload = get<uint32_t>(bytes, at + 4);
    if (payload > bytes.size() - at - kFrameHeaderBytes) return;
    const Bytes frame(bytes.data() + at, kFrameHeaderBytes + payload);
    const uint64_t sum = checksum(frame.subspan(kFrameHeaderBytes), checksum(frame.first(kFrameHeaderBytes - 8), seed));
    std::memcpy(bytes.data() + at + 56, &sum, sizeof sum);
    at += frame.size();
  }
}

struct Outcome {
  Status status;
  uint64_t sum = 0;
  log::RecoveryFacts facts;
};
Outcome recover(const std::vector<std::byte>& segment) {
  io::MemoryFiles files(files_with_segment(segment));
  Outcome outcome;
  std::unique_ptr<log::Directory> directory;
  outcome.status = log::Directory::open(files, kFolders, false, &directory);
  if (!outcome.status.ok()) return outcome;
  outcome.status = directory->recover(log::kNumberMax, [&](uint32_t, uint32_t, const log::Record& record) {
    outcome.sum = checksum(record.bytes, outcome.sum ^ record.number);
    return Status();
  }, &outcome.facts);
  return outcome;
}

}  // namespace
}  // namespace elider::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace elider::fuzz;
  if (size == 0) return 0;
  std::vector<std::byte> segment = bytes_of(data + 1, size - 1);
  if (data[0] % 4 != 3) fit_checksums(segment);
  const Outcome first = recover(segment), second = recover(segment);
  demand(first.status.code() == second.status.code() && first.sum == second.sum, "two recoveries of the same files agree");
  demand(first.status.ok() || first.status.message().find("'db/") != std::string::npos, "a message names the file");
  return 0;
}
