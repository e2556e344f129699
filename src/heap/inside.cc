#include "heap/inside.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <random>
#include <utility>

#include "base/status_words.h"
#include "base/test_points.h"
#include "base/thread_ends.h"
#include "base/threw.h"
#include "base/uncancelled.h"
#include "elider/heap_option_table.h"
#include "heap/allocator.h"
#include "htm/elide.h"
#include "io/file.h"

namespace elider::detail {

using heap::Found;
using heap::Geometry;
using heap::kHeapAlignment;

namespace {

constexpr uint32_t kAttemptsBeside = 10;  // after this many attempts, a transaction runs alone (DUMBO, section 4.1)
// The retry limits for regions: as many conflicts as kAttemptsBeside allows and, in addition, some
// aborts that are caused by page faults or by transactions that run alone.
constexpr ElisionPolicy kRegionPolicy{
    .conflict_aborts_max = kAttemptsBeside, .capacity_aborts_max = 1, .system_aborts_max = 2, .lock_held_aborts_max = 1000};

// The attempt whose procedure this thread runs, if any.
constinit thread_local HeapAttempt* running = nullptr;

// Marks the thread as running a heap's procedure while the object exists.
class Runs {
 public:
  explicit Runs(HeapAttempt& attempt) { running = &attempt; }
  ~Runs() { running = nullptr; }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;
};

// Returns an error if this thread is running a heap's procedure. A commit waits for all
// transactions that began before it. So if a thread committed in heap B inside a procedure of heap
// A, and another thread committed in A inside a procedure of B, they would wait for each other.
Status refuse_within(const char* call) {
  if (running == nullptr) return {};
  return Status::invalid_argument(std::string(call) + ": not allowed inside a heap's procedure, and this thread is running one");
}

// Returns the result of f() or, if f() throws an exception, the status for that exception. If f()
// is left because the thread is cancelled or calls pthread_exit(), calls unwind() and lets the
// thread end.
template <class F, class Unwind>
Status guarded(F&& f, Unwind&& unwind) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return {Code::kMemoryLimit, Cause::kMemoryLimit};
  } catch (const std::exception& error) {
    return threw(error.what());
  } catch (...) {
    if (thread_ends()) {
      unwind();
      throw;
    }
    return threw(nullptr);
  }
}

Status too_large(const std::string& path, uint64_t bytes, uint64_t capacity) {
  return Status::invalid_argument("HeapOptions::capacity_bytes is " + std::to_string(capacity) + ", but '" + path + "' has " +
                                  std::to_string(bytes) + " bytes");
}

// Writes an empty heap. At this point, the file contains only its first bytes, which mark it as
// being created.
Status write_new(heap::Medium& medium, const Geometry& geometry, uint64_t bytes) {
  const uint64_t first = heap::HeapHead::bytes(geometry.threads);
  const std::array<std::pair<uint64_t, uint64_t>, 2> words = {std::pair{heap::HeapHead::kMagicAt, heap::HeapHead::kMagic},
                                                              std::pair{heap::HeapHead::kNextChunkAt, first}};
  const heap::Replayed none = heap::make_replayed(1, 0, geometry);
  const heap::FileHeader header = heap::encode(geometry);
  heap::FileHeader unmade = header;
  std::copy(std::begin(heap::kMagicUnmade), std::end(heap::kMagicUnmade), unmade.magic);
  Status status = medium.extend(geometry.heap_at + bytes);
  for (const auto& [at, word] : words)
    if (status.ok()) status = medium.store(geometry.heap_at + at, std::as_bytes(std::span(&word, 1)));
  for (const uint64_t at : heap::kReplayedAt[1])
    if (status.ok()) status = medium.store(at, std::as_bytes(std::span(&none, 1)));
  if (status.ok()) status = medium.store(0, std::as_bytes(std::span(&unmade, 1)));
  if (status.ok()) status = medium.fence();
  // This store turns the file into a heap. It is atomic on any medium, because it changes only one
  // 8-byte word.
  if (status.ok()) status = medium.store(0, std::as_bytes(std::span(&header, 1)));
  return status.ok() ? medium.fence() : status;
}

// Reserves disk space for the complete file. The file may have holes if an older program wrote it
// or if it is a copy. If the disk does not have enough space, sets *room to the error.
// kInvalidArgument: the heap is larger than `capacity`.
Status reserve_all(io::File& file, const Geometry& geometry, uint64_t capacity, Status* room) {
  uint64_t bytes = 0;
  if (Status status = file.size(&bytes); !status.ok()) return status;
  if (bytes > geometry.heap_at && bytes - geometry.heap_at > capacity) return too_large(file.path(), bytes - geometry.heap_at, capacity);
  *room = file.reserve(bytes);
  return {};
}

}  // namespace

Status HeapInside::open(const std::string& path, uint64_t bytes, HeapOptions options, std::unique_ptr<HeapInside>* opened) {
  if (Status status = check_options(options); !status.ok()) return status;
  if (bytes > options.capacity_bytes)
    return Status::invalid_argument("Heap::open: " + std::to_string(bytes) + " bytes are more than HeapOptions::capacity_bytes");
  options.capacity_bytes = heap::aligned(options.capacity_bytes);
  bytes = heap::aligned(std::max(bytes, heap::kBytesMin));
  heap::Regions regions;
  if (Status status = heap::choose_regions(options, &regions); !status.ok()) return status;
  const Uncancelled uncancelled;
  heap::HeldFile held;
  std::unique_ptr<io::File> file;
  if (Status status = heap::find(path, &held); !status.ok())
    return status.not_found() ? io::file_error("create", io::system_files().absolute(path), ENOENT) : status;
  if (Status status = heap::hold(io::Hold::kExclusive, &held); !status.ok()) return status;
  heap::FileHeader header{};
  size_t count = 0;
  Status there = held.folder->open(held.name, io::OpenMode::kWrite, &file);
  if (there.ok()) there = file->read_at(0, std::as_writable_bytes(std::span(&header, 1)), &count);
  if (!there.ok() && !there.not_found()) return there;
  const bool is_new = heap::is_unmade(header, count);
  Geometry geometry;
  Status room;
  if (is_new) {
    std::random_device random;
    geometry = heap::geometry_of(options, uint64_t{random()} << 32 | random());
    // Creates the file, or empties the file that an interrupted creation left. The first bytes mark
    // it as a heap that is being created.
    if (Status status = held.folder->open(held.name, io::OpenMode::kCreateNew, &file); !status.ok()) return status;
    if (Status status = file->write_and_sync(0, std::as_bytes(std::span(heap::kMagicUnmade))); !status.ok()) return status;
    if (Status status = held.folder->sync(); !status.ok()) return status;
  } else {
    if (Status status = heap::decode(header, path, &geometry); !status.ok()) return status;
    if (Status status = reserve_all(*file, geometry, options.capacity_bytes, &room); !status.ok()) return status;
  }
  std::unique_ptr<heap::Medium> medium;
  if (!room.ok())
    medium = heap::make_file_medium(std::move(file));  // this medium reads holes without reserving space for them
  else if (Status status = heap::open_medium(options, std::move(file), &medium); !status.ok())
    return status;
  if (is_new)
    if (Status status = write_new(*medium, geometry, bytes); !status.ok()) return status;
  std::unique_ptr<HeapInside> inside(new HeapInside(path, options, geometry, regions, std::move(medium), std::move(held.lock)));
  Status status = inside->recover(std::move(room));
  if (status.ok()) *opened = std::move(inside);
  return status;
}

HeapInside::HeapInside(std::string path, const HeapOptions& options, const Geometry& geometry, const heap::Regions& regions,
                       std::unique_ptr<heap::Medium> medium, std::unique_ptr<io::File> held)
    : path_(std::move(path)),
      options_(options),
      geometry_(geometry),
      regions_(regions),
      held_(std::move(held)),
      medium_(std::move(medium)),
      slots_(geometry.threads),
      log_(std::make_unique<heap::RedoLog>(geometry_, *medium_)),
      replayer_(std::make_unique<heap::Replayer>(geometry_, *medium_, path_)),
      counts_(std::make_unique<Counts[]>(geometry.threads)) {}

Status HeapInside::recover(Status room) {
  Found found;
  uint64_t bytes = 0, magic = 0;
  Status status = replayer_->begin();
  if (status.ok()) status = replayer_->find(&found);
  if (status.ok()) status = replayer_->word_with(found, heap::HeapHead::kMagicAt, &magic);
  if (status.ok() && magic != heap::HeapHead::kMagic)
    return {Code::kCorrupt, "'" + path_ + "' is damaged: its heap, at offset " + std::to_string(geometry_.heap_at)};
  if (status.ok()) status = replayer_->heap_bytes_with(found, &bytes);
  if (!status.ok()) return status;
  if (bytes > options_.capacity_bytes) return too_large(path_, bytes, options_.capacity_bytes);
  recovered_ = found.durable.size();
  dropped_ = found.dropped;
  if (room.ok()) room = medium_->extend(geometry_.heap_at + bytes);
  if (!room.ok()) return start_reading(found, bytes, room);
  if (status = replayer_->recover(found); !status.ok()) return status;
  return start();
}

Status HeapInside::reserve_addresses() {
  void* const memory = ::mmap(nullptr, options_.capacity_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return {Code::kMemoryLimit, "cannot reserve address space for HeapOptions::capacity_bytes, " + std::to_string(options_.capacity_bytes)};
  base_ = static_cast<std::byte*>(memory);
  return {};
}

bool HeapInside::add_roots() {
  const auto read = [&](uint64_t offset, std::span<std::byte> into) { std::memcpy(into.data(), base_ + offset, into.size()); };
  return heap::for_each_root(geometry_.threads, heap_bytes(), read, [&](uint64_t at, const heap::RootNode& root) {
    root_filter_.add(root.object);
    root_filter_.add(at);
  });
}

// Called once the heap in memory contains all transactions up to `number`.
Status HeapInside::begin_slots(uint64_t number) {
  if (!add_roots()) return {Code::kCorrupt, "'" + path_ + "' is damaged: the list of roots, at offset " +
                                               std::to_string(geometry_.heap_at + heap::HeapHead::kRootsAt)};
  slots_.start_clock(number);
  log_->all_is_durable(number);
  for (uint32_t slot = 0; slot < geometry_.threads; ++slot) attempts_.push_back(std::make_unique<HeapAttempt>(*this, slot));
  return {};
}

Status HeapInside::start() {
  uint64_t bytes = 0;
  Status status = medium_->size(&bytes);
  if (status.ok()) status = reserve_addresses();
  if (status.ok()) status = map_heap((bytes - geometry_.heap_at) / kHeapAlignment * kHeapAlignment);
  if (status.ok()) status = begin_slots(replayer_->replayed());
  if (status.ok() && options_.background_replay) replaying_ = std::thread([this] { replay_in_background(); });
  return status;
}

Status HeapInside::start_reading(const Found& found, uint64_t bytes, const Status& why) {
  if (Status status = reserve_addresses(); !status.ok()) return status;
  if (::mprotect(base_, bytes, PROT_READ | PROT_WRITE) != 0) return io::file_error("get memory for", path_, errno);
  if (Status status = replayer_->load_heap(found, {base_, bytes}); !status.ok()) return status;
  heap_bytes_.store(bytes, std::memory_order_release);
  stop(why);
  return begin_slots(found.newest);
}

HeapInside::~HeapInside() {
  const Uncancelled uncancelled;
  if (replaying_.joinable()) {
    {
      std::lock_guard lock(background_);
      closing_ = true;
    }
    wake_.notify_all();
    replaying_.join();
  }
  if (base_ == nullptr) return;
  static_cast<void>(replay());  // if this fails, the log is replayed when the heap is opened again
  ::munmap(base_, options_.capacity_bytes);
}

// The mapping is the child's own copy, so unmapping it does not change the file.
void HeapInside::abandon() {
  if (base_ != nullptr) ::munmap(base_, options_.capacity_bytes);
}

Status HeapInside::map_heap(uint64_t bytes) {
  const uint64_t now = heap_bytes();
  if (Status status = medium_->map_copy_on_write(geometry_.heap_at + now, {base_ + now, bytes - now}); !status.ok()) return status;
  heap_bytes_.store(bytes, std::memory_order_release);
  return {};
}

Status HeapInside::grow_to(uint64_t bytes) {
  if (bytes <= heap_bytes()) return {};
  const Uncancelled uncancelled;
  std::lock_guard lock(growing_);
  const uint64_t now = heap_bytes();
  if (bytes <= now) return {};
  if (bytes > options_.capacity_bytes)
    return {Code::kMemoryLimit, "'" + path_ + "' is full: HeapOptions::capacity_bytes is " + std::to_string(options_.capacity_bytes)};
  // Doubles the heap's size. If the disk does not have enough space, grows the heap only to the
  // needed size.
  const uint64_t needed = heap::aligned(bytes), wanted = std::min(options_.capacity_bytes, std::max(2 * now, needed));
  const uint64_t possible = medium_->reserve(geometry_.heap_at + wanted).ok() ? wanted : needed;
  if (Status status = medium_->extend(geometry_.heap_at + possible); !status.ok()) return status;
  return map_heap(possible);
}

// Must not throw, because it is also called during a commit. If memory is exhausted, the error
// lacks a message.
void HeapInside::stop(const Status& why) noexcept {
  std::lock_guard lock(why_);
  if (stopped_.load(std::memory_order_relaxed)) return;  // relaxed: under the mutex
  try {
    stopped_with_ = reworded(Code::kIoError, "", why, "; the heap is now read-only");
  } catch (const std::bad_alloc&) {
    stopped_with_ = Status(Code::kIoError, Cause::kNone);
  }
  stopped_.store(true, std::memory_order_release);
}

Status HeapInside::stopped() const noexcept {
  if (!stopped_.load(std::memory_order_acquire)) [[likely]]
    return {};
  std::lock_guard lock(why_);
  try {
    return stopped_with_;
  } catch (const std::bad_alloc&) {
    return {Code::kIoError, Cause::kNone};
  }
}

bool HeapInside::has_markers() const { return slots_.clock() + 2 * geometry_.threads < replayer_->replayed() + geometry_.markers; }
bool HeapInside::has_half_of_markers() const { return 2 * (slots_.clock() - replayer_->replayed()) < geometry_.markers; }

// The caller must not be in a transaction, because the replayer may have to wait for other
// transactions.
Status HeapInside::make_room(uint32_t slot, uint64_t bytes) {
  for (Spin spin; !has_markers() || !log_->has_room(slot, bytes); spin.wait()) {
    if (Status status = replay(); !status.ok()) {
      if (status.code() == Code::kMemoryLimit) return status;
      stop(status);
      return stopped();
    }
  }
  return {};
}

Status HeapInside::run(FunctionRef<Status(HeapTransaction&)> procedure) {
  if (Status status = refuse_within("Heap::transaction"); !status.ok()) return status;
  if (Status status = stopped(); !status.ok()) return status;
  Uncancelled uncancelled;
  const uint32_t slot = slots_.claim();
  HeapAttempt& attempt = *attempts_[slot];
  const Runs runs(attempt);
  uint64_t room = 0;
  Status status;
  if (regions_.run != nullptr && run_in_regions(slot, procedure, &status)) {
    slots_.release(slot);
    return status;
  }
  std::unique_lock<std::mutex> alone;
  for (uint32_t attempts = has_regions() ? kAttemptsBeside : 0;; ++attempts) {
    if (!has_markers() || room != 0) status = guarded([&] { return make_room(slot, room); }, [] {});
    if (!status.ok()) break;
    if (attempts == kAttemptsBeside) {
      alone = std::unique_lock(alone_);
      slots_.begin_alone();
      counts_[slot].serial.fetch_add(1, std::memory_order_relaxed);  // relaxed: statistics
    }
    slots_.enter(slot, alone.owns_lock());
    HeapAttempt::Outcome outcome = HeapAttempt::Outcome::kRolledBack;
    status = guarded(
        [&] {
          attempt.begin(true);
          HeapTransaction txn = attempt.transaction();
          Status done = uncancelled.but_for([&] { return procedure(txn); });
          if (done.ok()) done = attempt.doom();
          if (done.ok()) outcome = attempt.commit(&done);
          return done;
        },
        [&] {
          attempt.roll_back();
          slots_.leave(slot);
          if (alone.owns_lock()) slots_.end_alone();
          slots_.release(slot);
        });
    if (outcome == HeapAttempt::Outcome::kRolledBack) {
      attempt.roll_back();
      break;
    }
    if (outcome == HeapAttempt::Outcome::kDone) {
      counts_[slot].commits.fetch_add(1, std::memory_order_relaxed);  // relaxed: statistics
      break;
    }
    slots_.leave(slot);
    if (outcome == HeapAttempt::Outcome::kNoRoom) {
      room = attempt.room_needed();
      if (alone.owns_lock()) {  // lets other transactions run, because the replayer may wait for them
        slots_.end_alone();
        alone.unlock();
        attempts = has_regions() ? kAttemptsBeside - 1 : ~0u;
      }
    } else {
      counts_[slot].conflicts.fetch_add(1, std::memory_order_relaxed);  // relaxed: statistics
      attempt.wait_for_conflict();
    }
    if (status = stopped(); !status.ok()) break;
  }
  slots_.leave(slot);
  if (alone.owns_lock()) slots_.end_alone();
  slots_.release(slot);
  return status;
}

bool HeapInside::run_in_regions(uint32_t slot, FunctionRef<Status(HeapTransaction&)> procedure, Status* status) {
  Counts& counts = counts_[slot];
  htm::Patience patience(kRegionPolicy, 0);
  for (;;) {
    if (!has_markers() || !log_->has_room(slot, heap::kRegionRecordBytesMax))
      *status = guarded([&] { return make_room(slot, heap::kRegionRecordBytesMax); }, [] {});
    if (status->ok()) *status = stopped();
    if (!status->ok()) return true;
    slots_.enter(slot, false);
    const unsigned started = regions_.run(*attempts_[slot], procedure, status);
    slots_.leave(slot);
    // relaxed: statistics
    if (started == htm::kStarted) {
      counts.regions.fetch_add(1, std::memory_order_relaxed);
      counts.commits.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    htm::Cause cause = htm::decode(started);
    counts.region_aborts[static_cast<size_t>(cause)].fetch_add(1, std::memory_order_relaxed);
    if (cause == htm::Cause::kExplicit && htm::code_of(started) == heap::kReadersCode) {
      slots_.wait_a_little_for_readers(slot);
      cause = htm::Cause::kConflict;
    }
    if (!patience.allows(cause)) return false;
  }
}

Status HeapInside::read(FunctionRef<Status(HeapReader&)> procedure) {
  if (Status status = refuse_within("Heap::read"); !status.ok()) return status;
  Uncancelled uncancelled;
  const uint32_t slot = slots_.claim();
  HeapAttempt& attempt = *attempts_[slot];
  const Runs runs(attempt);
  const bool was_stopped = !stopped().ok();
  Status status = guarded(
      [&] {
        attempt.begin(false);
        HeapReader reader = attempt.reader();
        return uncancelled.but_for([&] { return procedure(reader); });
      },
      [&] {
        attempt.roll_back();
        slots_.release(slot);
      });
  // This transaction may have read from a commit that has failed to become durable.
  const Status durable = attempt.end();
  if (status.ok() && !was_stopped) status = durable;
  counts_[slot].reads.fetch_add(1, std::memory_order_relaxed);  // relaxed: statistics
  slots_.release(slot);
  return status;
}

Status HeapInside::persist() {
  if (Status status = refuse_within("Heap::persist"); !status.ok()) return status;
  if (Status status = stopped(); !status.ok()) return status;
  const Uncancelled uncancelled;
  const uint64_t last = slots_.clock();
  for (Spin spin; slots_.settled() < last; spin.wait()) ELIDER_TEST_POINT("heap.persist.waits");
  if (Status status = fence(); !status.ok()) stop(status);
  // A transaction that persist() waited for may have failed to become durable.
  if (Status status = stopped(); !status.ok()) return status;
  log_->all_is_durable(last);
  std::lock_guard lock(persisting_);
  log_->say_persisted(last);
  return {};
}

Status HeapInside::replay() {
  if (Status status = stopped(); !status.ok()) return status;
  const Uncancelled uncancelled;
  ELIDER_TEST_POINT("heap.replay.begins");
  const uint64_t last = slots_.settled();
  // settled() includes numbers whose records failed to become durable.
  if (Status status = stopped(); !status.ok()) return status;
  if (last <= replayer_->replayed()) return {};
  if (options_.durability == HeapDurability::kLater)
    if (Status status = fence(); !status.ok()) return status;
  try {
    return replayer_->replay(last, *log_);
  } catch (const std::bad_alloc&) {
    return {Code::kMemoryLimit, Cause::kMemoryLimit};  // the heap is unchanged, and the caller may retry
  }
}

Status HeapInside::fence() noexcept {
  try {
    return medium_->fence();
  } catch (const std::bad_alloc&) {  // an error's message needs memory
    return {Code::kIoError, Cause::kNone};
  }
}

void HeapInside::wake_replayer() {
  if (!replaying_.joinable() || woken_.exchange(true, std::memory_order_acq_rel)) return;
  std::lock_guard lock(background_);
  wake_.notify_one();
}

void HeapInside::replay_in_background() {
  std::unique_lock lock(background_);
  while (!closing_) {
    wake_.wait(lock, [&] { return closing_ || woken_.load(std::memory_order_acquire); });
    if (closing_) return;
    woken_.store(false, std::memory_order_release);
    lock.unlock();
    if (Status status = replay(); !status.ok() && status.code() != Code::kMemoryLimit) stop(status);
    lock.lock();
  }
}

HeapStatus HeapInside::status() const {
  HeapStatus status;
  const auto look = [&](heap::ReadHeap read) {
    read(heap::HeapHead::kNextChunkAt, std::as_writable_bytes(std::span(&status.used_bytes, 1)));
    static_cast<void>(heap::list_roots(geometry_.threads, heap_bytes(), read, &status.roots));
  };
  if (running != nullptr && &running->heap() == this) {
    running->needs_software();  // a region cannot allocate the memory for the list of roots
    look([&](uint64_t offset, std::span<std::byte> into) { running->read_bytes(base_ + offset, into); });
  } else if (running == nullptr) {
    static_cast<void>(const_cast<HeapInside*>(this)->read([&](HeapReader& reader) {
      look([&](uint64_t offset, std::span<std::byte> into) { reader.read_bytes(base_ + offset, into); });
      return Status();
    }));
  }
  status.heap_bytes = heap_bytes();
  status.log_bytes = geometry_.heap_at;
  status.last_number = slots_.clock();
  status.replayed_number = replayer_->replayed();
  status.medium = name_of(options_.medium);
  status.backend = regions_.name;
  status.promise = medium_->promise();
  status.recovered = recovered_;
  status.dropped = dropped_;
  if (const Status why = stopped(); !why.ok()) status.read_only_because = why.message();
  for (uint32_t slot = 0; slot < geometry_.threads; ++slot) {
    const Counts& counts = counts_[slot];
    // relaxed: statistics
    status.commits += counts.commits.load(std::memory_order_relaxed);
    status.reads += counts.reads.load(std::memory_order_relaxed);
    status.conflicts += counts.conflicts.load(std::memory_order_relaxed);
    status.serial += counts.serial.load(std::memory_order_relaxed);
    status.region_commits += counts.regions.load(std::memory_order_relaxed);
    for (size_t cause = 0; cause < kRegionCauseCount; ++cause)
      status.region_aborts[cause] += counts.region_aborts[cause].load(std::memory_order_relaxed);
  }
  status.syncs = medium_->syncs();
  status.replays = replayer_->replays();
  status.replayed_words = replayer_->words();
  return status;
}

}  // namespace elider::detail
