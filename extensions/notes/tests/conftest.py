"""Applies the fixtures of every test to the tests of extensions; directories for notes."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from common_fixtures import *  # noqa: F403
from server_fixtures import *  # noqa: F403

Opened = Callable[[str, int, Callable[[], int]], int]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This user's data directory."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Callable[[Opened], None]:
    """`opening(f)`: `f(path, flags, open_file)` opens files of notes, by a call of the last one."""
    real = os.open

    def replace(opened: Opened) -> None:
        def opened_file(path: str, flags: int, *mode: int, **options: int) -> int:
            def open_file() -> int:
                return real(path, flags, *mode, **options)

            is_of_notes = str(path).endswith(".jsonl")
            return opened(path, flags, open_file) if is_of_notes else open_file()

        monkeypatch.setattr(os, "open", opened_file)

    return replace


@pytest.fixture(params=["disk", "tmpfs"])
def logdir_of_each_system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A log directory without runs, on file systems that give inodes and times differently."""
    if request.param == "tmpfs" and not os.access("/dev/shm", os.W_OK):
        pytest.skip("/dev/shm is no tmpfs here")
    with tempfile.TemporaryDirectory(
        dir=tmp_path if request.param == "disk" else "/dev/shm"
    ) as made:
        (Path(made) / "runs").mkdir()
        yield Path(made) / "runs"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A log directory without runs."""
    path = tmp_path / "runs"
    path.mkdir()
    return path
