"""Value headers: finds wall time, step, tag and metadata of images, histograms, texts and tensors.

The content of such a value stays in its file; wall time, step, tag and metadata are read for many
records at once. There is a cursor in each record, and each operation moves all cursors, for example
past a key or a length. The cursors also walk through the fields of the contents, so that every
record that protobuf would reject is rejected here. A record in a form that no usual writer produces
gets no header: it is *left to protobuf*, which decodes it later, with the same result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.proto.types_pb2 import DataType

_MAX_DIMS = 6
"""Maximum number of dimensions of a tensor. A tensor with more is left to protobuf."""
_MAX_STRINGS = 24
"""Maximum number of strings in a tensor. A tensor with more is left to protobuf."""

# Keys as they are in the file: field number << 3 | wire type.
_WALL_TIME, _STEP, _SUMMARY = 0x09, 0x10, 0x2A  # of Event
_VALUE = 0x0A  # of Summary
_TAG, _IMAGE, _HISTO, _TENSOR, _METADATA = 0x0A, 0x22, 0x2A, 0x42, 0x4A  # of Summary.Value
FIELDS = {_IMAGE: "image", _HISTO: "histo", _TENSOR: "tensor"}
"""Maps the key of a content, in a Summary.Value, to the name of its field. Values with other fields
are left to protobuf."""

_VARINT_MERGES = [
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
]
"""Operations that join the 7-bit groups in the bytes of a varint into a number of 56 bits.

Each operation joins pairs of neighbouring groups: into groups of 14 bits, then 28, then 56. An
operation has a mask for the lower group of each pair, a mask for the upper group, and the number of
bits by which the upper group is shifted.
"""
_TOP_BITS = np.array([0x80 << shift for shift in range(0, 64, 8)], np.uint64)
"""The top bit of each byte of a word, shape (8,)."""
_ALL_TOP_BITS = np.uint64(0x8080808080808080)


class ValueHeaders(NamedTuple):
    """The headers of records with a single value that stays in the file.

    The first dimension of each array is num_headers. The bounds of tags and metadata are offsets in
    the buffer.
    """

    indices: NDArray[np.int64]
    """Index of each header's payload in the arguments of `find_value_headers`, ascending."""
    wall_time: NDArray[np.float64]
    step: NDArray[np.int64]
    key: NDArray[np.uint8]
    """Key of the content, as in `FIELDS`."""
    tag: NDArray[np.int64]
    """Begin and end of the tag, shape (num_headers, 2). A tag is never empty."""
    metadata: NDArray[np.int64]
    """Begin and end of the metadata, shape (num_headers, 2); both are 0 if there is none."""


def find_value_headers(
    buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
) -> ValueHeaders:
    """Finds the headers of payloads, given by their offsets in the buffer and their lengths.

    A payload that is left to protobuf has no header. The buffer must extend at least 16 bytes
    beyond the last payload. Tags and metadata are not decoded: they may be malformed.
    """
    # 1. Read the step, and the lengths of summary and value. Both must end where the payload ends:
    #    then the event has a single value, and no fields after it.
    # 2. Read the tag, and the key of the content after it.
    # 3. For each key, walk the contents with this key, and find the metadata after them, if any.
    #    The payload must end after the metadata.
    # 4. Collect the headers of the records that met all these conditions.
    cursors = _Cursors(buffer, begins, begins + lengths)
    cursors.require(_WALL_TIME)  # 1
    cursors.skip(8)
    step = cursors.optional_varint(_STEP)
    for key in (_SUMMARY, _VALUE):
        cursors.require(key)
        size = cursors.varint()
        cursors.is_valid &= cursors.offsets + size == cursors.ends
    cursors.require(_TAG)  # 2
    size = cursors.varint()
    cursors.is_valid &= size > 0
    tag = np.stack([cursors.offsets, cursors.offsets + size], axis=1)
    cursors.skip(size)
    keys = cursors.data[cursors.offsets]

    metadata = np.zeros((len(begins), 2), np.int64)  # 3
    has_header = np.zeros(len(begins), np.bool_)
    for key, walk in _WALKS.items():
        picked = np.flatnonzero(cursors.is_valid & (keys == key))
        if not len(picked):
            continue
        values = cursors.picked(picked)
        values.require(key)
        size = values.varint()
        content = values.nested(size)
        is_accepted = walk(content)
        values.is_valid &= is_accepted & content.is_valid & (content.offsets == content.ends)
        values.skip(size)
        has_metadata = values.are_at(_METADATA)
        values.offsets += has_metadata
        size = values.varint(has_metadata)
        bounds = np.stack([values.offsets, values.offsets + size], axis=1)
        metadata[picked] = bounds * has_metadata[:, None]
        values.skip(size)
        has_header[picked] = values.is_valid & (values.offsets == values.ends)
    indices = np.flatnonzero(has_header)  # 4
    wall_times = np.ndarray((len(buffer) - 7,), "<f8", buffer, strides=(1,))[begins[indices] + 1]
    return ValueHeaders(
        indices, wall_times, step[indices], keys[indices], tag[indices], metadata[indices]
    )


class _Cursors:
    """One cursor in each of many protobuf messages. All cursors move at once.

    A cursor that finds something unexpected becomes invalid. An invalid cursor still moves when the
    valid ones do, but no cursor ever moves beyond the end of its message.
    """

    def __init__(
        self, buffer: bytearray, offsets: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        self.data = np.frombuffer(buffer, np.uint8)
        self.offsets = offsets.copy()
        """Offset of each cursor in the buffer."""
        self.ends = ends
        """Offset in the buffer after the end of each message."""
        self.is_valid = np.ones(len(offsets), np.bool_)
        self._buffer = buffer
        self._words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        """`_words[n]` is the word of the eight bytes that begin at offset n of the buffer."""

    def picked(self, indices: NDArray[np.int64]) -> _Cursors:
        """Copies of the cursors with these indices. All of these cursors must be valid."""
        return _Cursors(self._buffer, self.offsets[indices], self.ends[indices])

    def nested(self, size: NDArray[np.int64]) -> _Cursors:
        """New cursors in the nested messages that begin at these cursors and have `size` bytes.

        A new cursor is invalid if its nested message does not end within the outer message.
        """
        ends = self.offsets + size
        cursors = _Cursors(self._buffer, self.offsets, np.minimum(ends, self.ends))
        cursors.is_valid = ends <= self.ends
        return cursors

    def are_at(self, key: int) -> NDArray[np.bool_]:
        """Whether each cursor is in front of this key."""
        found: NDArray[np.bool_] = (self.offsets < self.ends) & (self.data[self.offsets] == key)
        return found

    def require(self, key: int) -> None:
        """Moves past this key. A cursor that is not in front of this key becomes invalid."""
        found = self.are_at(key)
        self.is_valid &= found
        self.offsets += found

    def skip(self, size: NDArray[np.int64] | int) -> None:
        """Moves by `size` bytes. A cursor with fewer bytes in front of it becomes invalid."""
        after = self.offsets + size
        self.is_valid &= after <= self.ends
        self.offsets = np.minimum(after, self.ends)

    def varint(self, where: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Moves past varints and returns their numbers.

        A cursor for which `where` is false does not move, and its number is 0. A cursor in front of
        a varint of more than eight bytes becomes invalid.
        """
        # 1. Find the last byte of each varint: the word's lowest byte whose top bit is 0.
        #    `end_bits` has the top bit set for every such byte, `lowest` only for the lowest.
        # 2. Clear all bits after the varint, and the top bits.
        # 3. Join the groups of 7 bits.
        # 4. Undo this for cursors that must not move.
        words = self._words[self.offsets]
        end_bits = ~words & _ALL_TOP_BITS  # 1
        lowest = end_bits & (~end_bits + np.uint64(1))
        has_end = end_bits != 0
        widths = np.searchsorted(_TOP_BITS, lowest) + 1
        words &= (lowest - np.uint64(1)) & ~_ALL_TOP_BITS  # 2
        for lower, upper, shift in _VARINT_MERGES:  # 3
            words = (words & lower) | ((words & upper) >> shift)
        numbers = words.view(np.int64)
        if where is not None:  # 4
            numbers = np.where(where, numbers, 0)
            widths = np.where(where, widths, 0)
            has_end |= ~where
        self.is_valid &= has_end
        self.skip(widths)
        return numbers

    def optional_varint(self, key: int) -> NDArray[np.int64]:
        """Moves past this key and its varint, if present; returns the numbers, 0 if absent."""
        found = self.are_at(key)
        self.offsets += found
        return self.varint(found)

    def skip_optional_bytes(self, key: int) -> NDArray[np.int64]:
        """Moves past this key, length and bytes, if present; returns the lengths, 0 if absent."""
        size = self.optional_varint(key)
        self.skip(size)
        return size

    def skip_optional_fixed(self, key: int, size: int) -> None:
        """Moves past this key and the number after it, which has `size` bytes, if present."""
        found = self.are_at(key)
        self.skip(found * (1 + size))


def _walk_image(content: _Cursors) -> NDArray[np.bool_]:
    """Moves past the fields of images; accepts every valid image."""
    for key in (0x08, 0x10, 0x18):  # height, width, colour space
        content.optional_varint(key)
    content.skip_optional_bytes(0x22)  # the encoded image
    return content.is_valid


def _walk_histo(content: _Cursors) -> NDArray[np.bool_]:
    """Moves past the fields of histograms; accepts histograms with arrays of 8-byte numbers."""
    for key in (0x09, 0x11, 0x19, 0x21, 0x29):  # min, max, num, sum, sum of squares
        content.skip_optional_fixed(key, 8)
    limits_bytes, counts_bytes = (content.skip_optional_bytes(key) for key in (0x32, 0x3A))
    return np.asarray((limits_bytes | counts_bytes) % 8 == 0)


def _walk_tensor(content: _Cursors) -> NDArray[np.bool_]:
    """Moves past the fields of tensors; accepts strings, and tensors that cannot be scalars."""
    # 1. Walk the first dimensions of all shapes, then the second dimensions, and so on. A tensor
    #    may be a scalar if all its dimensions have length 1.
    # 2. Walk the elements, which may be in tensor_content or string_val.
    dtype = content.optional_varint(0x08)
    content.offsets += (has_shape := content.are_at(0x12))  # 1
    size = content.varint(has_shape)
    shape = content.nested(size)
    may_be_scalar = np.ones(len(size), np.bool_)
    for _ in range(_MAX_DIMS):
        found = shape.are_at(0x12)
        if not found.any():
            break
        shape.offsets += found
        dim = shape.nested(shape.varint(found))
        length = dim.optional_varint(0x08)
        shape.is_valid &= dim.is_valid & (dim.offsets == dim.ends)
        shape.offsets = dim.ends
        may_be_scalar &= ~found | (length == 1)
    content.is_valid &= shape.is_valid & (shape.offsets == shape.ends)
    content.skip(size)
    content.optional_varint(0x18)  # version
    content.skip_optional_bytes(0x22)  # 2: tensor_content
    for _ in range(_MAX_STRINGS):
        if not content.are_at(0x42).any():
            break
        content.skip_optional_bytes(0x42)  # string_val
    return np.asarray((dtype == DataType.DT_STRING) | ~may_be_scalar)


_WALKS = {_IMAGE: _walk_image, _HISTO: _walk_histo, _TENSOR: _walk_tensor}
"""Maps the key of a content to the function that walks contents with this key.

The function moves cursors past all fields that writers produce, and returns whether it accepts each
content. A content is accepted only if its cursor is also valid, and at its end, afterwards.
"""
