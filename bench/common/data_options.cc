#include "bench/common/data_options.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "bench/common/commands.h"
#include "bench/common/engine_option.h"
#include "bench/common/options.h"
#include "tools/common/values.h"

namespace elider::bench {

void DataOptions::apply(Options& options) const {
  options.data_folders = folders;
  options.create_if_missing = !resume;
  options.durability = durability;
  options.flush_interval_us = flush_interval_us;
  options.log_buffer_bytes = log_buffer_bytes;
  options.checkpoint_log_bytes = checkpoint_log_bytes;
  if (!folders.empty()) options.log_threads = static_cast<uint32_t>(folders.size());
}

void add_data_options(Command command, DataOptions& options) {
  const Option data =
      command
          .option("--data", options.folders,
                  "Keep the database in this folder, which must be empty or missing; if there are several, separated by commas, each "
                  "has its own log file and log thread")
          .between_commas()
          .type("DIR");
  const std::string with_data = "With --data: ";
  add_engine_option(command, "--durability", "MODE", "durability", [&options](const Options& o) { options.durability = o.durability; },
                    with_data)
      .needs(data);
  command.flag("--resume", options.resume, "Recover the database in --data and continue with it");
  add_engine_option(command, "--flush-interval", "US", "flush_interval_us",
                    [&options](const Options& o) { options.flush_interval_us = o.flush_interval_us; }, with_data)
      .needs(data);
  add_engine_option(command, "--log-buffer", "BYTES", "log_buffer_bytes",
                    [&options](const Options& o) { options.log_buffer_bytes = o.log_buffer_bytes; }, with_data)
      .needs(data);
  add_engine_option(command, "--checkpoint-log", "BYTES", "checkpoint_log_bytes",
                    [&options](const Options& o) { options.checkpoint_log_bytes = o.checkpoint_log_bytes; }, with_data)
      .needs(data);
}

void check_data_options(const DataOptions& options) {
  if (options.resume && options.folders.empty()) refuse_option("--resume", "requires --data, the folder of the database to continue with");
  for (const std::string& folder : options.folders) {
    std::error_code error;
    const bool there = std::filesystem::is_directory(folder, error);
    if (options.resume && !there) refuse_option("--data", fmt::format("the folder '{}' does not exist, but --resume requires it", folder));
    if (!options.resume && there && !std::filesystem::is_empty(folder, error))
      refuse_option("--data", fmt::format("'{}' is not empty; use --resume to continue with its database", folder));
    if (!there && std::filesystem::exists(folder, error)) refuse_option("--data", fmt::format("'{}' is not a folder", folder));
  }
}

void empty_data_folders(const DataOptions& options) {
  std::error_code ignored;  // if a file remains, the next database cannot be created
  for (const std::string& folder : options.folders)
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) std::filesystem::remove_all(entry.path(), ignored);
}

LogUse LogUse::between(const Statistics& before, const Statistics& at_end) {
  LogUse use;
  use.bytes = at_end.log_bytes - before.log_bytes;
  use.records = at_end.log_records - before.log_records;
  use.syncs = at_end.log_syncs - before.log_syncs;
  use.room_waits = at_end.log_room_waits - before.log_room_waits;
  use.frames = at_end.log_frames - before.log_frames;
  if (use.frames != 0) use.lag_mean_us = (at_end.durable_lag_sum_us - before.durable_lag_sum_us) / use.frames;
  use.lag_max_us = at_end.durable_lag_max_us;
  use.kept = at_end.log_syncs != 0;
  return use;
}

}  // namespace elider::bench
