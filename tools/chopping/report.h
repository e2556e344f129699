// The results of analyzing a declaration, as text, JSON and a drawing (Graphviz).
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

  // Prints each procedure's pieces in order, every merge with the cycle that forced it, and what
  // could avoid the merge.
  std::string text() const;
  Json json() const;
  // Draws two calls of each procedure: S-edges black, C-edges red, publishers and subscribers
  // dashed.
  std::string dot() const;
};

}  // namespace elider::tools
