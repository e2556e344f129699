#include "recovery/data_folder.h"

#include <algorithm>
#include <new>
#include <vector>

#include "base/clock.h"
#include "recovery/replay.h"

namespace elider::recovery {

namespace {
// Returns the number of generations that the newest checkpoint does not cover. The generation that
// this opening has created is not counted.
size_t generations_to_cover(const log::Manifest& manifest) {
  const SnapshotNumber covered = manifest.checkpoints.empty() ? 0 : manifest.checkpoints.back().number;
  const auto is_not_covered = [&](const log::Generation& each) { return each.cut > covered; };
  return static_cast<size_t>(std::count_if(manifest.generations.begin(), manifest.generations.end(), is_not_covered)) - 1;
}
}  // namespace

DataFolder::~DataFolder() { close(); }

void DataFolder::close() {
  checkpoints_.reset();
  source_.store.log = nullptr;
  const std::unique_ptr<log::Log> log = std::move(log_);
  if (log == nullptr) return;
  SnapshotNumber closed = 0;
  if (!log->close(&closed).ok()) return;
  try {
    static_cast<void>(directory_->end_generation(closed));  // an error cannot be reported here and does not affect recovery
  } catch (const std::bad_alloc&) {
    // Ignored, like an error of end_generation().
  }
}

Status DataFolder::open(const OpenHow& how, bool* may_skip) {
  *may_skip = false;
  txn::Store& store = source_.store;
  const Options& options = store.options;
  if (options.data_folders.empty()) return {};
  const uint64_t begin_ns = now_ns();
  const bool writes = options.durability != Durability::kNone && !how.read_only;
  Status status = log::Directory::open(io::system_files(), options.data_folders, writes && !how.for_tools,
                                       {.create_if_missing = options.create_if_missing && !how.for_tools,
                                        .error_if_exists = options.error_if_exists,
                                        .hold = how.for_tools && how.read_only ? io::Hold::kShared : io::Hold::kExclusive},
                                       &directory_);
  if (!writes && !how.for_tools && options.create_if_missing && status.not_found()) return {};  // a missing database is not created
  if (!status.ok()) return status;
  {
    const Replay::How how_to_replay{source_.one_thread, how.skipped.size(), how.read_only, how.for_tools};
    Replay replay(source_.catalog, store.workers, *directory_, options, how_to_replay);
    status = replay.run(&recovery_);
    *may_skip = replay.may_skip();
    if (!status.ok()) return status;
    if (how.for_tools || options.leave_out_indexes) schemas_ = replay.schemas();
  }
  recovery_.skipped = how.skipped;
  store.snapshots.start_at(directory_->first_number());
  if (writes) status = start_log();
  if (!status.ok()) return status;
  recovery_.duration_us = (now_ns() - begin_ns) / 1000;
  return {};
}

Status DataFolder::start_log() {
  txn::Store& store = source_.store;
  const Options& options = store.options;
  uint32_t generation = 0;
  if (Status status = directory_->begin_generation(options.log_threads, &generation); !status.ok()) return status;
  numbers_ = std::make_unique<Numbers>(store.snapshots);
  log::LogOptions chosen;
  chosen.folders = directory_->folders();
  chosen.streams = options.log_threads;
  chosen.workers = store.workers.workers_max() + 1;  // one more for the catalog
  chosen.flush_interval_us = options.flush_interval_us;
  chosen.segment_bytes = options.log_segment_bytes;
  chosen.buffer_bytes = options.log_buffer_bytes;
  if (Status status = log::Log::start(chosen, directory_->manifest().database, generation, *numbers_, &log_); !status.ok()) return status;
  store.set_log(log_.get());
  checkpoints_ = std::make_unique<Checkpoints>(
      source_, *directory_, *log_, schema_of(),
      FoundInFolders{recovery_.log_bytes, recovery_.checkpoint_bytes, generations_to_cover(directory_->manifest())});
  checkpoints_->take_at_opening();
  return {};
}

SchemaOfTable DataFolder::schema_of() const {
  return [this](const AnyTable& table, const storage::SchemaVersions::Version& version) -> const Schema& {
    const bool stored = table.id() < schemas_.size() && version.number == 0;
    return stored ? schemas_[table.id()] : version.schema;
  };
}

Status DataFolder::checkpoint() {
  if (checkpoints_ == nullptr)
    return Status::invalid_argument("a checkpoint needs a data folder (Options::data_folders) and Options::durability 'async' or 'group'");
  return checkpoints_->take();
}

Status DataFolder::backup(const std::string& folder) {
  return back_up(source_, directory_ != nullptr ? directory_->files() : io::system_files(), folder, schema_of());
}

}  // namespace elider::recovery
