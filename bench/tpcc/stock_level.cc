// Stock-Level (clause 2.8) counts the items of the district's last 20 orders that are low in stock.
#include <array>
#include <span>

#include "bench/tpcc/transactions.h"

namespace elider::bench::tpcc {
namespace {

constexpr uint32_t kRecentLinesMax = kRecentOrders * kLinesMax;

// A set of at most kRecentLinesMax items, which also stores their stock keys. It is an
// open-addressing table that is at most one third full, so that an insertion takes one or two
// probes.
class ItemSet {
 public:
  explicit ItemSet(uint32_t warehouse) : warehouse_(warehouse) {}

  void add(uint32_t item) {
    uint32_t slot = item * 0x9e3779b1u >> (32 - kSlotBits);
    while (slots_[slot] != 0) {
      if (slots_[slot] == item) return;
      slot = (slot + 1) & (kSlots - 1);
    }
    slots_[slot] = item;
    keys_[count_++] = StockKey::pack_unchecked(warehouse_, item);
  }
  bool full() const { return count_ == kRecentLinesMax; }
  std::span<const Key> stock_keys() const { return {keys_.data(), count_}; }

 private:
  static constexpr unsigned kSlotBits = 10;
  static constexpr uint32_t kSlots = 1u << kSlotBits;
  static_assert(kSlots >= 3 * kRecentLinesMax);

  uint32_t warehouse_;
  uint32_t count_ = 0;
  std::array<uint32_t, kSlots> slots_{};  // 0: free; item numbers start at 1
  std::array<Key, kRecentLinesMax> keys_;
};

}  // namespace

Status stock_level(Transaction& txn, const Tables& tables, const StockLevelInput& input, StockLevelOutput* output) {
  auto district = txn.get(tables.district, DistrictKey::pack_unchecked(input.warehouse, input.district), tables.district_next);
  if (!district.ok()) return district.status();
  const uint32_t next = (*district)->next_order;
  const uint32_t oldest = next > kRecentOrders ? next - kRecentOrders : 1;
  const KeyRange recent{LineKey::prefix(input.warehouse, input.district, oldest).first,
                        LineKey::prefix(input.warehouse, input.district, next - 1).last};
  ItemSet items(input.warehouse);
  Status status = txn.scan(tables.line, recent, {.columns = tables.line_item}, [&](Key, const View<OrderLine>& line) {
    items.add(line->item);
    return !items.full();
  });
  if (!status.ok()) return status;

  std::array<View<Stock>, kRecentLinesMax> stocks;
  const std::span<const Key> keys = items.stock_keys();
  if (status = txn.multi_get(tables.stock, keys, std::span(stocks.data(), keys.size()), tables.stock_quantity); !status.ok()) return status;
  uint32_t low = 0;
  for (size_t i = 0; i < keys.size(); ++i) low += stocks[i] && stocks[i]->quantity < input.threshold;
  output->low_stock = low;
  return {};
}

void touch(Touches& touches, const Tables& tables, const StockLevelInput& input) {
  touches.row(tables.district, DistrictKey::pack_unchecked(input.warehouse, input.district), tables.district_next);
}

}  // namespace elider::bench::tpcc
