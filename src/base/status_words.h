// Functions that build a message from the message of another Status without repeating the name of
// the code, as in "corrupt: 'x' at byte 0: the header is cut short".
// Thread safety: all functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "elider/status.h"

namespace elider {

// Returns the status's message without the leading name of the code.
inline std::string words_of(const Status& status) {
  std::string words = status.message();
  const size_t name = name_of(status.code()).size();
  if (words.size() > name + 2 && words.compare(name, 2, ": ") == 0) words.erase(0, name + 2);
  return words;
}

// Returns a Status with `code` whose message consists of `before`, the message of `why`, and
// `after`. The message names the code of `why` only if that code differs from `code`.
inline Status reworded(Code code, std::string_view before, const Status& why, std::string_view after = {}) {
  std::string words(before);
  words += why.code() == code ? words_of(why) : why.message();
  words += after;
  return Status(code, std::move(words));
}

}  // namespace elider
