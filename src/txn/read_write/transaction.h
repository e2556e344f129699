// ReadWriteTransaction: a transaction that may write. All protocols use this class. By itself it
// implements DBX's optimistic protocol, which validates the reads at the commit (sections 5.2,
// 5.3). Other protocols also make a claim before each access (txn/claims.h).
//
// During its execution, the transaction copies what it reads, records the commit word of each copy
// (Algorithm 2), and buffers its writes. An insert puts an absent row block into the indexes at
// once. The commit (Algorithm 1) locks the rows that it writes, reads the snapshot number and the
// readers' slots (storage/snapshots.h), validates every recorded word and every witness, and
// installs the writes. Where DBX runs the commit as one hardware transaction, this class locks the
// commit words, unless a hardware transaction can elide these locks (commit_region.h).
//
// Why it is serializable: every committed transaction appears to run at an instant between its last
// lock and its validation. At its validation, everything that it read is unchanged and unlocked. So
// no transaction that changes this data has its instant between the read and the reader's own
// instant. Everything that it writes is locked at its instant.
//
// Deviations from the paper. A read of an absent key records the version of the leaf or bucket; the
// paper inserts a row for the key. Additions (DBX-TC) are writes that do not require a particular
// commit word.
//
// The class is in three layers, each of which uses only those below it:
//   TrackedReads           reads rows and leaves, and validates and repairs what was read
//   BufferedWrites         adds to the write set and to the indexes
//   ReadWriteTransaction   begins, commits and rolls back
//
// A commit may be only one piece of a procedure call (txn/chopping/piece_transaction.h).
//
// Under a protocol that claims rows (txn/claims.h), other transactions cannot change a claimed row
// until the claiming transaction ends, and the commit validates only the rest. Under `occ`,
// transactions do not claim anything.
//
// Thread safety: none. A transaction belongs to one worker.
#pragma once

#include <cstdint>
#include <string>

#include "elider/snapshot_number.h"
#include "txn/commit_record.h"
#include "txn/install.h"
#include "txn/late_unlinks.h"
#include "txn/read_write/buffered_writes.h"
#include "txn/read_write/retired_rows.h"
#include "txn/read_write/write_locks.h"

namespace elider::txn {

template <class Sync, class Claims = NoClaims>
class ReadWriteTransaction : public BufferedWrites<Sync, Claims> {
  using Base = BufferedWrites<Sync, Claims>;

 protected:
  using typename Base::State;
  using typename Base::TableType;

 public:
  // `spinlock` is held during each commit and each read of a row (lab/baselines/spinlock.h), unless
  // it is null.
  ReadWriteTransaction(Store& store, Worker& worker, Counters& counters, sync::SpinLatch* spinlock, Claims claims = {})
      : Base(store, worker, counters, spinlock, claims) {}

  // The caller's worker must be inside the epoch until after commit() or rollback().
  void begin(uint32_t attempt, uint32_t procedure) {
    claims_.begin(attempt);
    this->begin_attempt(attempt, procedure);
  }
  // Declares that the current transaction is an open one (Database::begin), which the application
  // will end.
  void stays_open() { claims_.stays_open(); }
  // Ends the transaction. Returns ok if it has committed. Otherwise none of its writes took effect.
  Status commit();
  void rollback(Cause cause);

 protected:
  // The members below are also used by the pieces of a call (txn/chopping/piece_transaction.h).
  // -- commit.h -----------------------------------------------------------------------------------
  Status commit_reads();
  [[gnu::noinline]] Status commit_validated_reads();
  Status finish_reads();
  [[gnu::noinline]] Status commit_writes();
  [[gnu::noinline]] Status refuse_to_commit();
  Status commit_by_locks(bool old_entries_retired = false);
  // The numbers that a commit reads: its own, its position in the serial order (for histories), and
  // the newest snapshot that is being read.
  struct Numbers {
    SnapshotNumber n;
    uint64_t order;
    SnapshotNumber newest_reader;
  };
  bool take_numbers_and_validate(log::Log* log, Numbers* numbers);

  // -- commit_steps.h -----------------------------------------------------------------------------
  size_t lock_writes();
  bool prepare_blocks();
  bool prepare_versions(SnapshotNumber newest_reader);
  bool validate_reads();
  Status finish(SnapshotNumber n, uint64_t order, SnapshotNumber newest_reader);
  // Like finish(), but does not count and record the commit, because this is done once for the
  // entire call.
  Status finish_piece(SnapshotNumber n, uint64_t order, SnapshotNumber newest_reader);
  Status give_up(size_t locked);
  void end();
  void end_without_writes();
  Status refuse_commit(const Status& status);
  void publish(SnapshotNumber n);
  void record_end(bool committed, Cause cause, SnapshotNumber n, uint64_t order) {
    if (!recorder_.on()) [[likely]] return;
    recorder_.end({committed, false, cause, n, order, this->attempt_, this->procedure_}, &writes_, &index_entries_);
  }

  // -- commit_region.h: hardware transactions, under a policy that has them -----------------------
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
  Reach reach_of_region() const;
  AtOnce commit_at_once(Reach reach);
  bool settles(const AtOnce& done) const;
  bool validate_in_region();
  Status commit_in_region();
  bool try_regions(Reach reach, Status* status);
  Status finish_region(const AtOnce& done);

  using Base::alone;
  using Base::cause_;
  using Base::cause_key_;
  using Base::cause_table_;
  using Base::claims_;
  using Base::commit_number_;
  using Base::count_abort;
  using Base::counters_;
  using Base::doom_;
  using Base::edited_table_;
  using Base::ended_by_another;
  using Base::failed;
  using Base::index_entries_;
  using Base::may_be_repaired;
  using Base::reads_valid;
  using Base::recorder_;
  using Base::repair_after_failure;
  using Base::state_;
  using Base::store_;
  using Base::tracking_;
  using Base::worker_;
  using Base::writes_;

  std::byte* log_place_ = nullptr;  // during the commit: the space reserved for its record
  // Rows that this object's commits have removed while readers might still need them.
  LateUnlinks<Sync> late_unlinks_;
};

}  // namespace elider::txn

#include "txn/read_write/commit.h"
#include "txn/read_write/commit_region.h"
#include "txn/read_write/commit_steps.h"
