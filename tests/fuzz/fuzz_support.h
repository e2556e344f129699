// What the fuzz targets share: a database's files in memory around the bytes of the input.
//
// A target is a file <what>_fuzz.cc with LLVMFuzzerTestOneInput. It may return what it likes; what
// counts is that no input stops the process, reads where it must not, or is believed and then
// denied. Thread safety: none.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "log/directory.h"
#include "tests/support/memory_files.h"

namespace elider::fuzz {

inline const log::DatabaseId kDatabase = {1, 2};
inline const std::vector<std::string> kFolders = {"db"};

// Ends the process, for the fuzzer to see.
inline void demand(bool holds, const char* words) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: it does not hold that %s\n", words);
  std::abort();
}

// A manifest of one generation with one stream, whose segment has these bytes.
inline io::MemoryFiles::Contents files_with_segment(std::vector<std::byte> segment) {
  log::Manifest manifest;
  manifest.database = kDatabase;
  manifest.generations = {{1, 1, log::kNumberMax, {0}}};
  io::MemoryFiles::Contents contents;
  contents["db/" + std::string(log::kManifestName)] = log::encode(manifest);
  contents["db/" + log::file_name({1, 0, 0})] = std::move(segment);
  return contents;
}

inline std::vector<std::byte> bytes_of(const uint8_t* data, size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  return std::vector<std::byte>(begin, begin + size);
}

}  // namespace elider::fuzz
