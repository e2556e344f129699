#!/usr/bin/env bash
# presets: dev
# engines: all
# docs/options.md, docs/metrics.md and docs/lab/options.md equal what the programs print, and JSON has as many entries.
set -u
# expect_page PROGRAM COMMAND PAGE ENTRIES_MIN
expect_page() {
  "$1" "$2" --markdown >page.md || exit 1
  diff -u "$ELIDER_SOURCE_DIR/docs/$3" page.md || exit 1
  entries=$("$1" "$2" --json - | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')
  [[ $entries -ge $4 && $entries -eq $(grep -c '^| `' page.md) ]] || { echo "$3: $entries entries in JSON"; exit 1; }
}
expect_page "$ELIDER" options options.md 30
expect_page "$ELIDER" metrics metrics.md 30
expect_page "$ELIDER-lab" options lab/options.md 15

# docs/lab/papers.md has a place for each figure that the program measures, in the same order and below a heading that names the
# figure, with the command that measures it. The files that it names exist.
"$ELIDER-lab" figures --no-run >figures.md || exit 1
python3 - "$ELIDER_SOURCE_DIR" figures.md <<'PY' || exit 1
import os, re, sys

source, printed = sys.argv[1:]
page = os.path.join(source, "docs/lab/papers.md")
text = open(page, encoding="utf-8").read()
listed = open(printed, encoding="utf-8").read()

# (label, command); a figure that two papers have is measured once.
measured = list(dict.fromkeys(re.findall(r"^### (.*)\n\nNot measured: `(.*) --json FILE`\.$", listed, re.M)))
names = [re.search(r"--figure (\S+)", command).group(1) for _, command in measured]
measured = [one for i, one in enumerate(measured) if names[i] not in names[:i]]
places, label = [], ""
for line in re.findall(r"^(#+ .*|<!-- measured .* -->|Unit: .* `elider(?:-lab| bench) .*)$", text, re.M):
    if line.startswith("#"):
        label = line.lstrip("# ").split(":")[0]
    elif line.startswith("<!--"):
        name = line.split()[2]
        if f"<!-- end of {name} -->\n" not in text: sys.exit(f"docs/lab/papers.md: the place of {name} does not end")
    else:
        command = re.search(r"`(.*?)`", line).group(1).removesuffix(" --quick")
        if not command.endswith(f" --figure {name}"): sys.exit(f"docs/lab/papers.md: the place of {name} has another command: {command}")
        places.append((label, command))
for one in measured:
    if one not in places: print(f"docs/lab/papers.md lacks a place for {one}")
for one in places:
    if one not in measured: print(f"docs/lab/papers.md has a place for {one}, which the program does not measure")
paths = set(re.findall(r"\b(?:src|lab|bench|docs|include|tests|tools)/[\w./-]*\w", text))
missing = [path for path in sorted(paths) if not os.path.exists(os.path.join(source, path))]
for path in missing: print(f"docs/lab/papers.md names {path}, which does not exist")
sys.exit(places != measured or len(measured) < 40 or bool(missing) or len(paths) < 30)
PY
