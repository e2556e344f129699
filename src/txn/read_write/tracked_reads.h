// TrackedReads: the reads of a transaction that may write. It copies what the transaction reads,
// including the transaction's own writes, and records it in a ReadTracking (read_tracking.h), so
// that the commit can validate the reads or repair them (DBX, Algorithm 2; sections 5.2, 5.3).
// Under a protocol with claims (txn/claims.h), it makes a claim before each access.
//
// The class does not write. BufferedWrites, which derives from it, adds to the write set.
//
// Thread safety: none. A transaction belongs to one worker.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>

#include "base/test_points.h"
#include "htm/status.h"
#include "sync/exclusive.h"
#include "txn/claims.h"
#include "txn/read_write/own_writes.h"
#include "txn/read_write/read_tracking.h"
#include "txn/read_write/repair.h"
#include "txn/reads.h"
#include "txn/write_set.h"

namespace elider::txn {

template <class Sync, class Claims>
class TrackedReads : public Reads<Sync, TrackedReads<Sync, Claims>> {
  static_assert(txn::Claims<Claims>);
  using Base = Reads<Sync, TrackedReads<Sync, Claims>>;
  friend Base;

 protected:
  using typename Base::State;
  using typename Base::TableType;

 public:
  Claims& claims() { return claims_; }
  // Returns ok if all reads are still valid, so that a result which depends on them can be trusted.
  // Otherwise returns the conflict that a commit would report.
  Status reads_hold();

 protected:
  // `spinlock` is held during each read of a row, unless it is null.
  TrackedReads(Store& store, Worker& worker, Counters& counters, sync::SpinLatch* spinlock, Claims claims)
      : Base(store, worker, counters, Sync::kRegions || RunsInRegion<Claims>), spinlock_(spinlock), claims_(claims) {}

  Status do_scan_rows(const TableRef& table, const RowScanOptions& options, typename Base::ScannedRowVisitor visit) override;

  static constexpr bool kTracks = true, kClaimsLeaves = Claims::kLeaves;  // txn/reads.h
  template <Purpose kPurpose>
  static constexpr bool kClaims = kPurpose == Purpose::kWrite ? Claims::kWrites : Claims::kReads;
  static constexpr Recording kRecording = RunsInRegion<Claims> ? Recording::kNone
                                          : Claims::kReads     ? Recording::kClaimed
                                                               : Recording::kValidated;

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
  template <class Allocate>
  bool view_block(TableType& table, Row* row, detail::ImageHeader* header, RawView* view, Status* status, Allocate&& allocate);
  bool has_read(const detail::TableBase& table, const detail::ImageHeader& view);
  Status version_of(TableType& table, Row* row, KeyRef key, uint64_t* version) const;
  uint64_t index_number(TableType& table, uint32_t i, KeyRef key, const std::byte* image);
  Status view_own(TableType& table, const WriteEntry& write, detail::ImageHeader* header, RawView* view);
  // Returns the version that was read, or 0 if it was the transaction's own write.
  uint64_t version_read(const detail::ImageHeader& header) const {
    if (header.read_index == ~0u) return 0;
    if constexpr (RunsInRegion<Claims>) return recorder_.last_version();
    else return word::version_number(tracking_.reads()[header.read_index].word);
  }
  // Returns the position in the read set at which the view's reads begin. Within a region, reads
  // are not recorded, and the result identifies the table and the call instead.
  uint32_t read_index_of(const detail::TableBase& table) const {
    if constexpr (RunsInRegion<Claims>) return table.id() | claims_.call << kTableBits;
    else return static_cast<uint32_t>(tracking_.reads().size());
  }

  // -- scan.h -------------------------------------------------------------------------------------
  class KeyScan;
  class IndexScan;

  // -- validation.h -------------------------------------------------------------------------------
  template <bool kHeld = true>
  bool reads_valid();
  bool repair_after_failure(Locks locks);
  bool may_be_repaired() const { return cause_ == Cause::kPhantom || cause_ == Cause::kRowRemoved; }
  using Base::failed;
  bool failed(const Conflict& conflict) { return failed(conflict.cause, conflict.table, conflict.key); }
  auto repair_under(Locks locks) {
    return Repair<Sync, kRecording>(tracking_, OwnWrites(writes_), locks, arena_, hints_, recorder_);
  }

  // -- region_reads.h: hardware transactions, under a policy that has them ------------------------
  uint64_t copy_cell(const Cell& cell, const storage::Group& group, const ColumnSet& set, uint32_t g, std::byte* image);
  // The column groups of a row that one region has read together, with their commit words. Does not
  // include groups that this transaction has written. If the protocol does not use claims, this
  // struct is used only for reads of several groups.
  struct ReadTogether {
    uint32_t groups = 0;
    uint64_t words[kColumnGroupsMax] = {};
    bool has(uint32_t g) const { return (groups >> g & 1) != 0; }
  };
  template <Purpose kPurpose>
  static constexpr bool kClaimsInRegions =
      Sync::kRegions && ClaimsInRegions<Claims> && kClaims<kPurpose>;
  template <Purpose kPurpose>
  ReadTogether read_together(TableType& table, Row* row, const ColumnSet& set, uint32_t groups, std::byte* image);
  // Claims the groups of a row. If a region can copy them at one instant, *together contains the
  // groups that it has copied.
  template <Purpose kPurpose>
  Status claim_and_read_together(TableType& table, Row* row, KeyRef key, const ColumnSet& set, uint32_t groups, std::byte* image,
                                 ReadTogether* together);

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

  using Base::arena_;
  using Base::cause_;
  using Base::cause_key_;
  using Base::cause_table_;
  using Base::doom;
  using Base::find;
  using Base::hints_;
  using Base::recorder_;
  using Base::refuse;
  using Base::state_;
  using Base::store_;

  sync::SpinLatch* const spinlock_;
  ReadTracking<kRecording> tracking_{arena_};
  WriteSet writes_{arena_};
  [[no_unique_address]] Claims claims_;
};

}  // namespace elider::txn

#include "txn/read_write/claiming.h"
#include "txn/read_write/read.h"
#include "txn/read_write/region_reads.h"
#include "txn/read_write/scan.h"
#include "txn/read_write/validation.h"
