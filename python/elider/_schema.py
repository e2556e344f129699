"""Descriptions of rows and keys: from classes, dtypes, Arrow schemas and dicts to columns."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from . import _elider
from ._errors import InvalidArgument

ColumnTuple = tuple[str, str, bool, int, Any]
FieldTuple = tuple[str, bool, bool]

_TYPES: dict[Any, str] = {
    bool: "bool", int: "int64", float: "double", str: "text", bytes: "bytes", datetime: "timestamp",
    UUID: "uuid", dict: "json", list: "json", Decimal: "decimal",
}
_NAMES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double",
    "timestamp", "text", "bytes", "uuid", "decimal", "json",
}
_ALIASES = {"float32": "float", "float64": "double", "str": "text", "string": "text", "binary": "bytes"}


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table: its type, and what Python's types do not say.

    `type` is a Python type or one of the names bool, int8 to int64, uint8 to uint64, float, double,
    timestamp, text, bytes, uuid, decimal and json. `scale` is the number of digits after the point
    of a decimal. A column with `nullable` may be None. `default` is the value of rows that do not
    set the column.

    >>> Column("int32", nullable=True).type
    'int32'
    """

    type: Any
    nullable: bool = False
    default: Any = None
    scale: int = 0


@dataclasses.dataclass(frozen=True)
class Descending:
    """A field of a tuple key, or a column of an index, in descending order."""

    of: Any


def column(type: Any, *, nullable: bool = False, default: Any = None, scale: int = 0) -> Any:
    """Describe a column in a dict of columns, or within typing.Annotated in a class.

    >>> column("decimal", scale=2)
    Column(type='decimal', nullable=False, default=None, scale=2)
    """
    return Column(type, nullable, default, scale)


def descending(of: Any) -> Descending:
    """Mark a field of a tuple key, or a column of an index, as descending.

    >>> descending("price")
    Descending(of='price')
    """
    return Descending(of)


class Rows:
    """Columns of a table, and the Python type of its rows."""

    def __init__(self, type: Any, columns: list[ColumnTuple] | None) -> None:
        self.type = type
        self.columns = columns

    @property
    def fields(self) -> list[str]:
        return [] if self.columns is None or self.type is dict else [column[0] for column in self.columns]


def _fail(words: str) -> InvalidArgument:
    return InvalidArgument(words)


def _column(name: str, hint: Any, default: Any = None) -> ColumnTuple:
    nullable, scale = False, 0
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            base, *notes = typing.get_args(hint)
            hint = next((note for note in notes if isinstance(note, Column)), base)
        elif origin in (typing.Required, typing.NotRequired):
            hint = typing.get_args(hint)[0]
        elif origin in (typing.Union, types.UnionType):
            some = [arg for arg in typing.get_args(hint) if arg is not type(None)]
            if len(some) != 1:
                raise _fail(f"column '{name}': a column has one type, or that type and None, not {hint}")
            nullable, hint = True, some[0]
        elif isinstance(hint, Column):
            nullable, scale = nullable or hint.nullable, hint.scale
            default = hint.default if default is None else default
            hint = hint.type
        else:
            break
    if origin in (dict, list):
        hint = origin
    kind = _type_name(hint)
    if kind is None:
        raise _fail(f"column '{name}': columns cannot have the type {hint!r}. Use bool, int, float, str, bytes, datetime, "
                    "UUID, Decimal, dict, list, or elider.column() with one of " + ", ".join(sorted(_NAMES)))
    return name, kind, nullable, scale, default


def _type_name(hint: Any) -> str | None:
    if isinstance(hint, str):
        name = hint.lower()
        name = _ALIASES.get(name, name)
        return name if name in _NAMES else None
    try:
        if hint in _TYPES:
            return _TYPES[hint]
    except TypeError:
        return None
    if isinstance(hint, type) and hint.__module__ == "numpy":
        hint = __import__("numpy").dtype(hint)
    if type(hint).__module__.startswith("numpy"):
        return _dtype_name(hint)
    return None


def _dtype_name(dtype: Any) -> str | None:
    kind = getattr(dtype, "kind", None)
    if kind == "b":
        return "bool"
    if kind in ("i", "u"):
        return f"{'int' if kind == 'i' else 'uint'}{8 * dtype.itemsize}"
    if kind == "f" and dtype.itemsize in (4, 8):
        return "float" if dtype.itemsize == 4 else "double"
    return {"U": "text", "S": "bytes", "M": "timestamp"}.get(str(kind))


def rows_of(row: Any) -> Rows:
    """Describe rows: bytes, a dict of columns, a class, a NumPy dtype or an Arrow schema."""
    if row is bytes:
        return Rows(bytes, None)
    if isinstance(row, Mapping):
        return Rows(dict, [_column(str(name), hint) for name, hint in row.items()])
    if isinstance(row, type):
        if dataclasses.is_dataclass(row):
            hints = typing.get_type_hints(row, include_extras=True)
            columns = []
            for field in dataclasses.fields(row):
                default = field.default
                if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
                    default = field.default_factory()
                columns.append(_column(field.name, hints[field.name], None if default is dataclasses.MISSING else default))
            return Rows(row, columns)
        if typing.is_typeddict(row):
            return Rows(dict, [_column(name, hint) for name, hint in typing.get_type_hints(row, include_extras=True).items()])
        if issubclass(row, tuple) and hasattr(row, "_fields"):
            hints = typing.get_type_hints(row, include_extras=True)
            defaults = getattr(row, "_field_defaults", {})
            return Rows(row, [_column(name, hints.get(name, Any), defaults.get(name)) for name in row._fields])
    if hasattr(row, "__arrow_c_schema__"):
        return Rows(dict, list(_elider.arrow_columns(row)))
    if getattr(row, "names", None) and hasattr(row, "fields"):
        return Rows(dict, [_column(name, row.fields[name][0].base) for name in row.names])
    raise _fail("rows are described by a dataclass, a NamedTuple, a TypedDict, a structured NumPy dtype, an Arrow schema, a dict "
                f"of names and types, or bytes, not by {row!r}")


def without_key(rows: Rows, name: str) -> Any:
    """Take the column that is the key from the columns, and return the type of the key."""
    if rows.columns is None or rows.type is not dict:
        raise _fail(f"key='{name}' names a column, which only dicts of columns, dtypes and Arrow schemas have as a key")
    for i, (column, kind, _, _, _) in enumerate(rows.columns):
        if column == name:
            del rows.columns[i]
            if kind.startswith("uint"):
                return int
            if kind in ("text", "bytes"):
                return str if kind == "text" else bytes
            return int if kind.startswith("int") else (kind,)
    raise _fail(f"key='{name}' is not a column. The columns are " + ", ".join(column[0] for column in rows.columns))


def key_of(key: Any) -> tuple[str, list[FieldTuple]]:
    """Describe keys: int, bytes, str, or a tuple of types."""
    if key in (int, bytes, str):
        return key.__name__, []
    parts: Iterable[Any]
    if typing.get_origin(key) is tuple:
        parts = typing.get_args(key)
    elif isinstance(key, tuple) and key:
        parts = key
    else:
        raise _fail(f"keys are of type int, bytes, str, or a tuple of types such as (str, int), not {key!r}")
    fields = []
    for i, part in enumerate(parts):
        down = isinstance(part, Descending)
        _, kind, nullable, _, _ = _column(f"field {i} of the key", part.of if isinstance(part, Descending) else part)
        if kind in ("json", "decimal"):
            raise _fail(f"field {i} of the key cannot have the type {kind}")
        fields.append(("UUID" if kind == "uuid" else kind, down, nullable))
    return "tuple", fields


def index_columns(columns: Any) -> list[tuple[str, bool]]:
    if isinstance(columns, (str, Descending)):
        columns = (columns,)
    return [(c.of, True) if isinstance(c, Descending) else (str(c), False) for c in columns]


def is_plain(type_: Any) -> bool:
    """Return true if objects of the class can be filled without calling __init__."""
    if not dataclasses.is_dataclass(type_):
        return False
    names = {field.name for field in dataclasses.fields(type_)}
    own = type_.__dict__
    return (not hasattr(type_, "__post_init__") and own.get("__new__") is None and type_.__setattr__ is object.__setattr__
            and all(field.init for field in dataclasses.fields(type_)) and getattr(type_, "__dataclass_params__").init
            and getattr(type_.__init__, "__qualname__", "").endswith("__init__") and not getattr(type_, "__dataclass_params__").frozen
            and names == set(type_.__dataclass_fields__))
