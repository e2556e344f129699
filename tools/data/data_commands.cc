#include "tools/data/data_commands.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "elider/files.h"
#include "tools/commands.h"
#include "tools/common/json.h"
#include "tools/common/values.h"
#include "tools/data/progress_line.h"

namespace elider::tools {

namespace {

struct DataChosen {
  Place place;
  std::string to;
  uint64_t to_snapshot = files::kNewest;
  bool dry_run = false;
  std::string json;  // the argument of --json: a file, or "-" for standard output; empty without --json
};

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }
double seconds(uint64_t us) { return static_cast<double>(us) / 1e6; }
double rate(uint64_t bytes, uint64_t us) { return us == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(us); }

void print(const Recovery& r) {
  fmt::print("state after number   {}\n", r.snapshot);
  fmt::print("tables, rows         {}, {}\n", r.tables, r.rows);
  if (r.checkpoint != 0)
    fmt::print("checkpoint           number {}, {} rows, {:.1f} MB in {:.3f} s ({:.0f} MB/s)\n", r.checkpoint, r.checkpoint_rows,
               megabytes(r.checkpoint_bytes), seconds(r.checkpoint_us), rate(r.checkpoint_bytes, r.checkpoint_us));
  fmt::print("log after it         {} records, {:.1f} MB checked in {:.3f} s, applied in {:.3f} s\n", r.records, megabytes(r.log_bytes),
             seconds(r.judge_us), seconds(r.log_us));
  for (const std::string& words : r.skipped) fmt::print("damaged checkpoint   {}\n", words);
  for (const std::string& words : r.cuts) fmt::print("cut off by a crash   {}\n", words);
  if (r.records_void != 0)
    fmt::print("void                 {} records after the last complete number, never acknowledged as durable\n", r.records_void);
}

Json json_of(const Recovery& r) {
  return {{"snapshot", r.snapshot},
          {"tables", r.tables},
          {"rows", r.rows},
          {"checkpoint", r.checkpoint},
          {"checkpoint_rows", r.checkpoint_rows},
          {"checkpoint_bytes", r.checkpoint_bytes},
          {"checkpoint_us", r.checkpoint_us},
          {"records", r.records},
          {"records_void", r.records_void},
          {"log_bytes", r.log_bytes},
          {"judge_us", r.judge_us},
          {"log_us", r.log_us},
          {"index_us", r.index_us},
          {"duration_us", r.duration_us},
          {"indexes_left_out", r.indexes_left_out},
          {"cuts", r.cuts},
          {"skipped", r.skipped}};
}

void write(const std::string& file, const Json& json) { static_cast<void>(finish(write_json(file, json))); }

void run_checkpoint(const DataChosen& chosen) {
  Recovery recovery;
  Statistics::Checkpoints taken;
  ProgressLine line;
  if (!finish(files::checkpoint(chosen.place.folders(), line.tell(), &recovery, &taken))) return;
  if (!chosen.json.empty()) {
    write(chosen.json, {{"recovery", json_of(recovery)}, {"snapshot", taken.snapshot}, {"rows", taken.rows}, {"bytes", taken.bytes},
                        {"duration_us", taken.duration_us}});
    return;
  }
  fmt::print("checkpoint at number {}: {} rows, {:.1f} MB in {:.3f} s ({:.0f} MB/s)\n", taken.snapshot, taken.rows, megabytes(taken.bytes),
             seconds(taken.duration_us), rate(taken.bytes, taken.duration_us));
}

void run_check(const DataChosen& chosen) {
  files::Checked checked;
  ProgressLine line;
  const Status status = files::check(chosen.place.folders(), line.tell(), &checked);
  if (!finish(status)) return;
  if (!chosen.json.empty()) {
    write(chosen.json, {{"recovery", json_of(checked.recovery)}, {"checkpoints", checked.checkpoints}, {"tables", checked.tables},
                        {"unchecked_indexes", checked.unchecked_indexes}});
    return;
  }
  print(checked.recovery);
  fmt::print("checkpoints          {}, all blocks and checksums match\n", checked.checkpoints);
  for (const std::string& name : checked.tables) fmt::print("table                '{}': its key index matches its rows\n", name);
  for (const std::string& name : checked.unchecked_indexes)
    fmt::print("index                {}: not stored in the files; built when the database opens\n", name);
  fmt::print("all is well\n");
}

void run_recover(const DataChosen& chosen) {
  Recovery recovery;
  ProgressLine line;
  if (!finish(files::recover(chosen.place.folders(), chosen.to_snapshot, chosen.dry_run, line.tell(), &recovery))) return;
  if (!chosen.json.empty()) write(chosen.json, json_of(recovery));
  else print(recovery);
  if (chosen.dry_run && chosen.json.empty()) fmt::print("the files were not changed\n");
}

}  // namespace

std::vector<std::string> Place::folders() const {
  std::vector<std::string> all = {first};
  all.insert(all.end(), also.begin(), also.end());
  return all;
}

void add_folders(Command command, Place& place, const char* name, const char* what) {
  command.option(name, place.first, what).required();
  command.option("--also", place.also, "Another folder, if the database has several; repeat in order").one_at_a_time().type("DIR");
}

void add_json(Command command, std::string& file) {
  command.option("--json", file, "Write the results as JSON to this file (- for standard output)").type("FILE");
}

bool finish(const Status& status) {
  if (status.ok()) return true;
  fmt::print(stderr, "elider: {}\n", status.message());
  const bool nonsense = status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound;
  set_exit_code(nonsense ? kExitUsage : kExitFailed);
  return false;
}

void add_checkpoint(Command app) {
  auto chosen = std::make_shared<DataChosen>();
  Command command = app.add("checkpoint", "Write a checkpoint of a closed database, so that its log can be deleted and it opens faster");
  add_folders(command, chosen->place);
  add_json(command, chosen->json);
  command.footer(std::string("  elider checkpoint data\n\n") + kDataExitCodes);
  command.runs([chosen] { run_checkpoint(*chosen); });
}

void add_backup(Command app) {
  auto chosen = std::make_shared<DataChosen>();
  Command command = app.add("backup", "Back up a closed database to another folder (for an open one, call Database::backup)");
  add_folders(command, chosen->place);
  command.option("TO", chosen->to, "The folder for the backup; created if missing, otherwise it must be empty").required();
  command.footer(std::string("  elider backup data backups/monday\n  elider check backups/monday\n\n"
                             "A backup is a database: open it in place, or copy it with elider restore.\n") +
                 kDataExitCodes);
  command.runs([chosen] {
    Recovery recovery;
    ProgressLine line;
    if (!finish(files::backup(chosen->place.folders(), chosen->to, line.tell(), &recovery))) return;
    fmt::print("wrote {} rows of {} tables, the state after number {}, to {}\n", recovery.rows, recovery.tables, recovery.snapshot,
               chosen->to);
  });
}

void add_restore(Command app) {
  auto chosen = std::make_shared<DataChosen>();
  Command command = app.add("restore", "Check a backup, or any closed database, and copy it to a new folder");
  add_folders(command, chosen->place);
  command.option("TO", chosen->to, "The folder for the database; created if missing, otherwise it must be empty").required();
  command.footer(std::string("  elider restore backups/monday data\n\n") + kDataExitCodes);
  command.runs([chosen] {
    files::Copied copied;
    if (!finish(files::restore(chosen->place.folders(), chosen->to, &copied))) return;
    fmt::print("copied {} files, {:.1f} MB, to {}\n", copied.files, megabytes(copied.bytes), chosen->to);
  });
}

void add_check(Command app) {
  auto chosen = std::make_shared<DataChosen>();
  Command command = app.add("check", "Read all files of a closed database, load its rows, and compare the indexes with them");
  add_folders(command, chosen->place);
  add_json(command, chosen->json);
  command.footer(std::string("  elider check data\n\nThe check needs as much memory as the database, and does not change the files.\n") +
                 kDataExitCodes);
  command.runs([chosen] { run_check(*chosen); });
}

void add_recover(Command app) {
  auto chosen = std::make_shared<DataChosen>();
  Command command = app.add("recover", "Recover a closed database as opening it would, and report what was found");
  add_folders(command, chosen->place);
  command.flag("--dry-run", chosen->dry_run, "Do not change the folder");
  command
      .option("--to-snapshot", chosen->to_snapshot,
              "Recover the state after this number; later commits are deleted, unless --dry-run is given")
      .checked(check_whole_number)
      .type("N");
  add_json(command, chosen->json);
  command.footer(
      std::string("  elider recover --dry-run data                      what would opening it find?\n"
                  "  elider recover --dry-run --to-snapshot 4711 data   what would the state after number 4711 be?\n"
                  "  elider backup data before && elider recover --to-snapshot 4711 data\n\n"
                  "RunPolicy::commit_number returns the number of a commit, and elider log dump prints it. States before the oldest\n"
                  "checkpoint are not in the files (Options::checkpoints_kept).\n") +
      kDataExitCodes);
  command.runs([chosen] { run_recover(*chosen); });
}

}  // namespace elider::tools
