// What a HeldSnapshot (elider/held_snapshot.h) is made of: a worker that is inside, and whose
// reader's slot has the number at which others read.
//
// Invariant: as long as a SnapshotHold lives, what a reader at its number needs is there. Its slot
// makes commits keep old versions for it, as for any reader (storage/snapshots.h), and its worker's
// stay keeps them from being freed. So a transaction that has a reference reads at that number
// without a slot of its own.
// Thread safety: a SnapshotHold is constant; HeldState all.
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
  // Null in a forked child.
  std::shared_ptr<const SnapshotHold> hold() const;
  bool advance();

 private:
  using Hold = std::shared_ptr<const SnapshotHold>;
  Engine& engine_;
  mutable std::mutex mutex_;  // guards the rest
  Hold hold_;
  // The snapshot that an advance() has announced because it had half-done calls; or null. So each
  // advance() moves at least to the snapshot that the one before it announced, as soon as the calls
  // of that time have ended.
  Hold announced_;
};

}  // namespace elider::detail
