#!/usr/bin/env python3
"""Checks that every #include points down the list of layers.

usage: includes_point_down.py SOURCE_DIR

Our own headers are included with quotes and from the roots ("base/check.h"), so the first folder of the
path names the layer. Exit status 1: at least one is wrong; each is printed.
"""

import argparse
import pathlib
import re
import sys

# What each layer may include in addition to itself and the public headers. A tool includes only the public headers.
BELOW = {
    "elider": set(),
    "base": set(),
    "htm": {"base"},
    "sync": {"htm", "base"},
    "index": {"sync", "htm", "base"},
    "rows": {"base"},
    "storage": {"rows", "sync", "htm", "base"},
    "io": {"base"},
    "log": {"io", "base"},
    "txn": {"log", "io", "index", "storage", "rows", "sync", "htm", "base"},
    "heap": {"io", "sync", "htm", "base"},
    "recovery": {"txn", "log", "io", "index", "storage", "rows", "sync", "htm", "base"},
    "engine": {"recovery", "txn", "heap", "log", "io", "index", "storage", "rows", "sync", "htm", "base"},
    "c": {"base"},
    "tools": set(),
    "bench": {"tools"},
    "lab": {"bench", "tools", "base"},
    "examples": set(),
    "python": set(),
}
# The laboratory may include these in addition to the public headers. They are what a protocol, a sync policy, an engine
# and a study of single parts are made of.
DOOR = {
    "engine/policies.h", "engine/registration.h",
    "htm/backend.h", "htm/detect.h", "htm/elide.h", "htm/emulated.h", "htm/emulator.h", "htm/rtm.h",
    "index/all_operations.h", "index/policies.h", "index/scan.h",
    "storage/record.h",
    "sync/elided.h", "sync/exclusive.h", "sync/optimistic.h", "sync/policy.h",
    "txn/chopping/chopped.h", "txn/occ/occ.h", "txn/pointer_map.h", "txn/protocol.h", "txn/read_write/transaction.h",
    "txn/snapshot_transaction.h", "txn/timestamp/timestamp.h",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def layer_of(path: pathlib.Path):
    """The layer of a file, by its path from the source folder; None: it may include everything."""
    parts = path.parts
    if parts[0] == "src":
        return parts[1]
    if parts[0] == "include":
        return "elider"
    return None if parts[0] == "tests" or path.name.endswith("_test.cc") and parts[0] == "lab" else parts[0]


def resolve(root: pathlib.Path, name: str):
    for folder in ("include", "src", "."):
        if (root / folder / name).is_file():
            return root / folder / name
    return None


def wrong_includes(root: pathlib.Path):
    folders = [root / name for name in ("include", "src", "lab", "tools", "bench", "examples", "python", "tests")]
    files = [file for folder in folders for pattern in ("*.h", "*.cc", "*.cpp") for file in sorted(folder.rglob(pattern))]
    if not files:
        yield "no source file was found under " + str(root)
    for file in files:
        path = file.relative_to(root)
        layer = layer_of(path)
        if layer is not None and layer not in BELOW:
            yield f"{path}:1: the folder '{layer}' is no known layer"
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quote, name = match.groups()
            target = name.split("/")[0]
            ours = target in BELOW or target == "tests"
            if quote == "<":
                if ours and "/" in name and resolve(root, name):
                    yield f"{path}:{number}: <{name}> is ours: include it with quotes"
                continue
            if resolve(root, name) is None or "/" not in name:
                yield f'{path}:{number}: "{name}" is not a header as seen from include/, src/ or the root'
            elif path.name.endswith("_test.cc") and name.startswith("tests/support/"):
                continue
            elif layer is not None and target not in BELOW[layer] | {layer, "elider"} and not (layer == "lab" and name in DOOR):
                yield f'{path}:{number}: {layer} may not include "{name}"'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    arguments = parser.parse_args()
    mistakes = list(wrong_includes(arguments.root.resolve()))
    for mistake in mistakes:
        print(mistake)
    print(f"{len(mistakes)} wrong")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
