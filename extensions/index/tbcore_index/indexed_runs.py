"""IndexedRuns: which runs a loader shows as an index has them, without reading their files.

A run of an index becomes a `TrackedRun` when its files have changed, and is shown from the index
again when the index has caught up.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from tbcore import TbcoreError
from tbcore.engine import Board, EventFile, Scan, StoredRun, TrackedRun, storage_of

if TYPE_CHECKING:
    from tbcore_index.reader import IndexReader

_VIEWED_SECONDS = 60.0
"""How long a run counts as viewed after its data was requested."""
_MAX_VIEWED = 1000
"""Maximum number of runs that count as viewed, the most recently requested ones."""
_PAUSE_SECONDS = 30.0
"""Pause between two refreshes of an index that costs requests."""


class IndexedRuns:
    """The runs of an index that a loader shows; see `StoredRuns` of `tbcore.store.stored_runs`."""

    def __init__(self, index: IndexReader, board: Board, *, is_paced: bool) -> None:
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

    def refresh(self, runs: dict[str, TrackedRun]) -> bool:
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
        shown = self.index.runs
        if runs or names is not None:
            names = shown.keys() if names is None else names
            shown = {n: run for n, run in shown.items() if n in names and n not in runs}
        if shown == self.shown:
            return False
        self.shown = shown
        return True

    def is_up_to_date(self, name: str, files: Sequence[EventFile]) -> bool:
        stored = self.index.runs.get(name)
        return stored is not None and stored.is_as_of(files)

    def resume_from_index(self, run: TrackedRun) -> None:
        if stored := self.index.runs.get(run.name):
            self._begun_at[run.name] = stored
            run.view = stored
            try:
                run.resume_at(self.index.bookmark(run.name, stored.revision), stored)
            except (TbcoreError, OSError):
                run.read_from_start()

    def scan(self, runs: Mapping[str, TrackedRun]) -> Scan:
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
