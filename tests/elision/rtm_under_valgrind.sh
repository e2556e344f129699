#!/usr/bin/env bash
# The backend rtm on any x86-64: under valgrind every XBEGIN is decoded and aborts, with status 0, as on processors
# whose transactions are switched off. So the real instructions run, and every section's way to its lock.
# presets: dev
set -u
tests="$ELIDER_BUILD_DIR/conformance_test"
command -v valgrind > /dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
[ -x "$tests" ] || { echo "skipped: $tests is not built"; exit 77; }
filter='*elided_rtm*-*MemoryLimit*:*HeapExhausted*'  # without what is about the allocator, and slow here
ELIDER_TEST_RTM=1 timeout 3000 valgrind --tool=none --error-exitcode=9 "$tests" --gtest_filter="$filter" --gtest_brief=1 > out.txt 2>&1
status=$?
passed=$(grep -oE '^\[  PASSED  \] [0-9]+ tests?' out.txt)
echo "under valgrind: ${passed:-status $status}"
[ "$status" -eq 0 ] && [ -n "$passed" ] && exit 0
tail -20 out.txt
exit 1
