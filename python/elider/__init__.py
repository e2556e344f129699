"""elider: an in-memory, serializable, durable transactional database inside the Python process.

>>> import elider
>>> from dataclasses import dataclass
>>> @dataclass
... class Account:
...     owner: str
...     cents: int
>>> with elider.open() as db:
...     accounts = db.table("accounts", Account, key=int)
...     accounts[1] = Account("Ada", 500)
...     accounts[2] = Account("Bob", 100)
...     @db.transaction
...     def pay(txn, source, target, cents):
...         txn.update(accounts, source, cents=txn.read(accounts, source).cents - cents)
...         txn.update(accounts, target, cents=txn.read(accounts, target).cents + cents)
...     pay(1, 2, 30)
...     accounts[2]
Account(owner='Bob', cents=130)
"""

from __future__ import annotations

from ._database import Attempts, Database, Procedure, Snapshot, open
from ._elider import Transaction, __version__
from ._errors import (
    Closed,
    Conflict,
    Corrupt,
    Deadline,
    DuplicateKey,
    Error,
    Finished,
    Forked,
    InvalidArgument,
    IoError,
    MemoryLimit,
    NotFound,
    RolledBack,
    SchemaMismatch,
    Unsupported,
)
from ._schema import Column, Descending, column, descending
from ._table import Index, Scan, Table, TableView

__all__ = [
    "Attempts", "Closed", "Column", "Conflict", "Corrupt", "Database", "Deadline", "Descending", "DuplicateKey", "Error", "Finished",
    "Forked", "Index", "InvalidArgument", "IoError", "MemoryLimit", "NotFound", "Procedure", "RolledBack", "Scan", "SchemaMismatch", "Snapshot",
    "Table", "TableView", "Transaction", "Unsupported", "__version__", "column", "descending", "open",
]
