// The command `elider options`: the options of a database (elider/option_table.h) and of a durable
// heap (elider/heap_option_table.h).
#include "elider/heap_option_table.h"
#include "elider/option_table.h"
#include "tools/commands.h"
#include "tools/common/option_list.h"

namespace elider::tools {

namespace {

const OptionStruct kStructs[] = {
    {"Options", option_table(), [](std::string_view name) { return option_text(Options(), name); },
     "# Options\n\n"
     "These are the members of `Options`. [options.h](../include/elider/options.h) describes each in detail. To set an option from\n"
     "text, call `set_option()` ([option_table.h](../include/elider/option_table.h)); sizes may be written as 64K, 512M or 2G.\n"
     "[lab/options.md](lab/options.md) lists the options for measurements and for the protocols of the laboratory.\n"
     "This page is the output of `elider options --markdown`.\n\n"},
    {"HeapOptions", heap_option_table(), [](std::string_view name) { return option_text(HeapOptions(), name); },
     "\n## Durable heap\n\n"
     "These are the members of `HeapOptions` ([heap.md](heap.md), [heap.h](../include/elider/heap.h)). `set_option()` also sets them\n"
     "from text ([heap_option_table.h](../include/elider/heap_option_table.h)). An existing file keeps the values it was created with\n"
     "for options that apply to new files.\n\n"}};

}  // namespace

void add_options(Command app) {
  add_option_list(app, "elider", "List the options of a database and of a durable heap: defaults, ranges, descriptions", "docs/options.md",
                  kStructs);
}

}  // namespace elider::tools
