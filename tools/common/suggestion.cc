#include "tools/common/suggestion.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

namespace elider::tools {

namespace {

// Returns the edit distance of two words: how many letters must be inserted, deleted, changed or
// swapped with the next letter to turn one word into the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t least = word.size() / 3 + 2;  // words at this distance or more are not similar
  for (const std::string& candidate : known) {
    // A prefix of a known word is similar, even if many letters are missing.
    const bool begins = word.size() > 3 && candidate.starts_with(word);
    if (const size_t apart = begins ? 1 : distance(word, candidate); apart < least) {
      least = apart;
      nearest = &candidate;
    }
  }
  return nullptr != nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

}  // namespace elider::tools
