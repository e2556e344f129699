// Record: the row block to which an index maps a key. It has a cell for each column group, and each
// cell consists of a header and the group's bytes. Deviation from DBX, section 5.1: DBX stores the
// metadata separately from the data. Here a small row is stored in the cell, so that a read costs
// one dependent cache miss.
//
// Protocol of a cell. A reader loads the commit word (acquire), waits while it is locked, copies
// the payload with racy accesses, and loads the commit word again. If it has not changed, the copy
// is consistent. A writer locks the commit word (compare-and-swap), changes the payload, `snapshot`
// and `previous`, and releases the commit word with a higher version number. A cell's `snapshot`
// and `previous` change only under its lock.
//
// Old versions form a linked list that begins at `previous`, with the newest version first and in
// descending order of snapshot numbers. A version is retired as soon as it is created, so
// `previous` may dangle. Only readers whose snapshot number is below the cell's number follow
// `previous`. The writer has kept the version for these readers, and the version is not reclaimed
// before their grace period ends (storage/snapshots.h).
//
// The payload of a variable-size row is stored at the end of its row block if the block has space
// for it, and otherwise in a block of its own. The cell's Contents say where it is. Bytes in the
// row block change under the cell's lock, so a reader copies them as it copies a fixed-size row. A
// block of its own never changes while it is reachable, so a reader need not copy it.
//
// Thread safety: given by this protocol. Every shared access uses an accessor below.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/racy.h"
#include "base/spin.h"
#include "base/test_points.h"
#include "elider/snapshot_number.h"
#include "storage/layout.h"

namespace elider::storage {

// The commit word:
//
//   63                                                3   2        1       0
//  +---------------------------------------------------+---------+-------+------+
//  | version number                                    | removed | absent| lock |
//  +---------------------------------------------------+---------+-------+------+
//
// version number  increases with every write of the group, across removal and insertion of the key
// removed   the row block is unlinked from its index: a commit must not write to it
// absent    the row does not exist at present
// lock      a commit is writing
namespace word {
inline constexpr uint64_t kLocked = 1, kAbsent = 2, kRemoved = 4, kStep = 8;
static_assert((kLocked | kAbsent | kRemoved) == kStep - 1);
inline constexpr uint64_t kUnknown = ~uint64_t{0};  // not a commit word: lock and removed are never set with a version number of all ones
inline bool locked(uint64_t w) { return w & kLocked; }
inline bool absent(uint64_t w) { return w & (kAbsent | kRemoved); }
inline bool removed(uint64_t w) { return w & kRemoved; }
// Returns true if the row exists and no commit is writing it.
inline bool at_rest(uint64_t w) { return (w & (kStep - 1)) == 0; }
inline uint64_t version_number(uint64_t w) { return w / kStep; }
inline uint64_t next(uint64_t w, bool absent) { return (w & ~(kStep - 1)) + kStep + (absent ? kAbsent : 0); }
}  // namespace word

// A payload that is stored separately from its cell, and its size. Constant while it is reachable.
struct alignas(16) Block {  // so that a row in it has the alignment of memory from `new`
  uint64_t size;            // size of the payload, in bytes

  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* payload() const { return reinterpret_cast<const std::byte*>(this + 1); }
};

// Says where the payload of a group is that is not stored in its cell:
//
//   63       48 47                               1  0
//  +-----------+----------------------------------+---+
//  | capacity  | address of a Block, or 0         | 0 |   in a block of its own
//  +-----------+----------------+-----------------+---+
//  | capacity  | offset         | size            | 1 |   in the row block
//  +-----------+----------------+-----------------+---+
//
// address   0 if the row has never existed
// capacity  the space for a variable-size row in the row block, in words of 8 bytes; constant
// offset    of the payload, from the cell, in words; 16 bits
// size      in bytes; 31 bits
class Contents {
 public:
  explicit constexpr Contents(uint64_t bits) : bits_(bits) {}
  static constexpr Contents nothing(size_t capacity_bytes) { return Contents(uint64_t{capacity_bytes / kWord} << kCapacityShift); }
  Contents inside(size_t offset_bytes, size_t size) const {
    return Contents((bits_ & kCapacity) | uint64_t{offset_bytes / kWord} << kOffsetShift | uint64_t{size} << 1 | kInside);
  }
  Contents in_block(Block* block) const { return Contents((bits_ & kCapacity) | reinterpret_cast<uint64_t>(block)); }

  uint64_t bits() const { return bits_; }
  size_t capacity_bytes() const { return (bits_ >> kCapacityShift) * kWord; }
  bool is_inside() const { return bits_ & kInside; }
  size_t inside_offset() const { return (bits_ >> kOffsetShift & 0xffff) * kWord; }
  size_t inside_size() const { return static_cast<uint32_t>(bits_) >> 1; }
  // Returns null if the payload is in the row block, or if the row has never existed.
  Block* block() const { return is_inside() ? nullptr : reinterpret_cast<Block*>(bits_ & ~kCapacity); }

 private:
  static constexpr uint64_t kInside = 1, kWord = 8;
  static constexpr int kOffsetShift = 32, kCapacityShift = 48;
  static constexpr uint64_t kCapacity = ~uint64_t{0} << kCapacityShift;  // addresses of user space have 47 bits
  uint64_t bits_;
};

// The bytes of a variable-size row, or null if the row is absent.
struct SizedRow {
  const std::byte* bytes = nullptr;
  size_t size = 0;
};

// The contents of a cell at an earlier snapshot. Constant once linked.
struct Version {
  SnapshotNumber snapshot;
  uint64_t version_number;
  Version* previous;
  ShardedCounts* counts;         // the table's counters (storage/layout.h)
  uint32_t bytes;                // size of this block
  bool absent;
  bool block;                    // the payload is a pointer to a block, which may be stored after the pointer
  const std::byte* payload() const { return block ? its_block()->payload() : reinterpret_cast<const std::byte*>(this + 1); }
  const Block* its_block() const {
    const Block* pointed;
    std::memcpy(&pointed, this + 1, sizeof pointed);
    return pointed;
  }
  std::byte* payload_inside() { return reinterpret_cast<std::byte*>(this + 1); }
};

class Cell {
 public:
  // acquire: if the caller copies the payload after this load, the copy is at least as new as the
  // commit word.
  uint64_t load() const { return word_.load(std::memory_order_acquire); }

  // Waits until the commit word is unlocked, and returns it. The wait lasts at most for a commit's
  // write phase.
  uint64_t load_unlocked() const {
    uint64_t w = load();
    if (word::locked(w) && !ELIDER_MUTANT(kIgnoreLockBit)) [[unlikely]] {
      Spin spin;
      do {
        spin.wait();
        w = load();
      } while (word::locked(w));
    }
    return w;
  }

  // Returns true if a copy that was made since load() returned `w` is consistent. The fence orders
  // the racy copies before this load. It pairs with the release in unlock().
  bool unchanged(uint64_t w) const {
    read_fence();
    return word_.load(std::memory_order_relaxed) == w;  // relaxed: the fence comes before it
  }

  // Locks the commit word if it equals `expected`, which must be unlocked. seq_cst: a commit reads
  // the snapshot number and the readers' slots after it has taken all its locks
  // (storage/snapshots.h). Before the commit writes a payload, or validates other commit words, it
  // calls fence_after_locked_rmw().
  bool lock_from(uint64_t& expected) {
    return word_.compare_exchange_strong(expected, expected | word::kLocked, std::memory_order_seq_cst, std::memory_order_acquire);
  }
  // release: a thread that sees the new commit word sees the payload that was written under the
  // lock.
  void unlock(uint64_t new_word) { word_.store(new_word, std::memory_order_release); }
  // Sets the word of a cell that other threads cannot reach yet, or that the caller has locked.
  void set_word(uint64_t w) { word_.store(w, std::memory_order_relaxed); }

  // relaxed: this is read between load() and unchanged(), or under the lock.
  SnapshotNumber snapshot() const { return snapshot_.load(std::memory_order_relaxed); }
  void set_snapshot(SnapshotNumber n) { snapshot_.store(n, std::memory_order_relaxed); }
  // release and acquire: a thread that sees the pointer also sees the version's contents.
  Version* previous() const { return previous_.load(std::memory_order_acquire); }
  void set_previous(Version* version) { previous_.store(version, std::memory_order_release); }

  std::byte* payload_inside() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* payload_inside() const { return reinterpret_cast<const std::byte*>(this + 1); }
  // The contents of a group that is not stored in its cell.
  Contents contents() const {
    return Contents(reinterpret_cast<const std::atomic<uint64_t>*>(payload_inside())->load(std::memory_order_acquire));  // as in previous()
  }
  void set_contents(Contents contents) {
    reinterpret_cast<std::atomic<uint64_t>*>(payload_inside())->store(contents.bits(), std::memory_order_release);
  }
  // Returns the block of a group that is not stored in its cell, or null (Contents::block).
  Block* block() const { return contents().block(); }
  void set_block(Block* block) { set_contents(contents().in_block(block)); }
  std::byte* payload_at(size_t offset) { return reinterpret_cast<std::byte*>(this) + offset; }
  const std::byte* payload_at(size_t offset) const { return reinterpret_cast<const std::byte*>(this) + offset; }
  // Returns the payload of an existing row.
  const std::byte* payload(const Group& group) const { return group.block ? payload_outside() : payload_inside(); }

 private:
  const std::byte* payload_outside() const {
    const Contents now = contents();
    return now.is_inside() ? payload_at(now.inside_offset()) : now.block()->payload();
  }
  static void read_fence() {
#if !ELIDER_TSAN  // TSan does not model fences; in TSan builds the racy accesses are atomic
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
  }
  std::atomic<uint64_t> word_;
  std::atomic<SnapshotNumber> snapshot_;     // number of the commit that wrote the present contents; 0 if never written
  std::atomic<Version*> previous_;
};
inline constexpr uint32_t kCellHeaderBytes = 24;
static_assert(sizeof(Cell) == kCellHeaderBytes);

// A row block. The table's layout determines the positions of its cells.
class Row {
 public:
  Cell& cell(const Layout& layout, uint32_t g) { return *static_cast<Cell*>(cell_address(this, layout, g)); }
  // Does not read memory, so `row` need not be a row block.
  static void* cell_address(void* row, const Layout& layout, uint32_t g) {
    return static_cast<std::byte*>(row) + layout.group(g).cell_offset;
  }
  // Returns the key in a table with byte-string keys. The key is constant.
  const detail::KeyBytes* key(const Layout& layout) const {
    return reinterpret_cast<const detail::KeyBytes*>(reinterpret_cast<const std::byte*>(this) + layout.block_bytes());
  }
  // Returns the bytes before the cell that the transaction protocol uses. They are zero when the
  // row block is created.
  std::byte* protocol_bytes(const Layout& layout, uint32_t g) {
    return reinterpret_cast<std::byte*>(&cell(layout, g)) - layout.protocol_bytes();
  }
};

// The following functions copy the columns of group g between an image, which has the row's own
// layout, and a payload.
[[gnu::noinline]] inline void copy_spans_to_image(const Span* span, const Span* end, std::byte* image, const std::byte* shared_payload) {
  for (; span != end; ++span) racy_copy_in(image + span->row_offset, shared_payload + span->payload_offset, span->size);
}
// Has a separate path for one span, because most groups have only one.
[[gnu::always_inline]] inline void copy_to_image(const ColumnSet& columns, uint32_t g, std::byte* image, const std::byte* shared_payload) {
  const uint32_t begin = columns.begin[g], count = columns.begin[g + 1] - begin;
  const Span* const span = columns.spans.data() + begin;
  if (count == 1) [[likely]] racy_copy_in(image + span->row_offset, shared_payload + span->payload_offset, span->size);
  else copy_spans_to_image(span, span + count, image, shared_payload);
}
inline void copy_to_payload(const ColumnSet& columns, uint32_t g, std::byte* shared_payload, const std::byte* image) {
  for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s) {
    const Span& span = columns.spans[s];
    racy_copy_out(shared_payload + span.payload_offset, image + span.row_offset, span.size);
  }
}
inline void copy_image(const ColumnSet& columns, uint32_t g, std::byte* to, const std::byte* from) {
  for (uint32_t s = columns.begin[g]; s < columns.begin[g + 1]; ++s) {
    const Span& span = columns.spans[s];
    std::memcpy(to + span.row_offset, from + span.row_offset, span.size);
  }
}

uint64_t read_cell_with_waits(const Cell& cell, const Group& group, const ColumnSet& columns, uint32_t g, std::byte* image);

// Copies columns of group g of the newest version, and returns that version's commit word. If the
// row is absent, does not copy anything. Waits while a commit writes the cell.
[[gnu::always_inline]] inline uint64_t read_cell(const Cell& cell, const Group& group, const ColumnSet& columns, uint32_t g,
                                                 std::byte* image) {
  const uint64_t w = cell.load();
  if (word::at_rest(w)) [[likely]] {
    copy_to_image(columns, g, image, cell.payload(group));
    ELIDER_TEST_POINT("read.copied");
    if (cell.unchanged(w) || ELIDER_MUTANT(kIgnoreLockBit)) [[likely]] return w;
  }
  return read_cell_with_waits(cell, group, columns, g, image);
}
[[gnu::noinline]] inline uint64_t read_cell_with_waits(const Cell& cell, const Group& group, const ColumnSet& columns, uint32_t g,
                                                       std::byte* image) {
  for (;;) {
    const uint64_t w = cell.load_unlocked();
    if (word::absent(w)) [[unlikely]] return w;
    copy_to_image(columns, g, image, cell.payload(group));
    ELIDER_TEST_POINT("read.copied");
    if (cell.unchanged(w) || ELIDER_MUTANT(kIgnoreLockBit)) [[likely]] return w;
  }
}

// Copies the columns of group g as of snapshot rs. Returns false if the row was absent at that
// time. Sets *version_number to the version number of the version that was read, or to 0 if the row
// did not have a version at rs.
bool read_cell_at(const Cell& cell, const Group& group, const ColumnSet& columns, uint32_t g, SnapshotNumber rs, std::byte* image,
                  uint64_t* version_number);
// Returns the present bytes of a variable-size row that exists. If they are in the row block,
// returns a copy of them in the memory that `allocate(size)` returns. Afterwards, the caller checks
// Cell::unchanged() with the commit word that showed that the row exists.
template <class Allocate>
inline SizedRow sized_row(const Cell& cell, Allocate&& allocate) {
  const Contents now = cell.contents();
  if (!now.is_inside()) {
    const Block* const block = now.block();
    return {block->payload(), block->size};
  }
  std::byte* const copy = allocate(now.inside_size());
  racy_copy_in(copy, cell.payload_at(now.inside_offset()), now.inside_size());
  ELIDER_TEST_POINT("read.sized.copied");
  return {copy, now.inside_size()};
}
// Like read_version_at(), but returns a whole variable-size row, without copying it.
SizedRow old_sized_row(const Version* newest, SnapshotNumber rs, uint64_t* version_number);
// Like read_cell_at(), but returns a whole variable-size row. Copies it only if it is stored in the
// row block; see sized_row().
template <class Allocate>
inline SizedRow read_sized_at(const Cell& cell, SnapshotNumber rs, uint64_t* version_number, Allocate&& allocate) {
  for (;;) {
    const uint64_t w = cell.load_unlocked();
    const bool now = cell.snapshot() <= rs;
    const SizedRow row = now && !word::absent(w) ? sized_row(cell, allocate) : SizedRow();
    const Version* const previous = cell.previous();
    if (!cell.unchanged(w) && !ELIDER_MUTANT(kIgnoreLockBit) && !ELIDER_MUTANT(kTrustSmallCopy)) continue;
    if (!now) return old_sized_row(previous, rs, version_number);
    *version_number = word::version_number(w);
    return row;
  }
}
// Like read_cell_at(), but reads only the old versions that commits after rs have kept. `newest` is
// the first of them, or null. Old versions never change.
bool read_version_at(const Version* newest, const ColumnSet& columns, uint32_t g, SnapshotNumber rs, std::byte* image,
                     uint64_t* version_number);

}  // namespace elider::storage
