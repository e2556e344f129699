// HeldSnapshot: a state of the database that stays, for as many read-only transactions, in as many
// threads, as shall see the same (DBX, section 5.4; DBX-TC, section 4.3: "closed" snapshots).
//
//   Result<HeldSnapshot> held = db->hold_snapshot();
//   Status status = db->run_read_only(first_page, {.snapshot = &*held});
//   status = db->run_read_only(next_page, {.snapshot = &*held});   // of the same state
//   held->advance();                                                // on to a newer one
//
// A transaction at a held snapshot waits for no call of a chopped procedure; one on the newest
// snapshot waits for those that are half done. What it sees is as old as the last advance() that
// moved, so such transactions are serializable, but not strictly.
//
// What it costs: while it is held, commits keep the old version of each row that they overwrite for
// the first time since, no region writes rows in place, and no memory that was given up since is
// freed. So advance it, or let it go; a removed row's memory is free several advances later. It
// counts as an open transaction (Statistics::longest_active_us) and takes one to three of
// Options::workers_max.
//
// Thread safety: number() and advance() may be called, and transactions run at it, by all threads
// at once; moving it, and letting it go, is for one thread while no other uses it. On a
// single-threaded database all of it is for the thread that made it. A transaction keeps the state
// that it began at, whatever becomes of the HeldSnapshot. Let it go before the database closes.
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
  HeldSnapshot();  // none
  HeldSnapshot(HeldSnapshot&&) noexcept;
  HeldSnapshot& operator=(HeldSnapshot&&) noexcept;
  ~HeldSnapshot();
  explicit operator bool() const { return state_ != nullptr; }

  // Holds all commits up to this number, and no others. 0: none is held.
  SnapshotNumber number() const;
  // On to the newest snapshot, without a wait. Where a call of a chopped procedure that belongs to
  // it is half done: on to the one that was the newest at an earlier advance(), once that has no
  // such call. False: it stays where it was, since neither could be had, or for want of memory or
  // of a worker. Transactions that run at the old state go on there.
  bool advance();

  // For the engine. Null: none is held.
  std::shared_ptr<const detail::SnapshotHold> hold() const;

 private:
  friend class Database;
  explicit HeldSnapshot(std::unique_ptr<detail::HeldState> state);
  std::unique_ptr<detail::HeldState> state_;
};

}  // namespace elider
