// HeldSnapshot: a state of the database that stays, for as many read-only transactions, in as many
// threads, as shall see the same (DBX, section 5.4; DBX-TC, section 4.3: "closed" snapshots).
//
//   Result<HeldSnapshot> held = db->hold_snapshot();
//   Status status = db->run_read_only(first_page, {.snapshot = &*held});
//   status = db->run_read_only(next_page, {.snapshot = &*held});   // of the same state
//   held->advance();                                                // on to a newer one
//
// A transaction at a held snapshot waits for nobody: one on the newest snapshot waits for the calls
// of chopped procedures that are half done. What it sees is as old as the last advance(), so such
// transactions are serializable, but not strictly.
//
// While it is held, commits keep the old version of each row that they overwrite for the first time
// since, and no memory that was given up since is freed: advance it, or let it go. It takes one of
// Options::workers_max.
//
// Thread safety: number() and advance() may be called, and transactions run at it, by all threads
// at once. It is let go before the database closes, and outlives no run that it was given to; an
// ActiveTransaction keeps the state that it began at.
#pragma once

#include "elider/language.h"

#include <memory>
#include <utility>

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
  // On to the newest snapshot, unless a call of a chopped procedure that belongs to it is half
  // done. It never waits for one. False: it stays where it was; or there is no memory or worker to
  // hold a second one, which it does for an instant. Transactions that run at the old state go on
  // there.
  bool advance();

  // For the engine. Null: none is held.
  std::shared_ptr<const detail::SnapshotHold> hold() const;

 private:
  friend class Database;
  explicit HeldSnapshot(std::unique_ptr<detail::HeldState> state);
  std::unique_ptr<detail::HeldState> state_;
};

}  // namespace elider
