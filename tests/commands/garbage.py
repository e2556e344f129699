"""Garbage for every subcommand of the command line: unknown words, wrong numbers, files of random bytes, and folders that are
not databases or are damaged. Each call must end by itself with an exit status from 0 to 3. If the status is not 0, the call
must print a message. It must not print a trace, or make a database of a folder that contains something else.

ELIDER_SEED: the first seed (default 1). ELIDER_GARBAGE_CALLS: the number of random calls in addition to the fixed ones.

usage: garbage.py ELIDER
"""

import os
import random
import shutil
import subprocess
import sys

SECONDS_MAX = 600  # a call that takes longer hangs; most end in milliseconds
TRACES = ("Traceback", "terminate called", "what():", "AddressSanitizer", "runtime error", "Assertion")
BENCHES = ["tpcc", "ycsb", "compare", "elision", "htm", "durability", "history", "scan", "protocols", "heap"]
ON_FOLDERS = [["check"], ["recover", "--dry-run"], ["recover"], ["checkpoint"], ["log", "verify"], ["log", "dump"],
              ["tables"], ["dump"]]
ON_TABLES = [["schema"], ["rows"], ["export"], ["set"], ["delete"], ["import"]]  # of a folder and a table
ON_FILES = [["check-history"], ["plot"], ["log", "dump"], ["heap", "check"], ["heap", "status"],
            ["load", "loaded"], ["load", "foreign"], ["load", "whole"], ["import", "whole", "usertable"], ["import", "nowhere", "t", "--create"],
            ["import", "whole", "t", "--create", "--format", "csv"]]
NUMBERS = ["", "-1", "1e99", "nan", "0x", "18446744073709551616", "3.7", "a", "١", "1;2", "--", "\x01"]
OPTIONS = ["--threads", "--seconds", "--records", "--warehouses", "--seed", "--repeat", "--json", "--data", "--sync", "--mix", "--table",
           "--first", "--last", "--limit", "--also", "--to-snapshot", "--durability", "--theta", "--nonsense", "--thread"]


def main() -> int:
    elider = sys.argv[1]
    seed = int(os.environ.get("ELIDER_SEED", "1"))
    calls = int(os.environ.get("ELIDER_GARBAGE_CALLS", "60"))
    rng = random.Random(seed)
    faults = []

    def call(arguments: list[str]) -> None:
        arguments = [argument.replace("\0", "0") for argument in arguments]
        try:
            done = subprocess.run([elider, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS_MAX, check=False)
        except subprocess.TimeoutExpired:
            faults.append(f"{arguments}: it hangs")
            return
        said = (done.stdout + done.stderr).decode(errors="replace")
        if not 0 <= done.returncode <= 3:
            faults.append(f"{arguments}: exit status {done.returncode}: {said[-300:]}")
        elif done.returncode != 0 and not said.strip():
            faults.append(f"{arguments}: exit status {done.returncode} without a word")
        for trace in TRACES:
            if trace in said:
                faults.append(f"{arguments}: {said[-300:]}")

    folders, files = hostile(elider, rng)
    for command in ON_FOLDERS:
        for folder in folders:
            call([*command, folder])
        for command in ON_TABLES:
            for table in ("usertable", "", "elider_sequences"):
                call([*command, folder, table])
                call([*command, folder, table, rng.choice(NUMBERS), rng.choice(["x=1", "=", "", *NUMBERS])])
                call([*command, folder, table, "--from", rng.choice(NUMBERS), "--where", rng.choice(["key=1", "=", "x"]), "--format", "csv"])
    for command in ON_FILES:
        for file in files:
            call([*command, file])
    for folder in folders:
        call(["backup", folder, f"copy-of-{os.path.basename(folder)}"])
        call(["restore", folder, f"restored-{os.path.basename(folder)}"])
    for _ in range(calls):
        call(arguments_at_random(rng, folders, files))
    with open("foreign/notes.txt", encoding="utf-8") as notes:
        if notes.read() != "not a database\n" or os.listdir("foreign") != ["notes.txt"]:
            faults.append(f"the foreign folder holds {os.listdir('foreign')} now")

    for fault in faults:
        print(fault)
    print(f"garbage, seed {seed}: {len(faults)} faults")
    return 1 if faults else 0


def hostile(elider: str, rng: random.Random) -> tuple[list[str], list[str]]:
    """Folders and files that no command should trust."""
    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.remove(name)
    os.mkdir("empty")
    os.mkdir("foreign")
    with open("foreign/notes.txt", "w", encoding="utf-8") as notes:
        notes.write("not a database\n")
    subprocess.run([elider, "bench", "ycsb", "--records", "200", "--seconds", "0.1", "--threads", "1", "--data", "whole", "--durability", "async"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    names = sorted(os.listdir("whole"))
    folders = ["empty", "foreign", "nowhere", "whole"]
    for i in range(8):
        damaged = f"damaged{i}"
        shutil.copytree("whole", damaged)
        path = f"{damaged}/{rng.choice([name for name in names if name != 'LOCK'])}"
        with open(path, "rb") as file:
            content = bytearray(file.read())
        kind = i % 4
        if kind == 0:
            content = content[:rng.randrange(len(content) + 1)]
        elif kind == 1:
            for _ in range(20):
                content[rng.randrange(min(len(content), 200))] = rng.randrange(256)
        elif kind == 2:
            content = rng.randbytes(4096)
        os.remove(path)
        if kind == 3:
            os.mkdir(path)
        else:
            with open(path, "wb") as file:
                file.write(content)
        folders.append(damaged)
    os.mkdir("pipes")
    os.mkfifo("pipes/MANIFEST")
    folders.append("pipes")
    shutil.copytree("whole", "piped-log")
    log = next(f"piped-log/{name}" for name in names if name.startswith("log-"))
    os.remove(log)
    os.mkfifo(log)
    folders.append("piped-log")
    files = []
    for i in range(4):
        files.append(f"random{i}.json")
        with open(files[-1], "wb") as file:
            file.write([rng.randbytes(500), b"", b'{"a": [1, 2', b'[{"benchmark": 3}]\n' * 3][i])
    return folders, [*files, "empty", "nowhere.json"]


def arguments_at_random(rng: random.Random, folders: list[str], files: list[str]) -> list[str]:
    command = rng.choice([["bench", rng.choice(BENCHES)], ["bench"], rng.choice(ON_FOLDERS), rng.choice(ON_FILES), rng.choice(ON_TABLES), ["benhc"], ["hardware"], []])
    arguments = [*command]
    for _ in range(rng.randrange(1, 4)):
        arguments.append(rng.choice(OPTIONS))
        arguments.append(rng.choice([*NUMBERS, *folders, *files, "optimistic", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")]))
    return [*arguments, "--nonsense"]  # so that no benchmark runs


if __name__ == "__main__":
    sys.exit(main())
