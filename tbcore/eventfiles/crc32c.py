"""Masked CRC-32C, the checksum of TFRecord framing, for one record and for many at once.

The CRC-32C of a message x is `R(x) ^ K(len(x))`. R is the *raw* CRC: the same polynomial division,
with initial value 0 and without the final inversion. K, the contribution of the initial value,
depends on the length alone. R is linear. If x is followed by R(x), the raw CRC of both together is
0; and if each of several messages has the raw CRC 0, so has their concatenation.

So one call verifies many records: replace every stored checksum by the raw CRC that it stands for;
then, if all records are intact, the raw CRC of all their bytes is 0. If only one record has an
error, this error is detected as reliably as by a check of that record alone. Errors in two records
can cancel each other by chance, with a probability of 2**-32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise, repeat
from typing import Any, NamedTuple, overload

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
_WORD = np.dtype("<u4")


def masked_crc(data: bytes | NDArray[np.uint8]) -> int:
    """The checksum that a file stores next to `data`, which is bytes or a contiguous array."""
    # The C function takes any object with a plain buffer; its stub says bytes.
    buffer: Any = data
    crc: int = google_crc32c.value(buffer)
    return mask(crc)


@overload
def mask(crc: int) -> int: ...
@overload
def mask(crc: NDArray[np.uint32]) -> NDArray[np.uint32]: ...
def mask(crc: Any) -> Any:
    """The masked form of a CRC-32C, which is what files store; elementwise for an array."""
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
def raw_length_crc(length: int) -> int:
    """Raw CRC of a record's eight length bytes."""
    # `extend` inverts the CRC at its start and at its end, so all ones mean an initial value of 0.
    state: int = google_crc32c.extend(_ALL_ONES, length.to_bytes(8, "little"))
    return state ^ _ALL_ONES


@lru_cache(maxsize=1 << 16)
def init_contribution(length: int) -> int:
    """K(length): the XOR of the CRC-32C and the raw CRC of any message of `length` bytes."""
    crc = 0  # The message is all zero bytes: its raw CRC is 0, so its CRC-32C is K(length).
    for done in range(0, length, len(_ZEROS)):
        crc = google_crc32c.extend(crc, _ZEROS[: length - done])
    return crc


def for_lengths(function: Callable[[int], int], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Applies one of the three functions above to each length."""
    # Long lengths get the last value in the table, which is overwritten below.
    values = _tables(_TABLE_SIZE)[function][np.minimum(lengths, _TABLE_SIZE - 1)]
    long = np.flatnonzero(lengths >= _TABLE_SIZE)
    if len(long):
        distinct, inverse = np.unique(lengths[long], return_inverse=True)
        values[long] = np.array([function(n) for n in distinct.tolist()], np.uint32)[inverse]
    return values


_TABLE_SIZE = 1 << 12
"""Lengths below this are looked up in a table. For longer ones, the functions are called."""


@cache
def _tables(size: int) -> dict[Callable[[int], int], NDArray[np.uint32]]:
    """Maps each of the three functions to an array of its values for all lengths below `size`.

    Calling the functions for each of these lengths would take some milliseconds, and delay the
    first data that a server shows.
    """
    # 1. The raw CRC is linear: the raw CRC of a length is the XOR of the raw CRCs of its bits.
    # 2. XOR with the contribution of the initial value gives the CRC-32C of a length. Mask it.
    # 3. The contribution of the initial value is the CRC-32C of `length` zero bytes.
    lengths = np.arange(size, dtype=np.uint32)
    raw = np.zeros(size, np.uint32)
    for bit in range((size - 1).bit_length()):  # 1
        raw ^= (lengths >> np.uint32(bit) & np.uint32(1)) * np.uint32(raw_length_crc(1 << bit))
    masked = mask(raw ^ np.uint32(init_contribution(8)))  # 2
    zeros = accumulate(repeat(b"\0", size - 1), google_crc32c.extend, initial=0)  # 3
    return {
        masked_length_crc: masked,
        raw_length_crc: raw,
        init_contribution: np.fromiter(zeros, np.uint32, size),
    }


# -- many records at once ------------------------------------------------------------------------


class ChecksumFields(NamedTuple):
    """Where the two checksums of each record are in a buffer, and numbers that make them raw."""

    length_crcs: slice | NDArray[np.int64]
    """Offsets in the buffer of the checksums stored after the lengths."""
    payload_crcs: slice | NDArray[np.int64]
    """Offsets in the buffer of the checksums stored after the payloads."""
    masked_length: NDArray[np.uint32] | np.uint32
    """For `restore`: `masked_length_crc` of each record, or one number if all have the same."""
    raw_length: NDArray[np.uint32] | np.uint32
    """`raw_length_crc` of each record, or one number if it is the same for all."""
    payload_init: NDArray[np.uint32] | np.uint32
    """`init_contribution` of each payload, or one number if it is the same for all."""

    def make_raw(self, buffer: bytearray | NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Replaces all checksums by raw CRCs; returns the payload checksums that were stored.

        Afterwards, the raw CRC of the records is 0 if all payloads match their checksums. Length
        checksums are overwritten unread, so they must have been verified before.
        """
        words = words_at_any_offset(buffer)
        words[self.length_crcs] = self.raw_length
        return make_payload_crcs_raw(words, self.payload_crcs, self.payload_init)

    def restore(self, buffer: bytearray, stored: NDArray[np.uint32]) -> None:
        """Reverts `make_raw`, which returned `stored`."""
        words = words_at_any_offset(buffer)
        words[self.length_crcs] = self.masked_length
        words[self.payload_crcs] = stored


def make_payload_crcs_raw(
    words: NDArray[np.uint32],
    offsets: slice | NDArray[np.int64],
    payload_init: NDArray[np.uint32] | np.uint32,
) -> NDArray[np.uint32]:
    """Replaces the payload checksums at these offsets by raw CRCs; returns those that were stored.

    `words` is `words_at_any_offset` of a buffer. For `payload_init`, see ChecksumFields.
    """
    stored = words[offsets]
    if isinstance(offsets, slice):
        stored = stored.copy()  # It is a view of the buffer.
    words[offsets] = unmask(stored) ^ payload_init
    return stored


def find_wrong_slices(buffer: bytearray, bounds: Sequence[int]) -> list[int]:
    """Indices of the slices whose raw CRC is not 0, ascending.

    Slice i is `buffer[bounds[i]:bounds[i + 1]]`. It has whole records, with raw checksums.
    """
    data = np.frombuffer(buffer, np.uint8)
    slices = (data[begin:end] for begin, end in pairwise(bounds))
    return [index for index, records in enumerate(slices) if not is_raw_zero(records)]


def words_at_any_offset(buffer: bytearray | NDArray[np.uint8]) -> NDArray[np.uint32]:
    """A view of the buffer: element i is the word of four bytes at offset i."""
    return np.ndarray((len(buffer) - 3,), _WORD, buffer, strides=(1,))


def is_raw_zero(data: NDArray[np.uint8]) -> bool:
    """Whether the raw CRC of a contiguous array of bytes is 0."""
    buffer: Any = data  # For the inversions, see `raw_length_crc`.
    return bool(google_crc32c.extend(_ALL_ONES, buffer) == _ALL_ONES)
