# What tests/heap/on_hardware.sh and tests/emulator/heap.sh run: `$program`, heap_test, with its updates in regions.

# Tests that hold a commit at a point while others go on are the software protocol's.
filter='*HeapTest.*:*/StructuresTest.*:HeapCrashTest.EveryImage*:HeapLinesTest.EveryImage*'

# run_region_tests LABEL BACKEND
run_region_tests() {
  local begin=$SECONDS status=0
  ELIDER_HEAP_BACKEND=$2 ELIDER_HEAP_IMAGES=${ELIDER_HEAP_IMAGES:-300} timeout 1800 "$program" --gtest_brief=1 --gtest_filter="$filter" \
    >log 2>&1 || status=$?
  grep -qE '^\[ +PASSED +\] [1-9]' log || status=1
  echo "$1: status $status after $((SECONDS - begin)) s: $(grep -oE '^\[ +(PASSED|FAILED) +\] [0-9]+ test.*' log | tail -1)"
  [ "$status" -eq 0 ] || grep -E 'Failure$|^\[  FAILED|emulator:' log | sort -u | head -20
  return "$status"
}
