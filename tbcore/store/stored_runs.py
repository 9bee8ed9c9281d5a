"""StoredRuns: the runs that the loader shows as an index has them, without reading their files.

A run of an index becomes a `TrackedRun` when its files have changed, and is shown from the index
again when the index has caught up. The core knows an index only as a `RunIndex`, which comes from
an extension in the entry point group `tbcore.index`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tbcore.errors import TbcoreError
from tbcore.eventfiles.addresses import storage_of
from tbcore.eventfiles.logdir import LogdirSpec, Scan
from tbcore.eventfiles.storage import EventFile
from tbcore.store.board import Board
from tbcore.store.view import StoredRun
from tbcore.store.work_queue import TrackedRun

_VIEWED_SECONDS = 60.0
"""How long a run counts as viewed after its data was requested."""
_MAX_VIEWED = 1000
"""Maximum number of runs that count as viewed, the most recently requested ones."""
_PAUSE_SECONDS = 30.0
"""Pause between two refreshes of an index that costs requests."""


class RunIndex(Protocol):
    """The runs of an index, as of the last refresh."""

    path: str
    runs: Mapping[str, StoredRun]
    """By name, in the order in which they are listed. A refresh keeps the objects of runs that have
    not changed."""
    specs: Sequence[LogdirSpec]
    """The log directories that the index was made from."""
    purge_orphaned_data: bool
    """Whether orphaned rows were dropped."""
    found: Mapping[str, Sequence[EventFile]]
    """The files of each run that the last scan of the user's directories found. Set by the loader.
    The index opens only these files, and files below directories that the user has confirmed: it
    may come from someone else and name any path."""
    warnings: Collection[str]
    """A line if no file is opened because the user has confirmed none of the log directories."""

    def bookmark(self, name: str, revision: str) -> Sequence[Any]:
        """The bookmark of a run at this revision, for `RunReader.resume_at`.

        Raises TbcoreError or OSError if the index cannot be read, or now has another revision.
        """

    @property
    def problems(self) -> Collection[str]:
        """One line for each part of the index that could not be read in the last refresh."""

    def may_open(self, run: str, path: str) -> bool:
        """Whether a path that the index names as a file or directory of a run may be opened."""

    def refresh(self) -> None:
        """Sets `runs` to a new mapping if runs were added to the index, changed or removed.

        Raises TbcoreError or OSError if the index cannot be read. May be called in any thread.
        """


class IndexExtension(Protocol):
    """The object, such as a module, that an entry point of the group `tbcore.index` names."""

    def open(self, path: str, *, is_server: bool = False, logdirs: Sequence[str] = ()) -> RunIndex:
        """Opens the index at a path, for a server or for a program that reads logs.

        The user has confirmed `logdirs`. Raises TbcoreError if there is no index.
        """

    def is_index(self, path: str) -> bool:
        """Whether there is an index at a path. Raises TbcoreError if this cannot be determined."""

    def check(self, path: str, specs: Sequence[LogdirSpec]) -> Any:
        """Compares a whole index with the logs below `specs`. Returns a CheckReport."""


class StoredRuns:
    """The runs of an index, for the loader's thread only."""

    def __init__(self, index: RunIndex, board: Board, *, is_paced: bool) -> None:
        """With `is_paced`, an index that costs requests is refreshed at most every 30 s."""
        costs = storage_of(index.path).requests_cost
        self._min_pause = _PAUSE_SECONDS if is_paced and costs else 0.0
        self._refreshed_at = -math.inf
        self.index = index
        self._board = board
        self._seen: Mapping[str, StoredRun] | None = None
        """The runs of the index at the last refresh."""
        self._begun_at: dict[str, StoredRun] = {}
        """The runs of the index from which the tracked runs were resumed."""
        self.shown: Mapping[str, StoredRun] = {}
        """The runs that are shown as the index has them; a new mapping whenever they change."""

    def refresh(self, runs: dict[str, TrackedRun]) -> bool:
        """Refreshes the index, and removes from `runs` those that can be shown from it again.

        Returns whether `shown` is another mapping. If the index cannot be read, raises TbcoreError
        or OSError and changes nothing.
        """
        if time.monotonic() - self._refreshed_at < self._min_pause:
            return False
        self.index.refresh()
        self._refreshed_at = time.monotonic()
        if self.index.runs is self._seen:
            return False
        self._seen = self.index.runs
        viewed = self._viewed()
        for name, run in list(runs.items()):
            stored, begun = self.index.runs.get(name), self._begun_at.get(name)
            if stored is None or stored is begun or run.reader.has_work:
                continue
            # If not all files are scanned, runs that are no longer viewed are not tracked any more.
            if stored.is_as_of(run.files) or (begun and name not in viewed):
                del runs[name]
        return self.restrict(None, runs)

    def restrict(self, names: Collection[str] | None, runs: Mapping[str, TrackedRun]) -> bool:
        """Sets `shown` to the runs of the index that are not in `runs`.

        If `names` is given, the names of the runs that a scan found, other runs are left out, too.
        Returns whether `shown` is another mapping.
        """
        shown = self.index.runs
        if runs or names is not None:
            names = shown.keys() if names is None else names
            shown = {n: run for n, run in shown.items() if n in names and n not in runs}
        if shown == self.shown:
            return False
        self.shown = shown
        return True

    def is_up_to_date(self, name: str, files: list[EventFile]) -> bool:
        """Whether the index has all data in the files of a run."""
        stored = self.index.runs.get(name)
        return stored is not None and stored.is_as_of(files)

    def resume_from_index(self, run: TrackedRun) -> None:
        """Makes a new run continue after the data that the index has of it, if it has any."""
        if stored := self.index.runs.get(run.name):
            self._begun_at[run.name] = stored
            run.view = stored
            try:
                run.resume_at(self.index.bookmark(run.name, stored.revision), stored)
            except (TbcoreError, OSError):
                run.read_from_start()

    def scan(self, runs: Mapping[str, TrackedRun]) -> Scan:
        """Scans the directories of the viewed runs. Returns their files and those of `runs`."""
        found = Scan()
        viewed = self._viewed()
        for name in viewed | runs.keys():
            if stored := self.index.runs.get(name):
                if name not in runs and not stored.may_be_opened:
                    continue
                files = list(runs[name].files if name in runs else stored.known_files)
                found.runs[name] = files
                directory = os.path.dirname(files[0].path) if files else ""
                # The directory of a confirmed file need not be confirmed.
                if name in viewed and directory and self.index.may_open(name, directory):
                    try:
                        found.runs[name] = storage_of(directory).files_in(directory) or files
                    except OSError as error:
                        found.problems.append(f"run {name}: {error.strerror or error}")
        return found

    def _viewed(self) -> set[str]:
        """The names of the runs whose data was requested in the last minute."""
        since = time.monotonic() - _VIEWED_SECONDS
        requested_at = self._board.requested_at.copy()  # other threads add to it
        last = sorted(requested_at.items(), key=lambda item: item[1])
        return {name for name, at in last[-_MAX_VIEWED:] if at >= since}
