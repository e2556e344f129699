#include "storage/inline_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace elider::storage {

namespace {
// There are 25% more places than expected rows, so that about seven in eight rows find a place.
constexpr uint64_t places_for(uint64_t rows) { return rows + rows / 4; }
// An object of at least this size has its own mapping, which the system fills with zeros.
constexpr size_t kZeroBytes = size_t{4} << 20;
}  // namespace

std::unique_ptr<InlineRows> InlineRows::make(Memory& memory, const Layout& layout, uint64_t rows) {
  const size_t place_bytes = (sizeof(Place) + layout.block_bytes() + 15) / 16 * 16;
  const uint64_t groups = std::max<uint64_t>(1, (places_for(rows) + kWays - 1) / kWays);
  std::unique_ptr<InlineRows> made(new InlineRows(memory, groups, place_bytes));
  return made->places_ != nullptr ? std::move(made) : nullptr;
}

InlineRows::InlineRows(Memory& memory, uint64_t groups, size_t place_bytes)
    : allocator_(memory), groups_(groups), place_bytes_(place_bytes), bytes_(groups * kWays * place_bytes),
      places_(static_cast<std::byte*>(allocator_.allocate(bytes_, MemoryPart::kRows))) {
  if (places_ != nullptr && bytes_ < kZeroBytes) std::memset(places_, 0, bytes_);
}

InlineRows::~InlineRows() { free_places(); }

void InlineRows::free_places() {
  if (places_ != nullptr && !std::exchange(freed_, true)) allocator_.free(places_, bytes_, MemoryPart::kRows);
}

Row* InlineRows::take(Key key) {
  const uint64_t hash = hash_of(key);
  for (unsigned way = 0; way < kWays; ++way) {
    Place* const at = place(hash, way);
    uint64_t state = at->state.load(std::memory_order_relaxed);
    // acquire: pairs with give_back(), after which the previous owner no longer uses the place.
    if (state != kFree || !at->state.compare_exchange_strong(state, kTaken, std::memory_order_acquire)) continue;
    at->key.store(key, std::memory_order_relaxed);  // set_found() publishes it
    return at->row();
  }
  return nullptr;
}

}  // namespace elider::storage
