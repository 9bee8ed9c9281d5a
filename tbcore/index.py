"""RunIndex: runs that were read before, by this program or another one, and were kept since.

The core knows only this seam. `tbcore-index` is a distribution that has an index, and is found
through the entry point group `tbcore.index`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tbcore.extensions import INDEX, loaded

if TYPE_CHECKING:  # `tbcore --help` asks for the extension, and must not import numpy.
    from tbcore.eventfiles.logdir import EventFile, LogdirSpec
    from tbcore.store.view import StoredRun


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


class Extension(Protocol):
    """What the entry point names."""

    def open(self, path: str, *, is_server: bool = False, logdirs: Sequence[str] = ()) -> RunIndex:
        """Opens an index, for a server or for anybody's process. Raises TbcoreError if there is
        none. The user has confirmed `logdirs`."""

    def check(self, path: str, specs: Sequence[LogdirSpec]) -> Any:
        """Reads all of an index, and compares it with the logs below `specs`: a CheckReport."""


def extension() -> Extension:
    """The extension for indexes. Raises OptionError if none is installed."""
    found: Extension = loaded(INDEX, "index")
    return found
