"""The fast ways to decode the records of a piece of a file, as the decoder uses them.

A *row template* decodes a cycle of records that repeats: compared and sliced as one matrix. All
other records are decoded in rounds: see `gather`.

A *cycle* is a sequence of layouts that repeats, such as those of loss, accuracy, loss, accuracy. A
*block* is a stretch of a piece in which a cycle repeats; a row template decodes all of it at once.
Cycles are found at the end of rounds, and known from then on: those of one run are found again at
the start of the next one.

A block has a fixed cost, and so has a round that ends early because a block begins. So the more
records are decoded together in one round, the larger must a block be that interrupts it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
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
_MIN_REPEATS = 2
"""Minimum number of repetitions in a block."""
_MAX_ROW_TEMPLATES = 64
"""Maximum number of cached row templates."""


class Block(NamedTuple):
    """A block that was found in a buffer, with correct checksums."""

    template: RowTemplate
    start: int
    """Offset of the block in the buffer."""
    num_repeats: int
    """Number of repetitions of the cycle."""

    @property
    def end(self) -> int:
        """Offset in the buffer after the block."""
        return self.start + self.num_repeats * self.template.cycle_bytes

    def table(self, buffer: bytearray, base: int) -> Table:
        """Decodes the block; the buffer begins at offset `base` of the file."""
        return self.template.table(buffer, self.start, self.num_repeats, base)


class FastWays:
    """The fast ways to decode pieces, with the layouts and templates learnt so far."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._growth = 1
        self._num_rows = self._num_columns = 0
        """Rows and columns of the current piece outside blocks."""
        self._learnt = Learnt(tuning)
        self._row_template: RowTemplate | None = None
        """The template of the cycle that was found last."""
        self._row_templates: dict[bytes, RowTemplate] = {}
        """Maps the layout numbers of a cycle, as bytes, to its template."""
        self._cycles: dict[int, tuple[NDArray[np.int64], int]] = {}
        """Maps a layout number to the last cycle that had it, and to its index in that cycle."""
        self.max_round_records = tuning.min_round_records
        """Maximum number of records in the next round. It rises while no large block is found: the
        next records are probably just as irregular, even those of another file."""

    def piece_growth(self) -> int:
        """The factor by which the next piece may be larger than the first one."""
        min_rows_per_column = self._tuning.min_rows_per_column
        if (
            self._tuning.min_rows_to_grow
            <= self._num_rows
            < min_rows_per_column * self._num_columns
        ):
            self._growth = _GROWTH
        self._num_rows = self._num_columns = 0
        return self._growth

    def until_block(
        self, buffer: bytearray, frames: Frames, size: int
    ) -> tuple[Frames, Block | None]:
        """The frames of a round before the first known block, and this block.

        If there is no such block, these are all frames, and None. `size` is that of the piece.
        """
        for index, template in self._candidates(buffer, frames):
            # The frames from this index on will be found again, unless they are in the block. So it
            # must have at least about half of these frames.
            min_records = (len(frames.starts) - index) // 2
            min_large = self._tuning.min_large_block_records
            min_repeats = max(_MIN_REPEATS, min(min_records, min_large) // template.num_records)
            start = int(frames.starts[index])
            num_repeats = template.count_repeats(buffer, start, size, min_repeats=min_repeats)
            if num_repeats:
                self._row_template = template
                if num_repeats * template.num_records >= min_large:
                    self.max_round_records = self._tuning.min_round_records
                return frames.first(index), Block(template, start, num_repeats)
        if frames.stop == "limit":
            grown = self.max_round_records * 4
            self.max_round_records = min(grown, self._tuning.max_round_records)
        return frames, None

    def _candidates(self, buffer: bytearray, frames: Frames) -> Iterator[tuple[int, RowTemplate]]:
        """Yields the index of a frame at which a block may begin, and the block's template.

        First the last cycle that was found may begin, or continue, at the first frame. Then any
        known cycle may begin at the first frame with one of its layouts.
        """
        if self._row_template is not None and len(frames.starts):
            yield 0, self._row_template
        first = frames.first(self._tuning.min_round_records)
        payloads = (first.starts + HEADER_BYTES).tolist(), first.lengths.tolist()
        for i, (begin, length) in enumerate(zip(*payloads, strict=True)):
            number = self._learnt.layout_cache.match_one(buffer[begin : begin + length])
            if number in self._cycles:
                cycle, index = self._cycles[number]
                yield i, self._row_template_of(np.roll(cycle, -index))
                return

    def decode_round(
        self,
        buffer: bytearray,
        frames: Frames,
        damaged: NDArray[np.int64],
        base: int,
        problems: list[Damage],
        is_enough: Callable[[], bool],
    ) -> Generator[DecodedItem, None, int]:
        """Decodes the records of a round, like `plain.decode_frames`."""
        # 1. Decode the records.
        # 2. Report those that are damaged, up to the last one that was decoded.
        # 3. Count the rows and columns.
        # 4. If the piece continues, learn the cycle in which the last records repeat, if any.
        if self._learnt.is_full():
            self._learnt, self._row_template = Learnt(self._tuning), None
            self._row_templates, self._cycles = {}, {}
        begins = frames.starts + base
        records = Records(  # 1
            buffer, frames, begins, self._learnt, damaged=damaged, is_enough=is_enough
        )
        found = [  # 2
            *(Damage(int(begins[i]), "payload checksum wrong") for i in damaged),
            *(Damage(int(begins[i]), "no valid event") for i in records.malformed),
        ]
        end = base + frames.first(records.num_decoded).end
        problems.extend(sorted(damage for damage in found if damage.offset < end))
        items = records.items(0, records.num_decoded)
        for item in items:  # 3
            if isinstance(item, Table):
                self._num_rows += item.num_rows
                self._num_columns += len(item.columns.entries)
        length = find_cycle(records.layout_numbers) if frames.stop == "limit" else 0  # 4
        if length:
            cycle = records.layout_numbers[-length:]
            self._cycles.update((number, (cycle, i)) for i, number in enumerate(cycle.tolist()))
            self._row_template = self._row_template_of(cycle)
        yield from items
        return records.num_decoded

    def _row_template_of(self, cycle: NDArray[np.int64]) -> RowTemplate:
        """The template of a cycle of layout numbers: the cached one, or a new one."""
        key = cycle.tobytes()
        if key not in self._row_templates:
            if len(self._row_templates) >= _MAX_ROW_TEMPLATES:
                self._row_templates.clear()
            layouts = self._learnt.layout_cache.layouts
            self._row_templates[key] = RowTemplate(layouts, cycle, self._tuning)
        return self._row_templates[key]
