// The manifest's reader: the input without its last eight bytes, to which the checksum
// that fits is put; every fourth input goes without that. What was read, and is written
// and read again, is the same.
#include <cstring>

#include "tests/fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace elider;
  std::vector<std::byte> bytes = fuzz::bytes_of(data, size);
  if (size >= 8 && data[0] % 4 != 3) {
    const uint64_t sum = checksum(std::span(bytes).first(size - 8), 0);
    std::memcpy(bytes.data() + size - 8, &sum, sizeof sum);
  }
  log::Manifest manifest, again;
  if (!log::decode(bytes, &manifest).ok()) return 0;
  const std::vector<std::byte> written = log::encode(manifest);  // perhaps in a newer version
  fuzz::demand(log::decode(written, &again).ok() && log::encode(again) == written,
               "a manifest that was read can be written and read again");
  return 0;
}
