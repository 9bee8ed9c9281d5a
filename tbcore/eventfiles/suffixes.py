"""Suffixes: what is the same in many short files, as far as their end.

The runs of a sweep log the same tags at the same steps. Their files are short, too short for their
records to be gathered by the million, but they are alike from some record near their beginning on:
all bytes are the same there but those of wall times, steps, values and checksums. Such a suffix is
compared as a whole, and its numbers are taken out of it with one indexing for each kind.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import (
    FileVersion,
    FirstMetadata,
    Item,
    Table,
    TableColumn,
    TableGroup,
    TableShape,
)
from tbcore.eventfiles.crc32c import (
    is_raw_zero,
    masked_length_crc,
    raw_length_crc,
    seed_effect,
    unmask,
)
from tbcore.eventfiles.layouts import (
    STEP_OFFSET,
    WALL_TIME_OFFSET,
    Layout,
    LayoutBook,
    Shape,
    decode_steps,
    learn,
    variable_mask,
)
from tbcore.eventfiles.periods import as_value_column
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.records import FRAME_BYTES, HEADER_BYTES

MAX_FILE_BYTES = 1 << 17
"""Longer files have enough rows for the other ways."""
_NUM_STARTS = 8
"""Records with which a suffix may begin: what differs between runs stands before."""
_MIN_RECORDS = 16
_MAX_SUFFIXES = 32
_MAX_SEEN = 1 << 14

_wall_time_at = struct.Struct("<d").unpack_from


class _Place(NamedTuple):
    """Where a value is: offsets from the beginning of the suffix."""

    position: int
    payload: int
    step_width: int
    number: int
    form: str


class Suffix:
    """Scalars that follow each other up to the end of a file, each at its place."""

    def __init__(self, layouts: Sequence[Layout], version: FileVersion | None) -> None:
        """With a `version` the first layout is that of its event, and has no values."""
        self._version = version
        lengths = np.array([layout.shape.length for layout in layouts], np.int64)
        ends = np.cumsum(lengths + FRAME_BYTES)
        starts = ends - lengths - FRAME_BYTES
        self.num_bytes = int(ends[-1])
        self._set_template(layouts)
        self._crc_places = ends - 4
        self._seeds = np.array([seed_effect(n) for n in lengths.tolist()], np.uint32)
        self._set_places(layouts, starts.tolist())

    def _set_template(self, layouts: Sequence[Layout]) -> None:
        parts: dict[Layout, tuple[bytes, bytes, bytes]] = {}
        """Of the three texts below; most layouts occur again and again."""
        for layout in layouts:
            if layout in parts:
                continue
            length = layout.shape.length
            crc = masked_length_crc(length)
            to_raw = crc ^ raw_length_crc(length)
            parts[layout] = (
                length.to_bytes(8, "little")
                + crc.to_bytes(4, "little")
                + layout.payload
                + bytes(4),
                b"\xff" * HEADER_BYTES + variable_mask(layout.shape).tobytes() + bytes(4),
                bytes(8) + to_raw.to_bytes(4, "little") + bytes(length + 4),
            )
        padding = bytes(-self.num_bytes % 8)
        texts = [b"".join([*text, padding]) for text in zip(*map(parts.get, layouts), strict=True)]
        self._template, self._mask, self._headers = (np.frombuffer(text, "<u8") for text in texts)
        """The last is what makes raw checksums of those of the lengths."""

    def _set_places(self, layouts: Sequence[Layout], starts: Sequence[int]) -> None:
        values: dict[tuple[str, str], list[_Place]] = {}
        metadata: dict[tuple[str, str], FirstMetadata] = {}
        for layout, start in zip(layouts, starts, strict=True):
            pairs = zip(layout.slots, layout.shape.values, strict=True)
            for index, (slot, (offset, form)) in enumerate(pairs):
                key = slot.tag, slot.field
                payload = start + HEADER_BYTES
                place = _Place(
                    start + index, payload, layout.shape.step_width, payload + offset, form
                )
                values.setdefault(key, []).append(place)
                if slot.metadata is not None:
                    metadata.setdefault(key, FirstMetadata(start + index, slot.metadata))
        by_length: dict[int, list[int]] = {}
        for number, places in enumerate(values.values()):
            by_length.setdefault(len(places), []).append(number)
        keys = list(values)
        columns: dict[int, TableColumn] = {}
        groups = []
        flat: list[_Place] = []
        for length, numbers in by_length.items():
            groups.append(TableGroup(numbers, slice(len(flat), len(flat) + length * len(numbers))))
            for number in numbers:
                key = keys[number]
                rows = slice(len(flat), len(flat) + length)
                columns[number] = TableColumn(*key, metadata.get(key), rows)
                flat += values[key]
        positions, payloads, widths, numbers_at, forms = zip(*flat, strict=True)
        self._positions = np.array(positions, np.int64)
        in_order = [columns[number] for number in range(len(keys))]
        self._shape = TableShape(in_order, groups, int(self._positions.argmax()))
        self._wall_times = np.array(payloads, np.int64) + WALL_TIME_OFFSET
        self._steps = np.array(payloads, np.int64) + STEP_OFFSET
        self._step_width = max(widths)
        self._step_masks = np.array([(1 << 8 * width) - 1 for width in widths], np.uint64)
        self._values = np.array(numbers_at, np.int64)
        [self._form] = set(forms)

    def is_at(self, buffer: bytearray, start: int) -> bool:
        """Whether the bytes from `start` on are such a suffix, with right checksums."""
        words = np.ndarray(self._template.shape, "<u8", buffer, start)
        if ((words ^ self._template) & self._mask).any():
            return False
        raw = words ^ self._headers
        data = raw.view(np.uint8)
        fields = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))
        fields[self._crc_places] = unmask(fields[self._crc_places]) ^ self._seeds
        return is_raw_zero(data[: self.num_bytes])

    def items(self, buffer: bytearray, start: int, base: int) -> Iterator[Item]:
        """What it says; `base` is the place of the buffer's first byte in the file."""
        if self._version is not None:
            [wall_time] = _wall_time_at(buffer, start + HEADER_BYTES + WALL_TIME_OFFSET)
            yield self._version._replace(wall_time=wall_time)
        words = _gathered(buffer, "<u8", self._steps + start) & self._step_masks
        yield Table(
            self._shape,
            start + base,
            self._positions,
            decode_steps(words, max(self._step_width, 1)),
            _gathered(buffer, "<f8", self._wall_times + start),
            as_value_column(_gathered(buffer, self._form, self._values + start)),
        )


def _gathered(buffer: bytearray, form: str, places: NDArray[np.int64]) -> NDArray[Any]:
    size = np.dtype(form).itemsize
    found: NDArray[Any] = np.ndarray((len(buffer) - size + 1,), form, buffer, strides=(1,))[places]
    return found


class SuffixBook:
    """The suffixes seen so far, by their lengths."""

    def __init__(self) -> None:
        self._suffixes: dict[int, Suffix | None] = {}
        """None for what turned out to be none."""
        self._seen: set[int] = set()
        """Bytes from one of the first records of a file to its end."""

    def find(self, buffer: bytearray, size: int) -> tuple[int, Suffix] | None:
        """A suffix of the file `buffer[:size]`, and where it begins."""
        for start, _ in islice(_walk(buffer, 0, size), _NUM_STARTS):
            suffix = self._suffixes.get(size - start)
            if suffix is not None and suffix.is_at(buffer, start):
                return start, suffix
        return None

    def learn(self, buffer: bytearray, size: int, book: LayoutBook) -> None:
        """Takes notice of a file in which nothing was wrong, and whose layouts are in the book.

        Learns its suffix if the end of another file was as long.
        """
        starts = [start for start, _ in islice(_walk(buffer, 0, size), _NUM_STARTS)]
        for start in starts:
            if size - start in self._seen and size - start not in self._suffixes:
                if len(self._suffixes) >= _MAX_SUFFIXES:
                    self._suffixes.clear()
                suffix = self._suffixes[size - start] = _learn(buffer, start, size, book)
                if suffix is not None:
                    break
        if len(self._seen) > _MAX_SEEN:
            self._seen.clear()
        self._seen.update(size - start for start in starts)


def _walk(buffer: bytearray, start: int, size: int) -> Iterator[tuple[int, int]]:
    """Begin and payload length of each record, by lengths of which nothing is known."""
    while start + FRAME_BYTES <= size:
        length = int.from_bytes(buffer[start : start + 8], "little")
        yield start, length
        start += length + FRAME_BYTES


def _learn(buffer: bytearray, begin: int, size: int, book: LayoutBook) -> Suffix | None:
    records = list(_walk(buffer, begin, size))
    if len(records) < _MIN_RECORDS:
        return None
    version: FileVersion | None = None
    layouts: list[Layout] = []
    for start, length in records:
        payload = bytes(buffer[start + HEADER_BYTES : start + HEADER_BYTES + length])
        number = book.match_one(payload)
        layout = learn(payload) if number is None else book.layouts[number]
        if layout is None and not layouts:
            version, layout = _learn_version(payload)
        if layout is None:
            return None
        layouts.append(layout)
    # Writers do not mix types, or fields in a tag; one that does is read in another way.
    num_forms = len({form for layout in layouts for _, form in layout.shape.values})
    keys = {(slot.tag, slot.field) for layout in layouts for slot in layout.slots}
    num_tags = len({tag for tag, _ in keys})
    return Suffix(layouts, version) if num_forms == 1 and num_tags == len(keys) else None


def _learn_version(payload: bytes) -> tuple[FileVersion, Layout] | tuple[None, None]:
    """The version of a file, and a layout without values."""
    event = Event.FromString(payload)
    version = FileVersion.of(event.file_version, 0, 0.0)
    plain = Event(wall_time=event.wall_time, file_version=event.file_version)
    if not event.file_version or payload != plain.SerializeToString():
        return None, None
    shape = Shape(len(payload), 0, ())
    constant = np.frombuffer(payload, np.uint8) & variable_mask(shape)
    return version, Layout(shape, constant.tobytes(), ())
