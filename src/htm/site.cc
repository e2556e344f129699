#include "htm/site.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace elider {

std::string_view region_cause_name(size_t cause) {
  return cause < kRegionCauseCount ? htm::name_of(static_cast<htm::Cause>(cause)) : "?";
}

namespace htm {

const ElisionPolicy Site::kDefaultPolicy;

namespace detail {

namespace {

std::mutex parts_mutex;  // a leaf lock; guards parts_free
uint32_t parts_free = (1u << kSharedPart) - 1;

// Releases the thread's part when the thread ends. Code that runs in the thread after that uses the
// shared part.
struct PartReturn {
  uint32_t part;
  ~PartReturn() {
    part_of_thread = kSharedPart;
    if (part == kSharedPart) return;
    const std::lock_guard lock(parts_mutex);
    parts_free |= 1u << part;
  }
};

uint32_t take_part() {
  const std::lock_guard lock(parts_mutex);
  if (parts_free == 0) return kSharedPart;
  const auto part = static_cast<uint32_t>(std::countr_zero(parts_free));
  parts_free &= parts_free - 1;
  return part;
}

}  // namespace

uint32_t assign_part() {
  thread_local const PartReturn mine{take_part()};
  part_of_thread = mine.part;
  return mine.part;
}

}  // namespace detail

void Site::Part::add_to(SiteCounts& counts) const {
  counts.commits += commits_.load(std::memory_order_relaxed);
  counts.in_vain += in_vain_.load(std::memory_order_relaxed);
  counts.fallbacks += fallbacks_.load(std::memory_order_relaxed);
  counts.direct += direct_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < kCauses; ++i) counts.aborts[i] += aborts_[i].load(std::memory_order_relaxed);
}

SiteCounts Site::counts() const {
  SiteCounts counts;
  for (const Part& part : parts_) part.add_to(counts);
  return counts;
}

void Site::Part::end_window(const ElisionPolicy& policy, uint32_t runs, uint32_t good) {
  constexpr uint32_t kDoublingsMax = 6;
  window_runs_.store(0, std::memory_order_relaxed);
  window_good_.store(0, std::memory_order_relaxed);
  window_length_.store(0, std::memory_order_relaxed);
  if (uint64_t{good} * 100 >= uint64_t{runs} * policy.poor_percent) {
    off_doubled_.store(0, std::memory_order_relaxed);
    return;
  }
  const uint32_t doubled = off_doubled_.load(std::memory_order_relaxed);
  off_left_.store(policy.off_runs << doubled, std::memory_order_relaxed);
  off_doubled_.store(std::min(doubled + 1, kDoublingsMax), std::memory_order_relaxed);
}

// The first window after a period without regions is short: if regions still do not succeed, all
// attempts in that window are wasted.
void Site::Part::run_off(const ElisionPolicy& policy) {
  constexpr uint32_t kProbeRuns = 16;
  bump(direct_);
  const uint32_t left = off_left_.load(std::memory_order_relaxed);
  if (left == 0) return;  // another thread has counted down the shared part meanwhile
  off_left_.store(left - 1, std::memory_order_relaxed);
  if (left == 1) window_length_.store(std::min(policy.window_runs, kProbeRuns), std::memory_order_relaxed);
}

}  // namespace htm
}  // namespace elider
