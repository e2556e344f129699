# What the scripts of this folder share: finding adya, running a history, and both checkers.
# Sourced, not run. Callers are given the elider program as their first argument.

elider=${1:-${ELIDER:-}}
[ -x "$elider" ] || { echo "usage: $0 PATH-TO-ELIDER"; exit 2; }
preset=${ELIDER_PRESET:-dev}
consistency=strict-serializable  # what both checkers ask for; or serializable, which disregards real time
PATH="$PATH:$HOME/.cargo/bin"

# Sets $adya to version 0.1.0 of the checker, built outside the repository if need be. Where it cannot be had, says
# why, leaves $adya empty and fails: what the caller does without it is the caller's.
find_adya() {
  adya=${ADYA:-}
  [ -n "$adya" ] || adya=$(command -v adya) || adya=
  if [ -z "$adya" ]; then
    local root="${XDG_CACHE_HOME:-$HOME/.cache}/elider-adya-0.1.0"
    if ! command -v cargo > /dev/null; then
      echo "skipped: neither adya nor cargo is installed"
      return 1
    fi
    mkdir -p "$root"
    # One install at a time, whatever else runs beside this script.
    if ! flock "$root/lock" timeout 540 cargo install adya --version 0.1.0 --locked --no-default-features --quiet \
        --root "$root" --target-dir "$root/target" > "$root/install.log" 2>&1 && [ ! -x "$root/bin/adya" ]; then
      tail -5 "$root/install.log"
      echo "skipped: adya could not be installed with cargo (it needs crates.io, once)"
      return 1
    fi
    adya="$root/bin/adya"
  fi
  [ -x "$adya" ] || { echo "$adya is not a program"; exit 1; }
}

# scaled N: so many transactions, fewer where a sanitizer makes each slow.
scaled() {
  awk -v n="$1" -v scale="${ELIDER_TEST_SCALE:-1}" 'BEGIN { scale = scale > 1 ? 1 : scale; printf "%d", n * scale < 500 ? 500 : n * scale }'
}

# make_history OPTIONS...: writes elle.jsonl and native.jsonl.
make_history() {
  rm -f elle.jsonl elle.jsonl.ranks native.jsonl
  timeout 1800 "$elider" bench history --out elle.jsonl --history native.jsonl "$@"
}

# make_client_history OPTIONS...: writes elle.jsonl; the database runs without a sink.
make_client_history() {
  rm -f elle.jsonl elle.jsonl.ranks native.jsonl
  timeout 1800 "$elider" bench history --out elle.jsonl --client-alone "$@"
}

# check_with_adya WORKLOAD: its exit status; 0 alone is a pass (2: it could not tell).
check_with_adya() {
  local model=list-append
  case $1 in
    # Registers hide the order of their versions. What strict serializability implies may be assumed.
    rw-register | bank) model="rw-register --linearizable-keys --sequential-keys --wfr-keys" ;;
  esac
  # shellcheck disable=SC2086
  timeout 1800 "$adya" check -m $model -c $consistency elle.jsonl > adya.txt 2>&1
}

check_with_elider() {
  local asks=()
  [ $consistency = serializable ] && asks=(--serializable)
  timeout 1800 "$elider" check-history "${asks[@]}" native.jsonl > native.txt 2>&1
}
