// TimestampClaims: the read and write timestamps of HyPer-HTM (sections 4.1 to 4.3). Each column
// group of a row has both.
//
// The write timestamp is the timestamp of the transaction that wrote the group last, or is about to
// write it. The read timestamp is the timestamp of the youngest transaction that has read the
// group. A reader raises the read timestamp and then checks the write timestamp. A writer sets the
// write timestamp and then checks the read timestamp. Reader and writer each continue only if the
// timestamp that they check is their own or belongs to transactions that have ended. So if a reader
// and a writer use the same group concurrently, at least one of them sees the other. If a
// transaction T performs both steps in one hardware transaction, the steps take effect at one
// instant. If that instant precedes the other transaction's first step, the other transaction sees
// T's timestamp in its second step. Otherwise T sees the other transaction's timestamp.
//
// Invariant: while a transaction T runs, no other transaction writes a group that T has claimed for
// reading, and no other transaction reads or writes a group that T has claimed for writing. So a
// transaction reads only committed data, and transactions are serializable in the order of their
// commits, which is the order of their numbers.
//
// How a transaction finds out whether the transactions that a row's timestamp represents have
// ended:
//   write timestamp   The slot of the transaction shows whether it has ended (timestamps.h).
//   read timestamp    Without the flag: only the reader with this timestamp may be running, and its
//                     slot shows whether it is. With the flag: older readers may also be running,
//                     so the timestamp must be safe (timestamps.h). If a transaction finds its own
//                     timestamp with the flag, all older transactions must have ended. A younger
//                     reader does not exist, because it would have raised the timestamp.
// A reader of a group raises the read timestamp, and sets the flag unless the earlier reader has
// ended. A reader that is older than the read timestamp only sets the flag.
//
// Deviations from the paper:
//   - The paper compares only with the safe timestamp. The paper also proposes relaxations (section
//     4.3: an older transaction that has ended is not a conflict). This class implements those
//     relaxations that the slots can decide exactly.
//   - In the paper, a transaction may always write a group that it has read itself, although its
//     own read timestamp may hide an older reader of the group. Snapshots and the log could then
//     see the two transactions in the wrong order. The flag prevents this.
//   - As under the other protocols, the new bytes of a row are buffered until the commit. If the
//     new bytes were written to the row immediately, snapshot readers could see part of a change.
//   - Phantoms are detected by leaf versions at the commit (txn/read_write), not by read timestamps
//     of leaves. So a scan does not write to any leaf.
//
// Thread safety: a TimestampClaims object belongs to one transaction. The timestamps of a row are
// shared.
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/spin.h"
#include "base/worker.h"
#include "storage/record.h"
#include "txn/claims.h"
#include "txn/timestamp/timestamps.h"

namespace elider::txn {

// If kReadsToo is true, reads are claimed as well as writes. If it is false, reads are validated at
// the commit, as in the optimistic protocol. The paper leaves this second variant to future work.
template <bool kReadsToo>
class TimestampClaims : public TransactionHooks {
 public:
  static constexpr bool kReads = kReadsToo, kWrites = true, kLeaves = false, kInRegions = true;
  static constexpr uint32_t kCellBytes = 16;

  TimestampClaims(Timestamps& all, uint32_t worker, uint64_t patience_ns) : all_(&all), worker_(worker), patience_ns_(patience_ns) {}

  void begin(uint32_t /*attempt*/) {
    mine_ = all_->begin(worker_);
    waits_ = false;
    under_way_ = true;
  }

  [[gnu::always_inline]] inline bool read(storage::Cell& cell) {
    if (ELIDER_MUTANT(kSkipReadTimestamp)) return true;
    Stamps& stamps = stamps_of(cell);
    const bool looked = ELIDER_MUTANT(kLookBeforeClaim) && may_pass(stamps.write.load());
    Timestamp read = stamps.read.load();
    ELIDER_TEST_POINT("timestamp.read.before_claim");
    for (Timestamp raised; (raised = raised_from(read)) != read;)
      if (stamps.read.compare_exchange_weak(read, raised)) break;
    ELIDER_TEST_POINT("timestamp.read.claimed");
    return looked || may_pass(stamps.write.load());
  }

  [[gnu::always_inline]] inline bool write(storage::Cell& cell) {
    Stamps& stamps = stamps_of(cell);
    Timestamp written = stamps.write.load();
    if (written == mine_) return true;
    if (!may_pass(written)) [[unlikely]] return false;
    ELIDER_TEST_POINT("timestamp.write.before_claim");
    if (!stamps.write.compare_exchange_strong(written, mine_)) [[unlikely]] {
      conflict_ = written;
      return false;
    }
    ELIDER_TEST_POINT("timestamp.write.claimed");
    if (!kReadsToo || nobody_else_reads(stamps.read.load())) [[likely]] return true;
    Timestamp mine = mine_;
    // The exchange fails if another transaction has aborted this one and claimed the group.
    stamps.write.compare_exchange_strong(mine, written);
    return false;
  }
  // Like read(), but runs inside a hardware transaction, which makes both steps atomic. Returns
  // false if the caller must call read() outside of the hardware transaction.
  [[gnu::always_inline]] inline bool read_in_region(storage::Cell& cell) {
    if (ELIDER_MUTANT(kSkipReadTimestamp)) return true;
    Stamps& stamps = stamps_of(cell);
    if (!may_pass(stamps.write.load())) return false;
    const Timestamp read = stamps.read.load();
    const Timestamp raised = raised_from(read);
    if (raised != read) stamps.read.store(raised, std::memory_order_relaxed);  // relaxed: the region's end orders it
    return true;
  }
  [[gnu::always_inline]] inline bool write_in_region(storage::Cell& cell) {
    Stamps& stamps = stamps_of(cell);
    const Timestamp written = stamps.write.load(), read = stamps.read.load();
    if (written == mine_) return true;
    if (!may_pass(written)) return false;
    if (read != mine_ && !has_ended_with_all(read) && !ELIDER_MUTANT(kPassUnsafeRead)) return false;
    stamps.write.store(mine_, std::memory_order_relaxed);  // relaxed: as above
    return true;
  }
  void write_new(storage::Cell& cell) { stamps_of(cell).write.store(mine_, std::memory_order_relaxed); }
  static void make_room_for_new() {}
  static void keep_new(storage::Cell&) {}

  // A procedure does not wait here, because it can be retried. However, it aborts an open
  // transaction that has exceeded its time limit (end_late()). A transaction that has itself been
  // aborted does not abort other transactions.
  bool await() {
    if (!valid()) return false;
    if (waits_ || alone_) {
      await_end();
      return valid();
    }
    while (const Timestamp other = against(conflict_))
      if (!all_->open_since(other) || !end_late(other, 0)) return false;
    return true;
  }
  // Waits until the transaction that conflicted with the last claim has ended, and aborts that
  // transaction when it exceeds its time limit (end_late()). A procedure calls await_end() between
  // two attempts. Returns false if that transaction has not ended by `until_ns` (0: no limit).
  bool await_end(uint64_t until_ns = 0) {
    Timestamp waited_for = 0;
    uint64_t since_ns = 0;
    Spin spin;
    while (const Timestamp other = against(conflict_)) {
      if (other != waited_for) {
        waited_for = other;
        since_ns = now_ns();
      }
      if (end_late(other, since_ns)) continue;
      if (until_ns != 0 && now_ns() >= until_ns) return false;
      spin.wait();
    }
    return true;
  }

  bool begin_commit() { return all_->begin_commit(worker_, mine_) || ELIDER_MUTANT(kCommitEnded); }
  // Returns true until another transaction aborts this one.
  bool valid() const { return all_->under_way(mine_); }
  void stays_open() {
    waits_ = true;
    all_->set_open_since(worker_, now_ns());
  }
  // Sets whether this transaction runs alone. A transaction that runs alone immediately aborts
  // every transaction that conflicts with it. Other transactions wait for `patience_ns` before they
  // abort it.
  void set_alone(bool alone, uint64_t patience_ns) {
    alone_ = alone;
    all_->set_patience(worker_, patience_ns);
  }
  void end() {
    if (!under_way_) return;
    under_way_ = false;
    if (waits_) [[unlikely]] all_->set_open_since(worker_, 0);
    all_->end(worker_);
  }

 private:
  struct Stamps {
    std::atomic<Timestamp> read, write;
  };
  static_assert(sizeof(Stamps) == kCellBytes);
  static Stamps& stamps_of(storage::Cell& cell) { return *(reinterpret_cast<Stamps*>(&cell) - 1); }

  // Returns true if the transaction with timestamp `t` has ended.
  bool has_ended(Timestamp t) const {
    return t <= safe_ || (Timestamps::worker_of(t) == worker_ ? Timestamps::without_flag(t) != mine_ : !all_->under_way(t));
  }
  // Returns the value to which a read by this transaction changes the read timestamp `read`. The
  // result equals `read` if `read` already covers this transaction.
  Timestamp raised_from(Timestamp read) const {
    if (Timestamps::without_flag(read) == mine_) return read;
    if (read > mine_) return read | Timestamps::kFlag;
    return mine_ | (has_ended_with_all(read) || ELIDER_MUTANT(kForgetOtherReaders) ? 0 : Timestamps::kFlag);
  }
  // Returns true if all readers that the read timestamp covers have certainly ended. May also
  // return false if they have ended, because this function does not read all slots.
  bool has_ended_with_all(Timestamp read) const { return read <= safe_ || ((read & Timestamps::kFlag) == 0 && has_ended(read)); }
  // Returns true if the write timestamp does not conflict with an access by this transaction.
  bool may_pass(Timestamp written) {
    if (written == mine_ || has_ended(written) || ELIDER_MUTANT(kPassUnsafeWrite)) [[likely]] return true;
    conflict_ = written;
    return false;
  }
  bool nobody_else_reads(Timestamp read) {
    if (read == mine_ || has_ended_with_all(read)) [[likely]] return true;
    if (ELIDER_MUTANT(kPassUnsafeRead)) return true;
    conflict_ = read;
    if ((read & Timestamps::kFlag) == 0) return false;
    if (Timestamps::without_flag(read) == mine_) {
      const Timestamp older = all_->oldest_up_to(mine_, worker_);
      if (older != 0) conflict_ = older;
      return older == 0;
    }
    return becomes_safe(read);
  }
  bool becomes_safe(Timestamp read) {
    all_->let_pass(read);
    safe_ = std::max(safe_, all_->safe(worker_));
    return read <= safe_;
  }

  // Returns the timestamp of the oldest running transaction that `t` covers, or 0 if all have
  // ended.
  Timestamp against(Timestamp t) {
    if ((t & Timestamps::kFlag) == 0) return has_ended(t) ? 0 : t;
    return becomes_safe(t) ? 0 : all_->oldest_up_to(t, worker_);
  }
  // Aborts the transaction `other` if it has exceeded its time limit, or if this transaction runs
  // alone. The time limit of an open transaction is counted from its begin, and the time limit of a
  // procedure from when this transaction began to wait for it (`waiting_since_ns`). Returns false
  // if the limit is not exceeded, or if the transaction is already committing.
  bool end_late(Timestamp other, uint64_t waiting_since_ns) {
    const uint64_t open_since_ns = all_->open_since(other);
    const bool late = alone_ || (open_since_ns != 0 ? now_ns() - open_since_ns >= patience_ns_
                                                    : now_ns() - waiting_since_ns >= all_->patience_with(other));
    return late && all_->end_other(other);
  }

  Timestamps* all_;
  const uint32_t worker_;
  const uint64_t patience_ns_;
  Timestamp mine_ = 0;
  Timestamp safe_ = 0;      // all transactions up to this timestamp have ended, except for this worker's own
  Timestamp conflict_ = 0;  // the timestamp that conflicted with the last claim
  bool waits_ = false;
  bool alone_ = false;
  bool under_way_ = false;
};

}  // namespace elider::txn
