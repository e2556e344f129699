// The commands dump and load.
#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "tools/commands.h"
#include "tools/data/data_commands.h"
#include "tools/rows/dump.h"
#include "tools/rows/open.h"

namespace elider::tools {

namespace {

struct DumpChosen {
  Place place;
  std::string file;
  bool merge = false;
};

Status run_dump(const DumpChosen& chosen) {
  Result<Database> db = open_for_rows(chosen.place, Access::kRead);
  if (!db.ok()) return db.status();
  OutputFile out;
  Dumped dumped;
  if (Status status = out.open(chosen.file); !status.ok()) return status;
  const Status status = dump_database(*db, out, &dumped);
  const Status finished = out.finish();
  if (!status.ok()) return status;
  if (finished.ok() && !chosen.file.empty() && chosen.file != "-")
    fmt::print("dumped {} rows of {} tables to {}\n", dumped.rows, dumped.tables, chosen.file);
  return finished;
}

Status run_load(const DumpChosen& chosen) {
  InputFile in;
  if (Status status = in.open(chosen.file.empty() ? "-" : chosen.file); !status.ok()) return status;
  if (Status status = check_dump(in); !status.ok()) return status;  // before a folder is created
  Result<Database> db = open_for_rows(chosen.place, Access::kCreate);
  if (!db.ok()) return db.status();
  Dumped loaded;
  const Status status = load_database(*db, in, chosen.merge, &loaded);
  const Status durable = db->wait_durable();
  if (!status.ok()) return status;
  if (!durable.ok()) return durable;
  fmt::print("loaded {} rows of {} tables\n", loaded.rows, loaded.tables);
  return {};
}

}  // namespace

void add_dump(Command app) {
  auto chosen = std::make_shared<DumpChosen>();
  Command command = app.add("dump", "Write a whole closed database as JSON lines, which elider load reads");
  add_folders(command, chosen->place);
  command.option("FILE", chosen->file, "The file; standard output if missing or -");
  command.footer(std::string("  elider dump data data.jsonl\n  elider dump data | gzip >data.jsonl.gz\n\n"
                             "A dump contains all tables, rows and sequences. elider backup is faster; a dump can be read and edited.\n") +
                 kDataExitCodes);
  command.runs([chosen] { static_cast<void>(finish(run_dump(*chosen))); });
}

void add_load(Command app) {
  auto chosen = std::make_shared<DumpChosen>();
  Command command = app.add("load", "Create a database from a dump");
  add_folders(command, chosen->place);
  command.option("FILE", chosen->file, "The file; standard input if missing or -");
  command.flag("--merge", chosen->merge, "Tables may exist, with the same schemas; loaded rows replace rows with the same keys");
  command.footer(
      std::string("  elider load copy data.jsonl\n  gunzip -c data.jsonl.gz | elider load copy\n\n"
                  "Secondary indexes whose key functions belong to the program are described in the new database, and built when the\n"
                  "program opens it. If the load fails, the rows that were loaded before stay in the folder.\n") +
      kDataExitCodes);
  command.runs([chosen] { static_cast<void>(finish(run_load(*chosen))); });
}

}  // namespace elider::tools
