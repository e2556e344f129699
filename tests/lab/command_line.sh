#!/usr/bin/env bash
# presets: dev release
# The command line of the laboratory, as command_line.sh of tests/bench is elider's.
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

expect 2 '--threads' "$elider-lab" neighbours --threads 0
expect 0 '^ +2 +scanned ' "$elider-lab" neighbours --threads 1,2 --seconds 0.1
expect 0 '"index": *"unique"' "$elider-lab" neighbours --threads 2 --seconds 0.1 --json -

expect 2 '--zones' "$elider-lab" scan --zoned --zones 0
expect 0 'zoned / B\+-tree' "$elider-lab" scan --zoned --rows 20000 --threads 2 --seconds 0.05
expect 0 '"tree_rows_per_s"' "$elider-lab" scan --rows 5000 --seconds 0.05 --json - --quiet

expect 2 "figure.*wishful" "$elider-lab" protocols --figure wishful
expect 2 "protocol.*wishful" "$elider-lab" protocols --protocol wishful
expect 2 'requires --sync elided' "$elider-lab" protocols --protocol spinlock
expect 0 'hyper-12: One counter' "$elider-lab" protocols --quick --figure hyper-12,restarts --threads 2 --seconds 0.1
expect 0 'hyper-19' "$elider-lab" protocols --quick --figure hyper-19 --protocol partitioned --threads 2 --seconds 0.1 --json "$folder/protocols.json"
# The figures of durability. Their databases are removed, even after an error: here the disk refuses large files.
mkdir "$folder/logs"
expect 0 '' "$elider-lab" protocols --quick --quiet --figure dbx-16,dbx-17 --threads 2 --seconds 0.2 --data "$folder/logs" \
  --json "$folder/durable.json"
expect 0 '' python3 - "$folder/durable.json" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
figures = {figure["figure"]: {line["name"]: line["points"] for line in figure["series"]} for figure in document["figures"]}
assert list(figures["dbx-16"]) == ["no log", "async"], figures
latency = figures["dbx-17"]
assert list(latency) == [f"{quantile}, transactions {what}" for what in ("go on", "wait") for quantile in ("p50", "p99")], latency
for lines in figures.values():
    assert all([point["x"] for point in points] == [1, 2] and all(point["y"] > 0 for point in points) for points in lines.values()), lines
for what in ("go on", "wait"):
    for fast, slow in zip(latency[f"p50, transactions {what}"], latency[f"p99, transactions {what}"]):
        assert fast["y"] <= slow["y"] and fast["durable_latency_us"][0]["samples"] > 0, (fast, slow)
PYTHON
expect 0 'dbx-16: TPC-C with a log' env TMPDIR="$folder/logs" "$elider-lab" protocols --quick --figure dbx-16 --threads 1 --seconds 0.1
expect 1 'dbx-17: .*logs' bash -c "trap '' XFSZ; ulimit -f 64; exec \"\$@\"" limited \
  "$elider-lab" protocols --quick --figure dbx-17 --threads 1 --data "$folder/logs"
[ -z "$(ls -A "$folder/logs")" ] || { echo "FAILED: elider-lab protocols left $(ls -A "$folder/logs")"; failed=1; }
expect 1 "cannot create a folder below '/proc'" "$elider-lab" protocols --quick --figure dbx-16 --data /proc
expect 2 "'/no/such/folder' is not a folder" "$elider-lab" protocols --figure dbx-16 --data /no/such/folder
expect 2 'resume.*not supported by tickets' "$elider-lab" tickets --data "$folder/tickets" --resume
expect 0 '^# HyPer-HTM' "$elider-lab" figures --no-run
expect 0 'Written by .elider-lab figures --paper hyper --no-run.' "$elider-lab" figures --paper hyper --no-run
expect 0 '^### Figure 19: ' "$elider-lab" figures --paper hyper --from "$folder/protocols.json"
expect 0 '^[|] partitioned [|] [0-9.]+' "$elider-lab" figures --paper hyper --from "$folder/protocols.json"
expect 0 '^[|] 11: .*elider chopping report tpcc' cat "$2/docs/lab/papers.md"
# A page shows the command that was run, and a document the seconds.
expect 0 'elider-lab protocols --figure hyper-19 --quick`' "$elider-lab" figures --paper hyper --from "$folder/protocols.json"
expect 0 '"seconds": *0\.3[,}]?$' "$elider-lab" protocols --quick --figure hyper-12 --protocol occ --threads 1 --json -
expect 2 "paper.*wishful" "$elider-lab" figures --paper wishful
printf '\xff\xfe' >"$folder/garbage.json"
expect 1 'garbage.json.*not a document of figures' "$elider-lab" figures --from "$folder/garbage.json"
expect 1 'nothere.json.*cannot be read' "$elider-lab" figures --from nothere.json
expect 0 'dumbo-9: Replay' "$elider" bench heap --figure dumbo-9 --quick --json "$folder/dumbo.json"
expect 0 '^### Figure 9: ' "$elider-lab" figures --paper dumbo --from "$folder/dumbo.json"
index=("$elider-lab" index --records 2000 --seconds 0.02 --keys sparse --index btree)
expect 0 'growing/s' "${index[@]}" --mix 50/25/25
expect 2 "mix.*'50'.*50/25/25" "${index[@]}" --mix 50
expect 2 "mix.*'50/25/26' do not add up to 100" "${index[@]}" --mix 50/25/26
expect 2 "mix.*'99/1/0'.*inserts" "${index[@]}" --mix 99/1/0
expect 0 '' "$elider-lab" elision --htm always-aborts --records 500 --seconds 0.1 --bounds 3,10 --quiet --data "$folder/elision" \
  --history "$folder/elision.jsonl"
for history in "$folder/elision.jsonl" "$folder/elision.jsonl.2"; do expect 0 'strictly serializable' "$elider" check-history "$history"; done

# What a run leaves in --data the next one continues on, under the same command or another of the same table.
small=(--records 500 --seconds 0.1 --threads 2 --quiet)
"$elider" bench ycsb "${small[@]}" --mix 50/50 --index btree --data "$folder/kept" || failed=1
expect 2 "'$folder/kept' is not empty" "$elider-lab" elision --htm always-aborts "${small[@]}" --data "$folder/kept"
for round in 1 2; do
  expect 0 '"resume": true' "$elider-lab" elision --htm always-aborts "${small[@]}" --bounds 3,10 --data "$folder/kept" --resume --json -
  expect 0 "in $folder/kept: [0-9]+ rows" "$elider" bench compare "${small[@]}" --repeat 2 --mix 80/20,50/50 --index btree --peers sqlite \
    --data "$folder/kept" --resume --json -
done

# Without regions, the other figures do not have databases, and htm reports this with exit code 3.
expect 0 '"durability": "group"' "$elider-lab" htm --htm always-aborts --quick --seconds 0.1 --threads 1 --figure hyper-9,dbx-9,dbx-10 \
  --data "$folder/htm" --durability group --json -
[ -d "$folder/htm" ] && [ -z "$(ls -A "$folder/htm")" ] || { echo "FAILED: htm made no database in --data, or left one"; failed=1; }

[ "$failed" -eq 0 ] && echo "the laboratory's command line: every check passed"
exit "$failed"
