"""Decoder: turns a piece of an event file into columns.

There are four ways to decode a record, all with the same result. Each record is decoded by the
first one that fits it, which is checked for every byte:

  row templates   a cycle of records that repeats: compared and sliced as one matrix
  layouts         scalars in any order: walked one by one, then matched and gathered in bulk
  value headers   images, histograms and texts: all but their content, for many at once
  protobuf        everything else: graphs, audio, restarts, unusual writers

Checksums are verified in all four. Small files are decoded many at once, by `read_ahead`.
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
"""Factor by which pieces become larger if they yield many columns of a few rows each, since every
column has a fixed cost."""
PADDING_BYTES = 64
"""Bytes in the buffer after its data, so that a word can be read at any offset of the data."""

_MAX_SMALL_BLOCKS = 4
"""Maximum number of small blocks that are accepted after the last large one of a file."""
_MAX_ATTEMPTS = 4
"""Maximum number of attempts in each round to continue with a known cycle."""
_MAX_ROW_TEMPLATES = 256
"""Maximum number of cached row templates."""


class PieceEnd(NamedTuple):
    """Where the decoding of a piece ended, and why."""

    consumed: int
    """Bytes decoded: a whole number of records."""
    stop: Literal["paused", "incomplete", "bad_length", "torn_last_record"]
    """`paused`: `is_enough` returned true. `incomplete`: less than one record is left.
    `bad_length`: the next record has a damaged length. `torn_last_record`: the last record of the
    file has a wrong checksum, perhaps because some of its bytes have yet to be written."""


class _ColumnCounter:
    """Counts the rows and the columns that come from a piece."""

    def __init__(self) -> None:
        self.num_rows = self.num_columns = 0

    def is_wide(self, min_rows: int, rows_per_column: int) -> bool:
        """Whether there are at least `min_rows`, but on average fewer than `rows_per_column`."""
        return min_rows <= self.num_rows < rows_per_column * self.num_columns


class Decoder:
    """Decodes pieces of files. What it learns from one file makes it faster with the next.

    `blocks=False` sends every record through protobuf: slow, and the reference for tests.
    """

    def __init__(self, *, blocks: bool = True, tuning: Tuning | None = None) -> None:
        self.tuning = tuning = tuning or default_tuning()
        self.buffer = bytearray(tuning.piece_bytes + PADDING_BYTES)
        """Filled by the caller before `decode`, except for the last PADDING_BYTES."""
        self._growth = 1
        self._references, self._scalars = _ColumnCounter(), _ColumnCounter()
        """Rows of the current piece, except those decoded by row templates."""
        self._blocks = blocks
        self._layout_cache = LayoutCache()
        self._row_templates: dict[bytes, RowTemplate] = {}
        self._row_template: RowTemplate | None = None
        self._num_small_blocks = 0
        """Small blocks accepted in this file since the last large one."""
        self._first_round = tuning.min_round_records
        """Records in the first round of a piece: more after rounds in which no cycle was found."""
        self._cycles: dict[int, tuple[NDArray[np.int64], int]] = {}
        """Maps a layout number to the cycle in which it was last seen, and its index there."""

    def next_piece_bytes(self) -> int:
        """The maximum size of the next piece, in bytes. May replace the buffer by a larger one."""
        tuning = self.tuning
        rows_per_column = tuning.min_rows_per_column
        if self._references.is_wide(tuning.min_reference_rows_to_grow, rows_per_column) or (
            self._scalars.is_wide(tuning.min_scalar_rows_to_grow, rows_per_column)
        ):
            self._growth = _GROWTH
        piece_bytes = tuning.piece_bytes * self._growth
        if len(self.buffer) < piece_bytes + PADDING_BYTES:
            self.buffer = bytearray(piece_bytes + PADDING_BYTES)
        self._references, self._scalars = _ColumnCounter(), _ColumnCounter()
        return piece_bytes

    def release_buffers(self) -> None:
        """Frees the buffer. The next call of `next_piece_bytes` allocates it again."""
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
        """Decodes `buffer[:size]`, which is at offset `base` of its file; returns where it ended.

        `at_end` says that the file ends with the piece. Damaged records are skipped and added to
        `problems`. Decoding pauses when `is_enough` returns true, which is only checked where
        records are decoded one by one. Arrays are valid until the next item is requested.
        """
        # Until the piece ends:
        # 1. If a row template is known, decode all rows that match it as one block.
        # 2. Walk one round of records. It ends early where a cycle that is known begins.
        # 3. Verify the records of the round and decode them by the other three ways.
        # 4. Look for a cycle at the end of the round; without one, the next round is larger.
        position, limit = 0, self._first_round
        if base == 0:
            self._num_small_blocks = 0
        num_rows = self._count_rows(position, size)
        while True:
            template = self._row_template
            if template is not None and num_rows:  # 1
                yield template.batch(self.buffer, position, num_rows, base)
                position += num_rows * template.row_bytes
                is_large = num_rows * template.num_records >= self.tuning.min_large_block_records
                self._num_small_blocks = 0 if is_large else self._num_small_blocks + 1
                if num_rows >= self.tuning.min_regular_block_rows:
                    limit = self._first_round = self.tuning.min_round_records
                if not at_end and size - position < template.row_bytes:
                    # The next piece will begin with a whole row, and continue with this template.
                    return PieceEnd(position, "incomplete")
            frames = find_frames(  # 2
                self.buffer, position, size, limit, num_probed=self.tuning.probe_records
            )
            frames, num_rows = self._until_known_cycle(frames, size)
            damaged = find_damaged(  # 3
                self.buffer, frames, slice_bytes=self.tuning.check_slice_bytes
            )
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
            self._row_template = self._find_row_template(numbers)  # 4
            num_rows = self._count_rows(position, size)
            limit = min(limit * 4, self.tuning.max_round_records * self._growth)
            # What follows is probably as irregular, even in another file.
            self._first_round = limit

    def decode_one(
        self, event: Event, *, offset: int, length: int, crc: int
    ) -> Iterator[DecodedItem]:
        """Decodes a single event, whose record is at `offset` of its file."""
        control = control_event(event)
        if control is not None:
            yield control
            return
        builder = BatchBuilder()
        builder.add(event, offset, length, crc)
        yield from builder.batch()

    def _count_rows(self, position: int, size: int) -> int:
        """Counts the rows from `position` on that match the current template; 0 without one."""
        if self._row_template is None:
            return 0
        min_rows = self._min_block_records() // self._row_template.num_records
        return self._row_template.count_rows(self.buffer, position, size, min_rows=min_rows)

    def _min_block_records(self) -> int:
        """Minimum number of records in the next block.

        A block has a fixed cost, so a file with many small blocks is decoded faster in rounds.
        """
        return (
            self.tuning.min_large_block_records
            if self._num_small_blocks >= _MAX_SMALL_BLOCKS
            else 0
        )

    def _find_row_template(self, numbers: NDArray[np.int64]) -> RowTemplate | None:
        """The template of the cycle at the end of these layout numbers, if there is one."""
        length = find_cycle(numbers) if self._blocks else 0
        if not length:
            return None
        cycle = numbers[-length:]
        self._cycles.update((number, (cycle, i)) for i, number in enumerate(cycle.tolist()))
        return self._row_template_for(cycle)

    def _row_template_for(self, cycle: NDArray[np.int64]) -> RowTemplate:
        """The template of a cycle of layout numbers, from the cache or new."""
        key = cycle.tobytes()
        if key not in self._row_templates:
            if len(self._row_templates) >= _MAX_ROW_TEMPLATES:
                self._row_templates.clear()
            self._row_templates[key] = RowTemplate(
                [self._layout_cache.layouts[n] for n in cycle.tolist()], self.tuning
            )
        return self._row_templates[key]

    def _until_known_cycle(self, frames: Frames, size: int) -> tuple[Frames, int]:
        """Cuts the frames before a cycle that is known already, for example from another run.

        Returns the frames before it and the number of its rows, and sets the current template to
        that of the cycle. Returns all frames and 0 if there is no such cycle.
        """
        self._row_template = None
        attempts = 0
        for i in range(
            min(len(frames.starts), self.tuning.min_round_records) if self._cycles else 0
        ):
            start = int(frames.starts[i])
            begin = start + HEADER_BYTES
            number = self._layout_cache.match_one(
                self.buffer[begin : begin + int(frames.lengths[i])]
            )
            if number is None or number not in self._cycles:
                continue
            cycle, index = self._cycles[number]
            template = self._row_template_for(np.roll(cycle, -index))
            # The frames after the block are walked again, so about half of them must be in it.
            min_rows = max(self._min_block_records(), (len(frames.starts) - i) // 2) // len(cycle)
            num_rows = template.count_rows(self.buffer, start, size, min_rows=min_rows)
            if num_rows:
                self._row_template = template
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
        """Decodes frames into batches, and into the control events between them.

        Writes the layout number of each frame into `numbers`, -1 where there is none. Returns the
        end of the last frame that was decoded.
        """
        # 1. Match known layouts.
        # 2. Decode references by their value headers.
        # 3. Learn layouts from the remaining records, and match them.
        # 4. Decode what is left by protobuf, one by one. Each control event ends a batch; `begin`
        #    is the index of the first frame of the current batch.
        matched: list[MatchedRecords] = []
        payloads = self.buffer, frames.starts + HEADER_BYTES, frames.lengths
        are_many = self._blocks and len(frames.starts) >= self.tuning.min_records_to_batch
        if are_many:  # 1
            if self._layout_cache.is_full():
                self._layout_cache, self._row_templates, self._cycles = LayoutCache(), {}, {}
            matched = self._layout_cache.match(*payloads)
            for group in matched:
                numbers[group.indices] = group.numbers
        numbers[damaged] = -1
        problems_found = [
            Damage(base + start, "payload checksum wrong")
            for start in frames.starts[damaged].tolist()
        ]
        builder = BatchBuilder()
        buffer = memoryview(self.buffer)
        begin, end = 0, len(numbers)
        undecoded = np.setdiff1d(np.flatnonzero(numbers < 0), damaged, assume_unique=True)
        references: References | None = None
        if self._blocks and len(undecoded) >= self.tuning.min_records_to_batch:  # 2
            references = References.of(self.buffer, frames, undecoded, base)
            undecoded = np.setdiff1d(undecoded, references.indices, assume_unique=True)
        if are_many:  # 3
            learnt = self._layout_cache.learn(*payloads, undecoded)
            for group in learnt:
                numbers[group.indices] = group.numbers
            matched += learnt
            undecoded = undecoded[numbers[undecoded] < 0]
        for i in undecoded.tolist():  # 4
            start, length = int(frames.starts[i]), int(frames.lengths[i])
            payload_end = start + HEADER_BYTES + length
            control = None
            try:
                event = Event.FromString(bytes(buffer[start + HEADER_BYTES : payload_end]))
            except ProtobufDecodeError:
                problems_found.append(Damage(base + start, "no valid event"))
            else:
                control = control_event(event)
                if control is None:
                    crc = int.from_bytes(self.buffer[payload_end : payload_end + 4], "little")
                    builder.add(event, base + start, length, crc)
            if control is not None:
                for group in matched:
                    self._add_matched(builder, group, numbers, frames.starts + base, begin, i)
                if references is not None:
                    self._add_references(builder, references, begin, i)
                yield from builder.batch()
                yield control
                builder = BatchBuilder()
                begin = i + 1
            if is_enough():
                end = i + 1
                break
        for group in matched:
            self._add_matched(builder, group, numbers, frames.starts + base, begin, end)
        if references is not None:
            self._add_references(builder, references, begin, end)
            self._references.num_rows += len(references.indices)
        yield from builder.batch()
        position = int(frames.starts[end]) if end < len(numbers) else frames.end
        problems.extend(d for d in sorted(problems_found) if d.offset < base + position)
        return position

    def _add_references(
        self, builder: BatchBuilder, references: References, begin: int, end: int
    ) -> None:
        """Adds the references of the frames in `range(begin, end)`."""
        for column in references.columns(begin, end):
            builder.add_references(column)
            self._references.num_columns += 1

    def _add_matched(
        self,
        builder: BatchBuilder,
        group: MatchedRecords,
        numbers: NDArray[np.int64],
        offsets: NDArray[np.int64],
        begin: int,
        end: int,
    ) -> None:
        """Adds the matched records of the frames in `range(begin, end)`, except damaged ones."""
        # 1. Pick the records, by frame index. Damaged ones have the layout number -1.
        # 2. Sort them by layout, so that the rows of a layout are a slice, in file order.
        # 3. Decode wall times, steps and values of all of them at once.
        # 4. Add a column for each value of each layout.
        first, after = np.searchsorted(group.indices, (begin, end)).tolist()  # 1
        picked: NDArray[np.int64] | slice
        picked = np.arange(first, after)[numbers[group.indices[first:after]] >= 0]
        if not len(picked):
            return
        # 2, in 16 bits: numpy sorts such numbers in linear time.
        layout_numbers = group.numbers[picked].astype(np.uint16)
        if (layout_numbers != layout_numbers[0]).any():
            order = np.argsort(layout_numbers, kind="stable")
            picked, layout_numbers = picked[order], layout_numbers[order]
        elif len(picked) == len(group.rows):
            picked = slice(None)
        wall_times, steps, values = group.columns(picked)  # 3
        positions = offsets[group.indices[picked]]
        cuts = np.flatnonzero(np.diff(layout_numbers)) + 1
        self._scalars.num_rows += len(steps) * len(values)
        self._scalars.num_columns += (len(cuts) + 1) * len(values)
        for first, after in pairwise([0, *cuts.tolist(), len(steps)]):
            layout = self._layout_cache.layouts[int(layout_numbers[first])]
            piece = slice(first, after)  # 4
            for index, slot in enumerate(layout.slots):
                metadata = None
                if slot.metadata is not None:
                    metadata = FirstMetadata(int(positions[first]) + index, slot.metadata)
                builder.add_column(
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
