"""Applies the fixtures of every test to the tests of extensions; directories for notes."""

from pathlib import Path

import pytest
from common_fixtures import *  # noqa: F403
from server_fixtures import *  # noqa: F403


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This user's data directory."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A log directory without runs."""
    path = tmp_path / "runs"
    path.mkdir()
    return path
