"""Long records: events that are larger than a buffer, read without holding them in memory.

What is long in an event is its bulk: a graph, an image, a tensor. Only its place in the file is
stored, so that a *skeleton* will do: the same event with its bulk left out. A file may be all
holes, and claim any length for next to no bytes on the disk; so memory follows what is kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import google_crc32c
from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore.eventfiles import wire
from tbcore.eventfiles.crc32c import mask

_FIELD_BYTES = 16
"""What a field counts at least: to look at very many takes time, too."""

_CHUNK_BYTES = 1 << 20
_KEPT_BYTES = 1 << 12
"""Shorter fields are not looked into. A tensor that is longer holds more than one number."""

_BULK: Mapping[int, Any] = {}
"""Fields of a message that is left out."""
_VALUE = {3: _BULK, 4: _BULK, 5: _BULK, 6: _BULK, 8: _BULK}
_EVENT = {4: _BULK, 5: {1: _VALUE}, 6: _BULK, 8: {2: _BULK}, 9: _BULK}
"""Number of a field to those of the message in it, as far as there may be bulk."""


def checksum_at(descriptor: int, offset: int, length: int) -> int | None:
    """Masked CRC-32C of these bytes of a file; None when it ends before."""
    crc, end = 0, offset + length
    while offset < end:
        chunk = os.pread(descriptor, min(_CHUNK_BYTES, end - offset), offset)
        if not chunk:
            return None
        crc = google_crc32c.extend(crc, chunk)
        offset += len(chunk)
    return mask(crc)


def stripped_event_at(descriptor: int, offset: int, length: int, max_bytes: int) -> bytes:
    """The serialized event at this place of a file, long fields that are bulk emptied.

    Raises protobuf's DecodeError when these bytes are no event, or too long without their bulk.
    """
    return bytes(_stripped(_Window(descriptor, max_bytes), offset, offset + length, _EVENT))


def _stripped(window: _Window, at: int, end: int, fields: Mapping[int, Any]) -> bytearray:
    kept = bytearray()
    while at < end:
        begin = at
        window.charge_budget(_FIELD_BYTES)
        key, at = window.varint(at)
        number, wire_type = key >> 3, key & 7
        below = None
        if wire_type == 0:
            _, at = window.varint(at)
        elif wire_type in wire.FIXED_SIZES:
            at += wire.FIXED_SIZES[wire_type]
        elif wire_type == 2:
            length, content = window.varint(at)
            at = content + length
            below = fields.get(number) if length > _KEPT_BYTES else None
        else:
            raise ProtobufDecodeError(f"nobody writes wire type {wire_type}")
        if at > end or number == 0:
            raise ProtobufDecodeError("a field is damaged")
        if below is not None:
            field = b"" if below is _BULK else _stripped(window, content, at, below)
            kept += wire.encode_varint(key) + wire.encode_varint(len(field)) + field
        else:
            window.charge_budget(at - begin - _FIELD_BYTES)
            kept += window.read(begin, at - begin)
    return kept


class _Window:
    """Bytes of a file, a piece of which is in memory."""

    def __init__(self, descriptor: int, max_bytes: int) -> None:
        self._descriptor = descriptor
        self._begin = 0
        self._data = b""
        self._room = max_bytes

    def charge_budget(self, size: int) -> None:
        """Raises DecodeError when so much more is too much."""
        self._room -= max(size, 0)
        if self._room < 0:
            raise ProtobufDecodeError("it is too long without its bulk")

    def read(self, at: int, size: int) -> bytes:
        """`size` bytes from `at` on; fewer at the file's end."""
        start = at - self._begin
        if not 0 <= start <= start + size <= len(self._data):
            self._begin, start = at, 0
            self._data = os.pread(self._descriptor, max(size, _KEPT_BYTES * 2), at)
        return self._data[start : start + size]

    def varint(self, at: int) -> tuple[int, int]:
        """The number at this place, and the place behind it."""
        value, size = wire.varint(self.read(at, wire.MAX_VARINT_BYTES), 0)
        return value, at + size
