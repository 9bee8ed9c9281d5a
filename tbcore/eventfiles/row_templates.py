"""Periods: the order in which a trainer logs its tags, step after step.

When the same layouts follow each other again and again, a stretch of the file is a matrix: one row
for each step, one record for each tag. Then nothing has to be walked: the rows are compared with a
template all at once, and each column of numbers is a strided view of the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import Batch, FirstMetadata, Positions, ScalarColumn
from tbcore.eventfiles.crc32c import (
    is_raw_zero,
    masked_length_crc,
    raw_length_crc,
    seed_effect,
    unmask,
)
from tbcore.eventfiles.framing import FRAME_BYTES, HEADER_BYTES, Frames, find_damaged
from tbcore.eventfiles.layouts import (
    STEP_OFFSET,
    WALL_TIME_OFFSET,
    Layout,
    as_value_column,
    decode_steps,
    variable_mask,
)

MAX_RECORDS = 1 << 12
"""Of one period."""
MIN_ROWS = 2
"""Fewer rows are not worth the set-up of a block."""

INTACT_BYTES = 64
"""By the last bytes that were read a file is recognized, so those must be as they were."""

_SLICE_BYTES = 1 << 18
"""Rows are compared and checked in slices of about this size, to stay in the second-level cache."""
_TILE_BYTES = 1 << 10
"""Short rows are compared several at a time, as numpy has a cost for each row."""
_MANY_ROWS = 64
"""From here on a strided pass for each record of the period beats gathering all records."""


def find_period(numbers: NDArray[np.int64]) -> int:
    """Length of the shortest cycle that the last records have gone through twice, 0 if none.

    `numbers` are the records' layouts, -1 for a record without one.
    """
    longest = min(len(numbers) // 2, MAX_RECORDS)
    if not longest or numbers[-1] < 0:
        return 0
    recent = numbers[-longest - 1 : -1][::-1]
    for length in (np.flatnonzero(recent == numbers[-1]) + 1).tolist():
        cycle = numbers[-length:]
        if (cycle >= 0).all() and np.array_equal(cycle, numbers[-2 * length : -length]):
            return int(length)
    return 0


class _Place(NamedTuple):
    """Where one value of a row stands, in bytes from the row's start."""

    record: int
    value_index: int
    """Of the value in its event."""
    value: int
    form: str
    step_width: int


class _Column(NamedTuple):
    tag: str
    field: str
    metadata: tuple[_Place, bytes] | None
    places: list[_Place]
    """One for each time that the tag is logged in a row, rising."""


class Period:
    """A cycle of layouts."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        pieces: list[NDArray[np.uint8]] = []
        masks: list[NDArray[np.uint8]] = []
        columns: dict[tuple[str, str], _Column] = {}
        self._records: list[tuple[int, int]] = []
        """Start in the row and payload length of each record."""
        start = 0
        for layout in layouts:
            length = layout.shape.length
            header = length.to_bytes(8, "little") + masked_length_crc(length).to_bytes(4, "little")
            pieces.append(np.frombuffer(header + layout.payload + bytes(4), np.uint8))
            mask = np.full(length + FRAME_BYTES, 0xFF, np.uint8)
            mask[HEADER_BYTES:-4] = variable_mask(layout.shape)
            mask[-4:] = 0
            masks.append(mask)
            self._records.append((start, length))
            for index, (slot, (offset, form)) in enumerate(
                zip(layout.slots, layout.shape.values, strict=True)
            ):
                value = start + HEADER_BYTES + offset
                place = _Place(start, index, value, form, layout.shape.step_width)
                column = columns.setdefault(
                    (slot.tag, slot.field), _Column(slot.tag, slot.field, None, [])
                )
                if slot.metadata is not None and column.metadata is None:
                    column = column._replace(metadata=(place, slot.metadata))
                    columns[slot.tag, slot.field] = column
                column.places.append(place)
            start += length + FRAME_BYTES
        self.row_bytes = start
        self.num_records = len(self._records)
        self._columns = list(columns.values())
        self._tile_rows = max(1, _TILE_BYTES // start)
        self._template = np.tile(np.concatenate(pieces), self._tile_rows)
        self._mask = np.tile(np.concatenate(masks), self._tile_rows)

    def count_rows(self, buffer: bytearray, start: int, size: int, *, least: int = MIN_ROWS) -> int:
        """How many whole rows of `buffer[start:size]` equal the template in all constant bits, and
        have right payload checksums. 0 if they are fewer than `least`, and others come behind.

        The checksum fields of these rows may be overwritten, but for those in the last INTACT_BYTES
        of them. With 0 nothing is changed, and checksums need not be looked at.
        """
        data = np.frombuffer(buffer, np.uint8)
        most = (size - start) // self.row_bytes
        num_rows = self._count_equal(data, start, most)
        if num_rows < (MIN_ROWS if num_rows == most else max(least, MIN_ROWS)):
            return 0
        if num_rows < _MANY_ROWS:
            return self._count_intact_few(buffer, start, num_rows)
        return self._count_intact_many(buffer, data, start, num_rows)

    def _count_equal(self, data: NDArray[np.uint8], start: int, num_rows: int) -> int:
        slice_rows = max(1, _SLICE_BYTES // len(self._template)) * self._tile_rows
        difference = np.empty(slice_rows * self.row_bytes, np.uint8)
        done = 0
        while done < num_rows:
            # The first row alone tells most of the time that this is no such block.
            rows = min(slice_rows if done else 1, num_rows - done)
            if rows > self._tile_rows:
                rows -= rows % self._tile_rows
            at = start + done * self.row_bytes
            found = self._compare(data[at : at + rows * self.row_bytes], difference)
            if found is not None:
                return done + found // self.row_bytes
            done += rows
        return done

    def _compare(self, rows: NDArray[np.uint8], difference: NDArray[np.uint8]) -> int | None:
        """Place of the first byte with a constant bit that is not the template's."""
        difference = difference[: len(rows)]
        width = min(len(rows), len(self._template))
        tiled = difference.reshape(-1, width)
        np.bitwise_xor(rows.reshape(-1, width), self._template[:width], out=tiled)
        np.bitwise_and(tiled, self._mask[:width], out=tiled)
        return int((difference != 0).argmax()) if difference.max() else None

    def _count_intact_few(self, buffer: bytearray, start: int, num_rows: int) -> int:
        starts, lengths = np.array(self._records, np.int64).T
        rows = start + np.arange(num_rows, dtype=np.int64)[:, np.newaxis] * self.row_bytes
        end = start + num_rows * self.row_bytes
        all_lengths = np.tile(lengths, num_rows)
        damaged = find_damaged(buffer, Frames((rows + starts).ravel(), all_lengths, end, "limit"))
        return int(damaged[0]) // self.num_records if len(damaged) else num_rows

    def _count_intact_many(
        self, buffer: bytearray, data: NDArray[np.uint8], start: int, num_rows: int
    ) -> int:
        saved = []
        num_last = 1 + INTACT_BYTES // self.row_bytes
        for record, length in self._records:
            header = self._strided(buffer, "<u4", start + record + 8, num_rows)
            stored = self._strided(buffer, "<u4", start + record + HEADER_BYTES + length, num_rows)
            saved.append((header, np.uint32(masked_length_crc(length)), stored, stored.copy()))
            header[...] = np.uint32(raw_length_crc(length))
            stored[...] = unmask(stored) ^ np.uint32(seed_effect(length))
        slice_rows = max(1, _SLICE_BYTES // self.row_bytes)
        for first in range(0, num_rows, slice_rows):
            behind = min(first + slice_rows, num_rows)
            if is_raw_zero(self._rows(data, start, first, behind)):
                continue
            while is_raw_zero(self._rows(data, start, first, first + 1)):
                first += 1
            # These records are going to be walked, so they must be as they were.
            for header, header_crc, stored, original in saved:
                header[...], stored[...] = header_crc, original
            return first
        for header, header_crc, stored, original in saved:
            header[-num_last:], stored[-num_last:] = header_crc, original[-num_last:]
        return num_rows

    def _rows(
        self, data: NDArray[np.uint8], start: int, first: int, behind: int
    ) -> NDArray[np.uint8]:
        return data[start + first * self.row_bytes : start + behind * self.row_bytes]

    def _strided(self, buffer: bytearray, form: str, offset: int, num_rows: int) -> NDArray[Any]:
        return np.ndarray((num_rows,), form, buffer, offset, (self.row_bytes,))

    def batch(self, buffer: bytearray, start: int, num_rows: int, base: int) -> Batch:
        """The rows as columns; `base` is the place of the buffer's first byte in the file."""
        return Batch([self._column(c, buffer, start, num_rows, base) for c in self._columns])

    def _column(
        self, column: _Column, buffer: bytearray, start: int, num_rows: int, base: int
    ) -> ScalarColumn:
        positions: Positions
        parts = [self._part(place, buffer, start, num_rows) for place in column.places]
        firsts = [base + start + place.record + place.value_index for place in column.places]
        if len(parts) == 1:
            step, wall_time, value = parts[0]
            positions = range(firsts[0], firsts[0] + num_rows * self.row_bytes, self.row_bytes)
        else:
            # Logged several times in a row: row by row, and in a row in the order written.
            step, wall_time, value = (np.stack(c, axis=1).ravel() for c in zip(*parts, strict=True))
            rows = np.arange(num_rows, dtype=np.int64)[:, np.newaxis] * self.row_bytes
            positions = (rows + np.array(firsts, np.int64)).ravel()
        metadata = None
        if column.metadata:
            place, data = column.metadata
            metadata = FirstMetadata(base + start + place.record + place.value_index, data)
        return ScalarColumn(column.tag, column.field, metadata, positions, step, wall_time, value)

    def _part(
        self, place: _Place, buffer: bytearray, start: int, num_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.floating[Any]]]:
        payload = start + place.record + HEADER_BYTES
        wall_time = self._strided(buffer, "<f8", payload + WALL_TIME_OFFSET, num_rows)
        width = place.step_width
        if width:
            form = "|u1" if width == 1 else "<u4" if width <= 4 else "<u8"
            words = self._strided(buffer, form, payload + STEP_OFFSET, num_rows)
            step = decode_steps(words, width)
        else:
            step = np.zeros(num_rows, np.int64)
        value = self._strided(buffer, place.form, start + place.value, num_rows)
        return step, wall_time, as_value_column(value)
