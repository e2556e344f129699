#!/usr/bin/env bash
# presets: release emulator
# engines: all
# Histories of every combination that this build registers, checked by a checker that none of us wrote (adya, from
# crates.io) and by elider check-history: 100,000 transactions of list-append each, or ELIDER_HISTORY_TRANSACTIONS, and fewer of
# the other workloads, which ELIDER_TEST_SCALE cuts further. Adya's "unknown" (exit 2) is a failure too. Where adya cannot be had elider check-history
# looks at them alone, and the test is "skipped", unless that finds a fault.
set -uo pipefail
source "$(dirname "$0")/adya_common.bash"
find_adya || checkers="elider check-history alone"

failures=0
checked=0

# both LABEL WORKLOAD OPTIONS...
both() {
  local label=$1 workload=$2
  shift 2
  local begin=$SECONDS problem=""
  if ! make_history --workload "$workload" "$@" > history.txt 2>&1; then
    problem="the run failed: $(tail -2 history.txt)"
  else
    [ -z "$adya" ] || check_with_adya "$workload" || problem="adya exits with $?: $(grep -v '^$' adya.txt | tail -15)"
    check_with_elider || problem="$problem check-history exits with $?: $(tail -15 native.txt)"
  fi
  checked=$((checked + 1))
  if [ -n "$problem" ]; then
    failures=$((failures + 1))
    printf 'FAIL %s %s: %s\n' "$workload" "$label" "$problem"
    cp elle.jsonl "failed_$checked.elle.jsonl"
    cp native.jsonl "failed_$checked.native.jsonl"
  else
    printf 'ok   %s %s (%s; %d s)\n' "$workload" "$label" "$(cut -d: -f2 history.txt | cut -d';' -f1 | head -1)" $((SECONDS - begin))
  fi
}

# alone WORKLOAD OPTIONS...: checks a run whose database does not have a sink, so that it takes the same short cuts as in a program.
# The run does not write the engine's own format, so elider check-history does not check it.
alone() {
  local workload=$1 begin=$SECONDS problem=""
  shift
  if ! make_client_history --workload "$workload" "$@" > history.txt 2>&1; then
    problem="the run failed: $(tail -2 history.txt)"
  else
    [ -z "$adya" ] || check_with_adya "$workload" || problem="adya exits with $?: $(grep -v '^$' adya.txt | tail -15)"
  fi
  checked=$((checked + 1))
  if [ -n "$problem" ]; then
    failures=$((failures + 1))
    printf 'FAIL %s, clients alone, %s: %s\n' "$workload" "$*" "$problem"
    cp elle.jsonl "failed_$checked.elle.jsonl"
  else
    printf 'ok   %s, clients alone, %s (%d s)\n' "$workload" "$*" $((SECONDS - begin))
  fi
}

# histories_of THREADS OPTIONS...: all workloads under these options.
histories_of() {
  local threads=$1 index
  shift
  for index in hash btree; do
    local options=("$@" --index "$index" --threads "$threads")
    both "$* $index" list-append "${options[@]}" --transactions "${ELIDER_HISTORY_TRANSACTIONS:-100000}" --seed 1
    both "$* $index" scan "${options[@]}" --transactions "$(scaled 20000)" --seed 2
    both "$* $index" bank "${options[@]}" --transactions "$(scaled 4000)" --seed 3
    both "$* $index" rw-register "${options[@]}" --transactions "$(scaled 4000)" --seed 4
    both "$* $index" claims "${options[@]}" --transactions "$(scaled 20000)" --seed 8
    alone list-append "${options[@]}" --transactions "$(scaled 20000)" --seed 9 --operations 2
    alone claims "${options[@]}" --transactions "$(scaled 10000)" --seed 10
    both "$* $index, in groups" list-append "${options[@]}" --transactions "$(scaled 5000)" --seed 11 --group 16
    both "$* $index, in groups" bank "${options[@]}" --transactions "$(scaled 2000)" --seed 12 --group 4
    alone list-append "${options[@]}" --transactions "$(scaled 5000)" --seed 13 --group 8
  done
  both "$* art" list-append "$@" --index art --threads "$threads" --transactions "$(scaled 20000)" --seed 29
  both "$* art" scan "$@" --index art --threads "$threads" --transactions "$(scaled 10000)" --seed 30
  both "$* art" claims "$@" --index art --threads "$threads" --transactions "$(scaled 10000)" --seed 31
}

if [ "$preset" = emulator ]; then
  histories_of 4 --htm emulated
  histories_of 4 --htm emulated --protocol whole-transaction
  histories_of 4 --htm emulated --protocol spinlock
  histories_of 4 --htm emulated --protocol timestamp
else
  histories_of 4 --sync optimistic
  histories_of 4 --sync latched
  histories_of 4 --protocol timestamp
  histories_of 4 --protocol timestamp-validated
  histories_of 4 --sync latched --protocol timestamp
  histories_of 4 --protocol two-phase-locking
  histories_of 4 --protocol chopped
  histories_of 4 --protocol serial
  histories_of 4 --protocol partitioned
  histories_of 1 --sync single-threaded
  histories_of 4 --htm none
  histories_of 4 --htm none --protocol whole-transaction
  histories_of 4 --htm none --protocol spinlock
  histories_of 4 --htm none --protocol timestamp
  histories_of 4 --htm always-aborts
  histories_of 4 --htm always-aborts --protocol whole-transaction
  histories_of 4 --htm always-aborts --protocol spinlock
  if "$elider" hardware | grep -q '^usable *yes'; then
    histories_of 4 --htm rtm
    histories_of 4 --htm rtm --protocol whole-transaction
    histories_of 4 --htm rtm --protocol spinlock
    histories_of 4 --htm rtm --protocol timestamp
  fi
fi
# Calls of chopped procedures, beside ordinary transactions and snapshots; and the same calls as one transaction each.
for index in hash btree; do
  both "in pieces, $index" posts --protocol chopped --index $index --threads 4 --transactions "$(scaled 20000)" --seed 14
  alone posts --protocol chopped --index $index --threads 4 --transactions "$(scaled 10000)" --seed 15
done
both "in pieces, latched" posts --protocol chopped --sync latched --threads 4 --transactions "$(scaled 10000)" --seed 35
for index in hash btree; do
  both "in pieces, in groups, $index" posts --protocol chopped --index $index --threads 4 --group 8 --transactions "$(scaled 10000)" --seed 26
  both "deferring, in groups, $index" posts --protocol chopped --deferring --index $index --threads 4 --group 4 --yield 40 \
    --transactions "$(scaled 10000)" --seed 27
  alone posts --protocol chopped --index $index --threads 4 --group 8 --transactions "$(scaled 10000)" --seed 28
  both "deferring, $index" posts --protocol chopped --deferring --index $index --threads 4 --yield 40 --transactions "$(scaled 20000)" --seed 20
  alone posts --protocol chopped --deferring --index $index --threads 4 --yield 40 --transactions "$(scaled 10000)" --seed 21
done
# A call that has seen a deferring call does not wait for the deferred part. The result is serializable, but may contradict real time.
consistency=serializable
for index in hash btree; do
  both "deferring, answering at once, $index" posts --protocol chopped --deferring --answers-at-once --index $index --threads 6 --keys 2 --yield 50 \
    --transactions "$(scaled 20000)" --seed 23
  alone posts --protocol chopped --deferring --answers-at-once --index $index --threads 4 --yield 40 --transactions "$(scaled 10000)" --seed 24
done
both "random, answering at once" procedures --protocol chopped --deferring --answers-at-once --yield 40 --transactions "$(scaled 10000)" --seed 25
# Readers at snapshots that their clients hold, and advance now and then.
for protocol in occ timestamp chopped; do
  both "held snapshots, $protocol" list-append --protocol $protocol --held-snapshots --read-only-share 50 --yield 30 --transactions "$(scaled 10000)" \
    --seed 30
  alone scan --protocol $protocol --held-snapshots --read-only-share 50 --yield 30 --transactions "$(scaled 10000)" --seed 31
done
both "held snapshots, in groups" list-append --held-snapshots --group 7 --read-only-share 50 --transactions "$(scaled 10000)" --seed 32
both "held snapshots, in pieces" posts --protocol chopped --held-snapshots --yield 30 --transactions "$(scaled 10000)" --seed 33
both "held snapshots, random" procedures --protocol chopped --deferring --held-snapshots --yield 30 --transactions "$(scaled 10000)" --seed 34
consistency=strict-serializable
both "in pieces, readers, 8 threads" posts --protocol chopped --keys 2 --threads 8 --read-only-share 60 --transactions "$(scaled 20000)" --seed 16
# random_procedures YIELD OPTIONS...: random declarations, 50 a seed, and programs that obey them; where nothing is scaled, 3,150.
random_procedures() {
  local yield=$1 seed found deferrals=0 indexes=(hash btree)
  shift
  for seed in $(seq 1 "$(awk -v scale="${ELIDER_TEST_SCALE:-1}" 'BEGIN { print int(20 * (scale > 1 ? 1 : scale)) + 1 }')"); do
    local options=("$@" --protocol chopped --index "${indexes[$((seed % 2))]}" --yield "$yield" --transactions "$(scaled 10000)")
    both "random, seed $seed $*" procedures "${options[@]}" --seed "$seed"
    both "random, deferring, seed $seed $*" procedures "${options[@]}" --deferring --seed "$seed"
    found=$(sed -n 's/.* \([0-9]*\) deferrals.*/\1/p' history.txt)
    deferrals=$((deferrals + ${found:-0}))
    alone procedures "${options[@]}" --seed $((100 + seed))
    both "random, in groups, seed $seed $*" procedures "${options[@]}" --group 6 --seed $((200 + seed))
    both "random, deferring, in groups, seed $seed $*" procedures "${options[@]}" --deferring --group 6 --seed $((200 + seed))
  done
  if [ $deferrals -eq 0 ]; then
    echo "FAIL random procedures: none defers beside a subscriber"
    failures=$((failures + 1))
  fi
}
random_procedures 40
regions=
if [ "$preset" = emulator ]; then regions=emulated
elif "$elider" hardware | grep -q '^usable *yes'; then regions=rtm; fi
if [ -n "$regions" ]; then
  random_procedures 0 --htm $regions  # a call that yields cannot be a region
  for index in hash btree; do
    both "in regions, $index" posts --protocol chopped --htm $regions --index $index --threads 4 --transactions "$(scaled 20000)" --seed 18
    alone posts --protocol chopped --htm $regions --index $index --threads 4 --transactions "$(scaled 10000)" --seed 19
    both "deferring, in regions, $index" posts --protocol chopped --deferring --htm $regions --index $index --threads 4 --transactions "$(scaled 20000)" \
      --seed 22
  done
fi
both "at once" posts --threads 4 --transactions "$(scaled 5000)" --seed 17
# Rows kept as blocks; two keys, where nearly everything conflicts; readers above all.
both "blocks" list-append --block-threshold 64 --transactions "$(scaled 20000)" --seed 5
both "two keys, 8 threads" list-append --keys 2 --threads 8 --transactions "$(scaled 20000)" --seed 6
both "zones" scan --zoned --read-only-share 40 --transactions "$(scaled 4000)" --seed 8
both "readers" list-append --read-only-share 80 --threads 6 --transactions "$(scaled 20000)" --seed 7

echo "$((checked - failures)) histories are sound by ${checkers:-both checkers}, $failures are not"
[ "$failures" -eq 0 ] || exit 1
[ -n "$adya" ] || exit 77
