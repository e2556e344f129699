// OccTransaction: DBX's transactions: optimistic execution, validation at commit (sections 5.2, 5.3).
//
// Execution copies what it reads with the commit word it had (Algorithm 2), buffers what it writes,
// and puts the row blocks of inserts, still absent, into the indexes. The commit (Algorithm 1, with
// word locks where DBX has one hardware transaction) locks what it writes, reads the snapshot number,
// looks at the readers (storage/snapshots.h), validates every word and every witness, and installs.
//
// Why it is serializable: every committed transaction appears to run at the instant between its last
// lock and its validation. What it read is unchanged and unlocked at its validation, so nobody else's
// instant lies between that read and this one; what it writes is locked over it.
// No deadlock: who waits for a lock holds none of a greater address (lock_writes), and a lock that stays taken
// for long ends the attempt.
//
// Deviations from the paper: an absent key is tracked by the version of its leaf or bucket instead of
// by a row inserted for the purpose; additions (DBX-TC) are writes that expect no particular word.
//
// Thread safety: none; it belongs to one worker.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <bitset>
#include <functional>
#include <string>
#include <vector>

#include "base/cache_line.h"
#include "base/clock.h"
#include "elider/transaction.h"
#include "htm/prefault.h"
#include "storage/number.h"
#include "txn/arena.h"
#include "txn/counters.h"
#include "txn/hints.h"
#include "txn/index_scan_record.h"
#include "txn/occ/sets.h"
#include "txn/pointer_map.h"
#include "txn/reclaim.h"
#include "txn/refuse.h"
#include "txn/scan_leaves.h"
#include "txn/store.h"
#include "txn/table.h"

namespace elider::txn {

class EntryWriter;

template <class Sync>
class OccTransaction final : public Transaction {
 public:
  OccTransaction(Store& store, Worker& worker, Counters& counters) : store_(store), worker_(worker), counters_(counters) {}

  // The caller's worker has entered, and leaves after commit() or rollback().
  void begin(uint32_t attempt, uint32_t procedure);
  // Ok: committed. Otherwise nothing of it took effect. Ended in either case.
  Status commit();
  void rollback(Cause cause);
  // Ok: what was read is still as it was read, and what a procedure made of it can be trusted. Else the
  // conflict that a commit would meet.
  Status reads_hold();
  // Ok, or why the transaction can only be rolled back.
  const Status& doom() const { return doom_; }
  // Of a commit, where there is a log: once it is durable, so is what was read and written.
  uint64_t commit_number() const { return commit_number_; }
  bool active() const { return state_ != State::kFinished; }

 protected:
  Status do_get(const TableRef& table, Key key, const ColumnsRef& columns, RawView* view) override;
  Status do_multi_get(const TableRef& table, const Key* keys, size_t count, const ColumnsRef& columns, RawView* views) override;
  Status do_scan(const TableRef& table, KeyRange range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) override;
  Status do_scan_index(const IndexRef& index, KeyRange range, const ScanOptions& options, FunctionRef<bool(Key, RawView)> visit) override;
  Status do_insert(const TableRef& table, Key key, const void* row) override;
  Status do_put(const TableRef& table, Key key, const void* row) override;
  Status do_edit(const TableRef& table, Key key, const ColumnsRef& columns, void** image) override;
  Status do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) override;
  Status do_edited(const TableRef& table, void* image) override;
  void do_edit_threw(const TableRef& table, Key key) override;
  Status do_write(const TableRef& table, Key key, const ColumnsRef& columns, const void* row) override;
  Status do_add(const TableRef& table, Key key, uint32_t offset, ColumnType type, const void* delta) override;
  Status do_remove(const TableRef& table, Key key) override;

 private:
  using TableType = Table<Sync>;
  // kEditing: between do_edit and do_edited of columns that a secondary index reads.
  enum class State : uint8_t { kFinished, kActive, kEditing, kDoomed };

  static constexpr unsigned kWaitsMax = 4096;  // for a lock: milliseconds, should its holder have lost its processor
  static constexpr uint32_t kTablesWithBit = 63;
  static constexpr uint64_t kOtherTables = uint64_t{1} << kTablesWithBit;

  // -- occ_tracking.h: what all operations need ---------------------------------------------------------
  // The columns asked for; null: refuse() says why.
  template <Access kAccess>
  const ColumnSet* check(const TableRef& table, const ColumnsRef& columns) const;
  Status refuse(const TableRef& table, const ColumnsRef& columns) const;
  Status doom(detail::TableBase& table, Code code, Cause cause, Key key);
  // operation(), a write; if it throws, it is half done: then only a rollback is left.
  template <class Operation>
  Status guarded(detail::TableBase& table, Key key, Operation&& operation);
  void track_node(TableType& table, const index::Witness& witness, Key first, Key last);
  void add_node(const NodeEntry& node, bool is_new);
  uint32_t track_scanned(TableType& table, const index::Witness& witness, Key first, Key last);
  uint32_t track_index_range(TableType& table, uint32_t i, const index::Witness& witness, const index::SecondaryKey& from,
                             const index::SecondaryKey& to);
  void track_own_insert(const index::InsertResult& result);
  void track_absent(TableType& table, const index::Witness& witness, Key key);
  void end();
  void forget_nodes();
  void forget_writes();

  // -- occ_read.h ---------------------------------------------------------------------------------------
  // The row of the key, present or absent, or null (then the absence is tracked).
  Row* find(TableType& table, Key key, const ColumnSet& set);
  // Copies columns of a row to the image, own writes included, and tracks it. kNotFound if absent.
  Status read_row(TableType& table, Row* row, Key key, const ColumnSet& set, std::byte* image, detail::ImageHeader* header);
  Status read_groups(TableType& table, Row* row, Key key, const ColumnSet& set, uint32_t groups, std::byte* image,
                     detail::ImageHeader* header);
  Status read_group(TableType& table, Row* row, Key key, const ColumnSet& set, uint32_t g, std::byte* image);
  Status note_read(TableType& table, Cell& cell, Key key, uint32_t g, uint64_t w);
  Status read_removed(TableType& table, Cell& cell, Key key, uint64_t w);
  Status read_own(TableType& table, WriteEntry& write, const ColumnSet& set, std::byte* image);
  bool view_block(TableType& table, Row* row, detail::ImageHeader* header, RawView* view, Status* status);
  Status view_row(TableType& table, Row* row, Key key, const ColumnSet& set, RawView* view);

  // -- occ_scan.h ---------------------------------------------------------------------------------------
  Status after_visit(uint64_t ended) const;
  Status scan_secondary(TableType& table, uint32_t i, KeyRange range, const ScanOptions& options, const ColumnSet& set,
                        FunctionRef<bool(Key, RawView)> visit);

  // -- occ_write.h --------------------------------------------------------------------------------------
  WriteEntry* write_of(Row* row, const Layout& layout, uint32_t g);
  std::byte* image_of(TableType& table, Row* row);
  WriteEntry& add_write(TableType& table, Row* row, Key key, uint32_t g, WriteKind kind, const ColumnSet& set, uint64_t expected,
                        std::byte* image);
  Status edit_row(TableType& table, Row* row, Key key, const ColumnSet& set, const detail::ImageHeader* read, void** image);
  Status edit_group(TableType& table, Row* row, Key key, const ColumnSet& set, uint32_t g, uint64_t w,
                    uint64_t expected, std::byte* image);
  Status widen(TableType& table, WriteEntry& write, const ColumnSet& set);
  static void forget_additions(WriteEntry& write, const ColumnSet& set);
  void overwrite(TableType& table, WriteEntry& write, const ColumnSet& set);
  bool has_read(TableType& table, const detail::ImageHeader& view);
  Status write_row(const TableRef& ref, TableType& table, Key key, const ColumnSet& set, const std::byte* source);
  Status add_to_row(TableType& table, Key key, const storage::Number& number, const void* delta);
  Status insert_row(TableType& table, Key key, const void* row, bool replace);
  Row* new_row(TableType& table);
  Status replace_row(TableType& table, Row* row, Key key, const void* source, bool replace);
  void make_present(TableType& table, Row* row, Key key, const uint64_t* words, const void* source, bool created);
  Status remove_row(TableType& table, Key key);
  Status present_word(TableType& table, Row* row, Key key, uint32_t g, uint64_t* w);

  // -- occ_index.h: secondary indexes ---------------------------------------------------------------------
  uint64_t index_value(TableType& table, uint32_t i, Key key, const std::byte* image);
  uint64_t indexes_reading(TableType& table, uint64_t columns) const;
  Status old_index_values(TableType& table, Row* row, Key key, uint64_t affected, uint64_t* values);
  Status former_index_values(TableType& table, Row* row, Key key, uint64_t* values, bool* had_row);
  Status index_insert(TableType& table, Row* row, Key key, const std::byte* image);
  Status index_update(TableType& table, Row* row, Key key, const uint64_t* old_values, uint64_t affected);
  Status index_add(TableType& table, Row* row, Key key, uint32_t i, const uint64_t* old_value, uint64_t new_value);
  Status index_check_unique(TableType& table, Row* row, Key key, uint32_t i, uint64_t value);
  void retire_old_entries();
  void index_finish(bool committed);

  // body(), under Protocol::kSpinlock with the spinlock held.
  template <class Body>
  [[gnu::always_inline]] auto alone(Body&& body) {
    if constexpr (sync::kElides<Sync>)
      if (store_.spinlock != nullptr) {
        const std::lock_guard held(**store_.spinlock);
        return body();
      }
    return body();
  }

  // -- occ_commit.h ---------------------------------------------------------------------------------------
  Status commit_reads();
  Status commit_by_locks(bool old_entries_retired = false);
  bool prepare_blocks();
  template <bool kTake>
  bool await_word(WriteEntry& write, unsigned waits_max);
  size_t lock_writes();
  size_t lock_each(unsigned waits_max);
  void unlock_writes(size_t count);
  static bool needs_version(const WriteEntry& write, uint64_t newest_reader);
  bool prepare_versions(uint64_t newest_reader);
  bool validate_reads();
  // kHeld: of all rows that it writes, during a commit; what else is locked is somebody else's.
  enum class Locks : uint8_t { kNone, kHeld };
  template <bool kHeld = true>
  bool reads_stand();
  bool repair_after_failure(Locks locks);
  bool may_be_repaired() const { return cause_ == Cause::kPhantom || cause_ == Cause::kRowRemoved; }
  void count_row(const WriteEntry& write);
  void install(WriteEntry& write, uint64_t n);
  void keep_version(WriteEntry& write);
  void write_payload(WriteEntry& write);
  Status finish(uint64_t n, uint64_t order, uint64_t newest_reader);
  bool needed_by_reader(const detail::TableBase& table, uint64_t n) const;
  void retire_read_row(TableType& table, Row* row, Key key, uint64_t absent_word, uint64_t n);
  void unlink_late();
  Status give_up(size_t locked);
  void retire_rows(uint64_t n, bool read);
  void give_up_rows();
  void count_table_commits();
  bool failed(Cause cause, detail::TableBase* table, Key key);
  void count_abort(Cause cause);

  // -- occ_repair.h: what changed beside what was read ------------------------------------------------------
  enum class Presence : uint8_t { kAbsent, kPresent, kUnknown };
  bool own_presence(TableType& table, Row* row, Presence* presence);
  bool writes_row(TableType& table, Row* row);
  Presence committed_match(TableType& table, Row* row, uint32_t i, uint64_t value, Key* track);
  bool repair();
  bool repair_node(size_t position);
  bool repair_index_node(size_t position);
  bool look_again_at_range(TableType& table, uint32_t range);
  index::Witness find_again(TableType& table, Key key, uint32_t* there);
  bool look_again(TableType& table, Row* row, Key key, uint32_t* there);

  // -- occ_region.h: hardware transactions, under a policy that has them --------------------------------------
  enum class Reach : uint8_t { kNone, kLockBits, kWhole };
  // What a commit's region did, and what it read.
  struct AtOnce {
    enum class End : uint8_t {
      kUnsuited,  // nothing; the commit takes its locks
      kMoved,     // nothing: a word is not what it was before the region
      kFailed,    // nothing: validation failed, and the cause is noted
      kLocked,    // it set all lock bits
      kWritten,   // everything
    };
    End end = End::kUnsuited;
    uint64_t n = 0;
    uint64_t order = 0;
    uint64_t newest_reader = 0;
  };
  uint64_t copy_cell(const Cell& cell, const storage::Group& group, const ColumnSet& set, uint32_t g, std::byte* image);
  // Of several commit groups of a row, which this transaction has not written, those that one region has read: all or none.
  struct ReadTogether {
    uint32_t groups = 0;
    uint64_t words[kCommitGroupsMax] = {};
    bool has(uint32_t g) const { return (groups >> g & 1) != 0; }
  };
  ReadTogether read_together(TableType& table, Row* row, const ColumnSet& set, uint32_t groups, std::byte* image);
  Reach reach_of_region() const;
  AtOnce commit_at_once(Reach reach);
  bool settles(const AtOnce& done) const;
  bool validate_in_region();
  Status commit_in_region();
  // -- occ_log.h ------------------------------------------------------------------------------------------
  Status log_reserve();
  void log_write(EntryWriter& to, const WriteEntry& write);
  void log_publish(uint64_t n);
  Status refuse_commit(const Status& status);

  // -- occ_history.h --------------------------------------------------------------------------------------
  bool recording() const { return store_.options.history != nullptr; }
  class ScanHistory;
  void record_read(detail::TableBase& table, Key key, uint32_t g, bool present, uint64_t sequence);
  void record_absence_anew(const detail::TableBase& table, Key key);
  void tell_history(bool committed, Cause cause, uint64_t snapshot, uint64_t order);
  void tell_index_values(HistoryTransaction* history);
  void record_end(bool committed, Cause cause, uint64_t snapshot, uint64_t order);

  // Constant after construction.
  Store& store_;
  Worker& worker_;
  Counters& counters_;

  State state_ = State::kFinished;
  uint32_t procedure_ = 0;
  // One more with each transaction that ends here. Atomic, for a visitor that ends the transaction gives its session back,
  // perhaps to another thread; relaxed: it orders nothing.
  std::atomic<uint64_t> ended_{0};
  uint64_t commit_number_ = 0;
  std::byte* log_place_ = nullptr;  // during the commit: room for its record
  Status doom_;
  Cause cause_ = Cause::kNone;              // of a failed validation, and where
  detail::TableBase* cause_table_ = nullptr;
  Key cause_key_ = 0;

  Arena arena_{Sync::kRegions};
  std::vector<ReadEntry> reads_;
  std::vector<NodeEntry> nodes_;
  std::vector<IndexRange> index_ranges_;    // of the nodes of secondary indexes
  Locks repairing_under_ = Locks::kNone;
  bool node_repeated_ = false;              // some leaf has several entries
  PointerMap node_positions_;               // by version word; kept once there are many
  std::vector<WriteEntry> writes_;
  PointerMap write_positions_;              // by cell
  uint64_t tables_written_ = 0;             // a bit each; kOtherTables: of those without a bit
  std::vector<std::unique_ptr<std::vector<Addition>>> additions_;
  storage::OwnColumnSets own_sets_;
  std::vector<IndexChange> index_changes_;
  PointerMap index_positions_;              // the last change by row and index
  Hints<Sync> hints_;
  struct PendingEdit {                      // between do_edit and do_edited, of indexed columns
    TableType* table = nullptr;
    Row* row = nullptr;
    Key key = 0;
    uint64_t affected = 0;                  // secondary indexes, a bit each
    uint64_t old_values[kSecondaryIndexesMax] = {};
    const ColumnSet* set = nullptr;
    std::byte* before = nullptr;            // the columns as they were
  } edit_;
  // Rows that commits of this object removed while somebody read them, in any order; at most kLateUnlinksMax.
  struct LateUnlink {
    reclaim::UnlinkTask<Sync> row;
    uint64_t n;                             // of the commit
  };
  std::vector<LateUnlink> late_unlinks_;
  size_t late_at_ = 0;                      // which of them to look at next
  std::vector<HistoryOperation> operations_;  // while recording
  uint64_t begin_ns_ = 0;
};

}  // namespace elider::txn

#include "txn/occ/occ_commit.h"
#include "txn/occ/occ_history.h"
#include "txn/occ/occ_index.h"
#include "txn/occ/occ_log.h"
#include "txn/occ/occ_read.h"
#include "txn/occ/occ_region.h"
#include "txn/occ/occ_repair.h"
#include "txn/occ/occ_scan.h"
#include "txn/occ/occ_tracking.h"
#include "txn/occ/occ_write.h"
