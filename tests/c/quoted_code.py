#!/usr/bin/env python3
"""Checks that the code in docs/c.md is the marked code of examples/bank.c, which another test compiles and runs.

usage: quoted_code.py SOURCE_DIR

A part of the example begins at a line "// [name]" and ends at "// [end]". Exit status 1: the page has other code, or not all parts.
"""

import pathlib
import re
import sys
import textwrap


def main(source):
    example = (source / "examples/bank.c").read_text(encoding="utf-8")
    page = (source / "docs/c.md").read_text(encoding="utf-8")
    parts = {textwrap.dedent(code).rstrip(): name for name, code in
             re.findall(r"^ *// \[(\w+)\]\n(.*?)^ *// \[end\]", example, re.DOTALL | re.MULTILINE)}
    quoted = [code.rstrip() for code in re.findall(r"^```c\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)]
    for code in quoted:
        if code not in parts:
            print("docs/c.md has code that examples/bank.c does not have:\n" + code)
    for code, name in parts.items():
        if code not in quoted:
            print(f"docs/c.md does not have the part '{name}' of examples/bank.c")
    print(f"{len(quoted)} blocks, {len(parts)} parts")
    return 0 if parts and set(quoted) == set(parts) else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
