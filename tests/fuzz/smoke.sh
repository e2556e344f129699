#!/usr/bin/env bash
# presets: dev asan
# Each fuzz target on its corpus and on mutations of it, a few seconds each, with a seed that is printed.
# ELIDER_FUZZ_SECONDS: of each (3 without it). Inputs are up to 64 KiB: what takes megabytes has tests of its own.
# libFuzzer finds more: CONTRIBUTING.md says how to run it.
set -uo pipefail
failures=0 targets=0
for corpus in "${ELIDER_SOURCE_DIR:?}"/tests/fuzz/corpus/*/; do
  name=$(basename "$corpus")
  targets=$((targets + 1))
  printf '%-10s ' "$name"
  if ! timeout 600 "${ELIDER_BUILD_DIR:?}/fuzz_$name" "$corpus" --seconds "${ELIDER_FUZZ_SECONDS:-3}" --seed "${ELIDER_FUZZ_SEED:-1}"; then
    echo "FAIL fuzz_$name: the input is in $PWD/crash-input"
    failures=$((failures + 1))
  fi
done
[ "$targets" -gt 0 ] && [ "$failures" -eq 0 ]
