// CompiledFor: the instruction sets that the compiler may use. The values are constants, so a
// reader of them does not run code from the file that defines them.
#pragma once

namespace elider {

struct CompiledFor {
  bool sse3, ssse3, sse41, sse42, popcnt, avx, avx2, bmi, bmi2, fma, avx512f;
};
extern const CompiledFor kCompiledFor;

}  // namespace elider
