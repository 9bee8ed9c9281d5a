"""Row templates: decode the cycle of tags that a trainer logs, step after step, as a matrix.

When the same layouts repeat in the same order, a stretch of the file is a *block*: a matrix of
bytes, in which each row is one repetition of the cycle, usually one step with a record for each
tag. The records need not be found one by one: all repetitions are compared with a template at once,
and each column of numbers is a strided view of the buffer.

Here the rows of that matrix are called repetitions (`repeats`), since a row is one value of a
series.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tbcore.eventfiles.crc32c import (
    PayloadChecksums,
    find_wrong_slices,
    for_lengths,
    masked_length_crc,
    raw_difference,
)
from tbcore.eventfiles.fast.layouts import (
    STEP_OFFSET,
    WALL_TIME_OFFSET,
    Layout,
    constant_mask,
    decode_steps,
)
from tbcore.eventfiles.framing import FRAMING_BYTES, HEADER_BYTES
from tbcore.eventfiles.plain import Arrangement, last_time
from tbcore.eventfiles.steps import PerRow, Steps, even_steps, joined_steps
from tbcore.eventfiles.table import Table
from tbcore.tuning import Tuning

_REPEATS_AT_ONCE = 1 << 13
"""Number of repetitions whose checksums are made raw, or whose steps are decoded, at once. Larger
arrays would be new memory each time, which the system has to clear."""
MAX_CYCLE_RECORDS = 1 << 12
"""Maximum number of records in a cycle."""


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
        # 1. Find the distinct layouts, and the index of each record's layout among them.
        # 2. Join the constant bits and the masks of all records.
        # 3. List the value slots of these layouts.
        # 4. Find the slot of each value of all records, and the index of each value in its event.
        # 5. Arrange the values as the rows of a table.
        numbers, layout_of_record = np.unique(layout_numbers, return_inverse=True)  # 1
        layouts = [layouts[number] for number in numbers.tolist()]
        constants, masks = zip(*map(_constants_and_mask, layouts), strict=True)  # 2
        indices = layout_of_record.tolist()
        self.constants = np.frombuffer(b"".join([constants[i] for i in indices]), np.uint8)
        """The bytes of all records, with variable bits 0."""
        self.mask = np.frombuffer(b"".join([masks[i] for i in indices]), np.uint8)
        """A mask of the constant bits of all records."""
        self.lengths = np.array([layout.offsets.length for layout in layouts])[layout_of_record]
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
        counts = counts[layout_of_record]
        record = np.repeat(np.arange(len(counts)), counts)
        index = np.arange(len(record)) - (np.cumsum(counts) - counts)[record]
        slot_of_value = first_slots[layout_of_record[record]] + index
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


class RowTemplate:
    """A cycle of layouts, and how to compare and decode a block of its repetitions."""

    def __init__(
        self, layouts: Sequence[Layout], layout_numbers: NDArray[np.int64], tuning: Tuning
    ) -> None:
        """`layout_numbers` has the index in `layouts` of the layout of each record of the cycle."""
        self._sequence = sequence = RecordSequence(layouts, layout_numbers)
        self.cycle_bytes = sequence.num_bytes
        """Number of bytes in one repetition of the cycle."""
        self.num_records = len(layout_numbers)
        """Number of records in one repetition of the cycle."""
        is_float32 = np.isin(sequence.values.dtype, ("<f4", "<f2")).all()
        self._value_dtype = np.float32 if is_float32 else np.float64
        self._slice_repeats = max(1, tuning.check_slice_bytes // self.cycle_bytes)
        """Number of repetitions that are compared or verified at once."""
        self._constants = sequence.constants.tobytes() * self._slice_repeats
        """The constant bits of so many repetitions."""
        self._mask = np.tile(sequence.mask, self._slice_repeats)

    def count_repeats(self, buffer: bytearray, start: int, size: int, *, min_repeats: int) -> int:
        """Counts matching, undamaged repetitions at the start of `buffer[start:size]`.

        A repetition matches if all its constant bits are equal to those of the template. Returns 0
        if fewer than `min_repeats` match. If some are damaged, only those in the slices before the
        damage are counted.
        """
        num_repeats = self._count_equal(np.frombuffer(buffer, np.uint8)[start:size])
        if num_repeats < min_repeats:
            return 0
        return self._count_intact(buffer, start, num_repeats)

    def _count_equal(self, data: NDArray[np.uint8]) -> int:
        """Counts the repetitions at the start of `data` that match; verifies no checksums."""
        max_repeats = len(data) // self.cycle_bytes
        done, count = 0, 1
        while done < max_repeats:
            at, end = (n * self.cycle_bytes for n in (done, min(done + count, max_repeats)))
            constants, found = self._constants[: end - at], data[at:end] & self._mask[: end - at]
            if found.tobytes() != constants:  # the fastest way to compare all bytes
                is_equal = found == np.frombuffer(constants, np.uint8)
                return done + int(is_equal.argmin()) // self.cycle_bytes
            # If the first repetition matches, the next ones probably match, too.
            done, count = done + count, self._slice_repeats
        return max_repeats

    def _count_intact(self, buffer: bytearray, start: int, num_repeats: int) -> int:
        """Counts the repetitions in the slices before the first damaged payload."""
        # The checksums of each record of the cycle are strided slices of the buffer.
        sequence, cycle_bytes = self._sequence, self.cycle_bytes
        end, part_bytes = start + num_repeats * cycle_bytes, _REPEATS_AT_ONCE * cycle_bytes
        offsets = (start + sequence.starts + HEADER_BYTES + sequence.lengths).tolist()
        differences = for_lengths(raw_difference, sequence.lengths)
        checksums = [
            PayloadChecksums(slice(first, min(first + part_bytes, end), cycle_bytes), difference)
            for offset, difference in zip(offsets, differences, strict=True)
            for first in range(offset, end, part_bytes)
        ]
        bounds = [*range(start, end, self._slice_repeats * cycle_bytes), end]
        wrong = find_wrong_slices(buffer, bounds, checksums)
        return wrong[0] * self._slice_repeats if wrong else num_repeats

    def table(self, buffer: bytearray, start: int, num_repeats: int, base: int) -> Table:
        """Decodes the block at `start`; the buffer begins at offset `base` of the file."""

        def strided(dtype: DTypeLike, offset: int) -> NDArray[Any]:
            """A view of the numbers at this offset in each repetition."""
            at = start + offset
            return np.ndarray((num_repeats,), dtype, buffer, at, (self.cycle_bytes,))

        def position() -> PerRow:
            repeats = np.arange(num_repeats) * self.cycle_bytes + (base + start)
            positions = np.empty(bounds[-1], np.int64)
            for rows, first in zip(self._rows(num_repeats), values.position.tolist(), strict=True):
                positions[rows] = repeats + first
            return positions

        # 1. Fill arrays of wall times and values.
        # 2. Decode the steps of each column. Most columns have those of the column before.
        arrangement, values = self._sequence.arrangement, self._sequence.values
        bounds = tuple(bound * num_repeats for bound in arrangement.bounds)
        wall_time = np.empty(bounds[-1])
        value: NDArray[np.floating[Any]] = np.empty(bounds[-1], self._value_dtype)
        words: list[NDArray[Any]] = []
        locations = (array.tolist() for array in values[1:])
        for rows, payload, width, number, dtype in zip(  # 1
            self._rows(num_repeats), *locations, strict=True
        ):
            wall_time[rows] = strided("<f8", payload + WALL_TIME_OFFSET)
            value[rows] = strided(dtype, number)
            words.append(strided(step_dtype(width), payload + STEP_OFFSET))
        steps: list[Steps] = []
        widths = values.step_width.tolist()
        was_single = False  # whether the column before has one value in each repetition
        for first, after in pairwise(arrangement.bounds):  # 2
            is_single = after == first + 1
            is_known = was_single and is_single and widths[first - 1] == widths[first]
            if is_known and np.array_equal(words[first - 1], words[first]):
                steps.append(steps[-1])
            else:
                steps.append(_decode_steps(words[first:after], widths[first:after]))
            was_single = is_single
        table = Table(arrangement.columns, bounds, steps, wall_time, value)
        table.position = position
        last = strided("<f8", int(values.payload.max()) + WALL_TIME_OFFSET)[-1]
        table.last_wall_time = last_time(float(last), lambda: wall_time[np.argsort(position())])
        return table

    def _rows(self, num_repeats: int) -> Iterator[slice]:
        """Yields, for each value of a repetition, its rows in the table of a block.

        A column with n values in each repetition has a value's rows at each n-th place.
        """
        for first, after in pairwise(self._sequence.arrangement.bounds):
            for begin in range(first * num_repeats, first * num_repeats + after - first):
                yield slice(begin, after * num_repeats, after - first)


def _decode_steps(words: Sequence[NDArray[Any]], widths: Sequence[int]) -> Steps:
    """The steps of a column with one or several values in each repetition of a cycle.

    `words` has the words at each of these values, and `widths` the widths of the varints in them.
    """
    parts: list[Steps] = []
    for begin in range(0, len(words[0]), _REPEATS_AT_ONCE):
        steps = [
            decode_steps(word[begin : begin + _REPEATS_AT_ONCE].copy(), width)
            for word, width in zip(words, widths, strict=True)
        ]
        parts.append(even_steps(np.stack(steps, axis=1).ravel() if len(steps) > 1 else steps[0]))
    return joined_steps(parts)
