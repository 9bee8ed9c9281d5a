"""Headers: reads the type and size of an image from its header, without decoding the image.

The bytes in a log can be anything. A truncated file or one that is not an image has no size, and no
function here raises. Only a few bytes at the start are read; in a JPEG, only the bytes at the
start of each segment up to the one that contains the size.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

UNKNOWN_TYPE = "application/octet-stream"
"""Content type of anything that must not be interpreted by a browser."""

_MAX_SEGMENTS = 1000
"""Maximum number of segments of a JPEG that are searched for its size.

Cameras write about ten segments, and a large colour profile takes about a hundred.
"""

_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers SOF0 to SOF15, which begin a frame. The three excluded markers do not begin one."""
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers TEM and RST0 to RST7, which have no content."""
_JPEG_ENDS = frozenset({0xD9, 0xDA})
"""Markers EOI and SOS, after which no frame starts."""

Size = tuple[int, int]
"""Width and height in pixels."""


class Header(NamedTuple):
    """The type and size from the header of an image."""

    content_type: str
    """`image/...`, or UNKNOWN_TYPE."""
    size: Size | None
    """Width and height in pixels, both above 0; None if the header does not contain them."""


def header_of(encoded: bytes) -> Header:
    """The header of a PNG, JPEG, GIF, WebP or BMP; UNKNOWN_TYPE for anything else."""
    for content_type, is_format, size_of in _FORMATS:
        if is_format(encoded):
            size = size_of(encoded)
            return Header(content_type, size if size and min(size) > 0 else None)
    return Header(UNKNOWN_TYPE, None)


def _png(data: bytes) -> Size | None:
    # In these diagrams, the number before a field is the offset, and the number after it the size.
    #  0 signature: 8 | length: 4 | "IHDR" | width: 4 | height: 4        big-endian
    return _pair(">II", data, 16) if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> Size | None:
    #  0 "GIF89a" | width: 2 | height: 2                                 little-endian
    return _pair("<HH", data, 6)


def _bmp(data: bytes) -> Size | None:
    #  0 "BM" | size: 4 | reserved: 4 | offset of pixels: 4 | header size: 4 | width | height
    (header_size,) = _fields("<I", data, 14) or (0,)
    if header_size == 12:
        return _pair("<HH", data, 18)
    size = _pair("<ii", data, 18)
    # A negative height means that the top row is stored first.
    return (size[0], abs(size[1])) if size else None


def _webp(data: bytes) -> Size | None:
    #  0 "RIFF" | size: 4 | "WEBP" | 12 chunk name: 4 | size: 4 | 20 content
    match data[12:16]:
        case b"VP8 ":  # frame tag: 3 | 9d 01 2a | width: 14 bits of 2 | height: 14 bits of 2
            size = _pair("<HH", data, 26) if data[23:26] == b"\x9d\x01\x2a" else None
            return (size[0] & 0x3FFF, size[1] & 0x3FFF) if size else None
        case b"VP8L":  # 2f | width - 1: 14 bits | height - 1: 14 bits
            fields = _fields("<I", data, 21) if data[20:21] == b"\x2f" else None
            return ((fields[0] & 0x3FFF) + 1, (fields[0] >> 14 & 0x3FFF) + 1) if fields else None
        case b"VP8X" if len(data) >= 30:  # flags: 4 | width - 1: 3 | height - 1: 3
            width, height = data[24:27], data[27:30]
            return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
    return None


def _jpeg(data: bytes) -> Size | None:
    #  ff d8, then segments:   ff | marker: 1 | length: 2 | content: length - 2      big-endian
    #  segment of a frame:     ff | c0 ... | length: 2 | bits per sample: 1 | height: 2 | width: 2
    at = 2
    for _ in range(_MAX_SEGMENTS):
        if data[at : at + 1] != b"\xff":
            return None
        marker = data[at + 1 : at + 2]
        if marker == b"\xff":
            at += 1  # A marker may be preceded by any number of these bytes.
            continue
        if not marker or marker[0] in _JPEG_ENDS:
            return None
        if marker[0] in _JPEG_FRAMES:
            size = _pair(">HH", data, at + 5)
            return (size[1], size[0]) if size else None
        at += 2
        if marker[0] not in _JPEG_WITHOUT_LENGTH:
            (length,) = _fields(">H", data, at) or (0,)
            if length < 2:
                return None
            at += length
    return None


def _pair(layout: str, data: bytes, at: int) -> Size | None:
    """The two numbers at an offset; None if the data is too short."""
    fields = _fields(layout, data, at)
    return (fields[0], fields[1]) if fields else None


def _fields(layout: str, data: bytes, at: int) -> tuple[Any, ...] | None:
    """The numbers at an offset, unpacked by `struct`; None if the data is too short."""
    if len(data) < at + struct.calcsize(layout):
        return None
    return struct.unpack_from(layout, data, at)


_FORMATS: tuple[tuple[str, Callable[[bytes], bool], Callable[[bytes], Size | None]], ...] = (
    ("image/png", lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), _png),
    ("image/jpeg", lambda data: data.startswith(b"\xff\xd8\xff"), _jpeg),
    ("image/gif", lambda data: data.startswith((b"GIF87a", b"GIF89a")), _gif),
    ("image/webp", lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP", _webp),
    ("image/bmp", lambda data: data.startswith(b"BM"), _bmp),
)
"""For each format: content type, a function that detects it, and one that reads the size."""
