"""References: records of which only the head is decoded, by tag and field.

Two tags are the same when all their bytes are: see `_same_names`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import HEALTH_PILL, FirstMetadata, ReferenceColumn
from tbcore.eventfiles.framing import HEADER_BYTES, Frames, stored_checksums
from tbcore.eventfiles.layouts import FIRST_BYTES
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.eventfiles.value_headers import FIELDS, ValueHeaders, find_value_headers

_LONG_TAG = 256
"""In bytes. Longer ones are compared one by one."""
_FACTORS = np.array(
    [pow(0x9E3779B97F4A7C15, n, 1 << 64) for n in range(1, _LONG_TAG // 8 + 2)], np.uint64
)
"""For each word of a tag and what comes behind it: odd, and far from each other."""


class References:
    """Records of a buffer that were read by their heads alone."""

    def __init__(
        self,
        indices: NDArray[np.int64],
        keys: NDArray[np.int64],
        names: list[tuple[str, str]],
        metadata: NDArray[np.int64],
        texts: list[bytes],
        columns: tuple[NDArray[Any], ...],
    ) -> None:
        self.indices = indices
        """Of the frames, rising."""
        self.keys = keys
        self.names = names
        """Tag and field, by key."""
        self.metadata = metadata
        """Which of the texts; -1 where there is none."""
        self.texts = texts
        self._columns = columns
        """Of ReferenceColumn, from `position` on."""

    @classmethod
    def of(
        cls, buffer: bytearray, frames: Frames, picked: NDArray[np.int64], base: int
    ) -> References:
        """Those of the picked frames that have a head which means the same to protobuf."""
        starts, lengths = frames.starts[picked], frames.lengths[picked]
        heads = find_value_headers(buffer, starts + HEADER_BYTES, lengths)
        keys, names = _name(buffer, heads)
        metadata, texts = _describe(buffer, heads)
        right = np.flatnonzero((keys >= 0) & (metadata >= -1))
        found = heads.indices[right]
        starts, lengths = starts[found], lengths[found]
        columns = (
            starts + base,
            heads.step[right],
            heads.wall_time[right],
            starts + base,
            lengths.astype(np.uint32),
            np.zeros(len(right), np.uint32),
            stored_checksums(buffer, starts, lengths),
        )
        return cls(picked[found], keys[right], names, metadata[right], texts, columns)

    @property
    def step(self) -> NDArray[np.int64]:
        """Of each, as the other."""
        return self._columns[1]

    @property
    def wall_time(self) -> NDArray[np.float64]:
        """In seconds since the epoch."""
        return self._columns[2]

    def columns(self, begin: int, end: int) -> Iterator[ReferenceColumn]:
        """Those whose frame is in begin..end, by tag and field."""
        piece = slice(*np.searchsorted(self.indices, (begin, end)).tolist())
        keys = self.keys[piece]
        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        keys, metadata = keys[order], self.metadata[piece][order]
        columns = [column[piece][order] for column in self._columns]
        cuts = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
        for first, behind in pairwise(cuts):
            some = slice(first, behind)
            described = np.flatnonzero(metadata[some] >= 0)
            found = None
            if len(described):
                place = first + int(described[0])
                found = FirstMetadata(int(columns[0][place]), self.texts[metadata[place]])
            tag, field = self.names[keys[first]]
            yield ReferenceColumn(tag, field, found, *(column[some] for column in columns))


def _name(
    buffer: bytearray, heads: ValueHeaders
) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    """For each head a number, and for each number tag and field. -1: not for us to name."""
    data = memoryview(buffer)
    numbers, examples = _same_names(buffer, heads)
    names: list[tuple[str, str]] = []
    is_ours = np.ones(len(examples), np.bool_)
    for number, i in enumerate(examples.tolist()):
        begin, end = heads.tag[i].tolist()
        raw = bytes(data[begin:end])
        field = FIELDS[heads.key[i]]
        tag = raw.decode(errors="replace")
        names.append((tag, field))
        if tag.encode() != raw or (field == "tensor" and tag.startswith(HEALTH_PILL)):
            is_ours[number] = False
    # At once: there may be as many such tags as records.
    return np.where(is_ours[numbers], numbers, -1), names


def _same_names(
    buffer: bytearray, heads: ValueHeaders
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each head a number that is the same for the same tag and key, and one head of each."""
    begins, sizes = heads.tag[:, 0], heads.tag[:, 1] - heads.tag[:, 0]
    if len(begins) and sizes.max() <= _LONG_TAG:
        # Eight bytes at a time; what is behind a tag is masked.
        offsets = np.arange(0, sizes.max(), 8)
        every = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        words = every[np.minimum(begins[:, None] + offsets, len(every) - 1)]
        words &= FIRST_BYTES[np.clip(sizes[:, None] - offsets, 0, 8)]
        words = np.column_stack([words, sizes.astype(np.uint64) << np.uint64(8) | heads.key])
        hashes = words @ _FACTORS[: words.shape[1]]
        _, examples, numbers = np.unique(hashes, return_index=True, return_inverse=True)
        if (words == words[examples[numbers]]).all():
            return numbers, examples
    # Tags that long, or two of one hash.
    found: dict[tuple[bytes, int], int] = {}
    data = memoryview(buffer)
    numbers = np.empty(len(begins), np.int64)
    firsts: list[int] = []
    for i, ((begin, end), key) in enumerate(
        zip(heads.tag.tolist(), heads.key.tolist(), strict=True)
    ):
        number = found.setdefault((bytes(data[begin:end]), key), len(found))
        if number == len(firsts):
            firsts.append(i)
        numbers[i] = number
    return numbers, np.array(firsts, np.int64)


def _describe(buffer: bytearray, heads: ValueHeaders) -> tuple[NDArray[np.int64], list[bytes]]:
    """For each head which of the metadata it carries; -1: none, -2: one that is malformed."""
    which = np.full(len(heads.indices), -1, np.int64)
    numbers: dict[bytes, int] = {}
    texts: list[bytes] = []
    for i in np.flatnonzero(heads.metadata[:, 0]).tolist():
        begin, end = heads.metadata[i].tolist()
        raw = bytes(buffer[begin:end])
        if raw not in numbers:
            try:
                texts.append(SummaryMetadata.FromString(raw).SerializeToString())
                numbers[raw] = len(texts) - 1
            except ProtobufDecodeError:
                numbers[raw] = -2
        which[i] = numbers[raw]
    return which, texts
