// InlineRows: the places in which a hashed table stores its row blocks (SchemaOf::inline_rows). The
// hash of a row's key determines in which places the row may be stored. A lookup that finds its row
// in a place does not read a hash bucket, so it costs one cache miss instead of two dependent ones.
//
//   +---------+----------+-----------+
//   | key   8 | state  8 | row block |   a place; kWays of them are a group
//   +---------+----------+-----------+
//
// The index also contains every row, so correctness does not depend on places. If all places for a
// row are taken, its block is allocated like the rows of other tables. A lookup that does not find
// a row in its places uses the index. Blocks never move, so the addresses of rows are stable.
//
// A place is free, taken or found. It is taken while its row is not in the index, or is about to
// leave the index. It is found from the row's insertion into the index until just before its
// removal. Invariant: if a block's state is read as found, the index contains this block for its
// key at that time. A place is not reused while any thread may refer to its block: it becomes free
// after the grace period, when its row block is reclaimed.
//
// Thread safety: all threads may call all functions, within a grace period.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/memory.h"
#include "base/test_points.h"
#include "elider/key.h"
#include "storage/layout.h"
#include "storage/record.h"

namespace elider::storage {

class InlineRows {
 public:
  // Creates places for about this many rows of this layout. Returns null if memory is exhausted.
  // May throw std::bad_alloc.
  static std::unique_ptr<InlineRows> make(Memory& memory, const Layout& layout, uint64_t rows);
  ~InlineRows();
  InlineRows(const InlineRows&) = delete;
  InlineRows& operator=(const InlineRows&) = delete;

  size_t bytes() const { return bytes_; }
  // Returns a block for the key, which other threads cannot find yet. Returns null if all of the
  // key's places are taken.
  Row* take(Key key);
  void give_back(Row* row) { place_of(row)->state.store(kFree, std::memory_order_release); }
  // Frees all places. Afterwards, only has() may be called.
  void free_places();
  // Returns true if the block is in one of these places. All other functions with a `row` parameter
  // require this.
  bool has(const Row* row) const {
    const auto* const at = reinterpret_cast<const std::byte*>(row);
    return at >= places_ && at < places_ + bytes_;
  }
  // set_found() is called after the row's insertion into the index, set_lost() before its removal.
  void set_found(Row* row) { place_of(row)->state.store(kFound, std::memory_order_release); }
  void set_lost(Row* row) {
    if (!ELIDER_MUTANT(kKeepInlineRow)) place_of(row)->state.store(kTaken, std::memory_order_release);
  }

  // Prefetches the memory that find() and a read of the row access if the row is in the first of
  // its places.
  void prefetch(Key key) const {
    const char* const first = reinterpret_cast<const char*>(place(hash_of(key), 0));
    for (size_t at = 0; at < place_bytes_; at += 64) __builtin_prefetch(first + at);
    __builtin_prefetch(first + place_bytes_ - 1);
  }
  // Returns the key's row block, or null. If the result is null, the index may still contain the
  // row.
  Row* find(Key key) const {
    const uint64_t hash = hash_of(key);
    for (unsigned way = 0; way < kWays; ++way) {
      Place* const at = place(hash, way);
      // acquire: pairs with set_found(), so the contents of the block are visible.
      const uint64_t state = at->state.load(std::memory_order_acquire);
      if (state == kFound && at->key.load(std::memory_order_relaxed) == key) return at->row();  // relaxed: the key was set before the state
    }
    return nullptr;
  }

 private:
  static constexpr unsigned kWays = 4;
  static constexpr uint64_t kFree = 0, kTaken = 1, kFound = 2;
  struct alignas(16) Place {
    std::atomic<Key> key;
    std::atomic<uint64_t> state;
    Row* row() { return reinterpret_cast<Row*>(this + 1); }
  };

  InlineRows(Memory& memory, uint64_t groups, size_t place_bytes);

  // This is not the hash table's hash function. That function selects a bucket by its lowest bits,
  // but a place is selected by all bits.
  static uint64_t hash_of(Key key) {
    uint64_t hash = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u;
    return hash ^ (hash >> 32);
  }
  Place* place(uint64_t hash, unsigned way) const {
    const auto group = static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * groups_ >> 64);
    return reinterpret_cast<Place*>(places_ + (group * kWays + ((hash + way) & (kWays - 1))) * place_bytes_);
  }
  static Place* place_of(Row* row) { return reinterpret_cast<Place*>(row) - 1; }

  Allocator allocator_;  // allocates and frees the places
  const uint64_t groups_;
  const size_t place_bytes_;
  const size_t bytes_;
  std::byte* const places_;  // null if memory is exhausted
  bool freed_ = false;
};

}  // namespace elider::storage
