#!/usr/bin/env bash
# The reference of the C++ and C interfaces builds without a warning, and has the main classes and functions with their comments.
# presets: dev
set -eu
command -v doxygen >/dev/null || { echo "skipped: doxygen is not installed" >&2; exit 77; }
rm -rf reference
bash "$ELIDER_SOURCE_DIR/docs/reference/build.sh" "$PWD/reference"

expect() {  # page, words
  grep -q "$2" "reference/cpp/$1" || { echo "reference/cpp/$1 lacks '$2'"; exit 1; }
}
expect classelider_1_1Database.html 'Creates an index by columns of an existing table'
expect classelider_1_1Transaction.html 'insert_many'
expect c_8h.html 'elider_run'
expect c__heap_8h.html 'elider_heap'
