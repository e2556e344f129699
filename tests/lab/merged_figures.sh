#!/usr/bin/env bash
# presets: dev release
# elider-lab figures --from and --into: what a document of measured figures becomes on a page and in the places of a document. It is read
# from a file here, and nothing is measured.
set -u
elider=$1
failures=0
fail() {
  echo "FAIL $*"
  failures=$((failures + 1))
}
cat >measured.json <<'JSON'
{"configuration": {"commit": "abc1234", "quick": true}, "figures": [
  {"figure": "dbx-1a", "regions_by": "rtm: a processor", "title": "aborts", "x": "KiB", "y": "%", "published": "more", "here": "two cores",
   "series": [{"name": "reads", "points": [{"x": 32, "y": 0}, {"x": 64, "y": 50}, {"x": 4352, "y": 100}]},
              {"name": "writes", "points": [{"x": 1, "y": 0.5}, {"x": 34, "y": 12.12}]},
              {"name": "nothing", "points": []}]},
  {"figure": "dbx-tc-14", "regions_by": "a processor", "title": "parts", "x": "", "y": "transactions/s", "published": "more", "here": "",
   "series": [{"name": "whole", "points": [{"x": 1, "y": 132456}]}, {"name": "pieces", "points": [{"x": 1, "y": 2740000}]}]},
  {"figure": "dumbo-table-1", "regions_by": "a processor", "title": "lines", "x": "1 read, 2 written", "y": "lines", "published": "more",
   "here": "", "series": [{"name": "payment", "points": [{"x": 1, "y": 69.84}, {"x": 2, "y": 9}]}]}]}
JSON
cat >document.md <<'MARKDOWN'
# Before
<!-- measured dbx-1a -->
old
<!-- end of dbx-1a -->
between
<!-- measured dbx-1b -->
stays
<!-- end of dbx-1b -->
<!-- measured dumbo-table-1 -->
<!-- end of dumbo-table-1 -->
<!-- measured dbx-1a -->
<!-- end of dbx-1a -->
after
MARKDOWN
cat >table.md <<'MARKDOWN'
| KiB | 32 | 4352 |
|---|---|---|
| reads | 0 | 100 |

| KiB | 1 | 34 |
|---|---|---|
| writes | 0.5 | 12.1 |

Unit: %. Measured with `elider-lab htm --figure dbx-1a --quick` (rtm: a processor; commit abc1234).
MARKDOWN
cat >expected.md <<MARKDOWN
# Before
<!-- measured dbx-1a -->
$(cat table.md)
<!-- end of dbx-1a -->
between
<!-- measured dbx-1b -->
stays
<!-- end of dbx-1b -->
<!-- measured dumbo-table-1 -->
|  | read | written |
|---|---|---|
| payment | 69.8 | 9 |

Unit: lines. Measured with \`elider bench heap --figure dumbo-table-1 --quick\` (a processor; commit abc1234).
<!-- end of dumbo-table-1 -->
<!-- measured dbx-1a -->
$(cat table.md)
<!-- end of dbx-1a -->
after
MARKDOWN
cp document.md merged.md
[ -z "$("$elider-lab" figures --from measured.json --into merged.md)" ] || fail "--into prints a page as well"
diff -u expected.md merged.md || fail "what --into writes"
"$elider-lab" figures --from measured.json --into merged.md || fail "--into a second time"
diff -u expected.md merged.md || fail "what --into writes a second time"
cp document.md merged.md
"$elider-lab" figures --paper dumbo --from measured.json --into merged.md || fail "--into for one paper"
[ "$(diff document.md merged.md | grep -c '^[<>]')" -eq 5 ] || fail "--into for one paper changes others' places"

"$elider-lab" figures --paper dbx-tc --figure 1a,14,15 --from measured.json -o page.md || fail "the page"
cat >expected_page.md <<MARKDOWN

### Figure 1a: aborts

Published: more.

In this run: two cores.

$(cat table.md)

### Figure 14: parts

Published: more.

|  | value |
|---|---|
| whole | 132 K |
| pieces | 2.74 M |

Unit: transactions/s. Measured with \`elider-lab protocols --figure dbx-tc-14 --quick\` (a processor; commit abc1234).

### Figure 15

Not measured: \`elider-lab protocols --figure dbx-tc-15 --json FILE\`.
MARKDOWN
diff -u expected_page.md <(tail -n +4 page.md) || fail "the page's text"

refused() {  # exit status, words of the message, arguments
  local expected=$1 words=$2 status=0
  shift 2
  "$elider-lab" figures "$@" >said.txt 2>&1 || status=$?
  [ "$status" -eq "$expected" ] && grep -qF -- "$words" said.txt || fail "elider-lab figures $*: status $status: $(head -2 said.txt)"
}
echo 'no place' >none.md
refused 1 "'none.md' does not have markers (<!-- measured NAME -->) for any of the measured figures" --from measured.json --into none.md
printf '<!-- measured dbx-1a -->\nopen\n' >open.md
refused 1 "'open.md': the marker '<!-- end of dbx-1a -->' is missing" --from measured.json --into open.md
refused 1 "'missing.md' cannot be read" --from measured.json --into missing.md
refused 1 "'none.md' is not a document of figures" --from none.md
refused 2 '--into' --no-run --into document.md
[ "$(cat none.md open.md)" = "$(printf 'no place\n<!-- measured dbx-1a -->\nopen')" ] || fail "a refused document was changed"
[ "$failures" -eq 0 ] && echo "measured figures are merged as they should be"
exit $((failures > 0))
