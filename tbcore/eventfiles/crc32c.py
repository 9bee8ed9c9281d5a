"""Masked CRC-32C, the checksum of TFRecord framing.

The plain CRC-32C of a message x is `R(x) ^ K(len(x))`, where R is the *raw* CRC: the same
polynomial division started from 0 and not inverted at the end. R is linear, R(x ‖ R(x)) = 0, and a
raw CRC in state 0 stays 0 over anything whose own raw CRC is 0. So a whole run of records can be
checked with one call: replace every stored checksum by the raw one that it stands for, and the raw
CRC of the run is 0. An error inside any one record shows exactly as it does in a check of that
record alone; only two errors in two records can cancel, by chance, once in 2**32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import accumulate, repeat
from typing import Any, overload

import google_crc32c
import numpy as np
from numpy.typing import NDArray

MASK_DELTA = 0xA282EAD8
"""Added after rotating a CRC-32C by 15 bits, so that a checksum stored next to data does not look
like data with its own checksum. Source: TFRecord framing, tensorflow/core/lib/hash/crc32c.h."""

_DELTA, _HIGH, _LOW = np.uint32(MASK_DELTA), np.uint32(17), np.uint32(15)
_ALL_ONES = 0xFFFFFFFF
_ZEROS = bytes(1 << 16)


def masked_crc(data: bytes | NDArray[np.uint8]) -> int:
    """The checksum as stored next to `data` (bytes, or a contiguous array of them) in a file."""
    # The C function takes any object with a plain buffer; its stub says bytes.
    buffer: Any = data
    crc: int = google_crc32c.value(buffer)
    return mask(crc)


@overload
def mask(crc: int) -> int: ...
@overload
def mask(crc: NDArray[np.uint32]) -> NDArray[np.uint32]: ...
def mask(crc: Any) -> Any:
    """CRC-32C as it is stored next to the data that it was computed of; elementwise."""
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & _ALL_ONES


@lru_cache(maxsize=1 << 16)
def masked_length_crc(length: int) -> int:
    """The checksum stored behind a record's length; 0 <= length < 2**64."""
    return masked_crc(length.to_bytes(8, "little"))


@lru_cache(maxsize=1 << 16)
def raw_length_crc(length: int) -> int:
    """Raw CRC of a record's eight length bytes."""
    state: int = google_crc32c.extend(_ALL_ONES, length.to_bytes(8, "little"))
    return state ^ _ALL_ONES


@lru_cache(maxsize=1 << 16)
def seed_effect(length: int) -> int:
    """K: what turns the raw CRC of a message of `length` bytes into its CRC-32C and back."""
    crc = 0
    for done in range(0, length, len(_ZEROS)):
        crc = google_crc32c.extend(crc, _ZEROS[: length - done])
    return crc


@cache
def checksums_below(size: int) -> dict[Callable[[int], int], NDArray[np.uint32]]:
    """What each of the three functions above gives for all lengths below `size`.

    Without calling them so often: a server would take milliseconds for that before its first row.
    """
    lengths = np.arange(size, dtype=np.uint32)
    raw = np.zeros(size, np.uint32)
    for bit in range((size - 1).bit_length()):
        raw ^= (lengths >> np.uint32(bit) & np.uint32(1)) * np.uint32(raw_length_crc(1 << bit))
    zeros = accumulate(repeat(b"\0", size - 1), google_crc32c.extend, initial=0)
    return {
        raw_length_crc: raw,
        masked_length_crc: mask(raw ^ np.uint32(seed_effect(8))),
        seed_effect: np.fromiter(zeros, np.uint32, size),
    }


def unmask(masked: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """CRC-32C behind stored checksums, elementwise, as a new array."""
    crc: NDArray[np.uint32] = masked - _DELTA
    high = crc >> _HIGH
    crc <<= _LOW
    crc |= high
    return crc


def is_raw_zero(data: NDArray[np.uint8]) -> bool:
    """Whether the raw CRC of a contiguous array of bytes is 0."""
    buffer: Any = data
    return bool(google_crc32c.extend(_ALL_ONES, buffer) == _ALL_ONES)
