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
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tbcore.eventfiles.crc32c import (
    ChecksumFields,
    find_wrong_slices,
    init_contribution,
    masked_length_crc,
    raw_length_crc,
)
from tbcore.eventfiles.fast.layouts import (
    STEP_OFFSET,
    WALL_TIME_OFFSET,
    Layout,
    constant_mask,
    decode_steps,
)
from tbcore.eventfiles.framing import (
    FRAMING_BYTES,
    HEADER_BYTES,
    INTACT_BYTES,
    Frames,
    find_damaged,
)
from tbcore.eventfiles.table import Arrangement, PerRow, Table, last_time
from tbcore.tuning import Tuning

MAX_CYCLE_RECORDS = 1 << 12
"""Maximum number of records in a cycle."""
MIN_REPEATS = 2
"""Minimum number of repetitions in a block. A single one is decoded faster in a round."""


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


class ValueLocations(NamedTuple):
    """Where the values of a record sequence are. All arrays have shape (num_values,).

    Offsets are in bytes from the start of the sequence.
    """

    position: NDArray[np.int64]
    """Position of the value in a file that begins with the sequence."""
    payload: NDArray[np.int64]
    """Offset of the payload that holds the value."""
    step_width: NDArray[np.int64]
    """Number of bytes in the varint of the event's step; 0 if the event has no step field."""
    number: NDArray[np.int64]
    """Offset of the number."""
    dtype: NDArray[np.str_]
    """Type of the number in the file."""


class RecordSequence:
    """Records with layouts in a fixed order: their constant bits, and where the numbers are."""

    def __init__(self, layouts: Sequence[Layout], layout_numbers: NDArray[np.int64]) -> None:
        """`layout_numbers` has the index in `layouts` of each record's layout."""
        # 1. Number the distinct layouts, in the order in which they first occur.
        # 2. Join the constant bits and the masks of all records.
        # 3. List the value slots of these layouts.
        # 4. Find the slot of each value of all records, and the index of each value in its event.
        # 5. Arrange the values as the rows of a table.
        distinct = list(dict.fromkeys(layout_numbers.tolist()))  # 1
        new_numbers = np.empty(len(layouts), np.int64)
        new_numbers[distinct] = np.arange(len(distinct))
        layouts, layout_numbers = [layouts[n] for n in distinct], new_numbers[layout_numbers]
        constants, masks = zip(*map(_constants_and_mask, layouts), strict=True)  # 2
        numbers = layout_numbers.tolist()
        self.constants = np.frombuffer(b"".join([constants[n] for n in numbers]), np.uint8)
        """The bytes of all records, with variable bits 0."""
        self.mask = np.frombuffer(b"".join([masks[n] for n in numbers]), np.uint8)
        """A mask of the constant bits of all records."""
        self.lengths = np.array([layout.offsets.length for layout in layouts])[layout_numbers]
        """Length of each payload in bytes."""
        ends = np.cumsum(self.lengths + FRAMING_BYTES)
        self.starts = ends - self.lengths - FRAMING_BYTES
        """Offset of each record in the sequence."""
        self.num_bytes = int(ends[-1])
        slots = [slot for layout in layouts for slot in layout.slots]  # 3
        fields = [
            (layout.offsets.step_width, offset, dtype)
            for layout in layouts
            for offset, dtype in layout.offsets.values
        ]
        counts = np.array([len(layout.slots) for layout in layouts])  # 4
        first_slots = np.cumsum(counts) - counts
        counts = counts[layout_numbers]
        record = np.repeat(np.arange(len(counts)), counts)
        index = np.arange(len(record)) - (np.cumsum(counts) - counts)[record]
        slot_of_value = first_slots[layout_numbers[record]] + index
        step_width, offset, dtype = (
            np.array(part)[slot_of_value] for part in zip(*fields, strict=True)
        )
        self.arrangement = Arrangement.of(slots, slot_of_value)  # 5
        """The arrangement of all values as rows of a table."""
        start = self.starts[record]
        payload = start + HEADER_BYTES
        values = start + index, payload, step_width, payload + offset, dtype
        self.values = ValueLocations(*(array[self.arrangement.order] for array in values))
        """The location of each value, in the order of the rows of that table."""


def _constants_and_mask(layout: Layout) -> tuple[bytes, bytes]:
    """The bytes of a record with variable bits 0, and a mask of its constant bits."""
    length = layout.offsets.length
    header = length.to_bytes(8, "little") + masked_length_crc(length).to_bytes(4, "little")
    mask = b"\xff" * HEADER_BYTES + constant_mask(layout.offsets).tobytes()
    return header + layout.payload + bytes(4), mask + bytes(4)


def step_dtype(width: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Type of a word that holds the varint of a step, which has `width` bytes."""
    return np.dtype("|u1" if width <= 1 else "<u4" if width <= 4 else "<u8")


_Location = tuple[int, int, int, int, str]
"""One element of each array of ValueLocations."""


class RowTemplate:
    """A cycle of layouts, and how to compare and decode a block of its repetitions."""

    def __init__(
        self, layouts: Sequence[Layout], layout_numbers: NDArray[np.int64], tuning: Tuning
    ) -> None:
        """`layout_numbers` has the index in `layouts` of the layout of each record of the cycle."""
        self._tuning = tuning
        self._sequence = sequence = RecordSequence(layouts, layout_numbers)
        self.cycle_bytes = sequence.num_bytes
        """Number of bytes in one repetition of the cycle."""
        self.num_records = len(layout_numbers)
        """Number of records in one repetition of the cycle."""
        is_float32 = np.isin(sequence.values.dtype, ("<f4", "<f2")).all()
        self._value_dtype = np.float32 if is_float32 else np.float64
        values = (array.tolist() for array in sequence.values)
        self._locations: list[_Location] = list(zip(*values, strict=True))
        """The elements of `RecordSequence.values`, value by value."""
        self._tile_repeats = max(1, tuning.compare_tile_bytes // self.cycle_bytes)
        """Number of repetitions in `_template` and `_mask`, which are compared as one tile."""
        self._template = np.tile(sequence.constants, self._tile_repeats)
        self._mask = np.tile(sequence.mask, self._tile_repeats)

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
                for offset, length in zip(
                    self._sequence.starts.tolist(), self._sequence.lengths.tolist(), strict=True
                )
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
        starts, lengths = self._sequence.starts, self._sequence.lengths
        repeats = start + np.arange(first, stop, dtype=np.int64)[:, np.newaxis] * self.cycle_bytes
        end = start + stop * self.cycle_bytes
        return Frames((repeats + starts).ravel(), np.tile(lengths, stop - first), end, "limit")

    def _strided(
        self, buffer: bytearray, dtype: DTypeLike, offset: int, num_repeats: int
    ) -> NDArray[Any]:
        """A view of the numbers that `num_repeats` repetitions hold at the same place.

        `offset` is the offset in the buffer of the first of these numbers.
        """
        return np.ndarray((num_repeats,), dtype, buffer, offset, (self.cycle_bytes,))

    def table(self, buffer: bytearray, start: int, num_repeats: int, base: int) -> Table:
        """Decodes the block at `start`; the buffer begins at offset `base` of the file."""
        # 1. Fill arrays in which each column has one row for each of its values in a repetition.
        # 2. If a column has several values in a repetition, bring its rows into file order.
        arrangement, values = self._sequence.arrangement, self._sequence.values
        shape = len(values.position), num_repeats
        step, wall_time = np.empty(shape, np.int64), np.empty(shape)
        value = np.empty(shape, self._value_dtype)
        for i, (_, payload, width, number, dtype) in enumerate(self._locations):  # 1
            payload += start
            wall_time[i] = self._strided(buffer, "<f8", payload + WALL_TIME_OFFSET, num_repeats)
            value[i] = self._strided(buffer, dtype, start + number, num_repeats)
            step[i] = 0
            if width:
                words = self._strided(buffer, step_dtype(width), payload + STEP_OFFSET, num_repeats)
                step[i] = decode_steps(words, width)
        order = np.argsort(values.position)
        last = float(wall_time[order[-1], -1])
        last_wall_time = last_time(last, lambda: wall_time[order].T.ravel())
        for first, after in pairwise(arrangement.bounds):  # 2
            if after - first > 1:
                for array in (step, wall_time, value):
                    array[first:after] = array[first:after].T.reshape(after - first, -1)

        def position() -> PerRow:
            firsts = values.position + (base + start)
            positions = firsts[:, np.newaxis] + np.arange(num_repeats) * self.cycle_bytes
            for first, after in pairwise(arrangement.bounds):
                positions[first:after] = np.sort(positions[first:after], axis=None).reshape(
                    after - first, -1
                )
            return positions.ravel()

        return Table.of(
            arrangement.columns,
            tuple(bound * num_repeats for bound in arrangement.bounds),
            step.ravel(),
            wall_time.ravel(),
            value.ravel(),
            None,
            position=position,
            last_wall_time=last_wall_time,
        )
