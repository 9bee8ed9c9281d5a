"""Records: TFRecord framing of an event file.

    +-----------+------------------+-----------------+-------------------+
    | length: 8 | crc of length: 4 | payload: length | crc of payload: 4 |   little-endian,
    +-----------+------------------+-----------------+-------------------+   CRCs masked

Framing works on a buffer that holds a piece of a file from the start of a record, and speaks of
*frames*: where whole records begin in it and how long their payloads are.
"""

from __future__ import annotations

import math
import os
import stat
import struct
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbcore.errors import DataLossError, NotFoundError
from tbcore.eventfiles.crc32c import (
    checksums_below,
    is_raw_zero,
    masked_crc,
    masked_length_crc,
    raw_length_crc,
    seed_effect,
    unmask,
)

HEADER_BYTES = 12
FRAME_BYTES = 16
"""What framing adds to a payload."""
MAX_PAYLOAD_BYTES = (1 << 31) - 1
"""No protobuf message is longer, so a greater length is damage, whatever its checksum says."""

_CHECK_SLICE_BYTES = 1 << 18
"""Checksums are taken over slices of about this size: it stays in the second-level cache, and a
damaged record is looked for in one slice only."""

_FEW_FRAMES = 1 << 10
"""Walked as short ones before it is taken for granted that the others are, too."""
_NONE = np.empty(0, np.int64)
_SEVEN_ZEROS = bytes(7)
_LANE_WINDOW = 255 + FRAME_BYTES + 1 + len(_SEVEN_ZEROS)
"""In which a record begins, if all are short, and has its zeros."""
_STEPS_AT_ONCE = 8
"""Of all lanes, before a look whether they are through."""
_MOST_STEPS = 2
"""Times the lanes: four times as many as they have records, on average."""

_TABLE_SIZE = 1 << 12
"""Checksums of shorter lengths are looked up in a table."""

_length_at = struct.Struct("<Q").unpack_from
_crc_at = struct.Struct("<I").unpack_from

Stop = Literal["limit", "incomplete", "bad_length"]


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
    stop: Stop
    """Why there are no more: as many as were asked for, the buffer's end, or a damaged length."""

    def first(self, count: int) -> Frames:
        """The first `count` of them, or all."""
        if count >= len(self.starts):
            return self
        return Frames(self.starts[:count], self.lengths[:count], int(self.starts[count]), "limit")


def find_frames(buffer: bytearray, start: int, size: int, limit: int) -> Frames:
    """Walk at most `limit` records of `buffer[start:size]`."""
    few = min(limit, _FEW_FRAMES)
    frames = Frames(_NONE, _NONE, start, "bad_length")
    if all(0 <= length < 256 for length in islice(_walk(buffer, start, size), 4)):
        frames = _checked(buffer, start, size, few, _walked(_walk_short(buffer, start, size), few))
        if frames.stop == "limit" and few < limit:
            mean = (frames.end - start) // few
            lengths = _lengths_in_lanes(buffer, frames.end, size, limit - few, mean)
            more = _checked(buffer, frames.end, size, limit - few, lengths)
            starts = np.append(frames.starts, more.starts)
            frames = more._replace(starts=starts, lengths=np.append(frames.lengths, more.lengths))
    if frames.stop == "bad_length" and not len(frames.starts):
        frames = _checked(buffer, start, size, limit, _walked(_walk(buffer, start, size), limit))
    # What looks damaged may be a longer record than was thought: the next call will tell.
    if frames.stop == "bad_length" and len(frames.starts):
        return frames._replace(stop="limit")
    return frames


def _walked(lengths: Iterator[int], limit: int) -> NDArray[np.int64]:
    return np.fromiter(islice(lengths, limit), np.int64)


def _walk_short(buffer: bytearray, position: int, size: int) -> Iterator[int]:
    """Payload lengths as long as they fit in one byte: two thirds of the time of `_walk`."""
    last = size - FRAME_BYTES
    while position <= last:
        length = buffer[position]
        yield length
        position += length + FRAME_BYTES


def _walk(buffer: bytearray, position: int, size: int) -> Iterator[int]:
    """Payload lengths; -1 and the end where there can be none.

    Of all records but the first, lengths whose second byte is 0 are taken for shorter ones than
    they may be.
    """
    last = size - FRAME_BYTES
    is_exact = True
    while position <= last:
        length = buffer[position]
        if is_exact or buffer[position + 1]:
            (length,) = _length_at(buffer, position)
            if length > MAX_PAYLOAD_BYTES:
                yield -1
                return
            is_exact = False
        yield length
        position += length + FRAME_BYTES


def _lengths_in_lanes(
    buffer: bytearray, start: int, size: int, limit: int, mean: int
) -> NDArray[np.int64]:
    """Payload lengths as `_walk_short` finds them, in a quarter of its time; not always all.

    Lanes of records, each from what looks like the start of one, are walked side by side. `mean`
    is about how many bytes a record takes.
    """
    stop = min(start + limit * mean, size - FRAME_BYTES + 1)
    num_lanes = math.isqrt(2 * limit)  # Most of a step is for numpy's calls, half of all for lanes.
    at = np.array(_lanes(buffer, start, stop, num_lanes))
    ends = np.append(at[1:], stop)
    data = np.frombuffer(buffer, np.uint8)
    steps = [at]
    while (at < ends).any() and len(steps) < _MOST_STEPS * num_lanes:
        for _ in range(_STEPS_AT_ONCE):
            # Those that are through go on, no matter where.
            at = at + data.take(at, mode="clip")
            at += FRAME_BYTES
            steps.append(at)
    positions = np.array(steps)
    is_inside = positions[:-1] < ends
    behind = positions[is_inside.sum(axis=0), np.arange(len(ends))]
    # Only the first lane is sure to be one, and whichever begins where a sure one ends.
    leads_on = behind == ends
    leads_on[-1] = False
    num_sure = int(leads_on.argmin()) + 1
    starts = positions[:-1].T[:num_sure][is_inside.T[:num_sure]]
    return np.diff(starts, append=behind[num_sure - 1])[:limit] - FRAME_BYTES


def _lanes(buffer: bytearray, start: int, stop: int, count: int) -> list[int]:
    """`start` and, about evenly spaced until `stop`, what look like starts of short records."""
    found = [start]
    stride = (stop - start) // count
    for at in range(start + stride, stop, stride) if stride >= _LANE_WINDOW else ():
        # A short length is a byte before seven zeros.
        end = min(at + _LANE_WINDOW, stop)
        zeros = buffer.find(_SEVEN_ZEROS, at + 1, end)
        while zeros >= 0 and length_at(buffer, zeros - 1) is None:
            zeros = buffer.find(_SEVEN_ZEROS, zeros + 1, end)
        if zeros >= 0:
            found.append(zeros - 1)
    return found


def _checked(
    buffer: bytearray, start: int, size: int, limit: int, lengths: NDArray[np.int64]
) -> Frames:
    """Records of these lengths, cut before the first that is not whole or whose header is wrong."""
    ends = np.cumsum(lengths + FRAME_BYTES) + start
    starts = ends - lengths - FRAME_BYTES
    wrong = _are_wrong(buffer, starts, lengths)
    num_right = int(wrong.argmax()) if wrong.any() else len(lengths)
    num_whole = int(np.searchsorted(ends[:num_right], size, side="right"))
    end = int(ends[num_whole - 1]) if num_whole else start
    stop: Stop = "incomplete"
    if num_whole == num_right < len(lengths):
        stop = "bad_length"
    elif num_whole == len(lengths) and (num_whole == limit or size - end >= FRAME_BYTES):
        stop = "limit"
    return Frames(starts[:num_whole], lengths[:num_whole], end, stop)


def find_wrong(buffer: bytearray, frames: Frames) -> NDArray[np.int64]:
    """Indices of the frames whose header is not that of a record of their length, rising."""
    return np.flatnonzero(_are_wrong(buffer, frames.starts, frames.lengths))


def _are_wrong(
    buffer: bytearray, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether headers are not those of records of these lengths; negative ones are of none."""
    words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))[starts]
    crcs = np.ndarray((len(buffer) - 3,), "<u4", buffer, strides=(1,))[starts + 8]
    expected = _for_lengths(masked_length_crc, np.maximum(lengths, 0))
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


def _for_lengths(checksum: Callable[[int], int], lengths: NDArray[np.int64]) -> NDArray[np.uint32]:
    """`checksum` of each length, computed once for each that occurs."""
    found = checksums_below(_TABLE_SIZE)[checksum][np.minimum(lengths, _TABLE_SIZE - 1)]
    long = np.flatnonzero(lengths >= _TABLE_SIZE)
    if len(long):
        distinct, which = np.unique(lengths[long], return_inverse=True)
        found[long] = np.array([checksum(n) for n in distinct.tolist()], np.uint32)[which]
    return found


def length_at(buffer: bytearray, start: int) -> int | None:
    """Payload length of the record at `start`, None when its header is damaged."""
    (length,) = _length_at(buffer, start)
    (crc,) = _crc_at(buffer, start + 8)
    if length > MAX_PAYLOAD_BYTES or crc != masked_length_crc(length):
        return None
    return int(length)


def find_damaged(buffer: bytearray, frames: Frames) -> NDArray[np.int64]:
    """Indices of the frames whose payload does not have its checksum, rising.

    The checksum fields of the frames are overwritten while this works and are as before when it
    returns.
    """
    starts, lengths = frames.starts, frames.lengths
    if not len(starts):
        return np.empty(0, np.int64)
    fields = np.ndarray((len(buffer) - 3,), "<u4", buffer, strides=(1,))
    header_fields, payload_fields = starts + 8, starts + lengths + HEADER_BYTES
    stored_header, stored_payload = fields[header_fields], fields[payload_fields]
    fields[header_fields] = _for_lengths(raw_length_crc, lengths)
    fields[payload_fields] = unmask(stored_payload) ^ _for_lengths(seed_effect, lengths)

    data = np.frombuffer(buffer, np.uint8)
    cuts = np.searchsorted(starts, np.arange(starts[0], frames.end, _CHECK_SLICE_BYTES))
    suspects: list[int] = []
    for first, behind in pairwise(dict.fromkeys([*cuts.tolist(), len(starts)])):
        end = int(starts[behind]) if behind < len(starts) else frames.end
        if not is_raw_zero(data[int(starts[first]) : end]):
            suspects.extend(range(first, behind))
    fields[header_fields], fields[payload_fields] = stored_header, stored_payload
    payloads = [(int(starts[i]) + HEADER_BYTES, int(payload_fields[i])) for i in suspects]
    wrong = [masked_crc(data[a:b]) != _crc_at(buffer, b)[0] for a, b in payloads]
    return np.array([i for i, is_wrong in zip(suspects, wrong, strict=True) if is_wrong], np.int64)


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
