"""File templates: decode the rest of a file with one comparison, because many files are alike.

The runs of a sweep log the same tags at the same steps. Their files differ in a few records at the
start. The *rest* of each file, which follows these records, is the same apart from wall times,
steps, values and checksums. A *file template* describes such a rest: all constant bytes are
compared at once, and all numbers are gathered by one indexing operation.

Many runs of a sweep are stopped early, and their files have only the first records of a longer
file. So all records in the rest of a long file are learnt as a *record sequence*, and a template is
made for each length of a rest: it consists of the first records of a sequence, up to this length.
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
    for_lengths,
    init_contribution,
    is_raw_zero,
    make_payload_crcs_raw,
    masked_length_crc,
    raw_length_crc,
    words_at_any_offset,
)
from tbcore.eventfiles.framing import FRAMING_BYTES, HEADER_BYTES, record_bounds
from tbcore.eventfiles.layouts import (
    FIRST_BYTES_MASKS,
    STEP_OFFSET,
    WALL_TIME_OFFSET,
    FieldOffsets,
    Layout,
    LayoutCache,
    as_value_column,
    constant_mask,
    decode_steps,
    learn,
)
from tbcore.eventfiles.proto.event_pb2 import Event

_NUM_START_RECORDS = 8
"""Maximum number of records at the start of a file that are tried as the first record of the rest.
The records before the rest may differ from run to run: they hold hyperparameters, for example."""
_MIN_TEMPLATE_RECORDS = 16
"""Minimum number of records in a template."""
_MAX_SEQUENCES = 16
"""Maximum number of cached record sequences."""
_MAX_OLDER_SEQUENCE_BYTES = 1 << 20
"""Maximum total length of all cached sequences but the newest, in bytes of their files. A sequence
takes several times as much memory."""
_MAX_TEMPLATES = 1024
"""Maximum number of cached file templates."""
_MAX_SEEN_KEYS = 1 << 14
"""Maximum number of keys (see `_Key`) that are kept of files without a template. A sequence is
learnt when a key occurs again."""
_INITIAL_LEARNING_BUDGET = 8
"""Learning budget, in attempts to learn a sequence, before any file has matched a template. Such an
attempt takes as long as decoding a few files, and is in vain if no files are alike."""
_MATCHES_PER_ATTEMPT = 8
"""Number of files that must match a template before the learning budget grows by one attempt."""

_wall_time_at = struct.Struct("<d").unpack_from


class _ValueOffsets(NamedTuple):
    """The locations of the values in a record sequence; all arrays have shape (num_values,).

    Offsets are in bytes from the start of the sequence.
    """

    column: NDArray[np.int64]
    """Index of the value's column. There is one column for each pair of tag and field."""
    position: NDArray[np.int64]
    """Offset of the record, plus index of the value in its event."""
    wall_time: NDArray[np.int64]
    """Offset of the wall time."""
    step: NDArray[np.int64]
    """Offset of the step."""
    step_mask: NDArray[np.uint64]
    """A mask that keeps the bytes of the step's varint in the word that begins at the step."""
    number: NDArray[np.int64]
    """Offset of the number."""

    def picked(self, indices: NDArray[np.int64] | slice) -> _ValueOffsets:
        """The offsets of the values with these indices."""
        return _ValueOffsets._make(array[indices] for array in self)


class RecordSequence:
    """All records in the rest of one file. They hold scalars, each at a fixed offset."""

    def __init__(self, layouts: Sequence[Layout], version: FileVersion | None) -> None:
        """`layouts` has the layout of each record. If there is a `version`, the first record is the
        event with the file version, and its layout has no values."""
        self.layouts = layouts
        self.version = version
        lengths = np.array([layout.offsets.length for layout in layouts], np.int64)
        ends = np.cumsum(lengths + FRAMING_BYTES)
        self.first_length = int(lengths[0])
        """Payload length of the first record, in bytes."""
        self.num_bytes = int(ends[-1])
        self._num_records_before = {end: count for count, end in enumerate(ends.tolist(), 1)}
        """Maps the offset after each record to the number of records before that offset."""
        self._payload_crcs = ends - 4
        """Offset of each record's payload checksum."""
        self._payload_init = for_lengths(init_contribution, lengths)
        self._set_words(layouts)
        self._set_values(layouts, (ends - lengths - FRAMING_BYTES).tolist())

    def _set_words(self, layouts: Sequence[Layout]) -> None:
        """Sets three arrays of words by which all records are matched; they are padded with zeros.

        They have the constant bytes, the mask of the constant bits, and what the length checksums
        are XORed with to make them raw.
        """
        parts: dict[Layout, tuple[bytes, bytes, bytes]] = {}
        """Maps a layout to the part of one record in each array. Most layouts occur many times."""
        for layout in layouts:
            if layout in parts:
                continue
            length = layout.offsets.length
            crc = masked_length_crc(length)
            to_raw = crc ^ raw_length_crc(length)
            parts[layout] = (
                length.to_bytes(8, "little")
                + crc.to_bytes(4, "little")
                + layout.payload
                + bytes(4),
                b"\xff" * HEADER_BYTES + constant_mask(layout.offsets).tobytes() + bytes(4),
                bytes(8) + to_raw.to_bytes(4, "little") + bytes(length + 4),
            )
        padding = bytes(-self.num_bytes % 8)
        joined = [b"".join([*part, padding]) for part in zip(*map(parts.get, layouts), strict=True)]
        self._constants, self._mask, self._length_to_raw = (
            np.frombuffer(data, "<u8") for data in joined
        )

    def _set_values(self, layouts: Sequence[Layout], starts: Sequence[int]) -> None:
        """Sets the offsets of all values in the order written, and the columns they belong to."""
        columns: dict[tuple[str, str, bool], int] = {}
        """Maps tag, field and scalar-or-not to the index of the column."""
        self._metadata: dict[int, tuple[int, bytes]] = {}
        """Maps a column to the index of its first value with metadata, and to this metadata."""
        locations: list[tuple[int, int, int, int, int]] = []
        """Column, position, payload's offset, step's width and number's offset of each value."""
        for layout, start in zip(layouts, starts, strict=True):
            payload, width = start + HEADER_BYTES, layout.offsets.step_width
            pairs = zip(layout.slots, layout.offsets.values, strict=True)
            for index, (slot, (offset, _)) in enumerate(pairs):
                column = columns.setdefault((slot.tag, slot.field, True), len(columns))
                if slot.metadata is not None:
                    self._metadata.setdefault(column, (len(locations), slot.metadata))
                locations.append((column, start + index, payload, width, payload + offset))
        [self._dtype] = {dtype for layout in layouts for _, dtype in layout.offsets.values}
        self._keys = list(columns)
        """Tag, field and scalar-or-not of each column, for `TableLayout.of`."""
        column, position, payload, width, number = np.array(locations, np.int64).T.copy()
        self._step_width = max(int(width.max()), 1)
        self._values = _ValueOffsets(
            column,
            position,
            payload + WALL_TIME_OFFSET,
            payload + STEP_OFFSET,
            FIRST_BYTES_MASKS[width],
            number,
        )

    def template(self, num_bytes: int) -> FileTemplate | None:
        """The template for a rest that consists of the first `num_bytes` of this sequence.

        Returns None if these are not whole records, or if they are too few.
        """
        num_records = self._num_records_before.get(num_bytes, 0)
        if num_records < _MIN_TEMPLATE_RECORDS:
            return None
        num_words = -(-num_bytes // 8)
        mask = self._mask[:num_words].copy()
        if num_bytes % 8:
            mask[-1] &= FIRST_BYTES_MASKS[num_bytes % 8]
        num_values = int(np.searchsorted(self._values.position, num_bytes))
        values = self._values.picked(slice(num_values))
        metadata = {
            column: first for column, first in self._metadata.items() if first[0] < num_values
        }
        table_layout, order = TableLayout.of(values.column, self._keys, metadata)
        return FileTemplate(
            num_bytes,
            self.version,
            constants=(self._constants[:num_words] & mask).tobytes(),
            mask=mask,
            length_to_raw=self._length_to_raw[:num_words],
            payload_crcs=self._payload_crcs[:num_records],
            payload_init=self._payload_init[:num_records],
            table_layout=table_layout,
            values=values.picked(order),
            step_width=self._step_width,
            dtype=self._dtype,
        )


class FileTemplate:
    """Describes the rest of a file: records that hold scalars, each at a fixed offset."""

    def __init__(
        self,
        num_bytes: int,
        version: FileVersion | None,
        constants: bytes,
        mask: NDArray[np.uint64],
        length_to_raw: NDArray[np.uint64],
        payload_crcs: NDArray[np.int64],
        payload_init: NDArray[np.uint32],
        table_layout: TableLayout,
        values: _ValueOffsets,
        step_width: int,
        dtype: str,
    ) -> None:
        """`values` are in the order of the rows of a table with this `table_layout`.

        `step_width` is the width of the widest step in bytes; `dtype` is the type of all numbers.
        """
        self.num_bytes = num_bytes
        self._version = version
        self._constants, self._mask = constants, mask
        self._length_to_raw = length_to_raw
        self._payload_crcs, self._payload_init = payload_crcs, payload_init
        self._table_layout = table_layout
        self._step_width = step_width
        step_dtype = np.dtype("<u4" if step_width <= 4 else "<u8")
        self._dtypes = np.dtype("<f8"), np.dtype(dtype), step_dtype
        """Types of wall times, numbers and steps in the file."""
        offsets = values.wall_time, values.number, values.step
        parts = [_byte_offsets(o, t.itemsize) for o, t in zip(offsets, self._dtypes, strict=True)]
        self._byte_offsets = np.concatenate(parts)
        """Offset of each byte of all wall times, then of all numbers, then of all steps. Gathering
        bytes is several times faster than gathering words, because the words are not aligned."""
        self._part_ends = np.cumsum([len(part) for part in parts]).tolist()
        """Where each of these three parts ends in `_byte_offsets`."""
        self._step_mask = values.step_mask.astype(step_dtype)
        self._position = values.position
        self.num_values = len(values.position)

    def matches(self, buffer: bytearray, start: int) -> bool:
        """Whether the records that begin at `start` match the template, with correct checksums."""
        words = np.ndarray(self._mask.shape, "<u8", buffer, start)
        if (words & self._mask).tobytes() != self._constants:
            return False
        # A copy of the records, in which first the length checksums are made raw, then the others.
        records = (words ^ self._length_to_raw).view(np.uint8)
        crcs = words_at_any_offset(records)
        make_payload_crcs_raw(crcs, self._payload_crcs, self._payload_init)
        return is_raw_zero(records[: self.num_bytes])

    def items(self, buffer: bytearray, start: int, base: int) -> Iterator[DecodedItem]:
        """Decodes the records that begin at `start`, which must match the template.

        The buffer begins at offset `base` of the file; `base` is negative if the file begins within
        the buffer.
        """
        if self._version is not None:
            [wall_time] = _wall_time_at(buffer, start + HEADER_BYTES + WALL_TIME_OFFSET)
            yield self._version._replace(wall_time=wall_time)
        gathered = np.ndarray((self.num_bytes,), np.uint8, buffer, start).take(self._byte_offsets)
        wall_times_end, numbers_end, _ = self._part_ends
        wall_time_dtype, number_dtype, step_dtype = self._dtypes
        steps: NDArray[Any] = gathered[numbers_end:].view(step_dtype) & self._step_mask
        yield Table(
            self._table_layout,
            start + base,
            self._position,
            decode_steps(steps, self._step_width),
            gathered[:wall_times_end].view(wall_time_dtype),
            as_value_column(gathered[wall_times_end:numbers_end].view(number_dtype)),
        )


def _byte_offsets(offsets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The offset of each byte of the numbers of `size` bytes at these offsets."""
    return (offsets[:, None] + np.arange(size)).ravel()


_Key = tuple[int, int]
"""Describes a possible rest of a file: its length in bytes, and the payload length of its first
record."""


class FileTemplateCache:
    """The templates and sequences learnt so far. They are kept across files."""

    def __init__(self, *, max_values: int) -> None:
        self._max_values = max_values
        """Maximum number of values in all cached templates: each takes 130 to 190 bytes there."""
        self._sequences: list[RecordSequence] = []
        """The cached sequences, the newest first."""
        self._templates: dict[_Key, FileTemplate | None] = {}
        """Maps a key to its template, or to None if no template could be learnt for this key."""
        self._seen: set[_Key] = set()
        """Keys of files that matched no template: for each file, the keys of all possible rests."""
        self._num_attempts = 0
        """Number of attempts to learn a sequence."""
        self._num_matches = 0
        """Number of files that matched a template."""

    def find(self, buffer: bytearray, begin: int, end: int) -> tuple[int, FileTemplate] | None:
        """Finds a template that matches the rest of the file `buffer[begin:end]`.

        Returns where the rest begins, and the template; None if no template matches.
        """
        if not self._templates and not self._sequences:
            return None
        for start, length in islice(_records(buffer, begin, end), _NUM_START_RECORDS):
            template = self._template((end - start, length))
            if template is not None and template.matches(buffer, start):
                self._num_matches += 1
                return start, template
        return None

    def learn(self, buffer: bytearray, begin: int, end: int, layout_cache: LayoutCache) -> None:
        """Learns a sequence from the undamaged file `buffer[begin:end]`, if other files seem alike.

        They seem alike if an earlier file had the same key, or if a known sequence matches and is
        followed by more records. `layout_cache` has most layouts of the file.
        """
        # For each record at which the rest may begin, until a sequence is learnt:
        # 1. Check whether a known sequence matches here, or an earlier file had the same key.
        # 2. If so, and if the learning budget allows it, learn all records from here to the end.
        # 3. Cache the new sequence and its longest template. Drop the known sequence that matched:
        #    the new sequence begins with the same records.
        if self.find(buffer, begin, end) is not None:
            return  # The template was learnt from another file of the same batch.
        starts = list(islice(_records(buffer, begin, end), _NUM_START_RECORDS))
        for start, length in starts:
            key = end - start, length
            if key in self._templates:
                continue
            shorter = self._sequence_at(buffer, start, key)  # 1
            if shorter is None and key not in self._seen:
                continue
            budget = _INITIAL_LEARNING_BUDGET + self._num_matches // _MATCHES_PER_ATTEMPT
            if self._num_attempts >= budget:  # 2
                break
            self._num_attempts += 1
            sequence = _learn_sequence(buffer, start, end, layout_cache, shorter)
            self._add(key, sequence.template(sequence.num_bytes) if sequence else None)  # 3
            if sequence is not None:
                older = [known for known in self._sequences if known is not shorter]
                self._sequences = [sequence, *_within_size(older[: _MAX_SEQUENCES - 1])]
                break
        if len(self._seen) > _MAX_SEEN_KEYS:
            self._seen.clear()
        self._seen.update((end - start, length) for start, length in starts)

    def release_buffers(self) -> None:
        """Frees the templates. They are made from the sequences again when needed."""
        self._templates = {
            key: template for key, template in self._templates.items() if not template
        }

    def _template(self, key: _Key) -> FileTemplate | None:
        """The template for this key, from the cache or from a sequence; None if there is none."""
        if key in self._templates:
            return self._templates[key]
        num_bytes, first_length = key
        for sequence in self._sequences:
            if sequence.first_length == first_length:
                template = sequence.template(num_bytes)
                if template is not None:
                    self._add(key, template)
                    return template
        return None

    def _sequence_at(self, buffer: bytearray, start: int, key: _Key) -> RecordSequence | None:
        """A known sequence that matches as a whole at `start` and is followed by more records."""
        num_bytes, first_length = key
        for sequence in self._sequences:
            if sequence.first_length == first_length and sequence.num_bytes < num_bytes:
                whole = self._template((sequence.num_bytes, first_length))
                if whole is not None and whole.matches(buffer, start):
                    return sequence
        return None

    def _add(self, key: _Key, template: FileTemplate | None) -> None:
        """Adds a template to the cache; clears the cache first if the template does not fit."""
        num_values = template.num_values if template else 0
        if num_values > self._max_values:
            return
        num_values += sum(known.num_values for known in self._templates.values() if known)
        if len(self._templates) >= _MAX_TEMPLATES or num_values > self._max_values:
            self._templates.clear()
        self._templates[key] = template


def _within_size(sequences: Sequence[RecordSequence]) -> list[RecordSequence]:
    """As many of the first sequences as have _MAX_OLDER_SEQUENCE_BYTES or less in total."""
    sizes = accumulate(sequence.num_bytes for sequence in sequences)
    return [
        sequence
        for sequence, size in zip(sequences, sizes, strict=True)
        if size <= _MAX_OLDER_SEQUENCE_BYTES
    ]


def _records(buffer: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields start and payload length of each record in `buffer[start:end]`, without checks."""
    for begin, after in pairwise(record_bounds(buffer, start, end)):
        yield begin, after - begin - FRAMING_BYTES


def _learn_sequence(
    buffer: bytearray,
    begin: int,
    end: int,
    layout_cache: LayoutCache,
    shorter: RecordSequence | None,
) -> RecordSequence | None:
    """The records in `buffer[begin:end]` as a sequence.

    If `shorter` is given, its records are known to be the first ones. Returns None if a record has
    no layout, if there are too few records, if the numbers have more than one dtype, or if a tag
    occurs with more than one field.
    """
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
    if len(layouts) < _MIN_TEMPLATE_RECORDS:
        return None
    num_dtypes = len({dtype for layout in layouts for _, dtype in layout.offsets.values})
    keys = {(slot.tag, slot.field) for layout in layouts for slot in layout.slots}
    num_tags = len({tag for tag, _ in keys})
    return RecordSequence(layouts, version) if num_dtypes == 1 and num_tags == len(keys) else None


def _learn_version(payload: bytes) -> tuple[FileVersion, Layout] | tuple[None, None]:
    """The decoded item and the layout of an event with a file version. The layout has no values.

    Returns (None, None) for an event without a file version, and for an event that has fields
    besides wall time and file version.
    """
    event = Event.FromString(payload)
    version = FileVersion.of(event.file_version, 0, 0.0)
    plain = Event(wall_time=event.wall_time, file_version=event.file_version)
    if not event.file_version or payload != plain.SerializeToString():
        return None, None
    offsets = FieldOffsets(len(payload), 0, ())
    constant = np.frombuffer(payload, np.uint8) & constant_mask(offsets)
    return version, Layout(offsets, constant.tobytes(), ())
