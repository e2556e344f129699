// ReadWriteTransaction: a transaction that may write. All protocols use this class. By itself it
// implements DBX's optimistic protocol, which validates the reads at the commit (sections 5.2,
// 5.3). Other protocols also make a claim before each access (txn/claims.h).
//
// During its execution, the transaction copies what it reads, records the commit word of each copy
// (Algorithm 2), and buffers its writes. An insert puts an absent row block into the indexes at
// once. The commit (Algorithm 1) locks the rows that it writes, reads the snapshot number and the
// readers' slots (storage/snapshots.h), validates every recorded word and every witness, and
// installs the writes. Where DBX runs the commit as one hardware transaction, this class locks the
// commit words, unless a hardware transaction can elide these locks (region.h).
//
// Why it is serializable: every committed transaction appears to run at an instant between its last
// lock and its validation. Everything that it read is unchanged and unlocked at its validation, so
// no transaction that changes this data has its instant between the read and the reader's own
// instant. Everything that it writes is locked at its instant.
//
// Why deadlock is impossible: a transaction that waits for a lock does not hold a lock with a
// greater address (lock_writes). In addition, an attempt ends if a lock is not released for a long
// time.
//
// Deviations from the paper. A read of an absent key records the version of the leaf or bucket; the
// paper inserts a row for the key. Additions (DBX-TC) are writes that do not require a particular
// commit word.
//
// A commit may be only one piece of a procedure call (txn/chopping/piece_transaction.h).
//
// Under a protocol that claims rows (txn/claims.h), other transactions cannot change a claimed row
// until the claiming transaction ends, and the commit validates only the rest. Under `occ`,
// transactions do not claim anything.
//
// Thread safety: none. A transaction belongs to one worker.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>

#include "base/test_points.h"
#include "elider/snapshot_number.h"
#include "htm/status.h"
#include "storage/number.h"
#include "sync/exclusive.h"
#include "txn/claims.h"
#include "txn/commit_record.h"
#include "txn/index_changes.h"
#include "txn/install.h"
#include "txn/kept_key.h"
#include "txn/late_unlinks.h"
#include "txn/read_write/own_writes.h"
#include "txn/read_write/read_tracking.h"
#include "txn/read_write/repair.h"
#include "txn/reads.h"
#include "txn/reclaim.h"
#include "txn/write_set.h"

namespace elider::txn {

template <class Sync, class Claims = NoClaims>
class ReadWriteTransaction : public Reads<Sync, ReadWriteTransaction<Sync, Claims>> {
  static_assert(txn::Claims<Claims>);
  using Base = Reads<Sync, ReadWriteTransaction<Sync, Claims>>;
  friend Base;

 protected:
  using typename Base::State;
  using typename Base::TableType;

 public:
  // `spinlock` is held during each commit and each read of a row (lab/baselines/spinlock.h), unless
  // it is null.
  ReadWriteTransaction(Store& store, Worker& worker, Counters& counters, sync::SpinLatch* spinlock, Claims claims = {})
      : Base(store, worker, counters, Sync::kRegions || RunsInRegion<Claims>), spinlock_(spinlock), claims_(claims) {}

  // The caller's worker must be inside the epoch until after commit() or rollback().
  void begin(uint32_t attempt, uint32_t procedure) {
    if constexpr (Claims::kWrites) claims_.begin(attempt);
    this->begin_attempt(attempt, procedure);
  }
  // Declares that the current transaction is an open one (Database::begin), which the application
  // will end.
  void stays_open() {
    if constexpr (Claims::kWrites) claims_.stays_open();
  }
  Claims& claims() { return claims_; }
  // Ends the transaction. Returns ok if it has committed. Otherwise none of its writes took effect.
  Status commit();
  void rollback(Cause cause);
  // Returns ok if all reads are still valid, so that a result which depends on them can be trusted.
  // Otherwise returns the conflict that a commit would report.
  Status reads_hold();

 protected:
  Status do_scan_rows(const TableRef& table, const RowScanOptions& options, FunctionRef<bool(Key, RawView, unsigned)> visit) override;
  Status do_insert(const TableRef& table, KeyRef key, const void* row, size_t bytes) override;
  Status do_put(const TableRef& table, KeyRef key, const void* row, size_t bytes) override;
  Status do_edit(const TableRef& table, KeyRef key, const ColumnsRef& columns, void** image) override;
  Status do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) override;
  Status do_edited(const TableRef& table, void* image) override;
  void do_edit_threw(const TableRef& table, KeyRef key) override;
  Status do_write(const TableRef& table, KeyRef key, const ColumnsRef& columns, const void* row) override;
  Status do_add(const TableRef& table, KeyRef key, uint32_t offset, ColumnType type, const void* delta) override;
  Status do_remove(const TableRef& table, KeyRef key) override;

  // The members below are used by the operations of this class, and by the pieces of a call
  // (txn/chopping/piece_transaction.h).
  static constexpr bool kTracks = true, kClaimsLeaves = Claims::kLeaves;  // txn/reads.h
  static constexpr Recording kRecording = RunsInRegion<Claims> ? Recording::kNone
                                          : Claims::kReads     ? Recording::kClaimed
                                                               : Recording::kValidated;
  // How long to wait for a lock. kShort: a few processor pauses. kLong: long enough that a
  // preempted holder of the lock can run again.
  enum class Patience : bool { kShort, kLong };

  // -- claiming.h: under a protocol that claims what it touches -----------------------------------
  template <Purpose kPurpose>
  Status claim(TableType& table, Cell& cell, KeyRef key);
  // Claims the given groups of a row.
  template <Purpose kPurpose>
  Status claim_groups(TableType& table, Row* row, KeyRef key, uint32_t groups);
  void claim_new(TableType& table, Row* row);
  void keep_claims_of_new(TableType& table, Row* row);
  // claim_leaf_read() claims a leaf or bucket that was read. If the claim is refused, the
  // transaction is doomed. claim_leaves_written() claims the leaves that an insert has changed.
  void claim_leaf_read(TableType& table, const index::Witness& witness, KeyRef key);
  Status claim_leaves_written(TableType& table, const index::InsertResult& result, KeyRef key);
  [[gnu::noinline]] Status refuse_claim(TableType& table, KeyRef key);
  [[gnu::noinline]] Status ended_by_another();
  // Waits until the cell's commit word is unlocked, and returns the word. A region aborts instead
  // of waiting.
  static uint64_t unlocked_word(const Cell& cell) {
    if constexpr (!RunsInRegion<Claims>) return cell.load_unlocked();
    else return unlocked_in_region(cell);
  }
  static uint64_t unlocked_in_region(const Cell& cell) {
    const uint64_t w = cell.load();
    if (word::locked(w) && !ELIDER_MUTANT(kIgnoreLockBit)) [[unlikely]] Claims::Region::template abort<htm::kLockHeldCode>();
    return w;
  }

  // -- read.h -------------------------------------------------------------------------------------
  // Copies columns of a row to the image, including the transaction's own writes, and tracks the
  // read. Returns kNotFound if the row is absent.
  Status read_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set, std::byte* image, detail::ImageHeader* header);
  Status read_groups(TableType& table, Row* row, KeyRef key, const ColumnSet& set, uint32_t groups, std::byte* image,
                     detail::ImageHeader* header);
  Status read_group(TableType& table, Row* row, KeyRef key, const ColumnSet& set, uint32_t g, std::byte* image);
  Status note_read(TableType& table, Cell& cell, KeyRef key, uint32_t g, uint64_t w);
  [[gnu::noinline]] Status note_absent(TableType& table, Cell& cell, KeyRef key, uint32_t g, uint64_t w);
  void track_absent(TableType& table, const index::Witness& witness, KeyRef key);
  Status read_own(TableType& table, WriteEntry& write, const ColumnSet& set, std::byte* image);
  bool view_block(TableType& table, Row* row, detail::ImageHeader* header, RawView* view, Status* status);
  Status view_own(TableType& table, const WriteEntry& write, detail::ImageHeader* header, RawView* view);
  // Returns the version that was read, or 0 if it was the transaction's own write.
  uint64_t version_read(const detail::ImageHeader& header) const {
    if (header.read_index == ~0u) return 0;
    if constexpr (RunsInRegion<Claims>) return recorder_.last_version();
    else return word::sequence(tracking_.reads()[header.read_index].word);
  }
  // Returns the position in the read set at which the view's reads begin. Within a region, reads
  // are not recorded, and the result identifies the table and the call instead.
  uint32_t read_index_of(const TableType& table) const {
    if constexpr (RunsInRegion<Claims>) return table.id() | claims_.call << kTableBits;
    else return static_cast<uint32_t>(tracking_.reads().size());
  }
  static constexpr uint32_t kTableBits = 10;
  static_assert(kTablesMax <= 1u << kTableBits);

  // -- scan.h -------------------------------------------------------------------------------------
  class KeyScan;
  class IndexScan;

  // -- write.h ------------------------------------------------------------------------------------
  Status edit_row(TableType& table, Row* row, KeyRef key, const ColumnSet& set, const detail::ImageHeader* read, void** image);
  Status edit_group(TableType& table, Row* row, KeyRef key, const ColumnSet& set, uint32_t g, uint64_t w,
                    uint64_t expected, std::byte* image);
  void copy_edited(std::byte* to, const std::byte* from) const;
  Status widen(TableType& table, WriteEntry& write, const ColumnSet& set);
  bool has_read(TableType& table, const detail::ImageHeader& view);
  // Within a region, if claims_.in_place is set, changes are written to the row at once.
  bool may_write_in_place(TableType& table, Row* row) const;
  Status edit_in_place(TableType& table, Row* row, KeyRef key, const ColumnSet& set, void** image);
  void write_in_place(Cell& cell, const ColumnSet& set, uint32_t g, const std::byte* image, uint64_t w);
  Status edit_view_of_piece(const TableRef& ref, const ColumnSet& set, const detail::ImageHeader& view, void** image);
  Status write_row(const TableRef& ref, TableType& table, KeyRef key, const ColumnSet& set, const std::byte* source);
  bool may_add_to_some(const TableRef& ref) const;
  Status add_to_row(TableType& table, KeyRef key, const storage::Number& number, const void* delta);
  uint64_t expected_by(const detail::ImageHeader* read, const Cell& cell, uint32_t g);
  Status copy_to_edit(TableType& table, Row* row, KeyRef key, const ColumnSet& set, const detail::ImageHeader* read, std::byte** image);
  Status copy_sized_to_edit(TableType& table, Row* row, KeyRef key, const detail::ImageHeader* read, std::byte** image);
  Status write_sized_row(const TableRef& ref, TableType& table, Row* row, KeyRef key, const ColumnSet& set, const std::byte* source);
  // A complete row that the application has passed.
  struct GivenRow {
    const void* bytes;
    size_t size;
  };
  Status insert_row(TableType& table, KeyRef key, GivenRow row, bool replace);
  Status replace_row(TableType& table, Row* row, KeyRef key, GivenRow source, bool replace);
  Status remove_row(TableType& table, KeyRef key);
  Status present_word(TableType& table, Row* row, KeyRef key, uint32_t g, uint64_t* w);

  // -- secondary.h: secondary indexes -------------------------------------------------------------
  uint64_t index_value(TableType& table, uint32_t i, KeyRef key, const std::byte* image);
  uint64_t indexes_reading(TableType& table, uint64_t columns) const;
  Status old_index_values(TableType& table, Row* row, KeyRef key, uint64_t affected, uint64_t* values);
  Status former_index_values(TableType& table, Row* row, KeyRef key, uint64_t* values, bool* had_row);
  Status index_insert(TableType& table, Row* row, KeyRef key, const std::byte* image);
  Status index_update(TableType& table, Row* row, KeyRef key, const uint64_t* old_values, uint64_t affected);
  Status index_add(TableType& table, Row* row, KeyRef key, uint32_t i, const uint64_t* old_value, uint64_t new_value);
  Status index_check_unique(TableType& table, Row* row, KeyRef key, uint32_t i, uint64_t value);
  void retire_old_entries();
  void index_finish(bool committed);

  // Calls body() with the spinlock held, if there is one.
  template <class Body>
  [[gnu::always_inline]] auto alone(Body&& body) {
    if constexpr (sync::kElides<Sync>)
      if (spinlock_ != nullptr) {
        const std::lock_guard held(*spinlock_);
        return body();
      }
    return body();
  }

  // -- commit.h -----------------------------------------------------------------------------------
  Status commit_reads();
  [[gnu::noinline]] Status commit_validated_reads();
  uint64_t take_place();
  Status finish_reads();
  [[gnu::noinline]] Status commit_writes();
  [[gnu::noinline]] Status refuse_to_commit();
  Status commit_by_locks(bool old_entries_retired = false);
  template <bool kTake>
  bool await_word(WriteEntry& write, Patience patience);
  size_t lock_writes();
  size_t lock_in_order(size_t locked);
  size_t lock_each(Patience patience);
  void unlock_writes(size_t count);
  bool prepare_blocks();
  bool prepare_versions(SnapshotNumber newest_reader);
  bool validate_reads();
  template <bool kHeld = true>
  bool reads_stand();
  using Base::failed;
  bool failed(const Conflict& conflict) { return failed(conflict.cause, conflict.table, conflict.key); }
  auto repair_under(Locks locks) {
    return Repair<Sync, kRecording>(tracking_, OwnWrites(writes_), locks, arena_, hints_, recorder_);
  }
  bool repair_after_failure(Locks locks);
  bool may_be_repaired() const { return cause_ == Cause::kPhantom || cause_ == Cause::kRowRemoved; }
  Status finish(SnapshotNumber n, uint64_t order, SnapshotNumber newest_reader);
  // Like finish(), but does not count and record the commit, because this is done once for the
  // entire call.
  Status finish_piece(SnapshotNumber n, uint64_t order, SnapshotNumber newest_reader);
  Status give_up(size_t locked);
  void end();
  void end_without_writes();
  Status refuse_commit(const Status& status);
  void publish(SnapshotNumber n);
  void retire_rows(SnapshotNumber n, bool read);
  void give_up_rows();
  void record_end(bool committed, Cause cause, SnapshotNumber n, uint64_t order) {
    if (!recorder_.on()) [[likely]] return;
    recorder_.end({committed, false, cause, n, order, this->attempt_, procedure_}, &writes_, &index_changes_);
  }

  // -- region.h: hardware transactions, under a policy that has them ------------------------------
  enum class Reach : uint8_t { kNone, kLockBits, kWhole };
  // The result of a commit's region, and the numbers that the region read.
  struct AtOnce {
    enum class End : uint8_t {
      kUnsuited,  // nothing was done; the commit must acquire its locks
      kMoved,     // nothing was done, because an expected commit word has changed since it was read
      kFailed,    // nothing was done, because validation failed; the cause is recorded
      kLocked,    // all lock bits are set
      kWritten,   // everything is written
    };
    End end = End::kUnsuited;
    SnapshotNumber n = 0;
    uint64_t order = 0;
    SnapshotNumber newest_reader = 0;
  };
  uint64_t copy_cell(const Cell& cell, const storage::Group& group, const ColumnSet& set, uint32_t g, std::byte* image);
  // The column groups of a row that one region has read together, with their commit words. Does not
  // include groups that this transaction has written. Without claims, it is used only if several
  // groups are read.
  struct ReadTogether {
    uint32_t groups = 0;
    uint64_t words[kCommitGroupsMax] = {};
    bool has(uint32_t g) const { return (groups >> g & 1) != 0; }
  };
  template <Purpose kPurpose>
  static constexpr bool kClaimsInRegions =
      Sync::kRegions && ClaimsInRegions<Claims> && (kPurpose == Purpose::kWrite ? Claims::kWrites : Claims::kReads);
  template <Purpose kPurpose>
  ReadTogether read_together(TableType& table, Row* row, const ColumnSet& set, uint32_t groups, std::byte* image);
  // Claims the groups of a row. If a region can copy them at one instant, *together contains the
  // groups that it has copied.
  template <Purpose kPurpose>
  Status claim_and_read_together(TableType& table, Row* row, KeyRef key, const ColumnSet& set, uint32_t groups, std::byte* image,
                                 ReadTogether* together);
  Reach reach_of_region() const;
  AtOnce commit_at_once(Reach reach);
  bool settles(const AtOnce& done) const;
  bool validate_in_region();
  Status commit_in_region();

  using Base::arena_;
  using Base::cause_;
  using Base::cause_key_;
  using Base::cause_table_;
  using Base::commit_number_;
  using Base::count_abort;
  using Base::counters_;
  using Base::doom;
  using Base::doom_;
  using Base::edited_table_;
  using Base::find;
  using Base::guarded;
  using Base::hints_;
  using Base::procedure_;
  using Base::recorder_;
  using Base::refuse;
  using Base::scan_secondary;
  using Base::state_;
  using Base::store_;
  using Base::worker_;

  sync::SpinLatch* const spinlock_;
  std::byte* log_place_ = nullptr;          // during the commit: the space reserved for its record

  ReadTracking<kRecording> tracking_{arena_};
  WriteSet writes_{arena_};
  IndexChanges index_changes_;
  struct PendingEdit {                      // used while kEditing: an edit of columns that a secondary index reads
    TableType* table = nullptr;
    Row* row = nullptr;
    KeyRef key;
    uint64_t affected = 0;                  // one bit for each affected secondary index
    uint64_t old_values[kSecondaryIndexesMax] = {};
    const ColumnSet* set = nullptr;
    std::byte* before = nullptr;            // the columns before the edit
  } edit_;
  // The image of an unfinished edit in place, or null. edit_ contains the row and the columns.
  std::byte* image_in_place_ = nullptr;
  // Rows that this object's commits have removed while readers might still need them.
  LateUnlinks<Sync> late_unlinks_;
  [[no_unique_address]] Claims claims_;
};

}  // namespace elider::txn

#include "txn/read_write/claiming.h"
#include "txn/read_write/commit.h"
#include "txn/read_write/read.h"
#include "txn/read_write/region.h"
#include "txn/read_write/scan.h"
#include "txn/read_write/secondary.h"
#include "txn/read_write/write.h"
