// The file of a heap that an older program wrote before it was killed: its root "counter" is 40,
// and the last 20 transactions are only in the log (tests/golden/heap-v2). The golden file has the
// parts that are not 0: first the length of the whole, then each part as {offset, bytes} and its
// bytes.
// Thread safety: a pure function.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace elider::test {

inline std::vector<std::byte> golden_heap() {
  std::ifstream file(ELIDER_TEST_SOURCE_DIR "/tests/golden/heap-v2/killed.parts", std::ios::binary);
  const std::string parts{std::istreambuf_iterator<char>(file), {}};
  const auto word_at = [&](size_t at) {
    uint64_t word = 0;
    if (at + sizeof(word) <= parts.size()) std::memcpy(&word, parts.data() + at, sizeof(word));
    return word;
  };
  EXPECT_GT(parts.size(), 8u);
  std::vector<std::byte> contents(word_at(0));
  for (size_t at = 8; at < parts.size(); at += 16 + word_at(at + 8))
    std::memcpy(contents.data() + word_at(at), parts.data() + at + 16, word_at(at + 8));
  return contents;
}

}  // namespace elider::test
