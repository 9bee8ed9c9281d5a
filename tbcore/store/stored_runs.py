"""What the loader knows of an index: a `RunIndex`, and the `StoredRuns` that it shows of one.

An index comes from an extension in the entry point group `tbcore.index`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tbcore.eventfiles.logdir import LogdirSpec, Scan
from tbcore.eventfiles.storage import EventFile
from tbcore.store.board import Board
from tbcore.store.view import StoredRun
from tbcore.store.work_queue import TrackedRun


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

    @property
    def problems(self) -> Collection[str]:
        """One line for each part of the index that could not be read in the last refresh."""

    def refresh(self) -> None:
        """Sets `runs` to a new mapping if runs were added to the index, changed or removed.

        Raises TbcoreError or OSError if the index cannot be read. May be called in any thread.
        """

    def stored_runs(self, board: Board, *, is_paced: bool) -> StoredRuns:
        """What a loader shows of it. With `is_paced`, an index that costs requests is refreshed at
        most every 30 s."""


class StoredRuns(Protocol):
    """The runs that a loader shows as an index has them, for the loader's thread only.

    A run becomes a `TrackedRun` when its files have changed, and is shown from the index again when
    the index has caught up.
    """

    shown: Mapping[str, StoredRun]
    """The runs that are shown as the index has them; a new mapping whenever they change."""

    @property
    def index(self) -> RunIndex:
        """The index that they are of."""

    def refresh(self, runs: dict[str, TrackedRun]) -> bool:
        """Refreshes the index, and removes from `runs` those that can be shown from it again.

        Returns whether `shown` is another mapping. If the index cannot be read, raises TbcoreError
        or OSError and changes nothing.
        """

    def restrict(self, names: Collection[str] | None, runs: Mapping[str, TrackedRun]) -> bool:
        """Sets `shown` to the runs of the index that are not in `runs`.

        If `names` is given, the names of the runs that a scan found, other runs are left out, too.
        Returns whether `shown` is another mapping.
        """

    def is_up_to_date(self, name: str, files: Sequence[EventFile]) -> bool:
        """Whether the index has all data in the files of a run."""

    def resume_from_index(self, run: TrackedRun) -> None:
        """Makes a new run continue after the data that the index has of it, if it has any."""

    def scan(self, runs: Mapping[str, TrackedRun]) -> Scan:
        """Scans the directories of the viewed runs. Returns their files and those of `runs`."""


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
