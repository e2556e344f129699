#include "rows/json.h"

#include <cstdint>
#include <cstring>

namespace elider::rows {

namespace {

class JsonCheck {
 public:
  explicit JsonCheck(std::string_view text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  JsonMistake run() {
    if (!texts()) return {reason_, static_cast<size_t>(at_ - begin_)};
    return {};
  }

 private:
  bool fail(const char* reason) { return reason_ = reason, false; }
  bool is(char c) const { return at_ != end_ && *at_ == c; }
  bool take(char c) { return is(c) && (++at_, true); }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  // A bit per open array or object; 1 for objects.
  bool in_object() const { return (open_[(depth_ - 1) / 64] >> (depth_ - 1) % 64 & 1) != 0; }
  bool open(bool object) {
    if (depth_ == kJsonDepthMax) return fail("arrays and objects are nested more than 512 deep");
    ++at_;
    const uint64_t bit = uint64_t{1} << depth_ % 64;
    uint64_t& word = open_[depth_ / 64];
    word = object ? word | bit : word & ~bit;
    ++depth_;
    return true;
  }

  // Each round reads a value, or begins an array or an object, and then closes what ends after it.
  bool texts() {
    for (;;) {
      skip_space();
      bool empty = false;
      if (is('{') || is('[')) {
        const bool object = is('{');
        if (!open(object)) return false;
        skip_space();
        empty = is(object ? '}' : ']');
        if (!empty) {
          if (object && !name()) return false;
          continue;
        }
      } else if (!scalar()) {
        return false;
      }
      if (!close(empty)) return false;
      if (depth_ == 0) return at_ == end_ || fail("the JSON value ends here, but the text does not");
    }
  }
  // Closes arrays and objects until one of them goes on, and reads the comma and the next name. The
  // space after the last value is skipped as well.
  bool close(bool empty) {
    for (;; empty = false) {
      skip_space();
      if (depth_ == 0) return true;
      const bool object = in_object();
      if (take(object ? '}' : ']')) {
        --depth_;
        continue;
      }
      if (empty || !take(',')) return fail(object ? "',' or '}' is missing" : "',' or ']' is missing");
      if (!object) return true;
      skip_space();
      return name();
    }
  }
  bool name() {
    if (!is('"')) return fail("the name of a member is missing");
    if (!string()) return false;
    skip_space();
    return take(':') || fail("':' is missing");
  }
  bool scalar() {
    if (at_ == end_) return fail("a value is missing");
    switch (*at_) {
      case '"': return string();
      case 't': return literal("true");
      case 'f': return literal("false");
      case 'n': return literal("null");
      default: return *at_ == '-' || digit() ? number() : fail("a value is missing");
    }
  }
  bool literal(std::string_view word) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return fail("true, false or null is misspelled");
    at_ += word.size();
    return true;
  }
  bool digit() const { return at_ != end_ && *at_ >= '0' && *at_ <= '9'; }
  bool digits() {
    if (!digit()) return fail("a digit is missing");
    while (digit()) ++at_;
    return true;
  }
  bool number() {
    if (is('-')) ++at_;
    if (is('0')) ++at_;
    else if (!digits()) return false;
    if (digit()) return fail("a number begins with 0");
    if (take('.') && !digits()) return false;
    if (!is('e') && !is('E')) return true;
    ++at_;
    if (is('+') || is('-')) ++at_;
    return digits();
  }
  bool string() {
    for (++at_;; ++at_) {
      at_ = plain_end();
      if (at_ == end_) return fail("a string does not end");
      if (*at_ == '"') return ++at_, true;
      if (*at_ != '\\') return fail("a string contains a control character; escape it");
      if (!escape()) return false;
    }
  }
  // Returns the first byte that is not an ordinary character of a string.
  const char* plain_end() const {
    const char* at = at_;
    for (; end_ - at >= 8; at += 8) {
      uint64_t word;
      std::memcpy(&word, at, sizeof word);
      constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
      const auto has_zero = [](uint64_t w) { return (w - kOnes) & ~w & kHighs; };
      const uint64_t control = (word - kOnes * 0x20) & ~word & kHighs;
      if ((has_zero(word ^ kOnes * '"') | has_zero(word ^ kOnes * '\\') | control) != 0) break;
    }
    while (at != end_ && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) ++at;
    return at;
  }
  // Stops at the last character of the escape.
  bool escape() {
    ++at_;
    if (at_ == end_) return fail("a string does not end");
    if (*at_ != 'u') return std::strchr("\"\\/bfnrt", *at_) != nullptr && *at_ != 0 ? true : fail("the escape is unknown");
    unsigned unit = 0;
    if (!four_digits(&unit)) return false;
    if (unit >= 0xdc00 && unit <= 0xdfff) return fail("the second half of a surrogate pair comes alone");
    if (unit < 0xd800 || unit > 0xdbff) return true;
    if (end_ - at_ < 3 || at_[1] != '\\' || at_[2] != 'u') return fail("the second half of a surrogate pair is missing");
    at_ += 2;
    if (!four_digits(&unit)) return false;
    return (unit >= 0xdc00 && unit <= 0xdfff) || fail("the second half of a surrogate pair is missing");
  }
  bool four_digits(unsigned* unit) {
    *unit = 0;
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = at_ == end_ ? 0 : *at_;
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) return fail("\\u needs four hexadecimal digits");
      *unit = *unit * 16 + static_cast<unsigned>(digit);
    }
    return true;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  size_t depth_ = 0;
  uint64_t open_[kJsonDepthMax / 64];
  const char* reason_ = nullptr;
};

}  // namespace

JsonMistake check_json(std::string_view text) { return JsonCheck(text).run(); }

}  // namespace elider::rows
