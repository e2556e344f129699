"""python3 -m elider DIR: shows the tables in a folder, and the first rows of each."""

from __future__ import annotations

import argparse
import sys

from . import Error, SchemaMismatch, _repr, open


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m elider", description="Show the tables of a database, without changing it.")
    parser.add_argument("folder", help="the folder of the database")
    parser.add_argument("--rows", type=int, default=5, help="how many rows of each table to show (default: %(default)s)")
    given = parser.parse_args(arguments)
    try:
        with open(given.folder, durability="none", create_if_missing=False, leave_out_indexes=True) as db:
            print(db)
            for name in db.tables:
                try:
                    table = db.table(name)
                except SchemaMismatch as error:
                    print(f"\n{name}: {error}")
                    continue
                print(f"\n{table}")
                for index, columns in table.indexes.items():
                    print(f"  index {index}: {', '.join(columns)}")
                names, rows = _repr.cells(table, given.rows)
                lines = [names, *rows]
                widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
                for line in lines if rows else []:
                    print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    except Error as error:
        print(f"python3 -m elider: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
