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
    ChecksumFields,
    find_wrong_slices,
    init_contribution,
    masked_length_crc,
    raw_length_crc,
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
from tbcore.tuning import Tuning

MAX_RECORDS = 1 << 12
"""Of one period."""
MIN_ROWS = 2
"""Fewer rows are not worth the set-up of a block."""

INTACT_BYTES = 64
"""A file is recognized by the last bytes that were read of it, so these are never changed."""


def find_cycle(numbers: NDArray[np.int64]) -> int:
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


class _ValueLocation(NamedTuple):
    """Where one value of a row stands, in bytes from the row's start."""

    record: int
    value_index: int
    """Of the value in its event."""
    value: int
    form: str
    step_width: int


class _TemplateColumn(NamedTuple):
    tag: str
    field: str
    metadata: tuple[_ValueLocation, bytes] | None
    places: list[_ValueLocation]
    """One for each time that the tag is logged in a row, rising."""


class RowTemplate:
    """A cycle of layouts."""

    def __init__(self, layouts: Sequence[Layout], tuning: Tuning) -> None:
        self._tuning = tuning
        pieces: list[NDArray[np.uint8]] = []
        masks: list[NDArray[np.uint8]] = []
        columns: dict[tuple[str, str], _TemplateColumn] = {}
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
                place = _ValueLocation(start, index, value, form, layout.shape.step_width)
                column = columns.setdefault(
                    (slot.tag, slot.field), _TemplateColumn(slot.tag, slot.field, None, [])
                )
                if slot.metadata is not None and column.metadata is None:
                    column = column._replace(metadata=(place, slot.metadata))
                    columns[slot.tag, slot.field] = column
                column.places.append(place)
            start += length + FRAME_BYTES
        self.row_bytes = start
        self.num_records = len(self._records)
        self._columns = list(columns.values())
        self._tile_rows = max(1, tuning.compare_tile_bytes // start)
        self._template = np.tile(np.concatenate(pieces), self._tile_rows)
        self._mask = np.tile(np.concatenate(masks), self._tile_rows)

    def count_rows(self, buffer: bytearray, start: int, size: int, *, least: int = MIN_ROWS) -> int:
        """How many whole rows of `buffer[start:size]` equal the template in all constant bits, and
        have right payload checksums. 0 if they are fewer than `least`, and others come behind.

        Checksums in these rows may be overwritten, except in the last INTACT_BYTES of them: nobody
        reads them again. If the number is 0, nothing is changed.

        """
        data = np.frombuffer(buffer, np.uint8)
        most = (size - start) // self.row_bytes
        num_rows = self._count_equal(data, start, most)
        if num_rows < (MIN_ROWS if num_rows == most else max(least, MIN_ROWS)):
            return 0
        return self._count_intact(buffer, start, num_rows)

    def _count_equal(self, data: NDArray[np.uint8], start: int, num_rows: int) -> int:
        slice_rows = max(1, self._tuning.check_slice_bytes // len(self._template)) * self._tile_rows
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

    def _count_intact(self, buffer: bytearray, start: int, num_rows: int) -> int:
        """The number of rows before the first one with a damaged payload."""
        first = 0
        if num_rows >= self._tuning.strided_block_rows:
            row_bytes = self.row_bytes
            end = start + num_rows * row_bytes
            fields = [
                ChecksumFields(
                    slice(start + record + 8, end, row_bytes),
                    slice(start + record + HEADER_BYTES + length, end, row_bytes),
                    np.uint32(masked_length_crc(length)),
                    np.uint32(raw_length_crc(length)),
                    np.uint32(init_contribution(length)),
                )
                for record, length in self._records
            ]
            slice_rows = max(1, self._tuning.check_slice_bytes // row_bytes)
            bounds = [*range(start, end, slice_rows * row_bytes), end]
            last_bytes = buffer[end - INTACT_BYTES : end]
            stored = [some.make_raw(buffer) for some in fields]
            wrong = find_wrong_slices(buffer, bounds)
            if not wrong:
                buffer[end - INTACT_BYTES : end] = last_bytes
                return num_rows
            for some, crcs in zip(fields, stored, strict=True):
                some.restore(buffer, crcs)
            first = wrong[0] * slice_rows
            num_rows = min(num_rows, first + slice_rows)
        frames = self._frames(start, first, num_rows)
        damaged = find_damaged(buffer, frames, slice_bytes=self._tuning.check_slice_bytes)
        return first + int(damaged[0]) // self.num_records if len(damaged) else num_rows

    def _frames(self, start: int, first: int, behind: int) -> Frames:
        """The records of the rows from `first` to before `behind`."""
        starts, lengths = np.array(self._records, np.int64).T
        rows = start + np.arange(first, behind, dtype=np.int64)[:, np.newaxis] * self.row_bytes
        end = start + behind * self.row_bytes
        return Frames((rows + starts).ravel(), np.tile(lengths, behind - first), end, "limit")

    def _strided(self, buffer: bytearray, form: str, offset: int, num_rows: int) -> NDArray[Any]:
        return np.ndarray((num_rows,), form, buffer, offset, (self.row_bytes,))

    def batch(self, buffer: bytearray, start: int, num_rows: int, base: int) -> Batch:
        """The rows as columns; `base` is the place of the buffer's first byte in the file."""
        return Batch([self._column(c, buffer, start, num_rows, base) for c in self._columns])

    def _column(
        self, column: _TemplateColumn, buffer: bytearray, start: int, num_rows: int, base: int
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
        self, place: _ValueLocation, buffer: bytearray, start: int, num_rows: int
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
