// elide(): lock elision (DBX, section 6.1; HyPer-HTM, section 3.3). A section runs as a region that
// reads its lock but does not take it. Only if the region fails does the section take the lock.
//
//   `region`    Begin, read the lock, run the body, commit. If the lock is held, abort with
//               kLockHeldCode.
//   `abort`     Wait until the lock is free, and retry as often as the policy allows for the cause.
//   `fallback`  Take the lock, run the body, release the lock.
//
// Why this excludes other threads: the lock's word is in the region's read set from the region's
// start to its end, so a thread that takes the lock aborts the region. Reading the lock only at the
// end ("lazily") would be unsafe, because until then the region could compute with data that the
// lock's holder has only partly written, and even jump to an address from such data.
//
// Not reentrant: a body must not start a section under the same lock. Thread safety: all threads
// may call it, each with its own body.
#pragma once

#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/spin.h"
#include "base/test_points.h"
#include "htm/backend.h"
#include "htm/code_pages.h"
#include "htm/emulated.h"
#include "htm/site.h"
#include "htm/status.h"

namespace elider::htm {

// The requirements on a lock. held() is called inside regions and must not take a lock itself.
template <class L>
concept ElidableLock = requires(const L& lock) {
  { lock.held() } -> std::same_as<bool>;
};

// Used instead of a lock by a section whose body itself checks the locks that it elides, such as
// the lock bits of the rows that a commit writes.
struct SubscribedWithin {
  static constexpr bool held() { return false; }
};

// The number of retries that one run of a section has left for each cause of an abort.
class Patience {
 public:
  Patience(const ElisionPolicy& policy, uint32_t height) {
    const uint32_t divisor = policy.less_for_tall_trees && height > 1 ? height : 1;
    conflicts_ = policy.conflict_aborts_max / divisor;
    capacity_ = policy.capacity_aborts_max / divisor;
    system_ = policy.system_aborts_max;
    lock_held_ = policy.lock_held_aborts_max;
  }
  // Called after an abort. Returns whether to retry.
  bool allows(Cause cause) {
    switch (cause) {
      case Cause::kConflict:
      case Cause::kRetry: return take(conflicts_);
      case Cause::kCapacity: return take(capacity_);
      case Cause::kLockHeld: return take(lock_held_);
      case Cause::kNested:
      case Cause::kSystem: return take(system_);
      case Cause::kExplicit:
      case Cause::kDebug: return false;  // a retry would abort again
    }
    return false;
  }

 private:
  static bool take(uint32_t& left) { return left != 0 && left-- != 0; }
  uint32_t conflicts_, capacity_, system_, lock_held_;
};

// Waits until the lock is free, because a region that starts earlier would abort immediately. If
// the lock is still not free after several hundred microseconds, returns false, and the caller
// should queue for the lock.
template <ElidableLock Lock>
bool wait_until_free(const Lock& lock) {
  if (!lock.held() || ELIDER_MUTANT(kSkipLockWait)) [[likely]] return true;
  Spin spin;
  while (lock.held()) {
    if (spin.sleeps() != 0) return false;
    spin.wait();
  }
  return true;
}

// The default `useful` of run_region(): every region that commits has done its work.
struct AlwaysUseful {
  template <class Value>
  constexpr bool operator()(const Value&) const {
    return true;
  }
};

// Runs body() as a region, with as many retries as the site's policy allows, and runs fallback() if
// no attempt commits. Both return the same type, by value. The body may run several times, but only
// one run takes effect. The region begins and ends in this stack frame. After the region has
// committed, useful(value) is called for the site's statistics. useful() returns false if the
// region did not do the section's work, but only found that the caller must do the work in another
// way.
template <Backend B, ElidableLock Lock, class Body, class Fallback, class Useful = AlwaysUseful>
auto run_region(Site& site, const Lock& lock, Body&& body, Fallback&& fallback, Useful&& useful = {}) -> decltype(body()) {
  using Value = decltype(body());
  static_assert(!std::is_void_v<Value>, "a section must return its result by value");
  if constexpr (B::kRunsRegions) {
    const ElisionPolicy& policy = site.policy();
    Site::Part& part = site.mine();
    if (part.tries(policy)) [[likely]] {
      std::optional<Patience> patience;  // created at the first abort, because it needs a division
      Cause cause = Cause::kLockHeld;
      do {
        if (!wait_until_free(lock)) break;
        const unsigned status = B::begin();
        if (status == kStarted) [[likely]] {
          if (!ELIDER_MUTANT(kSkipSubscription) && !ELIDER_MUTANT(kLazySubscription) && lock.held()) B::template abort<kLockHeldCode>();
          Value value = body();
          if (ELIDER_MUTANT(kLazySubscription) && lock.held()) B::template abort<kLockHeldCode>();
          if (!ELIDER_MUTANT(kSkipRegionEnd)) B::commit();
          part.committed(policy, useful(value));
          return value;
        }
        cause = decode(status);
        part.aborted(cause);
        if (!patience) patience.emplace(policy, site.height());
      } while (patience->allows(cause) || ELIDER_MUTANT(kUnboundedRetry));
      part.fell_back(policy);
      if constexpr (requires { requires B::kFetchesCode; })
        if (cause == Cause::kSystem) read_code_pages_now_and_then();
    }
  } else {
    site.mine().went_direct();
  }
  return fallback();
}

// Like run_region(), with a fallback that runs body() under the lock.
template <Backend B, ElidableLock Lock, class Body>
[[gnu::always_inline]] inline auto elide(Site& site, Lock& lock, Body&& body) -> decltype(body()) {
  return run_region<B>(site, lock, body, [&]() -> decltype(body()) {
    if (ELIDER_MUTANT(kHastyFallback) && lock.held()) return body();
    const std::lock_guard<Lock> held(lock);
    return body();
  });
}

}  // namespace elider::htm
