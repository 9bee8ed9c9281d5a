"""Wire: reads and writes fields of protobuf messages by hand.

This is used for messages without a generated class, and where parsing a whole message is slow or
takes too much memory. A message is a sequence of fields:

    field = key content        key = varint of field number << 3 | wire type

    wire type   content
    0           varint
    1           8 bytes
    2           varint of a length, then that number of bytes
    5           4 bytes
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.message import DecodeError as ProtobufDecodeError

MAX_VARINT_BYTES = 10
"""Maximum number of bytes in a varint: at seven bits per byte, enough for 64 bits."""
FIXED_SIZES = {1: 8, 5: 4}
"""Maps a wire type to the size of its content, in bytes."""


class Field(NamedTuple):
    """A field of a serialized message. Offsets are into the bytes passed to `fields`."""

    number: int
    wire_type: int
    begin: int
    """Offset of the content. With wire type 2, the content begins after the length."""
    end: int
    """Offset after the content."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Decodes the varint at an offset; returns its value and the offset after the varint.

    Raises protobuf's DecodeError if the varint does not end within 10 bytes or within the data.
    """
    value = 0
    for index, byte in enumerate(data[at : at + MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise ProtobufDecodeError("a number does not end")


def fields(data: bytes, at: int, end: int) -> Iterator[Field]:
    """Yields the fields of the message `data[at:end]`, in order, without parsing their content.

    Raises protobuf's DecodeError if the bytes are not a valid message.
    """
    while at < end:
        key, begin = varint(data, at)
        wire_type = key & 7
        if wire_type == 0:
            _, at = varint(data, begin)
        elif wire_type == 2:
            length, begin = varint(data, begin)
            at = begin + length
        elif wire_type in FIXED_SIZES:
            at = begin + FIXED_SIZES[wire_type]
        else:
            raise ProtobufDecodeError(f"wire type {wire_type} is not supported")
        if at > end or key < 8:
            raise ProtobufDecodeError("a field is damaged")
        yield Field(key >> 3, wire_type, begin, at)


def encode_varint(value: int) -> bytes:
    """Encodes a non-negative integer as a varint: seven bits per byte, the lowest first."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
