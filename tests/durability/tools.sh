#!/usr/bin/env bash
# The command line's tools for a database's files: what they print, what they refuse, and their exit codes.
# presets: dev release
set -u
elider=$1
rm -rf data copy back other two folders read-only && mkdir -p back
failed=0

# expect STATUS WORDS COMMAND...: the command ends so, and says these words somewhere.
expect() {
  local status=$1 words=$2
  shift 2
  local said got
  said=$("$@" 2>&1)
  got=$?
  if [[ $got -ne $status || $said != *"$words"* ]]; then
    echo "status $got instead of $status, or not '$words': $*"
    echo "$said" | head -20
    failed=$((failed + 1))
  fi
}

"$elider" bench ycsb --records 3000 --seconds 1 --threads 1 --data data --durability async >bench.txt 2>&1 || { cat bench.txt; exit 1; }
expect 0 "all is well" "$elider" check data
expect 0 "the log is whole up to number" "$elider" log verify data
expect 0 "nothing was changed" "$elider" recover --dry-run data
expect 0 "row " "$elider" log dump data --limit 5
expect 0 "" "$elider" log dump data/log-00000001-00-00000000 --limit 1
expect 0 "row " "$elider" log dump ./data/log-00000001-00-00000000 --limit 5
"$elider" bench ycsb --records 300 --seconds 1 --threads 2 --data two,folders >bench.txt 2>&1 || { cat bench.txt; exit 1; }
expect 2 "has 2 data folders, not 1" "$elider" log dump two
expect 0 "two/log-" "$elider" log dump two --also folders
expect 0 "folders/log-" "$elider" log dump two --also folders
expect 0 "usertable" "$elider" log dump folders/log-00000001-01-00000000 --also two
"$elider" log dump data --json --limit 50 >dump.jsonl || failed=$((failed + 1))
python3 - <<'PY' || failed=$((failed + 1))
import json
lines = [json.loads(line) for line in open("dump.jsonl")]
assert len(lines) == 50, len(lines)
assert "table" in lines[0] or any("table" in line for line in lines), "the table that was made is shown"
changes = [change for line in lines for change in line.get("changes", [])]
assert changes and all(change["columns"] for change in changes if change["kind"] != "remove"), "columns have names"
PY

# Going back: to a number that the log has, and to none that it has not.
number=$("$elider" log verify data --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["snapshot"])')
expect 2 "is not in 'data'" "$elider" recover --dry-run --to-snapshot $((number + 100000)) data
expect 0 "nothing was changed" "$elider" recover --dry-run --to-snapshot $((number - 1)) data

rows=$("$elider" check data --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["recovery"]["rows"])')
expect 0 "$rows rows" "$elider" checkpoint data
expect 0 "checkpoint           number" "$elider" check data
expect 2 "is not in 'data'" "$elider" recover --dry-run --to-snapshot 1 data
expect 0 "wrote $rows rows" "$elider" backup data copy
expect 2 "is not empty" "$elider" backup data copy
expect 0 "copied" "$elider" restore copy other
expect 2 "is not empty" "$elider" restore copy other
expect 0 "all is well" "$elider" check other
expect 0 "" "$elider" recover other

# A backup on a disk that can only be read: with the lock's file, without it, and while somebody writes to it elsewhere.
mkdir read-only
on_read_only='mount --bind copy read-only && mount -o remount,ro,bind read-only && exec "$0" "$@"'
if unshare -rm sh -c "$on_read_only" true 2>/dev/null; then
  expect 0 "all is well" unshare -rm sh -c "$on_read_only" "$elider" check read-only
  expect 0 "nothing was changed" unshare -rm sh -c "$on_read_only" "$elider" recover --dry-run read-only
  expect 1 "Read-only file system" unshare -rm sh -c "$on_read_only" "$elider" checkpoint read-only
  expect 2 "another database has the folder open" flock copy/LOCK unshare -rm sh -c "$on_read_only" "$elider" check read-only
  rm copy/LOCK
  expect 0 "all is well" unshare -rm sh -c "$on_read_only" "$elider" check read-only
else
  echo "skipped: no disk can be mounted to be read alone here"
fi

# What cannot be done, and damage.
expect 2 "holds no database" "$elider" check back
expect 2 "there is no folder" "$elider" log verify nowhere
expect 2 "another database has the folder open" flock data/LOCK "$elider" check data
part=$(ls copy/checkpoint-* | head -1)
printf '!' | dd of="$part" bs=1 seek=5000 conv=notrunc status=none
expect 1 "'$part' at byte" "$elider" check copy
expect 1 "'$part' at byte" "$elider" restore copy third
expect 2 "" "$elider" log
expect 0 "Exit code" "$elider" recover --help

echo "$failed failed"
[[ $failed -eq 0 ]]
