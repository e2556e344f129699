#!/usr/bin/env python3
"""Proves that plain_english.py can fail: small trees above, at and below their bounds."""

import pathlib
import subprocess
import sys
import tempfile

CHECKER = pathlib.Path(__file__).with_name("plain_english.py")

# bounds, files, what must be in the output, and whether the check passes.
CASES = [
    ("", {"src/a.cc": "// A lock is held.\n"}, "", True),
    ("", {"src/a.cc": "// The lock stands here.\n"}, "src/a.cc:1: stands", False),
    ("src 1\n", {"src/a.cc": "// The lock stands here.\n"}, "", True),
    ("src 1\n", {"src/a.cc": "// It stands.\n", "src/b.h": "// It stood.\n"}, "src: 2 lines", False),
    ("src 2\n", {"src/a.cc": "// The lock stands here.\n"}, "src: 1 lines, 2 allowed", True),
    ("src 9\n", {"src/a.cc": 'refuse("there is "\n       "no table");\n'}, "messages: 1 lines", False),
    ("src 9\n", {"src/a.cc": 'const char x = \'"\';  // there is no "table"\n'}, "", True),
    ("src 9\n", {"src/a_test.cc": 'const char* x = "there is no table";\n'}, "", True),
    ("tests 1\n", {"tests/a.cc": 'const char* x = "there is no table";\n'}, "", True),
    ("", {"docs/a.md": "A thread waits, too.\n"}, "documents: 1 lines", False),
    ("", {"bench/plot.py": "x = 1\n# written anew\n"}, "bench/plot.py:2: archaic", False),
    ("", {"lab/a.h": "// Once a thread has begun, it runs.\n// one a transaction\n"}, "lab: 1 lines", False),
    ("", {}, "no file was found", False),
]


def main():
    failures = 0
    for bounds, files, expected, passes in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {"tests/plain_english.txt": bounds, **files}.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
            run = [sys.executable, str(CHECKER), folder]
            result = subprocess.run(run, capture_output=True, text=True, check=False)
            subprocess.run([*run, "--update"], check=True)
            updated = (pathlib.Path(folder) / "tests/plain_english.txt").read_text(encoding="utf-8")
        right = result.returncode == (0 if passes else 1) and expected in result.stdout
        if "stood" in str(files):
            right = right and "src 1\n" in updated  # --update never raises a bound
        if not right:
            failures += 1
            print(f"{files}: expected {expected!r}, got status {result.returncode}:\n{result.stdout}{result.stderr}{updated}")
    print(f"{len(CASES) - failures} of {len(CASES)} cases are right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
