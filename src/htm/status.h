// The status word of a hardware transaction ("region"): what begin() gives,
// and why a region aborted.
//
// The bits are those that Intel's RTM leaves in EAX (Intel SDM volume 1, "RTM abort status
// definition"), and every backend gives exactly these, whatever executes its regions:
//
//   31         24 23                    6  5        4       3          2          1       0
//  +-------------+----------------------+--------+-------+----------+----------+-------+----------+
//  | code        | 0                    | nested | debug | capacity | conflict | retry | explicit |
//  +-------------+----------------------+--------+-------+----------+----------+-------+----------+
//
//   explicit  the region aborted itself; code is its argument   retry     may succeed, run again
//   conflict  another thread touched one of its lines           capacity  its lines fit no buffer
//   debug     a breakpoint was met                              nested    of a region within
//   none      an interrupt, a page fault, a system call, a forbidden instruction: anything else
//
// It is not a Status (elider/status.h): an abort is never an error. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace elider::htm {

// What begin() returns inside the region. No abort gives it: the bits
// between are 0 in all of those.
inline constexpr unsigned kStarted = 0xFFFFFFFFu;

inline constexpr unsigned kExplicit = 1u << 0;
inline constexpr unsigned kRetry = 1u << 1;
inline constexpr unsigned kConflict = 1u << 2;
inline constexpr unsigned kCapacity = 1u << 3;
inline constexpr unsigned kDebug = 1u << 4;
inline constexpr unsigned kNested = 1u << 5;
inline constexpr unsigned kCodeShift = 24;

// The codes by which elided sections abort themselves. Others are free for bodies.
inline constexpr uint8_t kLockHeldCode = 0xFF;  // the fallback lock was held when the region began

constexpr uint8_t code_of(unsigned status) { return static_cast<uint8_t>(status >> kCodeShift); }
constexpr unsigned explicit_abort(uint8_t code) { return kExplicit | static_cast<unsigned>(code) << kCodeShift; }

// One abort has one cause here, though several bits may stand in its status.
enum class Cause : uint8_t {
  kExplicit,  // the body's own abort, with a code that is not the lock's
  kLockHeld,
  kRetry,     // only the retry hint: a conflict of a kind that the processor does not name
  kConflict,
  kCapacity,
  kDebug,
  kNested,
  kSystem,    // no bit at all: it may never succeed
};
inline constexpr size_t kCauses = 8;

// The first that applies: what the body did, then what will not go away by itself, then the rest.
constexpr Cause decode(unsigned status) {
  if (status & kExplicit) return code_of(status) == kLockHeldCode ? Cause::kLockHeld : Cause::kExplicit;
  if (status & kCapacity) return Cause::kCapacity;
  if (status & kConflict) return Cause::kConflict;
  if (status & kDebug) return Cause::kDebug;
  if (status & kRetry) return Cause::kRetry;
  if (status & kNested) return Cause::kNested;
  return Cause::kSystem;
}

constexpr std::string_view name_of(Cause cause) {
  constexpr std::string_view kNames[kCauses] = {"explicit", "lock-held", "retry", "conflict", "capacity", "debug", "nested", "system"};
  return kNames[static_cast<size_t>(cause)];
}

}  // namespace elider::htm
