"""Storage: what the engine needs of the place where event files are.

`LocalDisk` is that of paths. Distributions add others by URI scheme: an entry point of the group
`tbcore.storage` is named like the scheme, such as `s3`, and names an object with the attributes and
methods of `Storage`. It gets only addresses of its scheme. See `tbcore.eventfiles.addresses`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self, runtime_checkable

from tbcore.eventfiles.other_files import kind_of
from tbcore.text import one_line

MARK = "tfevents"
"""Every regular file with this in its base name is an event file."""

_UNKNOWN_SIZE = sys.maxsize
"""Size of an event file that was not listed or opened."""

_VERSION = "%x-%x"
"""Version of a file on a disk, made from its device and inode."""


def is_event_file(path: str) -> bool:
    """Whether a regular file at this path or URI is an event file: its base name says so."""
    return MARK in os.path.basename(path)


class EventFile(NamedTuple):
    """An event file and its status, by which changes are noticed."""

    path: str
    version: str = ""
    """Identifies the file: another file at the same path has another version. Otherwise opaque.
    Empty for a file that was never opened."""
    size: int = 0
    """Size in bytes."""
    mtime_ns: int = 0
    """Time of the last write, in nanoseconds since the epoch."""
    ctime_ns: int = 0
    """Time of the last change of any kind, in nanoseconds since the epoch. Unlike `mtime_ns`, it
    cannot be set back."""

    @classmethod
    def of(cls, path: str, status: os.stat_result) -> EventFile:
        """The file at `path` on a disk, with this status."""
        return cls(*fields_of(path, status))

    @classmethod
    def unlisted(cls, path: str) -> EventFile:
        """The file at `path`, of which nothing else is known: its `size` is larger than any."""
        return cls(path, size=_UNKNOWN_SIZE)

    @property
    def is_listed(self) -> bool:
        """Whether the size is known."""
        return self.size != _UNKNOWN_SIZE


def fields_of(path: str, status: os.stat_result) -> tuple[str, str, int, int, int]:
    """The fields of the EventFile at `path` with this status."""
    # A scan does this for every file: the operator % takes half as long as an f-string.
    version = _VERSION % (status.st_dev, status.st_ino)
    return path, version, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class Pacing(NamedTuple):
    """When directories are listed whose listings cost requests."""

    pause: float | None = 0.0
    """Pause in seconds; None for 30 s to 10 min, longer while nothing changes or is viewed."""
    is_viewed: Callable[[], bool] = bool
    """Whether a page is visible."""
    is_idle: Callable[[], bool] = bool
    """Whether there have been no requests for data lately, so that an old listing will do."""
    on_listed: Callable[[], object] | None = None
    """Called after each listing, which a scan then does not wait for."""


EACH_SCAN = Pacing()
"""Lists directories in each scan."""

FoundDirectory = tuple[str, str, list[EventFile]]
"""Path of a directory relative to the root (`.` for the root itself), its path or URI, and its
event files, sorted by path. It has no field names, for speed: a scan makes one for each
directory."""


@dataclass(slots=True)
class Found:
    """What one scan of a root has found."""

    directories: list[FoundDirectory] = field(default_factory=list)
    """The directories that were scanned; those without event files may be left out."""
    missing: list[str] = field(default_factory=list)
    """The path of the root, or a part of it, if it does not exist."""
    problems: list[str] = field(default_factory=list)
    """One line for each directory or file that could not be examined."""
    unlisted: list[str] = field(default_factory=list)
    """Directories that exist but could not be listed, so that their files are unknown."""
    other_files: list[tuple[str, str]] = field(default_factory=list)
    """Kind and path of each file beside event files whose data tbcore does not show."""

    def cannot_list(self, directory: str, reason: str) -> None:
        """Adds a directory that could not be listed."""
        self.problems.append(one_line(f"cannot list {directory}: {reason}"))
        self.unlisted.append(directory)

    def cannot_read(self, path: str, reason: str | None) -> None:
        """Adds a file that could not be examined."""
        self.problems.append(one_line(f"cannot read {path}: {reason}"))

    def add_other_file(self, name: str, path: str) -> None:
        """Adds a file that is not an event file, if its kind is known by its path below the root,
        `name`."""
        if kind := kind_of(name):
            self.other_files.append((kind, path))


class OpenFile(Protocol):
    """An event file that is open for reading. A `with` statement around this object closes it.

    Everything that reads event files reads through such an object. Other processes may write to the
    file at any time. All methods raise OSError if they fail.
    """

    is_local: bool
    """Whether reading any bytes of the file costs next to nothing."""

    @property
    def opened(self) -> EventFile:
        """The file's status when it was opened, or when it was listed."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def current_size(self) -> int:
        """The file's size in bytes by now, as far as it is known without a request."""

    def fetch(self, parts: Iterable[tuple[int, int]]) -> None:
        """Prepares for reading parts of the file, each an offset and a size."""

    def read(self, offset: int, size: int) -> bytes:
        """The `size` bytes from `offset` on; fewer at the end of the file."""

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fills the buffer from `offset` on; returns how many bytes there were."""


class Root(Protocol):
    """A directory that is scanned again and again."""

    listed_at: float
    """When the root was last listed, in seconds of the monotonic clock; infinite if each scan lists
    it, and negative infinite if it was not listed yet."""
    num_requests_of_listing: int
    """Number of requests that the last listing took."""

    @property
    def has_links(self) -> bool:
        """Whether the last scan found links, behind which no change is reported."""

    @property
    def num_requests(self) -> Mapping[str, int]:
        """Number of requests so far, by the address of what answers them. Roots may share it."""

    @property
    def seconds_left(self) -> float:
        """Time until the root is to be listed again; infinite if each scan lists it."""

    def list_soon(self) -> None:
        """Makes the next scan list the root, whenever it was listed last."""

    def scan(self) -> Found:
        """Finds all event files below the root. Nothing is raised.

        If listings are paced, the result may be that of an earlier scan.
        """


@runtime_checkable
class Storage(Protocol):
    """Where event files are, by the addresses of one scheme. Any thread may call the methods."""

    requests_cost: bool
    """Whether each request costs time or money. Then roots are listed at a pace of their own, bytes
    of many files are fetched ahead at once, and no process is forked while files are read."""
    has_versions_of_content: bool
    """Whether the `version` of a file, if it has one, changes whenever its bytes do. Otherwise it
    changes only if there is another file at the path."""

    def checked_address(self, address: str) -> str:
        """The address of a directory as it is used and shown: without a password.

        It is given with its scheme in small letters and without a slash at its end. Connects to
        nothing. Raises UnknownStorageError, with one sentence, if it cannot be one of a directory,
        and ImportError if a package for it is not installed.
        """

    def root(self, address: str, pacing: Pacing) -> Root:
        """The directory at a checked address, for repeated scans."""

    def files_in(self, directory: str) -> list[EventFile]:
        """The event files directly in a directory, sorted by path. Raises OSError."""

    def open_file(self, file: EventFile) -> OpenFile:
        """Opens a file that was listed, or is `EventFile.unlisted`. Raises OSError."""

    def fetch_ahead(self, files: Iterable[tuple[EventFile, int]], max_bytes: int) -> None:
        """Fetches bytes of many listed files at once, for their next reading.

        Each file comes with the offset of the first byte that is wanted. At most `max_bytes` of
        each file are fetched. Errors are left to the next reading.
        """

    def has_fetched(self, file: EventFile, end: int = 0) -> bool:
        """Whether bytes of this file up to `end` were fetched ahead, or could not be."""

    def forget_fetched(self, path: str) -> None:
        """Frees the bytes of a file that were fetched ahead, which an open file still has."""
