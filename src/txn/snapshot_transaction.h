// SnapshotTransaction: a read-only transaction that reads the newest snapshot (DBX, section 5.4) or
// a held one (engine/runtime/held_snapshot.h).
//
// It gets a snapshot number when it begins. It then reads the newest version of each row whose
// number is not above that number. It uses the same indexes as other transactions. It does not
// write or validate, and does not have conflicts. All protocols share this class. Old versions are
// kept only while a transaction reads them or the application holds their snapshot.
//
// Thread safety: none. A transaction belongs to one worker.
#pragma once

#include <algorithm>
#include <bit>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "elider/snapshot_number.h"
#include "txn/reads.h"
#include "txn/read_in_region.h"
#include "txn/refuse.h"
#include "txn/table_cursor.h"
#include "txn/zone_scan.h"

namespace elider::txn {

template <class Sync>
class SnapshotTransaction : public Reads<Sync, SnapshotTransaction<Sync>> {
  using Base = Reads<Sync, SnapshotTransaction<Sync>>;
  using typename Base::State;
  using typename Base::TableType;
  friend Base;

 public:
  SnapshotTransaction(Store& store, Worker& worker, Counters& counters) : Base(store, worker, counters) { this->read_only_ = true; }

  // Sets the snapshot number for the next begin(). The caller must hold that snapshot until the
  // transaction has ended. 0 means the newest snapshot.
  void read_at(SnapshotNumber held) { held_ = held; }

  // The caller's worker must already be inside the epoch, so that the versions that commits keep
  // for this reader are not freed.
  void begin(uint32_t attempt, uint32_t procedure) {
    this->begin_attempt(attempt, procedure);
    if (held_ != 0) store_.snapshots.begin_reading_held(worker_.id(), held_);
    snapshot_ = held_ == 0 ? store_.snapshots.begin_reading(worker_.id()) : held_;
    // Once all commits up to this number are durable, everything that the transaction reads is
    // durable.
    this->commit_number_ = ELIDER_MUTANT(kReadsHaveNoNumber) ? 0 : snapshot_;
  }
  Status commit() {
    if (!this->active()) return ended();
    if (store_.stopped()) [[unlikely]] {
      rollback(Cause::kNone);
      return store_.refusal();
    }
    this->count_commit();
    this->counters_.read_only_commits.add(1);
    end(true, Cause::kNone);
    return {};
  }
  void rollback(Cause cause) {
    if (!this->active()) return;
    this->count_abort(cause);
    end(false, cause);
  }
  Status reads_hold() const { return {}; }

 protected:
  bool sees_index(const IndexSlot& index) const { return index.usable_from <= snapshot_; }

  Status do_scan_rows(const TableRef& ref, const RowScanOptions& options, Transaction::EachScannedRow visit) override {
    const ColumnSet* set = this->template check<Purpose::kRead>(ref, options.columns);
    if (set == nullptr) [[unlikely]] return this->refuse(ref, options.columns);
    const Layout& layout = ref.base()->layout();
    if (options.threads == 0 || options.threads > kScanThreadsMax) return refuse_scan_threads(options.threads);
    if (layout.zones() == nullptr) return scan_by_cursor(static_cast<TableType&>(*ref.base()), *set, visit);
    const uint64_t ended = this->transactions_ended();
    const auto has_ended = [&] { return this->transactions_ended() != ended; };
    ZoneScan scan(layout, *layout.zones(), *set, snapshot_, visit, has_ended);
    std::vector<ZoneScan::Seen> seen;
    if (this->recorder_.on()) scan.record(&seen);
    const bool whole = scan.run(options.threads);
    if (Status left = this->after_visit(ended); !left.ok()) [[unlikely]] return left;
    if (this->recorder_.on()) record(seen, whole, *ref.base());
    return {};
  }
  Status do_insert(const TableRef& table, KeyRef, const void*, size_t) override { return refuse_write(table); }
  Status do_put(const TableRef& table, KeyRef, const void*, size_t) override { return refuse_write(table); }
  Status do_edit(const TableRef& table, KeyRef, const ColumnsRef&, void**) override { return refuse_write(table); }
  Status do_edit_view(const TableRef& table, const RawView&, const ColumnsRef&, void**) override { return refuse_write(table); }
  Status do_edited(const TableRef& table, void*) override { return refuse_write(table); }
  void do_edit_threw(const TableRef&, KeyRef) override {}  // not needed, because an edit never begins
  Status do_write(const TableRef& table, KeyRef, const ColumnsRef&, const void*) override { return refuse_write(table); }
  Status do_add(const TableRef& table, KeyRef, uint32_t, ColumnType, const void*) override { return refuse_write(table); }
  Status do_remove(const TableRef& table, KeyRef) override { return refuse_write(table); }

 private:
  // Visits the rows in the order of the key index. The worker has been inside the epoch since the
  // transaction began, and rows of its snapshot stay in the index, so the cursor returns all of
  // them (txn/table_cursor.h). An exception of visit() passes through.
  Status scan_by_cursor(TableType& table, const ColumnSet& set, Transaction::EachScannedRow visit) {
    std::optional<TableCursor> cursor;
    TableCursor::Entries entries;
    std::byte* image = nullptr;
    // Reads the next entries. *more: false at the end of the table.
    const auto advance = [&](bool* more) -> Status {
      constexpr size_t kEntries = 256;
      try {
        if (!cursor) {
          image = this->arena_.allocate(table.layout().column_image_bytes());
          cursor.emplace(table);
        }
        *more = cursor->next(kEntries, &entries);
        return {};
      } catch (const std::bad_alloc&) {
        return Status(Code::kMemoryLimit, Cause::kMemoryLimit);
      }
    };
    bool more = false;
    Status status = advance(&more);
    detail::ImageHeader header;
    header.generation = this->generation();
    RawView view(image, &header);
    const bool blocks = table.layout().group(0).block;
    const uint64_t ended = this->transactions_ended();
    for (; status.ok() && more; status = advance(&more)) {
      for (const auto& [key, handle] : entries) prefetch_row(AnyTable::as_row(handle), set);
      for (const auto& [key, handle] : entries) {
        Status read = this->look_at_row(table, AnyTable::as_row(handle), key, set, blocks, image, &header, &view);
        if (read.not_found()) continue;
        if (!read.ok()) [[unlikely]] return read;
        const bool wanted = visit(key, view, 0);
        if (Status left = this->after_visit(ended); !left.ok()) [[unlikely]] return left;
        if (!wanted) return {};
      }
    }
    return status;
  }
  Status version_of(TableType& table, Row* row, KeyRef, uint64_t* version) const {
    const Layout& layout = table.layout();
    for (uint32_t g = 0; g < layout.group_count(); ++g) {
      uint64_t number = 0;
      storage::read_cell_at(row->cell(layout, g), layout.group(g), layout.none(), g, snapshot_, nullptr, &number);
      *version += number;
    }
    return {};
  }
  // Records the reads for a history, as one scan over all keys in key order.
  void record(std::vector<ZoneScan::Seen>& seen, bool whole, detail::TableBase& table) {
    std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.key != b.key ? a.key < b.key : a.group > b.group; });
    HistoryRecorder::Scan history(this->recorder_, table, detail::KeyRefRange(KeyRange{}), false);
    for (size_t i = 0; i < seen.size(); ++i) {
      this->recorder_.read(table, seen[i].key, seen[i].group, true, seen[i].version_number);
      const bool last_of_key = i + 1 == seen.size() || seen[i + 1].key != seen[i].key;
      if (last_of_key) history.found(table, seen[i].key, [&] { return seen[i].version_number; });
    }
    if (whole) history.done();
  }

  // -- reads (txn/reads.h)

  static constexpr bool kTracks = false, kClaimsLeaves = false;
  struct NoTracking {
    template <class... Where>
    explicit NoTracking(Where&&...) {}
    void leaf(const auto&, const auto&) {}
    void row(Row*, bool) {}
    void entry(Row*, IndexValue, bool) {}
    void stop(const auto&, index::Direction) {}
  };
  using KeyScan = NoTracking;
  using IndexScan = NoTracking;

  void track_absent(TableType& table, const index::Witness&, KeyRef key) { this->recorder_.absent(table, key); }
  uint64_t version_read(const detail::ImageHeader&) const { return this->recorder_.last_version(); }
  static uint64_t index_number(TableType& table, uint32_t i, KeyRef, const std::byte* image) { return table.index_number(i, image); }
  template <class Allocate>
  bool view_block(TableType& table, Row* row, detail::ImageHeader* header, RawView* view, Status* status, Allocate&& allocate) {
    if (table.layout().group_count() != 1) return false;
    uint64_t version_number = 0;
    const storage::SizedRow found = storage::read_sized_at(row->cell(table.layout(), 0), snapshot_, &version_number, allocate);
    this->recorder_.read(table, header->key, 0, found.bytes != nullptr, version_number);
    if (found.bytes == nullptr) {
      *status = table.error(Code::kNotFound, Cause::kNone, header->key);
      return true;
    }
    header->read_index = ~0u;
    header->groups = 1;
    header->bytes = static_cast<uint32_t>(found.size);
    *view = RawView(found.bytes, header);
    return true;
  }

  [[gnu::always_inline]] inline Status read_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set, std::byte* image,
                                                detail::ImageHeader* header) {
    const Layout& layout = table.layout();
    *header = {row, key, ~0u, static_cast<uint8_t>(set.groups), 0, layout.row_bytes(), this->generation()};
    const uint32_t groups = set.read_groups;
    CellAt cells[kColumnGroupsMax];
    bool together = false;
    if constexpr (Sync::kRegions)
      together = store_.elision != nullptr &&
                 read_groups_at_in_region<typename Sync::Backend>(store_, layout, *row, set, groups, snapshot_, image, cells);
    // version_read() returns the version that was recorded last. Therefore read the groups from the
    // last to the first, so that it returns the version of the first group.
    for (uint32_t rest = groups; rest != 0;) {
      const uint32_t g = 31 - static_cast<uint32_t>(std::countl_zero(rest));
      rest &= ~(1u << g);
      uint64_t version_number = 0;
      const bool present =
          together ? finish_read_at(cells[g], set, g, snapshot_, image, &version_number)
                   : storage::read_cell_at(row->cell(layout, g), layout.group(g), set, g, snapshot_, image, &version_number);
      this->recorder_.read(table, key, g, present, version_number);
      if (!present) return table.error(Code::kNotFound, Cause::kNone, key);
    }
    return {};
  }

  static Status ended() { return Status(Code::kFinished, "the transaction has ended"); }
  Status refuse_write(const TableRef& table) const {
    if (!this->active()) return ended();
    return Status::invalid_argument("a read-only transaction cannot write" +
                                    (table ? " table '" + table.schema().name + "'" : std::string()));
  }

  void end(bool committed, Cause cause) {
    store_.snapshots.end_reading(worker_.id());
    this->end_attempt();
    this->recorder_.end({committed, true, cause, snapshot_, 0, this->attempt_, this->procedure_}, nullptr, nullptr);
  }

  using Base::store_;
  using Base::worker_;
  SnapshotNumber snapshot_ = 0;
  SnapshotNumber held_ = 0;  // the number of a held snapshot, which another reader protects; 0: the newest snapshot
};

}  // namespace elider::txn
