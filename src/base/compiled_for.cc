// This file must be compiled with the same options as the rest of the library, because the
// constants record these options.
#include "base/compiled_for.h"

namespace elider {

namespace {
#if defined(__SSE3__)
constexpr bool kSse3 = true;
#else
constexpr bool kSse3 = false;
#endif
#if defined(__SSSE3__)
constexpr bool kSsse3 = true;
#else
constexpr bool kSsse3 = false;
#endif
#if defined(__SSE4_1__)
constexpr bool kSse41 = true;
#else
constexpr bool kSse41 = false;
#endif
#if defined(__SSE4_2__)
constexpr bool kSse42 = true;
#else
constexpr bool kSse42 = false;
#endif
#if defined(__POPCNT__)
constexpr bool kPopcnt = true;
#else
constexpr bool kPopcnt = false;
#endif
#if defined(__AVX__)
constexpr bool kAvx = true;
#else
constexpr bool kAvx = false;
#endif
#if defined(__AVX2__)
constexpr bool kAvx2 = true;
#else
constexpr bool kAvx2 = false;
#endif
#if defined(__BMI__)
constexpr bool kBmi = true;
#else
constexpr bool kBmi = false;
#endif
#if defined(__BMI2__)
constexpr bool kBmi2 = true;
#else
constexpr bool kBmi2 = false;
#endif
#if defined(__FMA__)
constexpr bool kFma = true;
#else
constexpr bool kFma = false;
#endif
#if defined(__AVX512F__)
constexpr bool kAvx512f = true;
#else
constexpr bool kAvx512f = false;
#endif
}  // namespace

constinit const CompiledFor kCompiledFor = {kSse3, kSsse3, kSse41, kSse42, kPopcnt, kAvx, kAvx2, kBmi, kBmi2, kFma, kAvx512f};

}  // namespace elider
