#!/usr/bin/env bash
# Code of the library's layers that runs in regions must not use vectors of more than 128 bits. Compilers put VZEROUPPER after
# these, which always aborts a hardware transaction with status 0, so that each section would take its lock. (They also put it
# where exceptions land, but regions do not get there.)
# Two parts are not checked: src/base/checksum.cc, which selects its vectors at run time and runs outside of regions, and the
# indexes and engines of policies without regions.
# presets: release
set -u
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not an x86-64"; exit 77; }
command -v objdump > /dev/null || { echo "skipped: objdump is not installed"; exit 77; }
cd "$ELIDER_BUILD_DIR" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: > "$work/counts"

# wide OBJECT...: prints each function that has a wide vector, with its first such instruction, and then how many instructions
# it has looked at. Exit status 0: it has not found any.
wide() {
  objdump -d -C --no-show-raw-insn "$@" | awk '
    /file format/ { object = $1; sub(/:$/, "", object) }
    /^[0-9a-f]+ <.*>:$/ { name = substr($0, index($0, "<")); reported = 0 }
    /^ +[0-9a-f]+:\t/ {
      instructions++
      if (/%[yz]mm[0-9]/ && !reported++) { found++; sub(/^[^\t]*\t/, ""); print $0 "  " object name }
    }
    END { print instructions + 0, "instructions"; exit found > 0 }'
}

failures=0
for layer in base sync htm index storage txn engine; do
  mapfile -t objects < <(find "src/$layer/CMakeFiles/elider_$layer.dir" -name '*.o' ! -name 'checksum.cc.o' ! -name '*_optimistic.cc.o' \
    ! -name '*_latched.cc.o' ! -name '*_single_threaded.cc.o' ! -name '*_elided_none.cc.o' 2> /dev/null)
  # A layer that consists of headers does not have objects: its code is in the objects of other layers.
  [ ${#objects[@]} -gt 0 ] || { echo "     $layer: no objects"; continue; }
  if ! wide "${objects[@]}" > "$work/found"; then
    echo "FAIL $layer: $(($(wc -l < "$work/found") - 1)) functions use wide vectors, these for example:"
    head -10 "$work/found" | cut -c -240
    failures=$((failures + 1))
  else
    echo "ok   $layer: ${#objects[@]} objects, $(tail -1 "$work/found")"
  fi
  tail -1 "$work/found" >> "$work/counts"
done
if [ "$(awk '{ sum += $1 } END { print sum + 0 }' "$work/counts")" -lt 50000 ]; then
  echo "FAIL the objects of the library are missing, or hold no machine code"
  failures=$((failures + 1))
fi

# The check must find wide vectors in a program that uses them.
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' CMakeCache.txt)
echo 'void twice(int* to, int count) { for (int i = 0; i < count; ++i) to[i] *= 2; }' > "$work/loop.cc"
if ! "$compiler" -O3 -mavx2 -mprefer-vector-width=256 -c "$work/loop.cc" -o "$work/loop.o"; then
  echo "FAIL $compiler does not compile a loop"
  failures=$((failures + 1))
elif wide "$work/loop.o" > /dev/null; then
  echo "FAIL the vectors of a loop for AVX2 are not found"
  failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
