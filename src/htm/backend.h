// Backend: what a backend is: how a hardware transaction ("region") begins and ends. And the two
// backends that need no hardware.
//
//   begin()       kStarted: a region has begun. Otherwise the status of an abort (htm/status.h),
//                 and nothing is changed: also when the region had begun, for an abort comes back
//                 from here a second time. It is inlined: the frame that calls it must still stand
//                 when the region ends
//   commit()      the region's writes take effect, all at once
//   abort<C>()    the region ends as if it had never been; begin() returns with code C. It does
//                 not return
//   active()      whether the calling thread is in a region
//   kName         as HtmBackend is named
//   kRunsRegions  false: there is nothing to begin; sections take their locks at once
//   kFetchesCode  may be missing. True: what a region executes must be mapped (htm/code_pages.h)
//
// Inside a region: no allocation, no system call, no lock, no throw, no first touch of a page, and
// no change to a captured local that the region itself did not set first: an emulator takes back
// what is written to memory, and a local may live in a register.
//
// Not a policy: how often to try stands in htm/elide.h. Thread safety: regions
// are the calling thread's.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "htm/status.h"

namespace elider::htm {

template <class B>
concept Backend = requires {
  { B::kName } -> std::convertible_to<std::string_view>;
  { B::kRunsRegions } -> std::convertible_to<bool>;
  { B::begin() } -> std::same_as<unsigned>;
  B::commit();
  B::template abort<kLockHeldCode>();
  { B::active() } -> std::same_as<bool>;
};

// Every section takes its lock.
struct None {
  static constexpr std::string_view kName = "none";
  static constexpr bool kRunsRegions = false;
  static unsigned begin() { return 0; }
  static void commit() { ELIDER_CHECK(false, "no region of the backend 'none' ever begins"); }
  template <uint8_t Code>
  static void abort() {
    ELIDER_CHECK(false, "no region of the backend 'none' ever begins");
  }
  static bool active() { return false; }
};
static_assert(Backend<None>);

// Every region aborts as it begins, with status 0: as processors do whose RTM is
// switched off but decoded.
struct AlwaysAborts {
  static constexpr std::string_view kName = "always-aborts";
  static constexpr bool kRunsRegions = true;
  static unsigned begin() { return 0; }
  static void commit() { ELIDER_CHECK(false, "no region of the backend 'always-aborts' ever begins"); }
  template <uint8_t Code>
  static void abort() {
    ELIDER_CHECK(false, "no region of the backend 'always-aborts' ever begins");
  }
  static bool active() { return false; }
};
static_assert(Backend<AlwaysAborts>);

}  // namespace elider::htm
