#!/usr/bin/env bash
# `elider chopping report`: the pieces that it finds of TPC-C are those of the paper, with and without what avoids merges; what it
# prints as a declaration it reads again; mistakes are named, with exit status 2.
# presets: dev release
set -u
failures=0
fail() { echo "FAIL $*"; failures=$((failures + 1)); }
elider=$1

"$elider" chopping report tpcc --format json >all.json || fail "report tpcc"
"$elider" chopping report tpcc --format json --without snapshots,tokens,deferring --granularity table >default.json || fail "report tpcc by tables"
"$elider" chopping report tpcc --format json --without snapshots,tokens,deferring,reordering --granularity table >ordered.json ||
  fail "report tpcc without reordering"
"$elider" chopping report articles --format json >articles.json || fail "report articles"
python3 - <<'PY' || failures=$((failures + 1))
import json

def pieces(file):
    return {p["name"]: p for p in json.load(open(file))["procedures"]}

def conflicting(procedure):
    return [set(piece["operations"]) for piece in procedure["pieces"] if piece["conflicting"]]

# DBX-TC, figure 11: with snapshots, commuting adds, deferred execution.
found = pieces("all.json")
assert conflicting(found["new_order"]) == [{"district", "stock", "order", "order_lines", "new_order"}], found["new_order"]
assert conflicting(found["payment"]) == [{"customer", "customer_data"}], found["payment"]
assert conflicting(found["delivery"]) == [{"new_order"}], found["delivery"]
assert found["delivery"]["pieces"][-1] == {"operations": ["customer"], "conflicting": False, "writes": True, "deferred": True}
assert found["order_status"]["on_snapshot"] and found["stock_level"]["on_snapshot"]
assert found["new_order"]["pieces"][0]["operations"] == ["items"], "what may roll back comes first"
# Figure 10: by tables, with reordering and adds alone.
found = pieces("default.json")
assert [len(found[name]["pieces"]) for name in ("new_order", "payment", "delivery", "order_status", "stock_level")] == [2, 2, 1, 1, 1], found
merges = json.load(open("default.json"))["merges"]
assert all(merge["cycle"] for merge in merges if merge["why"] == "cycle"), "each has the cycle that forced it"
assert len(pieces("ordered.json")["new_order"]["pieces"]) == 1, "the items, which may roll back, stand between others"
found = pieces("articles.json")
assert conflicting(found["add_comment"]) == [{"number"}] and len(found["add_comment"]["pieces"]) == 3, found
PY

"$elider" chopping report tpcc --format declaration >mine.json || fail "the declaration of tpcc"
cmp <("$elider" chopping report tpcc) <("$elider" chopping report mine.json) || fail "its declaration is read as something else"
"$elider" chopping report tpcc --format dot | grep -q '^graph chopping {' || fail "the drawing"

refused() {  # words that the message must have, then arguments
  local words=$1 status=0
  shift
  "$elider" chopping report "$@" >out.txt 2>&1 || status=$?
  [ "$status" -eq 2 ] && grep -qF -- "$words" out.txt || fail "chopping report $*: status $status: $(head -2 out.txt)"
}
refused "'nowhere' cannot be read" nowhere
refused "'folder' is unknown; the choices are snapshots" tpcc --without folder
refused "--format" tpcc --format pdf
echo '{"tables": [], "procedures": [{"name": "p", "operations": [{"name": "o", "accesses": [{"read": "t"}]}]}]}' >unknown.json
refused "procedure 'p', operation 'o': table 't' does not exist" unknown.json
echo '{"tables": [{"name": "t"}], "procedures": [{"name": "p", "operations": [{"name": "o", "accesses": [{"raed": "t"}]}]}]}' >typo.json
refused 'procedures[0].operations[0].accesses[0].raed is unknown' typo.json
echo '{"tables": 1' >cut.json
refused "'cut.json'" cut.json
echo '[1, {"tables": {}}]' >list.json
refused 'the document is not an object' list.json
[ "$failures" -eq 0 ] && echo "chopping reports are as they should be"
exit $((failures > 0))
