#include "tools/common/json.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "tools/common/environment.h"

namespace elider::tools {

void add_environment(Json& configuration) {
  const Environment machine = environment();
  configuration["commit"] = machine.commit;
  configuration["compiler"] = machine.compiler;
  configuration["build"] = machine.build;
  configuration["machine"] = {{"cpu", machine.cpu},
                              {"cpus", machine.cpus},
                              {"system", machine.system},
                              {"memory_bytes", machine.memory_bytes},
                              {"transparent_huge_pages", machine.huge_pages}};
}

Status write_json(const std::string& path, const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path == "-") {
    fmt::print("{}", text);
    return {};
  }
  std::FILE* file = std::fopen(path.c_str(), "w");
  int error = file == nullptr ? errno : 0;
  if (file != nullptr && std::fwrite(text.data(), 1, text.size(), file) != text.size()) error = errno;
  // A failure to write buffered output may be reported only here.
  if (file != nullptr && std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0) return {};
  return Status::invalid_argument(fmt::format("--json: cannot write '{}': {}", path, std::strerror(error)));
}

}  // namespace elider::tools
