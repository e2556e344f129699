#!/usr/bin/env bash
# The commands for rows: tables, schema, rows, set, delete, export, import, dump, load.
exec python3 "$ELIDER_SOURCE_DIR/tests/commands/rows.py" "$ELIDER" "$ELIDER_BUILD_DIR/commands_rows_fixture" "$ELIDER_SOURCE_DIR/tests/golden"
