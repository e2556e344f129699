// Lists names in messages.
// Thread safety: a class of values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace elider {

// Lists the first names, as "'a', 'b' and 5 others".
class NameList {
 public:
  static constexpr size_t kShownMax = 10;

  void add(std::string_view name) {
    if (names_++ < kShownMax) words_ += (names_ == 1 ? "'" : ", '") + printable(name) + '\'';
  }
  size_t size() const { return names_; }
  std::string words() const {
    if (names_ <= kShownMax) return words_;
    return words_ + " and " + std::to_string(names_ - kShownMax) + (names_ == kShownMax + 1 ? " other" : " others");
  }

 private:
  size_t names_ = 0;
  std::string words_;
};

}  // namespace elider
