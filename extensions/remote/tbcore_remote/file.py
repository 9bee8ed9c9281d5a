"""RemoteFile: an event file in an object store or on another machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from tbcore.engine import EventFile
from tbcore_remote.connection import OVERLAP_BYTES, Range, connection_of

_BULK_BYTES = 1 << 20
"""A read of at least this many bytes means that the whole file is read, so more is fetched."""
_FETCH_BYTES = 1 << 24
"""Maximum number of bytes that one request fetches of a file that is read as a whole."""


class RemoteFile:
    """A file that is read by ranges, with one request for each: see `OpenFile`.

    The bytes of the last request are kept. Each request fetches the last known bytes again. So if
    the file was replaced between two requests, this is detected without a further request.
    """

    __slots__ = ("_begin", "_connection", "_data", "_parts", "opened")

    is_local = False

    def __init__(self, listed: EventFile) -> None:
        self.opened = listed
        """The file's status when it was listed. Nothing is read beyond its size."""
        self._connection = connection_of(listed.path)
        self._data, self._begin = self._connection.fetched(listed)
        self._parts: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing: the file has no connection of its own."""

    def current_size(self) -> int:
        """The file's size in bytes when it was listed."""
        return self.opened.size

    def fetch(self, parts: Iterable[tuple[int, int]]) -> None:
        """Fetches parts of the file together, each an offset and a size, for later calls of `read`.

        Raises nothing: `read` raises the error.
        """
        ranges = [Range(self.opened.path, offset, offset + size) for offset, size in parts]
        for wanted, data in zip(ranges, self._connection.read_many(ranges), strict=True):
            if isinstance(data, bytes):
                self._parts[wanted.begin] = data

    def read(self, offset: int, size: int) -> bytes:
        """Reads `size` bytes at `offset`; fewer at the end of the file."""
        part = self._parts.pop(offset, None)
        if part is not None and len(part) == size:
            return part
        if not self.opened.is_listed:
            return self._connection.read(Range(self.opened.path, offset, offset + size))
        end = min(offset + size, self.opened.size)
        self._fetch(offset, end, is_bulk=size >= _BULK_BYTES)
        return self._data[max(offset - self._begin, 0) : max(end - self._begin, 0)]

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fills the buffer with the bytes at `offset`; returns the number of bytes read."""
        end = min(offset + len(buffer), self.opened.size)
        if end <= offset:
            return 0
        self._fetch(offset, end, is_bulk=True)
        buffer[: end - offset] = self._data[offset - self._begin : end - self._begin]
        return end - offset

    def _fetch(self, begin: int, end: int, *, is_bulk: bool) -> None:
        """Fetches the bytes from `begin` up to `end`, unless they are kept already.

        Raises OSError if the file was replaced.
        """
        known_end = self._begin + len(self._data)
        if begin >= end or (self._begin <= begin and end <= known_end):
            return
        if is_bulk:
            end = max(end, min(begin + _FETCH_BYTES, self.opened.size))
        first = max(begin - OVERLAP_BYTES, 0)
        kept = known = b""
        if self._begin <= begin <= known_end and self._data:
            # Bytes before `first` are kept. Known bytes from there on are fetched again.
            kept_from = max(first, self._begin)
            first = max(known_end - OVERLAP_BYTES, kept_from)
            kept = self._data[kept_from - self._begin : first - self._begin]
            known = self._data[first - self._begin :]
        data = self._connection.read(Range(self.opened.path, first, end))
        if len(data) != end - first or not data.startswith(known):
            raise OSError("it changed while it was read")
        self._data, self._begin = kept + data, first - len(kept)
