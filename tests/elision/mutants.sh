#!/usr/bin/env bash
# Each mutant of lock elision (src/base/test_points.h) must make the tests of src/htm fail: a region that does
# not read its lock, or reads it last, does not wait, is tried for ever, or is not ended; a fallback that does not wait.
# presets: dev asan tsan
set -u
tests="$ELIDER_BUILD_DIR/htm_test"
[ -x "$tests" ] || { echo "skipped: $tests is not built"; exit 77; }
failures=0
unset ELIDER_MUTANT
if ! timeout 600 "$tests" --gtest_filter='ElideTest.*' > out.txt 2>&1; then
  echo "FAIL without a mutant: $(tail -3 out.txt)"
  failures=1
fi
for mutant in skip_subscription lazy_subscription skip_lock_wait skip_region_end unbounded_retry hasty_fallback; do
  # Where every region aborts, a retry without bound never ends.
  ELIDER_MUTANT=$mutant timeout 600 "$tests" --gtest_filter='ElideTest.*-*AlwaysAborts*' > out.txt 2>&1
  if [ $? -eq 1 ]; then
    echo "ok   $mutant: caught"
  else
    echo "FAIL $mutant: not caught"
    failures=$((failures + 1))
  fi
done
[ "$failures" -eq 0 ]
