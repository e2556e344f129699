#!/usr/bin/env bash
# presets: dev
# Each deliberate defect of the engine (ELIDER_MUTANT, in builds with test points) must be caught by
# both checkers, adya and elider check-history; without one, both must pass the same workloads. A
# checker that never fails would prove nothing. Exit 77: skipped.
set -uo pipefail
if [ "${ELIDER_PRESET:-dev}" != dev ]; then
  echo "skipped: mutants run in the preset dev alone"
  exit 77
fi
source "$(dirname "$0")/adya_common.bash"
find_adya || exit 77

failures=0
seeds=12

# The workload that shows each defect best.
lists="list-append --keys 2 --threads 4 --operations 8 --yield 10 --read-only-share 0"
readers="list-append --keys 4 --threads 6 --yield 30 --read-only-share 50"
ranges="scan --keys 4 --threads 6 --yield 30 --read-only-share 5"
posts="posts --protocol chopped --keys 4 --threads 6 --yield 30 --read-only-share 40"
deferring="posts --protocol chopped --deferring --keys 2 --threads 6 --yield 50"
random="procedures --protocol chopped --yield 40"
workload_of() {
  case $1 in
    publish_beside_subscribers) echo "$deferring" ;;
    keep_leaf_version | skip_absent_read) echo "$ranges" ;;
    late_snapshot_read) echo "$readers" ;;
    leave_cycle | forget_sibling) echo "$random" ;;
    read_half_a_call | commit_beside_calls) echo "$posts" ;;
    *) echo "$lists" ;;
  esac
}

# caught MUTANT OPTIONS...: tries seeds until both checkers have refused a history of it.
caught() {
  local mutant=$1 adya_caught=no own_caught=no seed status
  shift
  for seed in $(seq 1 $seeds); do
    # The run itself may notice: unexpected statuses, a broken invariant. The checkers are asked anyway.
    ELIDER_MUTANT=$mutant make_history --workload "$@" --transactions 20000 --seed "$seed" > history.txt 2>&1
    status=$?
    if [ ! -s elle.jsonl ] || [ ! -s native.jsonl ]; then
      echo "FAIL $mutant: the run left no history (exit $status): $(tail -3 history.txt)"
      return 1
    fi
    check_with_adya "$1"
    [ $? -eq 1 ] && adya_caught=yes
    check_with_elider
    [ $? -eq 1 ] && own_caught=yes
    [ $adya_caught = yes ] && [ $own_caught = yes ] && break
  done
  if [ $adya_caught = yes ] && [ $own_caught = yes ]; then
    echo "ok   $mutant: caught by both, within $seed histories ($*)"
    return 0
  fi
  echo "FAIL $mutant: caught by adya: $adya_caught, by check-history: $own_caught, in $seed histories ($*)"
  return 1
}

# passes OPTIONS...
passes() {
  if make_history --workload "$@" --transactions 20000 --seed 1 > history.txt 2>&1 &&
    check_with_adya "$1" && check_with_elider; then
    echo "ok   no mutant: both pass ($*)"
    return 0
  fi
  echo "FAIL no mutant: a checker refuses ($*): $(tail -3 history.txt adya.txt native.txt)"
  return 1
}

unset ELIDER_MUTANT
for mutant in skip_read_validation keep_leaf_version late_snapshot_read ignore_lock_bit skip_absent_read read_half_a_call \
  commit_beside_calls publish_beside_subscribers leave_cycle forget_sibling; do
  # shellcheck disable=SC2046
  caught $mutant $(workload_of $mutant) || failures=$((failures + 1))
done
# Where rows are hashed all phantoms come through the secondary index.
# shellcheck disable=SC2086
caught keep_leaf_version $ranges --index hash || failures=$((failures + 1))
for workload in "$lists" "$readers" "$ranges" "$posts" "$deferring" "$random"; do
  # shellcheck disable=SC2086
  passes $workload || failures=$((failures + 1))
done
echo "$((17 - failures)) passed, $failures failed"
[ "$failures" -eq 0 ]
