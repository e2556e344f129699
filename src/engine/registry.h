// Registry: the combinations of sync policy, backend of hardware transactions and protocol that
// this library has, by name.
//
// Thread safety: pure functions.
#pragma once

#include <memory>
#include <span>

#include "elider/options.h"
#include "elider/status.h"

namespace elider::detail {

class Engine;

// One shipped combination.
struct Combination {
  SyncPolicy sync;
  HtmBackend htm;  // of kElided; else kNone
  Protocol protocol;
  std::unique_ptr<Engine> (*make)(const Options& options);
};
// All of them; the first is what kAutomatic chooses.
std::span<const Combination> registry();
// What kAutomatic stands for beside this protocol, on this machine. Neither of the two
// is kAutomatic afterwards.
void choose_automatic(Protocol protocol, SyncPolicy* sync, HtmBackend* htm);
// Ok, or why this machine cannot run it.
Status can_run(const Combination& combination);

std::unique_ptr<Engine> make_optimistic(const Options& options);
std::unique_ptr<Engine> make_latched(const Options& options);
std::unique_ptr<Engine> make_single_threaded(const Options& options);
std::unique_ptr<Engine> make_timestamp_optimistic(const Options& options);
std::unique_ptr<Engine> make_timestamp_latched(const Options& options);
std::unique_ptr<Engine> make_timestamp_elided_none(const Options& options);
std::unique_ptr<Engine> make_timestamp_elided_rtm(const Options& options);       // on x86-64
std::unique_ptr<Engine> make_timestamp_elided_emulated(const Options& options);  // in builds with the emulator
std::unique_ptr<Engine> make_two_phase_locking(const Options& options);
std::unique_ptr<Engine> make_chopped(const Options& options);
std::unique_ptr<Engine> make_chopped_latched(const Options& options);
std::unique_ptr<Engine> make_chopped_always_aborts(const Options& options);  // in builds with tests
std::unique_ptr<Engine> make_chopped_rtm(const Options& options);            // on x86-64
std::unique_ptr<Engine> make_chopped_emulated(const Options& options);       // in builds with the emulator
std::unique_ptr<Engine> make_elided_none(const Options& options);
std::unique_ptr<Engine> make_elided_always_aborts(const Options& options);  // in builds with tests
std::unique_ptr<Engine> make_elided_rtm(const Options& options);       // on x86-64
std::unique_ptr<Engine> make_elided_emulated(const Options& options);  // in builds with the emulator

}  // namespace elider::detail
