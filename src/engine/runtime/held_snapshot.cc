#include "engine/runtime/held_snapshot.h"

#include "engine/engine.h"

namespace elider {

namespace detail {

HeldState::Hold HeldState::hold() const {
  if (engine_.in_child()) return nullptr;
  const std::lock_guard lock(mutex_);
  return hold_;
}

// Old snapshots are released after the mutex is unlocked, because releasing a snapshot may reclaim
// much memory.
bool HeldState::advance() {
  if (engine_.in_child()) return false;
  Hold next, passed;
  const bool closed = engine_.hold_snapshot(Engine::WhenHalfDone::kLeave, &next).ok() && engine_.is_closed(next->number);
  const std::lock_guard lock(mutex_);
  const SnapshotNumber before = hold_->number;
  Hold& candidate = closed ? next : announced_;
  if (candidate != nullptr && candidate->number > before && (closed || engine_.is_closed(candidate->number))) hold_.swap(candidate);
  if (announced_ != nullptr && announced_->number <= hold_->number) passed.swap(announced_);
  if (!closed && announced_ == nullptr) announced_ = std::move(next);
  return hold_->number > before || closed;  // closed: another thread may have advanced to a newer snapshot
}

}  // namespace detail

HeldSnapshot::HeldSnapshot() = default;
HeldSnapshot::HeldSnapshot(std::unique_ptr<detail::HeldState> state) : state_(std::move(state)) {}
HeldSnapshot::HeldSnapshot(HeldSnapshot&&) noexcept = default;
HeldSnapshot& HeldSnapshot::operator=(HeldSnapshot&&) noexcept = default;
HeldSnapshot::~HeldSnapshot() = default;

SnapshotNumber HeldSnapshot::number() const {
  const std::shared_ptr<const detail::SnapshotHold> held = hold();
  return held != nullptr ? held->number : 0;
}
bool HeldSnapshot::advance() { return state_ != nullptr && state_->advance(); }
std::shared_ptr<const detail::SnapshotHold> HeldSnapshot::hold() const { return state_ != nullptr ? state_->hold() : nullptr; }

}  // namespace elider
