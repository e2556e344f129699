// The words of a Status, for a message that goes on with them: "corrupt: 'x' at byte 0: the
// header is cut short" names the code once.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "elider/status.h"

namespace elider {

// The message without the name of the code that it begins with.
inline std::string words_of(const Status& status) {
  std::string words = status.message();
  const size_t name = name_of(status.code()).size();
  if (words.size() > name + 2 && words.compare(name, 2, ": ") == 0) words.erase(0, name + 2);
  return words;
}

// A failure with the words of another one between `before` and `after`. The other's code is named
// only if it differs from `code`.
inline Status reworded(Code code, std::string_view before, const Status& why, std::string_view after = {}) {
  std::string words(before);
  words += why.code() == code ? words_of(why) : why.message();
  words += after;
  return Status(code, std::move(words));
}

}  // namespace elider
