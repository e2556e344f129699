// DirectPiece: runs the core and the tail of a chopped procedure's call as one hardware transaction
// (a region). The region reads and writes rows in place (DBX-TC, sections 3 and 4, "direct
// execution").
//
// The hardware tracks what the region reads and writes, so the region does not use a read set,
// locks or validation. Core and tail share a region, because the tail is too short to be worth a
// separate one. If a region is impossible or keeps failing, the call falls back to locking, as it
// does without regions (chopped.h). The fallback sets the lock bits of its rows. The fallback does
// not need another lock, because a region checks the lock bit of each cell that it reads or writes.
// The region aborts if the bit is set, or if another thread sets it later.
//
// Why it is serializable: a region takes effect at one instant. At its end it reads the snapshot
// number S and the readers' slots. So it is like commit_at_once() in
// txn/read_write/commit_region.h, with one difference: the reads themselves are inside the region,
// so they need not be validated. What txn/read_write/commit_region.h says about S, the readers and
// the log also holds for this region. A thread that validates or reads a snapshot outside of
// regions sees the commit words as they were before or after the region.
//
// Normally a row is written in place immediately, together with the region's snapshot number and
// the next commit word (PieceInRegion::in_place). A write is kept in the write set until the end of
// the region in these cases: there is a log; a history is recorded; a snapshot reader may need an
// old version; the row is stored as a block; or the table has secondary indexes. In each of these
// cases, the commit at the end of the region needs the write set.
//
// The number S is read before the region. If the region itself read S at its start, every new
// snapshot would abort it. Therefore, if a region has written in place, it checks at its end that S
// still has that value and that there is not a new reader. Otherwise it aborts. The space for the
// log record is reserved before the region begins. The record is written after the region, and is
// announced as described in commit_region.h.
//
// Thread safety: none. The object belongs to one worker.
#pragma once

#include <algorithm>

#include "htm/elide.h"
#include "txn/chopping/execution.h"
#include "txn/chopping/piece.h"
#include "txn/chopping/piece_transaction.h"
#include "txn/read_write/transaction.h"

namespace elider::txn {

template <class Sync, htm::Backend B>
class DirectPiece final : public ReadWriteTransaction<Sync, PieceInRegion<B, PieceTransaction<Sync>>> {
  using Base = ReadWriteTransaction<Sync, PieceInRegion<B, PieceTransaction<Sync>>>;
  using typename Base::State;

 public:
  DirectPiece(Store& store, Worker& worker, Counters& counters)
      : Base(store, worker, counters, nullptr), record_bytes_(std::min<size_t>(16 << 10, store.options.log_buffer_bytes / 8)) {
    claims_.piece = true;
  }

  // Allocates the memory that a region uses. Called before each run, because an aborted region
  // undoes its own allocations, and the next region would have to repeat them. May throw
  // std::bad_alloc.
  void make_room(const Execution& execution) {
    constexpr size_t kWrites = 64, kAdditions = 16;  // not more, because a larger table of positions occupies more cache lines
    constexpr size_t kOperations = 256;
    this->recorder_.make_room(kOperations);  // needed for each call, because the history sink takes the memory
    if (has_room_) [[likely]]
      return;
    writes_.make_room(kWrites, kAdditions);
    this->index_entries_.make_room(kWrites);
    for (const TableRef& table : execution.tables) this->hints_.make_room(static_cast<typename Base::TableType&>(*table.base()));
    has_room_ = true;
  }

  void set_adds(bool adds) { claims_.adds_in_order = adds; }
  // Like PieceTransaction::bind(). The call must not be a publisher.
  void bind(const Publications* subscribed, Publications* late) {
    claims_.subscribed = subscribed;
    claims_.late = late;
    this->recorder_.answers_later(late != nullptr);
  }
  void answered() { this->recorder_.answered(); }

  // Runs the operations in a region that also commits them. Returns false if the operations did not
  // take effect; the call must then run without a region. `head` is the transaction that ran the
  // call's head, or null. In the history, the head's reads come first.
  template <class Operations>
  bool run(htm::Site& site, uint32_t procedure, PieceTransaction<Sync>* head, const Operations& operations) {
    this->begin(1, procedure);
    claims_.head = head;
    claims_.call = (claims_.call + 1) % kCallsMax;
    this->image_in_place_ = nullptr;
    if (store_.log != nullptr) [[unlikely]] {
      if (Status status = store_.log->reserve(worker_.id(), record_bytes_, &this->log_place_); !status.ok()) [[unlikely]]
        return forget();
      store_.log->begin_commit(worker_.id());
    }
    Committed committed;
    for (int tries = 0;; ++tries) {
      prepare();
      if (claims_.misses_publisher(claims_.number)) [[unlikely]]
        break;
      committed = htm::run_region<B>(
          site, htm::SubscribedWithin{}, [&]() -> Committed { return run_in_region(operations); }, []() -> Committed { return {}; });
      if (committed.n != 0 || tries == kNumbersMax || store_.snapshots.current() == claims_.number) [[likely]]
        break;
    }
    if (committed.n == 0) [[unlikely]] {
      if (store_.log != nullptr) [[unlikely]]
        store_.log->end_commit(worker_.id());
      return forget();
    }
    if (store_.log != nullptr) [[unlikely]]
      this->publish(committed.n);
    for (const WriteEntry& write : writes_) {
      if (write.version != nullptr) [[unlikely]]
        retire_version(worker_, write.version);
      count_row(this->counters_, write);
    }
    for (uint32_t i = 0; i < claims_.inserted_tables; ++i)
      this->counters_.tables[claims_.inserted[i].table].rows.add(claims_.inserted[i].rows);
    if (head != nullptr) head->give_reads_to(this->recorder_);
    this->count_committed_by(CommittedBy::kRegion);
    static_cast<void>(this->finish(committed.n, committed.order, committed.newest_reader));
    return true;
  }

 private:
  struct Committed {
    SnapshotNumber n = 0;  // 0: the region has not committed
    uint64_t order = 0;
    SnapshotNumber newest_reader = 0;
  };
  using Base::claims_;
  using Base::store_;
  using Base::worker_;
  using Base::writes_;

  [[noreturn]] static void decline() {
    B::template abort<kUnsuitedForRegion>();
    __builtin_unreachable();
  }

  // Reads the number before the region, so that the begin or end of a snapshot does not abort the
  // region. write_all() checks the number again at the end of the region.
  void prepare() {
    claims_.number = store_.snapshots.current();
    claims_.in_place = store_.log == nullptr && !this->recorder_.on() &&
                       (store_.snapshots.newest_reader_before(claims_.number, store_.workers.ids_used_max()) == 0 ||
                        ELIDER_MUTANT(kForgetReadersInRegion));
    claims_.inserted_tables = 0;
  }

  template <class Operations>
  [[gnu::always_inline]] inline Committed run_in_region(const Operations& operations) {
    try {
      if (!operations(*this).ok() || this->state_ != State::kActive || this->image_in_place_ != nullptr) [[unlikely]]
        decline();
    } catch (...) {
      decline();
    }
    return write_all();
  }

  Committed write_all() {
    for (const auto& change : this->index_entries_)
      if (change.has_old) [[unlikely]]
        decline();  // listing old entries requires a mutex, which a region cannot acquire
    for (WriteEntry& write : writes_) {
      if (write.kind == WriteKind::kNone) continue;
      const uint64_t w = this->unlocked_in_region(*write.cell);
      if (word::removed(w) || (word::absent(w) && write.kind != WriteKind::kPresent)) [[unlikely]]
        decline();
      write.locked_from = w;
    }
    if (!this->prepare_blocks()) [[unlikely]]
      decline();
    if (store_.log != nullptr && record_bytes_max(writes_) > record_bytes_) [[unlikely]]
      decline();
    Committed committed;
    committed.n = store_.snapshots.current();
    if (claims_.adds_in_order && store_.snapshots.call_before(committed.n - 1, worker_.id()) && !ELIDER_MUTANT(kAddBeforeOlder))
        [[unlikely]]
      decline();  // a call with a smaller number is running, and the addition must wait for it
    committed.newest_reader = store_.snapshots.newest_reader_before(committed.n, store_.workers.ids_used_max());
    if (ELIDER_MUTANT(kForgetReadersInRegion)) committed.newest_reader = 0;
    if (claims_.in_place && (committed.n != claims_.number || committed.newest_reader != 0)) [[unlikely]]
      decline();
    if (claims_.subscribed != nullptr && committed.n != claims_.number) [[unlikely]]
      decline();  // a publisher may have been listed below the call's number by now
    if (committed.newest_reader != 0 && !this->prepare_versions(committed.newest_reader)) [[unlikely]]
      decline();
    if (this->recorder_.on()) [[unlikely]] {
      if (claims_.late == nullptr) committed.order = store_.commit_order.fetch_add(1);
      else if (!claims_.late->place_in_region(&committed.order)) decline();
    }
    for (WriteEntry& write : writes_) {
      if (write.kind == WriteKind::kNone) continue;
      if (write.version != nullptr) [[unlikely]]
        link_version(write);
      if (write.kind != WriteKind::kRemove) write_payload(worker_, write);
      write.cell->set_snapshot(committed.n);
      write.cell->unlock(word::next(write.locked_from, write.kind == WriteKind::kRemove));
    }
    return committed;
  }

  // Discards the records of a region that did not commit.
  bool forget() {
    this->end();
    return false;
  }

  static constexpr int kNumbersMax = 4;  // how often the number may change before the call runs without a region
  static constexpr uint32_t kCallsMax = 1u << (32 - kTableBits);  // see read_index_of()

  const size_t record_bytes_;  // the space reserved for a log record
  bool has_room_ = false;
};

}  // namespace elider::txn
