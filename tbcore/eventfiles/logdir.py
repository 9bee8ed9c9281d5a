"""Logdir: finds the event files below the directories that the user gave, and names their runs.

A run is a directory that directly contains an event file. The name of a run is its path below the
logdir. Each directory that the user gave, with an optional prefix for names, is a *spec*. A scan
opens no file. Every scan gets the status of all directories and event files, but lists only the
directories whose entries may have changed since the last scan; for all other directories, it reuses
the last *listing*.
"""

from __future__ import annotations

import errno
import os
import posixpath
import random
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from tbcore.eventfiles.directory import Directory
from tbcore.eventfiles.other_files import OtherFiles, kind_of, summed
from tbcore.text import one_line, readable

if TYPE_CHECKING:
    from tbcore.eventfiles.remote.directory import RemoteDirectory

MARK = "tfevents"
"""Every regular file with this in its base name is an event file."""
_URI = re.compile(r"[a-zA-Z][0-9a-zA-Z.+-]*://")
_FILE_URI = re.compile(r"(?:file|local):(?://(?:localhost)?)?(/(?!/).*)", re.IGNORECASE | re.DOTALL)

UNKNOWN_SIZE = sys.maxsize
"""Size of an event file that was not listed or opened."""

_VERSION = "%x-%x"
"""Version of a file, made from its device and inode."""

MIN_FILE_BYTES = 1 << 14
"""A smaller file counts as this many bytes when work is divided: opening a file takes about as long
as decoding this many bytes."""

_MAX_LINKED_PATHS = 8
"""Maximum number of paths through links by which one directory is scanned. If n directories link to
each other, the number of such paths grows like n!, and a scan must end."""

_STABLE_SECONDS = 3.0
"""Minimum time between the last change of a directory and a listing that is reused. Timestamps are
as coarse as 2 s on some file systems, so two changes in short order may have the same timestamp."""
_RELIST_SECONDS = 60.0
"""Maximum time for which a listing is reused, in case a change does not update the directory's
mtime."""


class LogdirSpec(NamedTuple):
    """One directory to scan, and a prefix for the names of its runs."""

    name: str | None
    path: str


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
        """The file at `path` with this status."""
        return cls(*_fields(path, status))


def _fields(path: str, status: os.stat_result) -> tuple[str, str, int, int, int]:
    """The fields of the EventFile at `path` with this status."""
    # A scan does this for every file: the operator % takes half as long as an f-string.
    version = _VERSION % (status.st_dev, status.st_ino)
    return path, version, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class Pacing(NamedTuple):
    """When directories that are URIs are listed: each listing costs requests."""

    pause: float | None = 0.0
    """Pause in seconds; None for 30 s to 10 min, longer while nothing changes or is viewed."""
    is_viewed: Callable[[], bool] = bool
    on_listed: Callable[[], object] | None = None
    """Called after each listing, which a scan then does not wait for."""


EACH_SCAN = Pacing()


class Scan(NamedTuple):
    """The result of one scan of the logdir."""

    runs: dict[str, list[EventFile]]
    """Maps a run name to the files of the run, sorted by path. Files are read in this order."""
    num_directories: int
    """Number of directories that were scanned."""
    num_files: int
    """Number of event files."""
    missing: list[str]
    """Paths of specs that do not exist."""
    problems: list[str]
    """One line of text for each directory or file that could not be examined."""
    unlisted: list[str]
    """Directories that exist but could not be listed, so that their files are unknown."""
    other_files: tuple[OtherFiles, ...] = ()
    """Files beside event files whose data tbcore does not show, by kind."""


def parse_logdir_spec(text: str) -> list[LogdirSpec]:
    """The specs in a `--logdir_spec`, such as `a:/logs/one,/logs/two`.

    Specs are separated by commas. Empty specs are skipped; blanks are part of a spec. A spec that
    starts with a slash, or is a URI, has no name; in all other specs, a name may precede the first
    colon. Paths are made absolute, with links and a leading `~` resolved. URIs are not changed.
    Raises OptionError for what was meant as a URI and is none.
    """
    specs = []
    for part in text.split(","):
        if not part:
            continue
        name, path = "", part
        if not is_remote(part) and not part.startswith("/") and ":" in part:
            name, _, path = part.partition(":")
        if not is_remote(path):
            path = os.path.realpath(checked_address(os.path.expanduser(path)))
        specs.append(LogdirSpec(name or None, path))
    return specs


def checked_address(given: str) -> str:
    """What was given as a directory or file: a path, also for a URI with `file:`; or another URI.

    The latter is as `checked_uri` returns it, without a password. Raises OptionError, with one
    sentence, for an address that cannot be read. A path need not exist.
    """
    path = given
    if match := _FILE_URI.fullmatch(given):
        from urllib.request import url2pathname  # It takes 2.5 MB, with what it imports.

        path = url2pathname(match[1])
    if not is_remote(path) and os.path.isdir(path):
        return path
    from tbcore.eventfiles.remote.storage import check_path, checked_uri

    if is_remote(path):
        return checked_uri(path)
    check_path(path)
    return path


def is_remote(path: str) -> bool:
    """Whether the path is a URI, such as `s3://bucket/runs`."""
    # A scan asks this for every file. `in` takes a tenth of the time of the expression.
    return "://" in path and _URI.match(path) is not None


def scan(specs: Sequence[LogdirSpec]) -> Scan:
    """Scans directories once; see `Logdir.scan`."""
    return Logdir(specs).scan()


class Logdir:
    """The directories that the user gave, for repeated scans."""

    def __init__(self, specs: Sequence[LogdirSpec], pacing: Pacing = EACH_SCAN) -> None:
        self.specs = list(specs)
        self.remotes: dict[int, RemoteDirectory] = {}
        """Those of the directories that are URIs, by the indexes of their specs."""
        for index, spec in enumerate(specs):
            if is_remote(spec.path):
                # Imported when used: it needs optional packages.
                from tbcore.eventfiles.remote.directory import RemoteDirectory

                self.remotes[index] = RemoteDirectory(spec.path, pacing)
        self._listings: list[dict[str, _Listing]] = [{} for _ in specs]
        """The listings of the last scan: for each spec, a dict that maps the path of a directory to
        its listing."""
        self.reuses_expired = False
        """Whether to reuse listings that have expired. Listing all directories again costs more
        than the rest of a scan, so it is left out while nobody asks for data."""
        self._unreliable_devices: set[int] = set()
        """Devices on which a directory changed without a new timestamp."""
        self._run_directories: list[tuple[int, str, str]] = []
        """The directories in which the last scan found event files. For each of them: index of the
        spec, path relative to the path of the spec, and path."""
        self._names: list[tuple[str, int]] = []
        """Name of each run, and the index of its directory in `_run_directories`."""

    def scan(self) -> Scan:
        """Finds all event files below the directories; links to directories are followed.

        Only regular files count. A spec that does not exist, and a directory or file that cannot be
        examined, are reported in the result and skipped; nothing is raised. Of a directory that is
        not listed this time, the result is what was found there before.
        """
        found, other_files = Scan({}, 0, 0, [], [], []), list[tuple[str, str]]()
        scanned: list[_ScannedDirectory] = []
        for index in range(len(self.specs)):
            if remote := self.remotes.get(index):
                listed = remote.scan()
                for path, each in listed.runs.items():
                    scanned.append((index, Directory(path, remote.name_of(path), None), each))
                other_files += remote.other_files
                for lines, more in zip(found[3:6], listed[3:6], strict=True):
                    lines += more
            else:
                scanned += self._walk(index, found, other_files)
        runs = [(index, directory, files) for index, directory, files in scanned if files]
        run_directories = [(index, directory.name, directory.path) for index, directory, _ in runs]
        if run_directories != self._run_directories:
            self._run_directories, self._names = run_directories, self._named(run_directories)
        return found._replace(
            runs={name: runs[index][2] for name, index in self._names},
            num_directories=len(scanned),
            num_files=sum(len(files) for _, _, files in runs),
            other_files=summed(other_files),
        )

    @property
    def has_links(self) -> bool:
        """Whether there are links below the directories. No change behind them is reported."""
        return any(each.has_links for listings in self._listings for each in listings.values())

    def _named(self, run_directories: Sequence[tuple[int, str, str]]) -> list[tuple[str, int]]:
        """Name of each run, with the index of its directory."""
        # The order of directory entries may change from scan to scan, but names must not. So paths
        # are sorted. Within a spec, paths in valid UTF-8 come first, so that none of their names is
        # assigned to a path with escaped bytes.
        order = sorted(
            (spec_index, readable(relative) != relative, relative, index, path)
            for index, (spec_index, relative, path) in enumerate(run_directories)
        )
        owners: dict[str, tuple[int, str]] = {}
        named = []
        for spec_index, _, relative, index, path in order:
            name = self._new_name(spec_index, relative, path, owners)
            if name is not None:
                owners[name] = spec_index, path
                named.append((name, index))
        return named

    def _new_name(
        self, spec_index: int, relative: str, path: str, owners: dict[str, tuple[int, str]]
    ) -> str | None:
        """A run name for the directory at `path`, which is `relative` to that of the spec.

        `owners` maps each name that is in use to a directory: index of its spec, and path. Returns
        None if the path already has this name, because two specs contain the directory.
        """
        spec = self.specs[spec_index]
        # The root of a named spec becomes `name/.`, as in TensorBoard.
        name = readable(posixpath.join(spec.name, relative) if spec.name else relative)
        owner = owners.get(name)
        if owner is not None and owner[1] != path and owner[0] != spec_index and spec.name is None:
            name = readable(posixpath.join(posixpath.basename(spec.path), relative))
        base, suffix = name, 2
        while (owner := owners.get(name)) is not None:
            if owner[1] == path:
                return None
            name, suffix = f"{base}_{suffix}", suffix + 1
        return name

    def _walk(
        self, spec_index: int, found: Scan, other_files: list[tuple[str, str]]
    ) -> Iterator[_ScannedDirectory]:
        """Scans the directories of a spec. Their event files are sorted by path."""
        root = os.path.abspath(self.specs[spec_index].path)
        listings: dict[str, _Listing] = {}
        previous = self._listings[spec_index]
        self._listings[spec_index] = listings
        # The directories above the root are included because a link to one of them is also a loop.
        top: Directory | None = None
        for above in reversed(PurePath(os.path.realpath(root)).parents):
            top = Directory(str(above), "", top)
        num_paths: dict[tuple[int, int], int] = {}
        stack = [Directory(root, ".", top)]
        while stack:
            directory = stack.pop()
            try:
                if directory.is_linked:
                    if not _may_enter(directory, num_paths, found):
                        continue
                    listing = _list(directory, found)
                else:
                    listing = self._listing_of(directory, previous.get(directory.path), found)
                    listings[directory.path] = listing
            except FileNotFoundError:
                if directory.path == root:
                    found.missing.append(readable(root))
                continue
            except OSError as error:
                reason = error.strerror or type(error).__name__
                if directory.path == root and isinstance(error, NotADirectoryError):
                    reason = "it is not a directory"
                found.problems.append(one_line(f"cannot list {directory.path}: {reason}"))
                found.unlisted.append(directory.path)
                continue
            stack += listing.directories
            other_files += listing.other_files
            yield spec_index, directory, listing.files

    def _listing_of(self, directory: Directory, known: _Listing | None, found: Scan) -> _Listing:
        """The known listing of a directory if it is certainly still right, else a new listing."""
        if known is None or not _REUSE_LISTINGS:
            return _list(directory, found)
        stamp = _stamp(directory.path)
        now = time.monotonic()
        is_same, is_reliable = stamp == known.stamp, stamp[0] not in self._unreliable_devices
        is_current = now < known.relist_at or self.reuses_expired
        can_reuse = is_same and is_reliable and known.is_stable and is_current
        if can_reuse and known.update_files():
            return known
        listing = _list(directory, found)
        listing.stamp = stamp
        listing.since = known.since if is_same else now
        if is_same and known.is_stable and not listing.has_same_names(known):
            # The entries changed, but the stamp did not. If it still has not, the device is
            # unreliable.
            if _stamp(directory.path) == stamp:
                self._unreliable_devices.add(stamp[0])
        listing.is_stable = now - listing.since >= _STABLE_SECONDS and not listing.has_links
        # The time is random, so that not all directories are listed again in the same scan.
        listing.relist_at = now + _RELIST_SECONDS * random.uniform(0.5, 1)
        return listing


_ScannedDirectory = tuple[int, Directory, list[EventFile]]
"""Index of a spec, a directory, and the event files in it. The tuple has no names for speed: a scan
makes one for each directory."""


@dataclass(slots=True, eq=False)
class _Listing:
    """The subdirectories and event files of a directory, as of one point in time."""

    directories: list[Directory] = field(default_factory=list)
    files: list[EventFile] = field(default_factory=list)
    """Event files in the order of their paths, with their status in the last scan."""
    other_files: list[tuple[str, str]] = field(default_factory=list)
    """Kind and path of each file that `other_files.py` knows."""
    has_links: bool = False
    """Whether any entry is a link. The target of a link can change when the stamp does not."""
    stamp: _Stamp | None = None
    """Stamp of the directory before it was listed; None for the first listing."""
    since: float = 0.0
    """When this stamp was first seen, in seconds of the monotonic clock."""
    is_stable: bool = False
    """Whether the stamp changes whenever the entries change."""
    relist_at: float = 0.0
    """When the listing expires in any case, in seconds of the monotonic clock."""

    def update_files(self) -> bool:
        """Updates the status of the files; returns False if one is no longer an event file."""
        changed: dict[int, EventFile] = {}
        for index, file in enumerate(self.files):
            try:
                status = os.stat(file.path)
            except OSError:
                return False
            fields = _fields(file.path, status)
            if fields != file:
                if not stat.S_ISREG(status.st_mode):
                    return False
                changed[index] = EventFile(*fields)
        if changed:
            # This is a new list, because the list of the last scan may still be in use.
            self.files = [changed.get(index, file) for index, file in enumerate(self.files)]
        return True

    def has_same_names(self, other: _Listing) -> bool:
        """Whether both listings have the same event files and subdirectories."""
        return [file.path for file in self.files] == [file.path for file in other.files] and {
            directory.path for directory in self.directories
        } == {directory.path for directory in other.directories}


_Stamp = tuple[int, int, int, int]
"""Device, inode, mtime and ctime of a directory."""

_REUSE_LISTINGS = os.name == "posix"
"""Whether listings are reused. On Windows, listing is cheap and includes the status of files."""


def _stamp(path: str) -> _Stamp:
    """The stamp of a directory. It changes when entries do, or when the directory is replaced."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _may_enter(directory: Directory, num_paths: dict[tuple[int, int], int], found: Scan) -> bool:
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


def is_event_file(path: str) -> bool:
    """Whether a file has the name of an event file."""
    return MARK in os.path.basename(path)


def event_files(directory: str) -> list[EventFile]:
    """The event files directly in a directory, sorted by path. Raises OSError."""
    return _list(Directory(directory, ".", None), Scan({}, 0, 0, [], [], [])).files


def _list(directory: Directory, found: Scan) -> _Listing:
    """A new listing of a directory."""
    listing = _Listing()
    prefix = "" if directory.name == "." else f"{directory.name}/"
    with os.scandir(directory.path) as entries:
        for entry in entries:
            try:
                # Files without MARK in their names are not examined. The type of an entry is
                # known without a system call; only the type of a link's target is not.
                is_link = entry.is_symlink()
                listing.has_links |= is_link
                if entry.is_dir():
                    name, is_linked = prefix + entry.name, directory.is_linked or is_link
                    listing.directories.append(Directory(entry.path, name, directory, is_linked))
                elif MARK in entry.name:
                    status = entry.stat()
                    # FIFOs and devices are skipped: opening one may block or have side effects.
                    if stat.S_ISREG(status.st_mode):
                        listing.files.append(EventFile.of(entry.path, status))
                elif kind := kind_of(prefix + entry.name):
                    listing.other_files.append((kind, readable(entry.path)))
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ELOOP):
                    continue  # The file is gone, or the link is broken.
                if not entry.is_symlink():
                    raise  # Every file in this directory would raise the same error.
                found.problems.append(one_line(f"cannot read {entry.path}: {error.strerror}"))
    listing.files.sort()
    return listing
