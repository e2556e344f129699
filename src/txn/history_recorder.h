// HistoryRecorder: records a transaction's operations for Options::history (elider/history.h). If
// that option is not set, each call costs only a branch.
//
// Thread safety: none. A recorder belongs to one transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "elider/history.h"
#include "htm/prefault.h"
#include "elider/snapshot_number.h"
#include "txn/index_changes.h"
#include "txn/store.h"
#include "txn/write_set.h"

namespace elider::txn {

using detail::KeyRef;

class HistoryRecorder {
 public:
  // `worker` is the id of the worker that runs the transactions.
  HistoryRecorder(const Store& store, uint64_t worker)
      : store_(store), worker_(worker), on_(store.options.history != nullptr) {}

  bool on() const { return on_; }
  void begin() {
    if (on()) [[unlikely]] start_clock();
  }

  // -- operations, in the order in which they are executed

  void read(const detail::TableBase& table, KeyRef key, uint32_t g, bool present, uint64_t version_number) {
    if (on()) [[unlikely]] add_read(table, key, g, present, version_number);
  }
  void absent(const detail::TableBase& table, KeyRef key) { read(table, key, 0, false, 0); }
  // Called if a key that was read as absent is still absent, but its row block has been unlinked
  // since the read. The row may have been inserted and removed again in between. This function
  // therefore clears the version that was recorded for the read. A history checker then infers from
  // the commit order which absence of the row was read.
  void absent_anew(const detail::TableBase& table, KeyRef key) {
    if (on()) [[unlikely]] forget_absence(table, key);
  }
  uint64_t last_version() const { return operations_.back().version; }

  // Reserves memory for a list of this many operations.
  void make_room(size_t operations) {
    if (on()) [[unlikely]] htm::reserve_prefaulted(operations_, operations);
  }
  // Returns the number of recorded operations.
  size_t count() const { return operations_.size(); }
  // Drops all operations after the first `count`.
  void take_back_to(size_t count) {
    if (on()) [[unlikely]] operations_.resize(count);
  }

  // A scan is recorded as one operation; the reads of its rows are recorded separately.
  class Scan {
   public:
    // A scan by key.
    Scan(HistoryRecorder& recorder, const detail::TableBase& table, const detail::KeyRefRange& keys, bool reverse)
        : Scan(recorder, HistoryOperation::Kind::kScan, table, 0, reverse) {
      if (on_) [[unlikely]] take_range(table, keys);
    }
    // A scan through a secondary index. Histories do not contain the scans and values of indexes by
    // columns, only the reads of the rows.
    Scan(HistoryRecorder& recorder, const detail::TableBase& table, uint32_t index, const detail::EntryRange& entries, bool reverse)
        : Scan(recorder, HistoryOperation::Kind::kIndexScan, table, index, reverse, !entries.by_columns) {
      if (on_) [[unlikely]] take_range(table, entries);
    }

    // Records that the scan returned the row of `key`. version() returns the version that was read.
    template <class Version>
    void found(const detail::TableBase& table, KeyRef key, Version&& version) {
      if (on_) [[unlikely]] add_row(table, key, version());
    }
    // Records that the index scan returned the row of `key`, which has this value.
    void found(const detail::TableBase& table, uint64_t value, KeyRef key) {
      if (on_) [[unlikely]] add_entry(table, value, key);
    }
    // Records that the scan stopped at the row that it returned last, which has this key.
    void stopped(const detail::TableBase& table, KeyRef key) {
      if (!on_) [[likely]] return;
      if (operation_.kind == HistoryOperation::Kind::kIndexScan) operation_.stopped = true;
      else stop_at(table, key);
    }
    void done() {
      if (on_) [[unlikely]] recorder_.operations_.push_back(std::move(operation_));
    }

   private:
    Scan(HistoryRecorder& recorder, HistoryOperation::Kind kind, const detail::TableBase& table, uint32_t index, bool reverse,
         bool recorded = true)
        : recorder_(recorder), on_(recorder.on() && recorded) {
      if (!on_) [[likely]] return;
      operation_.kind = kind;
      operation_.table = table.id();
      operation_.index = index;
      operation_.reverse = reverse;
    }
    void take_range(const detail::TableBase& table, const detail::KeyRefRange& keys);
    void take_range(const detail::TableBase& table, const detail::EntryRange& entries);
    void add_row(const detail::TableBase& table, KeyRef key, uint64_t version);
    void add_entry(const detail::TableBase& table, uint64_t value, KeyRef key);
    void stop_at(const detail::TableBase& table, KeyRef key);
    HistoryRecorder& recorder_;
    const bool on_;
    HistoryOperation operation_;
  };

  // -- calls that consist of several commits (txn/chopping)

  // Records the writes of one of the call's commits. They will be reported together with the rest
  // of the call.
  void keep_writes(WriteSet& writes, const IndexChanges& changes) {
    if (on()) [[unlikely]] keep(writes, changes);
  }
  // Moves the operations of another transaction of the same call to this recorder. The call's begin
  // is the earliest begin of these transactions.
  void take_from(HistoryRecorder& other) {
    if (on()) [[unlikely]] join(other);
  }

  // -- the end

  struct End {
    bool committed = false;
    bool read_only = false;
    Cause cause = Cause::kNone;
    SnapshotNumber snapshot = 0;  // the snapshot number of the commit
    uint64_t order = 0;     // the position among the commits with this number
    uint32_t attempt = 1;
    uint32_t procedure = 0;
  };
  // If `later` is true, the call's result will be returned some time after the commit. The record
  // is then kept until answered(), which sets the call's end time and reports the record.
  void answers_later(bool later) { answers_later_ = later; }
  void answered() {
    if (on()) [[unlikely]] tell_answered();
  }
  // Reports an ended transaction to the history's sink. If this fails, the transaction's outcome
  // remains the same.
  void end(const End& end, WriteSet* writes, const IndexChanges* changes) {
    if (on()) [[unlikely]] tell(end, writes, changes);
  }

 private:
  void start_clock();
  void add_read(const detail::TableBase& table, KeyRef key, uint32_t g, bool present, uint64_t version_number);
  void forget_absence(const detail::TableBase& table, KeyRef key);
  void tell(const End& end, WriteSet* writes, const IndexChanges* changes);
  void tell_answered();
  void add_writes(WriteSet& writes, const IndexChanges& changes);
  void keep(WriteSet& writes, const IndexChanges& changes);
  void join(HistoryRecorder& other);

  const Store& store_;
  const uint64_t worker_;
  const bool on_;
  uint64_t begin_ns_ = 0;
  std::vector<HistoryOperation> operations_;
  bool lost_ = false;  // some operations were not recorded, because memory was exhausted
  bool answers_later_ = false;
  std::optional<HistoryTransaction> unanswered_;
};

}  // namespace elider::txn
