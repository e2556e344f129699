// Declarations as JSON:
//
//   {"tables": [{"name": "account", "groups": [["owner"], ["balance"]]}],
//    "procedures": [
//      {"name": "deposit",
//       "operations": [
//         {"name": "owner", "rolls_back": true,
//          "accesses": [{"read": "account", "columns": ["owner"]}]},
//         {"name": "balance", "needs": ["owner"],
//          "accesses": [{"add": "account", "columns": ["balance"]}]}]}]}
//
// An access names its kind with its table: read, write, add, insert, remove or scan. It may have
// "columns" (all without it), "fresh", "token" and "partition"; an operation "needs", "rolls_back"
// and "deferred" (elider/chopping.h says what they mean).
// Thread safety: pure.
#pragma once

#include <string>

#include "elider/chopping.h"
#include "tools/common/json.h"

namespace elider::tools {

// kInvalidArgument: the file cannot be read, or is no declaration; the message names the place in
// it.
Result<chopping::Declaration> read_declaration(const std::string& path);
Json to_json(const chopping::Declaration& declaration);

}  // namespace elider::tools
