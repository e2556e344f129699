#!/usr/bin/env bash
# presets: dev
# docs/options.md is what the command line prints from the table of options.
set -u
"$ELIDER" options --markdown >options.md || exit 1
diff -u "$ELIDER_SOURCE_DIR/docs/options.md" options.md && [[ $("$ELIDER" options --json - | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))') -ge 30 ]]
