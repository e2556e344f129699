import pathlib

import pytest

import elider


@pytest.fixture
def db():
    with elider.open() as database:
        yield database


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> str:
    return str(tmp_path / "data")
