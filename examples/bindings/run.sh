#!/usr/bin/env bash
# Builds and runs the programs in Rust and Go with an installed library.
#
# usage: run.sh PREFIX WORK_FOLDER
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name elider_c.pc)")
export PKG_CONFIG_PATH
libraries=$(pkg-config --variable=libdir elider_c)
export LD_LIBRARY_PATH="$libraries"

rustc --edition 2021 -O -L "$libraries" -o "$work/rust_example" "$here/rust/main.rs"
"$work/rust_example"
(cd "$here/go" && GOFLAGS=-mod=mod GOTOOLCHAIN=local GOCACHE="$work/go" go build -o "$work/go_example" .)
"$work/go_example"
