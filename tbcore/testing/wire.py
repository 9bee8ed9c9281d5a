"""Wire: encodes fields of protobuf messages by hand.

For messages of plugins, for which the core has no generated classes.
"""

from __future__ import annotations

import struct


def varint(number: int) -> bytes:
    """Encodes a non-negative number as a varint: seven bits per byte, the lowest first."""
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def varint_field(number: int, value: int) -> bytes:
    """Encodes a field of an integer, enum or bool type."""
    return varint(number << 3) + varint(value)


def double_field(number: int, value: float) -> bytes:
    """Encodes a field of type double."""
    return struct.pack("<Bd", number << 3 | 1, value)


def bytes_field(number: int, content: bytes | str) -> bytes:
    """Encodes a field of type bytes or string, or one that holds a serialized message."""
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data
