"""Records: TFRecord framing of an event file.

    +-----------+------------------+-----------------+-------------------+
    | length: 8 | crc of length: 4 | payload: length | crc of payload: 4 |   little-endian,
    +-----------+------------------+-----------------+-------------------+   CRCs masked

Framing works on a buffer that holds a piece of a file from the start of a record, and speaks of
*frames*: where whole records begin in it and how long their payloads are.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import DataLossError, NotFoundError
from tbcore.eventfiles.crc32c import (
    ChecksumFields,
    find_wrong_slices,
    for_lengths,
    init_contribution,
    masked_crc,
    masked_length_crc,
    raw_length_crc,
)
from tbcore.tuning import DEFAULT

HEADER_BYTES = 12
FRAME_BYTES = 16
"""What framing adds to a payload."""
MAX_PAYLOAD_BYTES = (1 << 31) - 1
"""No protobuf message is longer, so a greater length is damage, whatever its checksum says."""


_length_at = struct.Struct("<Q").unpack_from
_crc_at = struct.Struct("<I").unpack_from

StopReason = Literal["limit", "incomplete", "bad_length"]


class Damage(NamedTuple):
    """What is wrong with a record, in the words in which it is told."""

    offset: int
    """Of the record, in bytes from the start of the file."""
    what: Literal["payload checksum wrong", "no valid event", "length checksum wrong"]

    def __str__(self) -> str:
        line = f"{self.what} in the record at offset {self.offset}"
        if self.what == "length checksum wrong":
            line += "; the rest of this file cannot be read"
        return line


class Frames(NamedTuple):
    """Consecutive whole records of a buffer, with right length checksums."""

    starts: NDArray[np.int64]
    """Of the length fields, rising."""
    lengths: NDArray[np.int64]
    """Of the payloads."""
    end: int
    """Behind the last record."""
    stop: StopReason
    """Why there are no more: as many as were asked for, the buffer's end, or a damaged length."""

    def first(self, count: int) -> Frames:
        """The first `count` of them, or all."""
        if count >= len(self.starts):
            return self
        return Frames(self.starts[:count], self.lengths[:count], int(self.starts[count]), "limit")


def find_frames(
    buffer: bytearray,
    start: int,
    size: int,
    limit: int,
    *,
    num_probed: int = DEFAULT.probe_records,
) -> Frames:
    """The first `limit` records of `buffer[start:size]`, or fewer, but one if there is a whole one.

    The first `num_probed` decide whether the others are walked as short ones.
    """
    # 1. Walk some records. If all are short, walk the others as short ones, in two thirds of the
    #    time; if any is long, a walk of short ones would soon be lost.
    # 2. The lengths are the distances. Cut before the first record whose header is not that of a
    #    record of its length, and before the first that is not whole.
    # 3. Say why there are no more. A header in the middle that looks wrong may be one whose length
    #    the walk misread: the next call begins there. If the first one only looks wrong, its record
    #    is longer than any buffer.
    bounds = _take(record_bounds(buffer, start, size), min(limit, num_probed))  # 1
    if num_probed < limit and num_probed < len(bounds):
        is_short = np.diff(bounds).max() < 256 + FRAME_BYTES
        walk = _short_record_bounds if is_short else record_bounds
        others = _take(walk(buffer, int(bounds[-1]), size), limit - num_probed)
        bounds = np.append(bounds, others[1:])
    starts, ends = bounds[:-1], bounds[1:]  # 2
    lengths = ends - starts - FRAME_BYTES
    wrong = _are_wrong(buffer, starts, lengths)
    num_right = int(wrong.argmax()) if wrong.any() else len(starts)
    num_whole = int(np.searchsorted(ends[:num_right], size, side="right"))
    end = int(ends[num_whole - 1]) if num_whole else start
    stop: StopReason = "incomplete"
    if num_whole == num_right < len(starts):  # 3
        if num_whole:
            stop = "limit"
        elif length_at(buffer, start) is None:
            stop = "bad_length"
    elif num_whole == len(starts) == limit:
        stop = "limit"
    return Frames(starts[:num_whole], lengths[:num_whole], end, stop)


def record_bounds(buffer: bytearray, start: int, end: int) -> Iterator[int]:
    """Where each record of `buffer[start:end]` begins, and at last where the last one ends.

    Nothing is verified, and the last one may end after `end`. Lengths are taken to be below 2**24.
    """
    last = end - FRAME_BYTES
    while start <= last:
        yield start
        length = buffer[start]
        if buffer[start + 1] or buffer[start + 2]:
            length |= buffer[start + 1] << 8 | buffer[start + 2] << 16
        start += length + FRAME_BYTES
    yield start


def _short_record_bounds(buffer: bytearray, start: int, end: int) -> Iterator[int]:
    """What `record_bounds` yields where all lengths are below 256."""
    last = end - FRAME_BYTES
    while start <= last:
        yield start
        start += buffer[start] + FRAME_BYTES
    yield start


def _take(bounds: Iterator[int], limit: int) -> NDArray[np.int64]:
    """The bounds of the first `limit` records."""
    return np.fromiter(islice(bounds, limit + 1), np.int64)


def find_bad_headers(buffer: bytearray, frames: Frames) -> NDArray[np.int64]:
    """Indices of the frames whose header is not that of a record of their length, rising."""
    return np.flatnonzero(_are_wrong(buffer, frames.starts, frames.lengths))


def _are_wrong(
    buffer: bytearray, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether headers are not those of records of these lengths; negative ones are of none."""
    words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))[starts]
    crcs = np.ndarray((len(buffer) - 3,), "<u4", buffer, strides=(1,))[starts + 8]
    expected = for_lengths(masked_length_crc, np.maximum(lengths, 0))
    wrong: NDArray[np.bool_] = crcs != expected
    wrong |= (words != lengths.view(np.uint64)) | (lengths < 0)
    return wrong


def stored_checksums(
    buffer: bytearray, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Masked CRC-32C of the payloads of these records, as it stands behind them."""
    fields = np.ndarray((len(buffer) - 3,), "<u4", buffer, strides=(1,))
    crcs: NDArray[np.uint32] = fields[starts + lengths + HEADER_BYTES]
    return crcs


def length_at(buffer: bytearray, start: int) -> int | None:
    """Payload length of the record at `start`, None when its header is damaged."""
    (length,) = _length_at(buffer, start)
    (crc,) = _crc_at(buffer, start + 8)
    if length > MAX_PAYLOAD_BYTES or crc != masked_length_crc(length):
        return None
    return int(length)


def checksum_fields(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> ChecksumFields:
    """The checksum fields of records that begin at these offsets, by their payload lengths."""
    return ChecksumFields(
        starts + 8,
        starts + lengths + HEADER_BYTES,
        for_lengths(masked_length_crc, lengths),
        for_lengths(raw_length_crc, lengths),
        for_lengths(init_contribution, lengths),
    )


def find_damaged(
    buffer: bytearray, frames: Frames, *, slice_bytes: int = DEFAULT.check_slice_bytes
) -> NDArray[np.int64]:
    """Indices of the frames whose payload does not have its checksum, rising.

    The buffer is changed while this works and is as before when it returns. `slice_bytes` is about
    how many bytes are verified at once; only in a slice that is wrong are records checked one by
    one.
    """
    starts, lengths = frames.starts, frames.lengths
    if not len(starts):
        return np.empty(0, np.int64)
    # 1. Cut the frames into slices: `cuts` are frame indices, `bounds` offsets in the buffer.
    # 2. Find the slices that are wrong.
    # 3. Check each record of those.
    first = np.searchsorted(starts, np.arange(starts[0], frames.end, slice_bytes)).tolist()  # 1
    cuts = list(dict.fromkeys([*first, len(starts)]))
    bounds = np.append(starts, frames.end)[cuts].tolist()
    fields = checksum_fields(starts, lengths)
    stored = fields.make_raw(buffer)  # 2
    wrong = find_wrong_slices(buffer, bounds)
    fields.restore(buffer, stored)
    data = np.frombuffer(buffer, np.uint8)
    damaged = [
        i
        for number in wrong
        for i in range(cuts[number], cuts[number + 1])
        if masked_crc(data[starts[i] + HEADER_BYTES :][: lengths[i]]) != stored[i]  # 3
    ]
    return np.array(damaged, np.int64)


def open_regular(path: str) -> int:
    """A descriptor for reading; raises OSError, for anything but a regular file too.

    O_NONBLOCK because opening a FIFO would wait for its writer.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return descriptor


class PayloadFile:
    """An event file, open for reading payloads whose references were made before.

    It may be a copy of the one that was read: checksums tell whether the bytes are the same. Use it
    in a `with` block.
    """

    def __init__(self, path: str) -> None:
        """Opens it; raises NotFoundError when it is gone."""
        self.path = path
        try:
            self._descriptor = open_regular(path)
        except OSError as error:
            raise NotFoundError(f"cannot read {path}: {error.strerror or error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def payload(self, offset: int, length: int, crc: int) -> bytes:
        """The payload of the record at `offset`, exactly as it was when its reference was made.

        Raises DataLossError when the bytes on disk are not those that `crc` (masked) was computed
        of, NotFoundError when the disk does not give any.
        """
        what = f"the record at offset {offset} of {self.path}"
        try:
            payload = os.pread(self._descriptor, length, offset + HEADER_BYTES)
            stored = os.pread(self._descriptor, 4, offset + HEADER_BYTES + length)
        except OSError as error:
            raise NotFoundError(f"cannot read {what}: {error.strerror or error}") from None
        if len(payload) != length or stored != crc.to_bytes(4, "little"):
            raise DataLossError(f"{what} is no longer what was logged: the file was overwritten")
        if masked_crc(payload) != crc:
            raise DataLossError(f"{what} has a wrong payload checksum")
        return payload
