"""LocalDisk: the storage for paths. LocalFile reads a file, and LocalRoot scans a directory.

A scan opens no file. Every scan gets the status of all directories and event files, but lists only
the directories whose entries may have changed since the last scan; for all other directories, it
reuses the last *listing*.
"""

from __future__ import annotations

import errno
import math
import os
import random
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Self

from tbcore.errors import UnknownStorageError
from tbcore.eventfiles.other_files import depth_of, kind_of
from tbcore.eventfiles.storage import MARK, EventFile, Found, Pacing, fields_of
from tbcore.text import one_line, readable

_ARCHIVES = ".zip", ".7z", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"

_MAX_LINKED_PATHS = 8
"""Maximum number of paths through links by which one directory is scanned. If n directories link to
each other, the number of paths grows like n!, so a scan without a limit might never end."""

_STABLE_SECONDS = 3.0
"""A listing is reused only if the directory had not changed for this long when it was listed. Some
file systems have timestamps as coarse as 2 s, so two quick changes may have the same timestamp."""
_RELIST_SECONDS = 60.0
"""Maximum time for which a listing is reused, in case a change does not update the directory's
mtime."""


class LocalDisk:
    """The storage for paths: the disks of this machine."""

    requests_cost = False
    has_versions_of_content = False

    def checked_address(self, address: str) -> str:
        """The path, which need not exist. Raises UnknownStorageError for an archive."""
        if address.lower().endswith(_ARCHIVES) and os.path.isfile(address):
            raise UnknownStorageError(
                f"{address!r} is an archive; unpack it, and give the directory"
            )
        return address

    def root(self, address: str, pacing: Pacing) -> LocalRoot:
        """The directory at a path, for repeated scans."""
        return LocalRoot(address, pacing)

    def files_in(self, directory: str) -> list[EventFile]:
        """The event files directly in a directory, sorted by path. Raises OSError."""
        return _list(_Directory(directory, ".", None), Found()).files

    def open_file(self, file: EventFile, below: str = "") -> LocalFile:
        """Opens a file; see `Storage`. Raises OSError also if it is not a regular file."""
        return LocalFile(file.path, below)

    def fetch_ahead(self, files: Iterable[tuple[EventFile, int]], max_bytes: int) -> None:
        """Does nothing: reads from a disk are cheap."""

    def has_fetched(self, file: EventFile, end: int = 0) -> bool:
        """Always true."""
        return True

    def forget_fetched(self, path: str) -> None:
        """Does nothing."""


class LocalFile:
    """An event file on a disk that is open for reading: see `OpenFile`."""

    __slots__ = ("_descriptor", "opened")

    is_local = True

    def __init__(self, path: str, below: str = "") -> None:
        """Opens the file. Raises OSError if that fails, or if it is not a regular file; with
        `below`, the path of a directory, also if a step of its path below that is a link."""
        # O_NONBLOCK: opening a FIFO would otherwise wait for its writer.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        self._descriptor = _open_below(path, below, flags) if below else os.open(path, flags)
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
        except OSError:
            os.close(self._descriptor)
            raise
        self.opened = EventFile.of(path, status)
        """The file's status when it was opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def current_size(self) -> int:
        """The file's size in bytes by now."""
        return os.fstat(self._descriptor).st_size

    def fetch(self, parts: Iterable[tuple[int, int]]) -> None:
        """Prepares for reading parts of the file, each an offset and a size."""

    def read(self, offset: int, size: int) -> bytes:
        """The `size` bytes from `offset` on; fewer at the end of the file."""
        return os.pread(self._descriptor, size, offset)

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fills the buffer from `offset` on; returns how many bytes there were."""
        done = 0
        while done < len(buffer):
            count = os.preadv(self._descriptor, [buffer[done:]], offset + done)
            if not count:
                break
            done += count
        return done


class LocalRoot:
    """A directory on a disk. Links to directories below it are followed."""

    listed_at = seconds_left = math.inf
    num_requests_of_listing = 0
    num_requests: Mapping[str, int] = {}

    def __init__(self, path: str, pacing: Pacing) -> None:
        self._path = path
        self._pacing = pacing
        self._listings: dict[str, _Listing] = {}
        """The listings of the last scan: maps the path of a directory to its listing."""
        self._patterns = pacing.patterns()
        """The patterns of the last scan."""
        self._unreliable_devices: set[int] = set()
        """Devices on which a directory changed without a new timestamp."""

    @property
    def has_links(self) -> bool:
        """Whether there are links below the directory. The system reports no changes in their
        targets."""
        return any(listing.has_links for listing in self._listings.values())

    def list_soon(self) -> None:
        """Does nothing: every scan examines all directories."""

    def scan(self) -> Found:
        """Finds the event files below the directory. Only regular files count."""
        found = Found()
        root = os.path.abspath(self._path)
        # Listing all directories again takes longer than the rest of a scan, so expired listings
        # are reused while no data is requested.
        reuses_expired = self._pacing.is_idle()
        listings: dict[str, _Listing] = {}
        previous, self._listings = self._listings, listings
        before, self._patterns = self._patterns, self._pacing.patterns()
        if self._patterns != before:
            previous = {}
        # The directories above the root are included, since a link to one of them is a loop, too.
        top: _Directory | None = None
        for above in reversed(PurePath(os.path.realpath(root)).parents):
            top = _Directory(str(above), "", top)
        num_paths: dict[tuple[int, int], int] = {}
        stack = [_Directory(root, ".", top)]
        while stack:
            directory = stack.pop()
            try:
                if directory.link_height < math.inf:
                    if not _may_enter(directory, num_paths, found):
                        continue
                    listing = _list(directory, found, self._patterns)
                else:
                    known = previous.get(directory.path)
                    listing = self._listing_of(directory, known, found, reuses_expired)
                    listings[directory.path] = listing
            except FileNotFoundError:
                if directory.path == root:
                    found.missing.append(readable(root))
                continue
            except OSError as error:
                reason = error.strerror or type(error).__name__
                if directory.path == root and isinstance(error, NotADirectoryError):
                    reason = "it is not a directory"
                found.cannot_list(directory.path, reason)
                continue
            stack += listing.directories
            found.other_files += listing.other_files
            found.directories.append((directory.name, directory.path, listing.files))
        return found

    def _listing_of(
        self, directory: _Directory, known: _Listing | None, found: Found, reuses_expired: bool
    ) -> _Listing:
        """The known listing of a directory if it is probably still valid, else a new one."""
        if known is None:
            return _list(directory, found, self._patterns)
        stamp = _stamp(directory.path)
        now = time.monotonic()
        is_same, is_reliable = stamp == known.stamp, stamp[0] not in self._unreliable_devices
        is_current = now < known.relist_at or reuses_expired
        can_reuse = is_same and is_reliable and known.is_stable and is_current
        if can_reuse and known.update_files():
            return known
        listing = _list(directory, found, self._patterns)
        listing.stamp = stamp
        listing.since = known.since if is_same else now
        if is_same and known.is_stable and not listing.has_same_names(known):
            # The entries changed, but the stamp did not. If it still has not changed now, the
            # device is unreliable.
            if _stamp(directory.path) == stamp:
                self._unreliable_devices.add(stamp[0])
        listing.is_stable = now - listing.since >= _STABLE_SECONDS and not listing.has_links
        # The time is random, so that not all directories are listed again in the same scan.
        listing.relist_at = now + _RELIST_SECONDS * random.uniform(0.5, 1)
        return listing


@dataclass(slots=True, eq=False)
class _Directory:
    """A directory that a scan reached, with the directories above it."""

    path: str
    name: str
    """Path relative to the root; `.` for the root itself."""
    parent: _Directory | None
    link_height: float = math.inf
    """How many directories further up one was reached through a link: 0 for this one itself, and
    infinity for none."""
    _identity: tuple[int, int] | None = None

    def identity(self) -> tuple[int, int]:
        """Device and inode. Getting them takes a system call, and is needed only for links."""
        if self._identity is None:
            found = os.stat(self.path)
            self._identity = found.st_dev, found.st_ino
        return self._identity

    def contains_itself(self) -> bool:
        """Whether this directory is also one of the directories above it, because of a link."""
        above = self.parent
        while above is not None:
            if above.identity() == self.identity():
                return True
            above = above.parent
        return False


@dataclass(slots=True, eq=False)
class _Listing:
    """The subdirectories and event files of a directory, as of one point in time."""

    directories: list[_Directory] = field(default_factory=list)
    files: list[EventFile] = field(default_factory=list)
    """Event files in the order of their paths, with their status in the last scan."""
    other_files: list[tuple[str, EventFile]] = field(default_factory=list)
    """See `Found.other_files`."""
    has_links: bool = False
    """Whether any entry is a link. Its target can change while the stamp stays the same."""
    stamp: _Stamp | None = None
    """Stamp of the directory before it was listed; None for the first listing."""
    since: float = 0.0
    """When this stamp was first seen, in seconds of the monotonic clock."""
    is_stable: bool = False
    """Whether any later change of the entries will change the stamp."""
    relist_at: float = 0.0
    """When the listing expires in any case, in seconds of the monotonic clock."""

    def update_files(self) -> bool:
        """Updates the status of the files; False if one is not a readable file any more."""
        try:
            # New lists, since those of the last scan may still be in use.
            if changed := _changed(self.files, os.stat):
                self.files = [changed.get(file, file) for file in self.files]
            listed = [f for _, f in self.other_files if f.is_listed] if self.other_files else []
            if listed and (changed := _changed(listed, os.lstat)):
                self.other_files = [(n, changed.get(file, file)) for n, file in self.other_files]
        except OSError:
            return False
        return True

    def has_same_names(self, other: _Listing) -> bool:
        """Whether both listings have the same event files and subdirectories."""
        return [file.path for file in self.files] == [file.path for file in other.files] and {
            directory.path for directory in self.directories
        } == {directory.path for directory in other.directories}


def _changed(
    files: Iterable[EventFile], status_of: Callable[[str], os.stat_result]
) -> dict[EventFile, EventFile]:
    """Those files that have changed, with their new status. Raises OSError if one is gone, or is no
    regular file any more."""
    changed = {}
    for file in files:
        status = status_of(file.path)
        fields = fields_of(file.path, status)
        if fields != file:
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{file.path} is not a regular file")
            changed[file] = EventFile(*fields)
    return changed


_Stamp = tuple[int, int, int, int]
"""Device, inode, mtime and ctime of a directory."""


def _stamp(path: str) -> _Stamp:
    """The stamp of a directory. It changes when entries do, or when the directory is replaced."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _may_enter(directory: _Directory, num_paths: dict[tuple[int, int], int], found: Found) -> bool:
    """Whether to scan a directory that was reached through a link.

    It is not scanned if the link makes a loop, or if too many other paths lead to the directory.
    """
    if directory.contains_itself():
        return False
    identity = directory.identity()
    num_paths[identity] = num_paths.get(identity, 0) + 1
    if num_paths[identity] == _MAX_LINKED_PATHS + 1:
        found.problems.append(
            one_line(
                f"{directory.path}: links lead to this directory in more than {_MAX_LINKED_PATHS} "
                f"ways; only {_MAX_LINKED_PATHS} of them are followed"
            )
        )
    return num_paths[identity] <= _MAX_LINKED_PATHS


def _list(directory: _Directory, found: Found, patterns: frozenset[str] = frozenset()) -> _Listing:
    """A new listing of a directory."""
    listing = _Listing()
    prefix = "" if directory.name == "." else f"{directory.name}/"
    with os.scandir(directory.path) as entries:
        for entry in entries:
            try:
                # Files without MARK in their names are not examined. Getting the type of an entry
                # takes a system call only for a link.
                is_link = entry.is_symlink()
                listing.has_links |= is_link
                if entry.is_dir():
                    height = 0 if is_link else directory.link_height + 1
                    below = _Directory(entry.path, prefix + entry.name, directory, height)
                    listing.directories.append(below)
                elif MARK in entry.name:
                    status = entry.stat()
                    # FIFOs and devices are skipped: opening one may block or have side effects.
                    if stat.S_ISREG(status.st_mode):
                        listing.files.append(EventFile.of(entry.path, status))
                elif patterns and (depth := depth_of(prefix + entry.name, patterns)) >= 0:
                    status = entry.stat(follow_symlinks=False)
                    if is_link or depth > directory.link_height:
                        reason = "links to logs and files that plugins read are not followed"
                        found.cannot_read(entry.path, reason)
                    elif stat.S_ISREG(status.st_mode):
                        file = EventFile.of(entry.path, status)
                        listing.other_files.append((prefix + entry.name, file))
                elif kind_of(prefix + entry.name):
                    unlisted = EventFile.unlisted(readable(entry.path))
                    listing.other_files.append((prefix + entry.name, unlisted))
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ELOOP):
                    continue  # The file is gone, or the link is broken.
                if not entry.is_symlink():
                    raise  # Most such errors are of the directory, and of all its files.
                found.cannot_read(entry.path, error.strerror)
    listing.files.sort()
    return listing


def _open_below(path: str, directory: str, flags: int) -> int:
    """The descriptor of a file below a directory. No step from there on may be a link.

    Each step is opened in the one before, so that nothing that is replaced now leads out.
    """
    is_below = path.startswith(f"{directory}{os.sep}")  # Usually; relpath takes five times as long.
    relative = path[len(directory) + 1 :] if is_below else os.path.relpath(path, directory)
    *steps, name = relative.split(os.sep)
    if os.pardir in steps:
        raise OSError(f"it is not below {directory}")
    to_enter = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
    parent = os.open(directory, to_enter)
    try:
        for step in steps:
            above, parent = parent, os.open(step, to_enter | os.O_NOFOLLOW, dir_fd=parent)
            os.close(above)
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=parent)
    finally:
        os.close(parent)
