// What the commands share that look at, copy and mend the files of a database that nobody
// has open (elider/files.h).
//
// Each prints what it did, for people or with --json FILE for programs; messages of failures go to
// standard error and name file and offset. Exit codes: 0 it worked; 1 files are damaged, or reading
// or writing them failed; 2 it was asked for what cannot be: no database is there, it is open
// elsewhere, the target is not empty, the files do not hold that state.
// Thread safety: called by main alone.
#pragma once

#include <string>
#include <vector>

#include "elider/status.h"
#include "tools/common/command.h"

namespace elider::tools {

inline constexpr const char* kDataExitCodes =
    "Exit code: 0 success; 1 files are damaged, or cannot be read or written; 2 the command is not possible: there is\n"
    "not a database, it is open elsewhere, the target is not empty, or the files do not contain the requested state.";

// A database's folders, as the options DIR and --also name them. Lives as long as the command.
struct Place {
  std::string first;
  std::vector<std::string> also;
  std::vector<std::string> folders() const;
};
void add_folders(Command command, Place& place, const char* name = "DIR", const char* what = "The database's folder");
// --json, which means in every command what it means in benchmarks.
void add_json(Command command, std::string& file);
// Sets the exit code, and prints what failed. Whether it was ok.
bool finish(const Status& status);

}  // namespace elider::tools
