"""Series: the rows of one (run, tag, kind), as columns that only grow at their end.

All columns of a series are in one block of memory, which has spare capacity:

    +---------------------------+---------------------------+--------------+
    | step: capacity x 8 bytes  | wall_time                 | value        |
    | #########------           | #########------           | #####---     |
    +---------------------------+---------------------------+--------------+
    #: the `length` rows, -: spare capacity

Most series have steps with a constant stride, which need no column: see `ArithmeticSteps`.

A `Series` is immutable: it refers to a block, and has a `length`, the number of rows in the block
that belong to it. Appending writes after these rows and returns a new `Series`, which in most cases
uses the same block. Readers of the old `Series` are not affected. Rows must be appended to each
`Series` at most once: a second call would overwrite the rows of the first one.
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
"""Indices of rows in a series."""
PerRow = NDArray[np.int64]
"""One int64 for each row, such as its step or its ordinal."""

LOADED_SPARE_SHARE = 1 / 64
"""Spare capacity of a series whose run has been read to its end, as a share of its rows."""
LIVE_SPARE_SHARE = 1 / 8
"""Spare capacity of a series that outgrows its block while its run is live, as a share of its rows.
A series with more spare capacity than this must be trimmed."""
_MIN_SPARE_ROWS = 2
"""Minimum spare capacity of a new block."""
_MIN_ROWS_TO_CACHE = 1 << 17
"""Minimum length of a series whose samples, and steps without a column, are cached. For fewer rows,
computing them again takes less than a millisecond."""


@dataclass(frozen=True, slots=True, eq=False)
class ScalarSeries:
    """Points of one tag, in the order they were written. Arrays are read-only."""

    ordinal: NDArray[np.int64]
    """Shape (n,), ascending: position of the point among all rows written to its tag, from 0. It
    never changes."""
    step: NDArray[np.int64]
    """Shape (n,), not necessarily ascending."""
    wall_time: NDArray[np.float64]
    """Shape (n,), seconds since the epoch."""
    value: NDArray[np.floating[Any]]
    """Shape (n,), float32, or float64 if a value needs it."""

    def __len__(self) -> int:
        return len(self.value)


class UnsampledSeries(ScalarSeries):
    """All rows of a series from which no row was dropped.

    Ordinals, and steps that have no column, are computed when they are first used: there may be
    millions of them.
    """

    _series: Series

    def __init__(self, series: Series) -> None:
        # The base class is frozen.
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
        """Shape (n,), not necessarily ascending."""
        steps: PerRow = self._series.column(STEP)
        return steps


class LastPoints(NamedTuple):
    """The last point of each tag of a run, as columns."""

    tags: list[str]
    """The tags that have points, in order of first appearance."""
    step: NDArray[np.int64]
    """Shape (n,), one step for each of `tags`."""
    wall_time: NDArray[np.float64]
    """Shape (n,), seconds since the epoch."""
    value: NDArray[np.float64]
    """Shape (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemSeries:
    """Steps and times of one tag's items, in the order they were written, without their data."""

    ordinal: NDArray[np.int64]
    """Shape (n,), ascending: position of the item among all rows written to its tag, from 0. It
    never changes."""
    step: NDArray[np.int64]
    """Shape (n,), not necessarily ascending."""
    wall_time: NDArray[np.float64]
    """Shape (n,), seconds since the epoch."""

    def __len__(self) -> int:
        return len(self.step)


class BlockLayout:
    """The columns of a block: their types, and where they are."""

    __slots__ = ("columns", "row_bytes")

    def __init__(self, *types: str, has_steps: bool = True) -> None:
        """`types` are the dtypes of the columns, of which the first is the column of steps.

        With `has_steps` false, the block has no column of steps.
        """
        self.columns: list[tuple[np.dtype[Any], int, int]] = []
        """For each column, its dtype, its size in bytes per row, and `bytes_before`, the size of
        all columns before it. The column begins at byte `capacity * bytes_before` of the block.
        Columns of 8 bytes come first, so that all columns are aligned. A column of steps that is
        left out has the size 0."""
        self.row_bytes = 0
        """Bytes of one row in all columns."""
        for index, dtype in enumerate(map(np.dtype, types)):
            size = dtype.itemsize if index or has_steps else 0
            self.columns.append((dtype, size, self.row_bytes))
            self.row_bytes += size


class ArithmeticSteps(NamedTuple):
    """Steps with a constant stride: step i is first + i * stride."""

    first: int
    stride: int
    """At least 0."""

    def at(self, start: int, stop: int) -> PerRow:
        """The steps of the rows in `range(start, stop)`."""
        if stop - start >= _MIN_ROWS_TO_CACHE:
            return _cached_steps(self, start, stop)
        return np.arange(start, stop, dtype=np.int64) * self.stride + self.first

    @classmethod
    def of(cls, step: PerRow) -> ArithmeticSteps | None:
        """Describes `step`, which is not empty; None if it has no constant stride.

        Also returns None if the stride is negative, or at least _MAX_STRIDE.
        """
        return cls(int(step[0]), 0).extended_by(1, step[1:])

    def extended_by(self, length: int, step: PerRow) -> ArithmeticSteps | None:
        """The first `length` of these steps followed by `step`; None if the stride varies.

        `length` is at least 1.
        """
        # 1. If there is only one step so far, the first new one determines the stride.
        # 2. Compare the last new step with the expected one: this rules out most steps that
        #    have no constant stride.
        # 3. Compare all new steps with the expected ones.
        num_new = len(step)
        if not num_new:
            return self
        stride = int(step[0]) - self.first if length == 1 else self.stride  # 1.
        last = self.first + stride * (length + num_new - 1)  # 2.
        if not 0 <= stride < _MAX_STRIDE or int(step[-1]) != last:
            return None
        extended = self if stride == self.stride else ArithmeticSteps(self.first, stride)  # 3.
        if num_new > _MAX_STEPS_COMPARED_AS_LIST or not stride:
            return extended if (step == extended.at(length, length + num_new)).all() else None
        expected = [*range(last - stride * (num_new - 1), last + 1, stride)]
        return extended if step.tolist() == expected else None

    def num_below(self, limit: int, length: int) -> int:
        """How many of the first `length` steps are below the limit."""
        if not self.stride:
            return length if self.first < limit else 0
        # This is (limit - first) / stride, rounded up.
        return min(max(-((self.first - limit) // self.stride), 0), length)


@lru_cache(maxsize=1)
def _cached_steps(arithmetic_steps: ArithmeticSteps, start: int, stop: int) -> PerRow:
    """The steps of the rows in `range(start, stop)`, read-only.

    One result is cached: a page requests the same steps again and again, and often all tags of a
    run have the same steps.
    """
    steps = np.arange(start, stop, dtype=np.int64)
    steps *= arithmetic_steps.stride
    steps += arithmetic_steps.first
    steps.flags.writeable = False
    return steps


_MAX_STEPS_COMPARED_AS_LIST = 64
"""Maximum number of steps that are compared as lists. For so few, calling numpy takes longer."""
_MAX_STRIDE = 1 << 62
"""All strides are below this bound, so that they fit into an int64."""

STEP = 0
"""Index of the column of steps, in all layouts."""
WALL_TIME = 1
"""Index of the column of wall times, in all layouts."""
VALUE = 2
"""Index of the column of values, in layouts of scalars."""
OFFSET, LENGTH, INDEX, CRC, FILE = 2, 3, 4, 5, 6
"""Indices of the columns that only the layout of references has."""

FLOAT32 = BlockLayout("i8", "f8", "f4")
"""Layout of scalars: step, wall time, value."""
FLOAT64 = BlockLayout("i8", "f8", "f8")
"""Layout of scalars if a value needs more than float32."""
FLOAT32_NO_STEPS = BlockLayout("i8", "f8", "f4", has_steps=False)
"""Layout of float32 scalars with a constant stride."""
FLOAT64_NO_STEPS = BlockLayout("i8", "f8", "f8", has_steps=False)
"""Layout of float64 scalars with a constant stride."""
REFERENCE = BlockLayout("i8", "f8", "i8", "u4", "u4", "u4", "u4")
"""Layout of references: step, wall time, and the location of the payload (OFFSET to FILE)."""


_EMPTY_BLOCK = np.empty(0, np.uint8)

_INT64, _FLOAT64, _FLOAT32 = map(struct.Struct, ("=q", "=d", "=f"))


class OrdinalRanges:
    """The ordinals of a series from which rows were dropped, as ranges of consecutive ordinals.

    Immutable. The last range extends to the end of the series, however long the series is.
    """

    __slots__ = ("_first_ordinals", "_first_rows", "sampler")

    def __init__(self, first_rows: Rows, first_ordinals: PerRow, sampler: sampling.Sampler) -> None:
        self._first_rows = first_rows
        """Shape (num_ranges,): the first row of each range."""
        self._first_ordinals = first_ordinals
        """Shape (num_ranges,): the ordinal of the first row of each range."""
        self.sampler = sampler
        """Shared with the objects that `extended_by` makes from this one, since they only add
        ordinals."""

    @classmethod
    def of(cls, ordinals: PerRow) -> OrdinalRanges:
        """The ranges that these ascending ordinals form."""
        starts = _range_starts(ordinals)
        return cls(starts, ordinals[starts], sampling.Sampler())

    @property
    def num_ranges(self) -> int:
        return len(self._first_rows)

    def at(self, rows: Rows) -> PerRow:
        """The ordinals of these rows."""
        ranges = np.searchsorted(self._first_rows, rows, side="right") - 1
        return self._first_ordinals[ranges] + (rows - self._first_rows[ranges])

    def candidate_row(self, ordinal: int) -> int:
        """The only row that can have this ordinal; -1 if all ordinals of the series are higher.

        If the row with this ordinal was dropped, the result is a later row, or beyond the end of
        the series. So the caller must compare the ordinal of the returned row.
        """
        range_index = int(np.searchsorted(self._first_ordinals, ordinal, side="right")) - 1
        if range_index < 0:
            return -1
        return int(self._first_rows[range_index] + (ordinal - self._first_ordinals[range_index]))

    def extended_by(self, length: int, ordinals: PerRow) -> OrdinalRanges:
        """The ranges of the first `length` rows followed by rows with these ordinals."""
        if not len(ordinals):
            return self
        starts = _range_starts(ordinals)
        if length and int(self.at(np.array([length]))[0]) == int(ordinals[0]):
            starts = starts[1:]  # The first new row continues the last range.
        if not len(starts):
            return self
        return OrdinalRanges(
            np.concatenate([self._first_rows, starts + length]),
            np.concatenate([self._first_ordinals, ordinals[starts]]),
            self.sampler,
        )

    def truncated(self, length: int) -> OrdinalRanges:
        """The ranges of the first `length` rows.

        The result has a sampler of its own, since rows with other ordinals may be appended.
        """
        num_ranges = int(np.searchsorted(self._first_rows, length))
        return OrdinalRanges(
            self._first_rows[:num_ranges], self._first_ordinals[:num_ranges], sampling.Sampler()
        )


class Series:
    """The rows of one (run, tag, kind) at one moment. Immutable for readers."""

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
        ordinal_ranges: OrdinalRanges | None = None,
        num_sorted: int = 0,
        num_nonfinite: int = 0,
    ) -> None:
        self.kind = kind
        self.layout = layout
        self.block = block
        """The memory of all columns. Other series may use the same block, with fewer or more rows.
        Rows are appended to each series at most once, so no series overwrites another's rows."""
        self.capacity = capacity
        """Number of rows that fit into the block."""
        self.length = length
        self.arithmetic_steps = arithmetic_steps
        """The steps, if the block has no column of steps; otherwise None."""
        self.ordinal_ranges = ordinal_ranges
        """The ordinals, or None if they are 0, 1, 2, ..."""
        self.num_nonfinite = num_nonfinite
        """How many values are NaN or infinite; 0 for references."""
        self._num_sorted = num_sorted
        """Number of rows, from the start, whose steps are known to be ascending. `_count_sorted`
        updates it."""

    @classmethod
    def empty(cls, kind: Kind) -> Series:
        """A series without rows and without capacity."""
        return cls(kind, FLOAT32 if kind.is_scalar else REFERENCE, _EMPTY_BLOCK, 0, 0)

    def __len__(self) -> int:
        return self.length

    def __reduce__(self) -> tuple[type[Series], tuple[Any, ...]]:
        """Pickles the arguments of the constructor: several times as fast as the default."""
        return Series, (self.kind, *self._fields_after_kind())

    def _fields_after_kind(self) -> tuple[Any, ...]:
        """All arguments of the constructor after `kind`."""
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

    def column(self, index: int) -> NDArray[Any]:
        """A column as a read-only view of shape (length,)."""
        view = self._column(index, 0, self.length)
        view.flags.writeable = False
        return view

    def column_at(self, index: int, rows: Rows) -> NDArray[Any]:
        """A copy of these rows of a column."""
        if index == STEP and self.arithmetic_steps is not None:
            return rows * self.arithmetic_steps.stride + self.arithmetic_steps.first
        return self._column(index, 0, self.length)[rows]

    def sampled_rows(self, samples: int) -> Rows:
        """The rows in a sample of this size, ascending; all rows if `samples` is 0."""
        if self.ordinal_ranges is None:
            return sampling.sampled_rows(self.length, samples)
        if self.length < _MIN_ROWS_TO_CACHE:
            return sampling.sampled_rows_of(self.ordinals_between(0, self.length), samples)
        return self.ordinal_ranges.sampler.sampled_rows(self.length, samples, self.ordinals_between)

    def ordinals_at(self, rows: Rows) -> PerRow:
        """The ordinals of these rows."""
        return rows if self.ordinal_ranges is None else self.ordinal_ranges.at(rows)

    def ordinals_between(self, start: int, stop: int) -> PerRow:
        """The ordinals of the rows in `range(start, stop)`."""
        return self.ordinals_at(np.arange(start, stop, dtype=np.int64))

    def row_of(self, ordinal: int) -> int | None:
        """The row with this ordinal; None if there is no such row."""
        if not 0 <= ordinal < 1 << 63:
            return None
        row = ordinal if self.ordinal_ranges is None else self.ordinal_ranges.candidate_row(ordinal)
        if not 0 <= row < self.length:
            return None
        return row if int(self.ordinals_between(row, row + 1)[0]) == ordinal else None

    def last_point(self) -> tuple[int, float, float]:
        """Step, wall time and value of the last row. For scalars with at least one row."""
        # Creating no array views is faster: a request may need the last points of 100,000 series.
        data, last, capacity = self.block.data, self.length - 1, self.capacity
        (_, _, before_step), (_, _, before_wall_time), (_, size, before_value) = self.layout.columns
        if self.arithmetic_steps is not None:
            step = self.arithmetic_steps.first + self.arithmetic_steps.stride * last
        else:
            [step] = _INT64.unpack_from(data, capacity * before_step + last * 8)
        [wall_time] = _FLOAT64.unpack_from(data, capacity * before_wall_time + last * 8)
        float_ = _FLOAT32 if size == 4 else _FLOAT64
        [value] = float_.unpack_from(data, capacity * before_value + last * size)
        return step, wall_time, value

    def highest_step(self) -> int | None:
        """The highest step; None if there are no rows. For the loader's thread only."""
        if not self.length:
            return None
        if self.arithmetic_steps is not None:
            return self.arithmetic_steps.first + self.arithmetic_steps.stride * (self.length - 1)
        step = self._column(STEP, 0, self.length)
        num_sorted = self._count_sorted(step)
        highest = int(step[num_sorted - 1])
        if num_sorted == self.length:
            return highest
        return max(highest, int(step[num_sorted:].max()))

    # -- changing: each method returns a series; for the loader's thread only ------------------

    def appended(
        self,
        columns: Sequence[Any],
        ordinals: int | PerRow,
        *,
        spare_share: float = LIVE_SPARE_SHARE,
    ) -> Series:
        """This series with more rows at its end.

        `columns` are copied; one of them may be a single number for all rows. `ordinals` are the
        ordinals of the new rows, or only the first ordinal if they are consecutive. If the block is
        too small, `spare_share` is the spare capacity of a new block, as a share of its rows.
        """
        # 1. Choose the layout: float64 only if a value needs it, steps only if the stride varies.
        # 2. If the new rows do not fit, or if the layout changes, copy the old rows to a new block.
        # 3. Write the new rows after the old ones.
        # 4. Count the non-finite values among the new rows.
        num_new = len(columns[STEP])
        layout, length, new_length = self.layout, self.length, self.length + num_new
        block, capacity = self.block, self.capacity
        # 1.
        arithmetic_steps = None
        if layout is not REFERENCE:
            arithmetic_steps = self._steps_with(columns[STEP])
            is_float32 = layout is FLOAT32 or layout is FLOAT32_NO_STEPS
            value = _as_float32(columns[VALUE]) if is_float32 else None
            if value is None:
                layout = FLOAT64_NO_STEPS if arithmetic_steps else FLOAT64
            else:
                layout = FLOAT32_NO_STEPS if arithmetic_steps else FLOAT32
                columns = (columns[STEP], columns[WALL_TIME], value)
        # 2.
        if new_length > capacity or layout is not self.layout:
            capacity = max(_capacity_for(new_length, spare_share), capacity)
            block = self._copied(layout, capacity, slice(0, length))
        # 3.
        for (dtype, size, bytes_before), column in zip(layout.columns, columns, strict=True):
            if size:
                begin = capacity * bytes_before + length * size
                np.ndarray((num_new,), dtype, block, begin)[...] = column
        num_nonfinite = self.num_nonfinite  # 4.
        if layout is not REFERENCE:
            num_nonfinite += _count_nonfinite(
                _column_view(block, layout, capacity, VALUE, length, new_length)
            )
        return Series(
            self.kind,
            layout,
            block,
            capacity,
            new_length,
            arithmetic_steps,
            self._ordinal_ranges_with(ordinals, num_new),
            self._num_sorted,
            num_nonfinite,
        )

    def purged(self, limit: int, *, num_shared: int) -> Series:
        """This series without the rows whose step is `limit` or above; itself if it has none.

        `num_shared` is the number of rows of the block that readers may have views of. These rows
        must never be overwritten: if some of them are dropped, the rows that stay are copied to a
        new block.
        """
        if self.arithmetic_steps is not None:
            num_kept = self.arithmetic_steps.num_below(limit, self.length)
            return self if num_kept == self.length else self._truncated(num_kept, num_shared)
        # A job that restarts goes back from its last step, so the rows to drop are nearly always
        # the last ones, and binary search finds them. Only if files of the run were written at
        # the same time do steps jump back without a restart; steps 2 and 3 handle that.
        # 1. Count the rows to keep among the sorted rows (see `_count_sorted`) by binary search.
        # 2. Among the rows after the sorted ones, compare each step with the limit.
        # 3. If rows after the sorted ones are kept, copy all kept rows; otherwise truncate.
        step = self._column(STEP, 0, self.length)
        num_sorted = self._count_sorted(step)
        num_kept = int(np.searchsorted(step[:num_sorted], limit))  # 1.
        kept_later = np.flatnonzero(step[num_sorted:] < limit) + num_sorted  # 2.
        if num_kept == num_sorted and len(kept_later) == self.length - num_sorted:
            return self
        if len(kept_later):  # 3.
            return self.select_rows(
                np.concatenate([np.arange(num_kept, dtype=np.int64), kept_later])
            )
        return self._truncated(num_kept, num_shared)

    def _truncated(self, length: int, num_shared: int) -> Series:
        """The first `length` rows, whose steps are ascending; for `num_shared` see `purged`."""
        ordinal_ranges = None
        if self.ordinal_ranges is not None:
            ordinal_ranges = self.ordinal_ranges.truncated(length)
        num_nonfinite = self.num_nonfinite
        if num_nonfinite:
            num_nonfinite -= _count_nonfinite(self._column(VALUE, length, self.length))
        block, capacity = self.block, self.capacity
        if length < num_shared:
            capacity = _capacity_for(length, LOADED_SPARE_SHARE)
            block = self._copied(self.layout, capacity, slice(0, length))
        return Series(
            self.kind,
            self.layout,
            block,
            capacity,
            length,
            self.arithmetic_steps,
            ordinal_ranges,
            length,
            num_nonfinite,
        )

    def downsampled(self, max_rows: int) -> Series:
        """A sample of `max_rows` rows of this series; itself if it has at most `max_rows`."""
        if self.length <= max_rows:
            return self
        return self.select_rows(self.sampled_rows(max_rows))

    def select_rows(self, rows: Rows) -> Series:
        """A copy of these rows, which must be ascending. The rows keep their ordinals."""
        # The selected steps need a column: their stride may not be constant.
        layout = {FLOAT32_NO_STEPS: FLOAT32, FLOAT64_NO_STEPS: FLOAT64}.get(
            self.layout, self.layout
        )
        capacity = _capacity_for(len(rows), LOADED_SPARE_SHARE)
        block = self._copied(layout, capacity, rows)
        ordinals = self.ordinals_at(rows)
        # Ordinals are ascending, so the last one shows whether they are 0, 1, 2, ...
        has_gaps = bool(len(rows)) and int(ordinals[-1]) != len(rows) - 1
        num_nonfinite = self.num_nonfinite
        if num_nonfinite:
            num_nonfinite = _count_nonfinite(self._column(VALUE, 0, self.length)[rows])
        return Series(
            self.kind,
            layout,
            block,
            capacity,
            len(rows),
            None,
            OrdinalRanges.of(ordinals) if has_gaps else None,
            num_nonfinite=num_nonfinite,
        )

    @property
    def is_trimmed(self) -> bool:
        """Whether the spare capacity is at most that of a live series."""
        return _is_trimmed(self.capacity, self.length)

    def trimmed(self) -> Series:
        """This series with little spare capacity; itself if `is_trimmed`."""
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
        """This series with another kind."""
        return Series(kind, *self._fields_after_kind())

    def _column(self, index: int, start: int, stop: int) -> NDArray[Any]:
        """The rows in `range(start, stop)` of a column; may be a writable view of the block."""
        if index == STEP and self.arithmetic_steps is not None:
            return self.arithmetic_steps.at(start, stop)
        return _column_view(self.block, self.layout, self.capacity, index, start, stop)

    def _copied(self, layout: BlockLayout, capacity: int, rows: slice | Rows) -> NDArray[np.uint8]:
        """A new block of `capacity` rows that begins with these rows of the series."""
        block = np.empty(capacity * layout.row_bytes, np.uint8)
        if self.length:
            for index, (_, size, _) in enumerate(layout.columns):
                if size:
                    column = self._column(index, 0, self.length)[rows]
                    _column_view(block, layout, capacity, index, 0, len(column))[...] = column
        return block

    def _steps_with(self, step: PerRow) -> ArithmeticSteps | None:
        """The steps of the series followed by `step`; None if their stride is not constant."""
        if not self.length:
            return ArithmeticSteps.of(step) if len(step) else None
        if self.arithmetic_steps is None:
            return None
        return self.arithmetic_steps.extended_by(self.length, step)

    def _ordinal_ranges_with(self, ordinals: int | PerRow, num_new: int) -> OrdinalRanges | None:
        """The ordinals of the series and of `num_new` more rows; None if they are 0, 1, 2, ...

        `ordinals` has one of the forms that `appended` takes.
        """
        if isinstance(ordinals, int):
            if self.ordinal_ranges is None and (ordinals == self.length or not num_new):
                return None
            ordinals = np.arange(ordinals, ordinals + num_new, dtype=np.int64)
        elif self.ordinal_ranges is None and np.array_equal(
            ordinals, np.arange(self.length, self.length + num_new)
        ):
            return None
        known = self.ordinal_ranges
        if known is None:
            # The ordinals so far are 0, 1, 2, ...: one range, or none if there are no rows.
            zero = np.zeros(1 if self.length else 0, np.int64)
            known = OrdinalRanges(zero, zero, sampling.Sampler())
        return known.extended_by(self.length, ordinals)

    def _count_sorted(self, step: NDArray[np.int64]) -> int:
        """The number of rows before the first one whose step is lower than the step before it.

        The result is cached, so that each row is compared only once.
        """
        known = max(self._num_sorted, min(1, self.length))
        is_lower = step[known:] < step[known - 1 : -1] if known else step[:0]
        self._num_sorted = known + int(is_lower.argmax()) if is_lower.any() else self.length
        return self._num_sorted


class SeriesBlock:
    """Several series of equal length in one block of memory, with the rows that were read first.

    Each series has a slice of the block. The slice has the layout of a block with one series.
    """

    __slots__ = (
        "_arithmetic_steps",
        "_block",
        "_capacity",
        "_layout",
        "_length",
        "_nonfinite_counts",
    )

    def __init__(
        self,
        layout: BlockLayout,
        block: NDArray[np.uint8],
        capacity: int,
        length: int,
        arithmetic_steps: ArithmeticSteps | None,
        nonfinite_counts: Sequence[int] | None,
    ) -> None:
        self._layout = layout
        self._block = block
        self._capacity = capacity
        self._length = length
        """Number of rows of each series. Capacity and steps are those of each series, too."""
        self._arithmetic_steps = arithmetic_steps
        self._nonfinite_counts = nonfinite_counts
        """The number of NaN and infinite values of each series; None if all values are finite."""

    @classmethod
    def of(
        cls, layout: BlockLayout, num_series: int, columns: Sequence[Any], *, spare_share: float
    ) -> SeriesBlock:
        """Copies the rows of `num_series` series. Each column has one series after another.

        The layout is FLOAT32 or REFERENCE. A column may be one number for all rows.
        """
        # 1. For scalars, choose the layout without steps if possible, and count non-finite values.
        # 2. Allocate one slice of the block for each series.
        # 3. Write each column of all series through one strided view of the block.
        shape = num_series, len(columns[STEP]) // num_series
        num_rows = shape[1]
        arithmetic_steps = nonfinite_counts = None  # 1.
        if layout is FLOAT32:
            arithmetic_steps = _common_steps(columns[STEP].tobytes(), num_series)
            layout = FLOAT32_NO_STEPS if arithmetic_steps else FLOAT32
            is_finite = np.isfinite(columns[VALUE])
            if not is_finite.all():
                num_finite = np.count_nonzero(is_finite.reshape(shape), axis=1)
                nonfinite_counts = (num_rows - num_finite).tolist()
        capacity = _capacity_for(num_rows, spare_share)  # 2.
        slice_bytes = _slice_bytes(layout, capacity)
        block = np.empty(num_series * slice_bytes, np.uint8)
        for (dtype, size, bytes_before), column in zip(layout.columns, columns, strict=True):  # 3.
            if size:
                begin, strides = capacity * bytes_before, (slice_bytes, size)
                given = column if isinstance(column, int) else column.reshape(shape)
                np.ndarray(shape, dtype, block, begin, strides)[...] = given
        return cls(layout, block, capacity, num_rows, arithmetic_steps, nonfinite_counts)

    def __reduce__(self) -> tuple[type[SeriesBlock], tuple[Any, ...]]:
        """Pickles the arguments of the constructor: several times as fast as the default."""
        return SeriesBlock, (
            self._layout,
            self._block,
            self._capacity,
            self._length,
            self._arithmetic_steps,
            self._nonfinite_counts,
        )

    @property
    def is_trimmed(self) -> bool:
        """Whether the spare capacity is at most that of live series."""
        return _is_trimmed(self._capacity, self._length)

    def nonfinite_series_indices(self) -> list[int]:
        """The indices of the series that have NaN or infinite values."""
        return [index for index, count in enumerate(self._nonfinite_counts or ()) if count]

    def series(self, index: int, kind: Kind) -> Series:
        """The series with this index, as a view of the block."""
        slice_bytes = _slice_bytes(self._layout, self._capacity)
        return Series(
            kind,
            self._layout,
            self._block[index * slice_bytes : (index + 1) * slice_bytes],
            self._capacity,
            self._length,
            self._arithmetic_steps,
            num_nonfinite=self._nonfinite_counts[index] if self._nonfinite_counts else 0,
        )


@lru_cache(maxsize=16)
def _common_steps(step_bytes: bytes, num_series: int) -> ArithmeticSteps | None:
    """The steps of each series; None if the series differ, or the steps have no constant stride.

    `step_bytes` has the int64 steps of all series. Cached: runs of a sweep log at the same steps.
    """
    steps = np.frombuffer(step_bytes, np.int64).reshape(num_series, -1)
    first = ArithmeticSteps.of(steps[0])
    return first if first is not None and (steps == steps[0]).all() else None


def _slice_bytes(layout: BlockLayout, capacity: int) -> int:
    """Bytes of one series in a SeriesBlock: a multiple of 8, so that all series are aligned."""
    return -(-capacity * layout.row_bytes // 8) * 8


def _column_view(
    block: NDArray[np.uint8], layout: BlockLayout, capacity: int, index: int, start: int, stop: int
) -> NDArray[Any]:
    """The rows in `range(start, stop)` of a column, as a writable view of the block."""
    dtype, size, bytes_before = layout.columns[index]
    return np.ndarray((stop - start,), dtype, block, capacity * bytes_before + start * size)


def _count_nonfinite(values: NDArray[np.floating[Any]]) -> int:
    """How many of the values are NaN or infinite."""
    return len(values) - int(np.count_nonzero(np.isfinite(values)))


def _is_trimmed(capacity: int, length: int) -> bool:
    """Whether the spare capacity is at most that of a live series with `length` rows."""
    return capacity <= _capacity_for(length, LIVE_SPARE_SHARE)


def _capacity_for(length: int, spare_share: float) -> int:
    """Capacity of a new block for `length` rows, in rows."""
    return length + max(int(length * spare_share), _MIN_SPARE_ROWS)


def _as_float32(value: NDArray[Any]) -> NDArray[Any] | None:
    """The values as float32; None if a value needs float64."""
    if value.dtype.itemsize <= 4:
        return value
    with np.errstate(over="ignore", invalid="ignore"):
        narrowed = value.astype(np.float32)
        is_exact = (narrowed == value) | np.isnan(value)
    return narrowed if is_exact.all() else None


def _range_starts(ordinals: PerRow) -> Rows:
    """The indices at which ranges of consecutive ordinals begin, including 0."""
    if not len(ordinals):
        return np.empty(0, np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(np.diff(ordinals) != 1) + 1])
