"""StoredRuns: the runs of an index that the loader shows as they are there.

A run of an index becomes a `TrackedRun` when its files have changed, and is shown from the index
again when the index has caught up. The core knows an index only as a `RunIndex`, which an extension
has that is found through the entry point group `tbcore.index`.
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
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.view import StoredRun
from tbcore.store.work_queue import TrackedRun

_VIEWED_SECONDS = 60.0
"""How long a run is looked at after somebody requested data of it."""
_MAX_VIEWED = 1000
_PAUSE_SECONDS = 30.0
"""Pause between two looks at an index that costs requests."""


class RunIndex(Protocol):
    """The runs of an index, as of the last refresh."""

    path: str
    runs: Mapping[str, StoredRun]
    """By name, in the order in which they are listed. Runs that did not change are the same
    objects before and after a refresh."""
    specs: Sequence[LogdirSpec]
    """The log directories that the index was made from."""
    purge_orphaned_data: bool
    """Whether orphaned rows were dropped."""
    found: Mapping[str, Sequence[EventFile]]
    """The files of the runs that a scan of the user's directories found. An index may name any
    path: it opens these files, those below directories that the user has confirmed, and no other.
    The loader sets it."""
    warnings: Collection[str]
    """A line if no file is opened, since the user has confirmed none of the log directories."""

    def bookmark(self, name: str, revision: str) -> Sequence[Any]:
        """What `RunReader.go_on_at` needs for a run of this revision.

        Raises TbcoreError or OSError if the index cannot be read, or has another revision by now.
        """

    @property
    def problems(self) -> Collection[str]:
        """One line for each part of the index that cannot be read, as of the last refresh."""

    def may_open(self, run: str, path: str) -> bool:
        """Whether a file or directory of a run, which the index names, may be opened."""

    def refresh(self) -> None:
        """Sets `runs` to a new mapping, if something was added to the index or removed.

        Raises TbcoreError or OSError if the index cannot be read. May be called by any thread.
        """


class IndexExtension(Protocol):
    """What the entry point of the group `tbcore.index` names: a module, for example."""

    def open(self, path: str, *, is_server: bool = False, logdirs: Sequence[str] = ()) -> RunIndex:
        """Opens an index, for a server or for anybody's process. Raises TbcoreError if there is
        none. The user has confirmed `logdirs`."""

    def is_index(self, path: str) -> bool:
        """Whether there is an index at a path. Raises TbcoreError if that cannot be found out."""

    def check(self, path: str, specs: Sequence[LogdirSpec]) -> Any:
        """Reads all of an index, and compares it with the logs below `specs`: a CheckReport."""


class StoredRuns:
    """The runs of an index, for the loader's thread only."""

    def __init__(self, index: RunIndex, multiplexer: Multiplexer, *, is_paced: bool) -> None:
        """With `is_paced`, an index that costs requests is looked at only now and then."""
        costs = storage_of(index.path).requests_cost
        self._min_pause = _PAUSE_SECONDS if is_paced and costs else 0.0
        self._looked_at = -math.inf
        self.index = index
        self._multiplexer = multiplexer
        self._seen: Mapping[str, StoredRun] | None = None
        """The runs of the index at the last refresh."""
        self._begun_at: dict[str, StoredRun] = {}
        """Where the tracked runs went on."""
        self.shown: Mapping[str, StoredRun] = {}
        """The runs that are shown as they are in the index; a new mapping whenever they change."""

    def refresh(self, runs: dict[str, TrackedRun]) -> bool:
        """Takes note of what the index has now, and removes the runs from `runs` that it shows.

        Returns whether `shown` is another mapping. Raises TbcoreError or OSError if the index
        cannot be read; then everything stays as it was.
        """
        if time.monotonic() - self._looked_at < self._min_pause:
            return False
        self.index.refresh()
        self._looked_at = time.monotonic()
        if self.index.runs is self._seen:
            return False
        self._seen = self.index.runs
        viewed = self._viewed()
        for name, run in list(runs.items()):
            stored, begun = self.index.runs.get(name), self._begun_at.get(name)
            if stored is None or stored is begun or run.reader.has_work:
                continue
            # Without a scan of all files, a run that nobody views is not looked at any more.
            if stored.is_as_of(run.files) or (begun and name not in viewed):
                del runs[name]
        return self.restrict(None, runs)

    def restrict(self, names: Collection[str] | None, runs: Mapping[str, TrackedRun]) -> bool:
        """Shows the runs that are not in `runs`, and of which a scan found the names, if given.

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
        """Whether the index has all that is in the files of a run."""
        stored = self.index.runs.get(name)
        return stored is not None and stored.is_as_of(files)

    def hand_over(self, run: TrackedRun) -> None:
        """Makes a new run go on where the index ends, if it is there."""
        if stored := self.index.runs.get(run.name):
            self._begun_at[run.name] = stored
            run.view = stored
            try:
                run.go_on_at(self.index.bookmark(run.name, stored.revision), stored)
            except (TbcoreError, OSError):
                run.read_from_start()

    def scan(self, runs: Mapping[str, TrackedRun]) -> Scan:
        """The files of the runs that somebody views, as they are now, and of all tracked ones."""
        found = Scan()
        viewed = self._viewed()
        for name in viewed | runs.keys():
            if stored := self.index.runs.get(name):
                if name not in runs and not stored.may_be_opened:
                    continue
                files = list(runs[name].files if name in runs else stored.known_files)
                found.runs[name] = files
                directory = os.path.dirname(files[0].path) if files else ""
                # A confirmed file may be in a directory that is not.
                if name in viewed and directory and self.index.may_open(name, directory):
                    try:
                        found.runs[name] = storage_of(directory).files_in(directory) or files
                    except OSError as error:
                        found.problems.append(f"run {name}: {error.strerror or error}")
        return found

    def _viewed(self) -> set[str]:
        """Names of the runs of which somebody requested data in the last minute."""
        since = time.monotonic() - _VIEWED_SECONDS
        requested_at = self._multiplexer.requested_at.copy()  # other threads add to it
        last = sorted(requested_at.items(), key=lambda item: item[1])
        return {name for name, at in last[-_MAX_VIEWED:] if at >= since}
