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
    // The block must have an owner before the vector grows, which can also fail.
    const auto add = [&](size_t room) { return blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(room)).get(); };
    if (blocks_.empty() && size > kBlockBytes) add(kBlockBytes);  // the first block is kept
    at_ = add(size);
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
  options.skip = now_.skip;
  return options;
}

namespace {

// The kinds of ranges. last() returns where a page ended. The bytes of a key are valid only in the
// page's copy of the last row.
template <class Range>
struct Kind;
template <>
struct Kind<KeyRange> {
  using At = Key;
  static At last(const At&, const RawView& row) { return row.key(); }
};
template <>
struct Kind<ByteRange> {
  using At = Bytes;
  static At last(const At&, const RawView& row) { return row.key_bytes(); }
};
template <>
struct Kind<IndexRange> {
  using At = IndexPosition;
  static At last(const At& at, const RawView&) { return at; }
};
template <>
struct Kind<ByteIndexRange> {
  using At = ByteIndexPosition;
  static At last(const At& at, const RawView& row) { return {at.value, row.key_bytes()}; }
};
template <>
struct Kind<ColumnRange> {
  using At = ColumnPosition;
  static At last(const At& at, const RawView&) { return at; }
};

// Copies the next rows of a table or an index to the page, and moves the position past them.
// begin() -> ScanOptions prepares for the page.
template <class Source, class Position, class Begin>
Result<size_t> read_page(Transaction& txn, const Source& source, bool byte_keys, PageMemory& memory, std::span<RawView> page,
                         Position* now, Begin&& begin) try {
  const ScanOptions options = begin();
  return std::visit(
      [&]<class Range>(Range& rest) -> Result<size_t> {
        using At = typename Kind<Range>::At;
        size_t count = 0;
        At reached{};
        const auto visit = [&](At at, RawView view) {
          page[count++] = memory.keep(view, byte_keys);
          reached = at;
          return memory.bytes() < RawTableScan::kPageBytesMax;
        };
        Status status = txn.scan(source, rest, options, FunctionRef<bool(At, RawView)>(visit));
        if (!status.ok()) return status;
        if (count == 0) return count;
        const At last = Kind<Range>::last(reached, page[count - 1]);
        rest = options.reverse ? rest.before(last) : rest.after(last);
        now->left -= count;
        now->skip = 0;
        return count;
      },
      now->rest);
} catch (const std::bad_alloc&) {
  return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
}

}  // namespace
}  // namespace detail

Result<size_t> RawTableScan::next(Transaction& txn, std::span<RawView> page) {
  return detail::read_page(txn, table_, table_.byte_keys(), memory_, page, &now_, [&] { return begin_page(txn, page.size()); });
}

Result<size_t> RawIndexScan::next(Transaction& txn, std::span<RawView> page) {
  return detail::read_page(txn, index_, index_.table.byte_keys(), memory_, page, &now_, [&] { return begin_page(txn, page.size()); });
}

}  // namespace elider
