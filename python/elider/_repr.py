"""How databases and tables look in a terminal and in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._database import Database
    from ._table import Table

_ROWS = 10
_WIDTH = 40


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def cells(table: Table[Any, Any], count: int = _ROWS) -> tuple[list[str], list[list[str]]]:
    names = list(table.columns) or ["value"]
    rows = []
    for key, row in table.head(count):
        values = [row] if isinstance(row, bytes) else [row.get(n) if isinstance(row, dict) else getattr(row, n, None) for n in names]
        rows.append([_short(key)] + [_short(value) for value in values])
    return ["key", *names], rows


def table(its: Table[Any, Any]) -> str:
    if not its.db.is_open:
        return f"<elider.Table {its.name!r} of a closed database>"
    try:
        columns = ", ".join(f"{name}: {kind}" for name, kind in its.columns.items()) or "bytes"
        return f"<elider.Table {its.name!r}: {len(its):,} rows, {columns}>"
    except Exception as error:
        return f"<elider.Table {its.name!r}: {error}>"


def table_html(its: Table[Any, Any]) -> str:
    try:
        names, rows = cells(its)
    except Exception:
        return escape(table(its))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>{len(its):,} rows</p>"
    return f"<table><caption>{escape(its.name)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def database(db: Database) -> str:
    where = repr(db.path) if db.path else "in memory"
    return f"<elider.Database {where}, {f'{len(db.tables)} tables' if db.is_open else 'closed'}>"


def database_html(db: Database) -> str:
    if not db.is_open:
        return escape(database(db))
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{table['rows']:,}</td></tr>"
                   for name, table in sorted((t["name"], t) for t in db.statistics()["tables"]) if name in db.tables)
    return f"<table><caption>{escape(repr(db))}</caption><thead><tr><th>table</th><th>rows</th></tr></thead><tbody>{rows}</tbody></table>"
