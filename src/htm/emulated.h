// Emulated: a backend whose regions the emulator (lab/emulator) runs. It exists only in builds with
// ELIDER_EMULATOR.
//
// Its speed does not indicate the speed of any processor. An abort restores the stack frame that
// called elider_emulator_begin(), so begin() is always inlined, into a frame that outlives the
// region. Thread safety: the same as for any backend.
#pragma once

#if defined(ELIDER_EMULATOR)

#include <cstdint>
#include <string_view>

#include "htm/backend.h"

extern "C" {
unsigned elider_emulator_begin(void);
void elider_emulator_commit(void);
void elider_emulator_abort(unsigned char code);
int elider_emulator_active(void);
}

namespace elider::htm {

struct Emulated {
  static constexpr std::string_view kName = "emulated";
  static constexpr bool kRunsRegions = true;

  [[gnu::always_inline]] static unsigned begin() { return elider_emulator_begin(); }
  [[gnu::always_inline]] static void commit() { elider_emulator_commit(); }
  template <uint8_t Code>
  [[gnu::always_inline]] static void abort() {
    elider_emulator_abort(Code);
    __builtin_trap();
  }
  static bool active() { return elider_emulator_active() != 0; }
};
static_assert(Backend<Emulated>);

}  // namespace elider::htm

#endif  // ELIDER_EMULATOR
