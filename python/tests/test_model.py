"""A table against a sorted dict, with transactions, rollbacks, schema changes and reopening."""

import shutil
import tempfile

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import elider

keys = st.one_of(st.text(alphabet="ab\u00ff\U0001f600", max_size=3), st.just("a" * 1000))
rows = st.fixed_dictionaries({"n": st.integers(-(2**63), 2**63 - 1), "s": st.one_of(st.none(), st.text(max_size=4))})


def ordered(keys):
    return sorted(keys, key=str.encode)


class Model(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.model = {}
        self.open()

    def open(self):
        self.db = elider.open(self.folder)
        self.table = self.db.table("t", {"n": int, "s": elider.column(str, nullable=True)}, key=str, indexes={"by_n": ["n"]})

    def teardown(self):
        self.db.close()
        shutil.rmtree(self.folder)

    @rule(key=keys, row=rows)
    def put(self, key, row):
        self.table[key] = row
        self.model[key] = row

    @rule(key=keys, row=rows)
    def insert(self, key, row):
        try:
            self.table.insert(key, row)
            assert key not in self.model
            self.model[key] = row
        except elider.DuplicateKey:
            assert key in self.model

    @rule(key=keys, n=st.integers(-5, 5))
    def update(self, key, n):
        try:
            self.table.update(key, n=n)
            self.model[key] = {**self.model[key], "n": n}
        except elider.NotFound:
            assert key not in self.model

    @rule(key=keys)
    def remove(self, key):
        try:
            del self.table[key]
            del self.model[key]
        except elider.NotFound:
            assert key not in self.model

    @rule(pairs=st.dictionaries(keys, rows, max_size=5), fails=st.booleans())
    def transaction(self, pairs, fails):
        before = dict(self.model)
        try:
            with self.db.transaction() as txn:
                for key, row in pairs.items():
                    txn.put(self.table, key, row)
                    self.model[key] = row
                assert list(txn[self.table]) == ordered(self.model)
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            self.model = before

    @rule(prefix=keys, reverse=st.booleans(), limit=st.integers(0, 3))
    def scan(self, prefix, reverse, limit):
        expected = [key for key in ordered(self.model) if key.startswith(prefix)]
        expected = (expected[::-1] if reverse else expected)[:limit]
        assert list(self.table.keys(prefix=prefix, reverse=reverse, limit=limit)) == expected

    @rule(start=keys, stop=keys)
    def range(self, start, stop):
        expected = [key for key in ordered(self.model) if start.encode() <= key.encode() < stop.encode()]
        assert list(self.table.keys(start=start, stop=stop)) == expected

    @rule(checkpoint=st.booleans())
    def reopen(self, checkpoint):
        if checkpoint:
            self.db.checkpoint()
        self.db.close()
        self.open()

    @invariant()
    def same(self):
        assert dict(self.table.items()) == self.model and len(self.table) == len(self.model)
        by_n = [(row["n"], key.encode()) for key, row in self.table.index("by_n").items()]
        assert by_n == sorted((row["n"], key.encode()) for key, row in self.model.items())


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=30, stateful_step_count=30, deadline=None, derandomize=True,
                              suppress_health_check=list(HealthCheck))
