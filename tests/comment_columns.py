#!/usr/bin/env python3
"""A comment that has a line of its own ends at column 100, in every C++ file of ours.

usage: comment_columns.py SOURCE_DIR
"""

import pathlib
import sys

COLUMNS_MAX = 100
FOLDERS = ("include", "src", "tools", "bench", "examples", "tests")


def main():
    root = pathlib.Path(sys.argv[1])
    files = [file for folder in FOLDERS for pattern in ("*.h", "*.cc", "*.cpp") for file in sorted((root / folder).rglob(pattern))]
    mistakes = [] if files else [f"no source file was found under {root}"]
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("//") and len(line) > COLUMNS_MAX:
                mistakes.append(f"{file.relative_to(root)}:{number}: a comment of {len(line)} columns")
    print("\n".join(mistakes + [f"{len(mistakes)} wrong"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
