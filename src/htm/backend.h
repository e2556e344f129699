// Backend: the concept of a backend, which begins and ends hardware transactions ("regions"); and
// the two backends that do not need hardware.
//
//   begin()       returns kStarted in a new region. Otherwise returns the status of an abort
//                 (htm/status.h), and nothing has changed. If a region aborts after its begin,
//                 begin() returns a second time. It is inlined: the frame that calls it must not
//                 return before the region ends
//   commit()      makes the region's writes visible atomically
//   abort<C>()    ends the region without effect; begin() returns with code C. Does not return
//   active()      whether the calling thread is in a region
//   kName         the name, as in HtmBackend
//   kRunsRegions  false: the backend does not run regions; sections take their locks at once
//   kFetchesCode  optional. true: the code of a region must be mapped (htm/code_pages.h)
//
// A region must not allocate, make a system call, lock, throw, or touch a page for the first time.
// It must not change a captured local unless the region itself has set it first: an emulator undoes
// writes to memory, but a local may be in a register.
//
// A backend is not a policy: htm/elide.h decides how often to try. Thread safety: a region belongs
// to the thread that runs it.
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

// Does not run regions: every section takes its lock.
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

// Every region aborts as it begins, with status 0, as on processors that decode RTM but have it
// turned off.
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
