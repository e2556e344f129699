"""Tables and indexes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from . import _elider, _repr
from ._elider import TableView

if TYPE_CHECKING:
    from ._database import Database

K = TypeVar("K")
R = TypeVar("R")

Index = _elider.Index
__all__ = ["Index", "Scan", "Table", "TableView"]


class Scan:
    """Rows of a table as Arrow streams. Table.scan() makes it."""

    def __init__(self, table: Table[Any, Any], columns: list[str] | None, batch_rows: int) -> None:
        self._table = table
        self._columns = columns
        self._batch_rows = batch_rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return _elider.scan(self._table, self._table.key_names, self._columns, self._batch_rows)

    def __repr__(self) -> str:
        return f"<elider.Scan of {self._table!r}>"


class Table(_elider.Table[K, R]):
    """A table: a durable dict from keys to rows. Database.table() makes it.

    Reads and writes of a table are transactions of their own. Within a transaction, use
    `txn[table]`, which has the same methods, or `txn.read(table, key)` and the like. All threads may
    use a table.
    """

    db: Database
    key_names: list[str]

    def index(self, name: str) -> Index[K, R]:
        """Return the index with this name. Raises NotFound if the table lacks it."""
        return self._index(name)

    @property
    def columns(self) -> dict[str, str]:
        """The columns and their types, such as {'owner': 'text', 'cents': 'int64'}; empty if the rows are bytes."""
        columns = self.db._core.describe(self.name)[2]
        if not isinstance(columns, list):
            return {}
        return {name: kind + (f"({scale})" if kind == "decimal" else "") + ("?" if nullable else "")
                for name, kind, nullable, scale in columns}

    @property
    def indexes(self) -> dict[str, list[str]]:
        """The names of the indexes, and their columns."""
        indexes = self.db._core.describe(self.name)[3]
        return {name: [column + (" desc" if down else "") for column, down in columns] for name, columns, _, _ in indexes}

    def head(self, rows: int = 10) -> list[tuple[K, R]]:
        """Return the first rows, with their keys."""
        return list(islice(self.items(), rows))

    def load(
        self,
        source: Any,
        *,
        key: str | list[str] | None = None,
        replace: bool = False,
        rows_per_transaction: int = 10_000,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Load rows from anything with the Arrow stream interface: pyarrow, polars, pandas, DuckDB.

        The column `key` (by default the table's key column) has the keys; the other columns have the
        names of the table's columns. The rows are inserted, or with `replace` also replaced, in
        transactions of `rows_per_transaction` rows. So an error leaves the transactions before it in
        the table. `progress` is called with the number of rows that are loaded, after each
        transaction. Returns the number of rows.

        Raises DuplicateKey if a key exists, and InvalidArgument if a value does not fit its column.
        """
        names = self.key_names if key is None else [key] if isinstance(key, str) else list(key)
        return _elider.load(self, source, names, replace, rows_per_transaction, progress)

    def scan(self, *, columns: list[str] | None = None, batch_rows: int = 65_536) -> Scan:
        """Return a stream of all rows for pyarrow.table(), polars.from_arrow(), duckdb and others.

        Each stream that a consumer opens shows one state of the table, which it holds until it is read.

        >>> import elider, pyarrow
        >>> db = elider.open()
        >>> points = db.table("points", {"x": "int32"}, key=int)
        >>> points[7] = {"x": 1}
        >>> pyarrow.table(points.scan()).to_pylist()
        [{'key': 7, 'x': 1}]
        """
        return Scan(self, columns, batch_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def to_arrow(self, columns: list[str] | None = None) -> Any:
        """Return the table as a pyarrow.Table. Needs pyarrow."""
        return importlib.import_module("pyarrow").table(self.scan(columns=columns))

    def __repr__(self) -> str:
        return _repr.table(self)

    def _repr_html_(self) -> str:
        return _repr.table_html(self)

    def __iter__(self) -> Iterator[K]:
        return self.keys()
