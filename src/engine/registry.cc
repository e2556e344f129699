#include "engine/registry.h"

#include <utility>

#include "elider/hardware.h"
#include "engine/engine.h"
#include "htm/detect.h"
#include "htm/rtm.h"

namespace elider::detail {

std::span<const Combination> registry() {
  static constexpr Combination kCombinations[] = {
#if defined(ELIDER_ENGINE_OPTIMISTIC)
      {SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kOcc, make_optimistic},
      {SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kSerial, make_optimistic},
      {SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kPartitioned, make_optimistic},
#endif
#if defined(ELIDER_ENGINE_LATCHED)
      {SyncPolicy::kLatched, HtmBackend::kNone, Protocol::kOcc, make_latched},
#endif
#if defined(ELIDER_ENGINE_SINGLE_THREADED)
      {SyncPolicy::kSingleThreaded, HtmBackend::kNone, Protocol::kOcc, make_single_threaded},
#endif
#if defined(ELIDER_ENGINE_ELIDED_NONE)
      {SyncPolicy::kElided, HtmBackend::kNone, Protocol::kOcc, make_elided_none},
      {SyncPolicy::kElided, HtmBackend::kNone, Protocol::kWholeTransaction, make_elided_none},
      {SyncPolicy::kElided, HtmBackend::kNone, Protocol::kSpinlock, make_elided_none},
#endif
#if defined(ELIDER_ENGINE_ELIDED_ALWAYS_ABORTS)
      {SyncPolicy::kElided, HtmBackend::kAlwaysAborts, Protocol::kOcc, make_elided_always_aborts},
      {SyncPolicy::kElided, HtmBackend::kAlwaysAborts, Protocol::kWholeTransaction, make_elided_always_aborts},
      {SyncPolicy::kElided, HtmBackend::kAlwaysAborts, Protocol::kSpinlock, make_elided_always_aborts},
#endif
#if defined(ELIDER_ENGINE_ELIDED_RTM) && ELIDER_HAVE_RTM
      {SyncPolicy::kElided, HtmBackend::kRtm, Protocol::kOcc, make_elided_rtm},
      {SyncPolicy::kElided, HtmBackend::kRtm, Protocol::kWholeTransaction, make_elided_rtm},
      {SyncPolicy::kElided, HtmBackend::kRtm, Protocol::kSpinlock, make_elided_rtm},
#endif
#if defined(ELIDER_ENGINE_ELIDED_EMULATED) && defined(ELIDER_EMULATOR)
      {SyncPolicy::kElided, HtmBackend::kEmulated, Protocol::kOcc, make_elided_emulated},
      {SyncPolicy::kElided, HtmBackend::kEmulated, Protocol::kWholeTransaction, make_elided_emulated},
      {SyncPolicy::kElided, HtmBackend::kEmulated, Protocol::kSpinlock, make_elided_emulated},
#endif
#if defined(ELIDER_ENGINE_TWO_PHASE_LOCKING)
      {SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kTwoPhaseLocking, make_two_phase_locking},
#endif
#if defined(ELIDER_ENGINE_CHOPPED)
      {SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kChopped, make_chopped},
#endif
#if defined(ELIDER_ENGINE_CHOPPED_LATCHED)
      {SyncPolicy::kLatched, HtmBackend::kNone, Protocol::kChopped, make_chopped_latched},
#endif
#if defined(ELIDER_ENGINE_CHOPPED_ALWAYS_ABORTS)
      {SyncPolicy::kElided, HtmBackend::kAlwaysAborts, Protocol::kChopped, make_chopped_always_aborts},
#endif
#if defined(ELIDER_ENGINE_CHOPPED_RTM) && ELIDER_HAVE_RTM
      {SyncPolicy::kElided, HtmBackend::kRtm, Protocol::kChopped, make_chopped_rtm},
#endif
#if defined(ELIDER_ENGINE_CHOPPED_EMULATED) && defined(ELIDER_EMULATOR)
      {SyncPolicy::kElided, HtmBackend::kEmulated, Protocol::kChopped, make_chopped_emulated},
#endif
#if defined(ELIDER_ENGINE_TIMESTAMP)
      {SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kTimestamp, make_timestamp_optimistic},
      {SyncPolicy::kOptimistic, HtmBackend::kNone, Protocol::kTimestampValidated, make_timestamp_optimistic},
      {SyncPolicy::kLatched, HtmBackend::kNone, Protocol::kTimestamp, make_timestamp_latched},
#endif
#if defined(ELIDER_ENGINE_TIMESTAMP_ELIDED)
      {SyncPolicy::kElided, HtmBackend::kNone, Protocol::kTimestamp, make_timestamp_elided_none},
#if ELIDER_HAVE_RTM
      {SyncPolicy::kElided, HtmBackend::kRtm, Protocol::kTimestamp, make_timestamp_elided_rtm},
#endif
#endif
#if defined(ELIDER_ENGINE_TIMESTAMP_EMULATED) && defined(ELIDER_EMULATOR)
      {SyncPolicy::kElided, HtmBackend::kEmulated, Protocol::kTimestamp, make_timestamp_elided_emulated},
#endif
  };
  return kCombinations;
}

namespace {
// The one that is best on this machine, if the protocol runs under it; else the
// first that it runs under.
SyncPolicy policy_for(Protocol protocol, SyncPolicy best) {
  SyncPolicy first = best;
  bool found = false;
  for (const Combination& combination : registry()) {
    if (combination.protocol != protocol) continue;
    if (combination.sync == best) return best;
    if (!std::exchange(found, true)) first = combination.sync;
  }
  return first;
}
}  // namespace

void choose_automatic(Protocol protocol, SyncPolicy* sync, HtmBackend* htm) {
  const Hardware& machine = hardware();
  if (*sync == SyncPolicy::kAutomatic)
    *sync = *htm != HtmBackend::kAutomatic ? SyncPolicy::kElided : policy_for(protocol, machine.automatic);
  if (*htm == HtmBackend::kAutomatic) *htm = *sync == SyncPolicy::kElided ? machine.automatic_htm : HtmBackend::kNone;
}

Status can_run(const Combination& combination) {
  if (combination.sync != SyncPolicy::kElided || combination.htm != HtmBackend::kRtm || htm::rtm_instructions_exist()) return {};
  return Status(Code::kUnsupported, "Options::htm is 'rtm', but this processor does not have the RTM instructions: " + hardware().reason);
}

}  // namespace elider::detail
