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
