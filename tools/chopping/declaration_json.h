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
// An access names its kind and its table: read, write, add, insert, remove or scan. It may have
// "columns" (by default all), "fresh", "token" and "partition". An operation may have "needs",
// "rolls_back" and "deferred". elider/chopping.h explains them.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "elider/chopping.h"
#include "tools/common/json.h"

namespace elider::tools {

//   kInvalidArgument  the file cannot be read, or is not a declaration; the message names the
//                     position
Result<chopping::Declaration> read_declaration(const std::string& path);
Json to_json(const chopping::Declaration& declaration);

}  // namespace elider::tools
