// What the analysis of a declaration found: for people, as JSON, and as a drawing (Graphviz).
// Thread safety: pure.
#pragma once

#include <string>

#include "elider/chopping.h"
#include "tools/common/json.h"

namespace elider::tools {

struct ChoppingReport {
  const chopping::Declaration& declaration;
  const chopping::Choices& choices;
  const chopping::Plan& plan;

  // Each procedure's pieces in their order, every merge with the cycle that forced it, and what
  // would have to change.
  std::string text() const;
  Json json() const;
  // Two calls of each procedure; S-edges black, C-edges red, publishers and subscribers dashed.
  std::string dot() const;
};

}  // namespace elider::tools
