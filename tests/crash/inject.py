#!/usr/bin/env python3
"""Makes system calls of crash_victim fail, or kills it there, and checks what it had acknowledged.

usage: inject.py VICTIM WORK strace|fiu [--every N]

strace: injects SIGKILL, EIO and ENOSPC at the first, second, ... call of each kind that writes, until a run does not make
that many calls. Injects EIO at each read of a recovery. All of this is done with and without checkpoints, so that each
kind of call meets each kind of file that it is made for. A few runs preallocate room in the log's files.
strace counts the calls of each thread separately: a fault at the third call hits every thread at its third call. The
thread that opens the database takes the checkpoints, so their calls follow those of opening. --every N: only at each Nth
call. fiu: libfiu makes calls fail at random.
Each run continues with a database of two earlier runs, which is afterwards opened without faults. The runs use the
policies that ledger.py lists in turn. Exit status 1: something acknowledged was lost, a transaction is incomplete, a
victim died by itself, a message does not name a file, or no victim met an expected fault; 77: the tool is not installed
or may not trace.
"""

import argparse
import collections
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import ledger

KILL, EIO, ENOSPC = "signal=KILL", "error=EIO", "error=ENOSPC"
TRANSACTIONS = 5
CHECKPOINTS = ["--checkpoints", ledger.TRANSACTIONS_A_CHECKPOINT, "--segment-bytes", "4096"]
ROOMS = ["--segment-bytes", "1048576"]
# What strace injects: the victim's options, the call, the faults, and the kinds of files that each of these faults must
# have met.
LINES = (
    [([], call, (KILL, EIO, ENOSPC), kinds)
     for call, kinds in (("pwrite64", "log MANIFEST"), ("fdatasync", "log MANIFEST"), ("fsync", "folder"), ("renameat", "MANIFEST"))]
    + [([], "pread64", (EIO,), "log MANIFEST"), (CHECKPOINTS, "openat", (EIO,), "checkpoint log MANIFEST")]
    + [(CHECKPOINTS, call, (KILL, EIO, ENOSPC), kinds)
       for call, kinds in (("pwrite64", "checkpoint log MANIFEST"), ("fdatasync", "checkpoint log MANIFEST"))]
    + [(CHECKPOINTS, call, (KILL, EIO, ENOSPC), kinds)
       for call, kinds in (("fsync", "folder"), ("renameat", "MANIFEST"), ("unlinkat", "checkpoint log"))]
    + [(CHECKPOINTS, "pread64", (EIO,), "checkpoint MANIFEST")]
    + [(ROOMS, "fallocate", (KILL, ENOSPC), "log"), (ROOMS, "pwrite64", (KILL,), "log")]
)
# libfiu does not intercept openat, renameat and unlinkat.
FIU_POINTS = ("posix/io/rw/pwrite", "posix/io/sync/fdatasync", "posix/io/sync/fsync", "posix/io/rw/pread", "posix/io/dir/fdopendir")


def run_group(arguments, seconds):
    """As subprocess.run; but a run that takes longer is ended with all that it has started: strace's end leaves the victim."""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


class Ground:
    """Databases that earlier runs have left, without and with checkpoints, copied for each run, and the ledgers of those."""

    def __init__(self, options):
        self.options = options
        self.data = options.work / "data"
        self.process = 0
        self.policy = []
        self.runs = 0
        self.failed_checkpoints = 0
        shutil.rmtree(options.work, ignore_errors=True)
        self.outputs = {}
        for checkpoints in (False, True):
            self.data.mkdir(parents=True)
            how = CHECKPOINTS if checkpoints else []
            self.outputs[checkpoints] = [self.victim([], how, True).stdout for _ in range(2)]
            self.data.rename(self.first(checkpoints))

    def first(self, checkpoints):
        return self.options.work / ("first_with_checkpoints" if checkpoints else "first")

    def victim(self, prefix, how, must_end):
        self.process += 2
        self.policy = ledger.POLICIES[self.process // 2 % len(ledger.POLICIES)]
        arguments = [*prefix, self.options.victim, "transfer", "--data", str(self.data), "--threads", "2", "--process", str(self.process),
                     "--transactions", str(TRANSACTIONS), "--seed", str(self.process), *how, *self.policy]
        result = run_group(arguments, 120)
        if must_end and result.returncode != 0:
            raise ledger.Broken(f"without a fault the victim ({' '.join(self.policy)}) ends with {result.returncode}: "
                                f"{result.stderr.decode()}")
        if must_end:
            ledger.check_checkpoints(result.stdout)
        return result

    def run(self, prefix, how, fault, may_die):
        """One run with a fault, and two without. Gives the first one's result."""
        checkpoints = "--checkpoints" in how
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.first(checkpoints), self.data)
        book = ledger.TransferLedger()
        for output in self.outputs[checkpoints]:
            book.take(output)
        result = self.victim(prefix, how, False)
        fault = f"{fault} ({' '.join(how + self.policy)})"
        self.runs += 1
        words = result.stderr.decode()
        if result.returncode == 127:  # the program was not even loaded
            return result
        if result.returncode not in (0, 3) and not (may_die and result.returncode in (-9, 137)):
            raise ledger.Broken(f"{fault}: the victim ended by itself, with {result.returncode}: {words}")
        if result.returncode == 3 and str(self.data) not in words:
            raise ledger.Broken(f"{fault}: the message names no file: {words}")
        try:
            self.failed_checkpoints += ledger.check_checkpoints(result.stdout, self.data)[1]
            book.take(result.stdout)
            # The second run checkpoints what the first one has left.
            for again in (0, 1):
                book.take(self.victim([], CHECKPOINTS if checkpoints and again else [], True).stdout)
        except ledger.Broken as broken:
            raise ledger.Broken(f"{fault}: {broken}") from broken
        return result


def kinds_met(call, number, trace):
    """What kinds of files the injected calls were for: of each thread the `number`-th, by what strace wrote with -y."""
    begun = collections.Counter()
    kinds = []
    for line in trace.splitlines():
        # Calls that end with "at" name the file in quotes, after its folder.
        file = r".*?\"(.*?)\"" if call.endswith("at") else r"\d*<(.*?)>"
        entry = re.match(rf"(\d+) +{call}\({file}", line)
        if entry is None:
            continue
        begun[entry[1]] += 1
        if begun[entry[1]] == number:
            name = pathlib.PurePath(entry[2]).name
            kind = re.match(r"log(?=-)|checkpoint(?=-)|MANIFEST", name)
            kinds.append("folder" if call == "fsync" else "other" if kind is None else kind[0])
    return kinds


def by_strace(ground, options):
    trace = options.work / "trace"

    def prefix(call, what, number):
        return ["strace", "-f", "-y", "-qq", "-o", str(trace), "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={number}"]

    probe = subprocess.run(["strace", "-o", str(trace), "-e", "inject=getpid:error=EIO", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        print(f"skipped: strace may not trace here: {probe.stderr.decode().strip()}")
        return 77
    met = collections.Counter()
    for how, call, faults, kinds in LINES:
        for what in faults:
            met_here = inject_each(ground, options, how, call, what, prefix, trace)
            missed = [kind for kind in kinds.split() if kind not in met_here]
            if missed and options.every == 1:
                raise ledger.Broken(f"{what} at {call} ({' '.join(how)}) has met no {' and no '.join(missed)}, only {dict(met_here)}")
            met.update({f"{call} {kind}": count for kind, count in met_here.items()})
    print("met: " + ", ".join(f"{call} {count}" for call, count in sorted(met.items())))
    if ground.failed_checkpoints == 0:
        raise ledger.Broken("no checkpoint met a fault and failed")
    return 0


def met_the_last(call, trace):
    """Whether the last such call met the fault. A last pread64 reads the manifest while the database closes, and cannot be reported."""
    return "INJECTED" in [line for line in trace.splitlines() if f"{call}(" in line][-1]


def inject_each(ground, options, how, call, what, prefix, trace):
    """This fault at the first, second, ... such call. Counts the kinds of files that have met it."""
    met = collections.Counter()
    for number in itertools.count(1, options.every):
        fault = f"{what} at {call} {number}"
        result = ground.run(prefix(call, what, number), how, fault, what == KILL)
        happened = trace.read_text(encoding="utf-8", errors="replace")
        if "INJECTED" not in happened and "killed by SIGKILL" not in happened:
            if number == 1:
                raise ledger.Broken(f"{fault} ({' '.join(how)}): the call was not made; nothing was tested")
            break
        met.update(kinds_met(call, number, happened))
        if call == "pread64" and result.returncode not in (3, 127) and not (result.returncode == 0 and met_the_last(call, happened)):
            raise ledger.Broken(f"{call} {number} failed, but the victim went on")
        # The log does not depend on these calls, so transactions go on.
        on = call == "fallocate" or (call == "unlinkat" and result.returncode != 3)
        if what != KILL and on and (result.returncode != 0 or b'"info"' in result.stdout):
            raise ledger.Broken(f"{fault} ({' '.join(how)}) ended the transactions: {result.stderr.decode()}")
    return met


def by_fiu(ground, options):
    for point in FIU_POINTS:
        chances = [0.02 * (attempt + 1) for attempt in range(0, 12, options.every)] + [1.0]
        met = 0
        for attempt, chance in enumerate(reversed(chances)):
            how = [CHECKPOINTS, ROOMS][attempt % 2]
            failed = ground.failed_checkpoints
            result = ground.run(["fiu-run", "-x", "-c", f"enable_random name={point},probability={chance}"], how,
                                f"{point} failing with probability {chance}", False)
            met += result.returncode != 0 or ground.failed_checkpoints > failed
        if met == 0:
            raise ledger.Broken(f"{point}: no victim met a fault, though all of one's calls were to fail")
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
        print(f"{options.tool}: {ground.runs} runs with faults, {ground.failed_checkpoints} checkpoints failed "
              f"({time.monotonic() - begin:.0f} s)")
    return status


if __name__ == "__main__":
    sys.exit(main())
