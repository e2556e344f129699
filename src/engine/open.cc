// Database::open, the engine of closed databases and Status are compiled for any x86-64 processor
// (CMakeLists.txt). So Database::open can check whether this processor has the instructions that
// the rest of the library was compiled for, before any of that code runs.
#include "base/instruction_sets.h"
#include "elider/database.h"
#include "engine/engine.h"

namespace elider {

Result<Database> Database::open(const Options& options) {
  if (const std::string missing = missing_instruction_sets(); !missing.empty())
    return Status(Code::kUnsupported, "this library was compiled for another processor; this one lacks " + missing);
  std::unique_ptr<detail::Engine> engine;
  if (Status status = detail::open_engine(options, {}, &engine); !status.ok()) return status;
  return Database(std::move(engine));
}

}  // namespace elider
