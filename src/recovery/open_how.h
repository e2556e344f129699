// OpenHow: how the data folders of a database are opened. Thread safety: a value.
#pragma once

#include <string>
#include <vector>

namespace elider::recovery {

// Describes how the data folders of an engine are opened.
struct OpenHow {
  std::vector<std::string> skipped;  // for each of the newest checkpoints that are skipped, the reason
  // Set by command-line tools, which lack the key functions of secondary indexes. Tables are then
  // created without these indexes, and files are not created.
  bool for_tools = false;
  bool read_only = false;            // the files are not changed
};

}  // namespace elider::recovery
