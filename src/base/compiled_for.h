// CompiledFor: the instruction sets that the compiler was allowed to use. The values are constants,
// so reading them does not execute code that may require one of these instruction sets.
#pragma once

namespace elider {

struct CompiledFor {
  bool sse3, ssse3, sse41, sse42, popcnt, avx, avx2, bmi, bmi2, fma, avx512f;
};
extern const CompiledFor kCompiledFor;

}  // namespace elider
