#!/usr/bin/env bash
# Every mutant of the small elided program must fail its tests, and the program itself must pass them; and so must
# those of the library's own elision (src/htm/elide.h), in schedules of sections and of the engine, and of its commit and
# its reads of rows.
# presets: emulator
set -eu

program="$ELIDER_BUILD_DIR/emulator_test"
[[ -x "$program" ]] || { echo "there is no $program" >&2; exit 1; }

wrong=0

# judge LABEL MUTANT FILTER: runs the filter's tests with the mutant that the environment names. A failed schedule, with its
# seed, or a message of the emulator counts as a fault. Other failures (an unknown mutant, an unknown test) do not count.
judge() {
  local label=$1 mutant=$2 status=0 how
  { timeout 1800 "$program" --gtest_filter="$3" >log 2>&1 || status=$?; } 2>/dev/null
  how=$(grep -m1 -oE 'elider emulator: .*|seed [0-9]+$' log || true)
  if [[ $mutant == none && $status -eq 0 ]] && grep -qE '^\[ +PASSED +\] [1-9]' log; then
    echo "$label: passes"
  elif [[ $mutant != none && $status -ne 0 && $status -ne 124 && -n $how ]] && ! grep -qE 'is not a mutant|no mutant is called' log; then
    echo "$label: caught ($how)"
  else
    echo "$label: WRONG, status $status" >&2
    tail -5 log >&2
    wrong=1
  fi
}

for mutant in none no_subscription lazy_subscription missing_commit unbounded_retry raw_write fallback_does_not_wait; do
  ELIDER_ELISION_MUTANT=$mutant judge "$mutant" "$mutant" 'ElidedProgram.holds_in_thousands_of_schedules'
done
# The library's own: sections on two words (elide_mutants_test.cc), where a lock that is read last shows to an eye inside the
# region alone; and schedules of the engine, or of its tree.
one_line=sums_hold_with_a_cache_of_one_line inserts=inserts_into_one_node_are_all_there half=sums_hold_where_half_of_the_regions_abort
words=ElideScheduleTest.words_hold tree=ElideScheduleTest.a_tree_holds engine='*EngineScheduleTest'
for pair in none:$words skip_subscription:$words lazy_subscription:$words skip_region_end:$words unbounded_retry:$words \
  raw_write:$words hasty_fallback:$words \
  none:$engine.$one_line/btree none:$engine.$inserts/btree none:$engine.$half/btree \
  skip_subscription:$engine.$inserts/btree skip_region_end:$engine.$one_line/btree unbounded_retry:$engine.$one_line/btree \
  raw_write:$engine.$half/btree hasty_fallback:$tree; do
  mutant=${pair%%:*} schedules=${pair##*:}
  if [[ $mutant == none ]]; then unset ELIDER_MUTANT; else export ELIDER_MUTANT=$mutant; fi
  judge "the library, $mutant, ${schedules#\*}" "$mutant" "$schedules"
done
# The heap's regions and their waits (heap_schedule_test.cc). The published order of DUMBO's algorithm 1 is one of them.
sums=sums_hold_in_many_schedules durable=what_is_answered_is_durable heap='*HeapScheduleTest'
for pair in none:$durable/all_serializable heap_region_late_stamp:$durable/all_serializable \
  heap_ignore_deciding:whose_moment_sees_a_number_waits_for_it/all_serializable heap_early_moment:$durable/loads_serializable \
  heap_region_says_number:$durable/loads_serializable heap_skip_durability_wait:$durable/all_snapshot \
  heap_skip_isolation_wait:$sums/loads_serializable; do
  mutant=${pair%%:*} schedules=${pair##*:}
  if [[ $mutant == none ]]; then unset ELIDER_MUTANT; else export ELIDER_MUTANT=$mutant; fi
  judge "the heap, $mutant, $schedules" "$mutant" "$heap.$schedules"
done
unset ELIDER_MUTANT
# What the engine leaves out, shown by short histories. The last two are of what reads and commits elide, the lock
# bits of rows: a region does not mind one, or a commit's region does not mind that the words it writes have moved on.
histories='*HistoryScheduleTest.histories_are_strictly_serializable'
for pair in none:list_append_btree skip_read_validation:list_append_btree keep_leaf_version:list_append_btree \
  late_snapshot_read:list_append_btree none:posts_btree ignore_lock_bit:posts_btree none:bank_hash ignore_lock_bit:bank_hash none:bank_btree skip_expected_words:bank_btree; do
  mutant=${pair%%:*} story=${pair##*:}
  # A mutant's run ends with the first schedule that shows it: so many that no change of the engine's accesses hides it.
  [[ $mutant == none ]] && schedules=100 || schedules=2000
  ELIDER_SCHEDULES=$schedules ELIDER_MUTANT=$mutant judge "histories of $story, $mutant" "$mutant" "$histories/$story"
done
exit $wrong
