// Rtm: regions by Intel's Restricted Transactional Memory (Intel SDM volume 1, "Programming with
// Intel TSX"; DBX, section 2).
//
// The instructions are written as bytes, so that no compiler flag is needed and the library runs on
// every x86-64 processor. Nothing here may be executed where the processor does not have them: they
// raise SIGILL. htm/detect.h finds out. On other processors than x86-64 the backend does not exist.
// Thread safety: as any backend's.
#pragma once

#if defined(__x86_64__)
#define ELIDER_HAVE_RTM 1
#else
#define ELIDER_HAVE_RTM 0
#endif

#if ELIDER_HAVE_RTM

#include <cstdint>
#include <string_view>

#include "htm/backend.h"
#include "htm/status.h"

namespace elider::htm {

struct Rtm {
  static constexpr std::string_view kName = "rtm";
  static constexpr bool kRunsRegions = true;
  static constexpr bool kFetchesCode = true;

  // XBEGIN with the next instruction as the abort's target. It leaves EAX alone; an abort restores
  // all registers as they were here, but for EAX, and all memory: so to the compiler it is an
  // ordinary instruction that gives EAX some value.
  [[gnu::always_inline]] static unsigned begin() {
    unsigned status = kStarted;
    asm volatile(".byte 0xc7, 0xf8, 0x00, 0x00, 0x00, 0x00" : "+a"(status) : : "memory");
    return status;
  }
  [[gnu::always_inline]] static void commit() { asm volatile(".byte 0x0f, 0x01, 0xd5" : : : "memory"); }
  // Outside a region XABORT does nothing; that would be a mistake of the caller's, and stops here.
  template <uint8_t Code>
  [[gnu::always_inline]] static void abort() {
    asm volatile(".byte 0xc6, 0xf8, %c0" : : "i"(Code) : "memory");
    __builtin_trap();
  }
  // XTEST clears ZF in a region.
  [[gnu::always_inline]] static bool active() {
    bool inside;
    asm volatile(".byte 0x0f, 0x01, 0xd6" : "=@ccnz"(inside) : : "memory");
    return inside;
  }
};
static_assert(Backend<Rtm>);

}  // namespace elider::htm

#endif  // ELIDER_HAVE_RTM
