#!/usr/bin/env bash
# What does not make sense, said to every subcommand: options, numbers, files and folders at random.
exec python3 "$ELIDER_SOURCE_DIR/tests/commands/garbage.py" "$ELIDER"
