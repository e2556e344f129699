#include "recovery/checkpoint.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/test_points.h"
#include "log/fresh_folder.h"
#include "txn/table_record.h"

namespace elider::recovery {

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(50);
constexpr uint64_t kRetryAfterNs = 10'000'000'000;  // wait after a failure, because each attempt writes all rows

Status no_snapshot() {
  return Status(Code::kMemoryLimit,
                "all workers are in use by transactions and other checkpoints, so a snapshot cannot be read; raise Options::workers_max");
}

// Lowers the priority of the calling thread and of the threads that it starts. On a busy machine
// they get a sixth of the processor time that other threads get, so that a checkpoint in the
// background hardly delays transactions. On Linux, each thread has its own priority. Errors are
// ignored, because they are harmless.
void give_way() {
  constexpr int kNice = 8;
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice));
}

}  // namespace

// -- writing --------------------------------------------------------------------------------------

Status CheckpointWriter::write(std::unique_ptr<SnapshotRows> rows, const SchemaOfTable& schema_of) {
  number_ = rows->number();
  begin_ns_ = now_ns();
  std::vector<std::unique_ptr<log::PartWriter>> parts(how_.threads);
  if (Status status = begin_part(&parts[0]); !status.ok()) return status;
  if (Status status = write_tables(*rows, schema_of, *parts[0]); !status.ok()) return status;
  ELIDER_TEST_POINT("checkpoint.reading");
  Status status = parallel(how_.threads, how_.threads, [&](uint32_t, size_t i) {
    try {
      Status written = write_rows(*rows, &parts[i]);
      if (!written.ok()) failed_.store(true);
      return written;
    } catch (...) {
      failed_.store(true);
      throw;
    }
  });
  rows.reset();  // before the syncs, because nothing is reclaimed while the snapshot exists
  for (auto& part : parts)
    if (status.ok() && part != nullptr) status = end_part(&part);
  return status;
}

Status CheckpointWriter::begin_part(std::unique_ptr<log::PartWriter>* part) {
  const uint32_t number = next_part_.fetch_add(1);
  return log::PartWriter::create(*how_.folders[number % how_.folders.size()], how_.database, {number_, number}, part);
}

Status CheckpointWriter::end_part(std::unique_ptr<log::PartWriter>* part) {
  if (Status status = (*part)->finish(); !status.ok()) return status;
  rows_ += (*part)->facts().rows;
  bytes_ += (*part)->facts().bytes;
  part->reset();
  return {};
}

Status CheckpointWriter::write_tables(const SnapshotRows& rows, const SchemaOfTable& schema_of, log::PartWriter& part) {
  std::vector<std::byte> block;
  for (const auto& [id, table, dropped_version] : rows.tables()) {
    block.resize(log::kBlockHeaderBytes);
    if (table == nullptr) {
      txn::encode_dropped_table(id, "", &block, dropped_version);
    } else {
      const storage::SchemaVersions::Version& version =
          ELIDER_MUTANT(kNewestSchema) ? table->versions().current() : table->versions().at(rows.number());
      txn::encode_table(id, schema_of(*table, version), &block, version.version);
    }
    if (Status status = part.append(log::BlockKind::kTable, id, 0, block); !status.ok()) return status;
  }
  return {};
}

// Writes all remaining rows. *part is the part that this thread is writing, or null if it must
// begin one.
Status CheckpointWriter::write_rows(SnapshotRows& rows, std::unique_ptr<log::PartWriter>* part) {
  StoredRows stored;
  while (rows.next(log::kBlockBytesTarget, log::kBlockHeaderBytes, &stored)) {
    if (Status status = pace(stored.used); !status.ok()) return status;
    if (*part != nullptr && (*part)->facts().bytes >= log::kPartBytesTarget)
      if (Status status = end_part(part); !status.ok()) return status;
    if (*part == nullptr)
      if (Status status = begin_part(part); !status.ok()) return status;
    const std::span<std::byte> block(stored.bytes.data(), stored.used);
    const log::BlockKind kind = block_kind_of(stored.table->layout());
    if (Status status = (*part)->append(kind, stored.table->id(), stored.count, block); !status.ok()) return status;
    ELIDER_TEST_POINT("checkpoint.block_written");
  }
  return {};
}

// Waits until the rate limit permits writing `bytes` more bytes. kFinished: the database is being
// closed, or another thread of this checkpoint has failed.
Status CheckpointWriter::pace(size_t bytes) {
  const uint64_t before = paced_bytes_.fetch_add(bytes);
  for (;;) {
    if (how_.stop != nullptr && how_.stop->load()) return Status(Code::kFinished, "the database is being closed");
    if (failed_.load()) return Status(Code::kFinished, "another thread of this checkpoint failed");
    if (how_.bytes_per_second == 0) return {};
    const double due_ns = 1e9 * static_cast<double>(before) / static_cast<double>(how_.bytes_per_second);
    const double passed_ns = static_cast<double>(now_ns() - begin_ns_);
    if (passed_ns >= due_ns) return {};
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(kLookEvery, std::chrono::nanoseconds(static_cast<int64_t>(due_ns - passed_ns))));
  }
}

void CheckpointWriter::remove() {
  try {
    for (uint32_t i = 0; i < next_part_.load(); ++i)
      static_cast<void>(how_.folders[i % how_.folders.size()]->remove(log::file_name(log::CheckpointName{number_, i})));
  } catch (const std::bad_alloc&) {  // the next checkpoint, or the next opening of the database, removes the rest
  }
}

// -- taking ---------------------------------------------------------------------------------------

Checkpoints::Checkpoints(const CheckpointSource& source, log::Directory& directory, log::Log& log, SchemaOfTable schema_of,
                         const FoundInFolders& found)
    : source_(source),
      options_(source.store.options),
      directory_(directory),
      log_(log),
      schema_of_(std::move(schema_of)),
      found_(found),
      last_ns_(now_ns()) {
  if (options_.checkpoint_log_bytes != 0 || options_.checkpoint_interval_s != 0) thread_ = std::thread([this] { run(); });
}

Checkpoints::~Checkpoints() {
  stop_.store(true);
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Checkpoints::run() {
  give_way();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kLookEvery, [&] { return stop_.load(); });
      if (stop_.load()) return;
    }
    // If another thread is taking a checkpoint, wait until it has ended. A further checkpoint may
    // then be unnecessary.
    { const std::lock_guard until_it_is_taken(taking_mutex_); }
    if (due() || !wanted()) continue;
    if (source_.one_thread) due_.store(true, std::memory_order_relaxed);
    else static_cast<void>(take());  // the statistics report a failure
  }
}

bool Checkpoints::wanted() {
  const uint64_t bytes = log_.facts().bytes, now = now_ns();
  std::lock_guard lock(mutex_);
  if (now < not_before_ns_) return false;
  const bool none_taken = facts_.taken == 0;
  const uint64_t since = bytes + (none_taken ? found_.log_bytes : 0) - log_bytes_at_last_;
  const bool much = since >= log_bytes_allowed() || (none_taken && found_.generations >= kGenerationsWanted);
  if (options_.checkpoint_log_bytes != 0 && much) return true;
  return options_.checkpoint_interval_s != 0 && bytes != log_bytes_at_last_ &&
         now - last_ns_ >= options_.checkpoint_interval_s * uint64_t{1'000'000'000};
}

// The caller holds mutex_.
uint64_t Checkpoints::log_bytes_allowed() const {
  if (options_.checkpoint_log_bytes != kCheckpointLogAutomatic) return options_.checkpoint_log_bytes;
  return automatic_log_limit(facts_.taken == 0 ? found_.checkpoint_bytes : facts_.bytes);
}

Status Checkpoints::take() { return take_at(options_.checkpoint_bytes_per_second); }

Status Checkpoints::take_at(uint64_t bytes_per_second) {
  std::lock_guard one_at_a_time(taking_mutex_);
  try {
    return take_one(bytes_per_second);
  } catch (const std::bad_alloc&) {
    std::lock_guard lock(mutex_);
    facts_.running = false;
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

void Checkpoints::take_at_opening() {
  if (options_.checkpoint_log_bytes != 0 && found_.generations >= kGenerationsMax) static_cast<void>(take_at(0));
}

Status Checkpoints::take_one(uint64_t bytes_per_second) {
  const uint64_t begin_ns = now_ns(), log_bytes = log_.facts().bytes;
  {
    std::lock_guard lock(mutex_);
    facts_.running = true;
  }
  CheckpointWriter writer({directory_.folders(), directory_.manifest().database, source_.threads(), bytes_per_second, &stop_});
  auto published = log::Published::kNo;
  Status status;
  try {
    status = write_and_publish(writer, &published);
  } catch (const std::bad_alloc&) {
    status = Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
  if (published == log::Published::kNo) writer.remove();
  due_.store(false, std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  facts_.running = false;
  facts_.failure = status.ok() ? "" : status.message();
  if (published != log::Published::kYes) {
    ++facts_.failed;
    not_before_ns_ = now_ns() + kRetryAfterNs;
    return status;
  }
  ++facts_.taken;
  facts_.snapshot = writer.checkpoint().number;
  facts_.rows = writer.rows();
  facts_.bytes = writer.bytes();
  facts_.duration_us = (now_ns() - begin_ns) / 1000;
  facts_.time_s =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  log_bytes_at_last_ = log_bytes;
  last_ns_ = begin_ns;
  return status;
}

// If the status is not ok but *published is kYes, the checkpoint is valid, and only the removal of
// older files failed.
Status Checkpoints::write_and_publish(CheckpointWriter& writer, log::Published* published) {
  if (log_.failed()) return log_.failure();  // after a failure of the log, a checkpoint must not be published
  std::unique_ptr<SnapshotRows> rows = SnapshotRows::begin(source_.catalog, source_.store);
  if (rows == nullptr) return no_snapshot();
  Status status = writer.write(std::move(rows), schema_of_);
  // The checkpoint's commits must first be durable in the log. Otherwise a crash could lose the end
  // of the log, and the checkpoint would contain commits that are lost.
  if (status.ok()) status = log_.wait_durable(writer.checkpoint().number);
  ELIDER_TEST_POINT("checkpoint.before_publish");
  if (status.ok()) status = directory_.publish(writer.checkpoint(), options_.checkpoints_kept, log_.take_finished(), published);
  if (!directory_.log_failure().ok()) log_.fail(directory_.log_failure());
  return status;
}

Statistics::Checkpoints Checkpoints::facts() const {
  std::lock_guard lock(mutex_);
  return facts_;
}

// -- backups --------------------------------------------------------------------------------------

namespace {

Status back_up_rows(const CheckpointSource& source, io::FileSystem& files, const std::string& folder, const SchemaOfTable& schema_of) {
  std::unique_ptr<log::FreshFolder> fresh;
  if (Status status = log::FreshFolder::make(files, folder, &fresh); !status.ok()) return status;
  std::unique_ptr<SnapshotRows> rows = SnapshotRows::begin(source.catalog, source.store);
  if (rows == nullptr) return no_snapshot();
  const log::DatabaseId database = log::Directory::new_database_id();
  const txn::Store& store = source.store;
  CheckpointWriter writer({{&fresh->folder()}, database, source.threads(), store.options.checkpoint_bytes_per_second, nullptr});
  if (Status status = writer.write(std::move(rows), schema_of); !status.ok()) return status;
  // If a chopped procedure failed after some of its pieces had committed, the snapshot may include
  // these pieces.
  if (store.stopped()) return store.refusal();
  return fresh->publish({database, 1, writer.checkpoint().number + 1, {writer.checkpoint()}, {}});
}

}  // namespace

Status back_up(const CheckpointSource& source, io::FileSystem& files, const std::string& folder, const SchemaOfTable& schema_of) {
  try {
    return back_up_rows(source, files, folder, schema_of);
  } catch (const std::bad_alloc&) {
    return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
  }
}

}  // namespace elider::recovery
