// Emulated: regions by the emulator (src/htm/emulator), in builds that have it (ELIDER_EMULATOR).
//
// Not a measure of anything: its speed says nothing about a processor's. begin() returns twice, as
// setjmp does, so the compiler must see the call itself in the frame that outlives the region: no
// function that calls it can be inlined. Sections therefore begin through ELIDER_HTM_BEGIN (htm/elide.h).
// Thread safety: as any backend's.
#pragma once

#if defined(ELIDER_EMULATOR)

#include <cstdint>
#include <string_view>

#include "htm/backend.h"

extern "C" {
unsigned elider_emulator_begin(void) __attribute__((returns_twice));
void elider_emulator_commit(void);
void elider_emulator_abort(unsigned char code);
int elider_emulator_active(void);
}

namespace elider::htm {

struct Emulated {
  static constexpr std::string_view kName = "emulated";
  static constexpr bool kRunsRegions = true;

  // Declared for the concept; never defined, so that a call is an error of the linker.
  static unsigned begin();
  static void commit() { elider_emulator_commit(); }
  template <uint8_t Code>
  static void abort() {
    elider_emulator_abort(Code);
    __builtin_trap();
  }
  static bool active() { return elider_emulator_active() != 0; }
};
static_assert(Backend<Emulated>);

}  // namespace elider::htm

#endif  // ELIDER_EMULATOR
