"""SQLite without locks and traces: nothing is made beside a database, and its writers never wait.

rollback journal   queries are made in the file; they count if that has not changed
WAL                queries are made in a copy in memory, with the committed pages of the -wal;
                   it counts if the -wal was not begun again before it was made, until `close`
"""

from __future__ import annotations

import logging
import os
import sqlite3
import struct
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from urllib.parse import quote

from tbcore.engine import EventFile
from tbcore_formats.common import is_being_written, opened

logger = logging.getLogger("tbcore.formats")

_MAGIC = b"SQLite format 3\0"
_MAX_COPY_BYTES = 1 << 28
_MAX_WAL_BYTES = 1 << 25
_TOO_LARGE = "a database that is being written to has more than 256 MB"
_MAX_VALUE_BYTES = 1 << 16
"""Maximum size of a value. A default is in each row older than its column, however small the
file is. MLflow takes 8,000 characters itself."""
_MAX_RESULT_BYTES = 1 << 28
_NUMBERS, _NUMBER_BYTES = {int, float, type(None)}, 40
"""The types of cells that are small, and their size with that of their place in a row."""
_MAX_SECONDS = 10.0
_STEPS_PER_CHECK = 100_000
"""Number of steps of SQLite's machine between two looks at the clock."""
_MAX_OPEN = 256
_OPEN: list[Any] = []
"""The databases that this process has read, still open. Closing one ends all locks that this
process has on the file, as POSIX demands: also those of a training in the same process, whose
transaction could then be lost. Beyond 256, a database is closed after each use."""
_OPEN_LOCK = threading.Lock()


class Database:
    """A database file. Of what it has, only tables with certain columns are used."""

    def __init__(self, path: str, tables: Mapping[str, str]) -> None:
        """`tables` maps tables to their columns, separated by blanks."""
        self._path, self._tables = path, tables
        self._connection: sqlite3.Connection | None = None
        self._stamp: Any = None
        """The stamp from when the connection was made."""
        self._is_copy = False
        self._deadline = 0.0

    def stamp(self) -> Any:
        """A value that changes with each transaction: the status of the files, and their first
        bytes, some of which count transactions."""
        sizes = {"": 32, "-journal": 8, "-wal": 32}
        return [_begin(self._path + suffix, size) for suffix, size in sizes.items()]

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection for a `with` statement. What is read counts if that ends without an error.
        A copy stays as it is until `close`.

        Raises BlockingIOError if the database is being written to, OSError, sqlite3.Error, and
        ValueError if it has no such tables.
        """
        self._deadline = time.monotonic() + _MAX_SECONDS
        try:
            connection = self._connection
            if connection is None or not (self._is_copy or self.stamp() == self._stamp):
                self.close()
                self._stamp = self.stamp()
                connection = self._connection = self._connected()
                self._check_tables(connection)
            yield connection
        except Exception:
            self._check()
            self.close()
            raise
        self._check()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._stamp, self._is_copy = None, None, False

    __del__ = close

    def _check(self) -> None:
        """Raises BlockingIOError if what was read may be a mixture of two moments."""
        if not self._is_copy and self.stamp() != self._stamp:
            self.close()
            raise BlockingIOError

    def _connected(self) -> sqlite3.Connection:
        (own, head), (journal, journal_head), (wal, wal_head) = self._stamp
        if own is None:
            raise OSError(head.decode())
        if journal and any(journal_head):
            if is_being_written(journal):
                raise BlockingIOError
            raise OSError(
                "a program ended within a transaction; the next program that opens it repairs it"
            )
        if not head.startswith(_MAGIC[: len(head)]):
            raise ValueError("it is not an SQLite database")
        is_copy = bool(wal) and head[18:19] == b"\2" and len(wal_head) == 32
        if is_copy:
            data = _overlaid(_whole(self._path), _whole(f"{self._path}-wal", _MAX_WAL_BYTES + 1))
            now = self.stamp()
            if (now[0][0].version, now[2][1]) != (own.version, wal_head):
                raise BlockingIOError
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            connection.deserialize(data)
            self._is_copy = True
        else:
            uri = f"file:{quote(os.fsencode(self._path))}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        connection.set_progress_handler(self._is_late, _STEPS_PER_CHECK)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        connection.execute("pragma trusted_schema=off")
        connection.execute("pragma cell_size_check=on")
        return connection

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _check_tables(self, connection: sqlite3.Connection) -> None:
        """Raises ValueError if a table is not there, is a view, or has computed columns."""
        query = "select name from sqlite_master where type = 'table' and sql like 'create table%'"
        found = {name for (name,) in connection.execute(query)}
        for table, needed in self._tables.items():
            columns = connection.execute(f"pragma table_xinfo({table})").fetchall()
            if table not in found or not {*needed.split()} <= {c[1] for c in columns if not c[-1]}:
                raise ValueError(f"it has no table {table} of MLflow")


def rows_of(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    """The rows of a query. Raises ValueError if they take more than 256 MB of memory."""
    found: list[tuple[Any, ...]] = []
    size = 0
    while new := cursor.fetchmany(500):
        for column in zip(*new, strict=True):
            is_small = {*map(type, column)} <= _NUMBERS  # To add up their sizes would take long.
            size += _NUMBER_BYTES * len(new) if is_small else sum(map(sys.getsizeof, column))
        if size > _MAX_RESULT_BYTES:
            raise ValueError("its runs, parameters or tags take more than 256 MB")
        found += new
    return found


def _begin(path: str, size: int) -> tuple[EventFile | None, bytes]:
    """The status of a file and its first bytes; None and the reason if it is missing, a link, or
    not a regular file."""
    if path.endswith(("-journal", "-wal")) and not os.path.lexists(path):
        return None, b""  # Ten times as fast as below.
    try:
        with _opened(path) as (file, status):
            return status, file.read(0, size)
    except OSError as error:
        return None, str(error.strerror or error).encode()


def _whole(path: str, size: int = _MAX_COPY_BYTES + 1) -> bytes:
    """All of a file, but at most `size` bytes."""
    with _opened(path) as (file, _):
        found: bytes = file.read(0, min(size, file.current_size()))
    if len(found) > _MAX_COPY_BYTES:
        raise ValueError(_TOO_LARGE)
    return found


@contextmanager
def _opened(path: str) -> Iterator[tuple[Any, EventFile]]:
    """An open file and its status. Raises OSError."""
    if path.endswith(("-journal", "-wal")):  # Nobody locks these.
        with opened(EventFile.unlisted(path)) as file:
            yield file, file.opened
        return
    with _OPEN_LOCK:
        status = EventFile.of(path, os.lstat(path))
        file = next((each for each in _OPEN if each.opened.version == status.version), None)
        if file is None:
            file = opened(EventFile.unlisted(path))
            status = file.opened
            _OPEN.append(file)
        try:
            yield file, status
        finally:
            if len(_OPEN) > _MAX_OPEN:
                _log_limit()
                _OPEN.pop().__exit__()


@cache
def _log_limit() -> None:
    """Logs once that databases are closed, which only matters in the process of a training."""
    logger.log(
        logging.WARNING if "mlflow" in sys.modules else logging.INFO,
        "more than %d databases of MLflow: the others are read, but do not stay open, so that "
        "a training in this same process may lose its locks on them",
        _MAX_OPEN,
    )


def close_deleted() -> None:
    """Closes the databases that are no longer at their paths."""
    with _OPEN_LOCK:
        for file in [*_OPEN]:
            path, version, *_ = file.opened
            with suppress(FileNotFoundError):
                if EventFile.of(path, os.lstat(path)).version == version:
                    continue
            _OPEN.remove(file)
            file.__exit__()


def _overlaid(database: bytes, wal: bytes) -> bytearray:
    """The database with all committed pages of the -wal, as one that has none."""
    found = bytearray(database)
    magic, _, page, _, *salts, one, two = struct.unpack(">8I", wal[:32])
    order = ">" if magic & 1 else "<"
    sums = _sums(wal[:24], (0, 0), order)
    pages: dict[int, int] = {}
    if sums == (one, two) and 512 <= page <= 65536:
        for at in range(32, len(wal) - page - 23, page + 24):
            number, size, *rest = struct.unpack(">6I", wal[at : at + 24])
            sums = _sums(wal[at : at + 8], sums, order)
            sums = _sums(wal[at + 24 : at + 24 + page], sums, order)
            if rest != [*salts, *sums]:
                break
            pages[number] = at + 24
            if size:  # The number of pages after a commit.
                if size * page > _MAX_COPY_BYTES:
                    raise ValueError(_TOO_LARGE)
                found.extend(bytes(max(size * page - len(found), 0)))
                for each, begin in pages.items():
                    found[(each - 1) * page : each * page] = wal[begin : begin + page]
                del found[size * page :]
                pages = {}
        else:
            if len(wal) > _MAX_WAL_BYTES:
                raise ValueError("its -wal has more than 32 MB that no checkpoint has copied")
    found[18:20] = b"\1\1"
    return found


def _sums(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    """The checksums of the -wal after more data, from those before it."""
    one, two = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for word in words:
        one = (one + word + two) & 0xFFFFFFFF
        two = (two + next(words) + one) & 0xFFFFFFFF
    return one, two
