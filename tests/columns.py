#!/usr/bin/env python3
"""Lines end at column 140, and comments that have a line of their own at column 100, in every C++ file of ours.

usage: columns.py SOURCE_DIR
"""

import pathlib
import sys

COLUMNS_MAX = 140
COMMENT_COLUMNS_MAX = 100
FOLDERS = ("include", "src", "lab", "tools", "bench", "examples", "python", "tests")


def main():
    root = pathlib.Path(sys.argv[1])
    files = [file for folder in FOLDERS for pattern in ("*.h", "*.cc", "*.cpp") for file in sorted((root / folder).rglob(pattern))]
    mistakes = [] if files else [f"no source file was found under {root}"]
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            comment = line.lstrip().startswith("//")
            if len(line) > (COMMENT_COLUMNS_MAX if comment else COLUMNS_MAX):
                mistakes.append(f"{file.relative_to(root)}:{number}: {'a comment' if comment else 'a line'} of {len(line)} columns")
    print("\n".join(mistakes + [f"{len(mistakes)} wrong"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
