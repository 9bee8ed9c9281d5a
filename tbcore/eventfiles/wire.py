"""Wire: the wire format of protobuf, for messages that no generated class reads or writes.

message = field*      field = key content      key = varint: field number << 3 | wire type

wire type 0: varint; 1: eight bytes; 2: varint length and as many bytes; 5: four bytes
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.message import DecodeError as ProtobufDecodeError

MAX_VARINT_BYTES = 10
"""A longer number has more than 64 bits."""


class Field(NamedTuple):
    """A field of a serialized message. Offsets are into the bytes given."""

    number: int
    wire_type: int
    begin: int
    """Offset of its content: of the number, or of the first byte after the length."""
    end: int
    """Offset after its content."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at an offset, and the offset after it; raises protobuf's DecodeError."""
    value = 0
    for shift, byte in enumerate(data[at : at + MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at + shift + 1
    raise ProtobufDecodeError("a number does not end")


def fields(data: bytes, at: int, end: int) -> Iterator[Field]:
    """The fields of the message `data[at:end]`, in file order.

    Raises protobuf's DecodeError when the bytes are no message. Content is not looked into.
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


FIXED_SIZES = {1: 8, 5: 4}
"""Wire type to the size of its content in bytes."""


def encode_varint(number: int) -> bytes:
    """A number that is not negative, seven bits a byte."""
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def varint_field(number: int, value: int) -> bytes:
    """A field that holds an integer or a bool."""
    return encode_varint(number << 3) + encode_varint(value)


def double_field(number: int, value: float) -> bytes:
    """A field that holds a double."""
    return struct.pack("<Bd", number << 3 | 1, value)


def bytes_field(number: int, content: bytes | str) -> bytes:
    """A field that holds bytes, text or a message."""
    data = content.encode() if isinstance(content, str) else content
    return encode_varint(number << 3 | 2) + encode_varint(len(data)) + data
