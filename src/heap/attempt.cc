#include "heap/attempt.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "heap/allocator.h"
#include "heap/inside.h"
#include "heap/region_attempt.h"

namespace elider::detail {

using heap::kWordBytes;
using heap::Phase;
using heap::Stripes;
using heap::WriteSet;

HeapAttempt::HeapAttempt(HeapInside& heap, uint32_t slot) : heap_(heap), slot_(slot), base_(heap.base()) {
  if (!heap.has_regions()) return;
  region_writes_.reserve(heap::kRegionWordsMax, heap::kRegionZerosMax);
  heap.log().reserve(slot, heap::kRegionRecordBytesMax);
}

// Returns an empty write set that other transactions cannot be reading.
WriteSet& HeapAttempt::unused_writes() {
  for (const auto& set : sets_)
    if (set->released_at == 0 || heap_.slots().no_reader_since(set->released_at - 1)) {
      set->released_at = 0;
      set->clear();
      return *set;
    }
  sets_.push_back(std::make_unique<WriteSet>());
  return *sets_.back();
}

void HeapAttempt::begin(bool updates) {
  updates_ = updates;
  tracks_ = updates && heap_.options().isolation == HeapIsolation::kSerializable;
  doom_ = {};
  reads_.clear();
  if (updates) {
    writes_ = &unused_writes();
    if (heap_.options().wait == HeapWait::kTotal) heap_.slots().say(slot_, Phase::kRunning, ++runs_);
  }
  moment_ = heap_.slots().begin(slot_);
  published_.clear();
  published_signature_ = 0;
  heap_.slots().for_each_published(slot_, moment_, [&](const WriteSet& writes) {
    published_.push_back(&writes);
    published_signature_ |= writes.signature();
  });
}

Status HeapAttempt::end() {
  heap_.slots().end(slot_);
  if (heap_.options().durability == HeapDurability::kLater) return {};
  switch (heap_.options().wait) {
    case HeapWait::kPruned: heap_.slots().wait_for_durability(slot_, moment_); break;
    case HeapWait::kTotal: heap_.slots().wait_for_all_before(slot_, heap_.slots().clock()); break;
    case HeapWait::kOwn: break;  // everything that this transaction has read was already durable
  }
  // If this transaction has waited for another one, that one may have failed to become durable.
  return heap_.stopped();
}

void HeapAttempt::roll_back() {
  heap_.slots().end(slot_);
  if (updates_ && heap_.options().wait == HeapWait::kTotal) heap_.slots().say(slot_, Phase::kIdle, 0);
}

bool HeapAttempt::lock_stripe(uint32_t stripe) {
  uint64_t number = 0;
  const Stripes::Locking locking = heap_.stripes().try_lock(stripe, slot_, moment_, &number);
  if (locking == Stripes::Locking::kLocked) locked_.push_back({stripe, number});
  if (locking == Stripes::Locking::kRefused) conflict_ = stripe;
  return locking != Stripes::Locking::kRefused;
}

// Reserves all memory before it locks the first stripe, so that it cannot run out of memory with
// only some stripes locked.
bool HeapAttempt::lock_stripes() {
  locked_.clear();
  uint64_t lines = writes_->entries().size();
  for (const WriteSet::Zeros& range : writes_->zeros()) lines += Stripes::lines(range.first, range.count);
  locked_.reserve(std::min(lines, Stripes::kCount));
  for (const WriteSet::Zeros& range : writes_->zeros())
    for (uint64_t i = 0, count = std::min(Stripes::lines(range.first, range.count), Stripes::kCount); i < count; ++i)
      if (!lock_stripe(Stripes::of(range.first + i * Stripes::kWords))) return false;
  uint64_t last = ~uint64_t{0};
  for (const WriteSet::Entry& entry : writes_->entries()) {
    const uint32_t stripe = Stripes::of(entry.word);
    if (stripe == last) continue;
    last = stripe;
    if (!lock_stripe(stripe)) return false;
  }
  return true;
}

void HeapAttempt::unlock_stripes(std::optional<uint64_t> number) {
  for (const Locked& locked : locked_) heap_.stripes().unlock(locked.stripe, number.value_or(locked.number));
  locked_.clear();
}

bool HeapAttempt::reads_hold() {
  if (ELIDER_MUTANT(kHeapSkipValidation)) return true;
  for (const uint32_t stripe : reads_)
    if (!heap_.stripes().holds(stripe, slot_, moment_)) {
      conflict_ = stripe;
      return false;
    }
  return true;
}

HeapAttempt::Outcome HeapAttempt::commit(Status* status) {
  heap::Slots& slots = heap_.slots();
  const bool total = heap_.options().wait == HeapWait::kTotal;
  const bool durable_first = heap_.options().wait == HeapWait::kOwn;
  if (writes_->empty()) {
    // The slot becomes idle before the wait, because other transactions wait for running ones.
    if (total) slots.say(slot_, Phase::kIdle, 0);
    *status = end();
    return Outcome::kDone;
  }
  room_needed_ = heap_.log().prepare(slot_, *writes_);
  if (room_needed_ > heap_.log().record_bytes_max()) {
    *status = {Code::kMemoryLimit, "a transaction needs " + std::to_string(room_needed_) +
                                       " bytes of redo log; the limit is half of HeapOptions::log_bytes, " +
                                       std::to_string(heap_.log().record_bytes_max())};
    return Outcome::kRolledBack;
  }
  if (!heap_.log().has_room(slot_, room_needed_)) {
    roll_back();
    return Outcome::kNoRoom;
  }
  if (!lock_stripes() || !reads_hold()) {
    unlock_stripes({});
    roll_back();
    return Outcome::kConflict;
  }
  ELIDER_TEST_POINT("heap.commit.locked");
  Status written;
  if (durable_first) written = fenced(heap_.log().append_unnumbered(slot_));
  slots.say(slot_, Phase::kDeciding, slots.clock());
  const uint64_t number = slots.take_number();
  ELIDER_TEST_POINT("heap.commit.numbered");
  if (!reads_hold()) {
    // Under HeapWait::kOwn the slot's state remains kDeciding until the log records that the number
    // was given up. Otherwise another transaction's snapshot could include a number that the log
    // does not contain.
    if (!durable_first || ELIDER_MUTANT(kHeapVisibleFirst)) slots.say(slot_, Phase::kWritten, number);
    unlock_stripes({});
    slots.end(slot_);
    give_up(number);
    return Outcome::kConflict;
  }
  if (durable_first) {
    heap_.log().number_record(slot_, number);
    if (written.ok() && !ELIDER_MUTANT(kHeapVisibleFirst)) written = fenced(heap_.log().append_marker(slot_, moment_));
    if (!written.ok()) heap_.stop(written);  // before other transactions see a commit that may be lost
  }
  slots.publish(slot_, number, *writes_);
  for (const Locked& locked : locked_) heap_.stripes().publish(locked.stripe, slot_, number);
  slots.end(slot_);
  if (!total && !durable_first) written = heap_.log().append(slot_, number, moment_);  // other transactions may end meanwhile
  ELIDER_TEST_POINT("heap.commit.published");
  slots.wait_for_isolation(slot_, number);
  ELIDER_TEST_POINT("heap.commit.isolated");
  writes_->copy_to(base_);
  slots.say(slot_, Phase::kWritten, number);
  writes_->released_at = slots.clock() + 1;
  unlock_stripes(number);
  ELIDER_TEST_POINT("heap.commit.written");
  if (total) {
    slots.wait_for_all_before(slot_, number - 1);
    written = heap_.log().append(slot_, number, moment_);
  }
  if (durable_first && written.ok() && ELIDER_MUTANT(kHeapVisibleFirst)) written = heap_.log().append_marker(slot_, moment_);
  *status = conclude(std::move(written), moment_);
  return Outcome::kDone;
}

// If `stored` is ok and fences() is true, makes durable what this thread has stored. If fences() is
// false, persist() and the replayer do so later. Returns the first error.
Status HeapAttempt::fenced(Status stored) { return stored.ok() && fences() ? heap_.fence() : std::move(stored); }

Status HeapAttempt::conclude(Status written, uint64_t needs) {
  const bool waits = heap_.options().durability == HeapDurability::kWait;
  if (heap_.options().wait != HeapWait::kOwn || ELIDER_MUTANT(kHeapVisibleFirst)) written = fenced(std::move(written));
  if (!written.ok()) heap_.stop(written);
  heap_.slots().say(slot_, Phase::kIdle, 0);
  if (waits && heap_.options().wait == HeapWait::kPruned) heap_.slots().wait_for_durability(slot_, needs);
  if (heap_.log().is_half_full(slot_) || !heap_.has_half_of_markers()) heap_.wake_replayer();
  Status status = waits || !written.ok() ? heap_.stopped() : Status();
  // All numbers that this transaction needs are durable now, whatever HeapOptions::wait is.
  if (status.ok() && fences()) heap_.log().last_is_durable(slot_, waits ? needs : 0);
  return status;
}

// Returns true if this thread must fence its own stores. If not, persist() and the replayer fence
// these stores later.
bool HeapAttempt::fences() const { return heap_.options().durability == HeapDurability::kWait || heap_.medium_fences_for_its_thread(); }

// Records in the log that the number was given up. Until that log entry is durable, the number is a
// gap in the log, and transactions that need later numbers are not durable.
void HeapAttempt::give_up(uint64_t number) {
  const Status written = fenced(heap_.log().append_abort(slot_, number));
  if (!written.ok()) heap_.stop(written);
  if (written.ok() && fences()) heap_.log().last_is_durable(slot_, 0);
  heap_.slots().say(slot_, Phase::kIdle, 0);
}

void HeapAttempt::begin_region(bool is_active, void (*leave)()) {
  updates_ = tracks_ = false;  // so that load() reads only the heap's words
  published_.clear();
  published_signature_ = 0;
  doom_ = {};
  in_region_ = true;
  leave_region_ = leave;
  region_writes_.clear();
  window() = {};
  if (heap_.options().wait == HeapWait::kTotal) heap_.slots().say(slot_, Phase::kRunning, ++runs_);
  if (is_active) moment_ = heap_.slots().begin(slot_);
}

void HeapAttempt::log_in_window() {
  if (!heap_.medium_is_mapped() || heap_.options().wait == HeapWait::kTotal) return;
  static_cast<void>(heap_.log().prepare(slot_, region_writes_));
  window().written = heap_.log().append_record(slot_, window().number);
  window().logged = true;
}

void HeapAttempt::end_aborted_region() {
  in_region_ = false;
  heap_.slots().end(slot_);
  if (window().number != 0)
    give_up(window().number);
  else if (heap_.options().wait == HeapWait::kTotal)
    heap_.slots().say(slot_, Phase::kIdle, 0);
}

Status HeapAttempt::conclude_region(bool was_active) {
  in_region_ = false;
  heap::Slots& slots = heap_.slots();
  const uint64_t number = window().number;
  if (number == 0) {
    if (heap_.options().wait == HeapWait::kTotal) slots.say(slot_, Phase::kIdle, 0);
    // If a transaction was not announced as active, it may have read from any earlier commit.
    if (!was_active) moment_ = slots.clock();
    return end();
  }
  const uint64_t needs = was_active ? moment_ : number - 1;
  Status written = std::move(window().written);
  if (heap_.options().wait == HeapWait::kTotal) slots.wait_for_all_before(slot_, number - 1);
  if (!window().logged) {
    static_cast<void>(heap_.log().prepare(slot_, region_writes_));
    written = heap_.log().append_record(slot_, number);
  }
  ELIDER_TEST_POINT("heap.region.committed");
  if (written.ok()) written = heap_.log().append_marker(slot_, needs);
  return conclude(std::move(written), needs);
}

void HeapAttempt::wait_for_conflict() const {
  for (Spin spin; heap_.stripes().is_locked(conflict_) && spin.yields() < 1000;) spin.wait();
}

HeapFootprint HeapAttempt::footprint() const {
  needs_software();
  std::vector<uint64_t> lines(reads_.begin(), reads_.end());
  const auto distinct = [&lines] {
    std::sort(lines.begin(), lines.end());
    return static_cast<uint64_t>(std::unique(lines.begin(), lines.end()) - lines.begin());
  };
  HeapFootprint footprint;
  footprint.lines_read = distinct();
  lines.clear();
  for (const WriteSet::Entry& entry : writes_->entries()) lines.push_back(entry.word / Stripes::kWords);
  for (const WriteSet::Zeros& range : writes_->zeros())
    for (uint64_t i = 0; i < Stripes::lines(range.first, range.count); ++i) lines.push_back(range.first / Stripes::kWords + i);
  footprint.lines_written = distinct();
  return footprint;
}

uint64_t HeapAttempt::load(uint64_t word) {
  if (updates_) {
    if (const uint64_t* const own = writes_->find(word); own != nullptr) return *own;
    if (tracks_) {
      const uint32_t stripe = Stripes::of(word);
      if (reads_.empty() || reads_.back() != stripe) reads_.push_back(stripe);
    }
  }
  if ((published_signature_ & WriteSet::bit_of(word)) != 0 && !ELIDER_MUTANT(kHeapSkipPublished)) {
    // No more than one of the write sets can contain the word, because a commit keeps the word's
    // stripe locked until the word is in the heap.
    for (const WriteSet* const writes : published_)
      if (const uint64_t* const theirs = writes->find(word); theirs != nullptr) return *theirs;
  }
  uint64_t value;
  std::memcpy(&value, base_ + word * kWordBytes, kWordBytes);
  return value;
}

template <class Change>
void HeapAttempt::change_writes(Change&& change) {
  try {
    change(*writes_);
  } catch (const std::bad_alloc&) {
    doom(Status(Code::kMemoryLimit, Cause::kMemoryLimit));  // the transaction fails even if the procedure catches the exception
    throw;
  }
}

void HeapAttempt::store(uint64_t word, uint64_t value) {
  if (in_region_) {
    if (!region_writes_.append(word, value)) leave_region_();
    std::memcpy(base_ + word * kWordBytes, &value, kWordBytes);
    return;
  }
  change_writes([&](WriteSet& writes) { writes.put(word, value); });
}

void HeapAttempt::zero(uint64_t offset, uint64_t bytes) {
  if (in_region_) {
    if (bytes > heap::kRegionZeroBytesMax || !region_writes_.has_room_for_zeros()) leave_region_();
    region_writes_.zero(offset / kWordBytes, (bytes + kWordBytes - 1) / kWordBytes);
    std::memset(base_ + offset, 0, (bytes + kWordBytes - 1) / kWordBytes * kWordBytes);
    return;
  }
  change_writes([&](WriteSet& writes) { writes.zero(offset / kWordBytes, (bytes + kWordBytes - 1) / kWordBytes); });
}

bool HeapAttempt::is_in_heap(const void* place, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(place), base = reinterpret_cast<uintptr_t>(base_);
  return at >= base && at - base + bytes <= heap_.heap_bytes();
}

bool HeapAttempt::may_write(const char* what, const void* place, size_t bytes) {
  if (!is_in_heap(place, bytes)) {
    doom(Status::invalid_argument(std::string(what) + ": the address is outside the heap"));
    return false;
  }
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(place) - base_);
  if (offset >= heap::HeapHead::bytes(heap_.geometry().threads)) return true;
  doom(Status::invalid_argument(std::string(what) + ": offset " + std::to_string(offset) +
                                " does not hold an object; is the HeapPtr null?"));
  return false;
}

void HeapAttempt::read_bytes(const void* place, std::span<std::byte> into) {
  if (!is_in_heap(place, into.size())) {
    std::memcpy(into.data(), place, into.size());
    return;
  }
  auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(place) - base_);
  while (!into.empty()) {
    const uint64_t value = load(offset / kWordBytes);
    const size_t skip = offset % kWordBytes, part = std::min<size_t>(into.size(), kWordBytes - skip);
    std::memcpy(into.data(), reinterpret_cast<const std::byte*>(&value) + skip, part);
    into = into.subspan(part);
    offset += part;
  }
}

void HeapAttempt::claim_bytes(const void* place, size_t bytes) {
  if (bytes == 0 || !may_write("claim", place, bytes) || heap_.options().isolation == HeapIsolation::kSerializable) return;
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(place) - base_);
  constexpr uint64_t kWordsOfLine = kCacheLineBytes / kWordBytes;
  const uint64_t last = (offset + bytes - 1) / kWordBytes;
  for (uint64_t word = offset / kWordBytes; word <= last; word = (word / kWordsOfLine + 1) * kWordsOfLine) store(word, load(word));
}

void HeapAttempt::write_bytes(void* place, std::span<const std::byte> bytes) {
  if (!may_write("write", place, bytes.size())) return;
  auto offset = static_cast<uint64_t>(static_cast<std::byte*>(place) - base_);
  while (!bytes.empty()) {
    const size_t skip = offset % kWordBytes, part = std::min<size_t>(bytes.size(), kWordBytes - skip);
    uint64_t value = part == kWordBytes ? 0 : load(offset / kWordBytes);
    std::memcpy(reinterpret_cast<std::byte*>(&value) + skip, bytes.data(), part);
    store(offset / kWordBytes, value);
    bytes = bytes.subspan(part);
    offset += part;
  }
}

}  // namespace elider::detail
