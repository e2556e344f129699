#!/usr/bin/env python3
"""Makes system calls of crash_victim fail, or kills it there, and checks what it had acknowledged.

usage: inject.py VICTIM WORK strace|fiu [--every N]

strace: SIGKILL, EIO and ENOSPC at the first, second, ... call of each kind that writes, until a run has no such call
left; EIO at each read of a recovery. --every N: at each Nth of them alone. fiu: calls fail by chance, by libfiu.
Each run goes on with a database of two earlier ones; afterwards it is opened without faults. The runs take turns at the
policies that ledger.py lists. Exit status 1: something acknowledged was lost, something is there in part, a victim died
by itself, or a message names no file; 77: the tool is not installed or may not trace.
"""

import argparse
import itertools
import pathlib
import shutil
import subprocess
import sys
import time

import ledger

WRITES = ("pwrite64", "fdatasync", "fsync", "rename", "unlink")
TRANSACTIONS = 5
FIU_POINTS = ("posix/io/rw/pwrite", "posix/io/sync/fdatasync", "posix/io/sync/fsync", "posix/io/dir/rename", "posix/io/oc/open", "posix/io/rw/pread",
              "posix/io/dir/opendir")


class Ground:
    """A database that earlier runs have left, copied for each run, and the ledger of those."""

    def __init__(self, options):
        self.options = options
        self.data = options.work / "data"
        self.first = options.work / "first"
        self.process = 0
        self.policy = []
        self.runs = 0
        shutil.rmtree(options.work, ignore_errors=True)
        self.data.mkdir(parents=True)
        self.outputs = [self.victim([], True).stdout for _ in range(2)]
        shutil.copytree(self.data, self.first)

    def victim(self, prefix, must_end):
        self.process += 2
        self.policy = ledger.POLICIES[self.process // 2 % len(ledger.POLICIES)]
        arguments = [*prefix, self.options.victim, "transfer", "--data", str(self.data), "--threads", "2", "--process", str(self.process),
                     "--transactions", str(TRANSACTIONS), "--seed", str(self.process), *self.policy]
        result = subprocess.run(arguments, capture_output=True, check=False, timeout=120)
        if must_end and result.returncode != 0:
            raise ledger.Broken(f"without a fault the victim ({' '.join(self.policy)}) ends with {result.returncode}: "
                                f"{result.stderr.decode()}")
        return result

    def run(self, prefix, fault, may_die):
        """One run with a fault, and one without. Gives the first one's result."""
        shutil.rmtree(self.data)
        shutil.copytree(self.first, self.data)
        book = ledger.TransferLedger()
        for output in self.outputs:
            book.take(output)
        result = self.victim(prefix, False)
        fault = f"{fault} ({' '.join(self.policy)})"
        self.runs += 1
        words = result.stderr.decode()
        if result.returncode == 127:  # the program was not even loaded
            return result
        if result.returncode not in (0, 3) and not (may_die and result.returncode in (-9, 137)):
            raise ledger.Broken(f"{fault}: the victim ended by itself, with {result.returncode}: {words}")
        if result.returncode == 3 and str(self.data) not in words:
            raise ledger.Broken(f"{fault}: the message names no file: {words}")
        try:
            book.take(result.stdout)
            for _ in range(2):
                book.take(self.victim([], True).stdout)
        except ledger.Broken as broken:
            raise ledger.Broken(f"{fault}: {broken}") from broken
        return result


def by_strace(ground, options):
    trace = options.work / "trace"

    def prefix(call, what, number):
        return ["strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={number}"]

    probe = subprocess.run(["strace", "-o", str(trace), "-e", "inject=getpid:error=EIO", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        print(f"skipped: strace may not trace here: {probe.stderr.decode().strip()}")
        return 77
    faults = [(call, what) for call in WRITES for what in ("signal=KILL", "error=EIO", "error=ENOSPC")] + [("pread64", "error=EIO")]
    for call, what in faults:
        for number in itertools.count(1, options.every):
            result = ground.run(prefix(call, what, number), f"{what} at {call} {number}", what == "signal=KILL")
            if options.every == 1 and number % 10 == 0:
                print(f"{what} at {call} {number}", flush=True)
            happened = trace.read_text(encoding="utf-8", errors="replace")
            if "INJECTED" not in happened and "killed by SIGKILL" not in happened:
                break
            if call == "pread64" and result.returncode not in (3, 127):
                raise ledger.Broken(f"{call} {number} failed, but the victim went on")
    return 0


def by_fiu(ground, options):
    for point in FIU_POINTS:
        chances = [0.02 * (attempt + 1) for attempt in range(0, 12, options.every)] + [1.0]
        ended = [
            ground.run(["fiu-run", "-x", "-c", f"enable_random name={point},probability={chance}"], f"{point} failing with probability {chance}", False)
            for chance in chances
        ]
        if all(result.returncode == 0 for result in ended):
            raise ledger.Broken(f"{point}: no victim met a fault, though all of the last one's calls were to fail")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("victim")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("tool", choices=["strace", "fiu"])
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    if shutil.which("strace" if options.tool == "strace" else "fiu-run") is None:
        print(f"skipped: {options.tool} is not installed")
        return 77
    begin = time.monotonic()
    ground = None
    try:
        ground = Ground(options)
        status = by_strace(ground, options) if options.tool == "strace" else by_fiu(ground, options)
    except ledger.Broken as broken:
        print(f"FAIL {broken}")
        print(f"the files are in {options.work}")
        return 1
    if status == 0:
        print(f"{options.tool}: {ground.runs} runs with faults ({time.monotonic() - begin:.0f} s)")
    return status


if __name__ == "__main__":
    sys.exit(main())
