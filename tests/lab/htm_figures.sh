#!/usr/bin/env bash
# presets: dev release emulator
# elider-lab htm: what it says where nothing runs regions, its documents and drawings, and, in the emulator, that the
# figures have the shapes that the papers report.
set -u
elider=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect CODE PATTERN COMMAND...: the command's exit code, and a pattern that its output matches.
expect() {
  local code=$1 pattern=$2 output actual
  shift 2
  output=$("$@" 2>&1)
  actual=$?
  if [ "$actual" -ne "$code" ] || ! grep -qE -e "$pattern" <<<"$output"; then
    echo "FAILED: $*"
    echo "  expected exit code $code and /$pattern/, got $actual and:"
    tail -20 <<<"$output" | sed 's/^/  | /'
    failed=1
  fi
}

expect 2 'figure.*wishful' "$elider-lab" htm --figure wishful
expect 2 'htm.*wishful' "$elider-lab" htm --htm wishful
expect 3 'hardware transactions are not available' "$elider-lab" htm --htm none
expect 3 'hardware transactions are not available' "$elider-lab" elision --htm none
expect 0 'regions by   always-aborts' "$elider-lab" elision --htm always-aborts --bounds 1,3 --records 1000 --seconds 0.1 --threads 2 \
  --repeat 2 --json "$folder/elision.json"
if [ "${ELIDER_PRESET:-}" != emulator ]; then
  expect 3 'does not include the emulator' "$elider-lab" htm --htm emulated
  expect 3 'dbx-tc-table-1: .*preset emulator' "$elider-lab" htm --figure dbx-tc-table-1
  expect 0 '' "$elider-lab" figures --paper dbx-tc --figure 'table 1' --folder "$folder/table" --quick
  expect 0 '^Table 1 is left out: dbx-tc-table-1: .*preset emulator' cat "$folder/table/papers.md"
  usable=$("$elider" hardware --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["usable"])')
  [ "$usable" = True ] || for study in htm elision; do expect 3 'hardware transactions are not available: ' "$elider-lab" "$study"; done
fi

# Where every region aborts, every figure says so, and every database still passes its checks.
expect 0 'always-aborts: no region ever commits' "$elider-lab" htm --htm always-aborts --quick --seconds 0.1 --threads 2 \
  --json "$folder/aborts.json"
expect 0 '' python3 - "$folder/aborts.json" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
figures = {figure["figure"]: figure for figure in document["figures"]}
assert document["configuration"]["htm_used"] == "always-aborts"
assert sorted(figures) == sorted(["dbx-1a", "dbx-1b", "dbx-1c", "dbx-1d", "hyper-5", "hyper-6", "dbx-tc-1b", "dbx-9", "dbx-10", "dbx-15",
                                  "dbx-tc-1c", "hyper-9", "hyper-21"])
for figure in figures.values():
    assert figure["series"] and all(line["points"] for line in figure["series"]), figure["figure"]
    assert figure["published"], figure["figure"]
    assert figure["regions_by"] == "always-aborts: no region ever commits", figure["figure"]
for name in ("dbx-1a", "dbx-1d", "hyper-5", "hyper-6", "dbx-tc-1b", "hyper-21"):
    assert all(point["y"] == 100 for line in figures[name]["series"] for point in line["points"]), name
assert [line["name"] for line in figures["hyper-21"]["series"]] == ["sections that took the lock", "aborted regions"]
PYTHON
if python3 -c 'import matplotlib' 2>/dev/null || /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
  # A drawing says what ran the regions.
  for drawn in aborts elision; do
    expect 0 '' "$elider" plot "$folder/$drawn.json" -o "$folder/$drawn.svg"
    expect 0 'always-aborts' grep -o 'always-aborts' "$folder/$drawn.svg"
  done
fi

if [ "${ELIDER_PRESET:-}" = emulator ]; then
  expect 0 'emulated: not the speed of a processor' "$elider-lab" htm --htm emulated --quick --seconds 0.3 --threads 2 \
    --json "$folder/emulated.json"
  expect 0 '' python3 - "$folder/emulated.json" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
figures = {figure["figure"]: figure for figure in document["figures"]}

def line(figure, name):
    return {point["x"]: point["y"] for each in figures[figure]["series"] if each["name"].startswith(name) for point in each["points"]}

def between(low, value, high, what):
    assert low <= value <= high, f"{what}: {value} is not from {low} to {high}"

reads, writes = line("dbx-1a", "reads"), line("dbx-1a", "writes")
between(0, reads[512], 30, "512 KiB read")
between(15, reads[3584], 80, "3.5 MiB read")
assert reads[4352] == 100 and writes[34] == 100
between(0, writes[12], 1, "12 KiB written in order")
half = line("dbx-1b", "writes")
assert half[34] == 100 and half[20] == 100 and half[4] <= 1
before, after = line("dbx-1c", "reads before"), line("dbx-1c", "writes before")
assert all(before[kib] > after[kib] for kib in before if kib >= 12), (before, after)
timer = line("dbx-1d", "one line")
assert timer[110000] == 100 and timer[1000] < 20, timer
eight, four, twelve = line("hyper-5", "64 sets of 8"), line("hyper-5", "hyperthreading"), line("hyper-5", "64 sets of 12")
between(0, eight[64], 2, "64 random lines")
between(5, eight[192], 60, "192 random lines")
between(60, eight[256], 100, "256 random lines")
assert four[128] > 60 and twelve[256] < 15 and eight[512] == 100
chain = line("dbx-tc-1b", "hyperthreading")
assert chain[448] > 60 and line("dbx-tc-1b", "64 sets")[1024] > 40
restarts = figures["hyper-9"]["series"]
assert restarts[0]["points"][0]["y"] > 2 and restarts[-1]["points"][0]["y"] < 0.1
locks, aborted = line("hyper-21", "sections that took the lock"), line("hyper-21", "aborted regions")
assert locks[0] > locks[10], locks
assert aborted.keys() == locks.keys() and all(0 < aborted[restarts] < 100 for restarts in aborted), aborted
whole, small = line("dbx-10", "whole"), line("dbx-10", "occ")
assert whole[1] > 20 and whole[1] > small[1], (whole, small)
# Elided commits rarely abort, and more often if two threads meet. A whole transaction of TPC-C is always too large.
commits = line("dbx-9", "aborted")
assert commits[1] <= commits[2] < 5, commits
long = line("hyper-6", "one line")
assert long[300] < 5 and long[3000] < long[30000] < long[100000] == 100, long
apart, together = line("dbx-tc-1c", "one warehouse per thread"), line("dbx-tc-1c", "one warehouse")
assert all(each > 50 for each in (*apart.values(), *together.values())), (apart, together)
# What each transaction reads and writes: 1 read, 2 written.
table = {line["name"]: {point["x"]: point["y"] for point in line["points"]} for line in figures["dbx-tc-table-1"]["series"]}
assert sorted(table) == ["delivery", "new_order", "order_status", "payment", "stock_level"], table
assert all(64 <= each[2] and 64 <= each[1] < 1 << 20 for each in table.values()), table
assert table["stock_level"][1] > table["new_order"][1] > table["payment"][1], table
assert table["delivery"][2] > table["payment"][2] > table["order_status"][2], table
for line in figures["dbx-tc-table-1"]["series"]:
    assert line["points"][0]["transactions"] > line["points"][0]["left_out"], line
PYTHON
fi

[ "$failed" -eq 0 ] && echo "elider-lab htm: every check passed"
exit "$failed"
