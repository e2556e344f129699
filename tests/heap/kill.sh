#!/usr/bin/env bash
# presets: dev release
# kill -9 at random points, under transfers of several threads in a durable heap: nothing that was acknowledged, or seen by a
# reader, is lost, nothing is there in part, and `elider heap check` finds the file whole. The victims take turns at media,
# isolation, durability and ways of replaying, on the same file. ELIDER_HEAP_KILLS: how many (15 without it).
# ELIDER_HEAP_KILL_SEED: where the randomness begins (1 without it).
set -uo pipefail
rm -f bank.heap
exec python3 "$ELIDER_SOURCE_DIR/tests/heap/kill.py" "$ELIDER" "$ELIDER_BUILD_DIR/heap_victim" bank.heap \
  --kills "${ELIDER_HEAP_KILLS:-15}" --seed "${ELIDER_HEAP_KILL_SEED:-1}"
