// Reads: implements get, multi_get and the scans for all kinds of transactions (DBX, Algorithm 2;
// section 5.3, "range query").
//
// Each kind of transaction records its reads in its own way. Derived provides these members:
//   kTracks                           whether the transaction validates what it has read
//   read_row(table, row, key, set, image, header) -> Status
//       copies columns of a row to the image and sets the header's row and key; kNotFound if the
//       row is absent
//   view_block(table, row, header, view, status, allocate) -> bool
//       points the view at the row itself if the row is stored as one block, or at a copy of a
//       small variable-size row, in memory from allocate(size); returns false if the caller must
//       copy the row. Always true for variable-size rows, which are not copied column by column.
//   kClaimsLeaves                     whether tracking a leaf also claims it (txn/claims.h); if the
//                                     claim is refused, the transaction is doomed
//   track_absent(table, witness, key) called after a lookup that did not find the key
//   version_read(header)              the version of the row that was read last; for histories
//   index_number(table, index, key, image)   calls the key function of a secondary index
//   KeyScan(derived, table), IndexScan(derived, table, index)   the state of one scan, with
//       leaf(witnesses, covered)      called before the entries of a leaf are visited; `covered` is
//                                     the part of the range that the leaf covers
//       row(row, there)               called for each row that a KeyScan has visited
//       entry(row, value, matches)    called for each entry that an IndexScan has visited
//       stop(entry, direction)        called if the scan ends early; the transaction then does not
//                                     depend on the rest of the range
//
// Thread safety: none. The object belongs to one worker.
#pragma once

#include <algorithm>
#include <span>

#include "base/test_points.h"
#include "index/index.h"
#include "index/scan.h"
#include "txn/hints.h"
#include "txn/hot_rows.h"
#include "txn/kept_key.h"
#include "txn/table.h"
#include "txn/touched_rows.h"
#include "txn/transaction_base.h"

namespace elider::txn {

template <class Sync, class Derived>
class Reads : public TransactionBase {
 public:
  // Passes the rows that a group of calls has already looked up for the current transaction. The
  // caller must pass an empty span before the next transaction begins.
  void expect(std::span<const TouchedRow> rows) {
    touched_ = rows;
    next_touched_ = 0;
  }
  // Makes the search for touched rows continue at the position that another piece of the same call
  // has reached.
  template <class Piece>
  void look_on_from(const Piece& piece) {
    next_touched_ = piece.next_touched();
  }
  size_t next_touched() const { return next_touched_; }

 protected:
  using TableType = Table<Sync>;
  using Visitor = Transaction::EachRow;
  using EntryVisitor = Transaction::EachEntry;
  using ScannedRowVisitor = Transaction::EachScannedRow;

  // `in_regions` means that the transaction or its commit runs in hardware transactions.
  Reads(Store& store, Worker& worker, Counters& counters, bool in_regions = Sync::kRegions)
      : TransactionBase(store, worker, counters, in_regions),
        hints_(store.laboratory.parts.hints, store.laboratory.parts.counted_lookups ? &counters.lookups : nullptr),
        hot_(store.laboratory.parts.hints, store.laboratory.parts.counted_lookups ? &counters.lookups : nullptr) {}

  void begin_attempt(uint32_t attempt, uint32_t procedure) {
    TransactionBase::begin_attempt(attempt, procedure);
    hints_.begin();
    hot_.begin(worker_.global_epoch());
  }

  // Prepares a view of a row for a scan's visitor. If the row is stored as one block, the view
  // points at the row itself. Otherwise the columns of `set` are copied to `image`, and the view
  // points at this copy.
  [[gnu::always_inline]] inline Status look_at_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set, bool blocks,
                                                   std::byte* image, detail::ImageHeader* header, RawView* view) {
    if (blocks) [[unlikely]] {
      *header = {row, key, 0, 0, table.id() + 1, table.layout().row_bytes(), generation()};
      Status status;
      if (derived().view_block(table, row, header, view, &status, [&](size_t) { return image; })) return status;
      *view = RawView(image, header);
    }
    return derived().read_row(table, row, key, set, image, header);
  }

  // Returns the key's row block, whose row may be absent, and sets `key` to the row's own copy of
  // the key. If the index does not contain the key, tracks the absent key and returns null.
  [[gnu::always_inline]] inline Row* find(TableType& table, KeyRef& key, const ColumnSet& set) {
    index::Witness witness;
    if (Row* const known = known_row(table, key)) return key = table.key_of(known, key), known;
    Row* row = table.find(key, hints_.primary(table, key), witness, set.lines);
    if (row == nullptr) [[unlikely]] return derived().track_absent(table, witness, key), nullptr;
    key = table.key_of(row, key);
    keep_hot(table, key, row);
    return row;
  }

  // Returns true if the claim of the leaf or bucket that was just read has been refused. The
  // contents of the leaf or bucket may then change, so they must not be returned to the
  // application.
  [[gnu::always_inline]] inline bool refused_leaf() const {
    if constexpr (Derived::kClaimsLeaves) return state_ == State::kDoomed;
    else return false;
  }
  // Returns the status of a read that did not find the key. Called after track_absent().
  Status answer_absent(const TableType& table, KeyRef key) const {
    return refused_leaf() ? doom_ : table.error(Code::kNotFound, Cause::kNone, key);
  }

  [[gnu::always_inline]] inline Status view_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set, RawView* view) {
    static_assert(sizeof(detail::ImageHeader) % 8 == 0);
    constexpr size_t kHeaderBytes = (sizeof(detail::ImageHeader) + 15) / 16 * 16;
    if (table.layout().group(0).block) [[unlikely]] {
      auto* header = new (arena_.allocate(kHeaderBytes)) detail::ImageHeader{
        row, key, 0, 0, table.id() + 1, table.layout().row_bytes(), generation()};
      arena_.mark_when_cleared();  // the block may be reclaimed after the transaction
      Status status;
      std::byte* copy = nullptr;
      size_t room = 0;
      const auto allocate = [&](size_t bytes) {  // again if the row has changed while it was copied
        if (copy == nullptr || bytes > room) copy = arena_.allocate(room = bytes);
        return copy;
      };
      if (derived().view_block(table, row, header, view, &status, allocate)) return status;
    }
    std::byte* memory = arena_.allocate(kHeaderBytes + table.layout().row_bytes());
    auto* header = reinterpret_cast<detail::ImageHeader*>(memory);  // set by read_row()
    if (Status status = derived().read_row(table, row, key, set, memory + kHeaderBytes, header); !status.ok()) [[unlikely]] return status;
    *view = RawView(memory + kHeaderBytes, header);
    return {};
  }

  Status do_get(const TableRef& ref, KeyRef key, const ColumnsRef& columns, RawView* view) override {
    const ColumnSet* set = check<Purpose::kRead>(ref, columns);
    if (set == nullptr) [[unlikely]] return refuse(ref, columns);
    auto& table = static_cast<TableType&>(*ref.base());
    return table.keys().visit([&]<class Index>(Index&) { return get_from<Index>(table, key, *set, view); });
  }

  // The function is instantiated separately for each kind of index, so that an instance saves only
  // the registers that its own lookup uses.
  template <class Index>
  [[gnu::noinline]] Status get_from(TableType& table, KeyRef key, const ColumnSet& set, RawView* view) {
    constexpr bool kBytes = std::is_same_v<typename Index::Key, index::ByteKey>;
    Row* row = touched_row(table, key);
    if constexpr (!kBytes)
      if (row == nullptr) row = hot_row(table, key);
    if constexpr (!Index::kOrdered && !kBytes)
      if (row == nullptr) row = table.find_inline(key);
    if (row == nullptr) [[likely]] {
      index::Witness witness;
      auto& index = table.keys().template as<Index>();
      typename Index::Hint none;
      auto& hint = [&]() -> auto& {
        if constexpr (std::is_same_v<typename Index::Hint, PrimaryHint>) return hints_.primary(table, key);
        else return none;
      }();
      // The hash table compares the key in the row, so the other cache lines are prefetched.
      if constexpr (kBytes && !Index::kOrdered) row = TableType::as_row(index.get({key.bytes()}, witness, set.lines));
      else row = TableType::as_row(index.get(index::key_of<typename Index::Key>(key), hint, witness));
      if (row == nullptr) [[unlikely]] {
        derived().track_absent(table, index::Witness(witness), key);  // a copy, so that `witness` stays in registers
        return answer_absent(table, key);
      }
      if constexpr (!kBytes)
        if (hot_.on()) hot_.keep(table, key.number(), row);
    }
    if constexpr (kBytes) {
      key = table.key_of(row, key);
      arena_.mark_when_cleared();  // the key is stored in the row, which may be reclaimed after the transaction
    }
    return view_row(table, row, key, set, view);
  }

  Status do_multi_get(const TableRef& ref, const KeyRef* keys, size_t count, const ColumnsRef& columns, RawView* views) override {
    const ColumnSet* set = check<Purpose::kRead>(ref, columns);
    if (set == nullptr) [[unlikely]] return refuse(ref, columns);
    auto& table = static_cast<TableType&>(*ref.base());
    index::Handle rows[kBatch];
    index::Witness witnesses[kBatch];
    if (table.byte_keys()) [[unlikely]] arena_.mark_when_cleared();  // as in get_from()
    for (size_t begin = 0; begin < count; begin += kBatch) {
      const size_t size = count - begin < kBatch ? count - begin : kBatch;
      if (touched_.empty()) [[likely]] table.find_many(keys + begin, size, *set, rows, witnesses);
      else find_others(table, keys + begin, size, *set, rows, witnesses);
      for (size_t i = 0; i < size; ++i) {
        views[begin + i] = {};
        if (rows[i] == index::kNoHandle) {
          derived().track_absent(table, witnesses[i], keys[begin + i]);
          if (refused_leaf()) [[unlikely]] return doom_;
          continue;
        }
        Row* const row = TableType::as_row(rows[i]);
        Status status = view_row(table, row, table.key_of(row, keys[begin + i]), *set, &views[begin + i]);
        if (!status.ok() && !status.not_found()) [[unlikely]] return status;
      }
    }
    return {};
  }

  void do_look_ahead(const TableRef& ref, const KeyRef* keys, size_t count) override {
    if (check<Purpose::kRead>(ref, {}) == nullptr) [[unlikely]] return;  // the operation itself will refuse the arguments
    auto& table = static_cast<TableType&>(*ref.base());
    for (size_t begin = 0; begin < count; begin += kBatch) {
      index::Handle rows[kBatch];
      table.find_many(keys + begin, std::min(kBatch, count - begin), table.layout().all(), rows, nullptr);
    }
  }
  Status do_version(const TableRef& ref, KeyRef key, uint64_t* version) override {
    RawView view;
    *version = 0;
    Status status = Reads::do_get(ref, key, {}, &view);
    if (status.not_found()) return {};
    if (!status.ok()) [[unlikely]] return status;
    return derived().version_of(static_cast<TableType&>(*ref.base()), static_cast<Row*>(view.header()->row), key, version);
  }
  uint64_t do_serial() const override { return transactions_ended(); }
  uint64_t do_first_serial() const override { return first_attempt(); }

  Status do_scan(const TableRef& ref, const detail::KeyRefRange& range, const ScanOptions& options, Visitor visit) override {
    const ColumnSet* set = check<Purpose::kRead>(ref, options.columns);
    if (set == nullptr) [[unlikely]] return refuse(ref, options.columns);
    if (options.skip != 0) [[unlikely]] return refuse_skip(ref);
    auto& table = static_cast<TableType&>(*ref.base());
    return table.keys().visit([&]<class Index>(Index& index) -> Status {
      if constexpr (Index::kOrdered) return scan_keys(table, index, range, options, *set, visit);
      else return refuse_scan_of_hashed(ref);
    });
  }

  template <class Index>
  Status scan_keys(TableType& table, Index& index, const detail::KeyRefRange& range, const ScanOptions& options, const ColumnSet& set,
                   Visitor visit) {
    if (options.limit == 0) return {};
    HistoryRecorder::Scan history(recorder_, table, range, options.reverse);
    const auto direction = options.reverse ? index::Direction::kBackward : index::Direction::kForward;
    typename Derived::KeyScan tracked(derived(), table);
    std::byte* image = arena_.allocate(table.layout().column_image_bytes());  // also holds the copy of a small variable-size row
    detail::ImageHeader header;
    header.generation = generation();
    RawView view(image, &header);
    const bool blocks = table.layout().group(0).block;
    uint64_t visited = 0;
    Status result;
    const uint64_t ended = transactions_ended();
    auto track = [&](const auto& witnesses, const auto& covered) { tracked.leaf(witnesses, covered); };
    auto prefetch = [&](index::Handle handle) { prefetch_row(TableType::as_row(handle), set); };
    auto found = [&](const typename Index::Key& entry, index::Handle handle) {
      if (refused_leaf()) [[unlikely]] return false;
      Row* row = TableType::as_row(handle);
      const KeyRef key = table.key_of(row, index::ref_of(entry));
      Status status = look_at_row(table, row, key, set, blocks, image, &header, &view);
      tracked.row(row, status.ok());
      if (status.not_found()) return true;
      if (!status.ok()) [[unlikely]] { result = std::move(status); return false; }
      history.found(table, key, [&] { return derived().version_read(header); });
      const bool wanted = visit(key, view);
      if (Status left = after_visit(ended); !left.ok()) [[unlikely]] { result = std::move(left); return false; }
      if (wanted && ++visited != options.limit) return true;
      history.stopped(table, key);
      tracked.stop(entry, direction);
      return false;
    };
    using IndexKey = typename Index::Key;
    const index::Range<IndexKey> keys{index::key_of<IndexKey>(range.from), {index::key_of<IndexKey>(range.to), range.to_end}};
    index::scan_leaves(index, keys, direction, options.limit, track, prefetch, found);
    if (result.ok() && refused_leaf()) [[unlikely]] result = doom_;
    if (result.ok()) history.done();
    return result;
  }

  Status do_scan_index(const IndexRef& ref, const detail::EntryRange& range, const ScanOptions& options, EntryVisitor visit) override {
    const ColumnSet* set = check<Purpose::kRead>(ref.table, options.columns);
    if (set == nullptr) [[unlikely]] return refuse(ref.table, options.columns);
    if (options.skip != 0) [[unlikely]] return refuse_skip(ref.table);
    auto& table = static_cast<TableType&>(*ref.table.base());
    const IndexSlot* const slot = table.usable_index(ref.position);
    if (slot == nullptr) [[unlikely]] return refuse_index(ref.table, ref.position);
    if (!derived().sees_index(*slot)) [[unlikely]] return refuse_later_index(ref.table, slot->definition);
    if (range.by_columns != (slot->columns != nullptr)) [[unlikely]]
      return range.by_columns ? refuse_range_of_columns(ref.table, slot->definition) : refuse_range_of_values(ref.table, slot->definition);
    return scan_secondary(table, AnyTable::slot_of(ref.position), range, options, *set, visit);
  }

  Status scan_secondary(TableType& table, uint32_t i, const detail::EntryRange& range, const ScanOptions& options,
                        const ColumnSet& wanted_set, EntryVisitor visit) {
    if (options.limit == 0) return {};
    return table.secondary(i).visit([&](auto& index) { return scan_entries(table, index, i, range, options, wanted_set, visit); });
  }

  template <class Index>
  Status scan_entries(TableType& table, Index& index, uint32_t i, const detail::EntryRange& range, const ScanOptions& options,
                      const ColumnSet& wanted_set, EntryVisitor visit) {
    // Also reads the index's columns, because an entry may be stale.
    const ColumnSet& set = table.layout().both(wanted_set, table.index_columns(i));
    HistoryRecorder::Scan history(recorder_, table, i, range, options.reverse);
    const auto direction = options.reverse ? index::Direction::kBackward : index::Direction::kForward;
    typename Derived::IndexScan tracked(derived(), table, i);
    std::byte* image = arena_.allocate(table.layout().column_image_bytes());  // also holds the copy of a small variable-size row
    detail::ImageHeader header;
    header.generation = generation();
    RawView view(image, &header);
    const bool blocks = table.layout().group(0).block;
    uint64_t visited = 0;
    Status result;
    const uint64_t ended = transactions_ended();
    auto track = [&](const auto& witnesses, const auto& covered) { tracked.leaf(witnesses, covered); };
    auto prefetch = [&](index::Handle handle) { prefetch_row(TableType::as_row(handle), set); };
    auto found = [&](const typename Index::Key& entry, index::Handle handle) {
      if (refused_leaf()) [[unlikely]] return false;
      Row* row = TableType::as_row(handle);
      const KeyRef key = table.key_of_entry(i, entry, row);
      const IndexValue value = table.value_of_entry(i, entry);
      const auto removed = [&] { return word::removed(row->cell(table.layout(), 0).load()); };
      // The row block has been unlinked, and its entry is about to be removed. If the key has a new
      // row, that row has its own entry, whose leaf is tracked.
      if (removed()) [[unlikely]] return true;
      const size_t recorded = recorder_.count();
      Status status = look_at_row(table, row, key, set, blocks, image, &header, &view);
      if (!status.ok() && !status.not_found()) [[unlikely]] { result = std::move(status); return false; }
      if (!Derived::kTracks && !status.ok() && removed()) recorder_.take_back_to(recorded);  // the key may have another block
      const bool matches = status.ok() && has_value<typename Index::Key>(table, i, key, view, value);
      tracked.entry(row, value, matches);
      if (!matches) return true;  // the row is absent, or has a value other than the entry's
      history.found(table, value.word(), key);
      const bool more = visit(key, value.word(), view);
      if (Status left = after_visit(ended); !left.ok()) [[unlikely]] { result = std::move(left); return false; }
      if (more && ++visited != options.limit) return true;
      history.stopped(table, key);
      tracked.stop(entry, direction);
      return false;
    };
    index::scan_leaves(index, range_of_entries<typename Index::Key>(arena_, range), direction, options.limit, track, prefetch, found);
    if (result.ok() && refused_leaf()) [[unlikely]] result = doom_;
    if (result.ok()) history.done();
    return result;
  }

  // Returns true if the row that the view shows has this value in secondary index i.
  template <class IndexKey>
  [[gnu::always_inline]] inline bool has_value(TableType& table, uint32_t i, KeyRef key, const RawView& view, IndexValue value) {
    if constexpr (std::is_same_v<IndexKey, ByteKey>)
      if (const ColumnIndex* const columns = table.column_index(i))
        return columns->matches({view.bytes(), view.size()}, key, *value.entry());
    return derived().index_number(table, i, key, view.bytes()) == value.number();
  }

  // Like Table::find_many(), but does not look up the rows that the group has already looked up.
  void find_others(TableType& table, const KeyRef* keys, size_t count, const ColumnSet& set, index::Handle* rows,
                   index::Witness* witnesses) {
    KeyRef others[kBatch];
    uint32_t positions[kBatch];
    size_t other_count = 0;
    for (size_t i = 0; i < count; ++i) {
      rows[i] = reinterpret_cast<index::Handle>(find_touched(table, keys[i]));
      if (rows[i] != index::kNoHandle) continue;
      positions[other_count] = static_cast<uint32_t>(i);
      others[other_count++] = keys[i];
    }
    if (other_count == 0) return;
    index::Handle found[kBatch];
    index::Witness found_witnesses[kBatch];
    table.find_many(others, other_count, set, found, found_witnesses);
    for (size_t i = 0; i < other_count; ++i) {
      rows[positions[i]] = found[i];
      witnesses[positions[i]] = found_witnesses[i];
    }
  }

  // Returns the row with this key if the group has already looked it up and another lookup would
  // still find the same block. Otherwise returns null. The search begins where the last search
  // ended and covers only a few rows, so an access that was not announced costs little more than an
  // ordinary lookup.
  [[gnu::noinline]] Row* find_touched(const TableType& table, KeyRef key) {
    size_t at = next_touched_;
    for (size_t left = std::min(touched_.size(), kTouchedAhead); left > 0; --left) {
      if (at >= touched_.size()) at = 0;
      const TouchedRow& touched = touched_[at++];
      if (touched.table != &table || !touched.is_of(key)) continue;
      next_touched_ = at;
      if (touched.row == nullptr) return nullptr;
      if (word::removed(touched.row->cell(table.layout(), 0).load()) && !ELIDER_MUTANT(kKeepTouchedRow)) [[unlikely]] return nullptr;
      return touched.row;
    }
    return nullptr;
  }

  // Returns the row with this key if it is known without an index lookup. Otherwise returns null.
  [[gnu::always_inline]] inline Row* known_row(const TableType& table, KeyRef key) {
    if (Row* const row = touched_row(table, key)) return row;
    return table.byte_keys() ? nullptr : hot_row(table, key);
  }

  // Returns false if the index lacks entries of rows that the transaction may read. A transaction
  // that reads the newest state can use every usable index.
  bool sees_index(const IndexSlot&) const { return true; }

  Hints<Sync> hints_;

 private:
  // touched_row() returns the row if the group has already looked it up. hot_row() returns the row
  // if it is in the cache of hot rows; the table must have number keys. Otherwise, both return
  // null.
  [[gnu::always_inline]] inline Row* touched_row(const TableType& table, KeyRef key) {
    if (touched_.empty()) [[likely]] return nullptr;
    return find_touched(table, key);
  }
  [[gnu::always_inline]] inline Row* hot_row(const TableType& table, KeyRef key) {
    return hot_.on() ? hot_.find(table, key.number()) : nullptr;
  }
  [[gnu::always_inline]] inline void keep_hot(const TableType& table, KeyRef key, Row* row) {
    if (hot_.on() && !table.byte_keys()) hot_.keep(table, key.number(), row);
  }

  static constexpr size_t kBatch = 32;         // the number of keys that multi_get looks up together
  static constexpr size_t kTouchedAhead = 16;  // how far the order of the touches may differ from the order of the accesses

  HotRows hot_;
  std::span<const TouchedRow> touched_;
  size_t next_touched_ = 0;  // the touched row at which the next search begins

  Derived& derived() { return static_cast<Derived&>(*this); }
};

}  // namespace elider::txn
