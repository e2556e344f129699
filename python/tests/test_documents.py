"""Examples in docstrings and in docs/python.md, and the command."""

import doctest
import os
import pathlib
import subprocess
import sys

import pytest

import elider
import elider._database
import elider._schema
import elider._table


@pytest.mark.parametrize("module", [elider, elider._database, elider._schema, elider._table])
def test_docstrings(module):
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0


def test_tutorial(tmp_path, monkeypatch):
    source = os.environ.get("ELIDER_SOURCE_DIR") or pathlib.Path(__file__).parents[2]
    page = pathlib.Path(source) / "docs" / "python.md"
    blocks = [block.split("```")[0] for block in page.read_text().split("```python\n")[1:]]
    assert len(blocks) >= 5
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "tutorial"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


def test_command(folder):
    with elider.open(folder) as db:
        db.table("words", {"n": int}, key=str, indexes={"by_n": "n"})["a"] = {"n": 5}
    command = [sys.executable, "-m", "elider"]
    shown = subprocess.run([*command, folder], capture_output=True, text=True, check=True).stdout
    assert "'words': 1 rows" in shown and "by_n" in shown and "5" in shown
    missing = subprocess.run([*command, folder + ".none"], capture_output=True, text=True)
    assert missing.returncode == 1 and "none" in missing.stderr and "Traceback" not in missing.stderr
