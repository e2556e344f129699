#!/usr/bin/env bash
# Each of these defects of the commit protocol, the indexes, the analysis of chopped procedures and the durable heap
# (src/base/test_points.h) must make the test fail that is named with it. Without the defect, the test passes. Histories would find
# them only by luck, or after minutes.
# presets: dev
set -u
race="${ELIDER_BUILD_DIR:?}/race_test" conformance="$ELIDER_BUILD_DIR/conformance_test" index="$ELIDER_BUILD_DIR/index_test" txn="$ELIDER_BUILD_DIR/txn_test" lab="$ELIDER_BUILD_DIR/lab_test" heap="$ELIDER_BUILD_DIR/heap_test"
for program in "$race" "$conformance" "$index" "$txn" "$lab" "$heap"; do
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
  case $program in race | conformance) filter="On/$filter/optimistic*" ;; esac
  expect passes "" "${!program}" "$filter"
  expect caught "$mutant" "${!program}" "$filter"
done << 'LIST'
skip_pair_validation conformance ValidationTest.OfTwoReadsTheFirstChanges
skip_pair_validation conformance ValidationTest.OfTwoReadsTheSecondChangesAfterIt
skip_pair_validation conformance ValidationTest.OfAReadAndAnAbsenceTheRowChanges
skip_pair_validation conformance ValidationTest.OfAnAbsenceAndAReadTheAbsenceEnds
keep_divided_count conformance RankedIndexTest.ALeaderboardHasRanksAndPages
forget_unique_check race CommitRaceTest.OneUniqueValueHasOneWinner
stale_by_address race RecordRaceTest.AnEntryOfColumnsThatIsFoundBeforeItWouldBeTakenOutIsThere
stale_by_ticket race RecordRaceTest.AnEntryOfColumnsInUseThatWasTakenForOutdatedIsThere
stale_borrowed race RecordRaceTest.AStaleEntryOfColumnsIsRemoved
count_at_once conformance IndexBuildBesideTest.CountingWaitsForEarlierWriters
fill_at_once conformance IndexBuildBesideTest.ItWaitsForEarlierWriters
fill_unlocked conformance IndexBuildBesideTest.ARowIsNotRemovedWhileItIsRead
old_version_newer race SnapshotRaceTest.AReaderThatBeganBeforeACommitSeesNothingOfIt
share_small_row conformance SizedRowsTest.ARowThatMovesInAndOutOfItsRowBlockIsReadAtEverySnapshot
trust_small_copy race RecordRaceTest.ASmallRowThatChangesWhileItIsCopiedIsCopiedAgain
publish_late race SnapshotRaceTest.AWholeCommitBetweenTwoStepsOfAReadersStart
lose_addition race CommitRaceTest.SeveralAddsOfOneTransactionAllCount
ignore_version_floor conformance SequenceTest.AChunkThatIsOnItsWayIsRaisedToo
unlock_early race CommitRaceTest.ARowIsLockedUntilItIsWritten
keep_hot_row conformance HotRowsTest.ItsOwnRemovalAndANewRowOfTheKeyAreSeen
keep_hot_row_over_epochs conformance HotRowsOfSeveralTest.ARowThatAnotherWorkerRemovedIsGone
keep_inline_row conformance InlineRowsTest.ANewRowOfARemovedKeyIsFound
keep_leaf_version race LeafLockRaceTest.ARangeInWhichAKeyIsInsertedMeanwhile
keep_touched_row race GroupRaceTest.ASnapshotLooksForAReplacedRowAgain
keep_touched_row race CallGroupRaceTest.ACallOnASnapshotLooksForReplacedAndRemovedRowsAgain
leave_before_use race GroupRaceTest.ARowThatWasRemovedKeepsItsMemory
leave_before_use race CallGroupRaceTest.ARowThatWasRemovedKeepsItsMemory
skip_read_timestamp conformance ReadClaimsTest.WriteSkewIsRefused
pass_unsafe_read conformance ReadClaimsTest.WriteSkewIsRefused
pass_unsafe_write conformance ReadClaimsTest.NobodySeesHalfOfACommit
look_before_claim txn InterleavingsTest.AClaimWithinTheStepsOfAnotherIsSeenOrSees
slots_before_clock txn TimestampsTest.ASafeOneIsBelowOneThatBeginsWhileItIsComputed
forget_committing txn TimestampsTest.OneThatIsCommittingIsNotSafe
forget_other_readers conformance OlderReaderTest.IsNotForgottenBehindTheWritersOwnRead
commit_ended conformance ReadClaimsTest.WhatHasBeenEndedDoesNotCommit
bound_before_cells conformance ZonedTest.AFreshSlotHoldsNoRowYet
scan_newest_rows conformance ZonedTest.AReadOnlyTransactionSeesItsSnapshot
skip_shared_lock conformance LocksTest.WriteSkewIsRefused
upgrade_at_once lab RowLocksTest.OfTwoThatBothWantToWriteWhatTheyReadOneDies
release_early conformance LocksTest.LocksAreKeptUntilTheCommitHasEnded
wait_for_the_older lab RowLocksTest.TheYoungerOneDies
publish_timestamp_once txn TimestampsTest.NoneIsBelowASafeOneThatSomebodyComputedMeanwhile
forget_sibling txn ChoppingModelTest.EveryInterleavingOfPiecesIsSerializable
leave_cycle txn ChoppingModelTest.EveryInterleavingOfPiecesIsSerializable
merge_without_between txn AnalyzeTest.WhatMustRunBetweenTwoMergedOnesIsMerged
roll_back_late txn AnalyzeTest.ARollbackThatNeedsAWriteIsOnePieceWithIt
defer_beside_other_paths txn AnalyzeTest.AnotherWayBetweenThemForbidsIt
read_half_a_call race ChoppedRaceTest.ASnapshotWaitsForTheCallsThatItSees
read_half_a_call race ChoppedRaceTest.AHeldSnapshotDoesNotAdvanceToHalfACall
commit_beside_calls race ChoppedRaceTest.AnOrdinaryCommitWaitsForCallsThatAreHalfDone
commit_beside_calls race HeadRaceTest.NoOrdinaryCommitComesBetween
publish_beside_subscribers race PublicationRaceTest.NothingIsPublishedWhileASubscriberIsUnderWay
look_before_entering race PublicationRaceTest.ASubscriberAtTheDoorDoesNotEnterAPublication
close_early race PublicationRaceTest.PublishersAreSeenInTheOrderOfTheirCores
pass_publisher race PublicationRaceTest.ASubscriberDoesNotPassAPublisherThatItHasNotSeen
pass_publisher race PublicationRaceTest.ASubscriberThatOnlyReadsDoesNotPassAPublisherEither
answer_before_publishers race PublicationRaceTest.WhoHasSeenACoreAnswersNoEarlierThanItsPublisher
call_beside_commits race HeadRaceTest.NoCallBeginsWhileAnOrdinaryTransactionCommits
add_before_older race ChoppedRaceTest.CallsAddInTheOrderOfTheirNumbers
withdraw_between_pieces race ChoppedRaceTest.NothingOfACallIsDurableBeforeAllOfItIs
radix_skip_path index ArtWitnessTest/0.AKeyThatLeavesAPathHasTheWitnessOfTheNodeAbove
radix_trust_obsolete index ArtRaceTest/0.ALookupDoesNotTrustANodeThatHasGrown
radix_keep_version index ArtWitnessTest/0.AChangeEndsTheWitnessesOfTheRangeThatItIsIn
radix_skip_walk_check index ArtRaceTest/0.AScanIsOfOneMoment
radix_keep_parent index ArtNumberRaceTest.ALookupDoesNotMixAChildAndTheEntryInItsPlace
hash_compare_tags index HashBytesTest/0.RandomOperationsOnKeysWithEqualHashes
hash_compare_tags conformance EqualHashTest.EveryCallFindsTheKey
head_trust_ties index ByteBTreeModelTest/0.KeysThatBeginEachOther
head_keep_at_split index ByteBTreeModelTest/0.LargestAndSmallestKeysAreKeys
heap_early_moment heap HeapRaceTest.AReaderThatBeginsWithinACommitSeesAllOfIt
heap_skip_published heap HeapRaceTest.ACommitThatTheHeapDoesNotHaveYetIsRead
heap_skip_isolation_wait heap HeapRaceTest.ACommitWaitsForReadersOfEarlierMoments
heap_skip_durability_wait heap HeapRaceTest.WhatWasReadIsDurableBeforeAReaderAnswers
heap_skip_validation heap On/HeapTest.WriteSkewIsPossibleUnderSnapshotIsolationAlone/delay_serializable
heap_visible_first heap HeapOwnWaitRaceTest.NobodySeesWhatIsNotDurable
heap_visible_first heap HeapOwnWaitRaceTest.NobodySeesANumberThatWasGivenUpAndIsNotInTheLog
heap_ignore_needs heap HeapCrashTest.WhoReadFromALostTransactionIsLostWithIt
heap_ignore_claims heap HeapDamageTest.EveryWrongBitIsFoundOrChangesNothing
heap_patch_before_log heap HeapCrashTest.TheLogIsDurableBeforeOpeningChangesTheHeap
heap_patch_before_log heap HeapLinesTest.TheLogIsDurableBeforeOpeningChangesTheHeap
LIST
[ "$failures" -eq 0 ]
