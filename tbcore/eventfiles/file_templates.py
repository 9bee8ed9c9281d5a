"""File templates: what is the same in many short files, as far as their end.

The runs of a sweep log the same tags at the same steps. Their files are short, too short for their
records to be gathered by the million, but they are alike from some record near their beginning on:
all bytes are equal there except wall times, steps, values and checksums. Such a template is
compared as a whole, and its numbers are taken out of it with one indexing for each kind. Many runs
are stopped early: their templates are what a longer one begins with.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import DecodedItem, FileVersion, Table, TableLayout
from tbcore.eventfiles.crc32c import (
    ChecksumFields,
    is_raw_zero,
    masked_length_crc,
)
from tbcore.eventfiles.framing import (
    FRAME_BYTES,
    HEADER_BYTES,
    checksum_fields,
    record_bounds,
)
from tbcore.eventfiles.layouts import (
    FIRST_BYTES,
    STEP_OFFSET,
    WALL_TIME_OFFSET,
    FieldOffsets,
    Layout,
    LayoutCache,
    as_value_column,
    decode_steps,
    learn,
    constant_mask,
)
from tbcore.eventfiles.proto.event_pb2 import Event

_NUM_STARTS = 8
"""Records with which a template may begin: what differs between runs stands before."""
_MIN_RECORDS = 16
_MAX_SEQUENCES = 16
_MAX_SEQUENCE_BYTES = 1 << 20
"""Of the files that all sequences stand for but the last one: they take several times as much."""
_MAX_TEMPLATES = 1024
_MAX_SEEN = 1 << 14
_FREE_SEQUENCES = 8
_FILES_PER_SEQUENCE = 8
"""Learning a sequence takes as long as some files do without: it is not gone on with where few
files turn out to be alike."""

_wall_time_at = struct.Struct("<d").unpack_from


class _Values(NamedTuple):
    """Where the values of a sequence are, in the order written. Offsets are from its beginning."""

    column: NDArray[np.int64]
    """Number of the tag and field."""
    position: NDArray[np.int64]
    wall_time: NDArray[np.int64]
    step: NDArray[np.int64]
    step_mask: NDArray[np.uint64]
    """Of the word at the step, the bits that are its varint's."""
    number: NDArray[np.int64]

    def at(self, places: Any) -> _Values:
        """Those at these places, or in this slice."""
        return _Values._make(array[places] for array in self)


class RecordSequence:
    """Scalars that follow each other, each at its place, as files have them up to their end."""

    def __init__(self, layouts: Sequence[Layout], version: FileVersion | None) -> None:
        """With a `version` the first layout is that of its event, and has no values."""
        self.layouts = layouts
        self.version = version
        lengths = np.array([layout.offsets.length for layout in layouts], np.int64)
        ends = np.cumsum(lengths + FRAME_BYTES)
        self.first_length = int(lengths[0])
        """Of the first record's payload."""
        self.num_bytes = int(ends[-1])
        self._ends = {end: count for count, end in enumerate(ends.tolist(), 1)}
        """Of the records, with how many there are until then."""
        self._starts, self._lengths = ends - lengths - FRAME_BYTES, lengths
        self._set_words(layouts)
        self._set_values(layouts, self._starts.tolist())

    def _set_words(self, layouts: Sequence[Layout]) -> None:
        parts: dict[Layout, tuple[bytes, bytes]] = {}
        """Constants and mask of a record; most layouts occur again and again."""
        for layout in layouts:
            if layout in parts:
                continue
            length = layout.offsets.length
            header = length.to_bytes(8, "little") + masked_length_crc(length).to_bytes(4, "little")
            parts[layout] = (
                header + layout.payload + bytes(4),
                b"\xff" * HEADER_BYTES + constant_mask(layout.offsets).tobytes() + bytes(4),
            )
        padding = bytes(-self.num_bytes % 8)
        texts = [b"".join([*text, padding]) for text in zip(*map(parts.get, layouts), strict=True)]
        self._constants, self._mask = (np.frombuffer(text, "<u8") for text in texts)

    def _set_values(self, layouts: Sequence[Layout], starts: Sequence[int]) -> None:
        numbers: dict[tuple[str, str, bool], int] = {}
        self._metadata: dict[int, tuple[int, bytes]] = {}
        """By column, with the number of the value."""
        rows: list[tuple[int, int, int, int, int]] = []
        for layout, start in zip(layouts, starts, strict=True):
            payload, width = start + HEADER_BYTES, layout.offsets.step_width
            pairs = zip(layout.slots, layout.offsets.values, strict=True)
            for index, (slot, (offset, _)) in enumerate(pairs):
                column = numbers.setdefault((slot.tag, slot.field, True), len(numbers))
                if slot.metadata is not None:
                    self._metadata.setdefault(column, (len(rows), slot.metadata))
                rows.append((column, start + index, payload, width, payload + offset))
        [self._form] = {form for layout in layouts for _, form in layout.offsets.values}
        self._keys = list(numbers)
        """Of each column, as of TableLayout, in the order of their first values."""
        column, position, payload, width, number = np.array(rows, np.int64).T.copy()
        self._step_width = max(int(width.max()), 1)
        self._values = _Values(
            column,
            position,
            payload + WALL_TIME_OFFSET,
            payload + STEP_OFFSET,
            FIRST_BYTES[width],
            number,
        )

    def template(self, num_bytes: int) -> FileTemplate | None:
        """What files have that end after so many bytes of it; None where no record ends."""
        num_records = self._ends.get(num_bytes, 0)
        if num_records < _MIN_RECORDS:
            return None
        num_words = -(-num_bytes // 8)
        mask = self._mask[:num_words].copy()
        if num_bytes % 8:
            mask[-1] &= FIRST_BYTES[num_bytes % 8]
        num_values = int(np.searchsorted(self._values.position, num_bytes))
        values = self._values.at(slice(num_values))
        metadata = {
            column: found for column, found in self._metadata.items() if found[0] < num_values
        }
        shape, order = TableLayout.of(values.column, self._keys, metadata)
        return FileTemplate(
            num_bytes,
            self.version,
            (self._constants[:num_words] & mask).tobytes(),
            mask,
            checksum_fields(self._starts[:num_records], self._lengths[:num_records]),
            shape,
            values.at(order),
            self._step_width,
            self._form,
        )


class FileTemplate:
    """Scalars that follow each other up to the end of a file, each at its place."""

    def __init__(
        self,
        num_bytes: int,
        version: FileVersion | None,
        constants: bytes,
        mask: NDArray[np.uint64],
        checksums: ChecksumFields,
        shape: TableLayout,
        values: _Values,
        step_width: int,
        form: str,
    ) -> None:
        """`values` are in the order of the rows of a table of that shape."""
        self.num_bytes = num_bytes
        self._version = version
        self._constants, self._mask, self._checksums = constants, mask, checksums
        self._shape = shape
        self._step_width = step_width
        step_type = np.dtype("<u4" if step_width <= 4 else "<u8")
        self._types = np.dtype("<f8"), np.dtype(form), step_type
        places = values.wall_time, values.number, values.step
        parts = [_bytes_at(p, t.itemsize) for p, t in zip(places, self._types, strict=True)]
        self._bytes = np.concatenate(parts)
        """Where they are, in the order in which they are wanted: to take bytes is several times
        faster than to take words, which stand at odd places."""
        self._ends = np.cumsum([len(part) for part in parts]).tolist()
        self._step_mask = values.step_mask.astype(step_type)
        self._position = values.position
        self.num_values = len(values.position)

    def is_at(self, buffer: bytearray, start: int) -> bool:
        """Whether the bytes from `start` on are such a template, with right checksums."""
        words = np.ndarray(self._mask.shape, "<u8", buffer, start)
        if (words & self._mask).tobytes() != self._constants:
            return False
        records = buffer[start : start + self.num_bytes]
        self._checksums.make_raw(records)
        return is_raw_zero(np.frombuffer(records, np.uint8))

    def items(self, buffer: bytearray, start: int, base: int) -> Iterator[DecodedItem]:
        """What it says; `base` is the place of the buffer's first byte in the file."""
        if self._version is not None:
            [wall_time] = _wall_time_at(buffer, start + HEADER_BYTES + WALL_TIME_OFFSET)
            yield self._version._replace(wall_time=wall_time)
        taken = np.ndarray((self.num_bytes,), np.uint8, buffer, start).take(self._bytes)
        begin, middle, _ = self._ends
        wall_time_type, value_type, step_type = self._types
        steps: NDArray[Any] = taken[middle:].view(step_type) & self._step_mask
        yield Table(
            self._shape,
            start + base,
            self._position,
            decode_steps(steps, self._step_width),
            taken[:begin].view(wall_time_type),
            as_value_column(taken[begin:middle].view(value_type)),
        )


def _bytes_at(places: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Of words of this size, the places of their bytes."""
    return (places[:, None] + np.arange(size)).ravel()


_Key = tuple[int, int]
"""Bytes from one of the first records of a file to its end, and the length of that record."""


class FileTemplateCache:
    """What is known of files that are alike."""

    def __init__(self, *, max_values: int) -> None:
        self._max_values = max_values
        """Of all templates that are kept: each value takes 130 to 190 bytes in them."""
        self._sequences: list[RecordSequence] = []
        """The one learnt last comes first."""
        self._templates: dict[_Key, FileTemplate | None] = {}
        """None for what turned out to be none."""
        self._seen: set[_Key] = set()
        self._num_learnt = self._num_found = 0

    def find(self, buffer: bytearray, begin: int, end: int) -> tuple[int, FileTemplate] | None:
        """A template of the file `buffer[begin:end]`, and where it begins."""
        if not self._templates and not self._sequences:
            return None
        for start, length in islice(_records(buffer, begin, end), _NUM_STARTS):
            template = self._template((end - start, length))
            if template is not None and template.is_at(buffer, start):
                self._num_found += 1
                return start, template
        return None

    def learn(self, buffer: bytearray, begin: int, end: int, layout_cache: LayoutCache) -> None:
        """Takes notice of a file in which nothing was wrong; most of its layouts are in the
        cache.

        Learns its template if another file had one as long, or one that it goes on from.
        """
        if self.find(buffer, begin, end) is not None:
            return  # Learnt from another one since.
        starts = list(islice(_records(buffer, begin, end), _NUM_STARTS))
        for start, length in starts:
            key = end - start, length
            if key in self._templates:
                continue
            shorter = self._begun_at(buffer, start, key)
            if shorter is None and key not in self._seen:
                continue
            if self._num_learnt > _FREE_SEQUENCES + self._num_found // _FILES_PER_SEQUENCE:
                break
            self._num_learnt += 1
            sequence = _learn(buffer, start, end, layout_cache, shorter)
            self._keep(key, sequence.template(sequence.num_bytes) if sequence else None)
            if sequence is not None:
                others = [known for known in self._sequences if known is not shorter]
                self._sequences = [sequence, *_small(others[: _MAX_SEQUENCES - 1])]
                break
        if len(self._seen) > _MAX_SEEN:
            self._seen.clear()
        self._seen.update((end - start, length) for start, length in starts)

    def release_buffers(self) -> None:
        """Lets go of what is large and soon made again."""
        self._templates = {
            key: template for key, template in self._templates.items() if not template
        }

    def _template(self, key: _Key) -> FileTemplate | None:
        """The template of this length: known, or what a longer one begins with."""
        if key in self._templates:
            return self._templates[key]
        num_bytes, first_length = key
        for sequence in self._sequences:
            if sequence.first_length == first_length:
                template = sequence.template(num_bytes)
                if template is not None:
                    self._keep(key, template)
                    return template
        return None

    def _begun_at(self, buffer: bytearray, start: int, key: _Key) -> RecordSequence | None:
        """A sequence that is all there, with more behind it."""
        num_bytes, first_length = key
        for sequence in self._sequences:
            if sequence.first_length == first_length and sequence.num_bytes < num_bytes:
                whole = self._template((sequence.num_bytes, first_length))
                if whole is not None and whole.is_at(buffer, start):
                    return sequence
        return None

    def _keep(self, key: _Key, template: FileTemplate | None) -> None:
        num_values = sum(known.num_values for known in self._templates.values() if known)
        if len(self._templates) >= _MAX_TEMPLATES or num_values > self._max_values:
            self._templates.clear()
        self._templates[key] = template


def _small(sequences: Sequence[RecordSequence]) -> list[RecordSequence]:
    """The first ones, as far as they are small enough together."""
    sizes = accumulate(sequence.num_bytes for sequence in sequences)
    return [t for t, size in zip(sequences, sizes, strict=True) if size <= _MAX_SEQUENCE_BYTES]


def _records(buffer: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Start and payload length of each record, unverified."""
    for begin, behind in pairwise(record_bounds(buffer, start, end)):
        yield begin, behind - begin - FRAME_BYTES


def _learn(
    buffer: bytearray,
    begin: int,
    end: int,
    layout_cache: LayoutCache,
    shorter: RecordSequence | None,
) -> RecordSequence | None:
    """What the records from `begin` on are; those of `shorter` are known to come first."""
    version: FileVersion | None = None
    layouts: list[Layout] = []
    if shorter is not None:
        version, layouts = shorter.version, list(shorter.layouts)
        begin += shorter.num_bytes
    for start, length in _records(buffer, begin, end):
        payload = bytes(buffer[start + HEADER_BYTES : start + HEADER_BYTES + length])
        number = layout_cache.match_one(payload)
        layout = learn(payload) if number is None else layout_cache.layouts[number]
        if layout is None and not layouts:
            version, layout = _learn_version(payload)
        if layout is None:
            return None
        layouts.append(layout)
    if len(layouts) < _MIN_RECORDS:
        return None
    # Writers do not mix types, or fields in a tag; one that does is read in another way.
    num_forms = len({form for layout in layouts for _, form in layout.offsets.values})
    keys = {(slot.tag, slot.field) for layout in layouts for slot in layout.slots}
    num_tags = len({tag for tag, _ in keys})
    return RecordSequence(layouts, version) if num_forms == 1 and num_tags == len(keys) else None


def _learn_version(payload: bytes) -> tuple[FileVersion, Layout] | tuple[None, None]:
    """The version of a file, and a layout without values."""
    event = Event.FromString(payload)
    version = FileVersion.of(event.file_version, 0, 0.0)
    plain = Event(wall_time=event.wall_time, file_version=event.file_version)
    if not event.file_version or payload != plain.SerializeToString():
        return None, None
    shape = FieldOffsets(len(payload), 0, ())
    constant = np.frombuffer(payload, np.uint8) & constant_mask(shape)
    return version, Layout(shape, constant.tobytes(), ())
