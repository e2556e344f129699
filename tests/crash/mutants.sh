#!/usr/bin/env bash
# presets: dev
# engines: all
# That kill.sh, inject.py and ledger.py can fail. kill.sh ends with 1 under each of these defects of the engine, with words
# that fit. Each opens a window in which kill -9 finds what a promise lacks, and it kills until it has; what was written but
# not synced outlives a process, so defects that only a power cut shows (publish_unsynced) are images_test.cc's.
# inject.py finds an early acknowledgement at a single write; ledger_test.py doctors what the victims tell.
set -uo pipefail
folder="$(cd "$(dirname "$0")" && pwd)"
failures=0

fail() {
  echo "FAIL $*"
  failures=$((failures + 1))
}

# kill_under MUTANT WORDS: some of the seeds are enough; the folder is its own.
kill_under() {
  local mutant=$1 words=$2 seed status
  mkdir -p "$mutant"
  for seed in 1 2 3 4 5; do
    (cd "$mutant" && ELIDER_MUTANT=$mutant ELIDER_KILLS=60 ELIDER_KILL_SEED=$seed bash "$folder/kill.sh" "$elider" > output.txt 2>&1)
    status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || break
  done
  if [ "$status" -ne 1 ]; then fail "kill.sh ends with $status under $mutant: $(tail -3 "$mutant/output.txt")"
  elif ! grep '^FAIL' "$mutant/output.txt" | grep -Eq "$words"; then
    fail "kill.sh fails under $mutant with other words: $(cat "$mutant/output.txt")"
  else echo "kill.sh, $mutant: $(grep -m1 '^FAIL' "$mutant/output.txt" | cut -c1-150)"
  fi
}

elider=${1:-${ELIDER:?}}
unset ELIDER_MUTANT
# Or one stream of the log knows more of the other than is there.
lost='an acknowledged transaction is lost|acknowledged were|the log ends at number'
kill_under acknowledge_early "$lost"
kill_under largest_durable "$lost"
kill_under remove_log_early 'is missing'

ELIDER_MUTANT=acknowledge_early python3 "$folder/inject.py" "${ELIDER_BUILD_DIR:?}/crash_victim" strace strace > strace.txt 2>&1
case $? in
  77) tail -1 strace.txt ;;
  1) grep -Eq "^FAIL.*($lost)" strace.txt || fail "inject.py fails with other words: $(cat strace.txt)" ;;
  *) fail "inject.py does not fail under acknowledge_early: $(tail -3 strace.txt)" ;;
esac
python3 "$folder/ledger_test.py" || fail "ledger_test.py"
[ "$failures" -eq 0 ]
