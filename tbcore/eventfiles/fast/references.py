"""References: decodes records whose values stay in the file.

Such values are images, histograms, texts and other tensors. Wall time, step, tag and metadata are
read from value headers, for many records at once. The *name* of a value is its tag together with
its field. Records with the same name are found by comparing bytes, so each distinct name is decoded
only once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.fast.layouts import FIRST_BYTES_MASKS
from tbcore.eventfiles.fast.value_headers import FIELDS, ValueHeaders, find_value_headers
from tbcore.eventfiles.framing import HEADER_BYTES, Frames
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.eventfiles.table import HEALTH_PILL

_MAX_HASHED_TAG_BYTES = 256
"""Maximum length of a tag that is hashed. If any tag is longer, all records are grouped one by
one."""
_HASH_FACTORS = np.array(
    [pow(0x9E3779B97F4A7C15, n, 1 << 64) for n in range(1, _MAX_HASHED_TAG_BYTES // 8 + 2)],
    np.uint64,
)
"""Factors of the hash by which records are grouped by name; shape (33,).

A name is hashed as up to 32 words of 8 bytes, which are the tag, and a last word, which has the
length of the tag and the key of the field. The hash is the sum of all words modulo 2**64, each
multiplied by the factor at its index. The factors must be odd, so that no bit of a word is lost,
and unlike each other, so that similar tags get different hashes. The powers of 0x9E3779B97F4A7C15,
which is 2**64 divided by the golden ratio, meet both conditions. Names with the same hash are
compared in full.
"""


class FoundReferences(NamedTuple):
    """Records of a buffer that were decoded by their value headers."""

    indices: NDArray[np.int64]
    """Index of the frame of each record, ascending."""
    name_indices: NDArray[np.int64]
    """Index in `names` of the name of each record's value."""
    names: list[tuple[str, str]]
    """Tag and field of each distinct name."""
    metadata_indices: NDArray[np.int64]
    """Index in `distinct_metadata` of each record's metadata; -1 for a record without any."""
    distinct_metadata: list[bytes]
    """Each distinct SummaryMetadata, serialized."""
    step: NDArray[np.int64]
    """Step of each record."""
    wall_time: NDArray[np.float64]
    """Wall time of each record, in seconds since the epoch."""

    @classmethod
    def of(cls, buffer: bytearray, frames: Frames, picked: NDArray[np.int64]) -> FoundReferences:
        """Decodes the picked frames that have a value header; leaves out all other frames.

        `picked` has frame indices, ascending. Each record has one value. The result is the same as
        if protobuf had decoded the records.
        """
        # 1. Find the value headers.
        # 2. Read names and metadata, and leave out records whose name or metadata is not valid.
        headers = find_value_headers(  # 1
            buffer, frames.starts[picked] + HEADER_BYTES, frames.lengths[picked]
        )
        name_indices, names = _read_names(buffer, headers)  # 2
        metadata_indices, distinct_metadata = _read_metadata(buffer, headers)
        kept = np.flatnonzero((name_indices >= 0) & (metadata_indices >= -1))
        return cls(
            picked[headers.indices[kept]],
            name_indices[kept],
            names,
            metadata_indices[kept],
            distinct_metadata,
            headers.step[kept],
            headers.wall_time[kept],
        )


def _read_names(
    buffer: bytearray, headers: ValueHeaders
) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    """Returns the index of each header's name in a list of names, and this list.

    The index is -1 if the tag is not UTF-8, or if a debugger logged the value: the record of such a
    header is left to protobuf.
    """
    data = memoryview(buffer)
    name_indices, examples = _group_by_name(buffer, headers)
    names: list[tuple[str, str]] = []
    is_accepted = np.ones(len(examples), np.bool_)
    for index, example in enumerate(examples.tolist()):
        begin, end = headers.tag[example].tolist()
        raw = bytes(data[begin:end])
        field = FIELDS[headers.key[example]]
        tag = raw.decode(errors="replace")
        names.append((tag, field))
        if tag.encode() != raw or (field == "tensor" and tag.startswith(HEALTH_PILL)):
            is_accepted[index] = False
    # This is done for all headers at once: there may be as many rejected names as records.
    return np.where(is_accepted[name_indices], name_indices, -1), names


def _group_by_name(
    buffer: bytearray, headers: ValueHeaders
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups headers by name.

    Returns the index of each header's group, and the index of one header of each group.
    """
    # 1. Make the words of each name: the tag, padded with zeros, then the tag's length and the key.
    # 2. Group the headers by the hashes of their words.
    # 3. If all headers of each group have equal words, return these groups.
    # 4. If not, or if a tag is very long, group the headers one by one.
    begins, sizes = headers.tag[:, 0], headers.tag[:, 1] - headers.tag[:, 0]
    if len(begins) and sizes.max() <= _MAX_HASHED_TAG_BYTES:
        offsets = np.arange(0, sizes.max(), 8)  # 1
        word_at = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        words = word_at[np.minimum(begins[:, None] + offsets, len(word_at) - 1)]
        words &= FIRST_BYTES_MASKS[np.clip(sizes[:, None] - offsets, 0, 8)]
        words = np.column_stack([words, sizes.astype(np.uint64) << np.uint64(8) | headers.key])
        hashes = words @ _HASH_FACTORS[: words.shape[1]]  # 2
        _, examples, groups = np.unique(hashes, return_index=True, return_inverse=True)
        if (words == words[examples[groups]]).all():  # 3
            return groups, examples
    group_of: dict[tuple[bytes, int], int] = {}  # 4
    data = memoryview(buffer)
    groups = np.empty(len(begins), np.int64)
    firsts: list[int] = []
    for i, ((begin, end), key) in enumerate(
        zip(headers.tag.tolist(), headers.key.tolist(), strict=True)
    ):
        group = group_of.setdefault((bytes(data[begin:end]), key), len(group_of))
        if group == len(firsts):
            firsts.append(i)
        groups[i] = group
    return groups, np.array(firsts, np.int64)


def _read_metadata(
    buffer: bytearray, headers: ValueHeaders
) -> tuple[NDArray[np.int64], list[bytes]]:
    """Returns the index of each header's metadata in a list, and this list.

    The list has each distinct SummaryMetadata, serialized. The index is -1 for a header without
    metadata, and -2 for one with malformed metadata.
    """
    indices = np.full(len(headers.indices), -1, np.int64)
    index_of: dict[bytes, int] = {}
    distinct: list[bytes] = []
    for i in np.flatnonzero(headers.metadata[:, 0]).tolist():
        begin, end = headers.metadata[i].tolist()
        raw = bytes(buffer[begin:end])
        if raw not in index_of:
            try:
                distinct.append(SummaryMetadata.FromString(raw).SerializeToString())
                index_of[raw] = len(distinct) - 1
            except ProtobufDecodeError:
                index_of[raw] = -2
        indices[i] = index_of[raw]
    return indices, distinct
