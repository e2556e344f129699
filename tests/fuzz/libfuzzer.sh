#!/usr/bin/env bash
# presets: dev
# timeout: 3600
# The fuzz targets, built by clang with libFuzzer and sanitizers, and run on the corpus: by coverage, unlike smoke.sh.
# ELIDER_FUZZ_SECONDS: of each (10 without it).
set -uo pipefail
source=${ELIDER_SOURCE_DIR:?}
for compiler in clang++ clang++-14; do
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >probe.cc
  "$compiler" -fsanitize=fuzzer,address probe.cc -o probe 2>/dev/null && break
  compiler=
done
if [[ -z $compiler ]]; then
  echo "skipped: there is no clang with libFuzzer here"
  exit 77
fi
targets=(fuzz_segment fuzz_records fuzz_checkpoint fuzz_manifest fuzz_heap fuzz_tuple fuzz_row)
if ! { cmake -S "$source" -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DELIDER_BUILD_TESTS=ON \
  -DELIDER_BUILD_TOOLS=OFF -DELIDER_BUILD_EXAMPLES=OFF -DELIDER_TEST_POINTS=ON -DELIDER_FUZZER=ON \
  -DELIDER_SANITIZE=address,fuzzer-no-link && cmake --build build --target "${targets[@]}"; } >build.log 2>&1; then
  tail -30 build.log
  exit 1
fi
failures=0
for target in "${targets[@]}"; do
  name=${target#fuzz_}
  rm -rf "found_$name" && mkdir "found_$name"  # what is found goes there, not to the corpus
  if ! build/"$target" -max_total_time="${ELIDER_FUZZ_SECONDS:-10}" -max_len=16384 -print_final_stats=1 -artifact_prefix="$PWD/$name-" \
    "found_$name" "$source/tests/fuzz/corpus/$name" >"$name.log" 2>&1; then
    grep -vE '^#|^NEW_FUNC|^INFO' "$name.log" | head -40
    echo "FAIL $target: the input is beside $PWD/$name.log"
    failures=$((failures + 1))
  fi
  units=$(sed -n 's/.*number_of_executed_units: *//p' "$name.log")
  [[ ${units:-0} -gt 0 ]] || { echo "FAIL $target: nothing was run"; failures=$((failures + 1)); }
  printf '%-10s %s inputs, %s\n' "$name" "${units:-0}" "$(grep -oE 'cov: [0-9]+' "$name.log" | tail -1)"
done
[[ $failures -eq 0 ]]
