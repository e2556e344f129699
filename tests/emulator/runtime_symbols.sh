#!/usr/bin/env bash
# The emulator's runtime must not share inline functions or templates with the program, because the linker would keep one
# copy for both, with or without instrumentation. So its archive must not contain weak symbols.
# presets: emulator
set -eu

archive="$ELIDER_BUILD_DIR/lab/emulator/libelider_emulator.a"
symbols=$(nm -C "$archive")
grep -q ' T __tsan_write8$' <<<"$symbols" || { echo "$archive has no __tsan_write8" >&2; exit 1; }
weak=$(grep -E ' [WVu] ' <<<"$symbols" || true)
[[ -z "$weak" ]] || { echo "weak symbols in $archive:" >&2; echo "$weak" >&2; exit 1; }
