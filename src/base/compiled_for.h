// CompiledFor: what the compiler was told it may use. Constants alone: looking at them runs no code
// of the file that holds them.
#pragma once

namespace elider {

struct CompiledFor {
  bool sse3, ssse3, sse41, sse42, popcnt, avx, avx2, bmi, bmi2, fma, avx512f;
};
extern const CompiledFor kCompiledFor;

}  // namespace elider
