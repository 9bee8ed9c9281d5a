"""Files: the files with notes in one directory. Reads what is new in them, and adds lines.

Each process that writes has a file of its own, whose name says which process that is:

    alice@laptop-3f2a91c0-07be52d1-4711-5be1d2.jsonl      user@host-MACHINE-START-PROCESS-RANDOM

It only adds whole lines at the end, and takes them back if that fails. So no process needs a lock,
a reader needs to read only what was added since the last time, and a process that is killed leaves
at most a line without its end, which was confirmed to nobody. A later process on the same machine
continues the file of one that is gone, or compacts it, after it has renamed it; of several
processes that try, the system lets one succeed.

What else happens to a file, such as by an editor or a backup, costs what it damages, and nothing
that is confirmed later: a writer looks at the end of its file each time, and a reader at the bytes
before those that are new.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tbcore.engine import one_line, plural, size
from tbcore_notes.records import ADDRESS, MAX_LINE_BYTES, Record, ValidParts, records_of

logger = logging.getLogger("tbcore.notes")

MAX_FILES = 10_000
"""Maximum number of files of one directory that are read."""
MAX_BYTES = 256_000_000
"""Maximum size of the files of one directory, of which the smallest are read first. If they are
larger together, nothing is added."""
MAX_UNCHECKED_BYTES = 2_000_000
"""Size of the notes of strangers that are read whether there are such runs or not."""
_SPARE_PART = 8
"""This user's files are read even if they are larger by this part: several processes may have added
the last bytes at the same moment."""
_MAX_PROBLEMS = 10
"""Maximum number of problems of a directory that are reported one by one."""
_MAX_ATTEMPTS = 3
"""Maximum number of times that something is tried while other processes rename files."""
MAX_CONTINUED_BYTES = 4 << 20
"""A file of a process that is gone is continued if it is at most this long."""
MAX_FALSE_RECORDS = 10_000
"""After this many lines that only look like records, the rest of a file is left out."""
_CHUNK_BYTES = 1 << 18
_TAIL_BYTES = 64
_SUFFIX = ".jsonl"
_LINE = re.compile(rb'^\{"t":[^\n]*\}$', re.MULTILINE)
"""Lines that may be records; others are skipped at the speed of `re`."""
_PLACES = {"start": "/proc/sys/kernel/random/boot_id", "machine": "/etc/machine-id"}
"""The files with a text that is new at each start of this machine, and with one that stays."""
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
    last_bytes: bytes = b""
    """The bytes before the offset. If there are others now, the file is another one."""
    modified: int = 0
    """When it was written to, as of the last look at `last_bytes`."""

    @property
    def is_bad(self) -> bool:
        """Whether the rest is not read."""
        return self.num_false > MAX_FALSE_RECORDS


class _Found(NamedTuple):
    """A file that exists."""

    num_bytes: int
    path: str
    modified: int


class ChangedFilesError(Exception):
    """A file is gone or another one than before, so everything has to be read again."""


class Directory:
    """The files of a directory, which need not exist. For one thread at a time."""

    def __init__(
        self,
        path: str,
        *,
        is_own: bool,
        max_bytes: int | None = None,
        is_run: Callable[[str], bool] | None = None,
    ) -> None:
        """`max_bytes` is MAX_BYTES if it is not given. `is_run` is for a directory that may come
        from a stranger, and that nobody adds to: whether there is a run of this name."""
        self.path = path
        self.is_own = is_own
        self.max_bytes = MAX_BYTES if max_bytes is None else max_bytes
        self._is_run = is_run
        self._num_taken_bytes = 0
        """Size of the lines about runs that were read."""
        self._num_without_run = 0
        """Number of lines that were left out since they are about no run."""
        self.problems: list[str] = []
        """What was left out at the last reading, one line each."""
        self._num_problems = 0
        self._files: dict[tuple[int, int], _File] = {}
        """Maps device and inode to the file: the next process may rename it."""
        self._writer = _Writer(path)

    def read(self, latest: int) -> Iterator[Record]:
        """Yields the records that were added since the last call.

        Those with a time after `latest` are left out. Raises ChangedFilesError before the first
        record; after that, call `forget`.
        """
        self.problems, self._num_problems = [], 0
        try:
            found = self._readable()
            if any(_is_another(file, found.get(key)) for key, file in self._files.items()):
                raise ChangedFilesError
            for _ in range(_MAX_ATTEMPTS):
                has_vanished = False
                for key, (num_bytes, path, _) in found.items():
                    file = self._files.setdefault(key, _File(path))
                    file.path = path
                    if num_bytes > file.offset and not file.is_bad:
                        try:
                            yield from self._read(file, key, latest)
                        except FileNotFoundError:
                            has_vanished = True
                        except OSError as error:
                            self._report(f"{path}: {error.strerror or error}")
                if not has_vanished:
                    break
                found = self._readable()  # A file was renamed or compacted just now.
        except OSError as error:
            self._report(f"{self.path}: {error.strerror or error}")
            return
        for file in (self._files[key] for key in found if key in self._files):
            if file.is_bad:
                self._report(f"{file.path}: the rest is left out, since it is not a file of notes")
            elif file.num_bad:
                self._report(f"{file.path}: {plural(file.num_bad, 'line')} cannot be read")
        if self._num_without_run:
            self._report(
                f"{self.path}: {plural(self._num_without_run, 'note')} on names that are no runs "
                f"here are left out: there are more than {size(MAX_UNCHECKED_BYTES)} of notes"
            )

    def forget(self) -> None:
        """Makes the next call of `read` yield all records."""
        self._files, self._num_taken_bytes, self._num_without_run = {}, 0, 0

    def add(self, lines: bytes | bytearray) -> None:
        """Adds whole lines to this process's own file. Raises OSError; then none of them counts."""
        os.makedirs(self.path, mode=0o700, exist_ok=True)
        if sum(self.sizes()) + len(lines) > self.max_bytes:
            way_out = "`tbcore notes compact` leaves out what was replaced"
            line = f"there are {size(self.max_bytes)} of notes; {way_out}"
            raise OSError(errno.EFBIG, line, self.path)
        self._writer.add(lines)

    def sizes(self) -> list[int]:
        """The sizes of all files. Raises OSError."""
        return [found.num_bytes for found in self._found().values()]

    def _readable(self) -> dict[tuple[int, int], _Found]:
        """Those of the files that exist that are read, the smallest first. Raises OSError."""
        try:
            found = self._found()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        limit = self.max_bytes + (0 if self._is_run else self.max_bytes // _SPARE_PART)
        taken, total = {}, 0
        for key, each in sorted(found.items(), key=lambda item: item[1]):
            total += each.num_bytes
            if total <= limit:
                taken[key] = each
            else:
                what = f"{each.path}, {size(each.num_bytes)}, is left out"
                self._report(f"{what}: there are more than {size(self.max_bytes)} of notes")
        return taken

    def _found(self) -> dict[tuple[int, int], _Found]:
        """The files that exist. Links are no such files. Raises OSError."""
        found = {}
        with os.scandir(self.path) as entries:
            for entry in entries:
                if not entry.name.endswith(_SUFFIX):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        key = status.st_dev, status.st_ino
                        found[key] = _Found(status.st_size, entry.path, status.st_mtime_ns)
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
                raise FileNotFoundError  # It was replaced just now.
            stream.seek(file.offset)
            file.modified = status.st_mtime_ns
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
            stream.seek(max(0, file.offset - _TAIL_BYTES))
            file.last_bytes = stream.read(min(file.offset, _TAIL_BYTES))

    def _records(self, file: _File, lines: bytes, latest: int) -> Iterator[Record]:
        """Yields the records of whole lines."""
        num_good = 0
        seen: dict[bytes, ValidParts] = {}
        for line in _LINE.finditer(lines):
            try:
                records = list(records_of(line[0], is_own=self.is_own, latest=latest, seen=seen))
            except Exception:  # Such as a KeyError: anything can be in a file.
                file.num_false += 1
                if file.is_bad:
                    return
                continue
            num_good += 1
            if self._takes(records, len(line[0])):
                yield from records
        # Lines that a failed write has ended are left out without a word: nobody relied on them.
        file.num_bad += lines.count(b"\n") - num_good - lines.count(_TORN)

    def _takes(self, records: list[Record], num_bytes: int) -> bool:
        """Whether the records of a line are not left out, as many notes on no runs are."""
        if self._is_run is None or not records or records[0].field == ADDRESS:
            return True
        self._num_taken_bytes += num_bytes
        if self._num_taken_bytes <= MAX_UNCHECKED_BYTES or self._is_run(records[0].name):
            return True
        self._num_without_run += 1
        return False

    def _report(self, line: str) -> None:
        """Adds a problem; of many, there is only the number."""
        if (line := one_line(line)) in self.problems:
            return
        self._num_problems += 1
        self.problems.append(line)
        if (more := self._num_problems - _MAX_PROBLEMS) > 0:
            line = one_line(f"{self.path}: {plural(more, 'more problem')}")
            self.problems[_MAX_PROBLEMS:] = [line]


def _is_another(file: _File, found: _Found | None) -> bool:
    """Whether a file that was read is gone, or has other bytes where it was read."""
    if found is None or found.num_bytes < file.offset:
        return True
    if file.is_bad or found.modified == file.modified:
        return False
    try:
        with open(opened_file(found.path, os.O_RDONLY), "rb") as stream:
            stream.seek(file.offset - len(file.last_bytes))
            file.modified = found.modified
            return stream.read(len(file.last_bytes)) != file.last_bytes
    except OSError:
        return False  # Reading it fails, too.


class _Writer:
    """Adds lines to the file of this process."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = ""
        self._process = 0
        """The process that `_path` belongs to: after a fork, the new one needs its own."""
        self._is_torn = False
        """Whether a line without its end is one that was not confirmed."""

    def add(self, lines: bytes | bytearray) -> None:
        """Adds lines, and waits until they are on the disk. Raises OSError."""
        if self._process != os.getpid():
            self._path, self._is_torn = _continued(self._directory)
            self._process = os.getpid()
        for _ in range(_MAX_ATTEMPTS):
            # Opened each time: another process may rename the file if it takes this one for gone.
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            descriptor = opened_file(self._path, flags)
            try:
                self._add(descriptor, lines)
                if os.fstat(descriptor).st_nlink:
                    return
            finally:
                os.close(descriptor)
        # Somebody deletes it each time between opening and writing.
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), self._path)

    def _add(self, descriptor: int, lines: bytes | bytearray) -> None:
        """Adds lines to an open file, whatever it ends with. Raises OSError."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", self._path)
        before = status.st_size
        os.lseek(descriptor, max(0, before - 1), os.SEEK_SET)
        if os.read(descriptor, 1) not in (b"", b"\n"):
            lines = (_TORN if self._is_torn else b"\n") + lines
        self._is_torn = True
        try:
            if os.write(descriptor, lines) < len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, before)  # Else the first of several lines would count.
            raise
        if not before:
            sync_folder(self._directory)
        self._is_torn = False


def _continued(directory: str) -> tuple[str, bool]:
    """The path of the file for this process, and whether it is that of a process that is gone,
    which is continued, and whose last line may have no end."""
    path = new_path(directory)
    for old in gone_files(directory):
        with contextlib.suppress(OSError):
            if os.lstat(old).st_size <= MAX_CONTINUED_BYTES:
                os.rename(old, path)
                return path, True
    return path, False


def new_path(directory: str) -> str:
    """A path for a new file of this process."""
    name = f"{_origin()}-{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
    return os.path.join(directory, name)


def gone_files(directory: str, suffix: str = _SUFFIX) -> Iterator[str]:
    """The paths of the files of processes of this user and machine that are gone."""
    machine, _, start = _origin().rpartition("-")
    pattern = re.compile(rf"{re.escape(machine)}-([0-9a-f]+)-(\d+)-[0-9a-f]+{re.escape(suffix)}")
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(directory)):
            match = pattern.fullmatch(name)
            if match is None or (match[1] == start and not _is_gone(int(match[2]))):
                continue
            path = os.path.join(directory, name)
            with contextlib.suppress(OSError):
                if stat.S_ISREG(os.lstat(path).st_mode):
                    yield path


def sync_folder(path: str) -> None:
    """Waits until the names of files in a directory are on the disk, where a system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
    """The author, the machine, and the start of the machine: numbers of processes are unique only
    within one container, and until the next start.

    Of a machine without an id of its own, it is not known which starts are its earlier ones.
    """
    read = {}
    for name, path in _PLACES.items():
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            read[name] = file.read().strip()
    start, machine = read.get("start", ""), read.get("machine", "")
    with contextlib.suppress(OSError):
        machine = (machine or start) + os.readlink("/proc/self/ns/pid")
    hashes = (hashlib.sha256(text.encode()).hexdigest()[:8] for text in (machine, start))
    return "-".join([author(), *hashes])


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


def opened_file(path: str, flags: int) -> int:
    """Opens a file, but no link, for this user alone if it is new. Never waits for a FIFO."""
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
