// SnapshotTransaction: a read-only transaction on the newest snapshot (DBX, section 5.4).
//
// It takes a number at its begin and reads of every row the newest version at or below it, through the
// same indexes. It validates nothing, never aborts and writes nothing. All protocols share it.
// Not for reading an older state: the versions for that are kept only while somebody reads them.
//
// Thread safety: none; it belongs to one worker.
#pragma once

#include <atomic>
#include <bit>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "elider/transaction.h"
#include "txn/arena.h"
#include "txn/counters.h"
#include "txn/hints.h"
#include "txn/index_scan_record.h"
#include "txn/record_region.h"
#include "txn/refuse.h"
#include "txn/scan_leaves.h"
#include "txn/store.h"
#include "txn/table.h"

namespace elider::txn {

template <class Sync>
class SnapshotTransaction final : public Transaction {
 public:
  SnapshotTransaction(Store& store, Worker& worker, Counters& counters) : store_(store), worker_(worker), counters_(counters) {
    read_only_ = true;
  }

  // The caller's worker has entered before, so that every version a commit keeps for this reader stays.
  void begin(uint32_t attempt, uint32_t procedure) {
    attempt_ = attempt;
    procedure_ = procedure;
    hints_.begin();
    if (recording()) [[unlikely]] begin_ns_ = now_ns();
    snapshot_ = store_.snapshots.begin_reading(worker_.id());
    active_ = true;
  }
  // Once it is durable, so is all that was read.
  uint64_t commit_number() const { return ELIDER_MUTANT(kReadsHaveNoNumber) ? 0 : snapshot_; }
  Status commit() {
    if (!active_) return Status(Code::kFinished, "the transaction has ended");
    counters_.procedures[procedure_].commits.add(1);
    counters_.read_only_commits.add(1);
    end(true, Cause::kNone);
    return {};
  }
  void rollback(Cause cause) {
    if (!active_) return;
    counters_.procedures[procedure_].aborts[static_cast<size_t>(cause)].add(1);
    end(false, cause);
  }
  Status reads_hold() const { return {}; }
  Status doom() const { return {}; }
  bool active() const { return active_; }

 protected:
  Status do_get(const TableRef& ref, Key key, const ColumnsRef& columns, RawView* view) override {
    const ColumnSet* set = check(ref, columns);
    if (set == nullptr) [[unlikely]] return refuse(ref, columns);
    auto& table = static_cast<TableType&>(*ref.base());
    index::Witness unneeded;
    Row* row = table.find(key, hints_.primary(table), unneeded, set->lines);
    if (row == nullptr) {
      record(table, key, false, 0);
      return table.error(Code::kNotFound, Cause::kNone, key);
    }
    return view_row(table, row, key, *set, view) ? Status() : table.error(Code::kNotFound, Cause::kNone, key);
  }

  Status do_multi_get(const TableRef& ref, const Key* keys, size_t count, const ColumnsRef& columns, RawView* views) override {
    const ColumnSet* set = check(ref, columns);
    if (set == nullptr) [[unlikely]] return refuse(ref, columns);
    auto& table = static_cast<TableType&>(*ref.base());
    constexpr size_t kBatch = 32;
    index::Handle rows[kBatch];
    index::Witness unneeded[kBatch];
    for (size_t begin = 0; begin < count; begin += kBatch) {
      const size_t size = count - begin < kBatch ? count - begin : kBatch;
      table.find_many(keys + begin, size, *set, rows, unneeded);
      for (size_t i = 0; i < size; ++i) {
        views[begin + i] = {};
        if (rows[i] == index::kNoHandle) record(table, keys[begin + i], false, 0);
        else view_row(table, TableType::as_row(rows[i]), keys[begin + i], *set, &views[begin + i]);
      }
    }
    return {};
  }

  Status do_scan(const TableRef& ref, KeyRange range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) override {
    const ColumnSet* set = check(ref, options.columns);
    if (set == nullptr) [[unlikely]] return refuse(ref, options.columns);
    auto& table = static_cast<TableType&>(*ref.base());
    if (!table.ordered()) return refuse_scan_of_hashed(ref);
    if (options.limit == 0) return {};
    HistoryOperation scan;
    if (recording()) [[unlikely]] {
      scan.kind = HistoryOperation::Kind::kScan;
      scan.table = table.id();
      scan.range = range;
      scan.reverse = options.reverse;
    }
    std::byte* image = arena_.allocate(table.layout().row_bytes());
    uint64_t visited = 0;
    const uint64_t ended = ended_.load(std::memory_order_relaxed);
    Status result;
    scan_leaves(table.tree(), range.first, range.last, options.reverse, options.limit, kNoTracking, Prefetch{set},
                [&](Key key, index::Handle handle) {
                  detail::ImageHeader header;
                  if (!read_row(table, TableType::as_row(handle), key, *set, image, &header)) return true;
                  if (recording()) [[unlikely]]
                    scan.rows.emplace_back(key, operations_.back().version);
                  const bool wanted = visit(key, RawView(image, &header));
                  if (ended_.load(std::memory_order_relaxed) != ended) [[unlikely]] {
                    result = ended_by_visitor();
                    return false;
                  }
                  if (wanted && ++visited != options.limit) return true;
                  (options.reverse ? scan.range.first : scan.range.last) = key;
                  return false;
                });
    if (recording() && result.ok()) [[unlikely]] operations_.push_back(std::move(scan));
    return result;
  }

  Status do_scan_index(const IndexRef& ref, KeyRange range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) override {
    const ColumnSet* wanted = check(ref.table, options.columns);
    if (wanted == nullptr) [[unlikely]] return refuse(ref.table, options.columns);
    auto& table = static_cast<TableType&>(*ref.table.base());
    const uint32_t i = ref.position;
    if (i >= table.secondary_count()) return refuse_index(ref.table, i);
    if (options.limit == 0) return {};
    const ColumnSet& set = table.layout().with_index(*wanted, i);
    std::byte* image = arena_.allocate(table.layout().row_bytes());
    uint64_t visited = 0;
    const uint64_t ended = ended_.load(std::memory_order_relaxed);
    Status result;
    IndexScanRecord scan(recording() ? &operations_ : nullptr, table.id(), i, range, options.reverse);
    scan_leaves(table.secondary(i), index::SecondaryKey{range.first, 0}, index::SecondaryKey{range.last, kKeyMax}, options.reverse,
                options.limit, kNoTracking, Prefetch{&set}, [&](const index::SecondaryKey& entry, index::Handle handle) {
                  detail::ImageHeader header;
                  Row* row = TableType::as_row(handle);
                  const size_t recorded = operations_.size();
                  if (!read_row(table, row, entry.primary, set, image, &header)) {
                    // A block that has left its table says nothing of the key, which may have another.
                    if (word::removed(row->cell(table.layout(), 0).load())) operations_.resize(recorded);
                    return true;
                  }
                  if (table.index_value(i, image) != entry.value) return true;  // it has that value in another snapshot
                  scan.found(entry.value, entry.primary);
                  const bool more = visit(entry.primary, RawView(image, &header));
                  if (ended_.load(std::memory_order_relaxed) != ended) [[unlikely]] {
                    result = ended_by_visitor();
                    return false;
                  }
                  if (more && ++visited != options.limit) return true;
                  scan.stopped();
                  return false;
                });
    if (result.ok()) scan.done();
    return result;
  }

  Status do_insert(const TableRef& table, Key, const void*) override { return refuse_write(table); }
  Status do_put(const TableRef& table, Key, const void*) override { return refuse_write(table); }
  Status do_edit(const TableRef& table, Key, const ColumnsRef&, void**) override { return refuse_write(table); }
  Status do_edit_view(const TableRef& table, const RawView&, const ColumnsRef&, void**) override { return refuse_write(table); }
  Status do_edited(const TableRef& table, void*) override { return refuse_write(table); }
  void do_edit_threw(const TableRef&, Key) override {}  // no edit ever begins
  Status do_write(const TableRef& table, Key, const ColumnsRef&, const void*) override { return refuse_write(table); }
  Status do_add(const TableRef& table, Key, uint32_t, ColumnType, const void*) override { return refuse_write(table); }
  Status do_remove(const TableRef& table, Key) override { return refuse_write(table); }

 private:
  using TableType = Table<Sync>;
  static constexpr auto kNoTracking = [](const index::Witness&, const auto&, const auto&) {};
  struct Prefetch {
    const ColumnSet* set = nullptr;
    void operator()(index::Handle handle) const {
      for (uint32_t line : set->lines) __builtin_prefetch(reinterpret_cast<const std::byte*>(handle) + line);
    }
  };

  // Null: refuse() says why.
  const ColumnSet* check(const TableRef& table, const ColumnsRef& columns) const {
    return active_ ? accept_arguments<Access::kRead>(store_.id, table, columns) : nullptr;
  }
  Status refuse(const TableRef& table, const ColumnsRef& columns) const {
    if (!active_) return Status(Code::kFinished, "the transaction has ended");
    return refuse_arguments(store_.id, table, columns);
  }
  static Status ended_by_visitor() { return Status(Code::kFinished, "a scan's visitor has ended the transaction"); }
  Status refuse_write(const TableRef& table) const {
    if (!active_) return Status(Code::kFinished, "the transaction has ended");
    return Status::invalid_argument("a read-only transaction cannot write" +
                                    (table ? " table '" + table.schema().name + "'" : std::string()));
  }

  bool recording() const { return store_.options.history != nullptr; }
  void record(TableType& table, Key key, bool present, uint64_t sequence, uint32_t g = 0) {
    if (!recording()) [[likely]] return;
    HistoryOperation operation;
    operation.kind = present ? HistoryOperation::Kind::kRead : HistoryOperation::Kind::kReadAbsent;
    operation.table = table.id();
    operation.group = g;
    operation.key = key;
    operation.version = sequence;
    operations_.push_back(std::move(operation));
  }

  // False: the row was absent at the snapshot.
  bool read_row(TableType& table, Row* row, Key key, const ColumnSet& set, std::byte* image, detail::ImageHeader* header) {
    const Layout& layout = table.layout();
    *header = {row, key, ~0u, set.groups};
    const uint32_t groups = set.groups != 0 ? set.groups : 1;
    CellAt cells[kCommitGroupsMax];
    bool together = false;
    if constexpr (Sync::kRegions)
      together = store_.spinlock == nullptr &&
                 read_groups_at_in_region<typename Sync::Backend>(store_, layout, *row, set, groups, snapshot_, image, cells);
    // From the last group to the first, so that a recorded scan finds group 0's version last.
    for (uint32_t rest = groups; rest != 0;) {
      const uint32_t g = 31 - static_cast<uint32_t>(std::countl_zero(rest));
      rest &= ~(1u << g);
      uint64_t sequence = 0;
      const bool present =
          together ? finish_read_at(cells[g], set, g, snapshot_, image, &sequence)
                   : storage::read_cell_at(row->cell(layout, g), layout.group(g), set, g, snapshot_, image, &sequence);
      record(table, key, present, sequence, g);
      if (!present) return false;
    }
    return true;
  }

  bool view_row(TableType& table, Row* row, Key key, const ColumnSet& set, RawView* view) {
    constexpr size_t kHeaderBytes = (sizeof(detail::ImageHeader) + 15) / 16 * 16;
    std::byte* memory = arena_.allocate(kHeaderBytes + table.layout().row_bytes());
    auto* header = new (memory) detail::ImageHeader;
    if (!read_row(table, row, key, set, memory + kHeaderBytes, header)) return false;
    *view = RawView(memory + kHeaderBytes, header);
    return true;
  }

  void end(bool committed, Cause cause) {
    store_.snapshots.end_reading(worker_.id());
    active_ = false;
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    arena_.clear();
    if (recording()) [[unlikely]] record_end(committed, cause);
  }
  void record_end(bool committed, Cause cause) {
    HistoryTransaction history;
    history.session = worker_.id();
    history.begin_ns = begin_ns_;
    history.end_ns = now_ns();
    history.committed = committed;
    history.read_only = true;
    history.cause = cause;
    history.snapshot = snapshot_;
    history.attempt = attempt_;
    history.operations = std::move(operations_);
    operations_.clear();
    try {  // the transaction has ended: nothing that fails here may say otherwise
      history.procedure = store_.procedures.name(procedure_);
      store_.options.history->on_transaction(history);
    } catch (...) {
    }
  }

  Store& store_;
  Worker& worker_;
  Counters& counters_;
  bool active_ = false;
  std::atomic<uint64_t> ended_{0};  // one more with each transaction that ends here; as OccTransaction's
  uint32_t procedure_ = 0;
  uint64_t snapshot_ = 0;
  uint64_t begin_ns_ = 0;
  Arena arena_{Sync::kRegions};
  Hints<Sync> hints_;
  std::vector<HistoryOperation> operations_;             // while recording
};

}  // namespace elider::txn
