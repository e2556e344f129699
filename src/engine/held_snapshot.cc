#include "engine/held_snapshot.h"

#include "engine/engine.h"

namespace elider {

namespace detail {

// The old one is let go outside of the lock: that may reclaim much.
bool HeldState::advance() {
  std::shared_ptr<const SnapshotHold> next;
  if (!engine_.hold_snapshot(Engine::WhenHalfDone::kGiveUp, &next).ok() || next == nullptr) return false;
  const std::lock_guard lock(mutex_);
  if (hold_->number < next->number) hold_.swap(next);  // else another thread has advanced it further
  return true;
}

}  // namespace detail

HeldSnapshot::HeldSnapshot() = default;
HeldSnapshot::HeldSnapshot(std::unique_ptr<detail::HeldState> state) : state_(std::move(state)) {}
HeldSnapshot::HeldSnapshot(HeldSnapshot&&) noexcept = default;
HeldSnapshot& HeldSnapshot::operator=(HeldSnapshot&&) noexcept = default;
HeldSnapshot::~HeldSnapshot() = default;

SnapshotNumber HeldSnapshot::number() const { return state_ != nullptr ? state_->hold()->number : 0; }
bool HeldSnapshot::advance() { return state_ != nullptr && state_->advance(); }
std::shared_ptr<const detail::SnapshotHold> HeldSnapshot::hold() const { return state_ != nullptr ? state_->hold() : nullptr; }

}  // namespace elider
