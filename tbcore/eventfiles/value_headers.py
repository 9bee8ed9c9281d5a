"""ValueHeaders: what stands before the bulk of records that are kept as references.

Pictures, histograms and texts stay in their file; of each record only wall time, step, tag and
metadata are wanted. They are read for many records at once: a cursor stands in each record, and all
cursors take the same step together. The bulk is walked over too, field by field, so that nothing
passes here that protobuf would refuse. What is written in any other way than writers do, falls out,
and protobuf decodes it. Both ways give the same rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.proto.types_pb2 import DataType

_MAX_DIMS = 6
_MAX_STRINGS = 24
"""Of a tensor. One with more of either is left to protobuf."""

# Keys: the number of a field and its wire type, as they stand in the file.
_WALL_TIME, _STEP, _SUMMARY = 0x09, 0x10, 0x2A  # of Event
_VALUE = 0x0A  # of Summary
_TAG, _IMAGE, _HISTO, _TENSOR, _METADATA = 0x0A, 0x22, 0x2A, 0x42, 0x4A  # of Summary.Value
FIELDS = {_IMAGE: "image", _HISTO: "histo", _TENSOR: "tensor"}

_GROUPS = [
    # Groups of seven bits, one a byte: moved next to each other in pairs, in fours, in eights.
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
]
_TOP_BITS = np.array([0x80 << shift for shift in range(0, 64, 8)], np.uint64)
_ALL_TOP_BITS = np.uint64(0x8080808080808080)


class ValueHeaders(NamedTuple):
    """Of records that hold one value, which is kept as a reference. Arrays of one length."""

    indices: NDArray[np.int64]
    """Which of the records given; rising."""
    wall_time: NDArray[np.float64]
    step: NDArray[np.int64]
    key: NDArray[np.uint8]
    """Of the value, in `FIELDS`."""
    tag: NDArray[np.int64]
    """Of shape (n, 2): where it begins and ends in the buffer. Never empty."""
    metadata: NDArray[np.int64]
    """The same; where there is none, both are 0."""


def find_value_headers(
    buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
) -> ValueHeaders:
    """The heads of those payloads that have one; the buffer has 16 bytes to spare behind them.

    Tags and metadata are not looked into: they may be malformed.
    """
    cursors = _Cursors(buffer, begins, begins + lengths)
    cursors.require(_WALL_TIME)
    cursors.skip(8)
    step = cursors.varint_after(_STEP)
    for key in (_SUMMARY, _VALUE):
        cursors.require(key)
        size = cursors.varint()
        cursors.is_right &= cursors.at + size == cursors.ends
    cursors.require(_TAG)
    size = cursors.varint()
    cursors.is_right &= size > 0
    tag = np.stack([cursors.at, cursors.at + size], axis=1)
    cursors.skip(size)
    keys = cursors.data[cursors.at]

    metadata = np.zeros((len(begins), 2), np.int64)
    is_head = np.zeros(len(begins), np.bool_)
    for key, walk in _WALKS.items():
        picked = np.flatnonzero(cursors.is_right & (keys == key))
        if not len(picked):
            continue
        some = cursors.part(picked)
        some.require(key)
        size = some.varint()
        bulk = some.inside(size)
        some.is_right &= walk(bulk) & bulk.is_right & (bulk.at == bulk.ends)
        some.skip(size)
        has_metadata = some.has(_METADATA)
        some.at += has_metadata
        size = some.varint(has_metadata)
        metadata[picked] = np.stack([some.at, some.at + size], axis=1) * has_metadata[:, None]
        some.skip(size)
        is_head[picked] = some.is_right & (some.at == some.ends)
    indices = np.flatnonzero(is_head)
    times = np.ndarray((len(buffer) - 7,), "<f8", buffer, strides=(1,))[begins[indices] + 1]
    return ValueHeaders(
        indices, times, step[indices], keys[indices], tag[indices], metadata[indices]
    )


class _Cursors:
    """One cursor in each of many messages, in front of the key of a field or inside of one.

    A cursor that meets something else than it should is not right from then on, and stays inside
    its message.
    """

    def __init__(self, buffer: bytearray, at: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        self.data = np.frombuffer(buffer, np.uint8)
        self.at = at.copy()
        self.ends = ends
        self.is_right = np.ones(len(at), np.bool_)
        self._buffer = buffer
        self._words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))

    def part(self, picked: NDArray[np.int64]) -> _Cursors:
        """Copies of these cursors, which are right."""
        return _Cursors(self._buffer, self.at[picked], self.ends[picked])

    def inside(self, size: NDArray[np.int64]) -> _Cursors:
        """Cursors in the messages of `size` bytes that begin here; wrong where there are fewer."""
        ends = self.at + size
        cursors = _Cursors(self._buffer, self.at, np.minimum(ends, self.ends))
        cursors.is_right = ends <= self.ends
        return cursors

    def has(self, key: int) -> NDArray[np.bool_]:
        """Which stand in front of this key."""
        found: NDArray[np.bool_] = (self.at < self.ends) & (self.data[self.at] == key)
        return found

    def require(self, key: int) -> None:
        """Go behind this key, which must be there."""
        found = self.has(key)
        self.is_right &= found
        self.at += found

    def skip(self, size: NDArray[np.int64] | int) -> None:
        """Go on by so many bytes, which must be there."""
        behind = self.at + size
        self.is_right &= behind <= self.ends
        self.at = np.minimum(behind, self.ends)

    def varint(self, where: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Read numbers of at most eight bytes; 0 for those cursors that are left out."""
        words = self._words[self.at]
        stops = ~words & _ALL_TOP_BITS
        stop = stops & (~stops + np.uint64(1))
        is_short = stops != 0
        widths = np.searchsorted(_TOP_BITS, stop) + 1
        words &= (stop - np.uint64(1)) & ~_ALL_TOP_BITS
        for low, high, shift in _GROUPS:
            words = (words & low) | ((words & high) >> shift)
        numbers = words.view(np.int64)
        if where is not None:
            numbers = np.where(where, numbers, 0)
            widths = np.where(where, widths, 0)
            is_short |= ~where
        self.is_right &= is_short
        self.skip(widths)
        return numbers

    def varint_after(self, key: int) -> NDArray[np.int64]:
        """The number behind this key; 0 where it is not there."""
        found = self.has(key)
        self.at += found
        return self.varint(found)

    def bytes_after(self, key: int) -> NDArray[np.int64]:
        """Skip the bytes behind this key, where it is there; returns how many."""
        size = self.varint_after(key)
        self.skip(size)
        return size

    def fixed_after(self, key: int, size: int) -> None:
        """Skip the number of `size` bytes behind this key, where it is there."""
        found = self.has(key)
        self.skip(found * (1 + size))


def _walk_image(bulk: _Cursors) -> NDArray[np.bool_]:
    for key in (0x08, 0x10, 0x18):  # height, width, colour space
        bulk.varint_after(key)
    bulk.bytes_after(0x22)
    return bulk.is_right


def _walk_histo(bulk: _Cursors) -> NDArray[np.bool_]:
    for key in (0x09, 0x11, 0x19, 0x21, 0x29):  # min, max, num, sum, sum of squares
        bulk.fixed_after(key, 8)
    limits, counts = bulk.bytes_after(0x32), bulk.bytes_after(0x3A)
    return np.asarray((limits | counts) % 8 == 0)


def _walk_tensor(bulk: _Cursors) -> NDArray[np.bool_]:
    """Right are strings, and numbers in more dimensions than a scalar has."""
    dtype = bulk.varint_after(0x08)
    bulk.at += (has_shape := bulk.has(0x12))
    size = bulk.varint(has_shape)
    shape = bulk.inside(size)
    is_scalar = np.ones(len(size), np.bool_)
    for _ in range(_MAX_DIMS):
        found = shape.has(0x12)
        if not found.any():
            break
        shape.at += found
        dim = shape.inside(shape.varint(found))
        length = dim.varint_after(0x08)
        shape.is_right &= dim.is_right & (dim.at == dim.ends)
        shape.at = dim.ends
        is_scalar &= ~found | (length == 1)
    bulk.is_right &= shape.is_right & (shape.at == shape.ends)
    bulk.skip(size)
    bulk.varint_after(0x18)  # version
    bulk.bytes_after(0x22)  # content
    for _ in range(_MAX_STRINGS):
        if not bulk.has(0x42).any():
            break
        bulk.bytes_after(0x42)
    return np.asarray((dtype == DataType.DT_STRING) | ~is_scalar)


_WALKS = {_IMAGE: _walk_image, _HISTO: _walk_histo, _TENSOR: _walk_tensor}
