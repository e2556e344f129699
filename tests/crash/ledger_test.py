#!/usr/bin/env python3
"""That ledger.py finds each broken promise: what a victim tells is doctored, one way each, and must be refused in words."""

import json
import pathlib
import sys

import ledger

FOLDER = pathlib.Path("/data")
TRANSACTION = [["append", 1, 10], ["r", 1, [10]], ["append", 2, 11], ["r", 2, [11]]]
CHECKPOINT = {"t": "checkpoint", "code": "file error", "words": f"file error: cannot write '{FOLDER}/a/checkpoint-1'"}


def told(*lines):
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def recovered(lists, balance=0):
    return {"t": "recovered", "ns": 1, "snapshot": 1, "cuts": 0, "balance": balance, "lists": lists}


def transfers(outcome, lists, balance=0):
    """A transaction that ended so, and what the next victim finds."""
    asked = [[kind, key, value if kind == "append" else None] for kind, key, value in TRANSACTION]
    end = {"t": outcome, "p": 1, "ns": 3, "rank": [1, 1, False], "v": TRANSACTION if outcome == "ok" else asked}
    book = ledger.TransferLedger()
    book.take(told(recovered({}), {"t": "invoke", "p": 1, "ns": 2, "v": asked}, *([end] if outcome else [])))
    book.take(told(recovered(lists, balance)))


def orders(found, done=True):
    counts = {"payments": 0, "delivered": 0}
    book = ledger.TpccLedger()
    end = [{"t": "done", "p": 1, "new_orders": 1, **counts}] if done else []
    book.take(told({"t": "recovered", "new_orders": 0, **counts}, {"t": "begin", "p": 1}, *end))
    book.take(told({"t": "recovered", "new_orders": found, **counts}))


def two_under_way():
    """The second saw the first one's append, and a reader saw the second: the first must come before both."""
    first = {"t": "invoke", "p": 1, "ns": 2, "v": [["append", 1, 10], ["r", 1, None]]}
    second = {"t": "invoke", "p": 2, "ns": 2, "v": [["append", 1, 20], ["r", 1, None], ["append", 2, 21], ["r", 2, None]]}
    reader = [{"t": "invoke", "p": 3, "ns": 3, "v": [["r", 2, None]]}, {"t": "ok", "p": 3, "ns": 4, "rank": [1, 1, True], "v": [["r", 2, [21]]]}]
    book = ledger.TransferLedger()
    book.take(told(recovered({}), first, second, *reader))
    book.take(told(recovered({"1": [10, 20], "2": [21]})))
    found = [transaction.process for transaction, _ in book._in_order() if transaction.process < 10]
    if found != [1, 2, 3]:
        raise ledger.Broken(f"the commit order is {found}")


CASES = [
    ("two under way, one after the other", None, two_under_way),
    ("acknowledged and there", None, lambda: transfers("ok", {"1": [10], "2": [11]})),
    ("acknowledged and gone", "acknowledged transaction is lost", lambda: transfers("ok", {})),
    ("acknowledged and half gone", "acknowledged transaction is lost", lambda: transfers("ok", {"1": [10]})),
    ("acknowledged and in another list", "acknowledged transaction is lost", lambda: transfers("ok", {"1": [11], "2": [10]})),
    ("unknown and there", None, lambda: transfers("info", {"1": [10], "2": [11]})),
    ("unknown and gone", None, lambda: transfers("info", {})),
    ("unknown and half there", "there in part", lambda: transfers("info", {"2": [11]})),
    ("under way and half there", "there in part", lambda: transfers(None, {"2": [11]})),
    ("failed and there", "that failed is there", lambda: transfers("fail", {"1": [10], "2": [11]})),
    ("money that is gone", "balances add up to -5", lambda: transfers("info", {}, -5)),
    ("an order acknowledged and there", None, lambda: orders(1)),
    ("an order acknowledged and gone", "acknowledged were 1", lambda: orders(0)),
    ("an order under way", None, lambda: orders(1, False)),
    ("an order of nobody", "begun 1", lambda: orders(2)),
    ("a checkpoint that may fail", None, lambda: ledger.check_checkpoints(told(CHECKPOINT), FOLDER)),
    ("a checkpoint that may not fail", "checkpoint failed", lambda: ledger.check_checkpoints(told(CHECKPOINT))),
    ("a checkpoint that names no file", "checkpoint failed", lambda: ledger.check_checkpoints(told(CHECKPOINT), "/elsewhere")),
    ("a checkpoint that finds damage", "checkpoint failed",
     lambda: ledger.check_checkpoints(told({**CHECKPOINT, "code": "corrupt"}), FOLDER)),
]


def main():
    failures = 0
    for name, words, doctored in CASES:
        try:
            doctored()
            found = None
        except ledger.Broken as broken:
            found = str(broken)
        if (words is None) != (found is None) or (words is not None and words not in found):
            print(f"FAIL {name}: expected {words}, found {found}")
            failures += 1
    print(f"ledger_test: {len(CASES) - failures} of {len(CASES)} passed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
