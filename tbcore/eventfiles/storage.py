"""Storage: the protocols through which the core finds and reads event files.

`LocalDisk` is the storage for paths. Distributions add storages for URIs: an entry point of the
group `tbcore.storage` has the URI scheme as its name, such as `s3`, and refers to an object with
the attributes and methods of `Storage`. That object gets only addresses with its scheme. See
`tbcore.eventfiles.addresses`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from tbcore.eventfiles.other_files import depth_of
from tbcore.text import one_line

MARK = "tfevents"
"""Every regular file with this in its base name is an event file."""

_UNKNOWN_SIZE = sys.maxsize
"""Size of an event file that was not listed or opened."""

_VERSION = "%x-%x"
"""Version of a file on a disk, made from its device and inode."""


def is_event_file(path: str) -> bool:
    """Whether the base name in a path or URI is that of an event file."""
    return MARK in os.path.basename(path)


class EventFile(NamedTuple):
    """An event file and its status, which changes when the file does."""

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
        """A file of which only the path is known; its `size` is larger than that of any file."""
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
    """How often to list directories that cost requests to list, and which other files to find."""

    pause: float | None = 0.0
    """Pause in seconds; None for 30 s to 10 min, which grows while nothing changes or is viewed."""
    is_viewed: Callable[[], bool] = bool
    """Whether a page is visible."""
    is_idle: Callable[[], bool] = bool
    """Whether there have been no requests for data lately, so that an old listing will do."""
    on_listed: Callable[[], object] | None = None
    """Called after each listing; scans then do not wait for listings. None if scans wait."""
    patterns: Callable[[], frozenset[str]] = frozenset
    """The patterns of files that plugins claim: see `Claim.files`."""

    def is_claimed(self, name: str) -> bool:
        """Whether a plugin claims a file, given its path relative to the root."""
        return depth_of(name, self.patterns()) >= 0


EACH_SCAN = Pacing()
"""Lists directories in each scan."""

FoundDirectory = tuple[str, str, list[EventFile]]
"""Path of a directory relative to the root (`.` for the root itself), its path or URI, and its
event files, sorted by path. It has no field names, for speed: a scan makes one for each
directory."""


@dataclass(slots=True)
class Found:
    """The result of one scan of a root."""

    directories: list[FoundDirectory] = field(default_factory=list)
    """The directories that were scanned; those without event files may be left out."""
    missing: list[str] = field(default_factory=list)
    """The path of the root, or a part of it, if it does not exist."""
    problems: list[str] = field(default_factory=list)
    """One line for each directory or file that could not be examined."""
    unlisted: list[str] = field(default_factory=list)
    """Directories that exist but could not be listed, so that their files are unknown."""
    other_files: list[tuple[str, EventFile]] = field(default_factory=list)
    """Files that are not event files: those that match one of the patterns, with their status, and
    those of a known kind, unlisted. Each after its path relative to the root. No step of the path
    from the directory of the pattern to a file with a status is a link."""
    twins: list[Any] = field(default_factory=list)
    """Logs of other programs, SourceFiles, that are left out: event files are beside them."""

    def cannot_list(self, directory: str, reason: str) -> None:
        """Adds a directory that could not be listed."""
        self.problems.append(one_line(f"cannot list {directory}: {reason}"))
        self.unlisted.append(directory)

    def cannot_read(self, path: str, reason: str | None) -> None:
        """Adds a file that could not be examined."""
        self.problems.append(one_line(f"cannot read {path}: {reason}"))


class OpenFile(Protocol):
    """An event file that is open for reading, until the end of a `with` statement.

    Every byte of an event file is read through such an object. Other processes may write to the
    file at any time. All methods raise OSError if they fail.
    """

    is_local: bool
    """Whether reads are cheap, as they are from a local disk."""

    @property
    def opened(self) -> EventFile:
        """The file's status when it was opened, or when it was listed."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def current_size(self) -> int:
        """The file's size in bytes now, or the latest known size if finding out costs a request."""

    def fetch(self, parts: Iterable[tuple[int, int]]) -> None:
        """Announces parts of the file that will be read, each as an offset and a size."""

    def read(self, offset: int, size: int) -> bytes:
        """Reads `size` bytes at `offset`; fewer at the end of the file."""

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fills the buffer with the bytes at `offset`; returns the number of bytes read."""


class Root(Protocol):
    """A directory that is scanned again and again."""

    listed_at: float
    """When the root was last listed, in seconds of the monotonic clock. Infinity if every scan
    lists it, and negative infinity if it has not been listed yet."""
    num_requests_of_listing: int
    """Number of requests that the last listing took."""

    @property
    def has_links(self) -> bool:
        """Whether the last scan found links. The system reports no changes in their targets."""

    @property
    def num_requests(self) -> Mapping[str, int]:
        """Maps the address of each server to the number of requests to it so far. Several roots may
        count the same requests."""

    @property
    def seconds_left(self) -> float:
        """Time until the root is to be listed again; infinite if every scan lists it."""

    def list_soon(self) -> None:
        """Makes the next scan list the root, even if it was listed a moment ago."""

    def scan(self) -> Found:
        """Finds all event files below the root. Raises nothing.

        If listings are paced, the result may be that of an earlier listing.
        """


@runtime_checkable
class Storage(Protocol):
    """A place where event files are, such as an object store. Methods are called in any thread."""

    requests_cost: bool
    """Whether each request costs time or money. If so, roots are listed less often, the unread
    bytes of many files are fetched together, and no helper process is started."""
    has_versions_of_content: bool
    """Whether a file's `version`, if it has one, changes whenever its bytes do. Otherwise, it
    changes only if the file is replaced by another one."""

    def checked_address(self, address: str) -> str:
        """The address of a directory without its password, for all later calls and for messages.

        `address` has its scheme in lower case and no slash at its end. Makes no connection. Raises
        UnknownStorageError, with one sentence, if it is not a valid address of a directory, and
        ImportError if a package for it is not installed.
        """

    def root(self, address: str, pacing: Pacing) -> Root:
        """The directory at a checked address, for repeated scans."""

    def files_in(self, directory: str) -> list[EventFile]:
        """The event files directly in a directory, sorted by path. Raises OSError."""

    def open_file(self, file: EventFile, below: str = "") -> OpenFile:
        """Opens a file from a listing, or an `EventFile.unlisted`. Raises OSError.

        If `below` is given, the path or URI of a directory, also if a step of the file's path below
        it is a link.
        """

    def fetch_ahead(self, files: Iterable[tuple[EventFile, int]], max_bytes: int) -> None:
        """Fetches bytes of many listed files together, before the files are opened.

        Each file is given with the offset of the first byte to fetch. At most `max_bytes` of each
        file are fetched. Raises nothing: opening or reading the file raises the error.
        """

    def has_fetched(self, file: EventFile, end: int = 0) -> bool:
        """Whether the bytes of a file up to `end` have been fetched ahead, or could not be."""

    def forget_fetched(self, path: str) -> None:
        """Frees the bytes of a file that were fetched ahead. A file that is open keeps its own."""
