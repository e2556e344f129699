// The command `elider-lab options`: the options of the laboratory (elider/laboratory.h).
#include "elider/laboratory.h"
#include "elider/option_table.h"
#include "lab/commands.h"
#include "tools/common/option_list.h"

namespace elider::bench {

namespace {

const tools::OptionStruct kStructs[] = {
    {"LaboratoryOptions", laboratory_option_table(), [](std::string_view name) { return option_text(Options(), name); },
     "# Options of the laboratory\n\n"
     "These are the members of `LaboratoryOptions`, which are for measurements and for the protocols of the laboratory.\n"
     "[laboratory.h](../../include/elider/laboratory.h) describes them. `set_option()` also sets them from text.\n"
     "[options.md](../options.md) lists the options of a database. This page is the output of `elider-lab options --markdown`.\n\n"}};

}  // namespace

void add_options(Command lab) {
  tools::add_option_list(lab, "elider-lab", "List the options for measurements and for the protocols of the laboratory",
                         "docs/lab/options.md", kStructs);
}

}  // namespace elider::bench
