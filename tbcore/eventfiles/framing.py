"""Framing: finds the records in the bytes of an event file and verifies their checksums.

A record, as TFRecord framing defines it; integers are little-endian and checksums masked:

    +-----------+------------------+-----------------+-------------------+
    | length: 8 | crc of length: 4 | payload: length | crc of payload: 4 |
    +-----------+------------------+-----------------+-------------------+

The functions here work on a buffer that holds a piece of a file. They describe its records by
*frames*: the offset in the buffer and the payload length of each record.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain, islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.crc32c import (
    PayloadChecksums,
    find_wrong_slices,
    for_lengths,
    masked_crc,
    masked_length_crc,
    raw_difference,
    words_at_any_offset,
)
from tbcore.tuning import DEFAULT

HEADER_BYTES = 12
"""Bytes of a record before its payload: the length and its checksum."""
FRAMING_BYTES = 16
"""Bytes of a record's framing, before and after the payload together."""
PADDING_BYTES = 64
"""Number of bytes in the buffer after its data, so that a word can be read at any offset of the
data."""
MAX_PAYLOAD_BYTES = (1 << 31) - 1
"""Length of the longest protobuf message. A record with a larger length is damaged, even if the
checksum of the length is right."""

_length_at = struct.Struct("<Q").unpack_from
_crc_at = struct.Struct("<I").unpack_from

StopReason = Literal["limit", "incomplete", "bad_length"]
"""See `Frames.stop`."""


class Damage(NamedTuple):
    """A damaged record. `str()` of it is the text for the log."""

    offset: int
    """Offset of the record in its file, in bytes."""
    what: Literal["payload checksum wrong", "no valid event", "length checksum wrong"]

    def __str__(self) -> str:
        line = f"{self.what} in the record at offset {self.offset}"
        if self.what == "length checksum wrong":
            line += "; the rest of this file cannot be read"
        return line


class Frames(NamedTuple):
    """Consecutive whole records of a buffer, with correct length checksums."""

    starts: NDArray[np.int64]
    """Offset of each record in the buffer, ascending."""
    lengths: NDArray[np.int64]
    """Length of each payload in bytes."""
    end: int
    """Offset after the last record."""
    stop: StopReason
    """Why there are no more frames. `limit`: another call may find more. `incomplete`: the next
    record is not whole. `bad_length`: the length of the next record is damaged."""

    def first(self, count: int) -> Frames:
        """The first `count` frames, or all if there are fewer."""
        if count >= len(self.starts):
            return self
        return Frames(self.starts[:count], self.lengths[:count], int(self.starts[count]), "limit")


def find_frames(
    buffer: bytearray, start: int, size: int, limit: int, *, num_probed: int = DEFAULT.probe_records
) -> Frames:
    """The frames of the first records of `buffer[start:size]`, at most `limit`.

    If the first record is whole, there is at least one frame. If the first `num_probed` records all
    have payloads shorter than 256 bytes, a faster loop finds the remaining records.
    """
    # 1. Walk from record to record by their lengths: first `num_probed` records, then the remaining
    #    ones, in the faster way if it is likely to work.
    # 2. Compute the lengths from the distances between the bounds. Cut before the first record that
    #    is not whole, or whose header is damaged or has another length.
    # 3. Find the reason to stop. A header that seems damaged may only have been misread, since a
    #    walk reads only the lowest one or three bytes of a length. So if there are frames before
    #    this header, the reason is `limit`, and the next call begins at the header. If the first
    #    header of a call was misread, its record is longer than any buffer, and thus incomplete.
    bounds = _take(record_bounds(buffer, start, size), min(limit, num_probed))  # 1
    if num_probed < limit and num_probed < len(bounds):
        is_short = np.diff(bounds).max() < 256 + FRAMING_BYTES
        walk = _short_record_bounds if is_short else record_bounds
        remaining = _take(walk(buffer, int(bounds[-1]), size), limit - num_probed)
        bounds = np.append(bounds, remaining[1:])
    starts, ends = bounds[:-1], bounds[1:]  # 2
    lengths = ends - starts - FRAMING_BYTES
    is_bad = _have_bad_headers(buffer, starts, lengths)
    num_good = int(is_bad.argmax()) if is_bad.any() else len(starts)
    num_whole = int(np.searchsorted(ends[:num_good], size, side="right"))
    end = int(ends[num_whole - 1]) if num_whole else start
    stop: StopReason = "incomplete"
    if num_whole == num_good < len(starts):  # 3
        if num_whole:
            stop = "limit"
        elif length_at(buffer, start) is None:
            stop = "bad_length"
    elif num_whole == len(starts) == limit:
        stop = "limit"
    return Frames(starts[:num_whole], lengths[:num_whole], end, stop)


def record_bounds(buffer: bytearray, start: int, end: int) -> Iterator[int]:
    """Yields the offset of each record in `buffer[start:end]`, and the offset after the last one.

    Checksums are not verified, and the last record may extend beyond `end`. Only the lowest three
    bytes of each length are read: no record in a buffer is longer than three bytes can express.
    """
    last = end - FRAMING_BYTES
    while start <= last:
        yield start
        length = buffer[start]
        if buffer[start + 1] or buffer[start + 2]:
            length |= buffer[start + 1] << 8 | buffer[start + 2] << 16
        start += length + FRAMING_BYTES
    yield start


def _short_record_bounds(buffer: bytearray, start: int, end: int) -> Iterator[int]:
    """Yields the same offsets as `record_bounds`, if all lengths are below 256."""
    last = end - FRAMING_BYTES
    while start <= last:
        yield start
        start += buffer[start] + FRAMING_BYTES
    yield start


def _take(bounds: Iterator[int], limit: int) -> NDArray[np.int64]:
    """The bounds of the first `limit` records."""
    return np.fromiter(islice(bounds, limit + 1), np.int64)


def find_bad_headers(buffer: bytearray, frames: Frames) -> NDArray[np.int64]:
    """Indices of the frames whose header has another length or is damaged, ascending."""
    return np.flatnonzero(_have_bad_headers(buffer, frames.starts, frames.lengths))


def _have_bad_headers(
    buffer: bytearray, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the header of each record has another length than `lengths`, or is damaged."""
    stored_lengths = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))[starts]
    stored_crcs = words_at_any_offset(buffer)[starts + 8]
    bad: NDArray[np.bool_] = stored_crcs != for_lengths(masked_length_crc, lengths)
    bad |= stored_lengths != lengths.view(np.uint64)
    return bad


def stored_checksums(
    buffer: bytearray, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """The masked CRC-32C that is stored after each payload."""
    crcs: NDArray[np.uint32] = words_at_any_offset(buffer)[starts + lengths + HEADER_BYTES]
    return crcs


def length_at(buffer: bytes | bytearray, start: int) -> int | None:
    """Payload length of the record at `start`; None if its header is damaged or cut short."""
    if len(buffer) < start + HEADER_BYTES:
        return None
    (length,) = _length_at(buffer, start)
    (crc,) = _crc_at(buffer, start + 8)
    if length > MAX_PAYLOAD_BYTES or crc != masked_length_crc(length):
        return None
    return int(length)


def payload_checksums(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> PayloadChecksums:
    """The payload checksums of the records with these offsets and payload lengths."""
    return PayloadChecksums(starts + lengths + HEADER_BYTES, for_lengths(raw_difference, lengths))


def find_damaged(
    buffer: bytearray, frames: Frames, *, slice_bytes: int = DEFAULT.check_slice_bytes
) -> NDArray[np.int64]:
    """Indices of the frames whose payload does not match its checksum, ascending.

    All records in a slice of about `slice_bytes` bytes are verified at once; only if the slice has
    an error, they are checked one by one. The buffer is changed during the call, and restored
    before the call returns.
    """
    starts, lengths = frames.starts, frames.lengths
    if not len(starts):
        return np.empty(0, np.int64)
    # 1. Cut the frames into slices. Slice i has the frames in `range(cuts[i], cuts[i + 1])`, which
    #    are the bytes from `bounds[i]` to `bounds[i + 1]`.
    # 2. Find the slices with an error.
    # 3. Check each record of the slices with an error.
    first_frames = np.searchsorted(
        starts, np.arange(starts[0], frames.end, slice_bytes)
    ).tolist()  # 1
    cuts = list(dict.fromkeys([*first_frames, len(starts)]))
    bounds = np.append(starts, frames.end)[cuts].tolist()
    wrong_slices = find_wrong_slices(buffer, bounds, [payload_checksums(starts, lengths)])  # 2
    candidates = chain.from_iterable(range(cuts[i], cuts[i + 1]) for i in wrong_slices)
    data = np.frombuffer(buffer, np.uint8)
    stored = stored_checksums(buffer, starts, lengths)
    damaged = [
        i
        for i in candidates
        if masked_crc(data[starts[i] + HEADER_BYTES :][: lengths[i]]) != stored[i]  # 3
    ]
    return np.array(damaged, np.int64)
