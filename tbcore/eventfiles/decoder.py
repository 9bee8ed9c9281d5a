"""Decoding: a piece of an event file becomes columns.

Four ways lead to the same rows, from the fastest to the most general, and each record takes the
first that is proven to fit it, byte by byte:

  periods   rows of the same records again and again: compared and sliced as one matrix
  layouts   scalars walked one by one, then matched and gathered by the million
  heads     pictures, histograms and texts: what stands before the bulk, for many at once
  protobuf  whatever is left: graphs, sounds, restarts, unusual writers

Checksums are verified on all four. Short files are decoded many at once, by `piles`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError as ProtobufDecodeError
from numpy.typing import NDArray

from tbcore.eventfiles.batch import (
    DecodedItem,
    FirstMetadata,
    ScalarColumn,
)
from tbcore.eventfiles.batch_builder import BatchBuilder, control_event
from tbcore.eventfiles.framing import HEADER_BYTES, Damage, Frames, find_damaged, find_frames
from tbcore.eventfiles.layouts import (
    LayoutCache,
    MatchedRecords,
)
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.references import References
from tbcore.eventfiles.row_templates import RowTemplate, find_cycle
from tbcore.tuning import Tuning, default_tuning

_GROWTH = 4
"""How much larger pieces are of files with many tags, in no order or with long records: there is a
cost to each column, and from such a piece come many with a row or two."""
SLACK_BYTES = 64
"""Behind the data in the buffer, so that words may be read at any of its bytes."""

_SMALL_BLOCKS = 4
"""Taken of a file in which no large one came since."""
_MAX_ATTEMPTS = 4
"""To go on with a known period, in each round."""
_MAX_PERIODS = 256


class PieceEnd(NamedTuple):
    """How far a piece of a file was decoded, and why not further."""

    consumed: int
    """Bytes, a whole number of records."""
    stop: Literal["paused", "incomplete", "bad_length", "torn_last_record"]
    """`paused`: as was asked for. `incomplete`: what is left is no whole record. `bad_length`:
    what follows cannot be framed. `torn_last_record`: the last record of the file has a wrong
    checksum, perhaps because some of its bytes have yet to be written."""


class _RowsPerColumn:
    """Over how many columns rows are spread."""

    def __init__(self) -> None:
        self.num_rows = self.num_columns = 0

    def is_wide(self, many: int, rows_per_column: int) -> bool:
        """Whether there are so many rows, and few of them in each column."""
        return many <= self.num_rows < rows_per_column * self.num_columns


class Decoder:
    """Decodes pieces of files; what it learns of one serves the next.

    `blocks=False` sends every record through protobuf: slow, and the reference for tests.
    """

    def __init__(self, *, blocks: bool = True, tuning: Tuning | None = None) -> None:
        self.tuning = tuning = tuning or default_tuning()
        self.buffer = bytearray(tuning.piece_bytes + SLACK_BYTES)
        """Filled by the caller before `decode`, with at least SLACK_BYTES to spare."""
        self._growth = 1
        self._references, self._scalars = _RowsPerColumn(), _RowsPerColumn()
        """Those of the last piece, but for what was taken in periods."""
        self._blocks = blocks
        self._layout_cache = LayoutCache()
        self._row_templates: dict[bytes, RowTemplate] = {}
        self._row_template: RowTemplate | None = None
        self._num_small = 0
        """Blocks of this file since the last large one."""
        self._first_round = tuning.first_round_records
        """Records walked at first: more after files in which no period was found."""
        self._cycles: dict[int, tuple[NDArray[np.int64], int]] = {}
        """For the number of a layout the cycle it was last seen in, and its place there."""

    def next_piece_bytes(self) -> int:
        """How long the next piece may be; the buffer may be another one from then on."""
        tuning = self.tuning
        if self._references.is_wide(tuning.min_reference_rows, tuning.rows_per_column) or (
            self._scalars.is_wide(tuning.min_scalar_rows, tuning.rows_per_column)
        ):
            self._growth = _GROWTH
        piece_bytes = tuning.piece_bytes * self._growth
        if len(self.buffer) < piece_bytes + SLACK_BYTES:
            self.buffer = bytearray(piece_bytes + SLACK_BYTES)
        self._references, self._scalars = _RowsPerColumn(), _RowsPerColumn()
        return piece_bytes

    def release_buffers(self) -> None:
        """Gives back what is large, until there is something to decode again."""
        self.buffer = bytearray()

    def decode(
        self,
        size: int,
        *,
        base: int,
        at_end: bool,
        problems: list[Damage],
        is_enough: Callable[[], bool] = lambda: False,
    ) -> Generator[DecodedItem, None, PieceEnd]:
        """Decode `buffer[:size]`, which stands at `base` in its file; returns where it ended.

        `at_end`: the file ends with the piece. Damaged records are left out and described in
        `problems`. Where records have to be taken one by one, decoding pauses when `is_enough`
        says so. Arrays handed out are valid until the next item is taken.
        """
        position, limit = 0, self._first_round
        if base == 0:
            self._num_small = 0
        num_rows = self._count_rows(position, size)
        while True:
            period = self._row_template
            if period is not None and num_rows:
                yield period.batch(self.buffer, position, num_rows, base)
                position += num_rows * period.row_bytes
                is_large = num_rows * period.num_records >= self.tuning.large_block_records
                self._num_small = 0 if is_large else self._num_small + 1
                if num_rows >= self.tuning.regular_block_rows:
                    limit = self._first_round = self.tuning.first_round_records
                if not at_end and size - position < period.row_bytes:
                    # The next piece begins with a row, so that the period goes on there.
                    return PieceEnd(position, "incomplete")
            frames = find_frames(
                self.buffer, position, size, limit, num_probed=self.tuning.probe_records
            )
            frames, num_rows = self._until_known_cycle(frames, size)
            damaged = find_damaged(self.buffer, frames, slice_bytes=self.tuning.check_slice_bytes)
            has_torn_last_record = (
                at_end and frames.end == size and len(frames.starts) - 1 in damaged
            )
            if has_torn_last_record:
                frames = frames.first(len(frames.starts) - 1)
                damaged = damaged[:-1]
            numbers = np.full(len(frames.starts), -1, np.int64)
            position = yield from self._decode_frames(
                frames, damaged, base, numbers, problems, is_enough
            )
            if position < frames.end:
                return PieceEnd(position, "paused")
            if num_rows:
                continue
            if has_torn_last_record:
                return PieceEnd(position, "torn_last_record")
            if frames.stop != "limit":
                return PieceEnd(position, frames.stop)
            self._row_template = self._find_row_template(numbers)
            num_rows = self._count_rows(position, size)
            limit = min(limit * 4, self.tuning.last_round_records * self._growth)
            # What comes next is probably as irregular, be it of another file.
            self._first_round = limit

    def decode_one(
        self, event: Event, *, offset: int, length: int, crc: int
    ) -> Iterator[DecodedItem]:
        """The items of an event by itself, whose record stands at `offset` in its file."""
        control = control_event(event)
        if control is not None:
            yield control
            return
        rows = BatchBuilder()
        rows.add(event, offset, length, crc)
        yield from rows.batch()

    def _count_rows(self, position: int, size: int) -> int:
        if self._row_template is None:
            return 0
        least = self._min_block() // self._row_template.num_records
        return self._row_template.count_rows(self.buffer, position, size, least=least)

    def _min_block(self) -> int:
        """How many records a block needs to be worth its while."""
        return self.tuning.large_block_records if self._num_small >= _SMALL_BLOCKS else 0

    def _find_row_template(self, numbers: NDArray[np.int64]) -> RowTemplate | None:
        """The cycle in which the records with these layouts came, if they did."""
        length = find_cycle(numbers) if self._blocks else 0
        if not length:
            return None
        cycle = numbers[-length:]
        self._cycles.update((number, (cycle, i)) for i, number in enumerate(cycle.tolist()))
        return self._row_template_for(cycle)

    def _row_template_for(self, cycle: NDArray[np.int64]) -> RowTemplate:
        key = cycle.tobytes()
        if key not in self._row_templates:
            if len(self._row_templates) >= _MAX_PERIODS:
                self._row_templates.clear()
            self._row_templates[key] = RowTemplate(
                [self._layout_cache.layouts[n] for n in cycle.tolist()], self.tuning
            )
        return self._row_templates[key]

    def _until_known_cycle(self, frames: Frames, size: int) -> tuple[Frames, int]:
        """The frames before a cycle that is known (of another run, say), and its rows.

        Makes it the current period. Without one: all frames, and 0.
        """
        self._row_template = None
        attempts = 0
        for i in range(
            min(len(frames.starts), self.tuning.first_round_records) if self._cycles else 0
        ):
            start = int(frames.starts[i])
            begin = start + HEADER_BYTES
            number = self._layout_cache.match_one(
                self.buffer[begin : begin + int(frames.lengths[i])]
            )
            if number is None or number not in self._cycles:
                continue
            cycle, place = self._cycles[number]
            period = self._row_template_for(np.roll(cycle, -place))
            # The frames behind it are walked once more, so about half of them should be in it.
            least = max(self._min_block(), (len(frames.starts) - i) // 2) // len(cycle)
            num_rows = period.count_rows(self.buffer, start, size, least=least)
            if num_rows:
                self._row_template = period
                return frames.first(i), num_rows
            attempts += 1
            if attempts == _MAX_ATTEMPTS:
                break
        return frames, 0

    def _decode_frames(
        self,
        frames: Frames,
        damaged: NDArray[np.int64],
        base: int,
        numbers: NDArray[np.int64],
        problems: list[Damage],
        is_enough: Callable[[], bool],
    ) -> Generator[DecodedItem, None, int]:
        """Batches of the frames, cut at the events that are items of their own.

        Writes the layouts' numbers into `numbers`. Returns the end of the last one that it got to.
        """
        matched: list[MatchedRecords] = []
        payloads = self.buffer, frames.starts + HEADER_BYTES, frames.lengths
        are_many = self._blocks and len(frames.starts) >= self.tuning.min_records_to_batch
        if are_many:
            if self._layout_cache.is_full():
                self._layout_cache, self._row_templates, self._cycles = LayoutCache(), {}, {}
            matched = self._layout_cache.match(*payloads)
            for group in matched:
                numbers[group.indices] = group.numbers
        numbers[damaged] = -1
        found = [
            Damage(base + start, "payload checksum wrong")
            for start in frames.starts[damaged].tolist()
        ]
        rows = BatchBuilder()
        buffer = memoryview(self.buffer)
        begin, end = 0, len(numbers)
        general = np.setdiff1d(np.flatnonzero(numbers < 0), damaged, assume_unique=True)
        references: References | None = None
        if self._blocks and len(general) >= self.tuning.min_records_to_batch:
            references = References.of(self.buffer, frames, general, base)
            general = np.setdiff1d(general, references.indices, assume_unique=True)
        if are_many:
            learnt = self._layout_cache.learn(*payloads, general)
            for group in learnt:
                numbers[group.indices] = group.numbers
            matched += learnt
            general = general[numbers[general] < 0]
        for i in general.tolist():
            start, length = int(frames.starts[i]), int(frames.lengths[i])
            behind = start + HEADER_BYTES + length
            control = None
            try:
                event = Event.FromString(bytes(buffer[start + HEADER_BYTES : behind]))
            except ProtobufDecodeError:
                found.append(Damage(base + start, "no valid event"))
            else:
                control = control_event(event)
                if control is None:
                    crc = int.from_bytes(self.buffer[behind : behind + 4], "little")
                    rows.add(event, base + start, length, crc)
            if control is not None:
                for group in matched:
                    self._add_matched(rows, group, numbers, frames.starts + base, begin, i)
                if references is not None:
                    self._add_references(rows, references, begin, i)
                yield from rows.batch()
                yield control
                rows = BatchBuilder()
                begin = i + 1
            if is_enough():
                end = i + 1
                break
        for group in matched:
            self._add_matched(rows, group, numbers, frames.starts + base, begin, end)
        if references is not None:
            self._add_references(rows, references, begin, end)
            self._references.num_rows += len(references.indices)
        yield from rows.batch()
        position = int(frames.starts[end]) if end < len(numbers) else frames.end
        problems.extend(d for d in sorted(found) if d.offset < base + position)
        return position

    def _add_references(
        self, rows: BatchBuilder, references: References, begin: int, end: int
    ) -> None:
        """Add those whose frame is in begin..end."""
        for column in references.columns(begin, end):
            rows.add_references(column)
            self._references.num_columns += 1

    def _add_matched(
        self,
        rows: BatchBuilder,
        group: MatchedRecords,
        numbers: NDArray[np.int64],
        offsets: NDArray[np.int64],
        begin: int,
        end: int,
    ) -> None:
        """Add the matched records whose index is in begin..end and whose checksum is right."""
        first, behind = np.searchsorted(group.indices, (begin, end)).tolist()
        picked: NDArray[np.int64] | slice
        picked = np.arange(first, behind)[numbers[group.indices[first:behind]] >= 0]
        if not len(picked):
            return
        # Sorted by layout, so that each layout's rows are a slice, and inside it in file order.
        # In 16 bits, which numpy sorts in linear time.
        layout_numbers = group.numbers[picked].astype(np.uint16)
        if (layout_numbers != layout_numbers[0]).any():
            order = np.argsort(layout_numbers, kind="stable")
            picked, layout_numbers = picked[order], layout_numbers[order]
        elif len(picked) == len(group.rows):
            picked = slice(None)
        wall_times, steps, values = group.columns(picked)
        positions = offsets[group.indices[picked]]
        cuts = np.flatnonzero(np.diff(layout_numbers)) + 1
        self._scalars.num_rows += len(steps) * len(values)
        self._scalars.num_columns += (len(cuts) + 1) * len(values)
        for first, behind in pairwise([0, *cuts.tolist(), len(steps)]):
            layout = self._layout_cache.layouts[int(layout_numbers[first])]
            piece = slice(first, behind)
            for index, slot in enumerate(layout.slots):
                metadata = None
                if slot.metadata is not None:
                    metadata = FirstMetadata(int(positions[first]) + index, slot.metadata)
                rows.add_column(
                    ScalarColumn(
                        slot.tag,
                        slot.field,
                        metadata,
                        positions[piece] + index,
                        steps[piece],
                        wall_times[piece],
                        values[index][piece],
                    )
                )
