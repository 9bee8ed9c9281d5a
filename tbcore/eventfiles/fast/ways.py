"""The fast ways to decode the records of a piece of a file, as the decoder uses them.

A *row template* decodes a cycle of records that repeats: compared and sliced as one matrix. All
other records are decoded in rounds: see `gather`.

A *cycle* is a sequence of layouts that repeats, such as those of loss, accuracy, loss, accuracy. A
*block* is a stretch of a piece in which a cycle repeats; a row template decodes all of it at once.
Outside blocks, records are decoded in rounds by the other ways.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.eventfiles.fast.gather import Learnt, Records
from tbcore.eventfiles.fast.row_templates import RowTemplate, find_cycle
from tbcore.eventfiles.framing import HEADER_BYTES, Damage, Frames
from tbcore.eventfiles.table import DecodedItem, Table
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
_NO_LAYOUTS = np.empty(0, np.int64)


class Block(NamedTuple):
    """A block that was decoded."""

    table: Table
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
        self._learnt = Learnt(tuning)
        self._layout_numbers = _NO_LAYOUTS
        """The layout number of each record of the last round, or -1."""
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
        table = template.table(self._buffer, position, num_repeats, base)
        is_large = num_repeats * template.num_records >= self._tuning.min_large_block_records
        self._num_small_blocks = 0 if is_large else self._num_small_blocks + 1
        if num_repeats >= self._tuning.min_regular_block_repeats:
            self.max_round_records = self._first_round_records = self._tuning.min_round_records
        end = position + num_repeats * template.cycle_bytes
        return Block(table, end, template.cycle_bytes)

    def until_block(self, frames: Frames) -> Frames:
        """The frames of a round before the first block whose cycle is known, or all frames.

        The cycle may be known from another run, for example.
        """
        self._row_template, self._num_repeats = None, 0
        self._layout_numbers = _NO_LAYOUTS
        attempts = 0
        for i in range(
            min(len(frames.starts), self._tuning.min_round_records) if self._cycles else 0
        ):
            start = int(frames.starts[i])
            payload = start + HEADER_BYTES
            number = self._learnt.layout_cache.match_one(
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

    def decode_round(
        self,
        frames: Frames,
        damaged: NDArray[np.int64],
        base: int,
        problems: list[Damage],
        is_enough: Callable[[], bool],
    ) -> Generator[DecodedItem, None, int]:
        """Decodes the records of a round, like `plain.decode_frames`."""
        if self._learnt.is_full():
            self._learnt, self._row_templates, self._cycles = Learnt(self._tuning), {}, {}
        begins = frames.starts + base
        records = Records(
            self._buffer,
            frames,
            begins,
            self._learnt,
            damaged=damaged,
            min_references=self._tuning.min_records_to_batch,
            is_enough=is_enough,
        )
        found = [
            *(Damage(int(begins[i]), "payload checksum wrong") for i in damaged),
            *(Damage(int(begins[i]), "no valid event") for i in records.malformed),
        ]
        end = base + frames.first(records.num_decoded).end
        problems.extend(sorted(damage for damage in found if damage.offset < end))
        [items] = records.items([(0, records.num_decoded)])
        for item in items:
            if isinstance(item, Table):
                num_scalar, num_scalars = item.columns.num_scalar, len(item.value)
                num_others = len(item.columns.entries) - num_scalar
                self._scalar_counter.add(num_scalars, num_scalar)
                self._reference_counter.add(item.num_rows - num_scalars, num_others)
        self._layout_numbers = records.layout_numbers
        yield from items
        return records.num_decoded

    def end_round(self, position: int) -> None:
        """Looks for a cycle at the end of a round, after which the piece continues."""
        self._row_template = self._find_row_template(self._layout_numbers)
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
            self._row_templates[key] = RowTemplate(
                self._learnt.layout_cache.layouts, cycle, self._tuning
            )
        return self._row_templates[key]


class ColumnCounter:
    """How many rows, and how many columns, were decoded from a piece."""

    def __init__(self) -> None:
        self.num_rows = self.num_columns = 0

    def add(self, num_rows: int, num_columns: int) -> None:
        self.num_rows += num_rows
        self.num_columns += num_columns

    def is_wide(self, min_rows: int, rows_per_column: int) -> bool:
        """Whether there are `min_rows` or more, but on average fewer than `rows_per_column`."""
        return min_rows <= self.num_rows < rows_per_column * self.num_columns
