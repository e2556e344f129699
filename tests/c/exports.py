#!/usr/bin/env python3
"""Compares the functions of elider/c.h and elider/c_heap.h with what libelider_c.so exports, and with its version map.

usage: exports.py SOURCE_DIR LIBRARY [NM]

Exit status 1: a function is declared and not exported, or exported and not declared, or has another version.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

DECLARED = re.compile(r"^ELIDER_API\b[^;{]*?\b(elider_\w+)\(", re.MULTILINE)
VERSION = re.compile(r"(ELIDER_\d+)\s*\{\s*global:\s*([^}]*?)local:\s*\*;\s*\}", re.DOTALL)


def main(source, library, nm="nm"):
    headers = sorted((source / "include/elider").glob("c.h")) + sorted((source / "include/elider").glob("c_*.h"))
    declared = {name for header in headers for name in DECLARED.findall(header.read_text(encoding="utf-8"))}
    marks = sum(header.read_text(encoding="utf-8").count("\nELIDER_API ") for header in headers)
    versions = VERSION.findall((source / "src/c/elider_c.map").read_text(encoding="utf-8"))
    lines = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    exported = dict(line.split()[-1].replace("@@", "@").split("@") for line in lines if "@" in line)
    others = [line for line in lines if "@" not in line and line.split()[-1] not in {version for version, _ in versions}]
    wrong = [f"{name} is declared, but not exported" for name in sorted(declared - exported.keys())]
    wrong += [f"{name} is exported, but not declared" for name in sorted(exported.keys() - declared)]
    wrong += [f"exported without a version: {line}" for line in others]
    for name, version in sorted(exported.items()):
        patterns = [pattern for its, names in versions if its == version for pattern in re.findall(r"[\w*]+", names)]
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            wrong.append(f"{name} has the version {version}, which the map does not give it")
    if marks != len(declared):
        wrong.append(f"{marks} declarations have ELIDER_API, but {len(declared)} functions were found")
    print("\n".join(wrong + [f"{len(declared)} functions, {len(wrong)} wrong"]))
    return 1 if wrong or not declared else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
