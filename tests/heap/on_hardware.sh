#!/usr/bin/env bash
# The durable heap's own tests and crash images, with update transactions in the processor's regions: where it has some.
# First as it can, then with their reads tracked throughout, as on processors without TSXLDTRK.
# presets: dev
# timeout: 7200
set -u
program="$ELIDER_BUILD_DIR/heap_test"
"$1" hardware | grep -q '^usable *yes' || { echo "skipped: no hardware transactions run here"; exit 77; }
source "$(dirname "$0")/region_tests.bash"
failures=0
run_region_tests "as the processor can" rtm || failures=$((failures + 1))
ELIDER_HEAP_TRACKED_READS=1 run_region_tests "reads tracked" rtm || failures=$((failures + 1))
[ "$failures" -eq 0 ]
