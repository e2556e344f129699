#!/usr/bin/env python3
"""Runs every command in README.md, CONTRIBUTING.md, docs/*.md and docs/lab/*.md, and compiles every whole program there.

usage: documented_commands.py ELIDER SOURCE_DIR

A command is a line of a fenced block marked `sh`; a backslash continues it. It runs in an empty folder
with the source tree linked into it, where build/release/elider is ELIDER. Sizes and times are cut down.
What installs, clones or builds is not run: the scripts must exist, and presets must be known. A block
after the line `<!-- not run: why -->` is not run either. A program is a block marked `cpp` that has a main function.
Exit status 1: a command failed, or a program has an error.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\s*$")
NOT_RUN_HERE = ("git ", "cd ", "cmake ", "ctest ", "ninja ", "sudo ", "apt-get ", "apt ", "cargo ", "perf ", "export ")
# Options of long runs, and the largest value that this check gives to each of them.
AT_MOST = {"--seconds": 0.1, "--records": 20000, "--warehouses": 1, "--threads": 2, "--repeat": 1, "--transactions": 2000}
# Options that are added to such a command if it does not give them.
UNLESS_GIVEN = {"elider-lab index": {"--seconds": 0.1, "--records": 20000}, "elider bench heap": {"--seconds": 0.1, "--repeat": 1}}


def commands_of(path):
    """(line number, command) of each line of the file's shell blocks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    language, skip, pending, begin = None, False, "", 0
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line.strip())
        if fence and language is None:
            language = fence.group(1) or "text"
            above = next((text for text in reversed(lines[: number - 1]) if text.strip()), "")
            skip = above.startswith("<!-- not run:")
        elif fence:
            language = None
        elif language in ("sh", "bash", "console") and not skip:
            begin = begin if pending else number
            pending += line.strip().removeprefix("$ ")
            if pending.endswith("\\"):
                pending = pending[:-1]
                continue
            command, pending = pending.strip(), ""
            if command and not command.startswith("#"):
                yield begin, command


def programs_of(path):
    """(line number, source) of each whole program of the file."""
    text = path.read_text(encoding="utf-8")
    for block in re.finditer(r"^```cpp\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if "int main(" in block.group(1):
            yield text.count("\n", 0, block.start()) + 1, block.group(1)


def errors_of(program, root):
    compiler = [os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", root / "include", "-x", "c++", "-"]
    return subprocess.run(compiler, input=program, capture_output=True, text=True, check=False, timeout=1800).stderr


def shortened(command):
    def cut(match):
        option, space, value = match.groups()
        return f"{option}{space}{min(float(value), AT_MOST[option]):g}"

    for begin, options in UNLESS_GIVEN.items():
        if f"{begin} " in command:
            command += "".join(f" {option} {value}" for option, value in options.items() if option not in command)
    names = "|".join(AT_MOST)
    return re.sub(rf"({names})([ =])([0-9.]+)", cut, command)


def presets_of(root):
    presets = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))
    return {preset["name"] for preset in presets["configurePresets"] if not preset.get("hidden")}


def missing_of(command, root):
    """What a command that is not run names but does not exist; None if all of it does."""
    script = command.split()[0]
    if script.startswith("./") or script.startswith(".ci/"):
        return None if os.access(root / script, os.X_OK) else script
    preset = re.search(r"--preset[ =](\S+)", command)
    return None if preset is None or preset.group(1) in presets_of(root) else f"preset {preset.group(1)}"


def link_tree(root, folder, build):
    for entry in root.iterdir():
        if entry.name not in ("build", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(build)


def main():
    elider, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    documents = [*sorted((root / "docs").glob("*.md")), *sorted((root / "docs/lab").glob("*.md"))]
    files = [root / "README.md", root / "CONTRIBUTING.md", *documents]
    run, compiled, failed = 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        link_tree(root, folder, elider.parent)
        for path in filter(pathlib.Path.is_file, files):
            for number, command in commands_of(path):
                where = f"{path.relative_to(root)}:{number}"
                if command.startswith(("./quickstart", "./check", ".ci/run") + NOT_RUN_HERE):
                    missing = missing_of(command, root)
                    if missing:
                        failed += 1
                        print(f"{where}: {missing} does not exist: {command}")
                    continue
                run += 1
                result = subprocess.run(["bash", "-c", shortened(command)], cwd=folder, capture_output=True, text=True, check=False, timeout=1800)
                if result.returncode != 0:
                    failed += 1
                    print(f"{where}: status {result.returncode}: {command}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
            for number, program in programs_of(path):
                compiled += 1
                errors = errors_of(program, root)
                if errors:
                    failed += 1
                    print(f"{path.relative_to(root)}:{number}: {errors[-2000:]}")
    print(f"{run} commands were run and {compiled} programs compiled, {failed} failed")
    return 1 if failed or run == 0 or compiled == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
