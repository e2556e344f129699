// Site: a place in the code that executes hardware transactions (regions). It counts the outcomes
// of its regions, and decides whether regions are still worthwhile.
//
// Each thread counts in its own Part, before or after a region and never inside. Threads thus do
// not share the cache lines of counters, and counting does not enlarge a region. Sums are exact
// when no thread runs regions, and approximate otherwise.
//
// If regions are not worthwhile, the site turns itself off, separately for each thread, and tries
// again later (elider/elision.h). It is not a lock. Thread safety: all threads may call all
// functions. set_policy() must be called before any other function; set_height() may be called at
// any time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "elider/elision.h"
#include "htm/status.h"

namespace elider::htm {

static_assert(kCauses == kRegionCauseCount);

// The number of Parts. Each of the first threads counts in a Part of its own; all others share the
// last one.
inline constexpr uint32_t kParts = 16;
inline constexpr uint32_t kSharedPart = kParts - 1;
inline constexpr uint32_t kNoPart = ~uint32_t{0};
namespace detail {
inline constinit thread_local uint32_t part_of_thread = kNoPart;
uint32_t assign_part();  // sets part_of_thread; the part is released when the thread ends
}  // namespace detail

struct SiteCounts {
  uint64_t commits = 0;    // runs whose region committed and did the run's work
  uint64_t in_vain = 0;    // runs whose region committed, but only found that the work requires another region or a lock
  uint64_t fallbacks = 0;  // runs that tried a region and then took the lock
  uint64_t direct = 0;     // runs that took the lock without trying a region, because they were too large or the site was off
  std::array<uint64_t, kCauses> aborts{};
  // Returns the number of regions that began.
  uint64_t attempts() const {
    uint64_t sum = commits + in_vain;
    for (uint64_t count : aborts) sum += count;
    return sum;
  }
  void add(const SiteCounts& other) {
    commits += other.commits;
    in_vain += other.in_vain;
    fallbacks += other.fallbacks;
    direct += other.direct;
    for (size_t i = 0; i < kCauses; ++i) aborts[i] += other.aborts[i];
  }
};

class Site {
 public:
  // The counters of one thread. All accesses are relaxed, because the counters do not order other
  // memory accesses.
  class alignas(kCacheLinePairBytes) Part {
   public:
    // Returns whether this run should try a region. If not, counts the run as direct.
    bool tries(const ElisionPolicy& policy) {
      if (off_left_.load(std::memory_order_relaxed) == 0) [[likely]] return true;
      run_off(policy);
      return false;
    }
    // `useful` says whether the region did the run's work. If it did not, the run counts as a
    // failure, like a run whose regions aborted.
    void committed(const ElisionPolicy& policy, bool useful) {
      bump(useful ? commits_ : in_vain_);
      if (policy.window_runs != 0) end_run(policy, useful);
    }
    void aborted(Cause cause) { bump(aborts_[static_cast<size_t>(cause)]); }
    void fell_back(const ElisionPolicy& policy) {
      bump(fallbacks_);
      if (policy.window_runs != 0) end_run(policy, false);
    }
    void went_direct() { bump(direct_); }
    bool off() const { return off_left_.load(std::memory_order_relaxed) != 0; }
    void add_to(SiteCounts& counts) const;

   private:
    friend class Site;
    void bump(std::atomic<uint64_t>& count) {
      if (shared_) [[unlikely]] {
        count.fetch_add(1, std::memory_order_relaxed);
      } else {
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    }
    // Threads that share a Part may lose updates of the window counters, which is harmless.
    void end_run(const ElisionPolicy& policy, bool in_region) {
      const uint32_t runs = window_runs_.load(std::memory_order_relaxed) + 1;
      const uint32_t good = window_good_.load(std::memory_order_relaxed) + (in_region ? 1 : 0);
      window_runs_.store(runs, std::memory_order_relaxed);
      window_good_.store(good, std::memory_order_relaxed);
      const uint32_t length = window_length_.load(std::memory_order_relaxed);
      if (runs >= (length != 0 ? length : policy.window_runs)) [[unlikely]] end_window(policy, runs, good);
    }
    void end_window(const ElisionPolicy& policy, uint32_t runs, uint32_t good);
    void run_off(const ElisionPolicy& policy);

    std::atomic<uint64_t> commits_{0}, in_vain_{0}, fallbacks_{0}, direct_{0};
    std::array<std::atomic<uint64_t>, kCauses> aborts_{};
    std::atomic<uint32_t> window_runs_{0}, window_good_{0};
    std::atomic<uint32_t> window_length_{0};  // 0: the policy's window length
    std::atomic<uint32_t> off_left_{0};    // number of further runs that will not try a region
    std::atomic<uint32_t> off_doubled_{0};  // how often the number of runs without regions has been doubled
    bool shared_ = false;                  // constant
  };
  static_assert(sizeof(Part) == kCacheLinePairBytes);

  Site() { parts_[kSharedPart].shared_ = true; }
  explicit Site(const ElisionPolicy& policy) : Site() { set_policy(policy); }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // `policy` must outlive the site. Must be called before the first run.
  void set_policy(const ElisionPolicy& policy) { policy_ = &policy; }
  const ElisionPolicy& policy() const { return *policy_; }

  // The height of the tree in which the site's regions descend. relaxed: it is only a hint.
  void set_height(uint32_t height) { height_.store(height, std::memory_order_relaxed); }
  uint32_t height() const { return height_.load(std::memory_order_relaxed); }

  Part& mine() {
    const uint32_t part = detail::part_of_thread;
    return parts_[part != kNoPart ? part : detail::assign_part()];
  }
  SiteCounts counts() const;

 private:
  static const ElisionPolicy kDefaultPolicy;
  const ElisionPolicy* policy_ = &kDefaultPolicy;
  std::atomic<uint32_t> height_{1};
  std::array<Part, kParts> parts_;
};

}  // namespace elider::htm
