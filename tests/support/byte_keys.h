// Helpers for tests of tables with byte keys. They provide a schema, the combinations that support
// byte keys, and keys that are hard to tell apart.
//
// Thread safety: values and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "elider/elider.h"
#include "index/hash/hash_keys.h"
#include "tests/support/combination.h"
#include "tests/support/rows.h"

namespace elider::test {

// Like indexed_account_schema(), but with a column group for the balance.
inline SchemaOf<Account, std::string_view> byte_account_schema(KeyIndex key_index = KeyIndex::kRadix) {
  SchemaOf<Account, std::string_view> schema("texts");
  schema.key_index(key_index)
      .column("owner", &Account::owner)
      .column("balance", &Account::balance)
      .column("branch", &Account::branch)
      .column("flags", &Account::flags)
      .group({"balance"})
      .index("by_branch", {"branch"}, [](const Account& account) { return uint64_t{account.branch}; })
      .unique_index("by_owner", {"owner"}, [](const Account& account) { return account.owner; });
  return schema;
}

// Returns each engine with each key index.
inline std::vector<Combination> combinations_of_byte_keys(bool concurrent_only) { return combinations(concurrent_only, false); }

inline std::vector<Combination> combinations_of_ordered_byte_keys(bool concurrent_only) {
  std::vector<Combination> chosen = combinations_of_byte_keys(concurrent_only);
  std::erase_if(chosen, [](const Combination& one) { return !one.ordered(); });
  return chosen;
}
// Returns the combinations whose key index hashes byte keys.
inline std::vector<Combination> combinations_of_hashed_byte_keys(bool concurrent_only) {
  std::vector<Combination> chosen = combinations(concurrent_only, false);
  std::erase_if(chosen, [](const Combination& one) { return one.key_index != KeyIndex::kHashed; });
  return chosen;
}

#if ELIDER_TEST_POINTS
// While this object exists, new indexes of byte keys use only these bits of the keys' hashes, so
// that many different keys have equal hashes.
class FewHashes {
 public:
  explicit FewHashes(uint64_t bits) { index::byte_hash_bits = bits; }
  ~FewHashes() { index::byte_hash_bits = ~uint64_t{0}; }
  FewHashes(const FewHashes&) = delete;
  FewHashes& operator=(const FewHashes&) = delete;
};
#endif

// Returns keys with long shared prefixes, keys with the same first 8 bytes, the empty key, keys
// with bytes 0 and 255, and keys of 1,024 bytes that differ only in the last byte.
inline std::vector<std::string> unlike_keys() {
  std::vector<std::string> keys{"", std::string(1, '\0'), std::string(2, '\0'), "a", "ab", "ab" + std::string(1, '\0'), "b",
                                "12345678", "123456789", "12345678" + std::string(1, '\0'), "12345678\xff",
                                std::string(1, '\xff'), std::string(9, '\xff')};
  const std::string shared(900, 's');
  for (int i = 0; i < 40; ++i) keys.push_back("user:" + std::to_string(1'000'000 + i * 37));
  for (int i = 0; i < 6; ++i) keys.push_back(shared + std::to_string(i * 5));
  keys.push_back(shared);
  for (const char last : {'\0', 'a', '\xff'}) keys.push_back(std::string(kKeyBytesMax - 1, 'L') + last);
  keys.push_back(std::string(kKeyBytesMax, '\xff'));
  keys.push_back(std::string(kKeyBytesMax, '\0'));
  return keys;
}

// The keys of eight consecutive numbers have the same first 8 bytes. One of these endings follows,
// in ascending order.
inline const std::array<std::string, 8>& key_endings() {
  static const std::array<std::string, 8> endings{std::string(),
                                                  std::string(1, '\0'),
                                                  std::string(2, '\0') + "x",
                                                  std::string(200, 'a') + "1",
                                                  std::string(200, 'a') + "2",
                                                  std::string(kKeyBytesMax - 8, 'b'),
                                                  std::string(kKeyBytesMax - 9, 'b') + "c",
                                                  std::string(1, '\xff')};
  return endings;
}
// Returns the key of a number. The keys have the same order as the numbers. The key of 0 is empty.
inline std::string text_of_number(Key number) {
  if (number == 0) return {};
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>((number >> 3) >> shift);
  return text + key_endings()[number & 7];
}
inline Key number_of_text(std::string_view text) {
  if (text.empty()) return 0;
  Key number = 0;
  for (size_t i = 0; i < 8 && i < text.size(); ++i) number = number << 8 | static_cast<unsigned char>(text[i]);
  const auto& endings = key_endings();
  const auto ending = std::find(endings.begin(), endings.end(), text.substr(std::min<size_t>(text.size(), 8)));
  return ending == endings.end() ? kKeyMax : number << 3 | static_cast<Key>(ending - endings.begin());
}

// Like key_endings(), but leaves room for the other bytes of an encoded tuple.
inline const std::array<std::string, 8>& tuple_endings() {
  static const std::array<std::string, 8> endings = [] {
    std::array<std::string, 8> shorter = key_endings();
    for (std::string& ending : shorter)
      if (ending.size() > kKeyBytesMax / 2) ending.erase(0, 16);
    return shorter;
  }();
  return endings;
}

// A number as a tuple. The tuples of numbers have the order of the numbers.
using NumberTuple = std::tuple<Descending<int64_t>, std::vector<std::byte>>;
inline NumberTuple tuple_of_number(Key number) {
  const std::string& ending = tuple_endings()[number & 7];
  const auto* const bytes = reinterpret_cast<const std::byte*>(ending.data());
  return {{-static_cast<int64_t>(number >> 3)}, {bytes, bytes + ending.size()}};
}
inline Key number_of_tuple(const NumberTuple& tuple) {
  const auto& endings = tuple_endings();
  const std::vector<std::byte>& bytes = std::get<1>(tuple);
  const auto ending = std::find(endings.begin(), endings.end(), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (ending == endings.end()) return kKeyMax;
  return static_cast<Key>(-std::get<0>(tuple).value) << 3 | static_cast<Key>(ending - endings.begin());
}

}  // namespace elider::test
