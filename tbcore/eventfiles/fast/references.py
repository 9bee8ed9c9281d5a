"""References: decodes records whose values stay in the file.

Such values are images, histograms, texts and other tensors. Wall time, step, tag and metadata are
read from *value headers*, for many records at once. There is a cursor in each record, and each
operation moves all cursors, for example past a key or a length. The cursors also walk through the
fields of the contents, so that every record that protobuf would reject is rejected here.

A record in a form that no usual writer produces is *left to protobuf*, which decodes it later, with
the same result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.fast.layouts import (
    FIRST_BYTES_MASKS,
    HASH_FACTORS,
    decode_steps,
    varint_widths,
)
from tbcore.eventfiles.framing import HEADER_BYTES, Frames
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.eventfiles.proto.types_pb2 import DataType
from tbcore.eventfiles.table import HEALTH_PILL, TableColumn

_MAX_HASHED_TAG_BYTES = 256
"""Maximum length of a tag that is hashed."""
_MAX_DIMS = 6
"""Maximum number of dimensions of a tensor. A tensor with more is left to protobuf."""
_MAX_STRINGS = 24
"""Maximum number of strings in a tensor. A tensor with more is left to protobuf."""

# Keys as they are in the file: field number << 3 | wire type.
_WALL_TIME, _STEP, _SUMMARY = 0x09, 0x10, 0x2A  # of Event
_VALUE = 0x0A  # of Summary
_TAG, _IMAGE, _HISTO, _TENSOR, _METADATA = 0x0A, 0x22, 0x2A, 0x42, 0x4A  # of Summary.Value
_FIELDS = {_IMAGE: "image", _HISTO: "histo", _TENSOR: "tensor"}
"""Maps the key of a content, in a Summary.Value, to the name of its field. Values with other fields
are left to protobuf."""


class FoundReferences(NamedTuple):
    """Records of a buffer that were decoded by their value headers. Each has one value."""

    indices: NDArray[np.int64]
    """Index of the frame of each record, ascending."""
    columns: list[TableColumn | None]
    """Each distinct combination of tag, field and metadata; None if it cannot be decoded."""
    column_indices: NDArray[np.int64]
    """Index in `columns` for each record."""
    step: NDArray[np.int64]
    """Step of each record."""
    wall_time: NDArray[np.float64]
    """Wall time of each record, in seconds since the epoch."""

    @classmethod
    def of(cls, buffer: bytearray, frames: Frames, picked: NDArray[np.int64]) -> FoundReferences:
        """Decodes the picked frames that have a value header; leaves out all other frames.

        `picked` has frame indices, ascending. The result is the same as if protobuf had decoded the
        records.
        """
        # 1. Find the value headers, and group most headers of equal columns.
        # 2. Decode the column of each group, once for equal bytes of key, tag and metadata.
        # 3. Leave out records for which this is impossible.
        headers = find_value_headers(  # 1
            buffer, frames.starts[picked] + HEADER_BYTES, frames.lengths[picked]
        )
        examples, groups = _group(buffer, headers)
        data = memoryview(buffer)
        bounds = (each[examples].tolist() for each in (headers.key, headers.tag, headers.metadata))
        encoded = [  # 2
            (key, bytes(data[begin:end]), bytes(data[first:after]) if first else None)
            for key, (begin, end), (first, after) in zip(*bounds, strict=True)
        ]
        decoded = {each: _decode_column(*each) for each in dict.fromkeys(encoded)}
        numbers = {each: number for number, each in enumerate(decoded)}
        column_indices = np.array([numbers[each] for each in encoded], np.int64)[groups]
        is_valid = np.array([column is not None for column in decoded.values()], np.bool_)
        kept = np.flatnonzero(is_valid[column_indices])  # 3
        return cls(
            picked[headers.indices[kept]],
            list(decoded.values()),
            column_indices[kept],
            headers.step[kept],
            headers.wall_time[kept],
        )


def _group(buffer: bytearray, headers: ValueHeaders) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups headers that have the same key and tag, and no metadata.

    Returns the index of one header of each group, and the index of each header's group. A header
    with metadata is a group of its own. So is every header if there is a very long tag.
    """
    # 1. Make words of each header: its tag, padded with zeros, the size of the tag with the key,
    #    and the offset of the metadata.
    # 2. Group the headers by the hashes of their words.
    # 3. If all headers of each group have equal words, return these groups.
    begins, sizes = headers.tag[:, 0], headers.tag[:, 1] - headers.tag[:, 0]
    longest = int(sizes.max(initial=0))
    if longest <= _MAX_HASHED_TAG_BYTES:
        offsets = np.arange(0, longest, 8)  # 1
        word_at = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        tags = word_at[np.minimum(begins[:, np.newaxis] + offsets, len(word_at) - 1)]
        tags &= FIRST_BYTES_MASKS[np.clip(sizes[:, np.newaxis] - offsets, 0, 8)]
        others = np.column_stack([sizes << 8 | headers.key, headers.metadata[:, 0]])
        words = np.hstack([tags, others.view(np.uint64)])
        hashes = words @ HASH_FACTORS[: words.shape[1]]  # 2
        _, examples, groups = np.unique(hashes, return_index=True, return_inverse=True)
        if (words == words[examples[groups]]).all():  # 3
            return examples, groups
    each = np.arange(len(begins))
    return each, each


def _decode_column(key: int, tag_bytes: bytes, metadata: bytes | None) -> TableColumn | None:
    """Decodes tag and metadata; None if they are malformed, or if a debugger logged the value."""
    try:
        tag = tag_bytes.decode()
        if metadata is not None:
            metadata = SummaryMetadata.FromString(metadata).SerializeToString()
    except (UnicodeDecodeError, ProtobufDecodeError):
        return None
    if key == _TENSOR and tag.startswith(HEALTH_PILL):
        return None
    return TableColumn(tag, _FIELDS[key], False, metadata)


# -------------------------------------------------------------------------------- value headers


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
    """Key of the content, as in `_FIELDS`."""
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
    # 1. Read the step, and enter summary and value. Both must end where the payload ends: then the
    #    event has a single value, and no fields after it.
    # 2. Read the bounds of the tag, which must not be empty.
    # 3. For each key, walk the contents with this key, and find the metadata after them, if any.
    #    The payload must end after the metadata.
    # 4. Collect the headers of the records that met all these conditions.
    cursors = _Cursors(buffer, begins, begins + lengths)
    cursors.is_valid &= cursors.are_at(_WALL_TIME)  # 1
    cursors.skip(9)
    step = cursors.pass_optional(_STEP)
    for key in (_SUMMARY, _VALUE):
        cursors.is_valid &= cursors.enter(key) == cursors.ends
    tag_ends = cursors.enter(_TAG)  # 2
    tag = np.stack([cursors.offsets, tag_ends], axis=1)
    cursors.is_valid &= tag_ends > cursors.offsets
    cursors.skip(tag_ends - cursors.offsets)

    metadata = np.zeros((len(begins), 2), np.int64)  # 3
    has_header = np.zeros(len(begins), np.bool_)
    for key, walk in _WALKS.items():
        picked = np.flatnonzero(cursors.is_valid & cursors.are_at(key))
        if not len(picked):
            continue
        values = _Cursors(buffer, cursors.offsets[picked], cursors.ends[picked])
        content_ends = values.enter(key)
        walk(values)
        values.is_valid &= values.offsets == content_ends
        has_metadata = values.are_at(_METADATA)
        metadata_ends = values.enter(_METADATA)
        bounds = np.stack([values.offsets, metadata_ends], axis=1)
        metadata[picked] = bounds * has_metadata[:, np.newaxis]
        has_header[picked] = values.is_valid & (metadata_ends == values.ends)
    indices = np.flatnonzero(has_header)  # 4
    wall_times = np.ndarray((len(buffer) - 7,), "<f8", buffer, strides=(1,))[begins[indices] + 1]
    keys = np.frombuffer(buffer, np.uint8)[cursors.offsets[indices]]
    return ValueHeaders(indices, wall_times, step[indices], keys, tag[indices], metadata[indices])


class _Cursors:
    """One cursor in each of many protobuf messages. All cursors move at once.

    A cursor that finds something unexpected becomes invalid. An invalid cursor still moves when the
    valid ones do. No cursor ever moves back, or beyond the end of its message. So a cursor that
    walked the fields of a nested message, and is at its end afterwards, has never left it.
    """

    def __init__(
        self, buffer: bytearray, offsets: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        self.offsets = offsets
        """Offset of each cursor in the buffer."""
        self.ends = ends
        """Offset in the buffer after the end of each message."""
        self.is_valid = np.ones(len(offsets), np.bool_)
        self._data = np.frombuffer(buffer, np.uint8)
        self._words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        """`_words[n]` is the word of the eight bytes that begin at offset n of the buffer."""

    def are_at(self, key: int) -> NDArray[np.bool_]:
        """Whether each cursor is in front of this key."""
        found: NDArray[np.bool_] = (self.offsets < self.ends) & (self._data[self.offsets] == key)
        return found

    def skip(self, sizes: NDArray[np.int64] | int) -> None:
        """Moves by `sizes` bytes. A cursor with fewer bytes in front of it becomes invalid."""
        after = self.offsets + sizes
        self.is_valid &= after <= self.ends
        self.offsets = np.minimum(after, self.ends)

    def enter(self, key: int) -> NDArray[np.int64]:
        """Moves past this key and the length after it, if present; returns where the content ends.

        For a cursor that is not in front of this key, this is its current offset.
        """
        found = self.are_at(key)
        self.offsets = self.offsets + found
        sizes = self._varint(found)
        return self.offsets + sizes

    def pass_optional(self, *keys: int) -> NDArray[np.int64]:
        """Moves past fields with these keys, in this order, as far as they are present.

        Returns the numbers of the last field, or the size of its contents; 0 where it is absent.
        """
        for key in keys:
            found = self.are_at(key)
            self.offsets = self.offsets + found
            wire_type = key & 7
            numbers = found * 8 if wire_type == 1 else self._varint(found)
            if wire_type != 0:
                self.skip(numbers)
        return numbers

    def _varint(self, where: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Moves past varints and returns their numbers.

        A cursor for which `where` is false does not move, and its number is 0. A cursor in front of
        a varint of more than eight bytes becomes invalid.
        """
        words = self._words[self.offsets]
        widths = varint_widths(words) * where
        self.is_valid &= widths <= 8
        widths = np.minimum(widths, 8)
        self.skip(widths)
        return decode_steps(words & FIRST_BYTES_MASKS[widths], int(widths.max(initial=0)))


def _walk_image(content: _Cursors) -> None:
    """Moves past the fields of images."""
    # Height, width, colour space, and the encoded image.
    content.pass_optional(0x08, 0x10, 0x18, 0x22)


def _walk_histo(content: _Cursors) -> None:
    """Moves past the fields of histograms."""
    content.pass_optional(0x09, 0x11, 0x19, 0x21, 0x29)  # min, max, num, sum, sum of squares
    limits_bytes = content.pass_optional(0x32)
    counts_bytes = content.pass_optional(0x3A)
    content.is_valid &= (limits_bytes | counts_bytes) % 8 == 0


def _walk_tensor(content: _Cursors) -> None:
    """Moves past the fields of tensors, which must be strings, or no scalars."""
    # 1. Walk the first dimensions of all shapes, then the second dimensions, and so on. A tensor
    #    may be a scalar if all its dimensions have length 1.
    # 2. Walk the elements, which may be in tensor_content or string_val.
    dtype = content.pass_optional(0x08)
    shape_ends = content.enter(0x12)  # 1
    may_be_scalar = np.ones(len(dtype), np.bool_)
    for _ in range(_MAX_DIMS):
        if not content.are_at(0x12).any():
            break
        dim_ends = content.enter(0x12)
        is_empty = dim_ends == content.offsets
        may_be_scalar &= (content.pass_optional(0x08) == 1) | is_empty
        content.is_valid &= content.offsets == dim_ends
    content.is_valid &= content.offsets == shape_ends
    content.pass_optional(0x18, 0x22)  # 2: version, tensor_content
    for _ in range(_MAX_STRINGS):
        if not content.are_at(0x42).any():
            break
        content.pass_optional(0x42)  # string_val
    content.is_valid &= (dtype == DataType.DT_STRING) | ~may_be_scalar


_WALKS = {_IMAGE: _walk_image, _HISTO: _walk_histo, _TENSOR: _walk_tensor}
"""Maps the key of a content to the function that walks contents with this key.

The function moves cursors past all fields that writers produce. A content is accepted if its cursor
is valid, and at its end, afterwards.
"""
