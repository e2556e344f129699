// suggestion(): the known word that a mistyped word probably means.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <vector>

namespace elider::tools {

// Returns "; did you mean X?" for the most similar word, or "" if none is similar.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace elider::tools
