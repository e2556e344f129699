// The implementation of HeldSnapshot (elider/held_snapshot.h). A SnapshotHold owns a worker that is
// inside the epoch and whose reader's slot contains the snapshot number.
//
// Invariant: while a SnapshotHold exists, all versions that belong to its snapshot exist. Like any
// reader's slot, the slot makes commits keep the old versions that they replace
// (storage/snapshots.h). These versions are not freed, because the worker is inside the epoch. So a
// transaction that refers to the SnapshotHold can read the snapshot without a reader's slot of its
// own.
// Thread safety: a SnapshotHold is constant. All threads may use a HeldState.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "elider/held_snapshot.h"
#include "elider/snapshot_number.h"

namespace elider::detail {

class Engine;

struct SnapshotHold {
  SnapshotHold(uint64_t of_database, SnapshotNumber at) : database(of_database), number(at) {}
  virtual ~SnapshotHold() = default;
  SnapshotHold(const SnapshotHold&) = delete;
  SnapshotHold& operator=(const SnapshotHold&) = delete;

  const uint64_t database;
  const SnapshotNumber number;
};

class HeldState {
 public:
  HeldState(Engine& engine, std::shared_ptr<const SnapshotHold> hold) : engine_(engine), hold_(std::move(hold)) {}
  // Returns the current hold, or null in a forked child.
  std::shared_ptr<const SnapshotHold> hold() const;
  bool advance();

 private:
  using Hold = std::shared_ptr<const SnapshotHold>;
  Engine& engine_;
  mutable std::mutex mutex_;  // guards the rest
  Hold hold_;
  // A newer snapshot to which an earlier advance() could not switch, because calls that belong to
  // it were still running; or null. If these calls have ended, the next advance() switches to this
  // snapshot or to a newer one.
  Hold announced_;
};

}  // namespace elider::detail
