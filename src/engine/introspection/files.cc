#include "elider/files.h"

#include <algorithm>
#include <new>

#include "base/parallel.h"
#include "base/status_words.h"
#include "engine/engine.h"
#include "log/checkpoint_file.h"
#include "log/directory.h"
#include "log/fresh_folder.h"
#include "txn/log_entry.h"

namespace elider::files {

namespace {

Options options_of(const Folders& folders, const Tell& tell) {
  Options options;
  options.sync = SyncPolicy::kOptimistic;
  options.data_folders = folders;
  options.recovery_progress = tell;
  options.checkpoint_log_bytes = 0;
  options.checkpoint_threads = processors(16);
  options.leave_out_indexes = true;
  return options;
}

Status open(const Options& options, bool read_only, std::unique_ptr<detail::Engine>* engine, Recovery* report) {
  recovery::OpenHow how;
  how.for_tools = true;
  how.read_only = read_only;
  Status status = detail::open_engine(options, how, engine);
  if (status.ok() && report != nullptr) *report = (*engine)->recovery();
  return status;
}

// Returns the caller's report, or `own` if the caller did not request one.
template <class Report>
Report& given_or(Report* given, Report& own) {
  return given != nullptr ? *given : own;
}

// Checks all blocks of a checkpoint by reading them.
Status look_through(log::Directory& directory, const log::Checkpoint& checkpoint) {
  return parallel(processors(16), checkpoint.parts, [&](uint32_t, size_t i) {
    const auto part = static_cast<uint32_t>(i);
    std::unique_ptr<log::PartReader> reader;
    Status status =
        log::PartReader::open(directory.folder_of(part), directory.manifest().database, {checkpoint.number, part}, &reader);
    log::CheckpointBlock block;
    block.kind = log::BlockKind::kTable;
    while (status.ok() && block.kind != log::BlockKind::kEnd) status = reader->next(&block);
    return status;
  });
}

Status copy_file(io::Folder& from, io::Folder& to, const std::string& name, Copied* copied) {
  constexpr size_t kBytes = 1u << 20;
  std::unique_ptr<io::File> source, target;
  if (Status status = from.open(name, io::OpenMode::kRead, &source); !status.ok()) return status;
  std::vector<std::byte> bytes(kBytes);
  if (Status status = to.open(name, io::OpenMode::kCreate, &target); !status.ok()) return status;
  for (uint64_t at = 0;;) {
    size_t count = 0;
    if (Status status = source->read_at(at, bytes, &count); !status.ok()) return status;
    if (count == 0) break;
    if (Status status = target->write_at(at, {bytes.data(), count}); !status.ok()) return status;
    at += count;
    copied->bytes += count;
  }
  ++copied->files;
  return target->sync();
}

// Copies all files that the manifest lists, in the order of the list.
Status copy_files(log::Directory& from, io::Folder& to, Copied* copied) {
  for (const log::Checkpoint& checkpoint : from.manifest().checkpoints)
    for (uint32_t part = 0; part < checkpoint.parts; ++part) {
      const std::string name = log::file_name(log::CheckpointName{checkpoint.number, part});
      if (Status status = copy_file(from.folder_of(part), to, name, copied); !status.ok()) return status;
    }
  for (const log::SegmentFacts& segment : from.segments()) {
    io::Folder& folder = from.folder_of(segment.name.stream);
    if (Status status = copy_file(folder, to, log::file_name(segment.name), copied); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status recover(const Folders& folders, uint64_t to_snapshot, bool dry_run, const Tell& tell, Recovery* report) {
  Options options = options_of(folders, tell);
  options.recover_to = to_snapshot;
  std::unique_ptr<detail::Engine> engine;
  return open(options, dry_run, &engine, report);
}

Status checkpoint(const Folders& folders, const Tell& tell, Recovery* report, Statistics::Checkpoints* taken) {
  std::unique_ptr<detail::Engine> engine;
  if (Status status = open(options_of(folders, tell), false, &engine, report); !status.ok()) return status;
  Status status = engine->checkpoint();
  if (taken != nullptr) *taken = engine->statistics().checkpoints;
  return status;
}

Status backup(const Folders& folders, const std::string& to, const Tell& tell, Recovery* report) {
  std::unique_ptr<detail::Engine> engine;
  if (Status status = open(options_of(folders, tell), true, &engine, report); !status.ok()) return status;
  return engine->backup(to);
}

namespace {

// Converts std::bad_alloc to a status. The engine catches this exception itself, but some functions
// of this file work without an engine.
template <class F>
Status within_heap(F&& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

Status restore_into(const Folders& folders, const std::string& to, Copied* copied) {
  io::FileSystem& files = io::system_files();
  std::unique_ptr<log::Directory> directory;
  if (Status status = log::Directory::open(files, folders, false, &directory); !status.ok()) return status;
  log::RecoveryFacts facts;
  if (Status status = directory->judge(processors(16), nullptr, &facts); !status.ok()) return status;
  for (const log::Checkpoint& checkpoint : directory->manifest().checkpoints)
    if (Status status = look_through(*directory, checkpoint); !status.ok()) return status;
  std::unique_ptr<log::FreshFolder> fresh;
  if (Status status = log::FreshFolder::make(files, to, &fresh); !status.ok()) return status;
  if (Status status = copy_files(*directory, fresh->folder(), copied); !status.ok()) return status;
  return fresh->publish(directory->manifest());
}

Status check_all(const Folders& folders, const Tell& tell, Checked* report) {
  {
    // Loading the database below checks only the newest checkpoint, so the older checkpoints are
    // checked here.
    std::unique_ptr<log::Directory> directory;
    if (Status status = log::Directory::open(io::system_files(), folders, false, &directory); !status.ok()) return status;
    const auto& all = directory->manifest().checkpoints;
    report->checkpoints = all.size();
    for (const log::Checkpoint& checkpoint : all)
      if (Status status = look_through(*directory, checkpoint); !status.ok()) return status;
  }
  std::unique_ptr<detail::Engine> engine;
  if (Status status = open(options_of(folders, tell), true, &engine, &report->recovery); !status.ok()) return status;
  for (const TableRef& table : engine->tables()) report->tables.push_back(table.schema().name);
  report->unchecked_indexes = report->recovery.indexes_left_out;
  Status status = engine->verify();
  return status.ok() ? status : reworded(Code::kCorrupt, "", status);
}

Status verify_log_of(const Folders& folders, Log* report) {
  std::unique_ptr<log::Directory> directory;
  if (Status status = log::Directory::open(io::system_files(), folders, false, &directory); !status.ok()) return status;
  log::RecoveryFacts facts;
  Status status = directory->judge(processors(16), nullptr, &facts);
  if (!status.ok()) return status;
  for (const log::SegmentFacts& segment : directory->segments())
    report->segments.push_back({segment.file, segment.bytes, segment.whole_bytes, segment.frames, segment.records,
                                segment.records == 0 ? 0 : segment.first_number, segment.last_number,
                                directory->cut_of(segment.name.generation)});
  if (!directory->manifest().checkpoints.empty()) report->checkpoint = directory->manifest().checkpoints.back().number;
  report->snapshot = std::max(report->checkpoint, facts.closed);
  for (const log::CutTail& cut : facts.cuts) report->cuts.push_back(log::describe(cut));
  return {};
}

}  // namespace

Status restore(const Folders& folders, const std::string& to, Copied* copied) {
  Copied own;
  Copied& count = given_or(copied, own);
  count = {};
  return within_heap([&] { return restore_into(folders, to, &count); });
}

Status check(const Folders& folders, const Tell& tell, Checked* report) {
  Checked own;
  Checked& found = given_or(report, own);
  found = {};
  return within_heap([&] { return check_all(folders, tell, &found); });
}

Status verify_log(const Folders& folders, Log* report) {
  Log own;
  Log& found = given_or(report, own);
  found = {};
  return within_heap([&] { return verify_log_of(folders, &found); });
}

}  // namespace elider::files
