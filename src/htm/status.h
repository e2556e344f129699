// The status word of a hardware transaction ("region"), which begin() returns, and the causes of
// aborts.
//
// The bits are those that Intel's RTM sets in EAX (Intel SDM volume 1, "RTM abort status
// definition"). Every backend returns exactly these bits, however it executes regions:
//
//   31         24 23                    6  5        4       3          2          1       0
//  +-------------+----------------------+--------+-------+----------+----------+-------+----------+
//  | code        | 0                    | nested | debug | capacity | conflict | retry | explicit |
//  +-------------+----------------------+--------+-------+----------+----------+-------+----------+
//
//   explicit  the region aborted itself; code is its argument   retry     a retry may succeed
//   conflict  another thread accessed one of its lines          capacity  its lines exceed a buffer
//   debug     a breakpoint was reached                          nested    in a nested region
//   none      anything else: an interrupt, a page fault, a system call, a forbidden instruction
//
// The status word is not a Status (elider/status.h), because an abort is never an error. Thread
// safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace elider::htm {

// begin() returns this inside the region. The status of an abort never has this value, because its
// middle bits are 0.
inline constexpr unsigned kStarted = 0xFFFFFFFFu;

inline constexpr unsigned kExplicit = 1u << 0;
inline constexpr unsigned kRetry = 1u << 1;
inline constexpr unsigned kConflict = 1u << 2;
inline constexpr unsigned kCapacity = 1u << 3;
inline constexpr unsigned kDebug = 1u << 4;
inline constexpr unsigned kNested = 1u << 5;
inline constexpr unsigned kCodeShift = 24;

// Codes with which elided sections abort themselves. Bodies may use all other codes.
inline constexpr uint8_t kLockHeldCode = 0xFF;  // the fallback lock was held when the region began

constexpr uint8_t code_of(unsigned status) { return static_cast<uint8_t>(status >> kCodeShift); }
constexpr unsigned explicit_abort(uint8_t code) { return kExplicit | static_cast<unsigned>(code) << kCodeShift; }

// The cause of an abort. Each abort has one cause, although several bits of its status may be set.
enum class Cause : uint8_t {
  kExplicit,  // an abort by the body, with a code other than kLockHeldCode
  kLockHeld,
  kRetry,     // only the retry bit: a kind of conflict that the processor does not name
  kConflict,
  kCapacity,
  kDebug,
  kNested,
  kSystem,    // none of the bits: a retry may never succeed
};
inline constexpr size_t kCauses = 8;

// Returns the first cause that applies. An explicit abort by the body comes first, then capacity,
// which a retry is likely to exceed again, then the other causes.
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
