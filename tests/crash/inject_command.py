#!/usr/bin/env python3
"""Makes system calls of the command line's own program fail, or kills it there, and looks at what it leaves.

usage: inject_command.py ELIDER WORK [--every N]

strace: injects SIGKILL, EIO and ENOSPC at the first, second, ... pwrite64 and fdatasync of a short
`elider bench ycsb --durability group`, until a run does not make that many calls. A run that is not killed ends with 0 if
the database could do without the call, or with 1 and a message that names a file and the system's error. Afterwards,
either the database does not exist yet, or `elider check` accepts it and the benchmark can continue with it. Unlike in
inject.py, it is not known which commits were acknowledged. --every N: only at each Nth call. Exit status 1: a promise was
not kept; 77: strace is not installed or may not trace.
"""

import argparse
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import time

from inject import EIO, ENOSPC, KILL, run_group

WORDS = {EIO: "Input/output error", ENOSPC: "No space left on device"}
FAULTS = itertools.product(("pwrite64", "fdatasync"), (KILL, EIO, ENOSPC))
RECORDS = 200
RUN = ["--records", str(RECORDS), "--mix", "50/50", "--threads", "1", "--seconds", "0.02", "--warmup", "0", "--durability", "group", "--quiet"]


class Command:
    def __init__(self, elider, data):
        self.elider = elider
        self.data = data
        self.failed = self.killed = self.none_yet = self.went_on = 0

    def call(self, *arguments, prefix=()):
        return run_group([*prefix, self.elider, *arguments], 60)

    def bench(self, *more, prefix=()):
        return self.call("bench", "ycsb", *RUN, "--data", str(self.data), *more, prefix=prefix)

    def expect(self, result, statuses, what):
        if result.returncode not in statuses:
            raise ledger.Broken(f"{what} ends with {result.returncode}: {result.stderr.decode()}{result.stdout.decode()}")
        return result.returncode

    def one(self, prefix, what, fault):
        """One run with a fault; then what it left is looked at, and goes on."""
        shutil.rmtree(self.data, ignore_errors=True)
        result = self.bench(prefix=prefix)
        words = result.stderr.decode()
        if what == KILL:
            self.killed += self.expect(result, (0, -9, 137), fault) != 0
        elif self.expect(result, (0, 1), fault) == 1:
            self.failed += 1
            if str(self.data) not in words or WORDS[what] not in words:
                raise ledger.Broken(f"{fault}: the message names no file, or no cause: {words}")
        if not (self.data / "MANIFEST").exists():
            self.none_yet += 1
            self.expect(self.call("check", str(self.data)), (2,), f"{fault}: check of no database")
            return
        check = self.call("check", str(self.data))
        self.expect(check, (0,), f"{fault}: check")
        tables, rows = map(int, re.search(r"tables, rows +(\d+), (\d+)", check.stdout.decode()).groups())
        if tables == 0:
            return
        # A load that has not completed cannot be resumed.
        self.expect(self.bench("--resume"), (0 if rows == RECORDS else 1,), f"{fault}: going on with {rows} rows")
        self.expect(self.call("check", str(self.data)), (0,), f"{fault}: check after going on")
        self.went_on += rows == RECORDS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("elider")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    trace = options.work / "trace"
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    if shutil.which("strace") is None:
        print("skipped: strace is not installed")
        return 77
    probe = subprocess.run(["strace", "-o", str(trace), "-e", "inject=getpid:error=EIO", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        print(f"skipped: strace may not trace here: {probe.stderr.decode().strip()}")
        return 77
    begin = time.monotonic()
    command = Command(options.elider, options.work / "data")
    runs = 0
    try:
        for call, what in FAULTS:
            for number in itertools.count(1, options.every):
                prefix = ["strace", "-f", "-qq", "-o", str(trace), "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={number}"]
                command.one(prefix, what, f"{what} at {call} {number}")
                happened = trace.read_text(encoding="utf-8", errors="replace")
                if "INJECTED" not in happened and "killed by SIGKILL" not in happened:
                    break
                runs += 1
            if number == 1:
                raise ledger.Broken(f"{call} was not called; nothing was tested")
        counts = (f"{runs} runs with faults, {command.failed} failed, {command.killed} killed, {command.none_yet} left no database, "
                  f"{command.went_on} went on")
        if 0 in (command.failed, command.killed, command.none_yet, command.went_on):
            raise ledger.Broken(f"no run of a kind: {counts}")
    except ledger.Broken as broken:
        print(f"FAIL {broken}")
        print(f"the files are in {options.work}")
        return 1
    print(f"elider bench: {counts} ({time.monotonic() - begin:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
