// unknown_word(): finds an unknown command or option among the arguments before they are parsed, and says what may have been
// meant. The parser's own words for these name neither the command nor anything alike.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace elider::cli {

// A line for the user that names it; empty: all commands and options are known.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace elider::cli
