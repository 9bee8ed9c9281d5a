"""Compacting: leaves out of this user's files what later notes have replaced.

Only files of this machine's processes that are gone are rewritten, each on its own:

1. It is renamed to one of this process, so that no other process continues it.
2. Its lines that stay are written to a new file, which then replaces it.
3. If a process that was taken for gone has added to the old file since, that is added again.

A line stays, byte by byte, if one of its records is the last one of its field in these files, also
if that says that something was taken away, since copies of others may still say otherwise; or if it
is the last one that brings a run back. So all files together say the same before, after, and at any
point where this process is killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import orjson

from tbcore.engine import one_line
from tbcore_notes.changes import NotesError
from tbcore_notes.files import (
    MAX_FALSE_RECORDS,
    Directory,
    gone_files,
    new_path,
    opened_file,
    sync_folder,
)
from tbcore_notes.records import MAX_LINE_BYTES, MAX_TIME, Record, records_of

_TEMPORARY = ".jsonl.tmp"


class Compacted(NamedTuple):
    """The sizes of a directory's files, and how many of them were left."""

    num_bytes_before: int
    num_bytes_after: int
    num_left: int
    """Number of files of running processes or other machines, which were left as they are."""


def compacted(directory: Directory) -> Compacted:
    """Compacts the files of a directory. Raises NotesError if they cannot be read or written."""
    try:
        if not os.path.isdir(directory.path):
            return Compacted(0, 0, 0)  # Nobody has noted anything.
        before = sum(directory.sizes())
        num_read = _compact(directory)
        after = directory.sizes()
        return Compacted(before, sum(after), len(after) - num_read)
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename or directory.path}"
        raise NotesError(one_line(f"the notes cannot be compacted: {reason}")) from None


def _compact(directory: Directory) -> int:
    """Rewrites files; returns the number of those that it has read and that are still there.

    Raises OSError.
    """
    for path in gone_files(directory.path, _TEMPORARY):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    reader = _Reader(directory)
    taken = []
    for old in gone_files(directory.path):
        path = new_path(directory.path)
        with contextlib.suppress(FileNotFoundError):  # Another process was faster.
            os.rename(old, path)
            taken.append(path)
    readable = [path for path in taken if reader.learn(path)]
    for path in readable:
        with open(opened_file(path, os.O_RDONLY), "rb") as old_file:
            if _replace(path, reader.staying(old_file)) and (added := old_file.read()):
                directory.add(added)
    sync_folder(directory.path)
    return sum(map(os.path.lexists, taken))


def _replace(path: str, lines: Iterator[bytes]) -> bool:
    """Replaces a file by one with these lines, or deletes it if there are none. Whether it did:
    a file with all lines is left as it is. Raises OSError."""
    temporary = path.removesuffix(".jsonl") + _TEMPORARY
    try:
        descriptor = opened_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(descriptor, "wb") as file:
            for line in lines:
                file.write(line)
            num_bytes = file.tell()
            if num_bytes == os.lstat(path).st_size:
                return False
            file.flush()
            os.fsync(descriptor)
        if num_bytes:
            os.replace(temporary, path)
        else:
            os.unlink(path)
        return True
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


class _Reader:
    """Reads the files of a directory, and finds the lines that stay."""

    def __init__(self, directory: Directory) -> None:
        self._is_own = directory.is_own
        self._last: dict[tuple[str, str], tuple[int, str]] = {}
        """Maps names and fields to the time and the author of the last record."""
        self._kept: set[bytes] = set()
        """Digests of the lines that stay: one file may have copies of another's lines."""

    def learn(self, path: str) -> bool:
        """Learns which records of a file are the last ones. Returns false for a file whose rest is
        left out when it is read, so that none of it counts here. Raises OSError."""
        found: dict[tuple[str, str], tuple[int, str]] = {}
        num_false = 0
        with open(opened_file(path, os.O_RDONLY), "rb") as file:
            for _, records in self._lines(file):
                num_false += not records
                for record in records:
                    order = record.time, record.by
                    for key in _keys_of(record):
                        found[key] = max(order, found.get(key, order))
        if num_false > MAX_FALSE_RECORDS:
            return False
        for key, order in found.items():
            self._last[key] = max(order, self._last.get(key, order))
        return True

    def staying(self, file: BinaryIO) -> Iterator[bytes]:
        """Yields the lines of a file that stay."""
        for line, records in self._lines(file):
            if records:
                digest = hashlib.blake2b(line, digest_size=16).digest()
                stays = digest not in self._kept and any(map(self._is_last, records))
                if stays:
                    self._kept.add(digest)
            else:
                stays = _is_of_later_version(line)
            if stays:
                yield line

    def _is_last(self, record: Record) -> bool:
        order = record.time, record.by
        return any(order >= self._last.get(key, order) for key in _keys_of(record))

    def _lines(self, file: BinaryIO) -> Iterator[tuple[bytes, list[Record]]]:
        """Yields the whole lines that look like records, with the records, or none if they are not
        valid."""
        is_inside = False
        while line := file.readline(MAX_LINE_BYTES):
            was_inside, is_inside = is_inside, not line.endswith(b"\n")
            if was_inside or is_inside or not line.startswith(b'{"t":'):
                continue
            try:
                records = list(records_of(line, is_own=self._is_own, latest=MAX_TIME))
            except Exception:  # Such as a KeyError: anything can be in a file.
                records = []
            yield line, records


def _keys_of(record: Record) -> list[tuple[str, str]]:
    """The name and the field. That a run was brought back is another field, too: no file of it is
    named for deletion from then on, also if others archive it again."""
    is_back = record.field == "archived" and not record.value
    return [(record.name, record.field), *[(record.name, "brought back")] * is_back]


def _is_of_later_version(line: bytes) -> bool:
    """Whether a line that has no valid records may be one of a later version of this program."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and type(found.get("t")) is int
