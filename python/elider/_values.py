"""Values of columns: what the compiled module leaves to Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_dict(row: Mapping[str, Any]) -> dict[str, Any]:
    return dict(row)


def from_micros(micros: int) -> datetime:
    """Return the time, in UTC. Raises OverflowError outside of the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=micros)


def to_micros(value: Any) -> int:
    """Return the microseconds since 1970 of a datetime that has a time zone, or of a datetime64."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("the datetime lacks a time zone; use datetime.now(timezone.utc), or replace(tzinfo=...)")
        return (value - _EPOCH) // _MICROSECOND
    if type(value).__module__ == "numpy" and hasattr(value, "astype"):
        return int(value.astype("datetime64[us]").astype("int64"))
    raise TypeError("a datetime is needed")


def decimal_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (Decimal, int)):
        raise TypeError("a decimal.Decimal or an int is needed")
    return format(value, "f") if isinstance(value, Decimal) else str(value)
