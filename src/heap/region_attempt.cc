#include "heap/region_attempt.h"

#include "base/test_points.h"
#include "heap/attempt.h"
#include "heap/inside.h"
#include "htm/detect.h"
#include "htm/suspension.h"
#include "htm/test_points.h"

#if defined(ELIDER_EMULATOR)
#include "htm/emulator.h"
#endif

namespace elider::heap {

using detail::HeapAttempt;
using htm::Suspension;

namespace {

constexpr uint32_t kLooksMax = 10000;  // number of checks for active readers while reads are suspended: about 100 microseconds

// Runs the procedure, and returns true if it succeeded. If the procedure throws, the abort in the
// catch block undoes everything that the region has written, including the C++ runtime's data for
// the exception.
template <class B>
[[gnu::noinline]] bool succeeds(HeapAttempt& attempt, FunctionRef<Status(HeapTransaction&)> procedure) {
  try {
    HeapTransaction txn = attempt.transaction();
    return procedure(txn).ok() && attempt.doom().ok();
  } catch (...) {
    B::template abort<kSoftwareCode>();
    throw;
  }
}

// Assigns the region's number and waits for readers, in the order that the backend requires. Called
// between the region's last access to the heap and its commit.
template <class B>
void wait_and_number(HeapAttempt& attempt) {
  Slots& slots = attempt.heap().slots();
  const uint32_t slot = attempt.slot();
  if constexpr (B::kSuspends == Suspension::kAll) {
    B::suspend();
    slots.end(slot);
    slots.say(slot, Phase::kDeciding, slots.clock());
    const uint64_t number = attempt.window().number = slots.take_number();
    ELIDER_TEST_POINT("heap.region.deciding");
    if (!ELIDER_MUTANT(kHeapRegionLateStamp)) slots.say(slot, Phase::kWritten, number);
    ELIDER_TEST_POINT("heap.region.numbered");
    attempt.log_in_window();
    slots.wait_for_isolation(slot, number);
    ELIDER_TEST_POINT("heap.region.isolated");
    if (ELIDER_MUTANT(kHeapRegionLateStamp)) slots.say(slot, Phase::kWritten, slots.clock());
    B::track();
  } else {
    if constexpr (B::kSuspends == Suspension::kLoads) B::suspend_loads();
    const uint64_t seen = slots.clock();
    // The loop must not use PAUSE, which aborts a region on every processor.
    uint32_t looks = B::kSuspends == Suspension::kLoads ? kLooksMax : 0;
    while (!ELIDER_MUTANT(kHeapSkipIsolationWait) && !slots.no_reader_since(seen)) {
      if (looks-- == 0) B::template abort<kReadersCode>();
    }
    if constexpr (B::kSuspends == Suspension::kLoads) B::track();
    ELIDER_TEST_POINT("heap.region.isolated");
    attempt.window().number = slots.take_number_in_region();
    // Under kTotal (SPHT's wait), transactions wait for all smaller numbers, so the state contains
    // the number itself, and transactions with smaller numbers do not wait for this one.
    const bool says_number = attempt.heap().options().wait == HeapWait::kTotal || ELIDER_MUTANT(kHeapRegionSaysNumber);
    slots.say(slot, Phase::kWritten, says_number ? attempt.window().number : seen);
  }
}

// The region must end in the stack frame in which it began.
template <htm::SuspendingBackend B>
unsigned run_in_region(HeapAttempt& attempt, FunctionRef<Status(HeapTransaction&)> procedure, Status* status) {
  constexpr bool kIsActive = B::kSuspends == Suspension::kAll;
  attempt.begin_region(kIsActive, [] { B::template abort<kSoftwareCode>(); });
  const unsigned started = B::begin();
  if (started != htm::kStarted) {
    attempt.end_aborted_region();
    return started;
  }
  if (attempt.heap().slots().somebody_runs_alone()) B::template abort<htm::kLockHeldCode>();
  if constexpr (kIsActive)
    if (attempt.heap().options().isolation == HeapIsolation::kSnapshot) B::suspend_loads();
  if (!succeeds<B>(attempt, procedure)) B::template abort<kSoftwareCode>();
  if (attempt.has_written_in_region()) {
    wait_and_number<B>(attempt);
  } else if constexpr (kIsActive) {
    B::track();
  }
  B::commit();
  *status = attempt.conclude_region(kIsActive);
  return htm::kStarted;
}

template <htm::SuspendingBackend B>
Regions regions_of(const char* name) {
  htm::leave_regions_at_test_points<B>();
  return {&run_in_region<B>, name};
}

#if defined(ELIDER_EMULATOR)
Regions emulated_regions() {
  switch (emulator::options().suspension) {
    case emulator::Suspension::kNone: return regions_of<htm::EmulatedSuspending<Suspension::kNone>>("emulated regions");
    case emulator::Suspension::kLoads: return regions_of<htm::EmulatedSuspending<Suspension::kLoads>>("emulated regions, reads suspended");
    case emulator::Suspension::kAll: return regions_of<htm::EmulatedSuspending<Suspension::kAll>>("emulated regions, suspended");
  }
  return {};
}
#endif

}  // namespace

Status choose_regions(const HeapOptions& options, Regions* regions) {
  switch (options.backend) {
    case HtmBackend::kAutomatic:
    case HtmBackend::kNone: *regions = {}; return {};
    case HtmBackend::kAlwaysAborts: *regions = regions_of<htm::AlwaysAbortsSuspending>("regions that abort"); return {};
    case HtmBackend::kRtm:
#if ELIDER_HAVE_RTM
      if (htm::rtm_instructions_exist()) {
        *regions = htm::detect().tsxldtrk && options.suspended_reads ? regions_of<htm::RtmLoads>("RTM, reads suspended")
                                                                     : regions_of<htm::RtmAlone>("RTM");
        return {};
      }
#endif
      return Status(Code::kUnsupported,
                    "HeapOptions::backend is 'rtm', but this processor does not have the RTM instructions: " + htm::detect().reason);
    case HtmBackend::kEmulated:
#if defined(ELIDER_EMULATOR)
      *regions = emulated_regions();
      return {};
#else
      return Status(Code::kUnsupported, "HeapOptions::backend is 'emulated', but this build does not include the emulator");
#endif
  }
  return Status::invalid_argument("HeapOptions::backend is " + std::to_string(static_cast<int>(options.backend)) +
                                  ", which is not a backend");
}

}  // namespace elider::heap
