"""Series: the rows of one (run, tag, kind), as columns that only grow at their end.

All columns of a series lie in one block of memory with room to spare:

    +---------------------------+---------------------------+--------------+
    | step: capacity x 8 bytes  | wall_time                 | value        |
    | #########------           | #########------           | #####---     |
    +---------------------------+---------------------------+--------------+
      ^ length rows, then room

Steps that rise evenly, as most do, take none of it: see `ArithmeticSteps`.

A `Series` is immutable: a block, and how many of its rows count. Appending writes behind these
rows and gives a new `Series`, mostly of the same block, so that those who hold the old one see
what they saw. That holds because there is a single line of descent: of each `Series` at most one
is made by appending.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore.kinds import Kind
from tbcore.store import sampling

Rows = NDArray[np.int64]

LOADED_SPARE_SHARE = 1 / 64
"""Spare room, as a share of the rows, of a series whose run has been read to its end."""
LIVE_SPARE_SHARE = 1 / 8
"""Spare room that a series gets when it outgrows its block later, and the most that is left."""
_MIN_SPARE_ROWS = 2
_MIN_ROWS_TO_CACHE = 1 << 17
"""From here on a sampler is worth its memory, and steps are; fewer rows are made or hashed anew in
a millisecond."""


@dataclass(frozen=True, slots=True, eq=False)
class ScalarSeries:
    """Points of one tag, in the order they were written. Arrays are read-only."""

    ordinal: NDArray[np.int64]
    """Shape (n,), rising: the place at which the point was written to its tag. It never changes."""
    step: NDArray[np.int64]
    """Shape (n,), not necessarily rising."""
    wall_time: NDArray[np.float64]
    """Shape (n,), seconds since the epoch."""
    value: NDArray[np.floating[Any]]
    """Shape (n,), float32, or float64 where a value needs it."""

    def __len__(self) -> int:
        return len(self.value)


class UnsampledSeries(ScalarSeries):
    """All rows of a series that has lost none. OrdinalRanges, and steps without a column, of which there
    may be millions, are made for who asks."""

    _series: Series

    def __init__(self, series: Series) -> None:
        object.__setattr__(self, "_series", series)
        object.__setattr__(self, "wall_time", series.column(WALL_TIME))
        object.__setattr__(self, "value", series.column(VALUE))

    @cached_property
    def ordinal(self) -> NDArray[np.int64]:
        ordinal = np.arange(len(self), dtype=np.int64)
        ordinal.flags.writeable = False
        return ordinal

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """As of ScalarSeries."""
        steps: Rows = self._series.column(STEP)
        return steps


class LastPoints(NamedTuple):
    """The last point of each tag of a run, as columns."""

    tags: list[str]
    """In order of first appearance; those without any point are left out."""
    step: NDArray[np.int64]
    """Shape (n,), as the others."""
    wall_time: NDArray[np.float64]
    """Seconds since the epoch."""
    value: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ItemSeries:
    """Items of one tag, in the order they were written; what they hold is not here."""

    ordinal: NDArray[np.int64]
    """As of ScalarSeries, and so are the others."""
    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.step)


class BlockLayout:
    """The columns of a block."""

    __slots__ = ("columns", "row_bytes")

    def __init__(self, *types: str, has_steps: bool = True) -> None:
        """The first column is that of the steps, and has no bytes if there are to be none."""
        self.columns: list[tuple[np.dtype[Any], int, int]] = []
        """Type, bytes a row, and start of each column in bytes for each row of capacity. Wide
        columns come first, which keeps all of them aligned."""
        self.row_bytes = 0
        for number, dtype in enumerate(map(np.dtype, types)):
            size = dtype.itemsize if number or has_steps else 0
            self.columns.append((dtype, size, self.row_bytes))
            self.row_bytes += size


class ArithmeticSteps(NamedTuple):
    """Steps that rise evenly: most do, and need no column then."""

    first: int
    stride: int
    """Not negative."""

    def at(self, start: int, stop: int) -> Rows:
        """The steps of the rows from start to before stop."""
        if stop - start >= _MIN_ROWS_TO_CACHE:
            return _cached_steps(self, start, stop)
        return np.arange(start, stop, dtype=np.int64) * self.stride + self.first

    @classmethod
    def of(cls, step: Rows) -> ArithmeticSteps | None:
        """Of these steps, one at least; None if they rise in another way."""
        return cls(int(step[0]), 0).extended_by(1, step[1:])

    def extended_by(self, length: int, step: Rows) -> ArithmeticSteps | None:
        """With these steps behind `length` others; None if they do not go on evenly."""
        count = len(step)
        if not count:
            return self
        stride = int(step[0]) - self.first if length == 1 else self.stride
        last = self.first + stride * (length + count - 1)
        if not 0 <= stride < _MAX_STRIDE or int(step[-1]) != last:
            return None
        arithmetic = self if stride == self.stride else ArithmeticSteps(self.first, stride)
        if count > _MAX_STEPS_COMPARED_AS_LIST or not stride:
            return arithmetic if (step == arithmetic.at(length, length + count)).all() else None
        # A few are compared in less time than numpy takes for its calls.
        return (
            arithmetic
            if step.tolist() == [*range(last - stride * (count - 1), last + 1, stride)]
            else None
        )

    def num_below(self, limit: int, length: int) -> int:
        """How many of the first `length` steps are below the limit."""
        if not self.stride:
            return length if self.first < limit else 0
        return min(max(-((self.first - limit) // self.stride), 0), length)


@lru_cache(maxsize=1)
def _cached_steps(arithmetic_steps: ArithmeticSteps, start: int, stop: int) -> Rows:
    """As `ArithmeticSteps.at`. A page asks again and again, and all tags of a run may have the same."""
    steps = np.arange(start, stop, dtype=np.int64)
    steps *= arithmetic_steps.stride
    steps += arithmetic_steps.first
    steps.flags.writeable = False
    return steps


_MAX_STEPS_COMPARED_AS_LIST = 64
_MAX_STRIDE = 1 << 62
"""Twice as much would not fit into a number of numpy's."""

STEP, WALL_TIME = 0, 1
"""Columns of all layouts."""
VALUE = 2
FLOAT32 = BlockLayout("i8", "f8", "f4")
"""Step, wall time and value of a scalar."""
FLOAT64 = BlockLayout("i8", "f8", "f8")
"""As FLOAT32, once a value needs more than float32."""
FLOAT32_NO_STEPS = BlockLayout("i8", "f8", "f4", has_steps=False)
FLOAT64_NO_STEPS = BlockLayout("i8", "f8", "f8", has_steps=False)
"""The same of scalars whose steps rise evenly."""
OFFSET, LENGTH, INDEX, CRC, FILE = 2, 3, 4, 5, 6
REFERENCE = BlockLayout("i8", "f8", "i8", "u4", "u4", "u4", "u4")
"""Step, wall time and whereabouts of what stays in the file."""


_EMPTY_BLOCK = np.empty(0, np.uint8)

_INT64, _FLOAT64, _FLOAT32 = map(struct.Struct, ("=q", "=d", "=f"))


class OrdinalRanges:
    """OrdinalRanges of rows that are not simply 0, 1, 2, ...: ranges of consecutive ones.

    Immutable. The ranges go on to the end of the series, whatever its length.
    """

    __slots__ = ("_firsts", "_rows", "sampler")

    def __init__(self, rows: Rows, firsts: Rows, sampler: sampling.Sampler) -> None:
        self._rows = rows
        """Shape (num_ranges,): the row at which a range begins."""
        self._firsts = firsts
        """Shape (num_ranges,): the ordinal of that row."""
        self.sampler = sampler
        """Shared by all ordinals that begin with the same rows."""

    @classmethod
    def of(cls, ordinals: Rows) -> OrdinalRanges:
        """The ranges of rising ordinals."""
        rows = _range_starts(ordinals)
        return cls(rows, ordinals[rows], sampling.Sampler())

    @property
    def num_ranges(self) -> int:
        return len(self._rows)

    def at(self, rows: Rows) -> Rows:
        """OrdinalRanges of these rows."""
        ranges = np.searchsorted(self._rows, rows, side="right") - 1
        return self._firsts[ranges] + (rows - self._rows[ranges])

    def row_of(self, ordinal: int) -> int:
        """The row that would have this ordinal: the one before may be the last of its range."""
        number = int(np.searchsorted(self._firsts, ordinal, side="right")) - 1
        return -1 if number < 0 else int(self._rows[number] + (ordinal - self._firsts[number]))

    def extended_by(self, length: int, ordinals: Rows) -> OrdinalRanges:
        """With these ordinals for the rows from `length` on."""
        if not len(ordinals):
            return self
        rows = _range_starts(ordinals)
        if length and int(self.at(np.array([length]))[0]) == int(ordinals[0]):
            rows = rows[1:]
        if not len(rows):
            return self
        return OrdinalRanges(
            np.concatenate([self._rows, rows + length]),
            np.concatenate([self._firsts, ordinals[rows]]),
            self.sampler,
        )

    def cut(self, length: int) -> OrdinalRanges:
        """Of the first `length` rows only; other rows may follow."""
        num_ranges = int(np.searchsorted(self._rows, length))
        return OrdinalRanges(self._rows[:num_ranges], self._firsts[:num_ranges], sampling.Sampler())


class Series:
    """The rows of one (run, tag, kind) as they were at one moment. Immutable for readers."""

    __slots__ = (
        "_num_sorted",
        "arithmetic_steps",
        "block",
        "capacity",
        "kind",
        "layout",
        "length",
        "num_nonfinite",
        "ordinal_ranges",
    )

    def __init__(
        self,
        kind: Kind,
        layout: BlockLayout,
        block: NDArray[np.uint8],
        capacity: int,
        length: int,
        arithmetic_steps: ArithmeticSteps | None = None,
        ordinals: OrdinalRanges | None = None,
        num_rising: int = 0,
        num_nonfinite: int = 0,
    ) -> None:
        self.kind = kind
        self.layout = layout
        self.block = block
        self.capacity = capacity
        self.length = length
        self.arithmetic_steps = arithmetic_steps
        """The steps, if the block has no column of them."""
        self.ordinal_ranges = ordinals
        """None while they are 0, 1, 2, ..."""
        self.num_nonfinite = num_nonfinite
        """How many of the values are NaN or infinite; 0 for references."""
        self._num_sorted = num_rising
        """How many of the first rows are known not to step back. Only `purged` looks at it."""

    @classmethod
    def empty(cls, kind: Kind) -> Series:
        """No rows, and no room."""
        return cls(kind, FLOAT32 if kind.is_scalar else REFERENCE, _EMPTY_BLOCK, 0, 0)

    def __len__(self) -> int:
        return self.length

    def __reduce__(self) -> tuple[type[Series], tuple[Any, ...]]:
        """As pickling would find it by itself, in a fraction of the time."""
        return Series, (self.kind, *self._fields_after_kind())

    def _fields_after_kind(self) -> tuple[Any, ...]:
        """All that it was made of, but its kind."""
        return (
            self.layout,
            self.block,
            self.capacity,
            self.length,
            self.arithmetic_steps,
            self.ordinal_ranges,
            self._num_sorted,
            self.num_nonfinite,
        )

    # -- reading -------------------------------------------------------------------------------

    def column(self, number: int) -> NDArray[Any]:
        """A column as a read-only view of shape (length,)."""
        view = self._column(number, 0, self.length)
        view.flags.writeable = False
        return view

    def column_at(self, number: int, rows: Rows) -> NDArray[Any]:
        """These rows of a column, as an array of its own."""
        if number == STEP and self.arithmetic_steps is not None:
            return rows * self.arithmetic_steps.stride + self.arithmetic_steps.first
        return self._column(number, 0, self.length)[rows]

    def sampled_rows(self, samples: int) -> Rows:
        """Rows of a sample, rising; all rows for 0."""
        if self.ordinal_ranges is None:
            return sampling.sampled_rows(self.length, samples)
        if self.length < _MIN_ROWS_TO_CACHE:
            return sampling.sampled_rows_of(self.ordinals_between(0, self.length), samples)
        return self.ordinal_ranges.sampler.sampled_rows(self.length, samples, self.ordinals_between)

    def ordinals_at(self, rows: Rows) -> Rows:
        """OrdinalRanges of these rows."""
        return rows if self.ordinal_ranges is None else self.ordinal_ranges.at(rows)

    def ordinals_between(self, start: int, stop: int) -> Rows:
        """OrdinalRanges of the rows from start to before stop."""
        return self.ordinals_at(np.arange(start, stop, dtype=np.int64))

    def row_of(self, ordinal: int) -> int | None:
        """The row with this ordinal, None if there is none."""
        if not 0 <= ordinal < 1 << 63:
            return None
        row = ordinal if self.ordinal_ranges is None else self.ordinal_ranges.row_of(ordinal)
        if not 0 <= row < self.length:
            return None
        return row if int(self.ordinals_between(row, row + 1)[0]) == ordinal else None

    def last_point(self) -> tuple[int, float, float]:
        """Step, wall time and value of the last row of a scalar series that has one."""
        # Without making views of the columns: somebody may ask this of each of 100,000 series.
        data, last, capacity = self.block.data, self.length - 1, self.capacity
        (_, _, step_at), (_, _, wall_time_at), (_, size, value_at) = self.layout.columns
        if self.arithmetic_steps is not None:
            step = self.arithmetic_steps.first + self.arithmetic_steps.stride * last
        else:
            [step] = _INT64.unpack_from(data, capacity * step_at + last * 8)
        [wall_time] = _FLOAT64.unpack_from(data, capacity * wall_time_at + last * 8)
        float_ = _FLOAT32 if size == 4 else _FLOAT64
        [value] = float_.unpack_from(data, capacity * value_at + last * size)
        return step, wall_time, value

    def highest_step(self) -> int | None:
        """Of all rows, None if there are none; the loader's thread only."""
        if not self.length:
            return None
        if self.arithmetic_steps is not None:
            return self.arithmetic_steps.first + self.arithmetic_steps.stride * (self.length - 1)
        step = self._column(STEP, 0, self.length)
        rising = self._count_sorted(step)
        highest = int(step[rising - 1])
        return highest if rising == self.length else max(highest, int(step[rising:].max()))

    # -- growing: each of these gives another series; the loader's thread only -----------------

    def appended(
        self, columns: Sequence[Any], ordinals: int | Rows, *, spare_share: float = LIVE_SPARE_SHARE
    ) -> Series:
        """With these rows behind. `columns` are copied; one may be a single number for all rows.

        `ordinals` are those of the rows, or the first one of consecutive ones. `spare_share` is the room
        to make beyond the rows, as a share of them, if the block is outgrown.
        """
        count = len(columns[STEP])
        layout, length, need = self.layout, self.length, self.length + count
        block, capacity = self.block, self.capacity
        arithmetic = None
        if layout is not REFERENCE:
            arithmetic = self._steps_with(columns[STEP])
            is_single = layout is FLOAT32 or layout is FLOAT32_NO_STEPS
            value = _as_float32(columns[VALUE]) if is_single else None
            if value is None:
                layout = FLOAT64_NO_STEPS if arithmetic else FLOAT64
            else:
                layout = FLOAT32_NO_STEPS if arithmetic else FLOAT32
                columns = (columns[STEP], columns[WALL_TIME], value)
        if need > capacity or layout is not self.layout:
            capacity = max(_capacity_for(need, spare_share), capacity)
            block = self._copied(layout, capacity, slice(0, length))
        for (dtype, size, start), column in zip(layout.columns, columns, strict=True):
            if size:
                np.ndarray((count,), dtype, block, capacity * start + length * size)[...] = column
        num_nonfinite = self.num_nonfinite
        if layout is not REFERENCE:
            num_nonfinite += _num_nonfinite(
                _column_view(block, layout, capacity, VALUE, length, need)
            )
        return Series(
            self.kind,
            layout,
            block,
            capacity,
            need,
            arithmetic,
            self._ordinal_ranges_with(ordinals, count),
            self._num_sorted,
            num_nonfinite,
        )

    def purged(self, limit: int, *, num_shared: int) -> Series:
        """Without the rows whose step is `limit` or above; itself if there are none.

        `num_shared` tells how many of the block's rows a reader may hold: those are not given up
        to be written to again.
        """
        if self.arithmetic_steps is not None:
            cut = self.arithmetic_steps.num_below(limit, self.length)
            return self if cut == self.length else self._first_rows(cut, num_shared)
        step = self._column(STEP, 0, self.length)
        rising = self._count_sorted(step)
        # A job that restarts goes back from its last step, so that the rows to drop are the last
        # ones, found without looking at all. Not so after files were read that were written at
        # the same time.
        cut = int(np.searchsorted(step[:rising], limit))
        others = np.flatnonzero(step[rising:] < limit) + rising
        if cut == rising and len(others) == self.length - rising:
            return self
        if len(others):
            return self.select_rows(np.concatenate([np.arange(cut, dtype=np.int64), others]))
        return self._first_rows(cut, num_shared)

    def _first_rows(self, cut: int, num_shared: int) -> Series:
        """The first rows only; see `purged`."""
        ordinals = None if self.ordinal_ranges is None else self.ordinal_ranges.cut(cut)
        num_nonfinite = self.num_nonfinite
        if num_nonfinite:
            num_nonfinite -= _num_nonfinite(self._column(VALUE, cut, self.length))
        block, capacity = self.block, self.capacity
        if cut < num_shared:
            capacity = _capacity_for(cut, LOADED_SPARE_SHARE)
            block = self._copied(self.layout, capacity, slice(0, cut))
        return Series(
            self.kind,
            self.layout,
            block,
            capacity,
            cut,
            self.arithmetic_steps,
            ordinals,
            cut,
            num_nonfinite,
        )

    def downsampled(self, max_rows: int) -> Series:
        """Only a sample of its rows, if there are more than `max_rows`."""
        if self.length <= max_rows:
            return self
        return self.select_rows(self.sampled_rows(max_rows))

    def select_rows(self, rows: Rows) -> Series:
        """Only these rows, with the ordinals they have; `rows` are rising."""
        layout = {FLOAT32_NO_STEPS: FLOAT32, FLOAT64_NO_STEPS: FLOAT64}.get(
            self.layout, self.layout
        )
        capacity = _capacity_for(len(rows), LOADED_SPARE_SHARE)
        block = self._copied(layout, capacity, rows)
        ordinals = self.ordinals_at(rows)
        is_implied = not len(rows) or int(ordinals[-1]) == len(rows) - 1
        num_nonfinite = self.num_nonfinite
        if num_nonfinite:
            num_nonfinite = _num_nonfinite(self._column(VALUE, 0, self.length)[rows])
        return Series(
            self.kind,
            layout,
            block,
            capacity,
            len(rows),
            None,
            None if is_implied else OrdinalRanges.of(ordinals),
            num_nonfinite=num_nonfinite,
        )

    @property
    def is_trimmed(self) -> bool:
        """Whether there is little spare room."""
        return _is_trimmed(self.capacity, self.length)

    def trimmed(self) -> Series:
        """With little spare room; itself if there is little already."""
        if self.is_trimmed:
            return self
        capacity = _capacity_for(self.length, LOADED_SPARE_SHARE)
        block = self._copied(self.layout, capacity, slice(0, self.length))
        return Series(
            self.kind,
            self.layout,
            block,
            capacity,
            self.length,
            self.arithmetic_steps,
            self.ordinal_ranges,
            self._num_sorted,
            self.num_nonfinite,
        )

    def with_kind(self, kind: Kind) -> Series:
        """The same rows under another kind."""
        return Series(kind, *self._fields_after_kind())

    def _column(self, number: int, start: int, stop: int) -> NDArray[Any]:
        if number == STEP and self.arithmetic_steps is not None:
            return self.arithmetic_steps.at(start, stop)
        return _column_view(self.block, self.layout, self.capacity, number, start, stop)

    def _copied(self, layout: BlockLayout, capacity: int, rows: slice | Rows) -> NDArray[np.uint8]:
        """A new block of `capacity` rows that begins with these ones."""
        block = np.empty(capacity * layout.row_bytes, np.uint8)
        if self.length:
            for number, (_, size, _) in enumerate(layout.columns):
                if size:
                    column = self._column(number, 0, self.length)[rows]
                    _column_view(block, layout, capacity, number, 0, len(column))[...] = column
        return block

    def _steps_with(self, step: Rows) -> ArithmeticSteps | None:
        """The steps with these ones behind them, if they rise evenly."""
        if not self.length:
            return ArithmeticSteps.of(step) if len(step) else None
        return (
            None
            if self.arithmetic_steps is None
            else self.arithmetic_steps.extended_by(self.length, step)
        )

    def _ordinal_ranges_with(self, ordinals: int | Rows, count: int) -> OrdinalRanges | None:
        if isinstance(ordinals, int):
            if self.ordinal_ranges is None and (ordinals == self.length or not count):
                return None
            ordinals = np.arange(ordinals, ordinals + count, dtype=np.int64)
        elif self.ordinal_ranges is None and np.array_equal(
            ordinals, np.arange(self.length, self.length + count)
        ):
            return None
        known = self.ordinal_ranges
        if known is None:
            start = np.zeros(1 if self.length else 0, np.int64)
            known = OrdinalRanges(start, start, sampling.Sampler())
        return known.extended_by(self.length, ordinals)

    def _count_sorted(self, step: NDArray[np.int64]) -> int:
        """How many of the first rows do not step back; remembered, so that each row is looked at
        once."""
        known = max(self._num_sorted, min(1, self.length))
        back = step[known:] < step[known - 1 : -1] if known else step[:0]
        self._num_sorted = known + int(back.argmax()) if back.any() else self.length
        return self._num_sorted


class SeriesBlock:
    """First rows of series that have equally many, in one block of memory."""

    __slots__ = ("_arithmetic_steps", "_block", "_capacity", "_layout", "_length", "_num_nonfinite")

    def __init__(
        self,
        layout: BlockLayout,
        block: NDArray[np.uint8],
        capacity: int,
        length: int,
        arithmetic_steps: ArithmeticSteps | None,
        num_nonfinite: Sequence[int] | None,
    ) -> None:
        self._layout = layout
        self._block = block
        self._capacity = capacity
        self._length = length
        """Of each series, as the capacity and the steps."""
        self._arithmetic_steps = arithmetic_steps
        self._num_nonfinite = num_nonfinite
        """By series; None where all values are finite."""

    @classmethod
    def of(
        cls, layout: BlockLayout, num_series: int, columns: Sequence[Any], *, spare_share: float
    ) -> SeriesBlock:
        """From the layout's columns of so many series, one behind the other; they are copied.

        The layout is FLOAT32 or REFERENCE. One column may be a single number for all rows.
        """
        shape = num_series, len(columns[STEP]) // num_series
        num_rows = shape[1]
        arithmetic = num_nonfinite = None
        if layout is FLOAT32:
            arithmetic = _common_steps(columns[STEP].tobytes(), num_series)
            layout = FLOAT32_NO_STEPS if arithmetic else FLOAT32
            is_finite = np.isfinite(columns[VALUE])
            if not is_finite.all():
                num_finite = np.count_nonzero(is_finite.reshape(shape), axis=1)
                num_nonfinite = (num_rows - num_finite).tolist()
        capacity = _capacity_for(num_rows, spare_share)
        size = _series_bytes(layout, capacity)
        block = np.empty(num_series * size, np.uint8)
        for (dtype, width, start), column in zip(layout.columns, columns, strict=True):
            if width:
                rows = column if isinstance(column, int) else column.reshape(shape)
                np.ndarray(shape, dtype, block, capacity * start, (size, width))[...] = rows
        return cls(layout, block, capacity, num_rows, arithmetic, num_nonfinite)

    def __reduce__(self) -> tuple[type[SeriesBlock], tuple[Any, ...]]:
        """As pickling would find it by itself, in a fraction of the time."""
        rest = (
            self._block,
            self._capacity,
            self._length,
            self._arithmetic_steps,
            self._num_nonfinite,
        )
        return SeriesBlock, (self._layout, *rest)

    @property
    def is_trimmed(self) -> bool:
        """Whether there is little spare room."""
        return _is_trimmed(self._capacity, self._length)

    def nonfinite_series(self) -> list[int]:
        """Which of the series have values that are NaN or infinite."""
        return [number for number, count in enumerate(self._num_nonfinite or ()) if count]

    def series(self, number: int, kind: Kind) -> Series:
        """One of them, as a view of the block."""
        size = _series_bytes(self._layout, self._capacity)
        return Series(
            kind,
            self._layout,
            self._block[number * size : (number + 1) * size],
            self._capacity,
            self._length,
            self._arithmetic_steps,
            num_nonfinite=self._num_nonfinite[number] if self._num_nonfinite else 0,
        )


@lru_cache(maxsize=16)
def _common_steps(steps: bytes, num_series: int) -> ArithmeticSteps | None:
    """Of so many series with these steps, if all have the same. Those of a sweep's runs have."""
    rows = np.frombuffer(steps, np.int64).reshape(num_series, -1)
    arithmetic = ArithmeticSteps.of(rows[0])
    return arithmetic if arithmetic is not None and (rows == rows[0]).all() else None


def _series_bytes(layout: BlockLayout, capacity: int) -> int:
    """Of one series in a block of many: each begins where eight bytes do."""
    return -(-capacity * layout.row_bytes // 8) * 8


def _column_view(
    block: NDArray[np.uint8], layout: BlockLayout, capacity: int, number: int, start: int, stop: int
) -> NDArray[Any]:
    dtype, size, at = layout.columns[number]
    return np.ndarray((stop - start,), dtype, block, capacity * at + start * size)


def _num_nonfinite(values: NDArray[np.floating[Any]]) -> int:
    return len(values) - int(np.count_nonzero(np.isfinite(values)))


def _is_trimmed(capacity: int, length: int) -> bool:
    return capacity <= _capacity_for(length, LIVE_SPARE_SHARE)


def _capacity_for(length: int, spare_share: float) -> int:
    return length + max(int(length * spare_share), _MIN_SPARE_ROWS)


def _as_float32(value: NDArray[Any]) -> NDArray[Any] | None:
    """The values as float32, None when one of them needs more."""
    if value.dtype.itemsize <= 4:
        return value
    with np.errstate(over="ignore", invalid="ignore"):
        single = value.astype(np.float32)
        is_exact = (single == value) | np.isnan(value)
    return single if is_exact.all() else None


def _range_starts(ordinals: Rows) -> Rows:
    """Where a range begins in rising ordinals: at 0, and wherever one does not follow the other."""
    if not len(ordinals):
        return np.empty(0, np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(np.diff(ordinals) != 1) + 1])
