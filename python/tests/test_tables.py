"""Tables: rows of all types, keys of all kinds, dict-like and explicit operations, bad input."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, NamedTuple, Optional, TypedDict

import numpy as np
import pyarrow as pa
import pytest

import elider


@dataclass
class Account:
    owner: str
    cents: int
    note: Optional[str] = None


@dataclass
class Checked:
    value: int

    def __post_init__(self):
        self.double = self.value * 2


class Point(NamedTuple):
    x: float
    y: float = 1.5


class Person(TypedDict):
    name: str
    age: int


def test_dict_like(db):
    accounts = db.table("accounts", Account, key=int)
    accounts[7] = Account("Ada", 500)
    assert accounts[7] == Account("Ada", 500) and type(accounts[7]) is Account
    assert 7 in accounts and 8 not in accounts and len(accounts) == 1
    assert accounts.get(8) is None and accounts.get(8, "none") == "none"
    accounts[7] = {"owner": "Bob", "cents": -1}
    assert accounts[7] == Account("Bob", -1)
    accounts.update(7, cents=3, note="n")
    assert accounts[7] == Account("Bob", 3, "n")
    with pytest.raises(elider.DuplicateKey) as caught:
        accounts.insert(7, Account("x", 1))
    assert caught.value.table == "accounts" and caught.value.key == 7 and not caught.value.retry
    del accounts[7]
    for call in (lambda: accounts[7], lambda: accounts.remove(7), lambda: accounts.update(7, cents=1)):
        with pytest.raises(KeyError) as missing:
            call()
        assert isinstance(missing.value, elider.NotFound) and missing.value.key == 7 and "accounts" in str(missing.value)
    assert bool(accounts) and len(accounts) == 0


def test_kinds_of_rows(db):
    checked = db.table("checked", Checked, key=int)
    checked[1] = Checked(4)
    assert checked[1].double == 8
    points = db.table("points", Point, key=int)
    points[1] = Point(2.0)
    assert points[1] == Point(2.0, 1.5) and type(points[1]) is Point
    people = db.table("people", Person, key=str)
    people["a"] = {"name": "Ada", "age": 36}
    assert people["a"] == {"name": "Ada", "age": 36}
    values = db.table("values", bytes, key=bytes)
    values[b"k"] = b"\x00\xff"
    values[b""] = bytearray(b"empty key")
    assert values[b"k"] == b"\x00\xff" and values[b""] == b"empty key"
    dtype = np.dtype([("id", "u8"), ("x", "f4"), ("n", "i2")])
    numbers = db.table("numbers", dtype, key="id")
    numbers[1] = {"x": np.float32(0.5), "n": np.int16(-3)}
    assert numbers[1] == {"x": 0.5, "n": -3}
    schema = pa.schema([pa.field("id", pa.string()), pa.field("d", pa.decimal128(18, 2)), pa.field("t", pa.timestamp("us", "UTC"), nullable=False)])
    arrow = db.table("arrow", schema, key="id")
    assert arrow.columns == {"d": "decimal(2)?", "t": "timestamp"}


def test_every_type(db):
    columns = {
        "b": bool, "i8": "int8", "u64": "uint64", "f": "float", "d": float, "t": datetime, "s": str, "y": bytes,
        "u": uuid.UUID, "m": elider.column("decimal", scale=2), "j": dict, "o": elider.column("int32", nullable=True),
    }
    table = db.table("all", columns, key=int)
    row = {
        "b": True, "i8": -128, "u64": 2**64 - 1, "f": 0.5, "d": 1e300, "t": datetime(2026, 12, 1, 1, 2, 3, 4, tzinfo=timezone.utc),
        "s": "ä\x00€😀", "y": b"\x00", "u": uuid.UUID(int=5), "m": Decimal("-12.50"), "j": {"a": [1, None, "x"]}, "o": None,
    }
    table[0] = row
    assert table[0] == row
    table.update(0, t=datetime(1969, 1, 1, tzinfo=timezone(timedelta(hours=2))), o=5, m=3)
    assert table[0]["t"] == datetime(1968, 12, 31, 22, tzinfo=timezone.utc) and table[0]["o"] == 5 and table[0]["m"] == Decimal("3.00")


BAD_VALUES = [
    ("b", 1), ("i8", 128), ("i8", 1.0), ("i8", "1"), ("i8", None), ("i8", 2**80), ("u64", -1), ("u64", 2**64), ("f", "x"), ("t", datetime(2026, 1, 1)),
    ("t", 5), ("s", b"x"), ("s", "\ud800"), ("y", "x"), ("u", "x"), ("m", Decimal("1.234")), ("m", 1.5), ("j", {"a": object()}), ("j", float("nan")),
]


@pytest.mark.parametrize("column, value", BAD_VALUES)
def test_bad_values_name_table_column_and_key(db, column, value):
    columns = {"b": bool, "i8": "int8", "u64": "uint64", "f": float, "t": datetime, "s": str, "y": bytes, "u": uuid.UUID,
               "m": elider.column("decimal", scale=2), "j": dict}
    good = {"b": True, "i8": 1, "u64": 1, "f": 1.0, "t": datetime.now(timezone.utc), "s": "", "y": b"", "u": uuid.UUID(int=0), "m": 1, "j": {}}
    table = db.table("strict", columns, key=int)
    table[42] = good
    for write in (lambda: table.insert(43, {**good, column: value}), lambda: table.update(42, **{column: value})):
        with pytest.raises(elider.InvalidArgument) as caught:
            write()
        error = caught.value
        assert error.table == "strict" and error.column == column and error.key in (42, 43)
        assert "strict" in str(error) and column in str(error) and str(error.key) in str(error)
    assert table[42] == good and len(table) == 1


def test_bad_rows(db):
    accounts = db.table("accounts", Account, key=int)
    for row in (None, 5, "x", Person(name="x", age=1), object(), {"owner": "x", "cents": 1, "more": 1}, {"owner": "x"}, {1: 2}):
        with pytest.raises(elider.InvalidArgument):
            accounts.put(1, row)
    with pytest.raises(elider.InvalidArgument, match="1048576|longer"):
        accounts.put(1, Account("x" * (2 << 20), 1))
    with pytest.raises(elider.InvalidArgument, match="lacks the column 'nme'"):
        accounts[1] = Account("a", 1)
        accounts.update(1, nme="x")
    assert len(accounts) == 1


BAD_KEYS = [
    (int, -1), (int, 2**64), (int, 1.0), (int, "1"), (int, True), (bytes, "x"), (bytes, 1), (bytes, b"x" * 1025), (str, b"x"),
    (str, "\ud800"), (str, "x" * 1025), ((str, int), ("a",)), ((str, int), ("a", 1, 2)), ((str, int), (1, "a")), ((str, int), ["a", 1]),
    ((str, int), ("a", None)), ((str, "int8"), ("a", 128)), ((str, int), ("x" * 1025, 1)), ((bool,), (1,)), ((datetime,), (datetime(2026, 1, 1),)),
]


@pytest.mark.parametrize("kind, key", BAD_KEYS)
def test_bad_keys(db, kind, key):
    table = db.table("keyed", {"x": int}, key=kind)
    for call in (lambda: table[key], lambda: table.get(key), lambda: table.put(key, {"x": 1}), lambda: key in table, lambda: table.remove(key)):
        with pytest.raises(elider.InvalidArgument, match="keyed"):
            call()


def test_tuple_keys(db):
    table = db.table("orders", {"x": int}, key=(str, elider.descending(int), Optional[bytes]))
    keys = [("eu", 5, None), ("eu", -1, b"x"), ("us", 9, b""), ("eu", 5, b"\x00")]
    for i, key in enumerate(keys):
        table[key] = {"x": i}
    assert list(table) == [("eu", 5, None), ("eu", 5, b"\x00"), ("eu", -1, b"x"), ("us", 9, b"")]
    assert list(table.keys(prefix=("eu",))) == list(table)[:3]
    assert list(table.keys(prefix=("eu", 5), reverse=True)) == [("eu", 5, b"\x00"), ("eu", 5, None)]
    assert table[("us", 9, b"")] == {"x": 2}


def test_items(db):
    numbers = db.table("numbers", {"x": int}, key=int)
    numbers.insert_many((i, {"x": i * 2}) for i in range(5000))
    assert [key for key, _ in numbers.items()] == list(range(5000))
    assert list(numbers.keys(start=10, stop=13)) == [10, 11, 12]
    assert list(numbers.keys(start=4998, reverse=True)) == [4999, 4998]
    assert list(numbers.keys(limit=2)) == [0, 1] and list(numbers.keys(stop=0)) == [] and list(numbers.keys(limit=0)) == []
    assert [row["x"] for row in numbers.values(start=4999)] == [9998]
    rows = numbers.items()
    next(rows)
    numbers.put_many({i: {"x": -1} for i in range(5000)})
    assert all(row["x"] >= 0 for _, row in rows)  # one state, although it comes in pages
    words = db.table("words", {"x": int}, key=str)
    for word in ("a", "ab", "abc", "b", "\u00ff", "a\uffff"):
        words[word] = {"x": 1}
    assert list(words.keys(prefix="ab")) == ["ab", "abc"]
    assert list(words.keys(prefix="a", start="ab")) == ["ab", "abc", "a\uffff"]
    assert list(words.keys(prefix="a", stop="b")) == ["a", "ab", "abc", "a\uffff"]
    raw = db.table("raw", bytes, key=bytes)
    raw.insert_many([(b"\xff\xff", b""), (b"\xff", b""), (b"a", b"")])
    assert list(raw.keys(prefix=b"\xff")) == [b"\xff", b"\xff\xff"]
    with pytest.raises(elider.InvalidArgument):
        numbers.items(prefix=1)
    with pytest.raises(elider.InvalidArgument):
        numbers.items(limit=-1)


def test_multi_get_and_many(db):
    table = db.table("t", {"x": int}, key=str)
    assert table.insert_many([("a", {"x": 1}), ("b", {"x": 2})]) == 2
    assert table.multi_get(["b", "none", "a"]) == [{"x": 2}, None, {"x": 1}]
    assert table.multi_get([]) == []
    with pytest.raises(elider.DuplicateKey):
        table.insert_many([("c", {"x": 1}), ("a", {"x": 1})])
    assert "c" not in table
    for pairs in ([1], ["ab", "cd"], [("a",)], 5):
        with pytest.raises((elider.InvalidArgument, TypeError)):
            table.insert_many(pairs)


def test_hash_tables(db):
    table = db.table("h", {"x": int}, key=str, key_index="hash")
    table.insert_many([(str(i), {"x": i}) for i in range(100)])
    assert sorted(int(key) for key in table) == list(range(100)) and len(table) == 100
    assert {key: row["x"] for key, row in table.items()} == {str(i): i for i in range(100)}
    with pytest.raises(elider.Unsupported):
        table.items(prefix="1")


def test_indexes(db):
    orders = db.table("orders", {"customer": str, "price": int, "code": elider.column(int, nullable=True)}, key=int,
                      indexes={"by_customer": ["customer", elider.descending("price")],
                               "by_price": {"columns": "price", "ranked": True}, "by_code": {"columns": ["code"], "unique": True}})
    for i in range(100):
        orders[i] = {"customer": "ab"[i % 2], "price": i // 10, "code": None if i % 3 else i}
    by_customer, by_price = orders.index("by_customer"), orders.index("by_price")
    assert [row["price"] for row in by_customer.values(prefix=("a",))] == sorted((i // 10 for i in range(0, 100, 2)), reverse=True)
    assert by_customer.count(prefix=("a", 3)) == 5 == by_customer.count(prefix=("b", 3)) and by_customer.count(prefix="a") == 50
    assert list(by_price.keys(prefix=9)) == list(range(90, 100)) and by_price.rank(90) == 90
    assert by_price.count(start=3, stop=5) == 20 and list(by_price.keys(limit=1, reverse=True)) == [99]
    with pytest.raises(elider.DuplicateKey) as caught:
        orders[200] = {"customer": "c", "price": 1, "code": 3}
    assert caught.value.table == "orders"
    db.create_index("orders", "plain", "price", progress=lambda visited, all: None)
    assert orders.index("plain").count() == 100
    db.drop_index("orders", "plain")
    with pytest.raises(elider.NotFound):
        orders.index("plain")
    with pytest.raises(elider.InvalidArgument):
        by_customer.count(prefix=("a", 1, 2, 3))
    with db.transaction() as txn:
        txn.put(orders, 300, {"customer": "zz", "price": 77})
        assert list(by_customer.keys(prefix="zz", txn=txn)) == [300]
    with pytest.raises(ZeroDivisionError):
        db.create_index("orders", "never", "price", progress=lambda visited, all: 1 / 0)
    assert "never" not in orders.indexes


def test_schema_changes(db):
    people = db.table("people", {"name": str}, key=int)
    people[1] = {"name": "Ada"}
    db.add_column("people", "age", "int32", nullable=True)
    db.add_column("people", "city", str, default="?")
    assert people[1] == {"name": "Ada", "age": None, "city": "?"}
    db.rename_column("people", "city", "town")
    people.update(1, town="Paris")
    db.drop_column("people", "age")
    assert people[1] == {"name": "Ada", "town": "Paris"}
    db.rename_table("people", "persons")
    assert db.tables == ["persons"] and db["persons"][1]["name"] == "Ada"
    db.drop_table("persons")
    with pytest.raises(elider.NotFound):
        people[1]
    with pytest.raises(elider.NotFound):
        db.table("persons")

    @dataclass
    class Short:
        name: str

    short = db.table("short", Short, key=int)
    short[1] = Short("x")
    db.add_column("short", "more", str, default="d")
    assert short[1] == Short("x")
    with pytest.raises(elider.SchemaMismatch, match="more"):
        short[1] = Short("y")
    short.update(1, name="z")
    assert db["short"][1] == {"name": "z", "more": "d"}
    db.drop_column("short", "name")
    with pytest.raises(elider.SchemaMismatch, match="name"):
        short[1]


def test_descriptions(db):
    db.table("a", Account, key=(str, int))
    assert db["a"].columns == {"owner": "text", "cents": "int64", "note": "text?"}
    db.table("a", Account, key=(str, int))
    with pytest.raises(elider.SchemaMismatch):
        db.table("a", Point, key=(str, int))
    with pytest.raises(elider.SchemaMismatch):
        db.table("a", Account, key=int)
    with pytest.raises(elider.SchemaMismatch):
        db.table("a", key=int)
    for row, key in ((Account, None), (Account, float), (Account, "owner"), (5, int), ({"x": object}, int), ({"x": int | str}, int),
                     ({"x": "int33"}, int), (dict, int), ({"x": int}, "y"), ({"x": int}, ())):
        with pytest.raises(elider.InvalidArgument):
            db.table("b", row, key=key)
    db.table("note", {"x": Annotated[int, elider.column("int16")]}, key=int)
    assert db["note"].columns == {"x": "int16"}
    assert "a" in db["a"]._repr_html_() and "3 tables" not in repr(db)
    assert repr(db["note"]) == "<elider.Table 'note': 0 rows, x: int16>"
