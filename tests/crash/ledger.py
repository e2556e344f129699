"""What crash_victim told before it ended, over all its restarts: one ledger, and what must hold of it.

TransferLedger keeps the workload `transfer`: it checks by itself that nothing acknowledged is lost and no transaction
is there in part, and writes the history over all restarts in Elle's format (for adya) and in the engine's own (for
`elider check-history`). A transaction that was under way when the process ended is unknown; lists show which of them
took effect. TpccLedger keeps `tpcc`.
"""

import json

NEVER_NS = 1 << 62
# The victims' runs use these options in turn, on the same files. The files do not depend on the policy or the protocol:
# what one has written, another one recovers. The last run uses hardware transactions if the machine or the build has
# them.
POLICIES = [["--sync", "optimistic"], ["--protocol", "timestamp"], ["--sync", "elided", "--htm", "always-aborts"],
            ["--protocol", "two-phase-locking"], ["--sync", "latched"], ["--protocol", "partitioned"], ["--protocol", "chopped"], ["--protocol", "serial"],
            ["--protocol", "timestamp-validated"], ["--sync", "elided"]]
# The log's file sizes are also used in turn: many files, some files, or few files with preallocated room.
SEGMENT_BYTES = ["4096", "65536", "1048576"]
TRANSACTIONS_A_CHECKPOINT = "8"


class Broken(Exception):
    """A promise was not kept."""


def lines_of(output):
    """What was told, in order. A line that was cut off in the middle was not told."""
    return [json.loads(line) for line in output.decode().split("\n")[:-1]]


def check_checkpoints(output, may_fail_at=None):
    """How many checkpoints were taken, and how many failed; each of these for a file of the folder that may fail."""
    taken = failed = 0
    for line in lines_of(output):
        if line["t"] != "checkpoint":
            continue
        if line["code"] == "ok":
            taken += 1
            continue
        failed += 1
        if may_fail_at is None or line["code"] != "file error" or str(may_fail_at) not in line["words"]:
            raise Broken(f"a checkpoint failed: {line['code']}: {line['words']}")
    return taken, failed


class Transaction:
    def __init__(self, restart, process, start_ns, asked):
        self.restart, self.process, self.start_ns, self.asked = restart, process, start_ns, asked
        self.end_ns = NEVER_NS
        self.outcome = "info"
        self.did = None
        self.rank = None

    def appends(self):
        return [(key, value) for kind, key, value in self.asked if kind == "append"]


class TransferLedger:
    def __init__(self):
        self.events = []  # (type, transaction) in the order in which they were told
        self.lists = {}  # as recovered last
        self.restarts = 0
        self.acknowledged = 0
        self.unknown = 0

    def take(self, output):
        """The output of one process, which has ended. False: it ended before it had recovered."""
        told = lines_of(output)
        if not told:
            return False
        assert told[0]["t"] == "recovered", told[0]
        self.restarts += 1
        self._recovered(told[0])
        under_way = {}
        for line in told[1:]:
            kind, process = line["t"], line.get("p")
            if kind == "invoke":
                under_way[process] = Transaction(self.restarts, process, line["ns"], line["v"])
                self.events.append(("invoke", under_way[process]))
            elif kind in ("ok", "fail", "info"):
                self._complete(under_way.pop(process), kind, line)
        for transaction in under_way.values():
            self.unknown += 1
            self.events.append(("info", transaction))
        return True

    def _complete(self, transaction, kind, line):
        transaction.outcome = kind
        if kind == "info":
            self.unknown += 1
        else:
            transaction.end_ns = line["ns"]
        if kind == "ok":
            self.acknowledged += 1
            transaction.did = line["v"]
            snapshot, order, read_only = line["rank"]
            transaction.rank = (self.restarts, snapshot, read_only, order)
        self.events.append((kind, transaction))

    def _recovered(self, line):
        """The first reader after a restart sees every list."""
        if line["balance"] != 0:
            raise Broken(f"restart {self.restarts}: the balances add up to {line['balance']}: a transfer is there in part")
        self.lists = {int(key): values for key, values in line["lists"].items()}
        reader = Transaction(self.restarts, 1_000_000 + self.restarts, line["ns"], [["r", key, None] for key in self.lists])
        reader.did = [["r", key, values] for key, values in self.lists.items()]
        reader.end_ns, reader.outcome, reader.rank = line["ns"] + 1, "ok", (self.restarts, -1, True, 0)
        self.events += [("invoke", reader), ("ok", reader)]
        self.check()

    def check(self):
        """Of all that ended before the last restart: what was acknowledged is there, what is there is whole."""
        places = {value: (key, at) for key, values in self.lists.items() for at, value in enumerate(values)}
        for kind, transaction in self.events:
            appends = transaction.appends()
            if kind == "invoke" or transaction.restart == self.restarts or not appends:
                continue
            there = [value in places and places[value][0] == key for key, value in appends]
            if kind == "ok" and not all(there):
                raise Broken(f"restart {self.restarts}: an acknowledged transaction is lost: {transaction.did}")
            if kind == "fail" and any(there):
                raise Broken(f"restart {self.restarts}: a transaction that failed is there: {transaction.asked}")
            if any(there) and not all(there):
                raise Broken(f"restart {self.restarts}: a transaction is there in part: {transaction.asked}")

    def write_elle(self, path):
        with open(path, "w", encoding="utf-8") as file:
            for index, (kind, transaction) in enumerate(self.events):
                if kind == "invoke":
                    time_ns, value = transaction.start_ns, transaction.asked
                else:
                    time_ns, value = transaction.end_ns, transaction.did if kind == "ok" else transaction.asked
                event = {"index": index, "type": kind, "process": transaction.process, "time": time_ns, "value": value}
                file.write(json.dumps(event, separators=(",", ":")) + "\n")

    # -- the engine's own format: a list's version is its length -------------------------------------------------

    def write_native(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"t": "table", "position": 0, "name": "lists", "ordered": True, "groups": 1}) + "\n")
            for place, (transaction, operations) in enumerate(self._in_order(), 1):
                line = {"t": "txn", "session": transaction.process, "start_ns": transaction.start_ns, "end_ns": transaction.end_ns,
                        "snapshot": place, "order": 0, "outcome": "committed", "cause": "none", "attempt": 1, "procedure": "transfer",
                        "read_only": not transaction.appends(), "ops": operations}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def _in_order(self):
        """(transaction, operations) in commit order; the versions determine the place of unknown ones that took effect."""
        known = sorted((t for kind, t in self.events if kind == "ok"), key=lambda t: t.rank)
        ordered = [(t, self._operations(t.did)) for t in known]
        for unknown, operations in self._latest_first(self._took_effect()):
            ordered.insert(self._place_of(unknown, operations, ordered), (unknown, operations))
        return ordered

    def _took_effect(self):
        """(transaction, operations) of the unknown ones whose appends are there."""
        found = []
        for unknown in [t for kind, t in self.events if kind == "info" and t.appends()]:
            did = []
            for key, value in unknown.appends():
                if value not in self.lists.get(key, []):
                    break
                length = self.lists[key].index(value) + 1
                did += [["append", key, value], ["r", key, self.lists[key][:length]]]
            if did:
                found.append((unknown, self._operations(did)))
        return found

    @classmethod
    def _latest_first(cls, left):
        """One that saw or followed another comes before it, so that the other finds its place in front of it."""
        left = list(left)
        while left:
            last = next(one for one in left if not any(other is not one and cls._precedes(one[1], other[1]) for other in left))
            left.remove(last)
            yield last

    @staticmethod
    def _precedes(operations, of_other):
        """The other saw what these wrote, or wrote after them."""
        versions = {op[3]: op[4] for op in operations if op[0] == "w"}
        return any(versions.get(op[3], NEVER_NS) <= op[4] for op in of_other)

    @staticmethod
    def _operations(did):
        reads, writes = [], []
        appended = {key for kind, key, _ in did if kind == "append"}
        for kind, key, values in did:
            if kind == "append":
                continue
            read = len(values) - (key in appended)
            reads.append(["r" if read else "a", 0, 0, key, read])
            if key in appended:
                writes.append(["w", 0, 0, key, read + 1])
        return reads + writes

    @classmethod
    def _place_of(cls, unknown, operations, ordered):
        """Before the first that it precedes; otherwise after all of its process."""
        for at, (other, of_other) in enumerate(ordered):
            if other.restart > unknown.restart or cls._precedes(operations, of_other):
                return at
        return len(ordered)


class TpccLedger:
    KINDS = ("new_orders", "payments", "delivered")
    AT_ONCE = {"new_orders": 1, "payments": 1, "delivered": 10}  # by one transaction

    def __init__(self):
        self.acknowledged = 0
        self.unknown = 0
        self.restarts = 0
        self.least = dict.fromkeys(self.KINDS, 0)
        self.most = dict.fromkeys(self.KINDS, 0)

    def forget(self):
        """A new database."""
        self.least = dict.fromkeys(self.KINDS, 0)
        self.most = dict.fromkeys(self.KINDS, 0)

    def take(self, output):
        told = lines_of(output)
        if not told:
            return False
        assert told[0]["t"] == "recovered", told[0]
        self.restarts += 1
        for kind in self.KINDS:
            found = told[0][kind]
            if not self.least[kind] <= found <= self.most[kind]:
                raise Broken(f"restart {self.restarts}: {found} {kind}; acknowledged were {self.least[kind]}, begun {self.most[kind]}")
            self.least[kind] = self.most[kind] = found
        counts, open_ones = {}, set()
        for line in told[1:]:
            process = line.get("p")
            if line["t"] == "begin":
                open_ones.add(process)
            elif line["t"] == "done":
                open_ones.discard(process)
                counts[process] = line
                self.acknowledged += 1
        self.unknown += len(open_ones)
        for kind in self.KINDS:
            self.least[kind] += sum(line[kind] for line in counts.values())
            self.most[kind] = self.least[kind] + self.AT_ONCE[kind] * len(open_ones)
        return True
