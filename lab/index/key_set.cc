#include "lab/index/key_set.h"

#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "bench/common/random.h"

namespace elider::bench {

namespace {

constexpr size_t kBlockWords = size_t{1} << 17;

constexpr std::string_view kSyllables[] = {"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va",
                                           "an", "el", "in", "or", "st", "ma", "le", "ro"};
constexpr std::string_view kEndings[] = {"com", "org", "net", "de", "fr", "io", "co.uk", "edu"};
constexpr std::string_view kFolders[] = {"news", "articles", "products", "blog", "users", "images", "docs", "forum", "tags", "archive"};
constexpr std::string_view kProviders[] = {"mailbox.com", "postmail.com", "webpost.net", "letters.org", "inbox.de"};

template <size_t n>
std::string_view one_of(const std::string_view (&words)[n], Random& random) {
  return words[random.below(n)];
}
std::string word(Random& random, uint64_t syllables) {
  std::string made;
  for (; syllables > 0; --syllables) made += one_of(kSyllables, random);
  return made;
}
// Returns a random number below `bound`. Small numbers are much more frequent than large ones.
uint64_t skewed(Random& random, uint64_t bound) {
  const double part = random.uniform();
  return static_cast<uint64_t>(part * part * part * static_cast<double>(bound));
}

// The number `n` makes the address unique.
std::string url(Random& random, uint64_t n) {
  Random site(skewed(random, 5000), 77);
  std::string made = fmt::format("https://www.{}.{}/{}/", word(site, 2 + site.below(3)), one_of(kEndings, site), one_of(kFolders, random));
  if (random.below(3) == 0) made += fmt::format("{}/{:02}/", 2005 + random.below(20), 1 + random.below(12));
  made += word(random, 2 + random.below(3));
  for (uint64_t words = random.below(4); words > 0; --words) made += "-" + word(random, 1 + random.below(3));
  return made + (random.below(2) == 0 ? fmt::format("?id={}", n) : fmt::format("-{}.html", n));
}
std::string email(Random& random, uint64_t n) {
  std::string made = word(random, 2 + random.below(2));
  if (random.below(2) == 0) made += "." + word(random, 2 + random.below(2));
  made += fmt::format("{}@", n);
  if (random.below(10) < 7) return made += one_of(kProviders, random);
  Random domain(skewed(random, 20000), 78);
  return made += fmt::format("{}.{}", word(domain, 2 + domain.below(3)), one_of(kEndings, domain));
}
std::string sixteen(Random& random) {
  std::string made(16, '\0');
  for (const size_t at : {0u, 8u}) {
    const uint64_t half = random.next();
    std::memcpy(made.data() + at, &half, 8);
  }
  return made;
}

}  // namespace

std::string_view name_of(KeyShape shape) {
  switch (shape) {
    case KeyShape::kDense: return "dense";
    case KeyShape::kSparse: return "sparse";
    case KeyShape::kRandom16: return "random16";
    case KeyShape::kUrls: return "urls";
    case KeyShape::kEmails: return "emails";
  }
  return "?";
}

bool parse(std::string_view name, KeyShape* shape) {
  for (const KeyShape known : kKeyShapes)
    if (name_of(known) == name) return *shape = known, true;
  return false;
}

StudyKeys study_keys_of(KeyShape shape) {
  if (shape == KeyShape::kDense || shape == KeyShape::kSparse) return StudyKeys::kNumbers;
  return shape == KeyShape::kRandom16 ? StudyKeys::kSixteenBytes : StudyKeys::kBytes;
}

KeySet::KeySet(KeyShape shape, uint64_t count, uint64_t seed) {
  Random random(seed);
  keys_.reserve(count);
  for (uint64_t n = 0; n < count; ++n) {
    switch (shape) {
      case KeyShape::kDense: keys_.emplace_back(Key{n}); break;
      case KeyShape::kSparse: keys_.emplace_back(Key{mix64(seed * 0x9e3779b97f4a7c15 + n)}); break;  // mix64 is a bijection
      case KeyShape::kRandom16: add(sixteen(random)); break;
      case KeyShape::kUrls: add(url(random, n)); break;
      case KeyShape::kEmails: add(email(random, n)); break;
    }
  }
  for (uint64_t i = count; i > 1; --i) std::swap(keys_[i - 1], keys_[random.below(i)]);
}

void KeySet::add(std::string_view text) {
  const size_t words = (sizeof(elider::detail::KeyBytes) + text.size() + 7) / 8;
  if (blocks_.empty() || blocks_.back().size() + words > kBlockWords) blocks_.emplace_back().reserve(kBlockWords);
  std::vector<uint64_t>& block = blocks_.back();
  const size_t at = block.size();
  block.resize(at + words);
  auto* const bytes = new (block.data() + at) elider::detail::KeyBytes{static_cast<uint32_t>(text.size())};
  std::memcpy(bytes->data(), text.data(), text.size());
  keys_.emplace_back(bytes);
  text_bytes_ += text.size();
}

double KeySet::bytes_a_key() const {
  if (text_bytes_ == 0) return sizeof(Key);
  return static_cast<double>(text_bytes_) / static_cast<double>(keys_.size());
}

}  // namespace elider::bench
