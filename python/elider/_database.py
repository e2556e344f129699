"""Databases, and the ways to run a transaction."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from . import _elider, _repr, _schema
from ._elider import Transaction
from ._errors import Conflict, Error, Finished, InvalidArgument, SchemaMismatch
from ._table import Table

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R")
Durability = Literal["none", "async", "group"]
_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()


def open(path: str | os.PathLike[str] | None = None, *, durability: Durability | None = None, **options: Any) -> Database:
    """Open the database in a folder, or a new one in memory if `path` is None.

    `durability` says when a commit returns: "async" (the default) at once, so a crash may lose the
    last commits, but never a part of one; "group" when it is on the disk. The other options have the
    names of elider's options (docs/options.md), such as memory_limit_bytes="1G" or
    create_if_missing=False.

    Raises InvalidArgument for a wrong option or if another process has the folder open, NotFound,
    Corrupt, and IoError.

    >>> with open() as db:
    ...     db
    <elider.Database in memory, 0 tables>
    """
    if durability is not None:
        options["durability"] = durability
    return Database(_elider.open(None if path is None else os.fsdecode(path), options))


@atexit.register
def _close_all() -> None:
    """Close what the program has left open, so that its last commits reach the disk."""
    for database in list(_open_databases):
        with contextlib.suppress(Error):
            database.close()


class Block:
    """A transaction as a `with` block, which runs once. It commits at the end, and rolls back after an exception."""

    def __init__(self, begin: Callable[[], Transaction], durability: Durability | None = None) -> None:
        self._begin = begin
        self._durability = durability
        self._txn: Transaction | None = None
        self._token: Any = None

    def __enter__(self) -> Transaction:
        if self._txn is not None:
            raise Finished("the block is already in use; make a new one for each `with`")
        self._txn = self._begin()
        self._token = self._txn._enter()
        return self._txn

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        txn = self._txn
        assert txn is not None
        txn._exit(self._token)
        if not txn.is_open:
            return
        if kind is not None:
            txn.rollback()
        else:
            txn.commit(durability=self._durability)


class _Attempt:
    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._token: Any = None

    def __enter__(self) -> Transaction:
        txn = self._attempts._txn
        if txn is None or not txn.is_open:
            raise Finished("the attempt has ended; use each attempt once, in the loop over db.attempts()")
        self._token = txn._enter()
        self._attempts._entered = True
        return txn

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        attempts = self._attempts
        txn = attempts._txn
        assert txn is not None
        txn._exit(self._token)
        if kind is None:
            if txn.is_open:
                try:
                    txn.commit(durability=attempts._durability)
                except Conflict:
                    if attempts._last_failed():
                        attempts._done = True
                        raise
                    return False  # the loop goes on
            attempts._done = True
            return False
        conflicted = txn._failed()
        if txn.is_open:
            txn.rollback()
        if conflicted and issubclass(kind, Exception):
            return not attempts._last_failed()
        attempts._done = True
        return False


class Attempts:
    """The attempts of a block that is repeated after a conflict. Database.attempts() makes it."""

    def __init__(self, core: _elider.Core, attempts: int, timeout: float | None, durability: Durability | None) -> None:
        self._core = core
        self._attempts_max = attempts
        self._timeout = timeout
        self._durability = durability
        self._txn: Transaction | None = None
        self._done = False
        self._entered = False
        self._count = 0

    def _last_failed(self) -> bool:
        return bool(self._attempts_max) and self._count >= self._attempts_max

    def __iter__(self) -> Iterator[_Attempt]:
        while not self._done:
            self._count += 1
            if self._txn is None:
                self._txn = self._core.begin(False)
            else:
                if not self._entered:
                    raise InvalidArgument("the loop over db.attempts() must use each attempt: `with attempt as txn:`")
                self._txn._begin_again(0, int((self._timeout or 0) * 1e6))
            self._entered = False
            try:
                yield _Attempt(self)
            finally:
                if self._txn.is_open:
                    self._txn.rollback()


class Snapshot:
    """One state of the database, which any number of read-only transactions can read.

    While a snapshot is held, the database keeps the old versions of rows, so release it soon: use it
    in a `with` block.
    """

    def __init__(self, snapshot: _elider.Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def number(self) -> int:
        """The number of the last commit that the snapshot contains; 0 after release()."""
        return self._snapshot.number

    def transaction(self) -> Block:
        """Return a `with` block that reads this state."""
        return Block(self._snapshot.begin)

    def release(self) -> None:
        self._snapshot.release()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


class Procedure(Generic[P, T]):
    """A function that runs as a transaction when it is called without its first argument, the transaction."""

    def __init__(self, db: Database, function: Callable[Concatenate[Transaction, P], T]) -> None:
        self._db = db
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **names: P.kwargs) -> T:
        return self._db.run(self.function, *args, **names)

    def __repr__(self) -> str:
        return f"<elider procedure {getattr(self.function, '__qualname__', self.function)}>"


class Database:
    """An open database. All threads may use it. elider.open() makes it."""

    def __init__(self, core: _elider.Core) -> None:
        self._core = core
        _open_databases.add(self)
        self._durable: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waits] = weakref.WeakKeyDictionary()

    # -- opening and closing ---------------------------------------------------------------------

    @property
    def path(self) -> str | None:
        """The folder, or None for a database in memory."""
        return self._core.path or None

    @property
    def is_open(self) -> bool:
        return self._core.is_open

    def close(self) -> None:
        """Write all commits to the disk and close the database. Closing twice does nothing.

        Open transactions are rolled back, and iterators end. Raises InvalidArgument while another
        thread uses the database, and IoError if the commits could not be written.
        """
        self._core.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # -- tables ----------------------------------------------------------------------------------

    @overload
    def table(self, name: str, row: type[R], key: type[K], *, indexes: Mapping[str, Any] = ..., key_index: str | None = ...) -> Table[K, R]: ...
    @overload
    def table(self, name: str, row: type[R], key: Any = ..., *, indexes: Mapping[str, Any] = ..., key_index: str | None = ...) -> Table[Any, R]: ...
    @overload
    def table(self, name: str, row: Any = ..., key: Any = ..., *, indexes: Mapping[str, Any] = ..., key_index: str | None = ...) -> Table[Any, Any]: ...

    def table(
        self, name: str, row: Any = None, key: Any = None, *, indexes: Mapping[str, Any] = {}, key_index: str | None = None
    ) -> Table[Any, Any]:
        """Open a table. If `row` is given, create the table if it does not exist.

        `row` is a dataclass, a NamedTuple, a TypedDict, a structured NumPy dtype, an Arrow schema, a
        dict of names and types, or bytes for a table without columns. Rows of a class are read as
        objects of the class, others as dicts or bytes. `key` is int (0 to 2**64 - 1), bytes, str, or
        a tuple of types such as (str, int), in which elider.descending(int) sorts downwards. For a
        dict of columns, a dtype or an Arrow schema, it may be the name of the column that is the
        key. `indexes` maps names to columns, as create_index() takes them. `key_index` is "btree",
        "hash" or "art".

        Raises NotFound if the table does not exist and `row` is not given, and SchemaMismatch if it
        exists with other columns or keys.

        >>> with open() as db:
        ...     db.table("points", {"x": float, "y": float}, key=(str, int))
        <elider.Table 'points': 0 rows, x: double, y: double>
        """
        key_name: str | None = None
        if row is None:
            form, fields, columns, _, _ = self._core.describe(name)
            if columns == "struct":
                raise SchemaMismatch(f"table '{name}' has rows of a C++ struct, which Python cannot read; export it with the elider command")
            if key is str and form == "bytes":
                form = "str"
            elif key is not None and _schema.key_of(key) != (form, fields):
                raise SchemaMismatch(f"table '{name}' has keys of the type {form}{tuple(f[0] for f in fields) or ''}, not {key!r}")
            rows = _schema.Rows(bytes if columns is None else dict, [])
        else:
            if key is None:
                raise InvalidArgument(f"table '{name}': key= is missing: int, bytes, str, or a tuple of types such as (str, int)")
            rows = _schema.rows_of(row)
            if isinstance(key, str):
                key_name, key = key, _schema.without_key(rows, key)
            form, fields = _schema.key_of(key)
            described = [_index(each, value) for each, value in indexes.items()]
            self._core.create_table(name, form, fields, rows.columns, described, key_index)
        table: Table[Any, Any] = Table(self._core, name, form, fields, rows.type, rows.fields)
        table.db = self
        one = form != "tuple" or key_name is not None
        table.key_names = [key_name or "key"] if one else [f"key{i}" for i in range(len(fields))]
        return table

    def __getitem__(self, name: str) -> Table[Any, Any]:
        return self.table(name)

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return sorted(self._core.tables())

    def drop_table(self, name: str) -> None:
        """Drop a table and its rows. Waits for the transactions that can write to it."""
        self._core.drop_table(name)

    def rename_table(self, name: str, new_name: str) -> None:
        self._core.rename_table(name, new_name)

    def add_column(self, table: str, name: str, type: Any, *, nullable: bool = False, default: Any = None, scale: int = 0) -> None:
        """Append a column, which must be nullable or have a default. Rows are not rewritten.

        >>> with open() as db:
        ...     people = db.table("people", {"name": str}, key=int)
        ...     people[1] = {"name": "Ada"}
        ...     db.add_column("people", "city", str, default="?")
        ...     people[1]
        {'name': 'Ada', 'city': '?'}
        """
        self._core.add_column(table, _schema._column(name, _schema.Column(type, nullable, default, scale)))

    def rename_column(self, table: str, name: str, new_name: str) -> None:
        self._core.rename_column(table, name, new_name)

    def drop_column(self, table: str, name: str) -> None:
        self._core.drop_column(table, name)

    def create_index(
        self, table: str, name: str, columns: Any, *, unique: bool = False, progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Create an index of an existing table, while transactions run.

        `columns` is a name, elider.descending(name), or a list of these. `progress` is called with
        the number of rows visited and the approximate number of all; an exception ends the call, and
        the table stays as it was.
        """
        self._core.create_index(table, (name, _schema.index_columns(columns), unique, False), progress)

    def drop_index(self, table: str, name: str) -> None:
        self._core.drop_index(table, name)

    # -- transactions ----------------------------------------------------------------------------

    def run(self, function: Callable[Concatenate[Transaction, P], T] | Procedure[P, T], /, *args: P.args, **names: P.kwargs) -> T:
        """Call function(txn, ...) as a transaction, and return its result.

        After a conflict, the function is called again, so it must have no other effects. An
        exception undoes its writes and is raised.

        >>> with open() as db:
        ...     counts = db.table("counts", {"n": int}, key=str)
        ...     def count(txn, word):
        ...         n = txn.get(counts, word, {"n": 0})["n"] + 1
        ...         txn.put(counts, word, {"n": n})
        ...         return n
        ...     [db.run(count, word) for word in ("a", "b", "a")]
        [1, 1, 2]
        """
        if isinstance(function, Procedure):
            function = function.function
        return self._core.call(function, args, names, False, 0, None, None)

    def run_with(
        self,
        function: Callable[[Transaction], T],
        *,
        attempts: int = 0,
        timeout: float | None = None,
        durability: Durability | None = None,
        read_only: bool = False,
    ) -> T:
        """Like run(), with limits: `attempts` (0: no limit) and `timeout` in seconds, after which Deadline is raised."""
        return self._core.call(function, (), {}, read_only, attempts, timeout, durability)

    def run_read_only(self, function: Callable[Concatenate[Transaction, P], T], /, *args: P.args, **names: P.kwargs) -> T:
        """Call function(txn, ...) on the newest snapshot. It reads one state, cannot write, and never conflicts."""
        return self._core.call(function, args, names, True, 0, None, None)

    async def arun(self, function: Callable[Concatenate[Transaction, P], T] | Procedure[P, T], /, *args: P.args, **names: P.kwargs) -> T:
        """Like run(), for asyncio: the event loop goes on while the transaction runs and becomes durable.

        >>> import asyncio
        >>> async def main():
        ...     with open() as db:
        ...         counts = db.table("counts", {"n": int}, key=str)
        ...         await db.arun(lambda txn: txn.put(counts, "a", {"n": 1}))
        ...         return counts["a"]
        >>> asyncio.run(main())
        {'n': 1}
        """
        if isinstance(function, Procedure):
            function = function.function
        loop = asyncio.get_running_loop()
        result: T
        result, number = await loop.run_in_executor(None, self._core.call_async, function, args, names, False)
        if self._core.waits_for_disk:
            waits = self._durable.get(loop)
            if waits is None:
                waits = self._durable[loop] = _Waits(self._core.durable(), loop)
            await waits.wait(number)
        return result

    @overload
    def transaction(self, function: Callable[Concatenate[Transaction, P], T], /) -> Procedure[P, T]: ...
    @overload
    def transaction(self, function: None = None, /, *, read_only: bool = False, durability: Durability | None = None) -> Block: ...

    def transaction(self, function: Any = None, /, *, read_only: bool = False, durability: Durability | None = None) -> Any:
        """As a decorator: make a procedure, which is retried. As `with db.transaction() as txn:` run a block once.

        The block raises Conflict if another transaction won. Use attempts() for a block that is
        repeated.
        """
        if function is not None:
            return Procedure(self, function)
        return Block(functools.partial(self._core.begin, read_only), durability)

    def attempts(self, attempts: int = 0, *, timeout: float | None = None, durability: Durability | None = None) -> Attempts:
        """Return the attempts of a block, which is repeated after a conflict until it commits.

        >>> with open() as db:
        ...     counts = db.table("counts", {"n": int}, key=str)
        ...     for attempt in db.attempts():
        ...         with attempt as txn:
        ...             txn.put(counts, "a", {"n": 1})
        ...     counts["a"]
        {'n': 1}
        """
        return Attempts(self._core, attempts, timeout, durability)

    def snapshot(self) -> Snapshot:
        """Hold the newest state of the database for reading.

        >>> with open() as db:
        ...     counts = db.table("counts", {"n": int}, key=str)
        ...     counts["a"] = {"n": 1}
        ...     with db.snapshot() as snapshot:
        ...         counts["a"] = {"n": 2}
        ...         with snapshot.transaction() as txn:
        ...             txn.read(counts, "a")
        {'n': 1}
        """
        return Snapshot(self._core.snapshot())

    # -- files -----------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Write a checkpoint of all rows, and delete the log that recovery no longer needs."""
        self._core.checkpoint()

    def backup(self, folder: str | os.PathLike[str]) -> None:
        """Write a copy of the database to an empty or new folder, which open() can open."""
        self._core.backup(os.fsdecode(folder))

    def wait_durable(self) -> None:
        """Wait until everything that was committed is on the disk. Raises IoError."""
        self._core.wait_durable()

    def statistics(self) -> dict[str, Any]:
        """Return counters of the work done and of the memory in use (docs/metrics.md)."""
        result: dict[str, Any] = json.loads(self._core.statistics())
        return result

    def verify(self) -> None:
        """Check every invariant of rows and indexes. No transaction may be running."""
        self._core.verify()

    def __repr__(self) -> str:
        return _repr.database(self)

    def _repr_html_(self) -> str:
        return _repr.database_html(self)


def _index(name: str, value: Any) -> tuple[str, list[tuple[str, bool]], bool, bool]:
    """Describe an index: columns, or a dict with `columns`, `unique` and `ranked`."""
    if isinstance(value, Mapping):
        unknown = set(value) - {"columns", "unique", "ranked"}
        if unknown or "columns" not in value:
            raise InvalidArgument(f"index '{name}': a dict has the keys columns, unique and ranked, not {sorted(value)}")
        return name, _schema.index_columns(value["columns"]), bool(value.get("unique")), bool(value.get("ranked"))
    return name, _schema.index_columns(value), False, False


class _Waits:
    """The coroutines of an event loop that wait for the disk."""

    def __init__(self, durable: _elider.Durable, loop: asyncio.AbstractEventLoop) -> None:
        self._durable = durable
        self._futures: dict[int, asyncio.Future[None]] = {}
        self._next = 0
        self._loop = weakref.ref(loop)

    def wait(self, number: int) -> Awaitable[None]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._next += 1
        if not self._futures:
            loop.add_reader(self._durable.fileno(), self._told)
        self._futures[self._next] = future
        self._durable.watch(number, self._next)
        return future

    def _told(self) -> None:
        for ticket, error in self._durable.take():
            future = self._futures.pop(ticket, None)
            if future is None or future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
        loop = self._loop()
        if not self._futures and loop is not None:
            loop.remove_reader(self._durable.fileno())
