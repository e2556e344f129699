#!/usr/bin/env bash
# presets: dev asan
# `elider heap check` and `elider heap status`: what they say of a heap that was closed, one that was killed, one that is open, and
# of damaged ones: these they refuse with words, or find whole, but they neither crash nor hang, and change nothing.
set -u
failures=0
fail() { echo "FAIL $*"; failures=$((failures + 1)); }
elider=$1
victim="${ELIDER_BUILD_DIR:?}/heap_victim"
says() {  # exit status, words, then the command's arguments
  local expected=$1 words=$2 status=0
  shift 2
  "$elider" heap "$@" >out.txt 2>&1 || status=$?
  [ "$status" -eq "$expected" ] && grep -qE -- "$words" out.txt || fail "heap $*: status $status: $(head -3 out.txt)"
}
rm -f ./*.heap told.txt
"$victim" look a.heap >/dev/null || fail "no heap could be made"
says 0 '^all is well' check a.heap
says 0 '^lost +0 bytes' check a.heap
says 0 '^pending +0 transactions' status a.heap
says 0 "^root +'books': .*Books, " status a.heap
says 2 "the file '.*nowhere' does not exist" check nowhere
says 2 "the file '.*nowhere' does not exist" status nowhere
says 2 'FILE' check
says 2 'unknown command .chekc.; did you mean check' chekc a.heap
says 0 'elider heap check book.heap' check --help

"$victim" work a.heap --seed 1 --background 0 >told.txt &
running=$!
for _ in $(seq 600); do [ "$(wc -l <told.txt)" -ge 200 ] && break; sleep 0.05; done
says 2 "'.*a.heap' is in use" check a.heap
says 2 "'.*a.heap' is in use" status a.heap
{ kill -9 $running && wait $running; } 2>/dev/null
says 0 '^all is well' check a.heap
python3 - "$elider" <<'PY' || failures=$((failures + 1))
import json, random, subprocess, sys

elider = sys.argv[1]
faults = []

def heap(*arguments):
    return subprocess.run([elider, "heap", *arguments], capture_output=True, text=True, errors="replace", check=False, timeout=600)

check, status = json.loads(heap("check", "a.heap", "--json", "-").stdout), json.loads(heap("status", "a.heap", "--json", "-").stdout)
assert check["pending"] == status["pending"] <= status["last_number"] - status["replayed_number"], status
assert check["roots"] == 1 and check["lost_bytes"] == 0, check
assert [(root["name"], root["bytes"] > 0) for root in status["roots"]] == [("books", True)], status
assert check["block_bytes"] + check["free_bytes"] + check["unused_bytes"] < status["used_bytes"] < status["heap_bytes"], (check, status)

whole = open("a.heap", "rb").read()
heap_at = status["log_bytes"]
parts = {"head": (heap_at, 8192), "heap": (heap_at, status["used_bytes"]), "markers": (0, 8192 + 256 * 64), "anywhere": (0, len(whole))}
rng = random.Random(1)
refused = 0
for i in range(150):
    damaged, part = bytearray(whole), rng.choice(list(parts))
    for _ in range(rng.choice([1, 1, 4])):
        at = parts[part][0] + rng.randrange(parts[part][1] // 8) * 8
        word = rng.choice([rng.getrandbits(64), 2**64 - 8, 2**64 - 16, 2**63, rng.randrange(1 << 17) * 8, 0])
        damaged[at:at + 8] = word.to_bytes(8, "little")
    if rng.random() < 0.1:
        damaged = damaged[:rng.randrange(len(damaged))]
    open("damaged.heap", "wb").write(damaged)
    for command in ("check", "status"):
        done = heap(command, "damaged.heap")
        refused += done.returncode == 1
        if done.returncode not in (0, 1) or (done.returncode == 1 and "damaged.heap" not in done.stderr) or "runtime error" in done.stderr:
            faults.append(f"{command} of damage {i} ({part}): {done.returncode}: {done.stderr[-300:]}")
    if open("damaged.heap", "rb").read() != damaged:
        faults.append(f"damage {i}: the file was changed")
print(*faults, sep="\n")
assert not faults and refused > 20, f"{len(faults)} faults, {refused} refused"
PY
"$victim" look a.heap >out.txt || fail "the victim finds: $(cat out.txt)"
says 0 '^pending +0 transactions' check a.heap
[ "$failures" -eq 0 ] && echo "heap check and heap status are as they should be"
exit $((failures > 0))
