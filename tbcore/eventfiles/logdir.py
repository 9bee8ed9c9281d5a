"""Logdir: which event files lie below the directories that the user named, and what their runs
are called.

A run is a directory that directly holds an event file; its name is its path below the logdir. A
scan opens nothing. It asks for the status of every directory and event file each time, and lists
anew the directories that may hold others than before.
"""

from __future__ import annotations

import errno
import os
import posixpath
import random
import re
import stat
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_MARK = "tfevents"
"""An event file is a file with this in its base name; nothing else is asked."""
_URI = re.compile(r"[a-zA-Z][0-9a-zA-Z.]*://")

MIN_FILE_BYTES = 1 << 14
"""What a file counts at least: opening it takes about as long as decoding so much."""

_MAX_LINKED_NAMES = 8
"""How many names one directory may have by way of links. Directories that link to each other
have as many paths as there are orders of them, and a scan must end."""

_SETTLED_SECONDS = 3.0
"""Between seeing that a directory was changed and listing it, for the listing to hold until the
directory is changed once more. Times of changes are as coarse as 2 s on some file systems, and a
change within that time of another one would not show."""
_RELIST_SECONDS = 60.0
"""A directory is listed at least so often, in case it does not tell when it is changed."""


class LogdirSpec(NamedTuple):
    """One directory to look in; a name is put before the names of its runs."""

    name: str | None
    path: str


class EventFile(NamedTuple):
    """An event file and what tells whether it changed."""

    path: str
    device: int
    inode: int
    size: int
    """In bytes."""
    mtime_ns: int
    """When it was written to, in nanoseconds since the epoch."""
    ctime_ns: int
    """When anything about it changed, likewise: who sets `mtime_ns` back does not set this one."""

    @classmethod
    def of(cls, path: str, status: os.stat_result) -> EventFile:
        """The file at `path` with this status."""
        return cls(
            path,
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )


class Scan(NamedTuple):
    """What one look at the logdir found."""

    runs: dict[str, list[EventFile]]
    """Run name to its files in the order in which they are read, that of their paths."""
    num_directories: int
    num_files: int
    """Event files only."""
    missing: list[str]
    """Paths of specs that do not exist."""
    problems: list[str]
    """One line each: what could not be looked into."""
    unlisted: list[str]
    """Directories that exist and could not be listed: nobody knows which files are in them."""


def parse_logdir_spec(text: str) -> list[LogdirSpec]:
    """Directories of a `--logdir_spec`, such as `a:/logs/one,/logs/two`.

    Items are separated by commas; empty ones are skipped and blanks belong to the item. Up to its
    first colon an item is a name, unless it starts with a slash or is a URI. Paths become
    absolute, with links and a leading `~` resolved; URIs stay as they are.
    """
    specs = []
    for item in text.split(","):
        if not item:
            continue
        name, path = "", item
        if not _URI.match(item) and not item.startswith("/") and ":" in item:
            name, _, path = item.partition(":")
        if not _URI.match(path):
            path = os.path.realpath(os.path.expanduser(path))
        specs.append(LogdirSpec(name or None, path))
    return specs


def scan(specs: Sequence[LogdirSpec]) -> Scan:
    """Look once; see `Logdir.scan`."""
    return Logdir(specs).scan()


class Logdir:
    """The directories that the user named, looked at again and again."""

    def __init__(self, specs: Sequence[LogdirSpec]) -> None:
        self._specs = list(specs)
        self._listings: list[dict[str, _Listing]] = [{} for _ in specs]
        """Of the last scan, of each spec by path."""
        self._silent: set[int] = set()
        """Devices with a directory that did not tell that it was changed."""
        self._places: list[tuple[int, str, str]] = []
        """Of the last scan, for each directory with event files: the number of its spec, its path
        relative to that, and its path."""
        self._names: list[tuple[str, int]] = []
        """The runs in there, each with its place in the list."""
        self._ahead: _Look | None = None
        """What the next scan has begun with."""

    def scan(self) -> Scan:
        """Look for event files below all directories, through links to directories too.

        Only regular files count, whatever they are called. A spec that does not exist, or a
        directory that cannot be read, costs what is in it and is told; nothing is raised.
        """
        look = self._ahead or self._look()
        self._ahead = None
        look.seen.extend(look.rest)
        found, num_files = look.found, 0
        places: list[tuple[int, str, str]] = []
        all_files: list[list[EventFile]] = []
        for number, directory, files in look.seen:
            if files:
                num_files += len(files)
                places.append((number, directory.name, directory.path))
                all_files.append(files)
        if places != self._places:
            self._places, self._names = places, self._named(places)
        for name, index in self._names:
            found.runs[name] = all_files[index]
        return found._replace(num_directories=len(look.seen), num_files=num_files)

    def glance(self, num_bytes: int, seconds: float) -> bool:
        """Begins a scan, and says whether the event files have so many bytes.

        Short files are counted as longer ones. True as well when it takes so many seconds to find
        out. The next scan goes on from there.
        """
        deadline = time.monotonic() + seconds
        look = self._look()
        is_large = False
        for seen in look.rest:
            look.seen.append(seen)
            num_bytes -= sum(max(file.size, MIN_FILE_BYTES) for file in seen.files)
            if is_large := num_bytes <= 0 or time.monotonic() > deadline:
                break
        self._ahead = look
        return is_large

    def _look(self) -> _Look:
        found = Scan({}, 0, 0, [], [], [])
        rest = (
            _Seen(number, directory, files)
            for number in range(len(self._specs))
            for directory, files in self._walk(number, found)
        )
        return _Look(found, [], rest)

    def _named(self, places: Sequence[tuple[int, str, str]]) -> list[tuple[str, int]]:
        # The order of a directory's entries changes with its content, and names must not: proper
        # names first, so that a name which was made readable never takes one of theirs.
        order = sorted(
            (number, not _is_readable(relative), relative, place, path)
            for place, (number, relative, path) in enumerate(places)
        )
        names = _RunNames()
        taken = []
        for number, _, relative, place, path in order:
            name = names.take(number, self._specs[number], relative, path)
            if name is not None:
                taken.append((name, place))
        return taken

    def _walk(self, number: int, found: Scan) -> Iterator[tuple[_Directory, list[EventFile]]]:
        """Each directory of a spec with its event files, these in the order of their paths."""
        root = os.path.abspath(self._specs[number].path)
        listings: dict[str, _Listing] = {}
        before = self._listings[number]
        self._listings[number] = listings
        # A link to a directory above the logdir leads round in a circle as well.
        top: _Directory | None = None
        for above in _parents(os.path.realpath(root)):
            top = _Directory(above, "", top)
        num_names: dict[tuple[int, int], int] = {}
        stack = [_Directory(root, ".", top)]
        while stack:
            directory = stack.pop()
            try:
                if directory.is_linked:
                    if not _may_enter(directory, num_names, found):
                        continue
                    listing = _list(directory, found)
                else:
                    listing = self._look_into(directory, before.get(directory.path), found)
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
            yield directory, listing.files

    def _look_into(self, directory: _Directory, known: _Listing | None, found: Scan) -> _Listing:
        """What is in a directory: as listed before, where that is sure to hold still."""
        if known is None or not _REMEMBERS:
            return _list(directory, found)
        stamp = _stamp(directory.path)
        now = time.monotonic()
        is_same, can_tell = stamp == known.stamp, stamp[0] not in self._silent
        if (
            is_same and can_tell and known.holds and now < known.relist_at and known.update_files()
        ):  # fmt: skip
            return known
        listing = _list(directory, found)
        listing.stamp = stamp
        listing.since = known.since if is_same else now
        if is_same and known.holds and not listing.has_same_names(known):
            # It may have been changed just now. Otherwise its status says nothing about changes.
            if _stamp(directory.path) == stamp:
                self._silent.add(stamp[0])
        listing.holds = now - listing.since >= _SETTLED_SECONDS and not listing.has_links
        # Not all at the same time.
        listing.relist_at = now + _RELIST_SECONDS * random.uniform(0.5, 1)
        return listing


def readable(name: str) -> str:
    r"""The name with undecodable bytes written as `\xNN`: JSON and terminals take nothing else."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def one_line(text: str) -> str:
    """The text as it can stand in a log or an answer: one line, control characters escaped."""
    if text.isprintable():
        return text
    # Bytes of names as `readable` has them; a lone surrogate of another kind is none.
    shown = (f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in text)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)


class _Seen(NamedTuple):
    """A directory of a spec, and the event files in it."""

    number: int
    directory: _Directory
    files: list[EventFile]


class _Look(NamedTuple):
    """A scan on its way."""

    found: Scan
    """Where what is wrong is told."""
    seen: list[_Seen]
    rest: Iterator[_Seen]


class _RunNames:
    """Gives each directory of a scan a run name of its own."""

    def __init__(self) -> None:
        self._owners: dict[str, tuple[int, str]] = {}
        """Name to the number of its spec and the path of its directory."""

    def take(self, number: int, spec: LogdirSpec, relative: str, path: str) -> str | None:
        """The name of a directory; None when it has one already, by the same path."""
        # The join leaves the root of a named spec as `name/.`, which TensorBoard calls it too.
        name = readable(posixpath.join(spec.name, relative) if spec.name else relative)
        owner = self._owners.get(name)
        if owner is not None and owner[1] != path and owner[0] != number and spec.name is None:
            name = readable(posixpath.join(posixpath.basename(spec.path), relative))
        base, suffix = name, 2
        while (owner := self._owners.get(name)) is not None:
            if owner[1] == path:
                return None
            name, suffix = f"{base}_{suffix}", suffix + 1
        self._owners[name] = number, path
        return name


class _Directory:
    """A directory on the way of a walk."""

    __slots__ = ("_identity", "is_linked", "name", "parent", "path")

    def __init__(
        self, path: str, name: str, parent: _Directory | None, *, is_linked: bool = False
    ) -> None:
        self.path = path
        self.name = name
        """Relative to the root, `.` for the root itself."""
        self.parent = parent
        self.is_linked = is_linked
        """Whether a link led here, or to one of the directories above."""
        self._identity: tuple[int, int] | None = None

    def identity(self) -> tuple[int, int]:
        """Device and inode. Asked for only where there are links, as it costs a call."""
        if self._identity is None:
            found = os.stat(self.path)
            self._identity = found.st_dev, found.st_ino
        return self._identity

    def contains_itself(self) -> bool:
        """Whether the way to this directory has been here before."""
        above = self.parent
        while above is not None:
            if above.identity() == self.identity():
                return True
            above = above.parent
        return False


class _Listing:
    """What was in a directory."""

    __slots__ = (
        "directories", "files", "has_links", "holds", "relist_at", "since", "stamp",
    )  # fmt: skip

    def __init__(self) -> None:
        self.directories: list[_Directory] = []
        self.files: list[EventFile] = []
        """Event files in the order of their paths, as of the last look."""
        self.has_links = False
        """Whether any entry is a link: what these lead to changes without the directory."""
        self.stamp: _Stamp | None = None
        """Of the directory before it was listed; None the first time, when nobody asks."""
        self.since = 0.0
        """When this stamp was seen first, as the other time in seconds of the monotonic clock."""
        self.holds = False
        """Whether there can be no other names as long as the stamp is the same."""
        self.relist_at = 0.0

    def update_files(self) -> bool:
        """Asks for the status of the files; False if one of them is no event file any more."""
        changed: dict[int, EventFile] = {}
        for index, file in enumerate(self.files):
            try:
                status = os.stat(file.path)
            except OSError:
                return False
            if (
                status.st_size != file.size
                or status.st_mtime_ns != file.mtime_ns
                or status.st_ctime_ns != file.ctime_ns
                or status.st_ino != file.inode
                or status.st_dev != file.device
            ):
                if not stat.S_ISREG(status.st_mode):
                    return False
                changed[index] = EventFile.of(file.path, status)
        if changed:
            # Whoever has the files of the last look keeps them.
            self.files = [changed.get(index, file) for index, file in enumerate(self.files)]
        return True

    def has_same_names(self, other: _Listing) -> bool:
        return [file.path for file in self.files] == [file.path for file in other.files] and {
            directory.path for directory in self.directories
        } == {directory.path for directory in other.directories}


_Stamp = tuple[int, int, int, int]

_REMEMBERS = os.name == "posix"
"""Whether listings are kept. Windows lists names along with a part of the status of each file."""


def _stamp(path: str) -> _Stamp:
    """What changes when an entry comes or goes, and with whatever stands in the same place."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _list(directory: _Directory, found: Scan) -> _Listing:
    with os.scandir(directory.path) as entries:
        listing = _sort_out(entries, directory, found)
    listing.files.sort()
    return listing


def _parents(path: str) -> list[str]:
    parents = []
    while (parent := os.path.dirname(path)) != path:
        parents.append(parent)
        path = parent
    return parents[::-1]


def _may_enter(directory: _Directory, num_names: dict[tuple[int, int], int], found: Scan) -> bool:
    if directory.contains_itself():
        return False
    identity = directory.identity()
    num_names[identity] = num_names.get(identity, 0) + 1
    if num_names[identity] == _MAX_LINKED_NAMES + 1:
        found.problems.append(
            one_line(
                f"{directory.path}: links lead to this directory in more than {_MAX_LINKED_NAMES} "
                "ways; the others are left out"
            )
        )
    return num_names[identity] <= _MAX_LINKED_NAMES


def _sort_out(entries: Iterator[os.DirEntry[str]], directory: _Directory, found: Scan) -> _Listing:
    """The directories and the event files among the entries."""
    listing = _Listing()
    prefix = "" if directory.name == "." else f"{directory.name}/"
    for entry in entries:
        try:
            # A name without the mark can only be that of a directory. Most entries say what they
            # are without a call; telling where a link leads costs one.
            if entry.is_symlink():
                listing.has_links = True
            if entry.is_dir():
                is_linked = directory.is_linked or entry.is_symlink()
                listing.directories.append(
                    _Directory(entry.path, prefix + entry.name, directory, is_linked=is_linked)
                )
            elif _MARK in entry.name:
                status = entry.stat()
                # A FIFO would hang its reader, and a device is worse.
                if stat.S_ISREG(status.st_mode):
                    listing.files.append(EventFile.of(entry.path, status))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                continue  # Gone, or a link to nowhere.
            if not entry.is_symlink():
                raise  # Of no file in here anything is known.
            found.problems.append(one_line(f"cannot look at {entry.path}: {error.strerror}"))
    return listing


def _is_readable(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
