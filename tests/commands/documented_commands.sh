#!/usr/bin/env bash
# Every command of README.md and docs/, run against the release.
# presets: release
# engines: all
exec python3 "$ELIDER_SOURCE_DIR/tests/commands/documented_commands.py" "$ELIDER" "$ELIDER_SOURCE_DIR"
