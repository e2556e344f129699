#!/usr/bin/env bash
# The durable heap's own tests and crash images, with update transactions in regions: on processors that can suspend all
# tracking, that of reads, or none, and on one whose regions all abort, so that everything runs alone.
# presets: emulator
# timeout: 7200
set -u
program="$ELIDER_BUILD_DIR/heap_test"
[ -x "$program" ] || { echo "there is no $program" >&2; exit 1; }
failures=0
# Tests that hold a commit at a point while others go on are the software protocol's.
filter='*HeapTest.*:*/StructuresTest.*:HeapCrashTest.EveryImage*:HeapLinesTest.EveryImage*'
for suspension in all loads none aborts; do
  begin=$SECONDS status=0 backend=emulated
  export ELIDER_HTM_EMULATOR=suspension=$suspension
  [ "$suspension" = aborts ] && backend=always-aborts ELIDER_HTM_EMULATOR=suspension=none
  ELIDER_HEAP_BACKEND=$backend ELIDER_HEAP_IMAGES=${ELIDER_HEAP_IMAGES:-300} timeout 1800 "$program" --gtest_brief=1 --gtest_filter="$filter" \
    >log 2>&1 || status=$?
  grep -qE '^\[ +PASSED +\] [1-9]' log || status=1
  echo "suspension=$suspension: status $status after $((SECONDS - begin)) s: $(grep -oE '^\[ +(PASSED|FAILED) +\] [0-9]+ test.*' log | tail -1)"
  [ "$status" -eq 0 ] || { failures=$((failures + 1)); grep -E 'Failure$|^\[  FAILED|emulator:' log | sort -u | head -20; }
done
[ "$failures" -eq 0 ]
