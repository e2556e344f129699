// Shared parts of the commands for the files of a database that is not open (elider/files.h).
//
// Each command prints its results as text or, with --json FILE, as JSON. Errors are printed to
// standard error and name the file and the offset. kDataExitCodes describes the exit codes.
// Thread safety: only main() calls these functions.
#pragma once

#include <string>
#include <vector>

#include "elider/status.h"
#include "tools/common/command.h"

namespace elider::tools {

inline constexpr const char* kDataExitCodes =
    "Exit code: 0 success; 1 files are damaged, or cannot be read or written; 2 the command is not possible: the\n"
    "database does not exist or is in use, the target is not empty, or the files do not contain the requested state.";

// The database's folders, from the argument DIR and the option --also. The object must outlive the
// command.
struct Place {
  std::string first;
  std::vector<std::string> also;
  std::vector<std::string> folders() const;
};
void add_folders(Command command, Place& place, const char* name = "DIR", const char* what = "The database's folder");
// Adds the option --json FILE, which stores its argument in `file`.
void add_json(Command command, std::string& file);
// Prints an error and sets the exit code unless the status is ok. Returns status.ok().
bool finish(const Status& status);

}  // namespace elider::tools
