#!/usr/bin/env bash
# Builds the reference of the C++ and C interfaces as HTML: docs/reference/build.sh [FOLDER]. FOLDER is build/reference by default;
# the first page is FOLDER/cpp/index.html. Needs doxygen (Debian: apt install doxygen). A warning is an error.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export ELIDER_REFERENCE=${1:-build/reference}
command -v doxygen >/dev/null || { echo "build.sh: doxygen is missing; install it (Debian: apt install doxygen)" >&2; exit 2; }
mkdir -p "$ELIDER_REFERENCE"
doxygen docs/reference/Doxyfile
echo "the reference begins at $ELIDER_REFERENCE/cpp/index.html"
