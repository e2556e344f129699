#!/usr/bin/env bash
# Every mutant of the small elided program must fail its tests, and the program itself must pass them; and so must
# those of the library's own elision (src/htm/elide.h), in schedules of the engine.
# presets: emulator
set -eu

program="$ELIDER_BUILD_DIR/emulator_test"
[[ -x "$program" ]] || { echo "there is no $program" >&2; exit 1; }

wrong=0
for mutant in none no_subscription lazy_subscription missing_commit unbounded_retry raw_write fallback_does_not_wait; do
  status=0
  ELIDER_ELISION_MUTANT=$mutant timeout 300 "$program" --gtest_filter='ElidedProgram.holds_in_thousands_of_schedules' >log 2>&1 || status=$?
  how=$(grep -m1 -oE 'elider emulator: .*|seed [0-9]+$' log || true)
  if [[ $mutant == none && $status -eq 0 ]]; then
    echo "none: passes"
  elif [[ $mutant != none && $status -ne 0 && $status -ne 124 ]]; then
    echo "$mutant: caught (${how:-status $status})"
  else
    echo "$mutant: WRONG, status $status" >&2
    tail -5 log >&2
    wrong=1
  fi
done
for mutant in none skip_subscription lazy_subscription skip_region_end unbounded_retry; do
  status=0
  [[ $mutant == none ]] && unset ELIDER_MUTANT || export ELIDER_MUTANT=$mutant
  timeout 300 "$program" --gtest_filter='*EngineScheduleTest.sums_hold_with_a_cache_of_one_line/ordered' >log 2>&1 || status=$?
  how=$(grep -m1 -oE 'elider emulator: .*|seed [0-9]+$|elider: .*' log || true)
  if [[ $mutant == none && $status -eq 0 ]]; then
    echo "the engine: passes"
  elif [[ $mutant != none && $status -ne 0 && $status -ne 124 ]]; then
    echo "the engine, $mutant: caught (${how:-status $status})"
  else
    echo "the engine, $mutant: WRONG, status $status" >&2
    tail -5 log >&2
    wrong=1
  fi
done
exit $wrong
