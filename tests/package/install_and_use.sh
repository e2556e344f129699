#!/usr/bin/env bash
# Installs the library into an empty folder and builds README.md's program as another project with
# find_package(elider), from nothing but what was installed. The program must say "ok".
# presets: dev release
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$ELIDER_BUILD_DIR" --prefix "$folder/prefix" >"$folder/install.log" || { cat "$folder/install.log"; exit 1; }

mkdir "$folder/user"
cat >"$folder/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(elider 0.1 REQUIRED)
add_executable(user user.cc)
target_link_libraries(user PRIVATE elider::elider)
CMAKE
awk '/^```cpp$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$ELIDER_SOURCE_DIR/README.md" >"$folder/user/user.cc"
cmake -S "$folder/user" -B "$folder/user/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/user.log" 2>&1 &&
  cmake --build "$folder/user/build" >>"$folder/user.log" 2>&1 || { cat "$folder/user.log"; exit 1; }
said=$("$folder/user/build/user")
echo "README.md's program says: $said"
[ "$said" = ok ]

# The program of docs/c.md with the C library, built with CMake and with pkg-config.
if [[ -n $(find "$folder/prefix" -name 'libelider_c.so.1') ]]; then
  mkdir "$folder/c_user"
  cat >"$folder/c_user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(elider 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE elider::c)
CMAKE
  cp "$ELIDER_SOURCE_DIR/examples/bank.c" "$folder/c_user/user.c"
  cmake -S "$folder/c_user" -B "$folder/c_user/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/user.log" 2>&1 &&
    cmake --build "$folder/c_user/build" >>"$folder/user.log" 2>&1 || { cat "$folder/user.log"; exit 1; }
  "$folder/c_user/build/user" | grep -qx '1 Ada 70'
  pc=$(find "$folder/prefix" -name elider_c.pc)
  [[ -n $pc ]]
  export PKG_CONFIG_PATH=${pc%/*}
  if command -v pkg-config >/dev/null; then
    # shellcheck disable=SC2046
    "${CC:-cc}" -std=c11 "$folder/c_user/user.c" -o "$folder/c_user/user" $(pkg-config --cflags --libs elider_c)
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir elider_c) "$folder/c_user/user" | grep -qx '1 Ada 70'
  fi
  echo "the program of docs/c.md runs with the C library"
fi

# A program under ThreadSanitizer, with the installed library, which is not compiled for it. This is left out if the kernel's
# address layout prevents the sanitizer from starting, or if the compiler does not have one.
cp "$ELIDER_SOURCE_DIR/tests/package/under_tsan.cc" "$folder/user/user.cc"
cmake -S "$folder/user" -B "$folder/user/tsan" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS=-fsanitize=thread \
  -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/user.log" 2>&1
if cmake --build "$folder/user/tsan" >>"$folder/user.log" 2>&1; then
  said=$("$folder/user/tsan/user" 2>&1) || true
  if grep -q 'FATAL: ThreadSanitizer: unexpected memory mapping' <<<"$said"; then
    echo "ThreadSanitizer does not start here"
  elif [ "$said" != ok ]; then
    echo "FAILED: under ThreadSanitizer:"; head -60 <<<"$said"; exit 1
  fi
elif grep -q 'cannot find.*tsan' "$folder/user.log"; then
  echo "the compiler has no ThreadSanitizer"
else
  cat "$folder/user.log"; exit 1
fi

# A program that is compiled for an older language, or without exceptions, gets one message that says so, and no other errors.
refused() {
  local words=$1
  shift
  for header in elider schema key; do
    echo "#include \"elider/$header.h\"" | "${CXX:-c++}" -x c++ "$@" -I"$folder/prefix/include" -fsyntax-only - >"$folder/refused.log" 2>&1 &&
      { echo "FAILED: $header.h compiles with $*"; exit 1; }
    grep -q "error.*$words" "$folder/refused.log" && [ "$(grep -c 'error:' "$folder/refused.log")" -le 2 ] ||
      { echo "FAILED: $header.h with $* says:"; head -20 "$folder/refused.log"; exit 1; }
  done
}
refused 'elider needs C++20' -std=c++17
refused 'elider needs exceptions' -std=c++20 -fno-exceptions
