#!/usr/bin/env bash
# presets: dev
# System calls that fail or at which the process is killed: tests/crash/inject.py with strace, and with libfiu. What is
# not installed is said to be skipped. ELIDER_INJECT_EVERY: how many calls are left out between two (1: none; 4 without it).
set -uo pipefail
folder="$(cd "$(dirname "$0")" && pwd)"
victim="${ELIDER_BUILD_DIR:?}/crash_victim"
every=${ELIDER_INJECT_EVERY:-4}
export ELIDER_LOG_IO=system-calls  # neither tool sees what goes through io_uring
failures=0 skipped=0
for tool in strace fiu; do
  python3 "$folder/inject.py" "$victim" "$tool" "$tool" --every "$every"
  case $? in
    0) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failures=$((failures + 1)) ;;
  esac
done
[ "$failures" -eq 0 ] || exit 1
[ "$skipped" -lt 2 ] || exit 77
