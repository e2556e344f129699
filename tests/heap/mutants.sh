#!/usr/bin/env bash
# Each of these defects of the durable heap (src/base/test_points.h) must make the one test fail that is named with it, which
# passes without.
# presets: dev
set -u
program="${ELIDER_BUILD_DIR:?}/heap_test"
[ -x "$program" ] || { echo "skipped: $program is not built"; exit 77; }
failures=0
unset ELIDER_MUTANT
export ELIDER_SEED=1

# run FILTER: its exit status; that no test ran is none.
run() {
  local status=0
  { timeout 600 "$program" --gtest_filter="$1" >out.txt 2>&1 || status=$?; } 2>/dev/null
  grep -q '^\[ RUN' out.txt && ! grep -q SKIPPED out.txt || status=2
  return "$status"
}

while read -r mutant filter; do
  run "$filter" && echo "ok   $filter passes" || { echo "FAIL $filter: $(tail -3 out.txt)"; failures=$((failures + 1)); }
  status=0
  ELIDER_MUTANT=$mutant run "$filter" || status=$?
  if [ "$status" -eq 1 ] || [ "$status" -eq 134 ]; then
    echo "ok   $mutant: caught ($(grep -m1 -oE 'elider: .*|^.*: Failure' out.txt))"
  else
    echo "FAIL $filter, $mutant: status $status: $(tail -3 out.txt)"
    failures=$((failures + 1))
  fi
done <<'LIST'
heap_early_moment HeapRaceTest.AReaderThatBeginsWithinACommitSeesAllOfIt
heap_skip_published HeapRaceTest.ACommitThatTheHeapDoesNotHaveYetIsRead
heap_skip_isolation_wait HeapRaceTest.ACommitWaitsForReadersOfEarlierMoments
heap_skip_durability_wait HeapRaceTest.WhatWasReadIsDurableBeforeAReaderAnswers
heap_skip_validation HeapRaceTest.OfTwoThatReadWhatTheOtherWritesOneRunsAgain
heap_ignore_needs HeapCrashTest.WhoReadFromALostTransactionIsLostWithIt
LIST
[ "$failures" -eq 0 ]
