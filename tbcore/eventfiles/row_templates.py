"""Row templates: decode the cycle of tags that a trainer logs, step after step, as a matrix.

When the same layouts repeat in the same order, a stretch of the file is a matrix of bytes, with one
row for each step and one record for each tag. Its records need not be walked: all rows are compared
with a template at once, and each column of numbers is a strided view of the buffer.
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
    constant_mask,
    decode_steps,
)
from tbcore.tuning import Tuning

MAX_CYCLE_RECORDS = 1 << 12
"""Maximum number of records in a cycle."""
MIN_ROWS = 2
"""Minimum number of rows in a block. Fewer are decoded faster in rounds."""

INTACT_BYTES = 64
"""Bytes at the end of a block that are left unchanged, because a fingerprint is taken of them."""


def find_cycle(numbers: NDArray[np.int64]) -> int:
    """Length of the shortest cycle of layouts that occurs twice in succession at the end.

    `numbers` are the layout numbers of the records, -1 for a record without a layout. Returns 0 if
    there is no such cycle.
    """
    longest = min(len(numbers) // 2, MAX_CYCLE_RECORDS)
    if not longest or numbers[-1] < 0:
        return 0
    recent = numbers[-longest - 1 : -1][::-1]
    for length in (np.flatnonzero(recent == numbers[-1]) + 1).tolist():
        cycle = numbers[-length:]
        if (cycle >= 0).all() and np.array_equal(cycle, numbers[-2 * length : -length]):
            return int(length)
    return 0


class _ValueLocation(NamedTuple):
    """Where one value of a row is, in bytes from the start of the row."""

    record: int
    """Offset of its record."""
    value_index: int
    """Index of the value in its event."""
    value: int
    """Offset of its number."""
    dtype: str
    """Type of the number in the file."""
    step_width: int
    """Bytes of the step's varint; 0 without a step."""


class _TemplateColumn(NamedTuple):
    """The values of one (tag, field) in a row."""

    tag: str
    field: str
    metadata: tuple[_ValueLocation, bytes] | None
    """Location of the first value that carries metadata, and its serialized SummaryMetadata."""
    locations: list[_ValueLocation]
    """One for each value that the tag has in a row, in file order."""


class RowTemplate:
    """A cycle of layouts as bytes: which of them are constant, and where the numbers are."""

    def __init__(self, layouts: Sequence[Layout], tuning: Tuning) -> None:
        self._tuning = tuning
        constants: list[NDArray[np.uint8]] = []
        masks: list[NDArray[np.uint8]] = []
        columns: dict[tuple[str, str], _TemplateColumn] = {}
        self._records: list[tuple[int, int]] = []
        """Offset in the row and payload length of each record."""
        start = 0
        for layout in layouts:
            length = layout.offsets.length
            header = length.to_bytes(8, "little") + masked_length_crc(length).to_bytes(4, "little")
            constants.append(np.frombuffer(header + layout.payload + bytes(4), np.uint8))
            mask = np.full(length + FRAME_BYTES, 0xFF, np.uint8)
            mask[HEADER_BYTES:-4] = constant_mask(layout.offsets)
            mask[-4:] = 0
            masks.append(mask)
            self._records.append((start, length))
            for index, (slot, (offset, dtype)) in enumerate(
                zip(layout.slots, layout.offsets.values, strict=True)
            ):
                value = start + HEADER_BYTES + offset
                location = _ValueLocation(start, index, value, dtype, layout.offsets.step_width)
                column = columns.setdefault(
                    (slot.tag, slot.field), _TemplateColumn(slot.tag, slot.field, None, [])
                )
                if slot.metadata is not None and column.metadata is None:
                    column = column._replace(metadata=(location, slot.metadata))
                    columns[slot.tag, slot.field] = column
                column.locations.append(location)
            start += length + FRAME_BYTES
        self.row_bytes = start
        self.num_records = len(self._records)
        self._columns = list(columns.values())
        self._tile_rows = max(1, tuning.compare_tile_bytes // start)
        """Rows that are compared as one: template and mask are repeated this many times."""
        self._template = np.tile(np.concatenate(constants), self._tile_rows)
        self._mask = np.tile(np.concatenate(masks), self._tile_rows)

    def count_rows(
        self, buffer: bytearray, start: int, size: int, *, min_rows: int = MIN_ROWS
    ) -> int:
        """Counts the rows at the start of `buffer[start:size]` that match and are undamaged.

        A row matches if all its constant bits are those of the template. Returns 0 if fewer than
        `min_rows` match, or fewer than MIN_ROWS if only matching rows fit before `size`. If the
        result is not 0, the checksums in these rows may have been overwritten, except in their last
        INTACT_BYTES.
        """
        data = np.frombuffer(buffer, np.uint8)
        max_rows = (size - start) // self.row_bytes
        num_rows = self._count_equal(data, start, max_rows)
        if num_rows < (MIN_ROWS if num_rows == max_rows else max(min_rows, MIN_ROWS)):
            return 0
        return self._count_intact(buffer, start, num_rows)

    def _count_equal(self, data: NDArray[np.uint8], start: int, num_rows: int) -> int:
        """Counts the rows that match, up to `num_rows`; checksums are not verified."""
        slice_rows = max(1, self._tuning.check_slice_bytes // len(self._template)) * self._tile_rows
        difference = np.empty(slice_rows * self.row_bytes, np.uint8)
        done = 0
        while done < num_rows:
            # Compare the first row alone. If it matches, others probably do: compare whole slices.
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
        """Offset of the first byte in which a constant bit differs from the template, if any."""
        difference = difference[: len(rows)]
        width = min(len(rows), len(self._template))
        tiled = difference.reshape(-1, width)
        np.bitwise_xor(rows.reshape(-1, width), self._template[:width], out=tiled)
        np.bitwise_and(tiled, self._mask[:width], out=tiled)
        return int((difference != 0).argmax()) if difference.max() else None

    def _count_intact(self, buffer: bytearray, start: int, num_rows: int) -> int:
        """Counts the rows before the first one with a damaged payload."""
        # 1. In a large block, verify slices of rows. The fields of each record in the cycle are a
        #    strided slice of the buffer. Checksums of undamaged rows need not be restored, since
        #    these rows are not read again.
        # 2. In a small block, or in the first slice with an error, find the damaged record.
        first = 0
        if num_rows >= self._tuning.min_strided_block_rows:  # 1
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
            stored = [record_fields.make_raw(buffer) for record_fields in fields]
            wrong = find_wrong_slices(buffer, bounds)
            if not wrong:
                buffer[end - INTACT_BYTES : end] = last_bytes
                return num_rows
            for record_fields, crcs in zip(fields, stored, strict=True):
                record_fields.restore(buffer, crcs)
            first = wrong[0] * slice_rows
            num_rows = min(num_rows, first + slice_rows)
        frames = self._frames(start, first, num_rows)  # 2
        damaged = find_damaged(buffer, frames, slice_bytes=self._tuning.check_slice_bytes)
        return first + int(damaged[0]) // self.num_records if len(damaged) else num_rows

    def _frames(self, start: int, first: int, stop: int) -> Frames:
        """The records of the rows in `range(first, stop)`."""
        starts, lengths = np.array(self._records, np.int64).T
        rows = start + np.arange(first, stop, dtype=np.int64)[:, np.newaxis] * self.row_bytes
        end = start + stop * self.row_bytes
        return Frames((rows + starts).ravel(), np.tile(lengths, stop - first), end, "limit")

    def _strided(self, buffer: bytearray, dtype: str, offset: int, num_rows: int) -> NDArray[Any]:
        """A view of the number at `offset`, and of those at the same place in the next rows."""
        return np.ndarray((num_rows,), dtype, buffer, offset, (self.row_bytes,))

    def batch(self, buffer: bytearray, start: int, num_rows: int, base: int) -> Batch:
        """The rows from `start` on as a batch; the buffer begins at offset `base` of the file."""
        return Batch([self._column(c, buffer, start, num_rows, base) for c in self._columns])

    def _column(
        self, column: _TemplateColumn, buffer: bytearray, start: int, num_rows: int, base: int
    ) -> ScalarColumn:
        """The rows from `start` on of one (tag, field)."""
        positions: Positions
        parts = [
            self._columns_at(location, buffer, start, num_rows) for location in column.locations
        ]
        firsts = [
            base + start + location.record + location.value_index for location in column.locations
        ]
        if len(parts) == 1:
            step, wall_time, value = parts[0]
            positions = range(firsts[0], firsts[0] + num_rows * self.row_bytes, self.row_bytes)
        else:
            # The tag has several values per row. Sort by row, and within a row as written.
            step, wall_time, value = (np.stack(c, axis=1).ravel() for c in zip(*parts, strict=True))
            rows = np.arange(num_rows, dtype=np.int64)[:, np.newaxis] * self.row_bytes
            positions = (rows + np.array(firsts, np.int64)).ravel()
        metadata = None
        if column.metadata:
            location, data = column.metadata
            metadata = FirstMetadata(base + start + location.record + location.value_index, data)
        return ScalarColumn(column.tag, column.field, metadata, positions, step, wall_time, value)

    def _columns_at(
        self, location: _ValueLocation, buffer: bytearray, start: int, num_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.floating[Any]]]:
        """Steps, wall times and values of one location, of shape (num_rows,) each."""
        payload = start + location.record + HEADER_BYTES
        wall_time = self._strided(buffer, "<f8", payload + WALL_TIME_OFFSET, num_rows)
        width = location.step_width
        if width:
            word = "|u1" if width == 1 else "<u4" if width <= 4 else "<u8"
            words = self._strided(buffer, word, payload + STEP_OFFSET, num_rows)
            step = decode_steps(words, width)
        else:
            step = np.zeros(num_rows, np.int64)
        value = self._strided(buffer, location.dtype, start + location.value, num_rows)
        return step, wall_time, as_value_column(value)
