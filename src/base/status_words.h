// Functions for a message that continues with the words of another Status. For example, "corrupt:
// 'x' at byte 0: the header is cut short" names the code only once.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "elider/status.h"

namespace elider {

// Returns the message without the name of the code at its start.
inline std::string words_of(const Status& status) {
  std::string words = status.message();
  const size_t name = name_of(status.code()).size();
  if (words.size() > name + 2 && words.compare(name, 2, ": ") == 0) words.erase(0, name + 2);
  return words;
}

// Returns a failure with the words of `why` between `before` and `after`. The code of `why` is
// named only if it differs from `code`.
inline Status reworded(Code code, std::string_view before, const Status& why, std::string_view after = {}) {
  std::string words(before);
  words += why.code() == code ? words_of(why) : why.message();
  words += after;
  return Status(code, std::move(words));
}

}  // namespace elider
