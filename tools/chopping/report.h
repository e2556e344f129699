// The results of analyzing a declaration, as text, as JSON, or as a drawing (Graphviz).
// Thread safety: pure functions.
#pragma once

#include <string>

#include "elider/chopping.h"
#include "tools/common/json.h"

namespace elider::tools {

struct ChoppingReport {
  const chopping::Declaration& declaration;
  const chopping::Choices& choices;
  const chopping::Plan& plan;

  // Lists each procedure's pieces in order, every merge of pieces with the cycle that forced it,
  // and what could avoid the merge.
  std::string text() const;
  Json json() const;
  // Returns a drawing of two calls of each procedure. S-edges are black, C-edges are red, and the
  // edges between publishers and subscribers are dashed.
  std::string dot() const;
};

}  // namespace elider::tools
