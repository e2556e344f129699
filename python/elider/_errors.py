"""The exceptions of elider.

Every exception says what it concerns: `table`, `column`, `index` and `key` (None if unknown), the
`cause` of a conflict, and `retry`, which is true if the same transaction can succeed when it is run
again.
"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base class of elider's exceptions."""

    table: str | None = None
    column: str | None = None
    index: str | None = None
    key: Any = None
    cause: str | None = None
    retry: bool = False

    def __str__(self) -> str:
        return ", ".join(str(arg) for arg in self.args)


class NotFound(Error, KeyError):
    """The key, table, column or index does not exist. Also a KeyError."""


class DuplicateKey(Error):
    """The inserted key exists, or a unique index already has the row's value."""


class Conflict(Error):
    """Another transaction won. Nothing took effect; run the transaction again."""


class InvalidArgument(Error, ValueError):
    """The call is wrong; the message names the argument. Also a ValueError."""


class SchemaMismatch(Error):
    """A table of this name exists with other columns, keys or indexes."""


class MemoryLimit(Error):
    """The memory limit of the database or of the system is reached."""


class Deadline(Error):
    """Conflicts exhausted the attempts or the time that the call allows."""


class RolledBack(Error):
    """The operation was rolled back on request."""


class Unsupported(Error):
    """The table, the options or the machine do not support the operation."""


class Finished(Error):
    """The transaction, iterator or snapshot has ended."""


class Closed(Finished):
    """The database is closed."""


class IoError(Error, OSError):
    """A file cannot be opened, read, written or synced; the message names it."""


class Corrupt(Error):
    """A file or a row is damaged; the message says where."""


class Forked(Error):
    """The database was opened by a parent process, so this child process cannot use it."""
