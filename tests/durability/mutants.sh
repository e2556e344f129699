#!/usr/bin/env bash
# Each of these defects of the engine or its log (src/base/test_points.h) must make the test fail that is named with it. Without
# the defect, the test passes. Crash images and kills would find them only by luck: each needs one particular order of steps.
# presets: dev
set -u
log="${ELIDER_BUILD_DIR:?}/log_test" durability="$ELIDER_BUILD_DIR/durability_test"
for program in "$log" "$durability"; do
  [ -x "$program" ] || { echo "skipped: $program is not built"; exit 77; }
done
failures=0
unset ELIDER_MUTANT

# expect WHAT MUTANT PROGRAM FILTER: WHAT is passes or caught. A run without a test is neither, nor is exit status 2, which means
# an unknown mutant.
expect() {
  local what=$1 mutant=$2 program=$3 filter=$4 status=0 ran
  { ELIDER_MUTANT=$mutant timeout 600 "$program" --gtest_filter="$filter" > out.txt 2>&1 || status=$?; } 2>/dev/null
  ran=$(grep -c '^\[ RUN' out.txt)
  if [ "$what" = passes ] && [ "$status" -eq 0 ] && [ "$ran" -ne 0 ] && ! grep -q SKIPPED out.txt; then
    echo "ok   $filter passes"
  elif [ "$what" = caught ] && [ "$ran" -ne 0 ] && { [ "$status" -eq 1 ] || [ "$status" -eq 134 ]; }; then
    echo "ok   $mutant: caught ($(grep -m1 -oE 'elider: .*|^.*: Failure' out.txt))"
  else
    echo "FAIL $filter, $mutant: status $status, $ran tests: $(tail -3 out.txt)"
    failures=$((failures + 1))
  fi
}

while read -r mutant program filter; do
  expect passes "" "${!program}" "$filter"
  expect caught "$mutant" "${!program}" "$filter"
done << 'LIST'
withdraw_early durability Policies/AnnouncementTest.StandsUntilTheRecordIsThere/optimistic_ordered
number_early durability Policies/AnnouncementTest.ComesBeforeTheNumber/optimistic_ordered
mark_early log ClosedNumber.ARecordThatComesWhileTheLoggerLooksIsInItsGroup
close_full_frame log ClosedNumber.TheFirstFrameOfALargeGroupClosesNothing
remove_kept_log durability Policies/CheckpointTest.ADamagedOneIsNamedOrMadeUpFor/optimistic_ordered
drop_one_more log Checkpoint.OneOfEachNumberLetsGoNoRecordBehindIt
finished_too_small log Checkpoint.OneOfEachNumberLetsGoNoRecordBehindIt
tables_before_number durability Policies/CheckpointStepsTest.ATableThatIsMadeBeforeItsNumberIsInIt/optimistic_ordered
skip_creation_lock durability Policies/CheckpointStepsTest.ATableThatIsBeingMadeIsInIt/optimistic_ordered
newest_schema durability Policies/SchemaChangeFolderTest.ACheckpointHasTheSchemasOfItsSnapshot/optimistic_ordered
drop_at_once durability Policies/SchemaChangeFolderTest.DroppingAwaitsWriters/optimistic_ordered
wait_in_turn durability Policies/WaitingSessionsTest.ShareASync/optimistic_ordered
wait_in_turn durability Policies/WaitingSessionsTest.ShareASyncAfterGroups/optimistic_ordered
reads_have_no_number durability Policies/AnnouncementTest.ACommitThatOnlyReadWaitsForWhatItRead/optimistic_ordered
last_number durability On/HeldGroupTest.ItWaitsForTheLargestNumberOfItsTransactions/optimistic_ordered
last_number durability On/HeldGroupTest.ItWaitsForTheLargestNumberOfItsCalls/optimistic_chopped_ordered
leave_out_last_chunk durability Policies/RecoveredIndexTest.HasTheRowsOfEveryChunk/optimistic_ordered
trust_short_stream log ClosedNumber.AStreamThatEndsBeforeWhatTheOtherKnowsIsRefused
LIST
[ "$failures" -eq 0 ]
