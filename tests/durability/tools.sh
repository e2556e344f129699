#!/usr/bin/env bash
# The command line's tools for a database's files: what they print, what they refuse, and their exit codes. The benchmarks that make
# the databases do not take checkpoints, because on a fast machine a checkpoint would remove the log.
# presets: dev release
set -u
elider=$1
rm -rf data copy back other two folders read-only small one more torn damaged past odd odd-copy two-* && mkdir -p back
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

"$elider" bench ycsb --records 3000 --seconds 0.2 --threads 1 --data data --checkpoint-log 0 --durability async >bench.txt 2>&1 || { cat bench.txt; exit 1; }
expect 0 "all is well" "$elider" check data
expect 0 "the log is complete up to number" "$elider" log verify data
expect 0 "the files were not changed" "$elider" recover --dry-run data
expect 0 "row " "$elider" log dump data --limit 5
expect 0 "" "$elider" log dump data/log-00000001-00-00000000 --limit 1
expect 0 "row " "$elider" log dump ./data/log-00000001-00-00000000 --limit 5
"$elider" bench ycsb --records 300 --seconds 0.2 --threads 2 --data two,folders --checkpoint-log 0 >bench.txt 2>&1 || { cat bench.txt; exit 1; }
expect 2 "has 2 data folders, not 1" "$elider" log dump two
expect 0 "two/log-" "$elider" log dump two --also folders
expect 0 "folders/log-" "$elider" log dump two --also folders
expect 0 "usertable" "$elider" log dump folders/log-00000001-01-00000000 --also two
# Tuple keys are shown as tuples, and byte keys as text.
rm -rf keys && cp -r "${ELIDER_SOURCE_DIR:?}/tests/golden/database-v3-keys" keys
expect 0 'key (1, "shop", 1099511627776 desc, 70000) group' "$elider" log dump keys --table orders
expect 0 '"key":"(1, \"shop\", 5 desc, null)"' "$elider" log dump keys --table orders --json -
expect 0 'key "user:1000001" group' "$elider" log dump keys --table names
"$elider" log dump data --json - --limit 50 >dump.jsonl || failed=$((failed + 1))
python3 - <<'PY' || failed=$((failed + 1))
import json
lines = [json.loads(line) for line in open("dump.jsonl")]
assert len(lines) == 50, len(lines)
assert "table" in lines[0] or any("table" in line for line in lines), "the table that was made is shown"
changes = [change for line in lines for change in line.get("changes", [])]
assert changes and all(change["columns"] for change in changes if change["kind"] != "remove"), "columns have names"
PY

# A few hundred milliseconds of commits, for what follows to be quick; and in two folders.
"$elider" bench ycsb --records 300 --seconds 0.1 --threads 1 --data small --checkpoint-log 0 --durability async >bench.txt 2>&1 || { cat bench.txt; exit 1; }
"$elider" bench ycsb --records 300 --seconds 0.1 --threads 2 --data one,more --checkpoint-log 0 --durability async >bench.txt 2>&1 || { cat bench.txt; exit 1; }

# wrong WORDS: a failure of this script's own.
wrong() {
  echo "wrong: $*"
  failed=$((failed + 1))
}
# json WORDS EXPRESSION: what a command says in JSON, as Python makes it out of `said`.
json() { "$elider" $1 --json - | python3 -c "import json, sys; said = json.load(sys.stdin); print($2)"; }

# Only some of it: of one number, of several, of a table.
number=$(json "log verify small" 'max(each["last_number"] for each in said["segments"])')
[[ $number -ge 4 ]] || wrong "the bench left a log of $number numbers"
for range in "$number $number" "1 $((number / 2))" "$((number / 2)) $number"; do
  read -r first last <<<"$range"
  "$elider" log dump small --first "$first" --last "$last" --table usertable --json - >some.jsonl || wrong "log dump --first $first --last $last"
  python3 - "$first" "$last" <<'PY' || wrong "log dump --first $first --last $last"
import json, sys
first, last = int(sys.argv[1]), int(sys.argv[2])
lines = [json.loads(line) for line in open("some.jsonl")]
assert lines and all(first <= line["number"] <= last for line in lines), "numbers"
assert all(change["table"] == "usertable" for line in lines for change in line.get("changes", [])), "tables"
json.dump(len(lines), open(f"lines-{first}", "w"))
PY
done
records=$(json "log verify small" 'sum(each["records"] for each in said["segments"])')
[[ $("$elider" log dump small | grep -c '^[0-9]') -eq $records ]] || wrong "log dump shows others than the $records records that verify counts"
"$elider" log dump small --last $((number / 2 - 1)) --json - | wc -l >lines-before
[[ $(($(cat lines-before) + $(cat "lines-$((number / 2))"))) -eq $records ]] || wrong "two halves of the dump are not all of it"
expect 2 "table 'others' is not in the log; its tables: usertable" "$elider" log dump small --table others
expect 0 "not contain a record with a number from $((number + 1)) to" "$elider" log dump small --first $((number + 1))

# Several folders, by each tool.
also="one --also more"
expect 2 "has 2 data folders, not 1" "$elider" check one
expect 1 "/more/MANIFEST' is missing" "$elider" check more --also one
expect 0 "all is well" "$elider" check $also
expect 0 "the files were not changed" "$elider" recover --dry-run $also
expect 0 "more/log-00000001-01-00000000: " "$elider" log verify $also
expect 0 "wrote 300 rows" "$elider" backup $also two-backup
expect 0 "copied" "$elider" restore $also two-copy
for folder in two-backup two-copy; do expect 0 "all is well" "$elider" check $folder; done
expect 0 "300 rows" "$elider" checkpoint $also
expect 0 "checkpoint           number" "$elider" check $also
expect 0 "tables, rows         1, 300" "$elider" recover $also

# A torn tail, which a crash leaves, is not an error. It is reported with its reason until a checkpoint replaces the log.
cp -r small torn
read -r file whole <<<"$(json "log verify torn" 'said["segments"][-1]["file"] + " " + str(said["segments"][-1]["whole_bytes"])')"
printf 'torn by a crash' | dd of="$file" bs=1 seek="$whole" conv=notrunc status=none
words="'$file' from byte $whole: $(($(stat -c %s "$file") - whole)) bytes; the data there does not begin with a frame's magic number"
before=$(cat torn/* | cksum)
expect 0 "cut off by a crash   $words" "$elider" recover --dry-run torn
expect 0 "cut off by a crash   $words" "$elider" check torn
expect 0 "cut off by a crash: $words" "$elider" log verify torn
expect 0 "row usertable" "$elider" log dump torn --limit 10
[[ $(json "check torn" 'said["recovery"]["cuts"]') == "[\"$words\"]" ]] || wrong "check torn --json"
[[ $(json "log verify torn" 'said["cuts"]') == "[\"$words\"]" ]] || wrong "log verify torn --json"
[[ $before == $(cat torn/* | cksum) ]] || wrong "a tool that only looks changed what is torn"
expect 0 "cut off by a crash   $words" "$elider" recover torn
expect 0 "cut off by a crash   $words" "$elider" check torn
expect 0 "300 rows" "$elider" checkpoint torn
[[ $(json "check torn" 'said["recovery"]["cuts"]') == "[]" ]] || wrong "a torn tail behind a checkpoint"

# damage FILE OFFSET: another byte there, whatever it was.
damage() {
  local byte
  byte=$(od -An -tu1 -j"$2" -N1 "$1")
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Damage before the end: refused by each with the file and the offset, and nothing changes.
cp -r small damaged
file=damaged/log-00000001-00-00000000
damage "$file" 300
before=$(cat damaged/* | cksum)
for command in "log verify" "log dump" "check" "recover" "recover --dry-run" "checkpoint"; do
  expect 1 "/$file' at byte" "$elider" $command damaged
done
for command in "backup" "restore"; do
  expect 1 "/$file' at byte" "$elider" $command damaged two-none
  [[ ! -e two-none ]] || wrong "$command of damage made a folder"
done
[[ $before == $(cat damaged/* | cksum) ]] || wrong "a tool changed what is damaged"

# Going back permanently gives the result that --dry-run has reported. The commits after the number do not come back.
cp -r small past
back=$((number / 2))
state='said["snapshot"], said["rows"], said["records"]'
expected=$(json "recover --dry-run --to-snapshot $back past" "$state")
[[ $(json "recover --dry-run past" 'said["snapshot"]') -eq $number ]] || wrong "recover --dry-run --to-snapshot went back"
# Nor does one that is refused.
[[ $(json "recover --dry-run past" 'said["snapshot"]') -eq $number ]] || wrong "a refused recover --to-snapshot went back"
expect 0 "log after it         $(json "recover --dry-run --to-snapshot $back past" 'said["records"]') records" "$elider" recover --to-snapshot $back past
for command in "recover --dry-run past" "recover --dry-run --to-snapshot $number past"; do
  [[ $(json "$command" "$state") == "$expected" ]] || wrong "$command, after recover --to-snapshot $back"
done
expect 0 "all is well" "$elider" check past
expect 0 "(void)" "$elider" log dump past --first $((back + 1)) --limit 5

# Going back: to a number that the log has, and to none that it has not.
number=$("$elider" log verify data --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["snapshot"])')
expect 2 "/data', which has the states" "$elider" recover --dry-run --to-snapshot $((number + 100000)) data
expect 0 "the files were not changed" "$elider" recover --dry-run --to-snapshot $((number - 1)) data

rows=$("$elider" check data --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["recovery"]["rows"])')
expect 0 "$rows rows" "$elider" checkpoint data
expect 0 "checkpoint           number" "$elider" check data
expect 2 "/data', which has the states" "$elider" recover --dry-run --to-snapshot 1 data
expect 0 "wrote $rows rows" "$elider" backup data copy
expect 2 "is not empty" "$elider" backup data copy
expect 0 "copied" "$elider" restore copy other
expect 2 "is not empty" "$elider" restore copy other
expect 0 "all is well" "$elider" check other
expect 0 "" "$elider" recover other

# A backup on a read-only disk: with the lock file, without it, and while another process writes to it through another mount.
mkdir read-only
on_read_only='mount --bind copy read-only && mount -o remount,ro,bind read-only && exec "$0" "$@"'
if unshare -rm sh -c "$on_read_only" true 2>/dev/null; then
  expect 0 "all is well" unshare -rm sh -c "$on_read_only" "$elider" check read-only
  expect 0 "the files were not changed" unshare -rm sh -c "$on_read_only" "$elider" recover --dry-run read-only
  expect 1 "Read-only file system" unshare -rm sh -c "$on_read_only" "$elider" checkpoint read-only
  expect 2 "another program, or another database of this program, has it open" flock copy/LOCK unshare -rm sh -c "$on_read_only" "$elider" check read-only
  rm copy/LOCK
  expect 0 "all is well" unshare -rm sh -c "$on_read_only" "$elider" check read-only
else
  echo "skipped: no disk can be mounted to be read alone here"
fi

# What cannot be done, and damage.
expect 2 "does not contain a database" "$elider" check back
expect 2 "nowhere' does not exist" "$elider" log verify nowhere
expect 2 "another program, or another database of this program, has it open" flock data/LOCK "$elider" check data
part=$(ls copy/checkpoint-* | head -1)
damage "$part" 5000
expect 1 "/$part' at byte" "$elider" check copy
expect 1 "/$part' at byte" "$elider" restore copy third
expect 2 "" "$elider" log
expect 2 "table 'nope' is not in the log; its tables: usertable" "$elider" log dump data --table nope
expect 2 "unknown option '--tabel'; did you mean --table?" "$elider" log dump data --tabel usertable
# If something other than a file has a file's name, the tools do not wait for it.
for name in MANIFEST LOCK log-00000001-00-00000000; do
  rm -rf odd && cp -r small odd && rm "odd/$name" && mkfifo "odd/$name"
  for command in "check odd" "log verify odd" "log dump odd" "backup odd odd-copy" "recover odd"; do
    # shellcheck disable=SC2086  # two words are two arguments
    expect 1 "/odd/$name' is a FIFO, not a regular file" timeout 200 "$elider" $command
  done
done
expect 1 "/odd/log-00000001-00-00000000' is a FIFO" timeout 200 "$elider" log dump odd/log-00000001-00-00000000
# A disk that is full.
expect 1 "No space left on device" sh -c "'$elider' log dump small >/dev/full"
expect 1 "No space left on device" sh -c "'$elider' check data >/dev/full"
expect 0 "Exit code" "$elider" recover --help

echo "$failed failed"
[[ $failed -eq 0 ]]
