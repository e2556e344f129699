// JSON that commands write: results, with what they were measured by. Thread safety: none.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "elider/status.h"

namespace elider::tools {

using Json = nlohmann::ordered_json;

// Adds "commit", "compiler", "build" and "machine": what a figure belongs to.
void add_environment(Json& configuration);

// Writes a document to its file ("-": standard output). The message of a failure names the file.
Status write_json(const std::string& path, const Json& json);

}  // namespace elider::tools
