#!/usr/bin/env bash
# presets: release dev emulator
# timeout: 7200
# Histories of the durable heap, in which threads read lists and append to them. adya, an independent checker, checks that they are
# strictly serializable, or that they have snapshot isolation if it was requested. They contain attempts that met a conflict, as
# transactions that only read, so strict serializability includes opacity. A heap that does not validate its reads must be
# caught. In the emulator, and on processors with hardware transactions, the transactions also run in regions, for each
# kind of tracking that can be suspended. Without adya, the test is skipped.
set -uo pipefail
source "$(dirname "$0")/../history/adya_common.bash"
find_adya || exit 77

failures=0

# history OPTIONS...: writes elle.jsonl. That of regions has transactions in them.
again=0  # runs that met a conflict
history() {
  timeout 1800 "$elider" bench heap --history elle.jsonl --threads 4 --transactions "$(scaled 20000)" "$@" >said.txt || return 1
  cat said.txt
  if [[ $* == *--backend* ]]; then
    grep -qE ' [1-9][0-9]+ of them in regions' said.txt || { echo "hardly any ran in regions"; return 1; }
  fi
  again=$((again + $(sed -n 's/.* reads of \([0-9]*\) runs .*/\1/p' said.txt)))
}
# expect STATUS MODEL LABEL
expect() {
  local status=0
  timeout 600 "$adya" check -m list-append -c "$2" elle.jsonl >adya.txt 2>&1 || status=$?
  if [ "$status" -eq "$1" ]; then
    echo "ok   $3: adya exits with $status"
  else
    failures=$((failures + 1))
    echo "FAIL $3: adya exits with $status, not $1: $(grep -v '^$' adya.txt | tail -15)"
  fi
}

unset ELIDER_MUTANT
if [ "$preset" = emulator ]; then
  for suspension in none loads all; do
    export ELIDER_HTM_EMULATOR=suspension=$suspension
    history --backend emulated --seed 1 && expect 0 strict-serializable "regions, suspending $suspension" || failures=$((failures + 1))
  done
  history --backend emulated --isolation snapshot --seed 2 && expect 0 snapshot-isolation "regions, --isolation snapshot" ||
    failures=$((failures + 1))
  [ "$failures" -eq 0 ]
  exit
fi
for options in "--medium delay" "--medium delay --durability later" "--medium delay --wait own" "--medium file --durability later"; do
  # shellcheck disable=SC2086
  history $options --seed 1 && expect 0 strict-serializable "$options" || failures=$((failures + 1))
done
history --medium delay --isolation snapshot --seed 2 && expect 0 snapshot-isolation "--isolation snapshot" || failures=$((failures + 1))
if "$elider" hardware | grep -q '^usable *yes'; then
  for options in "" --tracked-reads; do
    # shellcheck disable=SC2086
    history --backend rtm $options --seed 1 && expect 0 strict-serializable "regions of the processor $options" || failures=$((failures + 1))
    # shellcheck disable=SC2086
    history --backend rtm --isolation snapshot $options --seed 2 &&
      expect 0 snapshot-isolation "regions of the processor, --isolation snapshot $options" || failures=$((failures + 1))
  done
fi
[ "$again" -gt 0 ] || { failures=$((failures + 1)); echo "FAIL no run met a conflict"; }
if [ "$preset" = dev ]; then  # which has mutants
  # A history in which hardly two met may be serializable all the same.
  for seed in $(seq 3 22); do
    ELIDER_MUTANT=heap_skip_validation history --medium delay --seed "$seed" >/dev/null || break
    timeout 600 "$adya" check -m list-append -c strict-serializable elle.jsonl >adya.txt 2>&1 || break
  done
  expect 1 strict-serializable "heap_skip_validation, seed $seed"
fi
[ "$failures" -eq 0 ]
