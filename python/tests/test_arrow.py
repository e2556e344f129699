"""Arrow, pandas, polars and DuckDB: loading and scanning."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest

import elider

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

TABLE = pa.table({
    "id": pa.array([3, 1, 2], pa.int64()),
    "s": pa.array(["a", None, "ccc" * 10]),
    "b": pa.array([True, False, None]),
    "f": pa.array([1.5, None, -0.25], pa.float32()),
    "i": pa.array([1, -2, 3], pa.int16()),
    "y": pa.array([b"x", b"", None], pa.large_binary()),
    "t": pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc), None, dt.datetime(1960, 1, 1, tzinfo=dt.timezone.utc)], pa.timestamp("us", "UTC")),
    "m": pa.array([decimal.Decimal("-1.25"), None, decimal.Decimal("3.00")], pa.decimal128(18, 2)),
})


def rows(table):
    return sorted(pa.table(table).to_pylist(), key=lambda row: row["id"])


def test_round_trip(db):
    table = db.table("t", TABLE.schema, key="id")
    told = []
    assert table.load(TABLE, rows_per_transaction=2, progress=told.append) == 3 and told == [2, 3]
    assert rows(table) == rows(TABLE)
    assert table[1] == {"s": None, "b": False, "f": None, "i": -2, "y": b"", "t": None, "m": None}
    copy = db.table("copy", TABLE.schema, key="id")
    copy.load(table)  # of one table into another
    assert rows(copy) == rows(TABLE)
    with pytest.raises(elider.DuplicateKey):
        copy.load(table)
    assert copy.load(table, replace=True) == 3


def test_slices_and_other_layouts(db):
    table = db.table("t", {"s": elider.column(str, nullable=True), "n": elider.column(int, nullable=True)}, key=int)
    source = pa.table({"key": range(100), "s": [None if i % 3 == 0 else str(i) * (i % 20) for i in range(100)],
                       "n": pa.array([None if i % 5 == 0 else i for i in range(100)], pa.int8())})
    parts = [source.slice(0, 13), source.slice(13, 50), source.slice(63)]
    table.load(pa.concat_tables(parts))
    assert pa.table(table).cast(source.schema.set(0, pa.field("key", pa.int64()))).to_pylist() == source.to_pylist()
    assert pa.table(table.scan(batch_rows=7)).to_pylist() == source.to_pylist()
    views = db.table("views", {"s": elider.column(str, nullable=True), "n": elider.column(int, nullable=True)}, key=int)
    views.load(source.set_column(1, "s", source["s"].cast(pa.string_view())))
    words = source.set_column(1, "s", source["s"].dictionary_encode())
    views.load(words.slice(10, 30), replace=True)
    views.load(polars.from_arrow(source), replace=True)
    assert pa.table(views).to_pylist() == source.to_pylist()


def test_tuple_and_text_keys(db):
    table = db.table("t", {"n": int}, key=(str, elider.descending(int)))
    source = pa.table({"region": ["b", "a", "a"], "id": pa.array([1, 2, 3], pa.int32()), "n": [1, 2, 3]})
    table.load(source, key=["region", "id"])
    assert list(table) == [("a", 3), ("a", 2), ("b", 1)]
    assert pa.table(table).to_pydict() == {"key0": ["a", "a", "b"], "key1": [3, 2, 1], "n": [3, 2, 1]}
    words = db.table("w", {"n": int}, key=str)
    words.load(source.select(["region", "n"]), key="region", replace=True)
    assert pa.table(words).to_pydict() == {"key": ["a", "b"], "n": [3, 1]}
    values = db.table("v", bytes, key=bytes)
    values.load(pa.table({"key": [b"k"], "value": [b"v"]}))
    assert pa.table(values).to_pydict() == {"key": [b"k"], "value": [b"v"]}
    hashed = db.table("h", {"n": int}, key=int, key_index="hash")
    hashed.load(pa.table({"key": range(1000), "n": range(1000)}))
    assert sorted(pa.table(hashed)["key"].to_pylist()) == list(range(1000))


def test_duckdb_polars_pandas(db):
    table = db.table("t", {"x": float, "s": str}, key=int)
    table.load(pandas.DataFrame({"key": np.arange(1000), "x": np.arange(1000) / 2, "s": ["a", "b"] * 500}))
    scan = table.scan()
    assert duckdb.sql("select s, count(*), sum(x) from scan group by s order by s").fetchall() == [("a", 500, 124750.0), ("b", 500, 125000.0)]
    assert duckdb.sql("select max(x) from scan").fetchall() == [(499.5,)]
    frame = polars.DataFrame(table)
    assert frame.shape == (1000, 3) and frame["x"].sum() == 249750.0
    frame = table.to_arrow(columns=["s", "x"]).to_pandas()
    assert list(frame.columns) == ["s", "x"] and frame["x"].iloc[-1] == 499.5


def test_one_state(db):
    table = db.table("t", {"n": int}, key=int)
    table.load(pa.table({"key": range(10_000), "n": [0] * 10_000}))
    reader = pa.RecordBatchReader.from_stream(table.scan(batch_rows=100))
    total = reader.read_next_batch().num_rows
    table.put_many({i: {"n": 1} for i in range(10_000)})
    for batch in reader:
        assert batch["n"].to_pylist() == [0] * batch.num_rows
        total += batch.num_rows
    assert total == 10_000


def test_close_ends_a_stream():
    db = elider.open()
    table = db.table("t", {"n": int}, key=int)
    table.load(pa.table({"key": range(1000), "n": range(1000)}))
    reader = pa.RecordBatchReader.from_stream(table.scan(batch_rows=10))
    batch = reader.read_next_batch()
    db.close()
    assert batch["n"].to_pylist() == list(range(10))
    with pytest.raises(Exception, match="closed"):
        reader.read_next_batch()


def test_bad_loads(db):
    table = db.table("t", {"n": "int8"}, key=int)
    for source, words in (
        (5, "__arrow_c_stream__"),
        (pa.table({"n": [1]}), "key column 'key' is missing"),
        (pa.table({"key": [1], "m": [1]}), "'m'"),
        (pa.table({"key": [1], "n": [1000]}), "column 'n'"),
        (pa.table({"key": [1], "n": ["x"]}), "column 'n'"),
        (pa.table({"key": [1], "n": pa.array([None], pa.int8())}), "column 'n'"),
        (pa.table({"key": [-1], "n": [1]}), "-1"),
        (pa.table({"key": ["x"], "n": [1]}), "not a number"),
        (pa.table({"key": [1], "n": [[1]]}), "Arrow format"),
    ):
        with pytest.raises(elider.InvalidArgument, match=words):
            table.load(source)
    with pytest.raises(elider.InvalidArgument):
        table.scan(columns=["none"]).__arrow_c_stream__()
    assert len(table) == 0
    with pytest.raises(elider.InvalidArgument, match="row 3 of the load.*2 rows of earlier"):
        table.load(pa.table({"key": [1, 2, 3, 4], "n": [1, 2, 3, 400]}), rows_per_transaction=2)
    assert len(table) == 2

    def stop(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.load(pa.table({"key": [5, 6], "n": [1, 2]}), rows_per_transaction=1, progress=stop)
    assert list(table) == [1, 2, 5]
