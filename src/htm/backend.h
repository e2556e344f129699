// Backend: the C++ concept for backends, which begin and end hardware transactions ("regions").
// This header also defines the two backends that do not need hardware.
//
//   `begin()`  Returns kStarted in a new region. If the region cannot begin, or aborts later, its
//       effects are undone and begin() returns the status of the abort (htm/status.h). So begin()
//       may return twice. It is inlined: the stack frame that calls it must not return before the
//       region ends.
//   `commit()`  Makes the region's writes visible atomically.
//   `abort<C>()`  Aborts the region; begin() returns a status with code C. Does not return.
//   `active()`  Whether the calling thread is in a region.
//   `kName`  The name, as in HtmBackend.
//   `kRunsRegions`  If false, the backend does not run regions, and sections take their locks at
//       once.
//   `kFetchesCode`  Optional. If true, a page fault on a region's code aborts the region
//       (htm/code_pages.h).
//
// A region must not allocate, make a system call, lock, throw, or touch a page for the first time.
// It must not change a captured local variable unless it has set that variable first, because an
// emulator undoes writes to memory, but a local variable may be in a register.
//
// The policy of htm/elide.h, not the backend, decides how often to retry. Thread safety: a region
// belongs to the thread that runs it.
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

// Does not run regions, so every section takes its lock.
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

// Every region aborts at its start, with status 0. Processors that decode the RTM instructions but
// have RTM disabled behave like this.
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
