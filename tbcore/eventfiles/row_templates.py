"""Row templates: decode the cycle of tags that a trainer logs, step after step, as a matrix.

When the same layouts repeat in the same order, a stretch of the file is a *block*: a matrix of
bytes, in which each row is one repetition of the cycle, usually one step with a record for each
tag. The records need not be found one by one: all repetitions are compared with a template at once,
and each column of numbers is a strided view of the buffer.

Here the rows of that matrix are called repetitions (`repeats`), since a row is one value of a
series.
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
from tbcore.eventfiles.framing import FRAMING_BYTES, HEADER_BYTES, Frames, find_damaged
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
MIN_REPEATS = 2
"""Minimum number of repetitions in a block. A single one is decoded faster in a round."""

INTACT_BYTES = 64
"""Number of bytes at the end of a block that are not overwritten: a fingerprint covers them."""


def find_cycle(layout_numbers: NDArray[np.int64]) -> int:
    """Number of records in the shortest cycle that occurs twice in succession at the end.

    `layout_numbers` has the layout number of each record, or -1 for a record without a layout.
    Returns 0 if there is no such cycle.
    """
    longest = min(len(layout_numbers) // 2, MAX_CYCLE_RECORDS)
    if not longest or layout_numbers[-1] < 0:
        return 0
    # The last layout number also ends the previous repetition: try each earlier place that has it.
    recent = layout_numbers[-longest - 1 : -1][::-1]
    for length in (np.flatnonzero(recent == layout_numbers[-1]) + 1).tolist():
        cycle = layout_numbers[-length:]
        if (cycle >= 0).all() and np.array_equal(cycle, layout_numbers[-2 * length : -length]):
            return int(length)
    return 0


class _ValueLocation(NamedTuple):
    """Where one value of a cycle is. Offsets are in bytes from the start of the repetition."""

    record_offset: int
    """Offset of the record that holds the value."""
    value_index: int
    """Index of the value in its event."""
    number_offset: int
    """Offset of the number."""
    dtype: str
    """Type of the number in the file."""
    step_width: int
    """Number of bytes in the varint of the event's step; 0 if the event has no step field."""

    @property
    def position(self) -> int:
        """Position of the value, in a file that begins with the repetition."""
        return self.record_offset + self.value_index


class _TemplateColumn(NamedTuple):
    """Where the values of one (tag, field) are in a cycle."""

    tag: str
    field: str
    metadata: tuple[_ValueLocation, bytes] | None
    """Location of the first value that carries metadata, and its serialized SummaryMetadata."""
    locations: list[_ValueLocation]
    """Location of each value of this (tag, field) in the cycle, in file order."""


class RowTemplate:
    """The bytes of a cycle of layouts: which bytes are constant, and where the numbers are."""

    def __init__(self, layouts: Sequence[Layout], tuning: Tuning) -> None:
        self._tuning = tuning
        constants: list[NDArray[np.uint8]] = []
        masks: list[NDArray[np.uint8]] = []
        columns: dict[tuple[str, str], _TemplateColumn] = {}
        self._records: list[tuple[int, int]] = []
        """For each record of the cycle, its offset in the cycle and the length of its payload."""
        start = 0
        for layout in layouts:
            length = layout.offsets.length
            header = length.to_bytes(8, "little") + masked_length_crc(length).to_bytes(4, "little")
            constants.append(np.frombuffer(header + layout.payload + bytes(4), np.uint8))
            mask = np.full(length + FRAMING_BYTES, 0xFF, np.uint8)
            mask[HEADER_BYTES:-4] = constant_mask(layout.offsets)
            mask[-4:] = 0
            masks.append(mask)
            self._records.append((start, length))
            for index, (slot, (offset, dtype)) in enumerate(
                zip(layout.slots, layout.offsets.values, strict=True)
            ):
                location = _ValueLocation(
                    start, index, start + HEADER_BYTES + offset, dtype, layout.offsets.step_width
                )
                column = columns.setdefault(
                    (slot.tag, slot.field), _TemplateColumn(slot.tag, slot.field, None, [])
                )
                if slot.metadata is not None and column.metadata is None:
                    column = column._replace(metadata=(location, slot.metadata))
                    columns[slot.tag, slot.field] = column
                column.locations.append(location)
            start += length + FRAMING_BYTES
        self.cycle_bytes = start
        """Number of bytes in one repetition of the cycle."""
        self.num_records = len(self._records)
        """Number of records in one repetition of the cycle."""
        self._columns = list(columns.values())
        self._tile_repeats = max(1, tuning.compare_tile_bytes // start)
        """Number of repetitions in `_template` and `_mask`, which are compared as one tile."""
        self._template = np.tile(np.concatenate(constants), self._tile_repeats)
        self._mask = np.tile(np.concatenate(masks), self._tile_repeats)

    def count_repeats(
        self, buffer: bytearray, start: int, size: int, *, min_repeats: int = MIN_REPEATS
    ) -> int:
        """Counts the matching, undamaged repetitions at the start of `buffer[start:size]`.

        A repetition matches if all its constant bits are equal to those of the template. Returns 0
        if fewer than `min_repeats` match; but if all that fit before `size` match, MIN_REPEATS are
        enough. If the result is not 0, the checksums of the counted repetitions may have been
        overwritten, except in the last INTACT_BYTES.
        """
        data = np.frombuffer(buffer, np.uint8)
        max_repeats = (size - start) // self.cycle_bytes
        num_repeats = self._count_equal(data, start, max_repeats)
        if num_repeats < (
            MIN_REPEATS if num_repeats == max_repeats else max(min_repeats, MIN_REPEATS)
        ):
            return 0
        return self._count_intact(buffer, start, num_repeats)

    def _count_equal(self, data: NDArray[np.uint8], start: int, num_repeats: int) -> int:
        """Counts the repetitions that match, up to `num_repeats`; verifies no checksums."""
        slice_repeats = (
            max(1, self._tuning.check_slice_bytes // len(self._template)) * self._tile_repeats
        )
        difference = np.empty(slice_repeats * self.cycle_bytes, np.uint8)
        done = 0
        while done < num_repeats:
            # Compare the first repetition alone. If it matches, the next ones probably match too:
            # compare slices of whole tiles.
            count = min(slice_repeats if done else 1, num_repeats - done)
            if count > self._tile_repeats:
                count -= count % self._tile_repeats
            at = start + done * self.cycle_bytes
            differs_at = self._compare(data[at : at + count * self.cycle_bytes], difference)
            if differs_at is not None:
                return done + differs_at // self.cycle_bytes
            done += count
        return done

    def _compare(self, data: NDArray[np.uint8], difference: NDArray[np.uint8]) -> int | None:
        """Offset of the first byte of `data` with a constant bit that differs from the template's.

        Returns None if there is no such byte. `difference` is memory for the comparison.
        """
        difference = difference[: len(data)]
        width = min(len(data), len(self._template))
        tiled = difference.reshape(-1, width)
        np.bitwise_xor(data.reshape(-1, width), self._template[:width], out=tiled)
        np.bitwise_and(tiled, self._mask[:width], out=tiled)
        return int((difference != 0).argmax()) if difference.max() else None

    def _count_intact(self, buffer: bytearray, start: int, num_repeats: int) -> int:
        """Counts the repetitions before the first one with a damaged payload."""
        # 1. In a block of many repetitions, verify slices of it. The checksums of each record of
        #    the cycle are a strided slice of the buffer. If nothing is damaged, the checksums need
        #    not be restored, since the block is not read again.
        # 2. In a block of few repetitions, or in the first slice with an error, find the first
        #    damaged record.
        first = 0
        if num_repeats >= self._tuning.min_strided_block_repeats:  # 1
            cycle_bytes = self.cycle_bytes
            end = start + num_repeats * cycle_bytes
            fields = [
                ChecksumFields(
                    length_crcs=slice(start + offset + 8, end, cycle_bytes),
                    payload_crcs=slice(start + offset + HEADER_BYTES + length, end, cycle_bytes),
                    masked_length=np.uint32(masked_length_crc(length)),
                    raw_length=np.uint32(raw_length_crc(length)),
                    payload_init=np.uint32(init_contribution(length)),
                )
                for offset, length in self._records
            ]
            slice_repeats = max(1, self._tuning.check_slice_bytes // cycle_bytes)
            bounds = [*range(start, end, slice_repeats * cycle_bytes), end]
            last_bytes = buffer[end - INTACT_BYTES : end]
            stored = [record_fields.make_raw(buffer) for record_fields in fields]
            wrong = find_wrong_slices(buffer, bounds)
            if not wrong:
                buffer[end - INTACT_BYTES : end] = last_bytes
                return num_repeats
            for record_fields, crcs in zip(fields, stored, strict=True):
                record_fields.restore(buffer, crcs)
            first = wrong[0] * slice_repeats
            num_repeats = min(num_repeats, first + slice_repeats)
        frames = self._frames(start, first, num_repeats)  # 2
        damaged = find_damaged(buffer, frames, slice_bytes=self._tuning.check_slice_bytes)
        return first + int(damaged[0]) // self.num_records if len(damaged) else num_repeats

    def _frames(self, start: int, first: int, stop: int) -> Frames:
        """The frames of the repetitions with an index in `range(first, stop)`."""
        starts, lengths = np.array(self._records, np.int64).T
        repeats = start + np.arange(first, stop, dtype=np.int64)[:, np.newaxis] * self.cycle_bytes
        end = start + stop * self.cycle_bytes
        return Frames((repeats + starts).ravel(), np.tile(lengths, stop - first), end, "limit")

    def _strided(
        self, buffer: bytearray, dtype: str, offset: int, num_repeats: int
    ) -> NDArray[Any]:
        """A view of the numbers that `num_repeats` repetitions hold at the same place.

        `offset` is the offset in the buffer of the first of these numbers.
        """
        return np.ndarray((num_repeats,), dtype, buffer, offset, (self.cycle_bytes,))

    def batch(self, buffer: bytearray, start: int, num_repeats: int, base: int) -> Batch:
        """Decodes the block at `start`; the buffer begins at offset `base` of the file."""
        return Batch([self._column(c, buffer, start, num_repeats, base) for c in self._columns])

    def _column(
        self, column: _TemplateColumn, buffer: bytearray, start: int, num_repeats: int, base: int
    ) -> ScalarColumn:
        """Decodes one column of the block at `start`."""
        positions: Positions
        parts = [
            self._columns_at(location, buffer, start, num_repeats) for location in column.locations
        ]
        first_positions = [base + start + location.position for location in column.locations]
        if len(parts) == 1:
            step, wall_time, value = parts[0]
            [first] = first_positions
            positions = range(first, first + num_repeats * self.cycle_bytes, self.cycle_bytes)
        else:
            # The tag has several values in each repetition. Keep all values in file order.
            step, wall_time, value = (np.stack(c, axis=1).ravel() for c in zip(*parts, strict=True))
            repeats = np.arange(num_repeats, dtype=np.int64)[:, np.newaxis] * self.cycle_bytes
            positions = (repeats + np.array(first_positions, np.int64)).ravel()
        metadata = None
        if column.metadata:
            location, data = column.metadata
            metadata = FirstMetadata(base + start + location.position, data)
        return ScalarColumn(column.tag, column.field, metadata, positions, step, wall_time, value)

    def _columns_at(
        self, location: _ValueLocation, buffer: bytearray, start: int, num_repeats: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.floating[Any]]]:
        """Steps, wall times and values at one location: three arrays of shape (num_repeats,)."""
        payload = start + location.record_offset + HEADER_BYTES
        wall_time = self._strided(buffer, "<f8", payload + WALL_TIME_OFFSET, num_repeats)
        width = location.step_width
        if width:
            word = "|u1" if width == 1 else "<u4" if width <= 4 else "<u8"
            words = self._strided(buffer, word, payload + STEP_OFFSET, num_repeats)
            step = decode_steps(words, width)
        else:
            step = np.zeros(num_repeats, np.int64)
        value = self._strided(buffer, location.dtype, start + location.number_offset, num_repeats)
        return step, wall_time, as_value_column(value)
