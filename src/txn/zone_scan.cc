#include "txn/zone_scan.h"

#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include "base/test_points.h"
#include "base/thread_ends.h"

namespace elider::txn {
namespace {

struct JoinAtEnd {
  explicit JoinAtEnd(std::vector<std::thread>& all) : threads(all) {}
  ~JoinAtEnd() { now(); }
  void now() const {
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
  std::vector<std::thread>& threads;
};

}  // namespace

bool ZoneScan::run(unsigned threads) {
  std::vector<std::thread> helpers;
  const JoinAtEnd join(helpers);
  try {
    helpers.reserve(threads - 1);
    for (unsigned t = 1; t < threads; ++t) helpers.emplace_back([this, t] { work(t); });
  } catch (const std::bad_alloc&) {
  } catch (const std::system_error&) {
  }
  work(0);
  join.now();
  if (thrown_) std::rethrow_exception(thrown_);
  return !stopped_;
}

void ZoneScan::work(unsigned thread) {
  try {
    const size_t bytes = layout_.row_bytes();
    // Allocates enough memory to align the image for any row type.
    const std::unique_ptr<std::byte[]> memory(new std::byte[bytes + kRowAlignmentMax]);
    void* image = memory.get();
    size_t room = bytes + kRowAlignmentMax;
    std::align(kRowAlignmentMax, bytes, image, room);
    for (Piece piece; take(&piece);)
      if (!scan(piece, static_cast<std::byte*>(image), thread)) return stop();
  } catch (...) {
    stop();
    if (thread_ends()) throw;
    const std::lock_guard lock(mutex_);
    if (!thrown_) thrown_ = std::current_exception();
  }
}

void ZoneScan::stop() {
  const std::lock_guard lock(mutex_);
  next_ = nullptr;
  stopped_ = true;
}

bool ZoneScan::take(Piece* piece) {
  const std::lock_guard lock(mutex_);
  if (next_ == nullptr) return false;
  *piece = {next_, next_->used()};
  next_ = next_->next();
  return true;
}

bool ZoneScan::scan(const Piece& piece, std::byte* image, unsigned thread) {
  detail::ImageHeader header;
  const RawView view(image, &header);
  const bool one_group = layout_.group_count() == 1 && !layout_.group(0).block;
  std::byte* slot = storage::Zones::slots(piece.extent);
  std::byte* const end = slot + piece.used * zones_.slot_bytes();
  for (; slot != end; slot += zones_.slot_bytes()) {
    storage::Row* const row = storage::Zones::row_in(slot);
    uint64_t version_numbers[kColumnGroupsMax];
    if (one_group ? !read_one_group(row, image, version_numbers) : !read_groups(row, image, version_numbers)) continue;
    const Key key = storage::Zones::key_in(slot);
    if (seen_ != nullptr) [[unlikely]]
      note(key, version_numbers);
    header = {row, key, ~0u, static_cast<uint8_t>(set_.groups), 0, layout_.row_bytes()};
    if (!visit_(key, view, thread) || stopped_.load(std::memory_order_relaxed)) return false;
    if (thread == 0 && has_ended_()) [[unlikely]]
      return false;
  }
  return true;
}

// Reads a row that has a single column group, which is stored in the cell. If the newest version
// belongs to the snapshot, the old versions are not searched.
[[gnu::always_inline]] inline bool ZoneScan::read_one_group(storage::Row* row, std::byte* image, uint64_t* version_numbers) const {
  const storage::Cell& cell = row->cell(layout_, 0);
  const uint64_t w = cell.load();
  if (cell.snapshot() <= snapshot_ || ELIDER_MUTANT(kScanNewestRows)) [[likely]] {
    if (storage::word::at_rest(w)) [[likely]] {
      storage::copy_to_image(set_, 0, image, cell.payload_inside());
      version_numbers[0] = storage::word::version_number(w);
      if (cell.unchanged(w)) [[likely]]
        return true;
    } else if (!storage::word::locked(w) && cell.unchanged(w)) {
      return false;
    }
  }
  return read_groups(row, image, version_numbers);
}

[[gnu::noinline]] bool ZoneScan::read_groups(storage::Row* row, std::byte* image, uint64_t* version_numbers) const {
  for (uint32_t g = 0; g < layout_.group_count(); ++g) {
    if ((set_.read_groups >> g & 1) == 0) continue;
    if (!storage::read_cell_at(row->cell(layout_, g), layout_.group(g), set_, g, snapshot_, image, &version_numbers[g])) return false;
  }
  return true;
}

[[gnu::noinline]] void ZoneScan::note(Key key, const uint64_t* version_numbers) {
  const std::lock_guard lock(mutex_);
  for (uint32_t g = 0; g < layout_.group_count(); ++g)
    if ((set_.read_groups >> g & 1) != 0) seen_->push_back({key, g, version_numbers[g]});
}

}  // namespace elider::txn
