// HistoryRecorder: records the operations of a transaction for the history (elider/history.h). If
// no history is recorded, each call costs only a branch.
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
  // worker: the worker that runs the transactions.
  HistoryRecorder(const Store& store, uint64_t worker)
      : store_(store), worker_(worker), on_(store.options.history != nullptr) {}

  bool on() const { return on_; }
  void begin() {
    if (on()) [[unlikely]] start_clock();
  }

  // -- operations, in the order in which they are executed

  void read(const detail::TableBase& table, KeyRef key, uint32_t g, bool present, uint64_t sequence) {
    if (on()) [[unlikely]] add_read(table, key, g, present, sequence);
  }
  void absent(const detail::TableBase& table, KeyRef key) { read(table, key, 0, false, 0); }
  // Called for an absent key whose row block has been unlinked. The key is still absent, but a row
  // may have existed in between. Clears the version in the earlier record of the read. The position
  // in the commit order then shows which absence the transaction saw.
  void absent_anew(const detail::TableBase& table, KeyRef key) {
    if (on()) [[unlikely]] forget_absence(table, key);
  }
  uint64_t last_version() const { return operations_.back().version; }

  // After this, recording the given number of operations does not allocate memory for the list.
  void make_room(size_t operations) {
    if (on()) [[unlikely]] htm::reserve_prefaulted(operations_, operations);
  }
  // Returns the number of operations. take_back_to() removes all operations after the first
  // `count`.
  size_t count() const { return operations_.size(); }
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
    // A scan through a secondary index.
    Scan(HistoryRecorder& recorder, const detail::TableBase& table, uint32_t index, const detail::EntryRange& entries, bool reverse)
        : Scan(recorder, HistoryOperation::Kind::kIndexScan, table, index, reverse) {
      if (on_) [[unlikely]] take_range(table, entries);
    }

    // The scan found a row with this key, of version version().
    template <class Version>
    void found(const detail::TableBase& table, KeyRef key, Version&& version) {
      if (on_) [[unlikely]] add_row(table, key, version());
    }
    // The scan found an entry with this value, for the row of this key.
    void found(const detail::TableBase& table, uint64_t value, KeyRef key) {
      if (on_) [[unlikely]] add_entry(table, value, key);
    }
    // The scan stopped at the row that was found last, which has this key.
    void stopped(const detail::TableBase& table, KeyRef key) {
      if (!on_) [[likely]] return;
      if (operation_.kind == HistoryOperation::Kind::kIndexScan) operation_.stopped = true;
      else stop_at(table, key);
    }
    void done() {
      if (on_) [[unlikely]] recorder_.operations_.push_back(std::move(operation_));
    }

   private:
    Scan(HistoryRecorder& recorder, HistoryOperation::Kind kind, const detail::TableBase& table, uint32_t index, bool reverse)
        : recorder_(recorder), on_(recorder.on()) {
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

  // Records the writes of a commit, which will be reported together with the rest of the call.
  void keep_writes(WriteSet& writes, const IndexChanges& changes) {
    if (on()) [[unlikely]] keep(writes, changes);
  }
  // Adds the operations of another transaction of the same call. The call began when the first of
  // these transactions began.
  void take_from(HistoryRecorder& other) {
    if (on()) [[unlikely]] join(other);
  }

  // -- the end

  struct End {
    bool committed = false;
    bool read_only = false;
    Cause cause = Cause::kNone;
    SnapshotNumber snapshot = 0;  // the number of the commit
    uint64_t order = 0;     // the position among the commits with this number
    uint32_t attempt = 1;
    uint32_t procedure = 0;
  };
  // Sets whether the call answers later than it commits. If so, its record is kept until
  // answered(), which sets the end of the call.
  void answers_later(bool later) { answers_later_ = later; }
  void answered() {
    if (on()) [[unlikely]] tell_answered();
  }
  // Reports the transaction, which has ended. A failure here does not change its outcome.
  void end(const End& end, WriteSet* writes, const IndexChanges* changes) {
    if (on()) [[unlikely]] tell(end, writes, changes);
  }

 private:
  void start_clock();
  void add_read(const detail::TableBase& table, KeyRef key, uint32_t g, bool present, uint64_t sequence);
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
