"""Masked CRC-32C, the checksum of TFRecord framing, for one record and for many at once.

The CRC-32C of a message x is `R(x) ^ K(len(x))`. R is the *raw* CRC: the same polynomial division,
with initial value 0 and without the final inversion. K, the contribution of the initial value,
depends on the length alone. R is linear. If x is followed by R(x), the raw CRC of both together is
0; and if each of several messages has the raw CRC 0, so has their concatenation.

So one call verifies many records: replace the checksum of every payload by the raw CRC of header
and payload that it stands for; then, if all records are intact, the raw CRC of all their bytes is
0. If only one record has an error, this error is detected as reliably as by a check of that record
alone. Errors in two records can cancel each other by chance, with a probability of 2**-32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import google_crc32c
import numpy as np
from numpy.typing import NDArray

MASK_DELTA = 0xA282EAD8
"""Added after rotating a CRC-32C by 15 bits. Files store this masked form, because a CRC over data
that contains CRCs is a weak check. Source: TFRecord framing, tensorflow/core/lib/hash/crc32c.h."""

_DELTA, _RIGHT_SHIFT, _LEFT_SHIFT = np.uint32(MASK_DELTA), np.uint32(17), np.uint32(15)
"""Operands of `unmask`, which rotates by 15 bits to the left."""
_ALL_ONES = 0xFFFFFFFF
_ZEROS = bytes(1 << 16)
_MAX_LISTED_LENGTH = 1 << 16
"""Lengths below this are listed in an array, which is faster than sorting them."""


def masked_crc(data: bytes | NDArray[np.uint8]) -> int:
    """The checksum that a file stores next to `data`, which is bytes or a contiguous array."""
    # The C function takes any object with a plain buffer; its stub says bytes.
    buffer: Any = data
    crc: int = google_crc32c.value(buffer)
    return mask(crc)


def mask(crc: int) -> int:
    """The masked form of a CRC-32C, which is what files store."""
    return (((crc >> 15) | (crc << 17)) + MASK_DELTA) & _ALL_ONES


def unmask(masked: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The CRC-32C of each masked checksum, as a new array."""
    crc: NDArray[np.uint32] = masked - _DELTA
    low_bits = crc >> _RIGHT_SHIFT
    crc <<= _LEFT_SHIFT
    crc |= low_bits
    return crc


# -- functions of a payload's length -----------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def masked_length_crc(length: int) -> int:
    """The checksum stored after a record's length; 0 <= length < 2**64."""
    return masked_crc(length.to_bytes(8, "little"))


@lru_cache(maxsize=1 << 16)
def raw_difference(length: int) -> int:
    """The XOR of a payload's CRC-32C and the raw CRC of its record's header and payload.

    R is linear, so all payloads of `length` bytes have the same. It is computed from zero bytes.
    """
    # `extend` inverts the CRC at its start and at its end, so all ones mean an initial value of 0.
    header = length.to_bytes(8, "little") + masked_length_crc(length).to_bytes(4, "little")
    crc, raw = 0, google_crc32c.extend(_ALL_ONES, header)
    for done in range(0, length, len(_ZEROS)):
        zeros = _ZEROS[: length - done]
        crc, raw = google_crc32c.extend(crc, zeros), google_crc32c.extend(raw, zeros)
    difference: int = crc ^ raw ^ _ALL_ONES
    return difference


def for_lengths(function: Callable[[int], int], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Applies one of the functions above to each length; calls it once for each distinct length."""
    longest = int(lengths.max(initial=0))
    if longest >= _MAX_LISTED_LENGTH:
        distinct, indices = np.unique(lengths, return_inverse=True)
        return np.array([function(length) for length in distinct.tolist()], np.uint32)[indices]
    # Short lengths need not be sorted: mark them in an array, and write the values over the marks.
    values = np.zeros(longest + 1, np.uint32)
    values[lengths] = 1
    for length in np.flatnonzero(values).tolist():
        values[length] = function(length)
    return values[lengths]


# -- many records at once ------------------------------------------------------------------------


class PayloadChecksums(NamedTuple):
    """Where the payload checksums of some records are in a buffer, and what makes them raw."""

    offsets: slice | NDArray[np.int64]
    differences: NDArray[np.uint32] | np.uint32
    """`raw_difference` of each payload, or one number if it is the same for all."""


def find_wrong_slices(
    buffer: bytearray | NDArray[np.uint8],
    bounds: Sequence[int],
    checksums: Sequence[PayloadChecksums],
) -> list[int]:
    """Indices of the slices in which a payload does not match its checksum, ascending.

    Slice i is `buffer[bounds[i]:bounds[i + 1]]`. It has whole records, whose headers must be right.
    `checksums` has all their payload checksums. The buffer is changed during the call, and restored
    before the call returns.
    """
    data, words = np.frombuffer(buffer, np.uint8), words_at_any_offset(buffer)
    stored = [words[offsets].copy() for offsets, _ in checksums]
    for (offsets, differences), masked in zip(checksums, stored, strict=True):
        words[offsets] = unmask(masked) ^ differences
    # For the inversions, see `raw_difference`.
    crcs = [google_crc32c.extend(_ALL_ONES, data[begin:end]) for begin, end in pairwise(bounds)]
    for (offsets, _), masked in zip(checksums, stored, strict=True):
        words[offsets] = masked
    return [index for index, crc in enumerate(crcs) if crc != _ALL_ONES]


def words_at_any_offset(buffer: bytearray | NDArray[np.uint8]) -> NDArray[np.uint32]:
    """A view of the buffer: element i is the word of four bytes at offset i."""
    return np.ndarray((len(buffer) - 3,), "<u4", buffer, strides=(1,))
