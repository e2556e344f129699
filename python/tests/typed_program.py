"""A program that mypy checks, and that runs as it is."""

from dataclasses import dataclass

import elider


@dataclass
class Account:
    owner: str
    cents: int


def main() -> int:
    with elider.open() as db:
        accounts = db.table("accounts", Account, key=int)
        accounts[1] = Account("Ada", 5)
        accounts[2] = Account("Bob", 7)

        @db.transaction
        def pay(txn: elider.Transaction, source: int, target: int, cents: int) -> int:
            txn.update(accounts, source, cents=txn.read(accounts, source).cents - cents)
            txn.update(accounts, target, cents=txn.read(accounts, target).cents + cents)
            return txn[accounts][target].cents

        left: int = pay(1, 2, 3)
        for attempt in db.attempts():
            with attempt as txn:
                txn[accounts].put(3, Account("Eve", 1))
        with db.transaction() as txn:
            found: Account | None = txn.get(accounts, 3)
        names: list[str] = [row.owner for _, row in accounts.items(start=2, limit=2)]
        assert found is not None and names == ["Bob", "Eve"]
        return left


if __name__ == "__main__":
    assert main() == 10
