#!/usr/bin/env bash
# The durable heap's own tests and crash images, with update transactions in regions: on processors that can suspend all
# tracking, that of reads, or none, and on one whose regions all abort, so that everything runs alone.
# presets: emulator
# timeout: 7200
set -u
program="$ELIDER_BUILD_DIR/heap_test"
[ -x "$program" ] || { echo "there is no $program" >&2; exit 1; }
source "$(dirname "$0")/../heap/region_tests.bash"
failures=0
for suspension in all loads none aborts; do
  backend=emulated
  export ELIDER_HTM_EMULATOR=suspension=$suspension
  [ "$suspension" = aborts ] && backend=always-aborts ELIDER_HTM_EMULATOR=suspension=none
  run_region_tests "suspension=$suspension" "$backend" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ]
