#!/usr/bin/env bash
# The engine's suites on a processor of everything.txt, $3: conformance, model and stress tests of its elided combinations, a
# checked history of each workload, and TPC-C with its consistency conditions and a checked history. What is not built is a
# failure. ELIDER_EVERYTHING names the processors to run, or `all`; without it one of them runs, so that the suite stays short.
# ELIDER_EVERYTHING_SEEDS: how many seeds the deterministic one gets, if not as many as the list says; and
# history_schedule_test.cc runs short histories under more.
# presets: emulator
# each of: everything.txt
# timeout: 14400
set -u
elider=$1
list="$2/tests/emulator/everything.txt"
processor=$3
wanted=${ELIDER_EVERYTHING:-spurious-10}
[[ $wanted == all || " $wanted " == *" $processor "* ]] || { echo "skipped: ELIDER_EVERYTHING does not name $processor"; exit 77; }
ELIDER_EVERYTHING_SEEDS=${ELIDER_EVERYTHING_SEEDS:-0}
unset ELIDER_HTM_EMULATOR
failures=0
ran=0

# report NAME PROCESSOR STATUS SECONDS DETAIL
report() {
  ran=$((ran + 1))
  if [ "$3" -eq 0 ]; then
    printf 'ok   %-16s %-14s %4d s  %s\n' "$2" "$1" "$4" "$5"
  else
    failures=$((failures + 1))
    printf 'FAIL %-16s %-14s status %d: %s\n' "$2" "$1" "$3" "$5"
  fi
}

# Runs the suite once per seed. The seed also determines the random inputs, so that a run can be repeated. The first failure ends
# the suite. Tests that fill a heap, and churn in several threads, take minutes each, so only the first seed runs them.
suite() {
  local processor=$1 backend=$2 share=$3 name=$4 program="$ELIDER_BUILD_DIR/$4_test" begin=$SECONDS status=0 seed without=
  [ -x "$program" ] || { report "$name" "$processor" 1 0 "$program is not built"; return; }
  for seed in "${seeds[@]}"; do
    [ "$seed" = any ] || export ELIDER_HTM_EMULATOR=$options,seed=$seed ELIDER_SEED=$seed
    ELIDER_TEST_SCALE=$(awk -v a="${ELIDER_TEST_SCALE:-1}" -v b="$share" 'BEGIN { print a * b }') \
      timeout 3000 "$program" --gtest_filter="*elided_${backend//-/_}*$without" --gtest_brief=1 >log 2>&1
    status=$?
    without="-*HeapExhausted*:*MemoryLimit*:*ThreadedChurn*"
    # A filter that matches nothing passes.
    [ "$status" -ne 0 ] || grep -qE '^\[ +PASSED +\] [1-9]' log || status=1
    [ "$status" -eq 0 ] || break
  done
  local runs=""
  [ "$seed" = any ] || runs="; seed $seed"
  [ "$status" -ne 0 ] || [ "$seed" = any ] || runs="; each of ${#seeds[@]} seeds"
  report "$name" "$processor" "$status" $((SECONDS - begin)) \
    "$(grep -oE '^\[ +(PASSED|FAILED) +\] [0-9]+ test.*|elider emulator: .*' log | tail -1)$runs"
  [ "$status" -eq 0 ] || grep -E 'Failure$|^\[  FAILED' log | sort -u | head -20
}

histories() {
  local processor=$1 backend=$2 share=$3 begin status workload transactions
  transactions=$(awk -v share="$share" 'BEGIN { printf "%d", 2000 * share }')
  [ -x "$elider" ] || { report histories "$processor" 1 0 "$elider, the command line, is not built"; return; }
  for workload in list-append rw-register bank scan; do
    begin=$SECONDS status=0
    timeout 3000 "$elider" bench history --htm "$backend" --workload "$workload" --transactions "$transactions" --threads 4 \
      --out elle.jsonl --history native.jsonl >log 2>&1 && timeout 1800 "$elider" check-history native.jsonl >>log 2>&1 || status=$?
    report "$workload" "$processor" "$status" $((SECONDS - begin)) "$(tail -1 log)"
  done
  begin=$SECONDS status=0
  timeout 3000 "$elider" bench tpcc --htm "$backend" --items 200 --customers 30 --threads 2 --seconds 2 --quiet --json tpcc.json \
    --history tpcc.jsonl >log 2>&1 && timeout 1800 "$elider" check-history tpcc.jsonl >>log 2>&1 || status=$?
  report tpcc "$processor" "$status" $((SECONDS - begin)) \
    "$(python3 -c 'import json; r = json.load(open("tpcc.json")); print(r["committed"], "committed; conditions ok:", r["consistency"]["ok"])' 2>&1 |
      tail -1); $(tail -1 log)"
}

while read -r name backend options share; do
  [ "$name" = "$processor" ] || continue
  # seed=FIRST-LAST: the suites run once for each.
  seeds=(any)
  if [[ $options =~ ,seed=([0-9]+)-([0-9]+)$ ]]; then
    options=${options%,seed=*}
    first=${BASH_REMATCH[1]} last=${BASH_REMATCH[2]}
    seeds=($(seq "$first" "$((ELIDER_EVERYTHING_SEEDS > 0 ? first + ELIDER_EVERYTHING_SEEDS - 1 : last))"))
  fi
  export ELIDER_HTM_EMULATOR=$options
  unset ELIDER_SEED
  for program in conformance model stress; do suite "$name" "$backend" "$share" "$program"; done
  histories "$name" "$backend" "$share"
done <"$list"

echo "$((ran - failures)) of $ran passed"
[ "$ran" -gt 0 ] && [ "$failures" -eq 0 ]
