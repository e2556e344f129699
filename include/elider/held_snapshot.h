// HeldSnapshot: keeps one state of the database, so that any number of read-only transactions, in
// any threads, can read this state (DBX, section 5.4; DBX-TC, section 4.3: "closed" snapshots).
//
//   Result<HeldSnapshot> held = db->hold_snapshot();
//   Status status = db->run_read_only(first_page, {.snapshot = &*held});
//   status = db->run_read_only(next_page, {.snapshot = &*held});   // reads the same state
//   held->advance();                                                // moves to a newer state
//
// A transaction at a held snapshot never waits for calls of chopped procedures, whereas a
// transaction on the newest snapshot waits for incomplete calls. A transaction at a held snapshot
// reads the state as of the last successful advance(), so it may miss newer commits. Such
// transactions are therefore serializable, but not strictly serializable.
//
// Cost: while a snapshot is held, the first commit that overwrites a row must keep the row's old
// version, hardware transactions cannot write rows in place, and unused memory is not freed.
// Therefore, advance the snapshot regularly, or destroy it as soon as possible. The memory of a
// removed row is freed only several advances later. A held snapshot counts as an open transaction
// (Statistics::longest_active_us) and uses one to three of the Options::workers_max workers.
//
// Thread safety: all threads may call number() and advance() and run transactions at the snapshot
// concurrently. A thread may move or destroy a HeldSnapshot only while no other thread uses it. In
// a single-threaded database, only the thread that created the HeldSnapshot may use it.
// Lifetime: a transaction keeps the state at which it began, even if the HeldSnapshot advances or
// is destroyed. Destroy the HeldSnapshot before the database closes.
#pragma once

#include "elider/language.h"

#include <memory>

#include "elider/snapshot_number.h"

namespace elider {

namespace detail {
class HeldState;
struct SnapshotHold;
}  // namespace detail

class HeldSnapshot {
 public:
  HeldSnapshot();  // empty
  HeldSnapshot(HeldSnapshot&&) noexcept;
  HeldSnapshot& operator=(HeldSnapshot&&) noexcept;
  ~HeldSnapshot();
  explicit operator bool() const { return state_ != nullptr; }

  // The held state contains all commits up to this number, and no others. 0 if empty.
  SnapshotNumber number() const;
  // Moves to the newest snapshot without waiting. If the newest snapshot contains an incomplete
  // call of a chopped procedure, advance() tries an older snapshot instead: one that was the newest
  // at an earlier advance(). It moves to that snapshot if all calls in it are complete by now. If
  // neither move is possible, or if memory or workers are exhausted, advance() returns false and
  // does not move. Running transactions keep the old state.
  bool advance();

  // Used by the engine. Null if empty.
  std::shared_ptr<const detail::SnapshotHold> hold() const;

 private:
  friend class Database;
  explicit HeldSnapshot(std::unique_ptr<detail::HeldState> state);
  std::unique_ptr<detail::HeldState> state_;
};

}  // namespace elider
