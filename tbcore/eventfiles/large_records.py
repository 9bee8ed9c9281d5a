"""Large records: reads events that are larger than a piece, without holding them in memory.

Nearly all bytes of a large event are in a few fields: a graph, an image, a tensor. The store keeps
only their location in the file. So the event is *stripped*: its large fields are left empty. A file
may be sparse, so that a record of any length takes next to no space on disk. Therefore what is kept
of an event has a budget.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import google_crc32c
from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore.eventfiles import wire
from tbcore.eventfiles.crc32c import mask

_MIN_FIELD_COST_BYTES = 16
"""Minimum number of bytes charged for each field, since very many small fields take time."""

_CHUNK_BYTES = 1 << 20
"""Bytes that are read at once to compute a checksum."""
_MAX_KEPT_FIELD_BYTES = 1 << 12
"""Maximum size of a field that is always kept. A larger tensor holds more than one number, so it
is no scalar."""

_EMPTIED: Mapping[int, Any] = {}
"""Stands for a field that is left empty if it is large."""
# Fields of a Summary.Value: the old histogram, image, histo, audio and tensor.
_VALUE = {3: _EMPTIED, 4: _EMPTIED, 5: _EMPTIED, 6: _EMPTIED, 8: _EMPTIED}
_EVENT = {4: _EMPTIED, 5: {1: _VALUE}, 6: _EMPTIED, 8: {2: _EMPTIED}, 9: _EMPTIED}
"""The fields of an event that may be large. Maps a field number to `_EMPTIED`, or to the fields
that may be large in the message of this field."""


def checksum_at(descriptor: int, offset: int, length: int) -> int | None:
    """Masked CRC-32C of `length` bytes of a file; None if the file ends before them."""
    crc, end = 0, offset + length
    while offset < end:
        chunk = os.pread(descriptor, min(_CHUNK_BYTES, end - offset), offset)
        if not chunk:
            return None
        crc = google_crc32c.extend(crc, chunk)
        offset += len(chunk)
    return mask(crc)


def stripped_event_at(descriptor: int, offset: int, length: int, max_bytes: int) -> bytes:
    """The serialized event at an offset of a file, with its large fields left empty.

    Raises protobuf's DecodeError if the bytes are not a valid message, or if what is kept costs
    more than `max_bytes`.
    """
    return bytes(_stripped(_Window(descriptor, max_bytes), offset, offset + length, _EVENT))


def _stripped(window: _Window, at: int, end: int, fields: Mapping[int, Any]) -> bytearray:
    """The message in bytes `at` to `end` of the file, with its large fields left empty.

    `fields` has those that may be large, as `_EVENT` does.
    """
    kept = bytearray()
    while at < end:
        begin = at
        window.charge_budget(_MIN_FIELD_COST_BYTES)
        key, at = window.varint(at)
        number, wire_type = key >> 3, key & 7
        nested = None
        if wire_type == 0:
            _, at = window.varint(at)
        elif wire_type in wire.FIXED_SIZES:
            at += wire.FIXED_SIZES[wire_type]
        elif wire_type == 2:
            length, content = window.varint(at)
            at = content + length
            nested = fields.get(number) if length > _MAX_KEPT_FIELD_BYTES else None
        else:
            raise ProtobufDecodeError(f"wire type {wire_type} is not supported")
        if at > end or number == 0:
            raise ProtobufDecodeError("a field is damaged")
        if nested is not None:
            field = b"" if nested is _EMPTIED else _stripped(window, content, at, nested)
            kept += wire.encode_varint(key) + wire.encode_varint(len(field)) + field
        else:
            window.charge_budget(at - begin - _MIN_FIELD_COST_BYTES)
            kept += window.read(begin, at - begin)
    return kept


class _Window:
    """The part of a file that was read last, and the budget of bytes that may be kept."""

    def __init__(self, descriptor: int, max_bytes: int) -> None:
        self._descriptor = descriptor
        self._begin = 0
        self._data = b""
        self._budget = max_bytes

    def charge_budget(self, size: int) -> None:
        """Subtracts `size` bytes from the budget; raises DecodeError if it is exceeded."""
        self._budget -= max(size, 0)
        if self._budget < 0:
            raise ProtobufDecodeError("it is too long even without its large fields")

    def read(self, at: int, size: int) -> bytes:
        """`size` bytes from offset `at` on; fewer at the end of the file."""
        start = at - self._begin
        if not 0 <= start <= start + size <= len(self._data):
            self._begin, start = at, 0
            self._data = os.pread(self._descriptor, max(size, _MAX_KEPT_FIELD_BYTES * 2), at)
        return self._data[start : start + size]

    def varint(self, at: int) -> tuple[int, int]:
        """The number at an offset, and the offset after it."""
        value, size = wire.varint(self.read(at, wire.MAX_VARINT_BYTES), 0)
        return value, at + size
