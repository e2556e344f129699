#include "engine/registry.h"

#include <string>
#include <utility>
#include <vector>

#include "elider/hardware.h"
#include "engine/engine.h"
#include "htm/detect.h"

namespace elider::detail {

std::span<const Combination> registry() {
  static const std::vector<Combination> all = [] {
    std::vector<Combination> combinations;
    for (const EngineRegistration engine : registered_engines())
      for (const Combination& combination : engine()) combinations.push_back(combination);
    return combinations;
  }();
  return all;
}

namespace {
// Returns `best`, the best policy on this machine, if the protocol supports it. Otherwise returns
// the first policy that the protocol supports.
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

Status refuse_combination(SyncPolicy sync, HtmBackend htm, Protocol protocol) {
  std::string asked = "sync policy '" + std::string(name_of(sync)) + "', protocol '" + std::string(name_of(protocol)) + "'";
  if (sync == SyncPolicy::kElided) asked += ", htm '" + std::string(name_of(htm)) + "'";
  for (const KnownCombination& known : known_combinations())
    if (known.sync == name_of(sync) && known.protocol == name_of(protocol) && (sync != SyncPolicy::kElided || known.htm == name_of(htm)))
      return Status(Code::kUnsupported, "Options: this build does not include the engine for " + asked +
                                            ". It was configured with the CMake option ELIDER_ENGINES=" + std::string(chosen_engines()) +
                                            "; ELIDER_ENGINES=" + std::string(known.set) + " includes that engine");
  return Status::invalid_argument("Options: elider does not have an engine for " + asked);
}

}  // namespace elider::detail
