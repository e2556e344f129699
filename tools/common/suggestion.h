// suggestion(): what somebody meant who typed a word that is none of those known.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <vector>

namespace elider::tools {

// "; did you mean X?", of the nearest one, or nothing where none is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace elider::tools
