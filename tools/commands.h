// The commands of `elider`, except `bench`. Each add_... function declares a command, its options
// and the function that runs it (tools/common/command.h).
// Thread safety: only main() calls them.
#pragma once

#include "tools/common/command.h"

namespace elider::tools {

void add_check_history(Command app);  // tools/check_history
void add_chopping(Command app);       // tools/chopping
void add_hardware(Command app);
void add_heap(Command app);           // tools/heap
void add_metrics(Command app);
void add_options(Command app);
void add_plot(Command app);           // tools/plot

// Commands for the files of a database that is not open (tools/data).
void add_log(Command app);  // log dump, log verify
void add_checkpoint(Command app);
void add_backup(Command app);
void add_restore(Command app);
void add_check(Command app);
void add_recover(Command app);

// Commands for the rows of a database that is not open (tools/rows).
void add_tables(Command app);
void add_schema(Command app);
void add_rows(Command app);
void add_export(Command app);
void add_set(Command app);
void add_delete(Command app);
void add_import(Command app);
void add_dump(Command app);
void add_load(Command app);

}  // namespace elider::tools
