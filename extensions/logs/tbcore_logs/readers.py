"""What reads a path: a LazyReader, or for an index a StoredReader, which has the same methods."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from tbcore import DataLossError, NotFoundError, TbcoreError
from tbcore.engine import (
    ExtensionError,
    OptionError,
    RunView,
    checked_address,
    guarded,
    is_uri,
    loaded,
)
from tbcore_logs.paths import ROOT, Paths
from tbcore_logs.reading import LazyReader, Problems, RunSnapshot

logger = logging.getLogger("tbcore.logs")

_INDEX = "tbcore.index", "index"
"""Group and name of the entry point for indexes."""


class StoredReader(Problems):
    """The runs of an index, with the methods of a LazyReader. Does not scan the logs."""

    def __init__(self, path: str) -> None:
        """Opens the index. Raises TbcoreError if that fails."""
        super().__init__()
        extension = loaded(*_INDEX)
        with guarded(*_INDEX):
            self._index = extension.open(path)
        for line in self._index.warnings:
            logger.warning("%s", line)
        self.directories = [path]
        self.report(*self._index.problems)

    def names(self) -> list[str]:
        return list(self._index.runs)

    def names_below(self, name: str) -> list[str]:
        return [
            n for n in self._index.runs if n != name and (name == ROOT or n.startswith(f"{name}/"))
        ]

    def __contains__(self, name: object) -> bool:
        return name in self._index.runs

    def snapshots(self, names: Iterable[str]) -> dict[str, RunSnapshot]:
        runs = self._index.runs
        found = {}
        for name in names:
            if name not in runs:
                raise NotFoundError(f"run {name!r} is gone")
            view: RunView = runs[name]
            self.report(*runs[name].problems)
            try:
                runs[name].check()
            except DataLossError as error:
                self.report(str(error))
                view = RunView()
            found[name] = RunSnapshot(view, runs[name].modified)
        return found

    def last_event_times(self, names: Sequence[str]) -> list[float | None]:
        return [self._index.runs[name].last_event_time for name in names]

    def refresh(self) -> set[str]:
        before = self._index.runs
        self._index.refresh()
        self.report(*self._index.problems)
        after = self._index.runs
        return {n for n in before.keys() | after.keys() if before.get(n) is not after.get(n)}

    def forget(self, name: str) -> None:
        """Does nothing: the data is in the index."""

    @property
    def problems(self) -> list[str]:
        """The problems of the index, and of the runs that were used, one line each."""
        return [*dict.fromkeys([*self._problems, *self._index.problems])]

    @property
    def sizes(self) -> Mapping[str, int]:
        return {n: sum(run.sizes) for n, run in self._index.runs.items()}


def reader_of(paths: Paths, *, purge_orphaned_data: bool = True) -> Reader:
    """A reader of logs, or of an index if there is one at the path."""
    reader = _reader_of(paths, purge_orphaned_data)
    reader.opened = paths, purge_orphaned_data
    return reader


def _reader_of(paths: Paths, purge_orphaned_data: bool) -> Reader:
    if isinstance(paths, str | os.PathLike):
        path = checked_address(os.path.expanduser(os.fsdecode(paths)))
        if not is_uri(path) and _is_index(path):
            return StoredReader(path)
        reader = LazyReader(path, purge_orphaned_data=purge_orphaned_data)
        # Checked last for an object store, where the check costs requests.
        if is_uri(path) and not reader.sizes and _is_index(path):
            return StoredReader(path)
        return reader
    return LazyReader(paths, purge_orphaned_data=purge_orphaned_data)


def _is_index(path: str) -> bool:
    """Whether there is an index at a path.

    Without the extension for indexes, raises an error for an index on a disk, and returns False for
    anything else.
    """
    extension = _index_extension()
    if extension is None:
        if os.path.isdir(os.path.join(path, "runs", "_delta_log")):
            loaded(*_INDEX)  # Raises the error with the package to install.
        return False
    try:
        with guarded(*_INDEX):
            return bool(extension.is_index(path))
    except ExtensionError as error:  # Logs can still be read.
        logger.warning("%s", error)
        return False


@cache
def _index_extension() -> Any:
    """The extension for indexes, searched for once; None if there is none."""
    try:
        return loaded(*_INDEX)
    except OptionError:
        return None
    except TbcoreError as error:  # Logs can still be read.
        logger.warning("%s", error)
        return None


Reader = LazyReader | StoredReader
