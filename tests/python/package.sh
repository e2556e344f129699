#!/usr/bin/env bash
# Builds the Python package, installs it into a virtual environment, and runs its tests and the type checker there.
# presets: release
set -eu
python=${ELIDER_PYTHON:-/usr/bin/python3}
[[ -x "$python" ]] || python=python3
source=$ELIDER_SOURCE_DIR
venv=$PWD/venv

skip() { echo "skipped: $1" >&2; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "$python is older than 3.11"
"$python" -c 'import ensurepip' 2>/dev/null || skip "$python has no venv (the package python3-venv)"
header=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h
[[ -f "$header" ]] || skip "$header is missing (the package python3-dev)"

# The environment is kept for the next run, until the requirements change.
if ! cmp -s "$source/python/requirements.txt" "$venv/requirements.txt"; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$source/python/requirements.txt" 2>pip.log; then
    grep -qiE 'connection|timed out|resolve|unreachable|could not find a version|proxy|ssl' pip.log && skip "the packages cannot be downloaded: $(tail -1 pip.log)"
    cat pip.log >&2
    exit 1
  fi
  cp "$source/python/requirements.txt" "$venv/requirements.txt"
fi

begin=$SECONDS
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
  --config-settings=build-dir="$PWD/build" "$source"
echo "pip install took $((SECONDS - begin)) seconds"
"$venv/bin/python" -m pytest -q -p no:cacheprovider --rootdir "$source/python" "$source/python/tests"
"$venv/bin/python" -m mypy --strict --cache-dir="$PWD/mypy" -p elider
"$venv/bin/python" -m mypy --strict --cache-dir="$PWD/mypy" "$source/python/tests/typed_program.py"
