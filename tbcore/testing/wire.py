"""Wire: fields of protobuf messages, written by hand.

For messages that belong to a plugin, which the core has no classes of.
"""

from __future__ import annotations

import struct


def varint(number: int) -> bytes:
    """A number that is not negative, seven bits a byte."""
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def varint_field(number: int, value: int) -> bytes:
    """A field of whole numbers, or of yes and no."""
    return varint(number << 3) + varint(value)


def double_field(number: int, value: float) -> bytes:
    """A field of a double."""
    return struct.pack("<Bd", number << 3 | 1, value)


def bytes_field(number: int, content: bytes | str) -> bytes:
    """A field of bytes, of a text or of a message."""
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data
