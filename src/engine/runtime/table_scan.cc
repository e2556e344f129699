#include "elider/table_scan.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace elider {

namespace detail {

void PageMemory::clear() {
  if (blocks_.size() > 1) blocks_.clear();
  at_ = blocks_.empty() ? nullptr : blocks_[0].get();
  left_ = blocks_.empty() ? 0 : kBlockBytes;
  // Views of the last page find a header of another generation, or this zero.
  if (at_ != nullptr) std::memset(at_, 0, std::min(bytes_, kBlockBytes));
  bytes_ = 0;
  ++generation_;
}

std::byte* PageMemory::take(size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  if (bytes > left_) {
    const size_t size = std::max(bytes, kBlockBytes);
    if (blocks_.empty() && size > kBlockBytes) blocks_.emplace_back(new std::byte[kBlockBytes]);  // the first block is kept
    at_ = blocks_.emplace_back(new std::byte[size]).get();
    left_ = size;
  }
  left_ -= bytes;
  bytes_ += bytes;
  return std::exchange(at_, at_ + bytes);
}

RawView PageMemory::keep(const RawView& view, bool byte_key) {
  auto* header = new (take(sizeof(ImageHeader))) ImageHeader;
  header->read_index = ~0u;
  header->bytes = view.size();
  header->generation = generation_;
  if (byte_key) {
    const Bytes key = view.key_bytes();
    auto* bytes = new (take(sizeof(KeyBytes) + key.size())) KeyBytes{static_cast<uint32_t>(key.size())};
    if (!key.empty()) std::memcpy(bytes->data(), key.data(), key.size());
    header->key = KeyRef(bytes);
  } else {
    header->key = view.key();
  }
  std::byte* const image = take(view.size());
  if (view.size() != 0) std::memcpy(image, view.bytes(), view.size());
  return {image, header};
}

template <class Range>
ScanOptions PagedScan<Range>::begin_page(const Transaction& txn, size_t rows) {
  const uint64_t serial = txn.do_serial();
  if (&txn != txn_ || serial != serial_) {
    // The object runs nothing else between the attempts of a procedure.
    const bool repeated = &txn == txn_ && txn.do_first_serial() <= serial_ && serial_ < serial;
    if (repeated) now_ = begin_;
    else begin_ = now_;
    txn_ = &txn;
    serial_ = serial;
  }
  memory_.clear();
  ScanOptions options = options_;
  options.limit = std::min<uint64_t>(now_.left, rows);
  return options;
}

namespace {

// Runs scan(visit), which scans the rest of a range, and copies its rows to the page.
template <class Visit, class Scan>
Result<size_t> read_page(PageMemory& memory, bool byte_keys, size_t bytes_max, std::span<RawView> page, Visit&& note, Scan&& scan) {
  size_t count = 0;
  Status status = scan([&](const auto& at, const RawView& view) {
    page[count++] = memory.keep(view, byte_keys);
    note(at);
    return memory.bytes() < bytes_max;
  });
  if (!status.ok()) return status;
  return count;
}

}  // namespace
}  // namespace detail

Result<size_t> RawTableScan::next(Transaction& txn, std::span<RawView> page) try {
  const ScanOptions options = begin_page(txn, page.size());
  return std::visit(
      [&]<class Keys>(Keys& rest) -> Result<size_t> {
        constexpr bool kBytes = std::is_same_v<Keys, ByteRange>;
        using At = std::conditional_t<kBytes, Bytes, Key>;
        const auto count = detail::read_page(
            memory_, kBytes, kPageBytesMax, page, [](At) {},
            [&](auto&& visit) { return txn.scan(table_, rest, options, FunctionRef<bool(At, RawView)>(visit)); });
        if (!count.ok() || *count == 0) return count;
        const RawView& last = page[*count - 1];
        const At key = [&] {
          if constexpr (kBytes) return last.key_bytes();
          else return last.key();
        }();
        rest = options.reverse ? rest.before(key) : rest.after(key);
        now_.left -= *count;
        return count;
      },
      now_.rest);
} catch (const std::bad_alloc&) {
  return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
}

Result<size_t> RawIndexScan::next(Transaction& txn, std::span<RawView> page) try {
  const ScanOptions options = begin_page(txn, page.size());
  return std::visit(
      [&]<class Values>(Values& rest) -> Result<size_t> {
        constexpr bool kBytes = std::is_same_v<Values, ByteIndexRange>;
        using At = std::conditional_t<kBytes, ByteIndexPosition, IndexPosition>;
        uint64_t value = 0;
        const auto count = detail::read_page(
            memory_, kBytes, kPageBytesMax, page, [&](const At& at) { value = at.value; },
            [&](auto&& visit) { return txn.scan(index_, rest, options, FunctionRef<bool(At, RawView)>(visit)); });
        if (!count.ok() || *count == 0) return count;
        const RawView& last = page[*count - 1];
        const At at = [&]() -> At {
          if constexpr (kBytes) return {value, last.key_bytes()};
          else return {value, last.key()};
        }();
        rest = options.reverse ? rest.before(at) : rest.after(at);
        now_.left -= *count;
        return count;
      },
      now_.rest);
} catch (const std::bad_alloc&) {
  return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
}

}  // namespace elider
