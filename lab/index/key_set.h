// KeySet: the keys of an index study, generated from a seed. A key is a number, or a sequence of
// bytes that the set owns.
//
// All keys of a set are different, and they are in random order. Thread safety: constant after
// construction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/studies/index_study.h"

namespace elider::bench {

// dense     0, 1, 2, ...
// sparse    random 64-bit numbers
// random16  16 random bytes
// urls      web addresses with a site, folders and a query, 30 to 90 bytes; many have the same site
// emails    addresses at a few providers and many small domains, 12 to 40 bytes
enum class KeyShape : uint8_t { kDense, kSparse, kRandom16, kUrls, kEmails };
inline constexpr KeyShape kKeyShapes[] = {KeyShape::kDense, KeyShape::kSparse, KeyShape::kRandom16, KeyShape::kUrls, KeyShape::kEmails};
std::string_view name_of(KeyShape shape);
bool parse(std::string_view name, KeyShape* shape);
StudyKeys study_keys_of(KeyShape shape);

class KeySet {
 public:
  KeySet(KeyShape shape, uint64_t count, uint64_t seed);
  KeySet(const KeySet&) = delete;
  KeySet& operator=(const KeySet&) = delete;

  const std::vector<IndexStudy::StudyKey>& keys() const { return keys_; }
  // The mean number of bytes in a key, without its StudyKey object.
  double bytes_a_key() const;

 private:
  void add(std::string_view text);

  std::vector<IndexStudy::StudyKey> keys_;
  std::vector<std::vector<uint64_t>> blocks_;  // hold the bytes of the keys
  uint64_t text_bytes_ = 0;
};

}  // namespace elider::bench
