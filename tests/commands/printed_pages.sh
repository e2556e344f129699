#!/usr/bin/env bash
# presets: dev
# docs/options.md and docs/metrics.md are what the command line prints from its lists, and JSON has as many.
set -u
for page in options metrics; do
  "$ELIDER" $page --markdown >$page.md || exit 1
  diff -u "$ELIDER_SOURCE_DIR/docs/$page.md" $page.md || exit 1
  entries=$("$ELIDER" $page --json - | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')
  [[ $entries -ge 30 && $entries -eq $(grep -c '^| `' $page.md) ]] || { echo "$page: $entries entries in JSON"; exit 1; }
done

# docs/lab/papers.md has each section and figure that the program knows of, and the files that it names are there.
"$ELIDER" bench figures --no-run -o papers.md || exit 1
python3 - "$ELIDER_SOURCE_DIR" papers.md <<'PY' || exit 1
import os, re, sys

source, printed = sys.argv[1:]
page = os.path.join(source, "docs/lab/papers.md")

def rows(path):  # of figures, what no run changes: number, what, command
    found, figures = [], False
    for line in open(path, encoding="utf-8"):
        if line.startswith("#"):
            found.append(line.strip())
            figures = line.startswith("## Figures")
        elif line.startswith("|"):
            cells = line.strip().strip("|").split(" | ")
            found.append(tuple(cells[:3] if figures else cells))
    return found

ours, theirs = rows(page), rows(printed)
for row in ours:
    if row not in theirs: print(f"docs/lab/papers.md has, and the program has not: {row}")
for row in theirs:
    if row not in ours: print(f"docs/lab/papers.md lacks: {row}")
text = open(page, encoding="utf-8").read()
paths = set(re.findall(r"\b(?:src|bench|docs|include|tests|tools)/[\w./-]*\w", text))
missing = [path for path in sorted(paths) if not os.path.exists(os.path.join(source, path))]
for path in missing: print(f"docs/lab/papers.md names {path}, which is not there")
sys.exit(ours != theirs or bool(missing) or len(paths) < 30)
PY
