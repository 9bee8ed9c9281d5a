"""Large records: reads events that are larger than a piece, without holding them in memory.

Nearly all bytes of a large event are in a few fields: a graph, an image, a tensor. The store keeps
only a reference to such a value. So the event is *stripped*: its large fields are left empty. The
bytes that are kept of an event have a budget, because in a sparse file, a record of any length may
take next to no space on disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import google_crc32c
from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore.eventfiles import wire
from tbcore.eventfiles.crc32c import mask
from tbcore.eventfiles.framing import HEADER_BYTES
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.storage import OpenFile

_MIN_FIELD_COST_BYTES = 16
"""Minimum number of bytes charged for each field, since very many small fields take time."""

_CHUNK_BYTES = 1 << 20
"""Number of bytes that are read at once to compute a checksum."""
_MAX_KEPT_FIELD_BYTES = 1 << 12
"""Maximum size at which a field of `_EVENT` is kept. A tensor above this size has more than one
number, so it is not a scalar."""

_EMPTIED: Mapping[int, Any] = {}
"""Marks a field that is left empty if it is large."""
# Fields of a Summary.Value: the old histogram, image, histo, audio and tensor.
_VALUE = {3: _EMPTIED, 4: _EMPTIED, 5: _EMPTIED, 6: _EMPTIED, 8: _EMPTIED}
_EVENT = {4: _EMPTIED, 5: {1: _VALUE}, 6: _EMPTIED, 8: {2: _EMPTIED}, 9: _EMPTIED}
"""Maps the number of each field of an event that may be large to `_EMPTIED`, or if the field is a
message in which only some fields may be large, to a dict of the same form for that message."""


def read_large_event(
    file: OpenFile, offset: int, length: int, *, max_bytes: int
) -> tuple[Event | None, int | None]:
    """The event of the record at an offset of a file, without its large fields.

    `length` is the length of the payload. Also returns the payload's masked checksum. Both are None
    if the file ends within the record, or if the checksum differs from the stored one. Only the
    event is None if the payload is not a valid event, or if the fields to keep cost more than
    `max_bytes`.
    """
    begin = offset + HEADER_BYTES
    end = begin + length
    crc, at = 0, begin
    while at < end and (chunk := file.read(at, min(_CHUNK_BYTES, end - at))):
        crc = google_crc32c.extend(crc, chunk)
        at += len(chunk)
    crc = mask(crc)
    if crc.to_bytes(4, "little") != file.read(end, 4):
        return None, None
    try:
        stripped = _stripped(_Window(file, max_bytes), begin, end, _EVENT)
        return Event.FromString(bytes(stripped)), crc
    except ProtobufDecodeError:
        return None, crc


def _stripped(window: _Window, at: int, end: int, fields: Mapping[int, Any]) -> bytearray:
    """The message between the offsets `at` and `end` of the file, with its large fields left empty.

    `fields` has the fields of this message that may be large, in the form of `_EVENT`.
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
            length, content_at = window.varint(at)
            at = content_at + length
            nested = fields.get(number) if length > _MAX_KEPT_FIELD_BYTES else None
        else:
            raise ProtobufDecodeError(f"wire type {wire_type} is not supported")
        if at > end or number == 0:
            raise ProtobufDecodeError("a field is damaged")
        if nested is not None:
            field = b"" if nested is _EMPTIED else _stripped(window, content_at, at, nested)
            kept += wire.encode_varint(key) + wire.encode_varint(len(field)) + field
        else:
            window.charge_budget(at - begin - _MIN_FIELD_COST_BYTES)
            kept += window.read(begin, at - begin)
    return kept


class _Window:
    """The part of a file that was read last, and the budget of bytes that may be kept."""

    def __init__(self, file: OpenFile, max_bytes: int) -> None:
        self._file = file
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
            self._data = self._file.read(at, max(size, _MAX_KEPT_FIELD_BYTES * 2))
        return self._data[start : start + size]

    def varint(self, at: int) -> tuple[int, int]:
        """Decodes the varint at an offset; returns its value and the offset after the varint."""
        value, size = wire.varint(self.read(at, wire.MAX_VARINT_BYTES), 0)
        return value, at + size
