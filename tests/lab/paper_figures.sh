#!/usr/bin/env bash
# presets: release
# timeout: 7200
# bench figures: every figure of the papers that a command makes is made, short, drawn and on the page; or the page says that it is
# left out, for this machine cannot run hardware transactions. Minutes: with ./check --preset release and --full.
set -u
elider=$1
failures=0
fail() {
  echo "FAIL $*"
  failures=$((failures + 1))
}
rm -rf out one
timeout 3600 "$elider-lab" figures --folder out --quick >said.txt 2>&1 || fail "figures: $(tail -5 said.txt)"
for figure in dbx-5 dbx-6 dbx-6.2 dbx-7 dbx-8 dbx-11 dbx-12 dbx-13 dbx-14 dbx-16 dbx-17 ydb hyper-11 hyper-18 hyper-19 hyper-20 hyper-6.2 \
  dbx-tc-12 dbx-tc-13a dbx-tc-13b dbx-tc-13c dbx-tc-14 dbx-tc-15 dumbo-1 dumbo-4 dumbo-table-1 dumbo-6 dumbo-7 dumbo-8 dumbo-9; do
  [ -s "out/$figure.svg" ] && grep -q "]($figure.svg)" out/papers.md || fail "$figure is not there"
done
# Those that need regions.
usable=$("$elider" hardware --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["usable"])')
for figure in 1a 9 10 15; do
  if [ "$usable" = True ]; then
    grep -q "^### Figure $figure: " out/papers.md || fail "figure $figure is not there"
  else
    grep -q "^Figure $figure is left out: this machine cannot run hardware transactions" out/papers.md || fail "figure $figure: nothing is said"
  fi
done
grep -q "^Table 1 is left out: .*preset emulator" out/papers.md || fail "table 1: nothing is said"
# One of them, by its number.
timeout 600 "$elider-lab" figures --paper dbx --figure 11 --folder one --quick >said.txt 2>&1 || fail "one figure: $(tail -5 said.txt)"
[ "$(ls one)" = "$(printf 'dbx-11.json\ndbx-11.svg\npapers.md')" ] || fail "one figure: $(ls one)"
grep -q '`elider-lab protocols --figure dbx-11 --json one/dbx-11.json --quick`' one/papers.md || fail "the page shows another command"
"$elider-lab" figures --paper dbx --figure 99 >said.txt 2>&1 && fail "a figure that there is not"
grep -q "'99' is not a figure in these papers" said.txt || fail "what it says: $(cat said.txt)"
# yDB's study by its other command.
timeout 600 "$elider-lab" elision --value-bytes 8 --records 20000 --threads 1,2 --bounds 3,100 --seconds 0.3 --json elision.json \
  >said.txt 2>&1
code=$?
[ "$usable" = True ] && [ "$code" -ne 0 ] && fail "elider-lab elision: $(tail -5 said.txt)"
[ "$usable" = True ] || [ "$code" -eq 3 ] || fail "elider-lab elision without regions: exit code $code"
[ "$failures" -eq 0 ]
