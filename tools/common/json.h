// Writes the results of commands, and the environment in which they were measured, as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "elider/status.h"

namespace elider::tools {

using Json = nlohmann::ordered_json;

// Adds the members "commit", "compiler", "build" and "machine", which describe the environment of a
// measurement.
void add_environment(Json& configuration);

// Writes a document to the file `path`, or to standard output if `path` is "-". Error messages name
// the file.
Status write_json(const std::string& path, const Json& json);

}  // namespace elider::tools
