// Registry: the combinations of sync policy, backend of hardware transactions and protocol that
// this library has, by name.
//
// Thread safety: pure functions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "elider/options.h"
#include "elider/status.h"

namespace elider::detail {

class Engine;

// One compiled combination.
struct Combination {
  SyncPolicy sync;
  HtmBackend htm;  // of kElided; else kNone
  Protocol protocol;
  std::unique_ptr<Engine> (*make)(const Options& options);
};
// All of them; the first is what kAutomatic chooses.
std::span<const Combination> registry();

// A combination that this build could have: the names of the options' values, and the smallest set
// of ELIDER_ENGINES that has it.
struct KnownCombination {
  std::string_view sync, htm, protocol, set;
};
// What CMake makes of the registrations of engines (cmake/EliderEngines.cmake).
using EngineRegistration = std::span<const Combination> (*)();
std::span<const EngineRegistration> registered_engines();
std::span<const KnownCombination> known_combinations();
std::string_view chosen_engines();  // ELIDER_ENGINES

// Replaces kAutomatic by what it means with this protocol on this machine. Afterwards neither of
// the two is kAutomatic.
void choose_automatic(Protocol protocol, SyncPolicy* sync, HtmBackend* htm);
// Ok, or why this machine cannot run it.
Status can_run(const Combination& combination);
// Why the registry lacks a combination: nothing has it, or it was not compiled.
Status refuse_combination(SyncPolicy sync, HtmBackend htm, Protocol protocol);

}  // namespace elider::detail
