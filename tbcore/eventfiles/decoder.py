"""Decoder: turns a piece of an event file into columns.

There are four ways to decode a record, all with the same result. A record is decoded by the first
way that fits it, and whether a way fits is decided from all bytes of the record:

  row templates   a cycle of records that repeats: compared and sliced as one matrix
  layouts         scalars in any order: found one by one, then matched and gathered in bulk
  value headers   images, histograms and texts: all but their content, for many at once
  protobuf        everything else: graphs, audio, restarts, unusual writers

A *cycle* is a sequence of layouts that repeats, such as those of loss, accuracy, loss, accuracy. A
*block* is a stretch of a piece in which a cycle repeats; a row template decodes all of it at once.
Outside blocks, records are decoded in *rounds*, each of up to a given number of records, by the
other three ways.

All four ways verify checksums. Small files are decoded many at once, by `read_ahead`.
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
"""Factor by which pieces become larger after a piece with many columns of a few rows each, since
every column has a fixed cost."""
PADDING_BYTES = 64
"""Number of bytes in the buffer after its data, so that a word can be read at any offset of the
data."""

_MAX_SMALL_BLOCKS = 4
"""Maximum number of small blocks that are accepted in a file between two large blocks, which have
`Tuning.min_large_block_records` or more."""
_MAX_ATTEMPTS = 4
"""Maximum number of known cycles that are compared with the records of one round."""
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
    """How many rows, and how many columns, were decoded from a piece."""

    def __init__(self) -> None:
        self.num_rows = self.num_columns = 0

    def is_wide(self, min_rows: int, rows_per_column: int) -> bool:
        """Whether there are `min_rows` or more, but on average fewer than `rows_per_column`."""
        return min_rows <= self.num_rows < rows_per_column * self.num_columns


class Decoder:
    """Decodes pieces of files. What it learns from one file makes it faster with the next.

    `fast=False` turns off all ways but protobuf: slow, and the reference for tests.
    """

    def __init__(self, *, fast: bool = True, tuning: Tuning | None = None) -> None:
        self.tuning = tuning = tuning or default_tuning()
        self.buffer = bytearray(tuning.piece_bytes + PADDING_BYTES)
        """The caller fills it before it calls `decode`, except for the last PADDING_BYTES."""
        self._growth = 1
        self._reference_counter, self._scalar_counter = _ColumnCounter(), _ColumnCounter()
        """Rows and columns of the current piece outside blocks."""
        self._is_fast = fast
        self._layout_cache = LayoutCache()
        self._row_templates: dict[bytes, RowTemplate] = {}
        self._row_template: RowTemplate | None = None
        self._num_small_blocks = 0
        """Small blocks accepted in the current file since its last large block."""
        self._first_round_records = tuning.min_round_records
        """Maximum number of records in a piece's first round. It rises while no cycle is found."""
        self._cycles: dict[int, tuple[NDArray[np.int64], int]] = {}
        """Maps a layout number to the last cycle that had it, and to its index in that cycle."""

    def next_piece_bytes(self) -> int:
        """The maximum size of the next piece, in bytes. May replace the buffer by a larger one."""
        tuning = self.tuning
        rows_per_column = tuning.min_rows_per_column
        if self._reference_counter.is_wide(tuning.min_reference_rows_to_grow, rows_per_column) or (
            self._scalar_counter.is_wide(tuning.min_scalar_rows_to_grow, rows_per_column)
        ):
            self._growth = _GROWTH
        piece_bytes = tuning.piece_bytes * self._growth
        if len(self.buffer) < piece_bytes + PADDING_BYTES:
            self.buffer = bytearray(piece_bytes + PADDING_BYTES)
        self._reference_counter, self._scalar_counter = _ColumnCounter(), _ColumnCounter()
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
        """Decodes the piece `buffer[:size]`; returns where the decoding ended.

        The piece is at offset `base` of its file; `at_end` is true if the file ends with the piece.
        Damaged records are skipped and added to `problems`. `is_enough` is only called where
        records are decoded one by one; when it returns true, decoding pauses. Arrays in a decoded
        item are valid until the next decoded item is requested.
        """
        # Until the piece ends:
        # 1. If a block begins here, decode it by the current row template.
        # 2. Find the frames of one round. The round ends early where a known cycle begins.
        # 3. Verify the records of the round and decode them by the other three ways.
        # 4. Look for a cycle at the end of the round. The next round is larger, unless a regular
        #    block precedes it.
        position, limit = 0, self._first_round_records
        if base == 0:
            self._num_small_blocks = 0
        num_repeats = self._count_repeats(position, size)
        while True:
            template = self._row_template
            if template is not None and num_repeats:  # 1
                yield template.batch(self.buffer, position, num_repeats, base)
                position += num_repeats * template.cycle_bytes
                num_records = num_repeats * template.num_records
                is_large = num_records >= self.tuning.min_large_block_records
                self._num_small_blocks = 0 if is_large else self._num_small_blocks + 1
                if num_repeats >= self.tuning.min_regular_block_repeats:
                    limit = self._first_round_records = self.tuning.min_round_records
                if not at_end and size - position < template.cycle_bytes:
                    # The next piece will begin with a whole cycle, and continue with this template.
                    return PieceEnd(position, "incomplete")
            frames = find_frames(  # 2
                self.buffer, position, size, limit, num_probed=self.tuning.probe_records
            )
            frames, num_repeats = self._until_known_cycle(frames, size)
            damaged = find_damaged(  # 3
                self.buffer, frames, slice_bytes=self.tuning.check_slice_bytes
            )
            has_torn_last_record = (
                at_end and frames.end == size and len(frames.starts) - 1 in damaged
            )
            if has_torn_last_record:
                frames = frames.first(len(frames.starts) - 1)
                damaged = damaged[:-1]
            layout_numbers = np.full(len(frames.starts), -1, np.int64)
            position = yield from self._decode_frames(
                frames, damaged, base, layout_numbers, problems, is_enough
            )
            if position < frames.end:
                return PieceEnd(position, "paused")
            if num_repeats:
                continue
            if has_torn_last_record:
                return PieceEnd(position, "torn_last_record")
            if frames.stop != "limit":
                return PieceEnd(position, frames.stop)
            self._row_template = self._find_row_template(layout_numbers)  # 4
            num_repeats = self._count_repeats(position, size)
            limit = min(limit * 4, self.tuning.max_round_records * self._growth)
            # The next records are probably just as irregular, even those of another file.
            self._first_round_records = limit

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

    def _count_repeats(self, position: int, size: int) -> int:
        """Number of repetitions of the current cycle in the block that begins at `position`.

        Returns 0 if no row template is current, or if the block would be too small.
        """
        if self._row_template is None:
            return 0
        min_repeats = self._min_block_records() // self._row_template.num_records
        return self._row_template.count_repeats(
            self.buffer, position, size, min_repeats=min_repeats
        )

    def _min_block_records(self) -> int:
        """Minimum number of records in the next block.

        A block has a fixed cost. So after several small blocks of a file, further small ones are
        rejected: rounds decode their records faster.
        """
        return (
            self.tuning.min_large_block_records
            if self._num_small_blocks >= _MAX_SMALL_BLOCKS
            else 0
        )

    def _find_row_template(self, layout_numbers: NDArray[np.int64]) -> RowTemplate | None:
        """The template of the cycle at the end of a round, given by its layout numbers, if any."""
        length = find_cycle(layout_numbers) if self._is_fast else 0
        if not length:
            return None
        cycle = layout_numbers[-length:]
        self._cycles.update((number, (cycle, index)) for index, number in enumerate(cycle.tolist()))
        return self._row_template_for(cycle)

    def _row_template_for(self, cycle: NDArray[np.int64]) -> RowTemplate:
        """The template of a cycle of layout numbers: the cached one, or a new one."""
        key = cycle.tobytes()
        if key not in self._row_templates:
            if len(self._row_templates) >= _MAX_ROW_TEMPLATES:
                self._row_templates.clear()
            self._row_templates[key] = RowTemplate(
                [self._layout_cache.layouts[n] for n in cycle.tolist()], self.tuning
            )
        return self._row_templates[key]

    def _until_known_cycle(self, frames: Frames, size: int) -> tuple[Frames, int]:
        """Looks in a round for a block whose cycle is known, for example from another run.

        If there is such a block, returns the frames before the block and the number of its
        repetitions; the cycle's template becomes the current one. Otherwise returns all frames and
        0, and no template is current.
        """
        self._row_template = None
        attempts = 0
        for i in range(
            min(len(frames.starts), self.tuning.min_round_records) if self._cycles else 0
        ):
            start = int(frames.starts[i])
            payload = start + HEADER_BYTES
            number = self._layout_cache.match_one(
                self.buffer[payload : payload + int(frames.lengths[i])]
            )
            if number is None or number not in self._cycles:
                continue
            cycle, index = self._cycles[number]
            template = self._row_template_for(np.roll(cycle, -index))
            # The round's frames from index i on will be found again, unless they are in the block.
            # So a block is only accepted if it has at least about half of these frames.
            num_frames = len(frames.starts) - i
            min_repeats = max(self._min_block_records(), num_frames // 2) // len(cycle)
            num_repeats = template.count_repeats(self.buffer, start, size, min_repeats=min_repeats)
            if num_repeats:
                self._row_template = template
                return frames.first(i), num_repeats
            attempts += 1
            if attempts == _MAX_ATTEMPTS:
                break
        return frames, 0

    def _decode_frames(
        self,
        frames: Frames,
        damaged: NDArray[np.int64],
        base: int,
        layout_numbers: NDArray[np.int64],
        problems: list[Damage],
        is_enough: Callable[[], bool],
    ) -> Generator[DecodedItem, None, int]:
        """Decodes frames into batches, and into the control events between them.

        Writes into `layout_numbers` the layout number of each frame, or -1 for a frame without a
        layout. Returns the offset in the buffer after the last frame that was decoded.
        """
        # 1. Match known layouts.
        # 2. Decode references by their value headers.
        # 3. Learn new layouts from the remaining records, and match records with these layouts.
        # 4. Decode all other records by protobuf, one by one. Each control event ends a batch;
        #    `begin` is the index of the first frame of the current batch.
        matched: list[MatchedRecords] = []
        payloads = self.buffer, frames.starts + HEADER_BYTES, frames.lengths
        use_layouts = self._is_fast and len(frames.starts) >= self.tuning.min_records_to_batch
        if use_layouts:  # 1
            if self._layout_cache.is_full():
                self._layout_cache, self._row_templates, self._cycles = LayoutCache(), {}, {}
            matched = self._layout_cache.match(*payloads)
            for group in matched:
                layout_numbers[group.indices] = group.layout_numbers
        layout_numbers[damaged] = -1
        problems_found = [
            Damage(base + start, "payload checksum wrong")
            for start in frames.starts[damaged].tolist()
        ]
        builder = BatchBuilder()
        buffer = memoryview(self.buffer)
        begin, end = 0, len(layout_numbers)
        undecoded = np.setdiff1d(np.flatnonzero(layout_numbers < 0), damaged, assume_unique=True)
        references: References | None = None
        if self._is_fast and len(undecoded) >= self.tuning.min_records_to_batch:  # 2
            references = References.of(self.buffer, frames, undecoded, base)
            undecoded = np.setdiff1d(undecoded, references.indices, assume_unique=True)
        if use_layouts:  # 3
            learnt = self._layout_cache.learn(*payloads, undecoded)
            for group in learnt:
                layout_numbers[group.indices] = group.layout_numbers
            matched += learnt
            undecoded = undecoded[layout_numbers[undecoded] < 0]
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
                    self._add_matched(
                        builder, group, layout_numbers, frames.starts + base, begin, i
                    )
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
            self._add_matched(builder, group, layout_numbers, frames.starts + base, begin, end)
        if references is not None:
            self._add_references(builder, references, begin, end)
            self._reference_counter.num_rows += len(references.indices)
        yield from builder.batch()
        position = int(frames.starts[end]) if end < len(layout_numbers) else frames.end
        problems.extend(d for d in sorted(problems_found) if d.offset < base + position)
        return position

    def _add_references(
        self, builder: BatchBuilder, references: References, begin: int, end: int
    ) -> None:
        """Adds the references of the frames in `range(begin, end)`."""
        for column in references.columns(begin, end):
            builder.add_references(column)
            self._reference_counter.num_columns += 1

    def _add_matched(
        self,
        builder: BatchBuilder,
        group: MatchedRecords,
        layout_numbers: NDArray[np.int64],
        offsets: NDArray[np.int64],
        begin: int,
        end: int,
    ) -> None:
        """Adds the undamaged records of `group` whose frame index is in `range(begin, end)`.

        `layout_numbers` and `offsets` have the layout number and file offset of each frame.
        """
        # 1. Pick the records, by frame index. Damaged ones have the layout number -1.
        # 2. Sort them by layout, so that the rows of a layout are a slice, in file order.
        # 3. Decode wall times, steps and values of all these records at once.
        # 4. Add a column for each value of each layout.
        first, after = np.searchsorted(group.indices, (begin, end)).tolist()  # 1
        picked: NDArray[np.int64] | slice
        picked = np.arange(first, after)[layout_numbers[group.indices[first:after]] >= 0]
        if not len(picked):
            return
        # 2. Layout numbers of 16 bits are used, because numpy sorts these in linear time.
        picked_numbers = group.layout_numbers[picked].astype(np.uint16)
        if (picked_numbers != picked_numbers[0]).any():
            order = np.argsort(picked_numbers, kind="stable")
            picked, picked_numbers = picked[order], picked_numbers[order]
        elif len(picked) == len(group.indices):
            picked = slice(None)
        wall_times, steps, values = group.columns(picked)  # 3
        positions = offsets[group.indices[picked]]
        cuts = np.flatnonzero(np.diff(picked_numbers)) + 1
        self._scalar_counter.num_rows += len(steps) * len(values)
        self._scalar_counter.num_columns += (len(cuts) + 1) * len(values)
        for first, after in pairwise([0, *cuts.tolist(), len(steps)]):
            layout = self._layout_cache.layouts[int(picked_numbers[first])]
            rows = slice(first, after)  # 4
            for index, slot in enumerate(layout.slots):
                metadata = None
                if slot.metadata is not None:
                    metadata = FirstMetadata(int(positions[first]) + index, slot.metadata)
                builder.add_column(
                    ScalarColumn(
                        slot.tag,
                        slot.field,
                        metadata,
                        positions[rows] + index,
                        steps[rows],
                        wall_times[rows],
                        values[index][rows],
                    )
                )
