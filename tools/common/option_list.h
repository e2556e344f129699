// The command `options` of a program: prints tables of options (elider/option_info.h) as text,
// JSON, or a page of the documents. Thread safety: only main's thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "elider/option_info.h"
#include "tools/common/command.h"

namespace elider::tools {

// A struct of options.
struct OptionStruct {
  const char* name;  // the C++ type
  std::span<const OptionInfo> table;
  std::string (*default_text)(std::string_view option);
  const char* markdown_heading;  // printed before the table in Markdown
};

// Adds the command. `page` is the document that the command can print. All arguments must remain
// valid until the program ends.
void add_option_list(Command app, const char* program, const char* summary, const char* page, std::span<const OptionStruct> structs);

}  // namespace elider::tools
