#!/usr/bin/env bash
# presets: dev release
# engines: all
# The command line as a user meets it: exit codes, messages that name the option, JSON files, drawings.
# 0 it worked, 1 it ran and failed, 2 it was asked for nonsense and nothing was run.
set -u
elider=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect CODE PATTERN COMMAND...: the command's exit code, and a pattern that its output matches.
expect() {
  local code=$1 pattern=$2
  shift 2
  local output
  output=$("$@" 2>&1)
  local actual=$?
  if [ "$actual" -ne "$code" ] || ! grep -qE -e "$pattern" <<<"$output"; then
    echo "FAILED: $*"
    echo "  expected exit code $code and /$pattern/, got $actual and:"
    sed 's/^/  | /' <<<"$output"
    failed=1
  fi
}

expect 0 'elider bench tpcc' "$elider" --help
expect 0 '^elider [0-9]+\.[0-9]+\.[0-9]+ \(commit ' "$elider" --version
expect 2 'Usage: elider' "$elider"
for command in 'bench tpcc' 'bench ycsb' 'bench compare' 'bench durability' 'bench history' 'check-history' 'plot'; do
  # shellcheck disable=SC2086  # two words are two arguments
  expect 0 'Usage: elider|Options:' "$elider" $command --help
done

expect 2 'bogus' "$elider" bogus
expect 2 "elider: unknown command 'benhc'; did you mean bench" "$elider" benhc
expect 2 "elider bench: unknown command 'ycbs'; did you mean ycsb" "$elider" bench ycbs
expect 2 "elider bench ycsb: unknown option '--thread'; did you mean --threads" "$elider" bench ycsb --thread 2
expect 2 "unknown option '--wharehouses'; did you mean --warehouses" "$elider" bench tpcc --seconds 1 --wharehouses=2
expect 2 "'two' is not a whole number" "$elider" bench ycsb --threads two
expect 2 "1.5 is not|'1.5' is not a whole number" "$elider" bench ycsb --threads 1.5
for number in 257 -1 99999999999999999999; do expect 2 "$number is not in the range from 1 to 256" "$elider" bench ycsb --threads "$number"; done
# If the results cannot be written, the command fails.
expect 1 'No space left on device' sh -c "'$elider' bench ycsb --records 500 --seconds 0.1 >/dev/full"
expect 1 'No space left on device' sh -c "'$elider' hardware >/dev/full"
expect 1 "cannot write '/dev/full': No space left on device" "$elider" bench ycsb --records 500 --seconds 0.1 --quiet --json /dev/full
expect 2 '--seconds' "$elider" bench ycsb --seconds -5
expect 2 '--threads' "$elider" bench ycsb --threads 0
expect 2 '--operations' "$elider" bench ycsb --operations 17
for number in -1 ten 1e3 0x10 1.5 18446744073709551616 ''; do
  expect 2 '--seed' "$elider" bench ycsb --seed "$number"
  expect 2 '--seed' "$elider" bench history --out "$folder/none.jsonl" --seed "$number"
  expect 2 '--transactions' "$elider" bench history --out "$folder/none.jsonl" --transactions "$number"
done
[ ! -e "$folder/none.jsonl" ] || { echo "FAILED: a refused command wrote its file"; failed=1; }
expect 2 '--index btree' "$elider" bench ycsb --workload e
expect 2 '--sync' "$elider" bench ycsb --sync wishful
expect 2 '--protocol.*wishful' "$elider" bench ycsb --protocol wishful
expect 2 '--protocol.*elided' "$elider" bench ycsb --protocol whole-transaction --sync latched
expect 2 '--copied-reads.*elided' "$elider" bench ycsb --copied-reads
expect 2 '--warehouses' "$elider" bench tpcc --warehouses 0
for garbage in 'garbage' '' '5' '[]' '{"runs": 5}' '{"throughput_txns_per_s": 1, "configuration": 7}' '{"runs": [{}]}' \
  '{"throughput_txns_per_s": "fast", "configuration": {}}' '{"figures": 3, "configuration": {}}' '{"figures": [{}], "configuration": {}}'; do
  printf '%s' "$garbage" >"$folder/garbage.json"
  expect 2 '^elider plot: .*garbage.json' "$elider" plot "$folder/garbage.json" -o "$folder/x.png"
  "$elider" plot "$folder/garbage.json" -o "$folder/x.png" 2>&1 | grep -q Traceback && { echo "FAILED: a traceback for $garbage"; failed=1; }
done
printf '\xff\xfe' >"$folder/garbage.json"
expect 2 'garbage.json: not JSON' "$elider" plot "$folder/garbage.json" -o "$folder/x.png"
expect 2 'nothere.json' "$elider" plot nothere.json -o "$folder/x.png"
expect 2 'png' "$elider" plot "$0" -o "$folder/x.pdf"

tpcc=("$elider" bench tpcc --items 1000 --customers 30 --threads 2 --seconds 0.2)
expect 2 'durable-every.*data' "${tpcc[@]}" --durable-every 8
expect 2 'durable-every.*requires a log' "${tpcc[@]}" --durable-every 8 --durability none --data "$folder/sampled"
for way in async group; do
  for together in '' '--group 8'; do
    # shellcheck disable=SC2086  # two words, or none
    expect 0 'acknowledged [0-9.]+ ms after' "${tpcc[@]}" --durable-every 8 --data "$folder/sampled" --durability "$way" $together \
      --json "$folder/sampled.json"
    expect 0 '' python3 - "$folder/sampled.json" <<'PYTHON'
import json, sys
latency = json.load(open(sys.argv[1]))["durable_latency_us"]
assert latency["sample_every"] == 8 and latency["samples"] > 0, latency
assert 0 < latency["p50"] <= latency["p99"] <= latency["p99_9"] <= latency["max"] and latency["mean"] > 0, latency
PYTHON
    rm -rf "$folder/sampled"
  done
done
expect 0 'dumbo-9: Replay' "$elider" bench heap --figure dumbo-9 --quick --json "$folder/dumbo.json"
expect 2 'figure.*dumbo-2' "$elider" bench heap --figure dumbo-2
expect 2 'study excludes .*figure' "$elider" bench heap --figure dumbo-9 --study replay
expect 2 'figure excludes .*history' "$elider" bench heap --history "$folder/h.jsonl" --figure dumbo-9
expect 0 'all 1[0-9] conditions hold' "$elider" bench tpcc --items 1000 --customers 30 --warehouses 2 --threads 2 --seconds 0.2 --sequence \
  --partition-crossing 50 --protocol two-phase-locking

small=(--records 5000 --seconds 0.3 --threads 2)
expect 0 'txn/s' "$elider" bench ycsb "${small[@]}" --value-bytes 100 --mix 80/20 --distribution uniform --operations 1 --index hash \
  --json "$folder/ycsb.json"
# joined COMMAND...: what it prints, with the lines that were broken to fit 80 columns put together again.
joined() { "$@" | sed -z 's/\n \{15\}/ /g'; }
expect 0 '^  configured .* records=5000 .*mix=80/20 .*threads=2 .*seed=7 .*sync_used=' joined "$elider" bench ycsb "${small[@]}" \
  --mix 80/20 --seed 7
for run in "ycsb --records 500" "tpcc --items 100 --customers 20 --prefault 0" "compare --records 500 --repeat 1 --peers sqlite"; do
  # shellcheck disable=SC2086
  long=$("$elider" bench $run --seconds 0.1 2>/dev/null | grep -E '^.{81}')
  [ -z "$long" ] || { echo "FAILED: bench $run prints more than 80 columns: $long"; failed=1; }
done
expect 0 '^  configured .* warehouses=1 items=100 .*mix=45,43,4,4,4 .*seed=7 .*sync_used=' joined "$elider" bench tpcc --items 100 \
  --customers 20 --seconds 0.2 --prefault 0 --seed 7
expect 0 '^\{' "$elider" bench ycsb "${small[@]}" --quiet --json -
expect 0 '"pin": true' "$elider" bench ycsb "${small[@]}" --pin --quiet --json -
# To a terminal, and only there, a line tells of the run as it goes on.
expect 0 'running 1/2 s: .* txn/s' script -qec "'$elider' bench ycsb --records 5000 --seconds 2.2 --threads 2" /dev/null
expect 0 '^usable +(yes|no)' "$elider" hardware
expect 0 '"copied_reads": true' "$elider" bench ycsb "${small[@]}" --sync elided --copied-reads --quiet --json -
expect 0 '"runs"' "$elider" bench compare --records 500 --seconds 0.1 --repeat 2 --mix 80/20 --quiet --json -
"$elider" bench compare --records 500 --seconds 0.1 --repeat 2 --mix 80/20,50/50 --quiet --json "$folder/compare.json" || failed=1
"$elider" bench compare --records 500 --seconds 0.1 --repeat 2 --workload a,b,c,d,e,f --index btree --quiet --json "$folder/workloads.json" ||
  failed=1
expect 2 '--index btree' "$elider" bench compare --workload a,e
expect 2 "'/no/such/folder'" "$elider" bench compare --dir /no/such/folder
# One that is interrupted, while it loads or runs, leaves no file behind.
"$elider" bench compare --records 500 --seconds 60 --peers rocksdb,lmdb --quiet --data "$folder/interrupted" &
compare=$!
for ((i = 0; i < 300; ++i)); do
  [ -n "$(find "$folder/interrupted" -mindepth 2 2>/dev/null)" ] && break
  sleep 0.1
done
[ "$i" -lt 300 ] || { echo "FAILED: compare makes no files below --data"; failed=1; }
kill -TERM "$compare"
wait "$compare"
code=$?
[ "$code" -eq 143 ] || { echo "FAILED: an interrupted compare ended with $code"; failed=1; }
[ -z "$(ls -A "$folder/interrupted")" ] || { echo "FAILED: an interrupted compare left files behind"; failed=1; }
# One of the others says what it has until then. A process in the background ignores SIGINT, so Python starts it.
expect 0 '^130 True True True$' python3 - "$elider" "$folder/short.json" <<'PYTHON'
import json, signal, subprocess, sys, time
elider, file = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)
run = subprocess.Popen([elider, "bench", "ycsb", "--records", "500", "--seconds", "600", "--json", file], stdout=subprocess.PIPE, text=True)
def watched():
    caught = next(line for line in open(f"/proc/{run.pid}/status") if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> signal.SIGINT - 1 & 1
while not watched() and run.poll() is None:
    time.sleep(0.01)
time.sleep(0.2)  # for some transactions; nothing hangs on it
run.send_signal(signal.SIGINT)
said = run.communicate()[0]
result = json.load(open(file))
print(run.returncode, "INTERRUPTED" in said, result["interrupted"], 0 < result["seconds"] < 600)
PYTHON
# Every benchmark writes histories, one a database.
expect 0 '' "$elider" bench compare --records 500 --seconds 0.1 --repeat 1 --mix 50/50 --peers sqlite --quiet --history "$folder/compare.jsonl"
expect 0 'strictly serializable' "$elider" check-history "$folder/compare.jsonl"

# What a run leaves in --data the next one continues on, under the same command or another of the same table.
small=(--records 500 --seconds 0.1 --threads 2 --quiet)
"$elider" bench ycsb "${small[@]}" --mix 50/50 --index btree --data "$folder/kept" || failed=1
for round in 1 2; do
  expect 0 "in $folder/kept: [0-9]+ rows" "$elider" bench compare "${small[@]}" --repeat 2 --mix 80/20,50/50 --index btree --peers sqlite \
    --data "$folder/kept" --resume --json -
done
expect 0 '"durability": "group"' "$elider" bench compare "${small[@]}" --repeat 1 --workload b,f --index btree --peers sqlite \
  --data "$folder/kept" --resume --durability group --json -
expect 1 '500 rows were recovered, but --records is 400' "$elider" bench compare --records 400 --seconds 0.1 --quiet --index btree --peers sqlite \
  --data "$folder/kept" --resume
expect 1 'the key index is .(hash|btree). in the table, but .(hash|btree). in' "$elider" bench compare "${small[@]}" --index hash --peers sqlite --data "$folder/kept" --resume
expect 2 '--resume.*workload d' "$elider" bench compare "${small[@]}" --workload a,d --data "$folder/kept" --resume
[ -z "$(find "$folder/kept" -mindepth 1 -type d)" ] || { echo "FAILED: compare left the others' files in --data"; failed=1; }
expect 0 '"ok": true' "$elider" bench ycsb "${small[@]}" --mix 50/50 --index btree --data "$folder/kept" --resume --json -
expect 0 'all is well' "$elider" check "$folder/kept"

# Histories also continue. They use new keys and values, so that the checkers accept each history.
for workload in list-append rw-register bank scan; do
  for index in btree hash; do
    data="$folder/$workload-$index"
    history=("$elider" bench history --workload "$workload" --index "$index" --data "$data" --out "$folder/h.jsonl" --history "$folder/own.jsonl")
    expect 0 "$workload: [1-9]" "${history[@]}" --transactions 1500 --durability group
    cp "$folder/h.jsonl" "$folder/before.jsonl"
    expect 2 'is not empty' "${history[@]}" --transactions 10
    for durability in async none; do
      expect 0 '^resumed: .*[1-9][0-9]* rows' "${history[@]}" --transactions 1500 --keys 5 --threads 3 --resume --durability "$durability"
      expect 0 'strictly serializable' "$elider" check-history "$folder/own.jsonl"
      expect 0 '' python3 - "$workload" "$folder/before.jsonl" "$folder/h.jsonl" <<'PYTHON'
import json, sys
def written(path):
    events = [json.loads(line) for line in open(path)]
    return {(op[1], op[2]) for e in events if e["type"] == "ok" for op in e["value"] if op[0] != "r"}
before, after = map(written, sys.argv[2:])
assert before and after
assert not {key for key, _ in before} & {key for key, _ in after}, "a key of the run before is written again"
# Lists keep all their values; of another row the largest may have been written over, or removed.
if sys.argv[1] == "list-append":
    assert not {value for _, value in before} & {value for _, value in after}, "a value of the run before is written again"
PYTHON
    done
  done
done
expect 1 "not have a table 'elements'" "$elider" bench history --workload scan --data "$folder/kept" --out "$folder/none.jsonl" --transactions 10 --resume
expect 1 'the key index is .(hash|btree). in the table, but .(hash|btree). in' "$elider" bench history --workload bank --index hash --data "$folder/bank-btree" \
  --out "$folder/none.jsonl" --transactions 10 --resume

# Another system beside TPC-C with its log.
peer=("$elider" bench durability --data "$folder/disk" --only peer --seconds 0.2 --repeat 1)
expect 0 'compared with the peer' "${peer[@]}" --peer-command 'echo agg_throughput: 1000 ops/sec' --json "$folder/peer.json"
expect 0 '' python3 - "$folder/peer.json" <<'PYTHON'
import json, sys
row = json.load(open(sys.argv[1]))["results"][0]
assert row["part"] == "peer" and row["figures"]["peer_txns_per_s"] == [1000]
assert abs(row["median"] - row["figures"]["elider_txns_per_s"][0] / 1000) < 1e-9 and row["median"] > 0
PYTHON
expect 1 "'echo bad disk; exit 4' ended with exit code 4; its last output: bad disk" "${peer[@]}" --peer-command 'echo bad disk; exit 4'
expect 1 'output does not match --peer-pattern' "${peer[@]}" --peer-command true
expect 1 'did not end within 0.3 s' "${peer[@]}" --peer-command 'sleep 600' --peer-timeout 0.3
expect 2 '--peer-command' "${peer[@]}"

expect 0 '' python3 - "$folder/ycsb.json" <<'PYTHON'
import json, sys
result = json.load(open(sys.argv[1]))
for key in ("throughput_txns_per_s", "committed", "aborts", "latency_us", "memory_bytes", "configuration", "consistency"):
    assert key in result, key
assert result["throughput_txns_per_s"] > 0 and result["consistency"]["ok"]
PYTHON
expect 0 '' python3 - "$folder/workloads.json" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1]))["results"]
assert [each["workload"] for each in results] == list("abcdef")
for each in results:
    for name, store in each["stores"].items():
        assert len(store["throughput_txns_per_s"]["runs"]) == 2, name
        assert (store["inserted_rows"] > 0) == (each["workload"] in "de"), (name, each["workload"])
PYTHON

# A history that the checker accepts.
"$elider" bench ycsb --records 200 --seconds 0.1 --threads 2 --mix 50/50 --operations 4 --quiet --history "$folder/history.jsonl" || failed=1
expect 0 '' "$elider" check-history "$folder/history.jsonl"

if python3 -c 'import matplotlib' 2>/dev/null || /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
  expect 0 '' "$elider" plot "$folder/ycsb.json" "$folder/ycsb.json" -o "$folder/ycsb.png" --title 'A title'
  expect 0 '' "$elider" plot "$folder/compare.json" "$folder/workloads.json" -o "$folder/compare.svg"
  # Two benchmarks have separate panels, and the labels of one do not mention the other.
  "${tpcc[@]}" --json "$folder/tpcc.json" --quiet || failed=1
  expect 0 '' "$elider" plot "$folder/tpcc.json" "$folder/ycsb.json" -o "$folder/both.svg"
  for title in 'tpcc, 1 warehouse: Throughput' 'ycsb, .* bytes: Throughput' 'tpcc, .*: Latency' 'ycsb, .*: Latency'; do
    grep -qE ">$title" "$folder/both.svg" || { echo "FAILED: both.svg has no panel '$title'"; failed=1; }
  done
  grep -qE 'value_bytes|>(items|customers|records) [0-9]' "$folder/both.svg" && { echo "FAILED: both.svg mixes its labels"; failed=1; }
  [ "$(head -c 4 "$folder/ycsb.png" | tail -c 3)" = PNG ] || { echo "FAILED: ycsb.png is no PNG"; failed=1; }
  grep -q '<svg' "$folder/compare.svg" || { echo "FAILED: compare.svg is no SVG"; failed=1; }
  echo '{}' >"$folder/empty.json"
  expect 2 'empty.json.*throughput_txns_per_s' "$elider" plot "$folder/empty.json" -o "$folder/x.png"
else
  expect 1 'python3-matplotlib' "$elider" plot "$folder/ycsb.json" -o "$folder/ycsb.png"
fi

[ "$failed" -eq 0 ] && echo "command line: every check passed"
exit "$failed"
