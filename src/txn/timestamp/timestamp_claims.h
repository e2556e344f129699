// TimestampClaims: the read and write timestamps of HyPer-HTM (sections 4.1 to 4.3) on each commit
// group of a row.
//
// The write timestamp names the transaction that has written the group last, or is about to; the
// read timestamp the youngest that has read it. A reader raises the read timestamp, then looks at
// the write timestamp. A writer sets the write timestamp, then looks at the read timestamp. Either
// goes on only if what it finds there is its own, or of transactions that have ended. So if a
// reader and a writer meet, at least one of them sees the other. Where a hardware transaction runs,
// both steps are one instant: beside another's two steps it is before the first, and is seen by the
// second, or behind it, and sees it.
//
// Invariant: a group that a transaction under way has claimed for reading is written by nobody
// else, and one that it has claimed for writing is read and written by nobody else, until it ends.
// So transactions are serializable in the order of their commits, which is that of their numbers,
// and a transaction reads nothing that is not committed.
//
// What counts as ended:
//   write timestamp   one transaction, which is under way or is not: its slot says so
//   read timestamp    without its flag, the only reader that may be under way: the same. With it
//                     others may be that have a smaller one: then it must be safe. Its own with the
//                     flag: then no older transaction may be under way, for a younger reader would
//                     have raised it
// Whoever reads a group raises its read timestamp, with the flag unless the earlier one has ended;
// and who is older than the one that stands there sets the flag.
//
// Deviations from the paper. It compares with the safe timestamp alone; of its relaxations (section
// 4.3, an older transaction that has ended is no conflict) this takes those that the slots make
// exact. It lets a transaction write what it has read itself, which overwrites what an older one
// has read that is hidden behind it; then snapshots and the log would see the two in the wrong
// order: the flag is for that. New bytes wait for the commit beside the row, as other protocols'
// do: the program may write to an update's row until then, which readers of snapshots would see in
// part. Phantoms are found by the leaves' versions at the commit (txn/read_write), and not by a
// read timestamp of the leaf: a scan writes to no leaf.
//
// Thread safety: one transaction's; the timestamps of a row are shared.
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/spin.h"
#include "base/worker.h"
#include "storage/record.h"
#include "txn/timestamp/timestamps.h"

namespace elider::txn {

// kReadsToo: else reads are validated at the commit, as those of the optimistic protocol are: the
// variant that the paper leaves to future work.
template <bool kReadsToo>
class TimestampClaims {
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
    stamps.write.compare_exchange_strong(mine, written);  // unless somebody has ended this one, and claimed the group
    return false;
  }
  // The same within a hardware transaction, in which both steps are one. False: ask outside of it.
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

  // A procedure can run again, and does not wait; but it ends an open transaction whose time is
  // over. One that has itself been ended ends nobody.
  bool await() {
    if (!stand()) return false;
    if (waits_ || alone_) {
      await_end();
      return stand();
    }
    while (const Timestamp other = against(conflict_))
      if (!all_->open_since(other) || !end_late(other, 0)) return false;
    return true;
  }
  // Waits until the transaction that stood against the last claim has ended, and ends it when its
  // time is over. A procedure calls this between two attempts. False: it had not ended at
  // `until_ns` (0: no bound).
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
  // Nobody has ended it.
  bool stand() const { return all_->under_way(mine_); }
  void stays_open() {
    waits_ = true;
    all_->set_open_since(worker_, now_ns());
  }
  // A transaction that runs alone ends whatever stands against it at once, and is itself waited for
  // for so long.
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

  // The one that it names.
  bool has_ended(Timestamp t) const {
    return t <= safe_ || (Timestamps::worker_of(t) == worker_ ? Timestamps::without_flag(t) != mine_ : !all_->under_way(t));
  }
  // What this reader makes of a read timestamp: the same where it says already that it reads.
  Timestamp raised_from(Timestamp read) const {
    if (Timestamps::without_flag(read) == mine_) return read;
    if (read > mine_) return read | Timestamps::kFlag;
    return mine_ | (has_ended_with_all(read) || ELIDER_MUTANT(kForgetOtherReaders) ? 0 : Timestamps::kFlag);
  }
  // And all that it stands for, as far as is known without a look at all slots.
  bool has_ended_with_all(Timestamp read) const { return read <= safe_ || ((read & Timestamps::kFlag) == 0 && has_ended(read)); }
  // Of a write timestamp.
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

  // The oldest that stands against it, or 0.
  Timestamp against(Timestamp t) {
    if ((t & Timestamps::kFlag) == 0) return has_ended(t) ? 0 : t;
    return becomes_safe(t) ? 0 : all_->oldest_up_to(t, worker_);
  }
  // Ends it if it has had its time, which for a procedure begins when somebody waits for it. False:
  // it has not, or it is committing.
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
  Timestamp safe_ = 0;      // this and all before it have ended, but for its own
  Timestamp conflict_ = 0;  // what stood against the last claim
  bool waits_ = false;
  bool alone_ = false;
  bool under_way_ = false;
};

}  // namespace elider::txn
