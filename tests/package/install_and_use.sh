#!/usr/bin/env bash
# Installs the library into an empty folder and builds a program of another project with
# find_package(elider), from nothing but what was installed.
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
cat >"$folder/user/user.cc" <<'CC'
#include <cstdio>

#include "elider/elider.h"

struct Account {
  long long balance;
};

int main() {
  auto db = elider::Database::open();
  if (!db.ok()) return 1;
  auto accounts = db->create_table(elider::SchemaOf<Account>("accounts").column("balance", &Account::balance));
  if (!accounts.ok()) return 2;
  elider::Status status = db->run([&](elider::Transaction& txn) { return txn.insert(*accounts, 1, Account{42}); });
  if (!status.ok()) return 3;
  long long seen = 0;
  status = db->run([&](elider::Transaction& txn) -> elider::Status {
    auto account = txn.get(*accounts, 1);
    if (!account.ok()) return account.status();
    seen = (*account)->balance;
    return {};
  });
  std::printf("balance %lld\n", seen);
  return status.ok() && seen == 42 ? 0 : 4;
}
CC
cmake -S "$folder/user" -B "$folder/user/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/user.log" 2>&1 &&
  cmake --build "$folder/user/build" >>"$folder/user.log" 2>&1 || { cat "$folder/user.log"; exit 1; }
"$folder/user/build/user"
