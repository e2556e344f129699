#!/usr/bin/env bash
# usage: install_packages.sh KIND...
# Installs the Debian packages of packages.txt whose kind is one of KIND, if any of them is missing.
set -eu

list="$(dirname "${BASH_SOURCE[0]}")/../packages.txt"
missing=()
while read -r package kind _; do
  case "$package" in '' | '#'*) continue ;; esac
  [[ " $* " == *" $kind "* ]] || continue
  if [[ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" != "install ok installed" ]]; then missing+=("$package"); fi
done <"$list"
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "These Debian packages are missing, and there is no sudo to install them with: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -20 "$log" >&2
  echo "apt-get failed; the packages needed are listed in packages.txt" >&2
  exit 1
fi
