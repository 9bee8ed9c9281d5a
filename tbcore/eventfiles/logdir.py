"""Logdir: which event files lie below the directories that the user named, and what their runs
are called.

A run is a directory that directly holds an event file; its name is its path below the logdir. A
scan asks the file system anew each time and opens nothing.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_MARK = "tfevents"
"""An event file is a file with this in its base name; nothing else is asked."""
_URI = re.compile(r"[a-zA-Z][0-9a-zA-Z.]*://")

MIN_FILE_BYTES = 1 << 14
"""What a file counts at least: opening it takes about as long as decoding so much."""

_MAX_LINKED_NAMES = 8
"""How many names one directory may have by way of links. Directories that link to each other
have as many paths as there are orders of them, and a scan must end."""


@dataclass(frozen=True)
class LogdirSpec:
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


@dataclass(frozen=True)
class Scan:
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
    unlisted: list[str] = field(default_factory=list)
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
    """Look for event files below all directories, through links to directories too.

    Only regular files count, whatever they are called. A spec that does not exist, or a directory
    that cannot be read, costs what is in it and is told; nothing is raised.
    """
    found = Scan({}, 0, 0, [], [])
    num_directories = num_files = 0
    names = _RunNames()
    for number, spec in enumerate(specs):
        directories: list[tuple[str, str, list[EventFile]]] = []
        for directory, files in _walk(os.path.abspath(spec.path), found):
            num_directories += 1
            if files:
                num_files += len(files)
                files.sort()
                directories.append((directory.name, directory.path, files))
        # The order of a directory's entries changes with its content, and names must not: proper
        # names first, so that a name which was made readable never takes one of theirs.
        directories.sort(key=lambda item: (not _is_readable(item[0]), item[0]))
        for relative, path, files in directories:
            name = names.take(number, spec, relative, path)
            if name is not None:
                found.runs[name] = files
    return Scan(
        found.runs, num_directories, num_files, found.missing, found.problems, found.unlisted
    )


def is_large(specs: Sequence[LogdirSpec], num_bytes: int, seconds: float) -> bool:
    """Whether the event files have so many bytes, short files counted as longer ones.

    True as well when it takes so many seconds to find out.
    """
    deadline = time.monotonic() + seconds
    found = Scan({}, 0, 0, [], [])
    for spec in specs:
        for _, files in _walk(os.path.abspath(spec.path), found):
            num_bytes -= sum(max(file.size, MIN_FILE_BYTES) for file in files)
            if num_bytes <= 0 or time.monotonic() > deadline:
                return True
    return False


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


def _walk(root: str, found: Scan) -> Iterator[tuple[_Directory, list[EventFile]]]:
    """Each directory with its event files, in no order."""
    # A link to a directory above the logdir leads round in a circle as well.
    top: _Directory | None = None
    for above in _parents(os.path.realpath(root)):
        top = _Directory(above, "", top)
    num_names: dict[tuple[int, int], int] = {}
    stack = [_Directory(root, ".", top)]
    while stack:
        directory = stack.pop()
        try:
            if directory.is_linked and not _may_enter(directory, num_names, found):
                continue
            with os.scandir(directory.path) as entries:
                files = _sort_out(entries, directory, stack, found)
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
        yield directory, files


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


def _sort_out(
    entries: Iterator[os.DirEntry[str]],
    directory: _Directory,
    stack: list[_Directory],
    found: Scan,
) -> list[EventFile]:
    """The event files among the entries; directories go onto the stack."""
    files: list[EventFile] = []
    prefix = "" if directory.name == "." else f"{directory.name}/"
    for entry in entries:
        try:
            # A name without the mark can only be that of a directory. Most entries say what they
            # are without a call; telling where a link leads costs one.
            if entry.is_dir():
                is_linked = directory.is_linked or entry.is_symlink()
                stack.append(
                    _Directory(entry.path, prefix + entry.name, directory, is_linked=is_linked)
                )
            elif _MARK in entry.name:
                status = entry.stat()
                # A FIFO would hang its reader, and a device is worse.
                if stat.S_ISREG(status.st_mode):
                    files.append(EventFile.of(entry.path, status))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                continue  # Gone, or a link to nowhere.
            if not entry.is_symlink():
                raise  # Of no file in here anything is known.
            found.problems.append(one_line(f"cannot look at {entry.path}: {error.strerror}"))
    return files


def _is_readable(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
