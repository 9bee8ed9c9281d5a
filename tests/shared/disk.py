"""The local disk, other storages and the clock as the code under test sees them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tbcore.eventfiles import addresses
from tbcore.eventfiles.local_disk import LocalFile
from tbcore.eventfiles.storage import Storage

__all__ = ["clock", "disk", "mount"]


class Disk:
    """What is listed, opened and read in this process, and what cannot be.

    Errors are set here, since permissions do not stop root, who runs containers.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listed: list[str] = []
        """Paths of the directories that were listed, in order."""
        self.opened: list[str] = []
        """Paths of the event files that were opened, in order."""
        self.num_bytes = 0
        """Number of bytes that were read of event files into buffers."""
        self.num_bytes_of_parts = 0
        """Number of bytes that were read of event files otherwise."""
        self.errors: dict[str, Exception] = {}
        """Maps paths to what a listing or an opening raises."""
        self.before_open: Callable[[str], object] = lambda path: None
        self.after_open: Callable[[str], object] = lambda path: None
        self.after_read: Callable[[str], object] = lambda path: None
        scandir, init = os.scandir, LocalFile.__init__
        read, read_into = LocalFile.read, LocalFile.read_into

        def list_directory(path: Any = ".") -> Any:
            self.fail(str(path))
            self.listed.append(path)
            return scandir(path)

        def open_file(file: LocalFile, path: str, below: str = "") -> None:
            self.before_open(path)
            self.fail(path)
            self.opened.append(path)
            init(file, path, below)
            self.after_open(path)

        def read_file(file: LocalFile, buffer: memoryview, offset: int) -> int:
            count = read_into(file, buffer, offset)
            self.num_bytes += count
            self.after_read(file.opened.path)
            return count

        def read_part(file: LocalFile, offset: int, size: int) -> bytes:
            data = read(file, offset, size)
            self.num_bytes_of_parts += len(data)
            return data

        monkeypatch.setattr(os, "scandir", list_directory)
        monkeypatch.setattr(LocalFile, "__init__", open_file)
        monkeypatch.setattr(LocalFile, "read", read_part)
        monkeypatch.setattr(LocalFile, "read_into", read_file)

    def refuse(self, path: Path | str) -> None:
        """Makes a directory or an event file one that cannot be opened."""
        self.errors[str(path)] = PermissionError(13, "Permission denied", str(path))

    def fail(self, path: str) -> None:
        if path in self.errors:
            raise self.errors[path]


class Clock:
    """Stands in for the module `time` where a test says so. Time passes when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        """What `monotonic` returns."""
        self.ahead = 0.0
        """How much later it is than on this machine, in seconds, for `time` and `time_ns`."""
        self.sleep: Callable[[float], object] = self.advance
        self.monkeypatch = monkeypatch

    def rules(self, *modules: ModuleType) -> None:
        """Makes this the clock of modules that import `time`."""
        for module in modules:
            self.monkeypatch.setattr(module, "time", self)

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return time.time() + self.ahead

    def time_ns(self) -> int:
        return time.time_ns() + int(self.ahead * 1e9)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def mount(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Storage], None]:
    """`mount("ftp", storage)`: the storage for URIs with this scheme, as if it were installed."""

    def add(scheme: str, storage: Storage) -> None:
        monkeypatch.setitem(addresses._storages, scheme, storage)

    return add
