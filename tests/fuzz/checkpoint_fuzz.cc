// The reader of checkpoints. The input is the only part of a checkpoint, and a database is opened
// on it. The first byte of the input does not belong to the file: it decides whether the checksums
// are corrected. A database that is accepted must verify, and have the same contents when it is
// opened again.
#include <cstring>

#include "elider/elider.h"
#include "log/checkpoint_file.h"
#include "tests/fuzz/fuzz_database.h"

namespace elider::fuzz {
namespace {

constexpr log::CheckpointName kName{7, 0};

template <class T>
T get(const std::vector<std::byte>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
void put_sum(std::vector<std::byte>& bytes, size_t at, uint64_t sum) { std::memcpy(bytes.data() + at, &sum, sizeof sum); }

// Corrects the checksums that docs/formats.md defines.
void fit_checksums(std::vector<std::byte>& bytes) {
  using namespace log;
  if (bytes.size() < kCheckpointHeaderBytes) return;
  put_sum(bytes, 56, checksum(std::span(bytes).first(56), 0));
  std::byte of_part[28];
  std::memcpy(of_part, kDatabase.data(), 16);
  std::memcpy(of_part + 16, &kName.number, 8);
  std::memcpy(of_part + 24, &kName.part, 4);
  const uint64_t seed = checksum(of_part, 1);
  for (size_t at = kCheckpointHeaderBytes; at + kBlockHeaderBytes <= bytes.size();) {
    const size_t payload = get<uint32_t>(bytes, at + 4);
    if (payload > bytes.size() - at - kBlockHeaderBytes) return;
    const log::Bytes block(bytes.data() + at, kBlockHeaderBytes + payload);
    put_sum(bytes, at + 32, checksum(block.subspan(kBlockHeaderBytes), checksum(block.first(kBlockHeaderBytes - 8), seed)));
    at += block.size();
  }
}

io::MemoryFiles::Contents files_with_part(std::vector<std::byte> part) {
  log::Manifest manifest;
  manifest.database = kDatabase;
  manifest.next_number = kName.number + 1;
  manifest.checkpoints = {{kName.number, 1}};
  io::MemoryFiles::Contents contents;
  contents["db/" + std::string(log::kManifestName)] = log::encode(manifest);
  contents["db/" + log::file_name(kName)] = std::move(part);
  return contents;
}

}  // namespace
}  // namespace elider::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace elider::fuzz;
  if (size == 0) return 0;
  std::vector<std::byte> part = bytes_of(data + 1, size - 1);
  if (data[0] % 4 != 3) fit_checksums(part);
  open_twice(files_with_part(std::move(part)));
  return 0;
}
