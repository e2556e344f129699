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
