#!/usr/bin/env python3
"""Counts lines with wording that we no longer write. The counts may only fall.

usage: plain_english.py SOURCE_DIR [--list AREA... | --update]

Each area (a top-level folder, the documents, or the messages of the programs) has an upper bound in
plain_english.txt, beside this file. The check fails if a count is above its bound, and prints the lines.
--list prints the lines of some areas. --update lowers the bounds to the counts; it never raises one.

Documents, comments and string literals are searched line by line. Messages are the string literals of C++
outside tests; adjacent literals are searched as one.
"""

import pathlib
import re
import sys

PATTERNS = {
    "stands": r"\b(stands?|stood)\b",
    "is no": r"\b(is|are) (no|none|nothing|nobody)\b",
    "has no": r"\b(knows?|takes?|needs?|makes?|gives?|keeps?|finds?|tells?|has|have) (no|nothing|none)\b",
    "comment without a verb": r"// (Of|In|At|On|With|Behind|Beside|For|By) [a-z].*[^,]$|// The same\b",
    "nobody": r"\b([Nn]obody|[Ss]omebody)\b",
    "headless who": r"(^|[.;:,(] |// )[Ww]ho(ever)? [a-z]+|\b(of|by|for|to|with|from|than|and|or) who(ever)? [a-z]+",
    "behind": r"\bbehind (it|that|them|the|a|all|its|which|one)\b",
    "beside": r"\bbesides? (it|them|the|that|a|each|others?|what)\b",
    "too": r", too([,.;:)]| [a-z])",
    "so many": r"\bso (many|much|large|long|far|often)\b(?! that)(?! as)",
    "a for per": r"\b(once|one|two|lines?|bytes|misses?|files?|locks?|columns|rows) an? (attempt|thread|table|policy|transaction|index)\b",
    "at the most": r"\bat the (most|least|longest|latest)\b",
    "but for": r"\bbut for\b",
    "archaic": r"\banew\b|\bmend(s|ed)?\b|in vain|wherefrom|therein|\b(is|are) told\b|\bcomes? by\b|\b(is|are) to be [a-z]+(ed|n)\b",
}
COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs")
FOLDERS = ("include", "src", "tools", "bench", "lab", "server", "python", "examples", "tests")
MESSAGES = "messages"
NUMBERS = "tests/plain_english.txt"
NOT_OURS = re.compile(r"tests/plain_english\w*\.py")  # which have the patterns themselves

# Literals that are not prose: formats of other programs, code, words of a protocol.
NOT_PROSE = ()

TOKEN = re.compile(
    r'//(?P<comment>[^\n]*)|/\*.*?\*/|R"(?P<d>[^()\\\s]*)\((?P<raw>.*?)\)(?P=d)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.M)


def found(text):
    return [name for name, pattern in COMPILED.items() if pattern.search(text)]


def is_prose(line, suffix):
    return suffix == ".md" or "//" in line or '"' in line or suffix == ".py" and line.lstrip().startswith("#")


def literals(text):
    """(line, literal) for each string literal of a C++ file; adjacent ones are joined."""
    text = INCLUDE.sub(lambda match: " " * len(match.group()), text)
    joined, end = [], None
    for token in TOKEN.finditer(text):
        literal = token["raw"] if token["raw"] is not None else token["text"]
        if literal is None:
            continue
        if joined and text[end:token.start()].strip() == "":
            joined[-1][1] += literal
        else:
            joined.append([text.count("\n", 0, token.start()) + 1, literal])
        end = token.end()
    return joined


def search(root):
    """{area: ["file:line: pattern: text"]}"""
    areas = {MESSAGES: []}

    def look(path, area):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".md", ".h", ".cc", ".cpp", ".c", ".py") or NOT_OURS.fullmatch(name):
            return
        text = path.read_text(encoding="utf-8")
        lines = areas.setdefault(area, [])
        for number, line in enumerate(text.splitlines(), 1):
            if is_prose(line, path.suffix):
                lines += [f"{name}:{number}: {pattern}: {line.strip()}" for pattern in found(line)]
        if path.suffix in (".h", ".cc", ".cpp", ".c") and area != "tests" and "_test." not in name:
            for number, literal in literals(text):
                if literal not in NOT_PROSE:
                    areas[MESSAGES] += [f"{name}:{number}: {pattern}: {literal}" for pattern in found(literal)]

    for place in DOCUMENTS + FOLDERS:
        top = root / place
        area = "documents" if place in DOCUMENTS else place
        for path in sorted(top.rglob("*")) if top.is_dir() else [top] if top.is_file() else []:
            look(path, area)
    return areas


def main(arguments):
    root = pathlib.Path(arguments[0])
    numbers = root / NUMBERS
    bounds = {}
    for line in numbers.read_text(encoding="utf-8").splitlines() if numbers.is_file() else []:
        area, bound = line.split()
        bounds[area] = int(bound)
    areas = search(root)
    if arguments[1:2] == ["--list"]:
        for area in arguments[2:] or areas:
            print("\n".join(areas.get(area, [])))
        return 0
    if arguments[1:2] == ["--update"]:
        bounds = {area: min(len(lines), bounds.get(area, len(lines))) for area, lines in areas.items()}
        numbers.write_text("".join(f"{area} {bound}\n" for area, bound in sorted(bounds.items())), encoding="utf-8")
        return 0
    wrong = [] if len(areas) > 1 else [f"no file was found under {root}"]
    for area, lines in sorted(areas.items()):
        bound = bounds.get(area, 0)
        if len(lines) > bound:
            wrong.append(f"{area}: {len(lines)} lines have wording that we no longer write; at most {bound} are allowed:")
            wrong += [f"  {line[:200]}" for line in lines]
        elif len(lines) < bound:
            print(f"{area}: {len(lines)} lines, {bound} allowed; please lower the bound: tests/plain_english.py . --update")
    if wrong:
        print("\n".join(wrong))
        print("Say it in other words (CONTRIBUTING.md); PATTERNS in tests/plain_english.py has the patterns.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
