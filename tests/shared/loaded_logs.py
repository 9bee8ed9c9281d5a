"""Logs: a log directory with a loader, and what a test does to both."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS

from tbcore.errors import NotFoundError
from tbcore.eventfiles import tail
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.kinds import Claim
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.tuning import Tuning
from tbcore_testing import EventFileWriter

SCALARS = (Claim("simple_value"),)


class SlicedLoader(Loader):
    """A loader that calls functions of the test before and after each time slice."""

    before_slice: Callable[[], object]
    after_slice: Callable[[], object]

    def _read_slice(self, run: Any) -> None:
        self.before_slice()
        super()._read_slice(run)
        self.after_slice()


class Logs:
    """A log directory, a loader for it, and its multiplexer."""

    def __init__(self, path: Path, **tuning: Any) -> None:
        self.path = path
        self.tuning = Tuning(**tuning)
        self.board = Board()
        self.multiplexer = Multiplexer(board=self.board)
        self.loader = self.new_loader()

    def new_loader(
        self,
        *,
        before_slice: Callable[[], object] = lambda: None,
        after_slice: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> Loader:
        specs = [LogdirSpec(None, str(self.path))]
        made = SlicedLoader(self.board, specs, tuning=self.tuning, **options)
        made.before_slice, made.after_slice = before_slice, after_slice
        return made

    def tune(self, **fields: Any) -> None:
        """Replaces the loader by one with these fields of its tuning changed."""
        self.tuning = dataclasses.replace(self.tuning, **fields)
        self.loader = self.new_loader()

    def write(self, file: str, *steps: int, wall_time: float = 100.0, value: float = 0.0) -> Path:
        """Appends the steps of the tag "loss" to a file; returns its path."""
        path = self.path / file
        with EventFileWriter(path, wall_time=wall_time) as writer:
            for step in steps:
                writer.add_scalar("loss", value, step)
        return path

    def load(self) -> None:
        self.loader.load_once()

    def steps(self, run: str = "run", tag: str = "loss") -> list[int]:
        try:
            return list(self.multiplexer.scalars(run, tag).step.tolist())
        except NotFoundError:
            return []

    def values(self, run: str = "run") -> set[float]:
        return set(self.multiplexer.scalars(run, "loss").value.tolist())

    def watch(self, read: Callable[[], Any]) -> list[Any]:
        """A list that grows by the result of `read` at each commit and change of status."""
        seen: list[Any] = []
        self.board.subscribe(lambda: seen.append(read()))
        return seen

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Waits until the loader's thread has made `is_done` return true."""
        changed = threading.Event()
        self.board.subscribe(changed.set)
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_done():
            assert changed.wait(deadline - time.monotonic()), "the loader makes no progress"
            changed.clear()

    @property
    def threads(self) -> list[threading.Thread]:
        """The loader's threads: one that loads, and one that waits for changes of files."""
        return self.loader.threads

    def join(self) -> None:
        """Waits for the end of the loader's threads."""
        for thread in self.threads:
            thread.join(WAIT_SECONDS)
            assert not thread.is_alive()

    def end(self) -> None:
        """Ends the loader's threads."""
        self.loader.stop()
        self.join()


def board_of(logdir: Path) -> Board:
    """A board with the data of a log directory."""
    board = Board()
    Loader(board, [LogdirSpec(None, str(logdir))]).load_once()
    return board


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    path = tmp_path / "logdir"
    path.mkdir()
    return Logs(path)


@pytest.fixture
def small_slices(logs: Logs) -> None:
    """Makes each time slice read 1 kB, and publish it; no file is preloaded."""
    logs.tune(piece_bytes=1024, small_file_bytes=0, time_slice_bytes=1, publish_interval_seconds=0)


@pytest.fixture
def long_ago(logs: Logs) -> None:
    """Makes all files seem written long ago: their change times cannot be set back."""
    logs.tune(clock_resolution_seconds=0)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`broken(RunData, "commit", when=is_bad)`: calls with arguments for which `is_bad` is true
    fail with a bug, before they do anything."""

    def break_(owner: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:
        real = getattr(owner, name)

        def fail(*arguments: Any, **options: Any) -> Any:
            if when(*arguments):
                raise KeyError("a bug")
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, fail)

    return break_


@pytest.fixture
def after_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], object]], None]:
    """`after_read(f)`: calls f with the path of a file when a time slice has read from it."""

    def call(callback: Callable[[str], object]) -> None:
        real = tail.FileReader.read

        def read(self: tail.FileReader, *limits: Any) -> Iterator[Any]:
            yield from real(self, *limits)
            callback(self.path)

        monkeypatch.setattr(tail.FileReader, "read", read)

    return call


# -- files that were replaced or changed ---------------------------------------------------------


def replace(path: Path, data: bytes) -> None:
    """Puts another file in its place, as editors and synchronization tools do."""
    other = path.with_name(".new")
    other.write_bytes(data)
    os.replace(other, path)
