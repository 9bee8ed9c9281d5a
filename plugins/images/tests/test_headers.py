"""Headers of images: bytes on one side, type and size on the other; and bytes that are no image."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore_images.headers import UNKNOWN_TYPE, Header, header_of
from tbcore_testing import summaries

FILES = {
    "png": (
        "image/png",
        bytes.fromhex(
            "89504e470d0a1a0a0000000d4948445200000005000000030802000000d45452af00000012494441"
            "54789c63fcdfc0800c981818f0f201469101851e3d81700000000049454e44ae426082"
        ),
    ),
    "jpeg": (
        "image/jpeg",
        bytes.fromhex(
            "ffd8ffe000104a46494600010100000100010000ffdb004300ffffffffffffffffffffffffffffff"
            "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
            "ffffffffffffffffffffc0000b080003000501011100ffc400140001000000000000000000000000"
            "00000000ffc40014100100000000000000000000000000000000ffda0008010100003f003fffd9"
        ),
    ),
    "progressive jpeg": (
        "image/jpeg",
        bytes.fromhex(
            "ffd8ffe000104a46494600010100000100010000ffe100124578696600004d4d002a000000080000"
            "fffe000574776fffdb004300ffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
            "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc2000b"
            "080003000501011100ffc40014000100000000000000000000000000000000ffda00080101000000"
            "017fffc40014100100000000000000000000000000000000ffda00080101000105027fffc4001410"
            "0100000000000000000000000000000000ffda0008010100063f027fffc400141001000000000000"
            "00000000000000000000ffda0008010100013f217fffda00080101000000107fffc4001410010000"
            "0000000000000000000000000000ffda0008010100013f107fffd9"
        ),
    ),
    "gif": (
        "image/gif",
        bytes.fromhex(
            "47494638376105000300810000ff80000000000000000000002c0000000005000300000808000108"
            "1c48b06040003b"
        ),
    ),
    "bmp": (
        "image/bmp",
        bytes.fromhex(
            "424d660000000000000036000000280000000500000003000000010018000000000030000000c40e"
            "0000c40e000000000000000000000080ff0080ff0080ff0080ff0080ff000080ff0080ff0080ff00"
            "80ff0080ff000080ff0080ff0080ff0080ff0080ff00"
        ),
    ),
    "webp lossy": (
        "image/webp",
        bytes.fromhex(
            "52494646300000005745425056503820240000009001009d012a050003000cc0ce25a00274ba0003"
            "9800fea4d7d7c014f5475a1683e00000"
        ),
    ),
    "webp lossless": (
        "image/webp",
        bytes.fromhex("524946461c000000574542505650384c100000002f048000000750c0fe47ff0311d1ff00"),
    ),
    "webp extended": (
        "image/webp",
        bytes.fromhex(
            "524946464e00000057454250565038580a00000010000000040000020000414c50480f0000000107"
            "4020698bb7fd11114744f43f000056503820180000003001009d012a050003000cc0ce25a4000370"
            "00feec1d8000"
        ),
    ),
}
"""Name to content type and the bytes of a file of 5 x 3 pixels, as written by Pillow."""


def segment(marker: int, content: bytes) -> bytes:
    """A segment of a JPEG."""
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def frame(marker: int, width: int, height: int) -> bytes:
    """A segment that starts a frame."""
    return segment(marker, struct.pack(">BHHB", 8, height, width, 0))


def webp(name: bytes, content: bytes) -> bytes:
    """A WebP file with one chunk."""
    return b"RIFF" + struct.pack("<I", len(content) + 12) + b"WEBP" + name + struct.pack(
        "<I", len(content)
    ) + content  # fmt: skip


PNG, GIF, BMP, JPEG, WEBP = "image/png", "image/gif", "image/bmp", "image/jpeg", "image/webp"
SOI = b"\xff\xd8"


@pytest.mark.parametrize("name", FILES)
def test_files_written_by_pillow(name: str) -> None:
    """All formats that browsers show, with and without trailing bytes."""
    content_type, data = FILES[name]

    assert header_of(data) == (content_type, (5, 3))
    assert header_of(data + b"anything after it") == (content_type, (5, 3))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (summaries.png(640, 480)[:24], Header(PNG, (640, 480))),
        (summaries.png(640, 480)[:23], Header(PNG, None)),
        (b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"CgBI", 1, 1), Header(PNG, None)),
        (b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 0, 1), Header(PNG, None)),
        (
            b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 2**32 - 1, 1),
            Header(PNG, (2**32 - 1, 1)),
        ),
        (b"\x89PNG\r\n\x1a", Header(UNKNOWN_TYPE, None)),
        (b"GIF89a" + struct.pack("<HH", 65535, 1), Header(GIF, (65535, 1))),
        (b"GIF88a" + struct.pack("<HH", 1, 1), Header(UNKNOWN_TYPE, None)),
        (b"BM" + bytes(12) + struct.pack("<IHH", 12, 7, 9), Header(BMP, (7, 9))),
        (b"BM" + bytes(12) + struct.pack("<Iii", 40, 7, -9), Header(BMP, (7, 9))),
        (b"BM" + bytes(12) + struct.pack("<Iii", 124, -7, 9), Header(BMP, None)),
        (b"BM", Header(BMP, None)),
        (SOI + frame(0xC0, 7, 9), Header(JPEG, (7, 9))),
        (SOI + segment(0xE1, b"x" * 65533) + frame(0xC2, 7, 9), Header(JPEG, (7, 9))),
        (SOI + b"\xff\xff\xff" + frame(0xCF, 7, 9)[1:], Header(JPEG, (7, 9))),
        # Tables, a marker without content and an image inside a segment are not frames.
        (
            SOI
            + segment(0xC4, b"")
            + b"\xff\x01"
            + segment(0xE1, SOI + frame(0xC0, 1, 1))
            + frame(0xC1, 7, 9),
            Header(JPEG, (7, 9)),
        ),
        (SOI + segment(0xDA, b"") + frame(0xC0, 7, 9), Header(JPEG, None)),
        (SOI + b"\xff\xd9" + frame(0xC0, 7, 9), Header(JPEG, None)),
        (SOI + b"\xff\xe0\x00\x01" + frame(0xC0, 7, 9), Header(JPEG, None)),
        (SOI + b"\xff\xe0\xff\xff" + frame(0xC0, 7, 9), Header(JPEG, None)),
        (SOI + frame(0xC0, 7, 0), Header(JPEG, None)),  # The height follows the first scan.
        (SOI + b"\xff" * 100_000, Header(JPEG, None)),
        (SOI + segment(0xE0, b"") * 100_000 + frame(0xC0, 7, 9), Header(JPEG, None)),
        (webp(b"VP8X", bytes(4) + b"\xff\xff\xff\x00\x00\x00"), Header(WEBP, (2**24, 1))),
        (webp(b"VP8L", b"\x2f\xff\xff\xff\xff"), Header(WEBP, (16384, 16384))),
        (webp(b"VP8L", b"\x2e\xff\xff\xff\xff"), Header(WEBP, None)),
        (webp(b"VP8 ", b"abc\x9d\x01\x2a\xff\xff\xff\xff"), Header(WEBP, (16383, 16383))),
        (webp(b"VP8 ", b"abc\x9d\x01\x2b\xff\xff\xff\xff"), Header(WEBP, None)),
        (webp(b"ALPH", bytes(20)), Header(WEBP, None)),
        (b"RIFF\x00\x00\x00\x00WAVE", Header(UNKNOWN_TYPE, None)),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Header(UNKNOWN_TYPE, None)),
        (b"<!DOCTYPE html><script>alert(1)</script>", Header(UNKNOWN_TYPE, None)),
        (b"", Header(UNKNOWN_TYPE, None)),
    ],
)
def test_headers_byte_by_byte(data: bytes, expected: Header) -> None:
    """All variants of each header, with the largest numbers, and invalid ones."""
    assert header_of(data) == expected


starts = st.sampled_from(
    [
        b"", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", b"GIF89a", b"BM", SOI + b"\xff",
        SOI + b"\xff\xe0",
        *(b"RIFF....WEBP" + chunk for chunk in (b"VP8 ", b"VP8L", b"VP8X", b"")),
    ]
)  # fmt: skip


@settings(deadline=None)  # A busy machine must not fail the test.
@given(starts, st.binary(max_size=64))
def test_properties_of_any_bytes(start: bytes, rest: bytes) -> None:
    """No exception is raised, and both numbers of a size are above 0."""
    header = header_of(start + rest)

    assert header.content_type in {PNG, GIF, BMP, JPEG, WEBP, UNKNOWN_TYPE}
    if header.size:
        assert min(header.size) > 0
        assert header.content_type != UNKNOWN_TYPE


@settings(deadline=None)  # A busy machine must not fail the test.
@given(st.sampled_from(list(FILES.values())), st.data())
def test_properties_of_truncated_and_damaged_images(
    picture: tuple[str, bytes], drawn: st.DataObject
) -> None:
    """A size comes only from existing bytes, so appending others does not change it."""
    content_type, data = picture
    length = drawn.draw(st.integers(0, len(data)))
    header = header_of(data[:length])
    assert header.size in (None, (5, 3))
    assert header.content_type in (UNKNOWN_TYPE, content_type)

    damaged = bytearray(data)
    damaged[drawn.draw(st.integers(0, len(data) - 1))] = drawn.draw(st.integers(0, 255))
    header = header_of(bytes(damaged))
    if header.size:
        suffix = drawn.draw(st.binary(max_size=20))
        assert header_of(bytes(damaged) + suffix) == header
