"""The fast ways to decode the records of a piece of a file, as the decoder uses them.

A record is decoded by the first way that fits it; the decoder itself has the last one:

  row templates   a cycle of records that repeats: compared and sliced as one matrix
  layouts         scalars in any order: found one by one, then matched and gathered in bulk
  value headers   images, histograms and texts: all but their content, for many at once
  protobuf        everything else: graphs, audio, restarts, unusual writers

A *cycle* is a sequence of layouts that repeats, such as those of loss, accuracy, loss, accuracy. A
*block* is a stretch of a piece in which a cycle repeats; a row template decodes all of it at once.
Outside blocks, records are decoded in rounds by the other ways.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.batch import Batch, FirstMetadata, ScalarColumn
from tbcore.eventfiles.batch_builder import BatchBuilder
from tbcore.eventfiles.fast.layouts import LayoutCache, MatchedRecords
from tbcore.eventfiles.fast.references import References
from tbcore.eventfiles.fast.row_templates import RowTemplate, find_cycle
from tbcore.eventfiles.framing import HEADER_BYTES, Frames
from tbcore.tuning import Tuning

_GROWTH = 4
"""Factor by which pieces become larger after a piece with many columns of a few rows each, since
every column has a fixed cost."""
_MAX_SMALL_BLOCKS = 4
"""Maximum number of small blocks that are accepted in a file between two large blocks, which have
`Tuning.min_large_block_records` or more."""
_MAX_ATTEMPTS = 4
"""Maximum number of known cycles that are compared with the records of one round."""
_MAX_ROW_TEMPLATES = 256
"""Maximum number of cached row templates."""


class Block(NamedTuple):
    """A block that was decoded."""

    batch: Batch
    end: int
    """Offset in the buffer after its last record."""
    cycle_bytes: int
    """Number of bytes in one repetition of its cycle."""


class FastWays:
    """What was learnt from the pieces decoded so far, and where the next block begins."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._growth = 1
        self._reference_counter, self._scalar_counter = ColumnCounter(), ColumnCounter()
        """Rows and columns of the current piece outside blocks."""
        self._buffer, self._size = bytearray(), 0
        """The current piece is `buffer[:size]`."""
        self._layout_cache = LayoutCache()
        self._row_templates: dict[bytes, RowTemplate] = {}
        self._row_template: RowTemplate | None = None
        self._num_repeats = 0
        """Repetitions in the block at the current position, by the current row template; 0 if no
        block begins there."""
        self._num_small_blocks = 0
        """Small blocks accepted in the current file since its last large block."""
        self._first_round_records = tuning.min_round_records
        """Maximum number of records in a piece's first round. It rises while no cycle is found."""
        self.max_round_records = tuning.min_round_records
        """Maximum number of records in the next round."""
        self._cycles: dict[int, tuple[NDArray[np.int64], int]] = {}
        """Maps a layout number to the last cycle that had it, and to its index in that cycle."""

    def piece_growth(self) -> int:
        """The factor by which the next piece may be larger than the first one."""
        tuning = self._tuning
        rows_per_column = tuning.min_rows_per_column
        if self._reference_counter.is_wide(tuning.min_reference_rows_to_grow, rows_per_column) or (
            self._scalar_counter.is_wide(tuning.min_scalar_rows_to_grow, rows_per_column)
        ):
            self._growth = _GROWTH
        self._reference_counter, self._scalar_counter = ColumnCounter(), ColumnCounter()
        return self._growth

    def release_buffer(self) -> None:
        """Frees the buffer of the last piece."""
        self._buffer = bytearray()

    # -- in the order in which the decoder calls them --------------------------------------------

    def begin_piece(self, buffer: bytearray, size: int, base: int) -> None:
        """Begins the piece `buffer[:size]`, which is at offset `base` of its file."""
        self._buffer, self._size = buffer, size
        self.max_round_records = self._first_round_records
        if base == 0:
            self._num_small_blocks = 0
        self._num_repeats = self._count_repeats(0)

    def decode_block(self, position: int, base: int) -> Block | None:
        """Decodes the block that begins at `position`; None if no block begins there."""
        template, num_repeats = self._row_template, self._num_repeats
        if template is None or not num_repeats:
            return None
        batch = template.batch(self._buffer, position, num_repeats, base)
        is_large = num_repeats * template.num_records >= self._tuning.min_large_block_records
        self._num_small_blocks = 0 if is_large else self._num_small_blocks + 1
        if num_repeats >= self._tuning.min_regular_block_repeats:
            self.max_round_records = self._first_round_records = self._tuning.min_round_records
        end = position + num_repeats * template.cycle_bytes
        return Block(batch, end, template.cycle_bytes)

    def until_block(self, frames: Frames) -> Frames:
        """The frames of a round before the first block whose cycle is known, or all frames.

        The cycle may be known from another run, for example.
        """
        self._row_template, self._num_repeats = None, 0
        attempts = 0
        for i in range(
            min(len(frames.starts), self._tuning.min_round_records) if self._cycles else 0
        ):
            start = int(frames.starts[i])
            payload = start + HEADER_BYTES
            number = self._layout_cache.match_one(
                self._buffer[payload : payload + int(frames.lengths[i])]
            )
            if number is None or number not in self._cycles:
                continue
            cycle, index = self._cycles[number]
            template = self._row_template_for(np.roll(cycle, -index))
            # The round's frames from index i on will be found again, unless they are in the block.
            # So a block is only accepted if it has at least about half of these frames.
            num_frames = len(frames.starts) - i
            min_repeats = max(self._min_block_records(), num_frames // 2) // len(cycle)
            num_repeats = template.count_repeats(
                self._buffer, start, self._size, min_repeats=min_repeats
            )
            if num_repeats:
                self._row_template, self._num_repeats = template, num_repeats
                return frames.first(i)
            attempts += 1
            if attempts == _MAX_ATTEMPTS:
                break
        return frames

    @property
    def is_at_block(self) -> bool:
        """Whether a block begins after the last round."""
        return self._num_repeats > 0

    def decode_round(self, frames: Frames, damaged: NDArray[np.int64], base: int) -> Round | None:
        """Decodes as many records of a round as possible; None if it has few records."""
        if len(frames.starts) < self._tuning.min_records_to_batch:
            return None
        if self._layout_cache.is_full():
            self._layout_cache, self._row_templates, self._cycles = LayoutCache(), {}, {}
        min_references = self._tuning.min_records_to_batch
        counters = self._scalar_counter, self._reference_counter
        return Round(
            self._buffer, frames, damaged, base, self._layout_cache, counters, min_references
        )

    def end_round(self, decoded: Round | None, position: int) -> None:
        """Looks for a cycle at the end of a round, after which the piece continues."""
        self._row_template = None
        if decoded is not None:
            self._row_template = self._find_row_template(decoded.layout_numbers)
        self._num_repeats = self._count_repeats(position)
        self.max_round_records = min(
            self.max_round_records * 4, self._tuning.max_round_records * self._growth
        )
        # The next records are probably just as irregular, even those of another file.
        self._first_round_records = self.max_round_records

    # -- private -------------------------------------------------------------------------------

    def _count_repeats(self, position: int) -> int:
        """Number of repetitions of the current cycle in the block that begins at `position`.

        Returns 0 if no row template is current, or if the block would be too small.
        """
        if self._row_template is None:
            return 0
        min_repeats = self._min_block_records() // self._row_template.num_records
        return self._row_template.count_repeats(
            self._buffer, position, self._size, min_repeats=min_repeats
        )

    def _min_block_records(self) -> int:
        """Minimum number of records in the next block.

        A block has a fixed cost. So after several small blocks of a file, further small ones are
        rejected: rounds decode their records faster.
        """
        is_strict = self._num_small_blocks >= _MAX_SMALL_BLOCKS
        return self._tuning.min_large_block_records if is_strict else 0

    def _find_row_template(self, layout_numbers: NDArray[np.int64]) -> RowTemplate | None:
        """The template of the cycle at the end of a round, given by its layout numbers, if any."""
        length = find_cycle(layout_numbers)
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
            self._row_templates[key] = RowTemplate(self._layout_cache.layouts, cycle, self._tuning)
        return self._row_templates[key]


class ColumnCounter:
    """How many rows, and how many columns, were decoded from a piece."""

    def __init__(self) -> None:
        self.num_rows = self.num_columns = 0

    def is_wide(self, min_rows: int, rows_per_column: int) -> bool:
        """Whether there are `min_rows` or more, but on average fewer than `rows_per_column`."""
        return min_rows <= self.num_rows < rows_per_column * self.num_columns


class Round:
    """The records of one round that were decoded by layouts and value headers."""

    def __init__(
        self,
        buffer: bytearray,
        frames: Frames,
        damaged: NDArray[np.int64],
        base: int,
        layout_cache: LayoutCache,
        counters: tuple[ColumnCounter, ColumnCounter],
        min_references: int,
    ) -> None:
        """Decodes what it can. Fewer records than `min_references` are not tried as references.

        The buffer begins at offset `base` of the file, and `damaged` has indices of frames.
        """
        # 1. Match known layouts.
        # 2. Decode references by their value headers.
        # 3. Learn new layouts from the remaining records, and match records with these layouts.
        self._layouts = layout_cache.layouts
        self._offsets = frames.starts + base
        self._scalar_counter, self._reference_counter = counters
        self.layout_numbers = np.full(len(frames.starts), -1, np.int64)
        """The layout number of each frame, or -1 for a frame without a layout."""
        payloads = buffer, frames.starts + HEADER_BYTES, frames.lengths
        self._matched = layout_cache.match(*payloads)  # 1
        self._set_layout_numbers(self._matched)
        self.layout_numbers[damaged] = -1
        without_layout = np.flatnonzero(self.layout_numbers < 0)
        undecoded = np.setdiff1d(without_layout, damaged, assume_unique=True)
        self._references: References | None = None
        if len(undecoded) >= min_references:  # 2
            self._references = References.of(buffer, frames, undecoded, base)
            undecoded = np.setdiff1d(undecoded, self._references.indices, assume_unique=True)
            self._reference_counter.num_rows += len(self._references.indices)
        learnt = layout_cache.learn(*payloads, undecoded)  # 3
        self._set_layout_numbers(learnt)
        self._matched += learnt
        self.undecoded: NDArray[np.int64] = undecoded[self.layout_numbers[undecoded] < 0]
        """Indices of the undamaged frames that are left to protobuf, ascending."""

    def add_to(self, builder: BatchBuilder, begin: int, end: int) -> None:
        """Adds the columns of the frames in `range(begin, end)`."""
        for group in self._matched:
            self._add_matched(builder, group, begin, end)
        if self._references is not None:
            for column in self._references.columns(begin, end):
                builder.add_references(column)
                self._reference_counter.num_columns += 1

    def _set_layout_numbers(self, groups: list[MatchedRecords]) -> None:
        for group in groups:
            self.layout_numbers[group.indices] = group.layout_numbers

    def _add_matched(
        self, builder: BatchBuilder, group: MatchedRecords, begin: int, end: int
    ) -> None:
        """Adds the undamaged records of `group` whose frame index is in `range(begin, end)`."""
        # 1. Pick the records, by frame index. Damaged ones have the layout number -1.
        # 2. Sort them by layout, so that the rows of a layout are a slice, in file order.
        # 3. Decode wall times, steps and values of all these records at once.
        # 4. Add a column for each value of each layout.
        first, after = np.searchsorted(group.indices, (begin, end)).tolist()  # 1
        picked: NDArray[np.int64] | slice
        picked = np.arange(first, after)[self.layout_numbers[group.indices[first:after]] >= 0]
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
        positions = self._offsets[group.indices[picked]]
        cuts = np.flatnonzero(np.diff(picked_numbers)) + 1
        self._scalar_counter.num_rows += len(steps) * len(values)
        self._scalar_counter.num_columns += (len(cuts) + 1) * len(values)
        for first, after in pairwise([0, *cuts.tolist(), len(steps)]):
            layout = self._layouts[int(picked_numbers[first])]
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
