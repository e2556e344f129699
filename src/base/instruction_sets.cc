// This file is compiled for the x86-64 baseline, so that it runs on any x86-64 processor
// (src/base/CMakeLists.txt).
#include "base/instruction_sets.h"

#include "base/compiled_for.h"

namespace elider {

namespace {
const char* required_for_test = nullptr;
}

void require_for_test(const char* instruction_set) { required_for_test = instruction_set; }

std::string missing_instruction_sets() {
  std::string missing;
  const auto want = [&missing](bool compiled_for, bool there, const char* name) {
    if (!compiled_for || there) return;
    if (!missing.empty()) missing += ", ";
    missing += name;
  };
#if defined(__x86_64__)
  __builtin_cpu_init();
  const CompiledFor& c = kCompiledFor;
  want(c.sse3, __builtin_cpu_supports("sse3") != 0, "SSE3");
  want(c.ssse3, __builtin_cpu_supports("ssse3") != 0, "SSSE3");
  want(c.sse41, __builtin_cpu_supports("sse4.1") != 0, "SSE4.1");
  want(c.sse42, __builtin_cpu_supports("sse4.2") != 0, "SSE4.2");
  want(c.popcnt, __builtin_cpu_supports("popcnt") != 0, "POPCNT");
  want(c.avx, __builtin_cpu_supports("avx") != 0, "AVX");
  want(c.avx2, __builtin_cpu_supports("avx2") != 0, "AVX2");
  want(c.bmi, __builtin_cpu_supports("bmi") != 0, "BMI");
  want(c.bmi2, __builtin_cpu_supports("bmi2") != 0, "BMI2");
  want(c.fma, __builtin_cpu_supports("fma") != 0, "FMA");
  want(c.avx512f, __builtin_cpu_supports("avx512f") != 0, "AVX-512F");
#endif
  want(required_for_test != nullptr, false, required_for_test);
  return missing;
}

}  // namespace elider
