#!/usr/bin/env bash
# Uses callgrind to count the instructions per transaction in release builds of several commits. The counts show whether a
# change makes the optimistic engine slower even if run times vary by more than that. Each measurement uses one thread, and
# subtracts a short run from a longer one, so that loading is not counted. The commits take turns. Prints the median, minimum
# and maximum for each commit.
#
# usage: bench/instructions.sh [--rounds N] COMMIT... [-- OPTIONS of bench ycsb]
#   bench/instructions.sh main~20 main -- --index btree --mix 50/50
# Builds are kept in build/instructions/<commit>. They use only instructions that valgrind supports (ELIDER_NATIVE=OFF).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=3 commits=()
while [[ $# -gt 0 && $1 != -- ]]; do
  case "$1" in
    --rounds) rounds=${2:?--rounds needs a number}; shift ;;
    -*) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) commits+=("$(git rev-parse --short "$1^{commit}")") ;;
  esac
  shift
done
[[ $# -gt 0 ]] && shift
[[ ${#commits[@]} -gt 0 ]] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
options=(--sync optimistic --threads 1 --records 10000 --skip-check --quiet "$@")

export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

build() {
  local folder=build/instructions/$1
  [[ -x $folder/release/elider ]] && return
  mkdir -p "$folder/source"
  git archive "$1" | tar -x -C "$folder/source"
  {
    cmake -S "$folder/source" -B "$folder/release" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" \
      -DELIDER_BUILD_TESTS=OFF -DELIDER_BUILD_EXAMPLES=OFF &&
      cmake --build "$folder/release" --target elider
  } >"$folder/build.log" 2>&1 || { tail -20 "$folder/build.log"; exit 1; }
}

# run COMMIT SECONDS: prints "instructions transactions"
run() {
  local folder=build/instructions/$1
  valgrind --tool=callgrind --trace-children=yes --callgrind-out-file=/dev/null "$folder/release/elider" bench ycsb "${options[@]}" --seconds "$2" \
    --json "$folder/run.json" >"$folder/run.log" 2>&1 || { tail -20 "$folder/run.log" >&2; exit 1; }
  sed -n 's/.*Collected : //p' "$folder/run.log" | tr '\n' ' '
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["committed"])' "$folder/run.json"
}

for commit in "${commits[@]}"; do build "$commit"; done
declare -A found
for ((round = 0; round < rounds; ++round)); do
  for commit in "${commits[@]}"; do
    short=$(run "$commit" 1)
    long=$(run "$commit" 5)
    found[$commit]+=" $(awk -v s="$short" -v l="$long" 'BEGIN { split(s, a); split(l, b); printf "%.1f", (b[1] - a[1]) / (b[2] - a[2]) }')"
  done
done
for commit in "${commits[@]}"; do
  tr ' ' '\n' <<<"${found[$commit]}" | sed '/^$/d' | sort -n |
    awk -v name="$commit" '{ v[NR] = $1 }
      END { printf "%s: %s instructions per transaction (%s to %s, %d rounds)\n", name, v[int((NR + 1) / 2)], v[1], v[NR], NR }'
done
