#include "engine/data_folder.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/replay.h"
#include "log/uring_files.h"
#include "txn/log_entry.h"

namespace elider::detail {

DataFolder::~DataFolder() {
  if (store_ != nullptr) store_->log = nullptr;
}

Status DataFolder::open(Engine& engine, txn::Store& store) {
  const Options& options = store.options;
  if (options.data_folders.empty()) return {};
  const uint64_t begin_ns = now_ns();
  const bool writes = options.durability != Durability::kNone;
  Status status = log::Directory::open(log::system_files(), options.data_folders, writes, &directory_);
  if (!writes && status.not_found()) return {};  // nothing is there, and nothing is made
  if (!status.ok()) return status;
  if (status = recover(engine, store); !status.ok()) return status;
  if (writes) status = start_log(store);
  else store.snapshots.start_at(directory_->first_number());
  if (!status.ok()) return status;
  recovery_.duration_us = (now_ns() - begin_ns) / 1000;
  return {};
}

// What a test has put in the place of the system's files comes before all else.
Status DataFolder::choose_files(LogIo io) {
  files_ = &log::system_files();
  if (log::files_are_substituted()) return {};
  const char* const asked = std::getenv("ELIDER_LOG_IO");
  if (io == LogIo::kAutomatic && asked != nullptr && !parse(asked, &io))
    return Status::invalid_argument("the environment's ELIDER_LOG_IO is '" + std::string(asked) + "', which is none of automatic, system-calls, io_uring");
  if (io != LogIo::kIoUring) return {};
  const Status status = log::uring_files(&files_);
  if (status.ok()) log_io_ = LogIo::kIoUring;
  return status;
}

Status DataFolder::recover(Engine& engine, const txn::Store& store) {
  Replay replay(engine, store.options.schemas);
  log::RecoveryFacts facts;
  const auto visit = [&](uint32_t generation, uint32_t, const log::Record& record) { return replay.add(generation, record); };
  if (Status status = directory_->recover(log::kNumberMax, visit, &facts); !status.ok()) return status;
  if (Status status = replay.apply(engine.sync() == SyncPolicy::kSingleThreaded ? 1 : Replay::kThreads, &recovery_.rows); !status.ok()) return status;
  recovery_.snapshot = facts.last_number;
  recovery_.records = facts.records;
  recovery_.records_void = facts.records_void;
  recovery_.log_bytes = facts.bytes;
  for (const log::CutTail& cut : facts.cuts)
    recovery_.cuts.push_back("'" + cut.file + "' from byte " + std::to_string(cut.offset) + ": " + std::to_string(cut.bytes) + " bytes");
  return {};
}

Status DataFolder::start_log(txn::Store& store) {
  const Options& options = store.options;
  uint32_t generation = 0;
  if (Status status = directory_->begin_generation(options.log_threads, &generation); !status.ok()) return status;
  store.snapshots.start_at(directory_->first_number());
  numbers_ = std::make_unique<Numbers>(store.snapshots);
  if (Status status = choose_files(options.log_io); !status.ok()) return status;
  log::LogOptions chosen;
  chosen.folders = options.data_folders;
  chosen.streams = options.log_threads;
  chosen.workers = options.workers_max + 2;  // all sessions, the collector, and the catalog
  chosen.flush_interval_us = options.flush_interval_us;
  chosen.segment_bytes = options.log_segment_bytes;
  chosen.buffer_bytes = options.log_buffer_bytes;
  if (Status status = log::Log::start(*files_, chosen, directory_->manifest().database, generation, *numbers_, &log_); !status.ok())
    return status;
  store_ = &store;
  store.log = log_.get();
  return {};
}

Status DataFolder::log_table(uint32_t id, const Schema& schema) {
  if (log_ == nullptr) return {};
  const uint32_t worker = store_->options.workers_max + 1;
  std::vector<std::byte> bytes;
  txn::encode_table(id, schema, &bytes);
  std::byte* place = nullptr;
  if (Status status = log_->reserve(worker, bytes.size(), &place); !status.ok()) return status;
  log_->begin_commit(worker);
  std::memcpy(place, bytes.data(), bytes.size());
  log_->publish(worker, numbers_->current(), bytes.size());
  log_->end_commit(worker);
  return {};
}

}  // namespace elider::detail
