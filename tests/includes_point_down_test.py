#!/usr/bin/env python3
"""Proves that includes_point_down.py can fail: small trees with one mistake each, and one without."""

import pathlib
import subprocess
import sys
import tempfile

CHECKER = pathlib.Path(__file__).with_name("includes_point_down.py")

# file -> content; what must be in the output, or None where the tree is right.
CASES = [
    ({"src/base/a.h": "#pragma once\n", "src/index/b.h": '#include "base/a.h"\n'}, None),
    ({"src/index/b.h": "", "src/base/a.h": '#include "index/b.h"\n'}, 'base may not include "index/b.h"'),
    ({"src/index/b.h": "", "src/storage/a.h": '#include "index/b.h"\n'}, 'storage may not include "index/b.h"'),
    ({"src/base/a.h": "", "include/elider/x.h": '#include "base/a.h"\n'}, 'elider may not include "base/a.h"'),
    ({"src/base/a.h": "", "bench/x.cc": '#include "base/a.h"\n'}, 'bench may not include "base/a.h"'),
    ({"lab/x.h": "", "src/base/x.cc": '#include "lab/x.h"\n'}, 'base may not include "lab/x.h"'),
    ({"src/txn/protocol.h": "", "lab/x.cc": '#include "txn/protocol.h"\n'}, None),
    ({"src/txn/install.h": "", "lab/x.cc": '#include "txn/install.h"\n'}, 'lab may not include "txn/install.h"'),
    ({"src/base/a.h": "", "src/base/x.cc": '#include "a.h"\n'}, '"a.h" is not a header'),
    ({"src/base/a.h": "", "src/base/x.cc": "#include <base/a.h>\n"}, "include it with quotes"),
    ({"src/news/a.h": ""}, "no known layer"),
    ({}, "no source file"),
]


def main():
    failures = 0
    for files, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
            command = [sys.executable, str(CHECKER), folder]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        right = result.returncode == 0 if expected is None else result.returncode == 1 and expected in result.stdout
        if not right:
            failures += 1
            print(f"{files}: expected {expected!r}, got status {result.returncode}:\n{result.stdout}{result.stderr}")
    print(f"{len(CASES) - failures} of {len(CASES)} cases are right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
