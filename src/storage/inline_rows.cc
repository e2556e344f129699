#include "storage/inline_rows.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace elider::storage {

namespace {
// Places for a quarter more rows than are expected: then nine of ten find one.
constexpr uint64_t places_for(uint64_t rows) { return rows + rows / 4; }
// An object of at least this size is a mapping of its own, which the system gives as zeros.
constexpr size_t kZeroBytes = size_t{4} << 20;
}  // namespace

std::unique_ptr<InlineRows> InlineRows::make(Memory& memory, const Layout& layout, uint64_t rows) {
  const size_t place_bytes = (sizeof(Place) + layout.block_bytes() + 15) / 16 * 16;
  const uint64_t groups = std::max<uint64_t>(1, (places_for(rows) + kWays - 1) / kWays);
  size_t bytes;
  if (__builtin_mul_overflow(groups * kWays, place_bytes, &bytes)) return nullptr;
  Allocator allocator(memory);
  auto* const places = static_cast<std::byte*>(allocator.allocate(bytes, MemoryPart::kRows));
  if (places == nullptr) return nullptr;
  if (bytes < kZeroBytes) std::memset(places, 0, bytes);
  std::unique_ptr<InlineRows> made(new (std::nothrow) InlineRows(memory, groups, place_bytes, places));
  if (made == nullptr) allocator.free(places, bytes, MemoryPart::kRows);
  return made;
}

InlineRows::~InlineRows() {
  Allocator allocator(memory_);
  allocator.free(places_, bytes_, MemoryPart::kRows);
}

Row* InlineRows::take(Key key) {
  const uint64_t hash = hash_of(key);
  for (unsigned way = 0; way < kWays; ++way) {
    Place* const at = place(hash, way);
    uint64_t state = at->state.load(std::memory_order_relaxed);
    // acquire: pairs with give_back(): who had it before is done with it.
    if (state != kFree || !at->state.compare_exchange_strong(state, kTaken, std::memory_order_acquire)) continue;
    at->key.store(key, std::memory_order_relaxed);  // set_found() publishes it
    return at->row();
  }
  return nullptr;
}

}  // namespace elider::storage
