#!/usr/bin/env python3
"""Kills crash_victim at random points, again and again, on one database, and checks what it had told.

usage: kill.py VICTIM WORK transfer|tpcc --kills N [--seed N]

`transfer` leaves WORK/elle.jsonl and WORK/native.jsonl: one history across all restarts. Exit status 1: a promise was
not kept, or the victim failed by itself; standard output says which.
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import time

import ledger
from victim_process import VictimProcess

TPCC_KILLS_A_DATABASE = 40  # it grows, and so does the time of the checks
THREADS = 3
LINES_MAX = 160  # told before it is killed


def kill_one(arguments, rng, may_be_early, fault):
    victim = VictimProcess(arguments)
    # One kill in six comes while the victim recovers or makes its files, the others while it works.
    if rng.random() < 1 / 6 and may_be_early:
        time.sleep(rng.random() * 0.03)
    else:
        victim.wait_for_lines(1 + rng.randrange(LINES_MAX))
        time.sleep(rng.random() * 0.003)
    victim.process.kill()
    status, output, errors = victim.end()
    if status != -9 or errors:
        raise ledger.Broken(f"the victim ended by itself, with {status}: {errors.strip()}{fault}")
    return output


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("victim")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("workload", choices=["transfer", "tpcc"])
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    data = options.work / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    book = ledger.TransferLedger() if options.workload == "transfer" else ledger.TpccLedger()
    begin = time.monotonic()
    checkpoints = 0
    try:
        for kill in range(options.kills):
            fresh = options.workload == "tpcc" and kill % TPCC_KILLS_A_DATABASE == 0
            if fresh:
                shutil.rmtree(data)
                data.mkdir()
                book.forget()
            how = [*ledger.POLICIES[kill % len(ledger.POLICIES)], "--segment-bytes", ledger.SEGMENT_BYTES[kill % len(ledger.SEGMENT_BYTES)]]
            # Every second run takes checkpoints, under each policy in turn.
            if (kill + kill // len(ledger.POLICIES)) % 2 == 1:
                how += ["--checkpoints", ledger.TRANSACTIONS_A_CHECKPOINT]
            arguments = [options.victim, options.workload, "--data", str(data), "--threads", str(THREADS),
                         "--seed", str(options.seed + kill), "--process", str(kill * THREADS), *how]
            # Tables that are only partly loaded are useless, because no run resumes the loading.
            words = f" (kill {kill}, {' '.join(how)})"
            output = kill_one(arguments, rng, not fresh, words)
            try:
                book.take(output)
                checkpoints += ledger.check_checkpoints(output)[0]
            except ledger.Broken as broken:
                raise ledger.Broken(f"{broken}{words}") from broken
        last = subprocess.run([options.victim, options.workload, "--data", str(data), "--process", str(options.kills * THREADS), "--transactions", "5"],
                              capture_output=True, check=False, timeout=1800)
        if last.returncode != 0:
            raise ledger.Broken(f"the last run ended with {last.returncode}: {last.stderr.decode()}")
        book.take(last.stdout)
        if options.workload == "transfer":
            # The work of the last run must also be there.
            again = subprocess.run([options.victim, "transfer", "--data", str(data), "--process", str((options.kills + 1) * THREADS), "--transactions", "1"],
                                   capture_output=True, check=True, timeout=1800)
            book.take(again.stdout)
            book.write_elle(options.work / "elle.jsonl")
            book.write_native(options.work / "native.jsonl")
        if options.kills >= 10 and checkpoints == 0:
            raise ledger.Broken("no checkpoint was taken")
    except ledger.Broken as broken:
        print(f"FAIL {options.workload}, seed {options.seed}: {broken}")
        print(f"the files are in {data}")
        return 1
    print(f"{options.workload}: {options.kills} kills, {book.restarts} restarts, {book.acknowledged} acknowledged, {book.unknown} under way when killed, "
          f"{checkpoints} checkpoints "
          f"({time.monotonic() - begin:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
