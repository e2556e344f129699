#!/usr/bin/env bash
# presets: dev
# System calls that fail or at which the process is killed: tests/crash/inject.py with strace, and with libfiu; and
# inject_command.py, with the program that users have. Where a tool is not installed, or may not trace, the test is skipped,
# unless another finds a fault. strace counts the calls of each thread by itself, so "every N" is every N of the
# thread that has the most. ELIDER_INJECT_EVERY: only each so manieth of them (1 without it: each).
set -uo pipefail
folder="$(cd "$(dirname "$0")" && pwd)"
victim="${ELIDER_BUILD_DIR:?}/crash_victim"
every=${ELIDER_INJECT_EVERY:-1}
failures=0 skipped=0
for tool in strace fiu; do
  python3 "$folder/inject.py" "$victim" "$tool" "$tool" --every "$every"
  case $? in
    0) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failures=$((failures + 1)) ;;
  esac
done
python3 "$folder/inject_command.py" "${1:-${ELIDER:?}}" command --every "$every"
case $? in
  0) ;;
  77) skipped=$((skipped + 1)) ;;
  *) failures=$((failures + 1)) ;;
esac
[ "$failures" -eq 0 ] || exit 1
[ "$skipped" -eq 0 ] || exit 77
