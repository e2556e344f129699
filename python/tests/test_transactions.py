"""Transactions: retries, exceptions, threads, lifetimes, durability, asyncio, fork, signals."""

import asyncio
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

import elider


def counters(db, rows=1):
    table = db.table("counters", {"n": int}, key=int)
    for i in range(rows):
        table[i] = {"n": 0}
    return table


def conflict_once(db, table, key=0):
    """A function that makes its first caller's transaction fail, by a commit of another thread."""
    calls = []

    def interfere():
        calls.append(1)
        if len(calls) == 1:
            thread = threading.Thread(target=lambda: table.put(key, {"n": 100}))
            thread.start()
            thread.join()

    return interfere, calls


def test_run_retries(db):
    table = counters(db)
    interfere, calls = conflict_once(db, table)

    def add(txn, by, *, times=1):
        n = txn.read(table, 0)["n"]
        interfere()
        txn.put(table, 0, {"n": n + by * times})
        return txn.attempt

    assert db.run(add, 5, times=2) == 2 and len(calls) == 2 and table[0] == {"n": 110}


def test_decorator(db):
    table = counters(db)

    @db.transaction
    def add(txn, by: int) -> int:
        """Adds."""
        txn[table][0] = {"n": txn[table][0]["n"] + by}
        return txn[table][0]["n"]

    assert add(3) == 3 and add(by=4) == 7 and add.__doc__ == "Adds." and "add" in repr(add)


def test_with_block(db):
    table = counters(db)
    with db.transaction() as txn:
        txn[table][0] = {"n": 1}
        assert len(txn[table]) == 1 and 0 in txn[table]
    assert table[0] == {"n": 1} and not txn.is_open
    with pytest.raises(ZeroDivisionError):
        with db.transaction() as txn:
            txn.put(table, 0, {"n": 2})
            1 / 0
    assert table[0] == {"n": 1}
    interfere, _ = conflict_once(db, table)
    with pytest.raises(elider.Conflict) as caught:
        with db.transaction() as txn:
            n = txn.read(table, 0)["n"]
            interfere()
            txn.put(table, 0, {"n": n + 1})
    assert caught.value.retry and caught.value.table == "counters" and caught.value.cause and caught.value.key == 0
    with db.transaction() as txn:
        txn.put(table, 0, {"n": 9})
        txn.rollback()
    assert table[0] == {"n": 100}
    with db.transaction(read_only=True) as txn:
        assert txn.read_only and txn.read(table, 0) == {"n": 100}
        with pytest.raises(elider.InvalidArgument):
            txn.put(table, 0, {"n": 1})


def test_attempts(db):
    table = counters(db)
    interfere, calls = conflict_once(db, table)
    for attempt in db.attempts():
        with attempt as txn:
            n = txn.read(table, 0)["n"]
            interfere()
            txn.put(table, 0, {"n": n + 1})
    assert table[0] == {"n": 101} and len(calls) == 2
    with pytest.raises(ZeroDivisionError):
        for attempt in db.attempts():
            with attempt as txn:
                txn.put(table, 0, {"n": 5})
                1 / 0
    assert table[0] == {"n": 101}
    tries = 0
    with pytest.raises(elider.Conflict):
        for attempt in db.attempts(2):
            with attempt as txn:
                tries += 1
                txn.read(table, 0)
                other = threading.Thread(target=lambda: table.put(0, {"n": tries}))
                other.start(), other.join()
                txn.put(table, 0, {"n": 0})
    assert tries == 2


def test_limits(db):
    table = counters(db)

    def never(txn):
        n = txn.read(table, 0)["n"]
        other = threading.Thread(target=lambda: table.put(0, {"n": n + 1}))
        other.start(), other.join()
        txn.put(table, 0, {"n": 0})

    with pytest.raises(elider.Deadline):
        db.run_with(never, attempts=3)
    with pytest.raises(elider.Deadline):
        db.run_with(never, timeout=0.05)
    with pytest.raises(elider.InvalidArgument):
        db.run_with(never, timeout=-1)


def test_exceptions_of_a_procedure(db):
    table = counters(db)

    def fail(txn):
        txn.put(table, 0, {"n": 7})
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        db.run(fail)
    assert table[0] == {"n": 0}

    interfere, calls = conflict_once(db, table)
    dropped = []

    class Result:
        pass

    def sometimes(txn):
        assert not dropped or dropped[0]() is None, "the object of the attempt before is kept"
        result = Result()
        dropped[:] = [weakref.ref(result)]
        n = txn.read(table, 0)["n"]
        interfere()
        if len(calls) == 1:
            raise KeyError("of a state that never was committed")  # dropped: what was read is out of date
        txn.put(table, 0, {"n": n + 1})
        return result

    assert isinstance(db.run(sometimes), Result) and table[0] == {"n": 101}

    def swallow(txn):
        try:
            txn.insert(table, 0, {"n": 1})
        except elider.DuplicateKey:
            txn.put(table, 0, {"n": 2})

    db.run(swallow)
    assert table[0] == {"n": 2}


def test_use_after_end_and_from_another_thread(db):
    table = counters(db)
    kept = []
    db.run(lambda txn: kept.extend([txn, txn[table], txn[table].items()]))
    txn, view, items = kept
    for call in (lambda: txn.get(table, 0), lambda: view[0], lambda: next(items), lambda: txn.put(table, 0, {"n": 1}), lambda: txn.commit()):
        with pytest.raises(elider.Finished):
            call()
    errors = []

    def other(txn):
        try:
            txn.get(table, 0)
        except elider.InvalidArgument as error:
            errors.append(str(error))

    with db.transaction() as txn:
        thread = threading.Thread(target=other, args=(txn,))
        thread.start(), thread.join()
    assert len(errors) == 1 and "thread" in errors[0]
    with elider.open() as second:
        with second.transaction() as txn, pytest.raises(elider.InvalidArgument, match="another database"):
            txn.get(table, 0)


def test_operations_outside_are_refused_inside(db):
    table = counters(db)
    for call in (lambda: table[0], lambda: table.put(0, {"n": 1}), lambda: table.items(), lambda: db.run(lambda txn: None),
                 lambda: db.add_column("counters", "x", int, default=1)):
        with pytest.raises(elider.InvalidArgument, match="txn"):
            db.run(lambda txn: call())
        with db.transaction(), pytest.raises(elider.InvalidArgument, match="txn"):
            call()
    assert table[0] == {"n": 0}

    async def two():
        async def reads():
            return table[0]

        task = asyncio.create_task(reads())
        with db.transaction() as txn:
            txn.put(table, 0, {"n": 5})
            assert await task == {"n": 0}  # another task is not inside the block
        return table[0]

    assert asyncio.run(two()) == {"n": 5}


def test_closed(folder):
    db = elider.open(folder)
    table = counters(db, 100)
    items, block = table.items(), db.transaction()
    snapshot = db.snapshot()
    next(items)
    txn = block.__enter__()
    db.close()
    db.close()
    block.__exit__(None, None, None)
    for call in (lambda: table[0], lambda: list(items), lambda: txn.get(table, 0), lambda: db.tables, lambda: table.scan().__arrow_c_stream__(),
                 lambda: db.run(lambda txn: 1), lambda: snapshot.transaction().__enter__(), lambda: len(table), lambda: table.put(1, {"n": 1})):
        with pytest.raises(elider.Finished):
            call()
    assert "closed" in repr(db) and "closed" in repr(table)
    with elider.open(folder) as again:
        assert len(again["counters"]) == 100


def test_close_inside_a_procedure_is_refused(db):
    with pytest.raises(elider.InvalidArgument, match="cannot be closed"):
        db.run(lambda txn: db.close())
    assert db.is_open


def test_options(folder):
    with elider.open(folder, durability="group", memory_limit_bytes="64M", checkpoint_threads=2) as db:
        counters(db)
        with pytest.raises(elider.InvalidArgument, match="another"):
            elider.open(folder)
        db.checkpoint()
        db.backup(folder + ".copy")
        db.wait_durable()
        assert db.statistics()["commits"] >= 1
    with elider.open(folder + ".copy") as copy:
        assert copy["counters"][0] == {"n": 0}
        copy.verify()
    for options in ({"durabilty": "x"}, {"durability": "x"}, {"memory_limit_bytes": "x"}, {"log_threads": -1}):
        with pytest.raises(elider.InvalidArgument):
            elider.open(**options)
    with pytest.raises(elider.NotFound):
        elider.open(folder + ".none", create_if_missing=False)
    with pytest.raises(elider.InvalidArgument):
        elider.open(durability="group")


def test_memory_limit():
    with elider.open(memory_limit_bytes="8M") as db:
        table = db.table("big", bytes, key=int)
        with pytest.raises(elider.MemoryLimit):
            for i in range(100):
                table[i] = b"x" * 500_000
        assert table[0] == b"x" * 500_000


@pytest.mark.parametrize("options", [{}, {"threads_at_once": 2}])
def test_eight_threads(options):
    with elider.open(**options) as db:
        table = counters(db)
        each = 2000

        def work():
            for _ in range(each):
                db.run(add)

        def add(txn):
            txn.put(table, 0, {"n": txn.read(table, 0)["n"] + 1})

        threads = [threading.Thread(target=work) for _ in range(8)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert table[0] == {"n": 8 * each}
        assert time.monotonic() - begin < 240


def test_transfers_keep_the_sum(db):
    table = counters(db, 10)
    wrong = []

    def transfer(txn, a, b):
        txn.update(table, a, n=txn.read(table, a)["n"] - 1)
        txn.update(table, b, n=txn.read(table, b)["n"] + 1)

    def work(seed):
        for i in range(500):
            a, b = (seed * 7 + i) % 10, (seed + i * 3) % 10
            if a != b:
                db.run(transfer, a, b)

    def audit():
        for _ in range(300):
            if db.run_read_only(lambda txn: sum(row["n"] for row in txn[table].values())) != 0:
                wrong.append(1)
            if sum(row["n"] for row in table.values()) != 0:
                wrong.append(2)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)] + [threading.Thread(target=audit)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and sum(row["n"] for row in table.values()) == 0


def test_snapshots(db):
    table = counters(db)
    with db.snapshot() as snapshot:
        table[0] = {"n": 1}
        with snapshot.transaction() as txn:
            assert txn.read(table, 0) == {"n": 0}
    with pytest.raises(elider.Finished):
        snapshot.transaction().__enter__()


def test_asyncio(folder):
    async def main(db):
        table = counters(db, 8)

        def add(txn, key):
            txn.put(table, key, {"n": txn.read(table, key)["n"] + 1})
            return key

        assert await asyncio.gather(*(db.arun(add, i % 8) for i in range(64))) == [i % 8 for i in range(64)]
        assert [row["n"] for row in table.values()] == [8] * 8
        with pytest.raises(ZeroDivisionError):
            await db.arun(lambda txn: 1 / 0)
        with pytest.raises(TypeError, match="coroutine"):
            async def wrong(txn):
                pass
            await db.arun(wrong)

    for options in ({}, {"durability": "group"}):
        with elider.open(folder, **options) as db:
            asyncio.run(main(db))


def in_child(db, table, txn, items, report):
    results = []
    for call in (lambda: table[0], lambda: table.put(0, {"n": 99}), lambda: txn.get(table, 0), lambda: next(items), lambda: db.tables,
                 lambda: db.run(lambda txn: 1), lambda: db.checkpoint(), lambda: len(table)):
        try:
            call()
            results.append("no error")
        except elider.Forked as error:
            results.append("spawn" if "spawn" in str(error) else str(error))
        except BaseException as error:
            results.append(repr(error))
    db.close()
    del txn, items
    gc.collect()
    report.send(results)


def test_fork(folder):
    with elider.open(folder) as db:
        table = counters(db, 100)
        items = table.items()
        next(items)
        with db.transaction() as txn:
            txn.put(table, 1, {"n": 1})
            here, there = multiprocessing.Pipe()
            child = multiprocessing.get_context("fork").Process(target=in_child, args=(db, table, txn, items, there))
            child.start()
            child.join(60)
            assert child.exitcode == 0 and here.recv() == ["spawn"] * 8
        assert table[0] == {"n": 0} and table[1] == {"n": 1} and len(list(items)) == 99
        table[2] = {"n": 2}
        db.verify()
    with elider.open(folder) as db:
        assert db["counters"][2] == {"n": 2} and len(db["counters"]) == 100


def run_python(code, *arguments, **options):
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, **options)


def test_killed(folder):
    """After a kill, whole transactions survive, and with group durability all that were acknowledged."""
    code = """
import sys, elider
db = elider.open(sys.argv[1], durability="group")
pairs = db.table("pairs", {"n": int}, key=int)
i = 0
while True:
    i += 1
    def both(txn):
        txn.put(pairs, 2 * i, {"n": i})
        txn.put(pairs, 2 * i + 1, {"n": i})
    db.run(both)
    print(i, flush=True)
"""
    process = run_python(code, folder)
    acknowledged = 0
    for line in process.stdout:
        acknowledged = int(line)
        if acknowledged == 50:
            process.kill()
    process.wait()
    with elider.open(folder) as db:
        rows = {key: row["n"] for key, row in db["pairs"].items()}
        assert len(rows) % 2 == 0 and len(rows) >= 2 * acknowledged >= 100
        assert all(rows[2 * i] == rows[2 * i + 1] == i for i in range(1, len(rows) // 2 + 1))


def test_interrupt():
    code = """
import elider
db = elider.open()
table = db.table("t", {"n": int}, key=int)
table.insert_many((i, {"n": i}) for i in range(100_000))
print("ready", flush=True)
try:
    while True:
        for key, row in table.items():
            pass
except KeyboardInterrupt:
    pass
print("second", flush=True)
try:
    def never(txn):
        while True:
            sum(1 for _ in txn[table].items())
    db.run(never)
except KeyboardInterrupt:
    pass
table[0] = {"n": 5}
db.verify()
db.close()
print("done", flush=True)
"""
    process = run_python(code)
    for line in ("ready", "second"):
        assert process.stdout.readline().strip() == line
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
    assert process.stdout.readline().strip() == "done" and process.wait() == 0


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_no_leaks(db):
    table = db.table("leaks", {"s": str, "n": int, "j": dict}, key=str)

    def work():
        for i in range(300):
            table[f"k{i % 10}"] = {"s": "x" * 1000, "n": i, "j": {"a": i}}
            table.get(f"k{i % 10}")
            list(table.items(limit=3))
            for wrong in (lambda: table.put("k", {"s": 5}), lambda: table["none"], lambda: db.run(lambda txn: 1 / 0)):
                try:
                    wrong()
                except Exception:
                    pass
            with db.transaction() as txn:
                txn[table].get("k1")

    key, row = "counted key", {"s": "a counted value", "n": 10**15, "j": {}}
    for _ in range(5):
        work()
    gc.collect()
    before, objects, references = resident(), len(gc.get_objects()), [sys.getrefcount(item) for item in (key, row, row["s"], row["n"])]
    for _ in range(20):
        work()
    for _ in range(100):
        table[key] = row
        table[key], table.get(key)
    gc.collect()
    assert [sys.getrefcount(item) for item in (key, row, row["s"], row["n"])] == references
    assert len(gc.get_objects()) - objects < 200
    assert resident() - before < 16 << 20
