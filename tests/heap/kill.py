#!/usr/bin/env python3
"""Kills heap_victim at random points, again and again, on one heap, and checks what it had told.

usage: kill.py ELIDER VICTIM FILE --kills N [--seed N]

After each kill `elider heap check` must find the file whole, as it lies, and the victim must find its books in order; what had been
acknowledged, or seen by a reader, must be there. Exit status 1: a promise was not kept, or the victim failed by itself;
standard output says which, and how the victim was called.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "crash"))
from victim_process import VictimProcess  # noqa: E402

THREADS = 4
LINES_MAX = 400  # told before it is killed


class Broken(Exception):
    pass


def kill(arguments, rng):
    """What the victim had told, line by line, when it was killed."""
    victim = VictimProcess(arguments)
    # One in six while it recovers or makes its file, the others while it works.
    if rng.random() < 1 / 6:
        time.sleep(rng.random() ** 2 * 0.02)
    else:
        victim.wait_for_lines(1 + rng.randrange(LINES_MAX))
        time.sleep(rng.random() * 0.003)
    victim.process.kill()
    status, output, errors = victim.end()
    if status != -9 or errors:
        raise Broken(f"the victim ended by itself, with {status}: {errors.strip()}")
    return [line.split() for line in output.decode().splitlines(keepends=True) if line.endswith("\n")]


def options_at_random(rng):
    medium = rng.choice(["file", "file", "delay"])
    return ["--medium", medium, "--isolation", rng.choice(["serializable", "snapshot"]),
            "--durability", rng.choice(["wait", "wait", "later"]), "--wait", rng.choice(["pruned", "pruned", "total", "own"]),
            "--background", rng.choice(["0", "1"])]


def checked(elider, file):
    """What `elider heap check` says of the file."""
    done = subprocess.run([elider, "heap", "check", file, "--json", "-"], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise Broken(f"elider heap check exits with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def looked(victim, file):
    """How many transfers of each thread are there, by the victim's own check of its books."""
    done = subprocess.run([victim, "look", file], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise Broken(f"the books are wrong: {done.stderr.strip()}")
    return json.loads(done.stdout)


class Ledger:
    """What was promised across all restarts."""

    def __init__(self):
        self.done = [0] * THREADS
        self.acknowledged = 0
        self.seen = 0

    def compare(self, told, durability, found):
        promised = list(self.done)
        for kind, thread, number in (words for words in told if words[0] in ("did", "saw")):
            promised[int(thread)] = max(promised[int(thread)], int(number))
            self.acknowledged += kind == "did"
            self.seen += kind == "saw"
        for thread, (least, there) in enumerate(zip(promised, found)):
            if there < least:
                raise Broken(f"thread {thread}: transfer {least} was acknowledged or seen, and the heap ends with {there}")
            if durability == "wait" and there > least + 1:
                raise Broken(f"thread {thread}: {there} transfers are there, but it had told of {least}, and makes one at a time")
        self.done = found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elider")
    parser.add_argument("victim")
    parser.add_argument("file")
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    ledger = Ledger()
    recoveries = pending = 0
    looked(options.victim, options.file)  # makes it
    for number in range(options.kills):
        drawn = options_at_random(rng)
        arguments = [options.victim, "work", options.file, "--threads", str(THREADS), "--seed", str(rng.randrange(1 << 32)), *drawn]
        try:
            told = kill(arguments, rng)
            found = checked(options.elider, options.file)
            recoveries += any(words[0] == "ready" for words in told)
            pending += found["pending"]
            ledger.compare(told, drawn[drawn.index("--durability") + 1], looked(options.victim, options.file))
            if (left := checked(options.elider, options.file)["pending"]) != 0:
                raise Broken(f"the heap was closed, and {left} transactions are still in the log alone")
        except Broken as broken:
            print(f"kill {number} of seed {options.seed}: {broken}\n{' '.join(arguments)}")
            return 1
    print(f"{options.kills} kills, {recoveries} of them of a victim at work: {ledger.acknowledged} transfers acknowledged, "
          f"{ledger.seen} seen, {pending} recovered from the log; nothing was lost")
    if options.kills >= 10 and (ledger.acknowledged == 0 or ledger.seen == 0 or pending == 0):
        print("but that shows nothing: none was acknowledged, seen or recovered")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
