"""Wire: writes fields of protobuf messages that have no generated class."""

from __future__ import annotations

import struct

from tbcore.engine import encode_varint


def varint_field(number: int, value: int) -> bytes:
    """Encodes a field of an integer, enum or bool type. `number` is the field's number."""
    return encode_varint(number << 3) + encode_varint(value)


def double_field(number: int, value: float) -> bytes:
    """Encodes a field of type double."""
    return struct.pack("<Bd", number << 3 | 1, value)


def bytes_field(number: int, content: bytes | str) -> bytes:
    """Encodes a field of type bytes or string, or of a message type, given as serialized bytes."""
    data = content.encode() if isinstance(content, str) else content
    return encode_varint(number << 3 | 2) + encode_varint(len(data)) + data
