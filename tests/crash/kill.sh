#!/usr/bin/env bash
# presets: dev release
# engines: all
# kill -9 at random points, under transfers and under TPC-C, on one database each. Nothing acknowledged is lost, and no
# transaction is incomplete. adya and elider check-history find the history across all restarts strictly serializable.
# The victims use the policies that ledger.py lists in turn, on the same files. ELIDER_KILLS: the number of kills per
# workload (default 10). Without adya, only the other checks run, and the test is "skipped" unless one of them fails.
set -uo pipefail
folder="$(cd "$(dirname "$0")" && pwd)"
source "$folder/../history/adya_common.bash"
victim="${ELIDER_BUILD_DIR:?}/crash_victim"
kills=${ELIDER_KILLS:-10}
seed=${ELIDER_KILL_SEED:-1}

failures=0 adya=
rm -rf transfer tpcc  # an earlier run's histories are not this one's
for workload in transfer tpcc; do
  python3 "$folder/kill.py" "$victim" "$workload" "$workload" --kills "$kills" --seed "$seed" || failures=$((failures + 1))
done
if [ -s transfer/elle.jsonl ]; then
  cp transfer/elle.jsonl transfer/native.jsonl .
  check_with_elider || { echo "FAIL check-history exits with $?: $(tail -15 native.txt)"; failures=$((failures + 1)); }
  tail -1 native.txt
  if find_adya; then
    check_with_adya list-append || { echo "FAIL adya exits with $?: $(grep -v '^$' adya.txt | tail -15)"; failures=$((failures + 1)); }
    tail -1 adya.txt
  fi
fi
[ "$failures" -eq 0 ] || exit 1
[ -n "$adya" ] || exit 77
