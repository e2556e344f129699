// JSON output of commands: results and their environment.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "elider/status.h"

namespace elider::tools {

using Json = nlohmann::ordered_json;

// Adds "commit", "compiler", "build" and "machine", the environment of a measurement.
void add_environment(Json& configuration);

// Writes a document to a file ("-": standard output). An error names the file.
Status write_json(const std::string& path, const Json& json);

}  // namespace elider::tools
