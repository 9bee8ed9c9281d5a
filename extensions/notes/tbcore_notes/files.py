"""Files: the files with notes in one directory. Reads what is new in them, and adds lines.

Each process that writes has a file of its own, whose name says which process that is:

    alice@laptop-3f2a91c0-4711-5be1d2.jsonl      user@host-MACHINE-PROCESS-RANDOM

It only adds whole lines at the end, and takes them back if that fails. So no process needs a lock,
a reader needs to read only what was added since the last time, and a process that is killed leaves
at most a line without its end, which was confirmed to nobody. A later process on the same machine
continues the file of one that is gone, after it has renamed it; of several processes that try, the
system lets one succeed.
"""

from __future__ import annotations

import contextlib
import errno
import getpass
import hashlib
import logging
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from tbcore.engine import one_line, plural, size
from tbcore_notes.records import MAX_LINE_BYTES, Record, records_of

logger = logging.getLogger("tbcore.notes")

MAX_FILES = 10_000
"""Maximum number of files of one directory that are read."""
MAX_BYTES = 256 << 20
"""Maximum size of the files of one directory that are read, the smallest first. If they are larger
together, nothing is added."""
MAX_CONTINUED_BYTES = 4 << 20
"""A file of a process that is gone is continued if it is at most this long."""
_MAX_FALSE_RECORDS = 10_000
"""After this many lines that only look like records, the rest of a file is left out."""
_CHUNK_BYTES = 1 << 20
_SUFFIX = ".jsonl"
_LINE = re.compile(rb'^\{"t":[^\n]*\}$', re.MULTILINE)
"""Lines that may be records; others are skipped at the speed of `re`."""
_TORN = b"!\n"
"""Ends a line whose writing failed, so that it can never be taken for a whole one."""


@dataclass
class _File:
    """A file that is read as it grows."""

    path: str
    offset: int = 0
    """Where reading goes on: after the last whole line."""
    is_inside: bool = False
    """Whether the offset is inside of a line that is too long to be a record."""
    num_bad: int = 0
    """Number of lines that could not be read."""
    num_false: int = 0
    """Number of those that look like records."""

    @property
    def is_bad(self) -> bool:
        """Whether the rest is not read."""
        return self.num_false > _MAX_FALSE_RECORDS


class ChangedFilesError(Exception):
    """A file is gone or shorter than before, so everything has to be read again."""


class Directory:
    """The files of a directory, which need not exist. For one thread at a time."""

    def __init__(self, path: str, *, is_own: bool) -> None:
        self.path = path
        self.is_own = is_own
        self.problems: list[str] = []
        """What was left out at the last reading, one line each."""
        self._files: dict[tuple[int, int], _File] = {}
        """Maps device and inode to the file: the next process may rename it."""
        self._writer = _Writer(path)

    def read(self, latest: int) -> Iterator[Record]:
        """Yields the records that were added since the last call.

        Those with a time after `latest` are left out. Raises ChangedFilesError before the first
        record; after that, call `forget`.
        """
        self.problems = []
        try:
            found = self._found()
        except (FileNotFoundError, NotADirectoryError):
            found = {}
        except OSError as error:
            self._report(f"{self.path}: {error.strerror or error}")
            return
        if any(
            key not in found or found[key][0] < file.offset for key, file in self._files.items()
        ):
            raise ChangedFilesError
        total = 0
        for key, (num_bytes, path) in sorted(found.items(), key=lambda item: item[1]):
            total += num_bytes
            if total > MAX_BYTES:
                self._report(f"{path} is left out: there are more than {size(MAX_BYTES)} of notes")
                continue
            file = self._files.setdefault(key, _File(path))
            file.path = path
            if num_bytes > file.offset and not file.is_bad:
                try:
                    yield from self._read(file, key, latest)
                except FileNotFoundError:
                    pass  # It was renamed just now; the next call finds it.
                except OSError as error:
                    self._report(f"{path}: {error.strerror or error}")
            if file.is_bad:
                self._report(f"{path}: the rest is left out, since it is not a file of notes")
            elif file.num_bad:
                self._report(f"{path}: {plural(file.num_bad, 'line')} cannot be read")

    def forget(self) -> None:
        """Makes the next call of `read` yield all records."""
        self._files = {}

    def add(self, lines: bytes) -> None:
        """Adds whole lines to this process's own file. Raises OSError; then none of them counts."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        if sum(num_bytes for num_bytes, _ in self._found().values()) + len(lines) > MAX_BYTES:
            raise OSError(errno.EFBIG, f"there are {size(MAX_BYTES)} of notes", self.path)
        self._writer.add(lines)

    def _found(self) -> dict[tuple[int, int], tuple[int, str]]:
        """Maps the files that exist to their sizes and paths. Links are no such files."""
        found = {}
        with os.scandir(self.path) as entries:
            for entry in entries:
                if not entry.name.endswith(_SUFFIX):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        key = status.st_dev, status.st_ino
                        found[key] = status.st_size, entry.path
                if len(found) > MAX_FILES:
                    self._report(
                        f"{self.path} has more than {MAX_FILES} files; others are left out"
                    )
                    break
        return found

    def _read(self, file: _File, key: tuple[int, int], latest: int) -> Iterator[Record]:
        """Yields the records from the offset of a file to its last whole line."""
        with open(opened_file(file.path, os.O_RDONLY), "rb") as stream:
            status = os.fstat(stream.fileno())
            if (status.st_dev, status.st_ino) != key:
                return  # It was replaced just now; the next call sees that.
            stream.seek(file.offset)
            rest = b""
            while not file.is_bad and (chunk := stream.read(_CHUNK_BYTES)):
                start = file.offset
                data = rest + chunk
                end = data.rfind(b"\n") + 1
                file.offset = start + end
                if file.is_inside and end:
                    data, file.is_inside = data[data.index(b"\n") + 1 :], False
                    end = data.rfind(b"\n") + 1
                yield from self._records(file, data[:end], latest)
                rest = data[end:]
                if len(rest) > MAX_LINE_BYTES or file.is_inside:
                    file.num_bad += not file.is_inside
                    file.offset, file.is_inside, rest = file.offset + len(rest), True, b""

    def _records(self, file: _File, lines: bytes, latest: int) -> Iterator[Record]:
        """Yields the records of whole lines."""
        num_good = 0
        for line in _LINE.finditer(lines):
            try:
                records = list(records_of(line[0], is_own=self.is_own, latest=latest))
            except Exception:  # Such as a KeyError: anything can be in a file.
                file.num_false += 1
                if file.is_bad:
                    return
                continue
            num_good += 1
            yield from records
        # Lines that a failed write has ended are left out without a word: nobody relied on them.
        file.num_bad += lines.count(b"\n") - num_good - lines.count(_TORN)

    def _report(self, line: str) -> None:
        self.problems.append(one_line(line))


class _Writer:
    """Adds lines to the file of this process."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = ""
        self._process = 0
        """The process that `_path` belongs to: after a fork, the new one needs its own."""
        self._is_torn = False
        """Whether the last write failed, and may have written a part."""

    def add(self, lines: bytes) -> None:
        """Adds lines, and waits until they are on the disk. Raises OSError."""
        if self._process != os.getpid():
            self._path, self._is_torn = self._new_file()
            self._process = os.getpid()
        data = _TORN * self._is_torn + lines
        # Opened each time: another process may rename the file if it takes this one for gone.
        descriptor = opened_file(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._is_torn = True
        try:
            before = os.fstat(descriptor).st_size
            try:
                written = os.write(descriptor, data)
                if written < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, before)  # Else the first of several lines would count.
                raise
        finally:
            os.close(descriptor)
        self._is_torn = False

    def _new_file(self) -> tuple[str, bool]:
        """The path of the file for this process, and whether its last line has no end.

        Continues the file of a process that is gone, if there is one.
        """
        pattern = re.compile(rf"{re.escape(_origin())}-(\d+)-[0-9a-f]+{re.escape(_SUFFIX)}")
        name = f"{_origin()}-{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        path = os.path.join(self._directory, name)
        with contextlib.suppress(OSError):
            for found in os.listdir(self._directory):
                match = pattern.fullmatch(found)
                if match is None or not _is_gone(int(match[1])):
                    continue
                old = os.path.join(self._directory, found)
                with contextlib.suppress(OSError):
                    status = os.lstat(old)
                    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_CONTINUED_BYTES:
                        continue
                    os.rename(old, path)
                    return path, _is_torn(path)
        return path, False


def author() -> str:
    """Who writes: `alice@laptop`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # A container may have no names of users.
        user = f"uid{os.getuid()}"
    return f"{_safe(user)}@{_safe(socket.gethostname())}"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)[:60] or "_"


def _origin() -> str:
    """The author and the machine: numbers of processes are unique only within one container, and
    until the next start."""
    parts = [author()]
    for path in ("/proc/sys/kernel/random/boot_id", "/etc/machine-id"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            parts.append(file.read())
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return f"{author()}-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:8]}"


def _is_gone(process: int) -> bool:
    """Whether a process of this machine has ended."""
    if os.name != "posix" or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _is_torn(path: str) -> bool:
    """Whether the last line of a file has no end."""
    with open(opened_file(path, os.O_RDONLY), "rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - 1))
        return file.read(1) not in (b"", b"\n")


def opened_file(path: str, flags: int) -> int:
    """Opens a file, but no link, for this user alone if it is new. Never waits for a FIFO."""
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
