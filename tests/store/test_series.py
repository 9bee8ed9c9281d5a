"""Series: columns that grow at their end, without changing what readers have."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tbcore.kinds import Kind
from tbcore.store import series as series_module
from tbcore.store.sampling import sampled_rows_of
from tbcore.store.series import (
    FLOAT32,
    FLOAT64,
    LIVE_SPARE_SHARE,
    STEP,
    VALUE,
    WALL_TIME,
    OrdinalRanges,
    Series,
)

SCALAR = Kind("simple_value", "", True)
IMAGE = Kind("image", "", False)


def scalars(*steps: int) -> list[NDArray[Any]]:
    """Rows whose wall time and value follow from their step."""
    step = np.array(steps, np.int64)
    return [step, step + 0.25, (step / 2).astype(np.float32)]


def series_of(*steps: int) -> Series:
    return Series.empty(SCALAR).appended(scalars(*steps), 0)


def steps_of(series: Series) -> list[int]:
    return list(series.column(STEP).tolist())


def ordinals_of(series: Series) -> list[int]:
    return list(series.ordinals_between(0, len(series)).tolist())


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.5, 1e300, np.nan, np.inf])))),
    st.integers(0, 9),
    st.integers(1, 9),
)
def test_nonfinite_values_are_counted(
    blocks: list[list[tuple[int, float]]], limit: int, max_rows: int
) -> None:
    """The count is right after any rows are appended or dropped."""
    series = Series.empty(SCALAR)
    for block in blocks:
        step, value = np.array(block, np.float64).reshape(-1, 2).T
        columns = [step.astype(np.int64), step, value]
        series = series.appended(columns, len(series))
    purged = series.purged(limit, num_shared=0)
    for some in (series, purged, series.downsampled(max_rows), purged.trimmed()):
        assert some.num_nonfinite == np.count_nonzero(~np.isfinite(some.column(VALUE)))


@given(st.lists(st.lists(st.integers(-3, 9))), st.integers(-3, 9))
def test_the_highest_step_is_known(blocks: list[list[int]], limit: int) -> None:
    """Steps may be in any order, and rows may have been dropped."""
    series = Series.empty(SCALAR)
    for block in blocks:
        series = series.appended(scalars(*block), len(series))
        assert series.highest_step() == max(steps_of(series), default=None)
    series = series.purged(limit, num_shared=0)
    assert series.highest_step() == max(steps_of(series), default=None)


def test_columns_have_the_rows_that_were_appended() -> None:
    """All columns are right, also after a block was replaced by a larger one."""
    series = Series.empty(SCALAR)
    for start in range(0, 1000, 7):
        series = series.appended(scalars(*range(start, start + 7)), start)
    steps = np.arange(1001)
    assert len(series) == 1001
    assert series.column(STEP).tolist() == steps.tolist()
    assert series.column(WALL_TIME).tolist() == (steps + 0.25).tolist()
    assert series.column(VALUE).tolist() == (steps / 2).tolist()
    assert series.column(VALUE).dtype == np.float32
    assert series.ordinal_ranges is None


def test_a_series_in_use_does_not_change() -> None:
    """A series has none of the rows that are appended later, in its block or in another one."""
    seen = []
    series = Series.empty(SCALAR)
    for step in range(200):
        series = series.appended(scalars(step), step)
        seen.append((series, series.column(STEP), series.column(VALUE)))
    for step, (old, steps, values) in enumerate(seen):
        assert len(old) == step + 1
        assert steps.tolist() == list(range(step + 1))
        assert values.tolist() == [s / 2 for s in range(step + 1)]


def test_columns_are_read_only() -> None:
    """Plugins get views of the store's own memory."""
    with pytest.raises(ValueError):
        series_of(1, 2).column(STEP)[0] = 3


def test_source_arrays_are_copied_even_if_unaligned() -> None:
    """Decoding returns views of a buffer that it overwrites."""
    buffer = bytearray(3 + 4 * 20)
    rows = np.ndarray(
        (4,), [("step", "<i8"), ("wall_time", "<f8"), ("value", "<f4")], buffer, 3, (20,)
    )
    rows["step"], rows["wall_time"], rows["value"] = [1, 2, 3, 4], 0.5, 0.25
    series = Series.empty(SCALAR).appended(
        [
            np.ndarray((4,), form, buffer, 3 + at, (20,))
            for form, at in [("<i8", 0), ("<f8", 8), ("<f4", 16)]
        ],
        0,
    )
    buffer[:] = bytes(len(buffer))
    assert steps_of(series) == [1, 2, 3, 4]
    assert series.column(VALUE).tolist() == [0.25] * 4


@pytest.mark.parametrize(
    ("values", "layout"),
    [
        ([0.5, 1.0, -0.0], FLOAT32),
        ([np.nan, np.inf, -np.inf], FLOAT32),
        ([2.0**100, 2.0**-149], FLOAT32),
        ([0.1], FLOAT64),
        ([1e300], FLOAT64),
        ([2.0**24 + 1], FLOAT64),
        ([float(2**53)], FLOAT32),
        ([1e-300], FLOAT64),
    ],
)
def test_values_are_float32_as_long_as_nothing_is_lost(values: list[float], layout: object) -> None:
    """All values take eight bytes as soon as one of them needs float64."""
    rows = scalars(*range(len(values)))
    rows[VALUE] = np.array(values, np.float64)
    series = series_of(7).appended(rows, 1)
    assert series.layout is layout
    assert np.array_equal(series.column(VALUE), [3.5, *values], equal_nan=True)
    assert series.appended(scalars(4), 4).layout is layout


@pytest.mark.parametrize(("is_arithmetic", "max_row_bytes"), [(True, 14), (False, 22)])
def test_points_cost_little_memory(is_arithmetic: bool, max_row_bytes: int) -> None:
    """A loaded series takes 20 bytes per row and some spare capacity, 8 bytes less with a constant
    stride. This holds even if its length was not known in advance."""
    step = np.arange(10_000, dtype=np.int64) * 10
    step[5] += not is_arithmetic
    wall_time, value = step.astype(np.float64), np.ones(10_000, np.float32)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    series = Series.empty(SCALAR)
    for start in range(0, 1_000_000, 10_000):
        series = series.appended([step + start * 10, wall_time, value], start, spare_share=1.0)
    series = series.trimmed()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(series) == 1_000_000
    assert used <= max_row_bytes * 1_000_000


STEPS = st.integers(-3, 20) | st.sampled_from([-(2**63), -1, 2**53 + 1, 2**62, 2**63 - 1])


@given(
    st.lists(st.tuples(STEPS | st.none(), st.integers(-1, 3), st.integers(0, 5)), max_size=6),
    STEPS,
    st.booleans(),
)
def test_steps_with_a_constant_stride_are_like_others(
    pieces: list[tuple[int | None, int, int]], limit: int, is_double: bool
) -> None:
    """The stride may stay constant or change, and rows may be dropped and written again."""
    series, expected, stride = Series.empty(SCALAR), [], 1
    for first, other_stride, count in pieces:
        if first is None and expected:
            first = expected[-1] + stride  # If the stride was constant, it stays so.
        stride = other_stride if first is not None and other_stride else stride
        steps = [(first or 0) + i * stride for i in range(count)]
        if not all(-(2**63) <= step < 2**63 for step in steps):
            continue
        columns = [np.array(steps, np.int64), np.arange(count) / 2, np.full(count, 0.5)]
        if is_double:
            columns[VALUE] = np.full(count, 0.1)
        series = series.appended(columns, len(series))
        expected += steps
        assert steps_of(series) == expected
        assert series.highest_step() == max(expected, default=None)
        assert not expected or series.last_point()[0] == expected[-1]
        assert steps_of(series.trimmed()) == expected
    rises = len({b - a for a, b in pairwise(expected)}) <= 1 and expected == sorted(expected)
    fits = len(expected) < 2 or expected[1] - expected[0] < 2**62
    assert (series.arithmetic_steps is not None) == (bool(expected) and rises and fits)
    left = series.purged(limit, num_shared=len(series))
    assert steps_of(left) == [step for step in expected if step < limit]
    left = left.appended(scalars(limit), len(expected))
    assert steps_of(left)[-1] == limit
    assert steps_of(series.downsampled(3)) == [expected[i] for i in sampled_rows_of_first(expected)]


def sampled_rows_of_first(rows: list[int]) -> list[int]:
    """A sample of three rows."""
    return (
        sampled_rows_of(np.arange(len(rows)), 3).tolist() if len(rows) > 3 else [*range(len(rows))]
    )


def test_a_series_that_grows_slowly_has_little_spare_capacity() -> None:
    """Its rows are not copied each time, since a new block has space for an eighth more."""
    series = series_of(*range(10_000)).trimmed()
    blocks = {id(series.block)}
    kept = [series]
    for step in range(10_000, 15_000):
        series = series.appended(scalars(step), step, spare_share=LIVE_SPARE_SHARE)
        blocks.add(id(series.block))
        kept.append(series)
        assert series.capacity <= len(series) * 1.125 + 2
        assert series.trimmed() is series
    assert len(blocks) <= 5


ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.lists(st.integers(-5, 30), max_size=8)), max_size=12
)


@given(ROWS, st.integers(-6, 31), st.booleans())
def test_purging_drops_rows_at_a_step_and_above(
    chunks: list[tuple[int, list[int]]], limit: int, is_shared: bool
) -> None:
    """Rows may be in any order. The others keep their ordinals; the old series is unchanged."""
    series, expected, next_ordinal = Series.empty(SCALAR), [], 0
    for gap, steps in chunks:
        next_ordinal += gap
        series = series.appended(scalars(*steps), next_ordinal)
        expected += [(next_ordinal + i, step) for i, step in enumerate(steps)]
        next_ordinal += len(steps)
    purged = series.purged(limit, num_shared=len(series) if is_shared else 0)
    kept = [(ordinal, step) for ordinal, step in expected if step < limit]
    assert list(zip(ordinals_of(purged), steps_of(purged), strict=True)) == kept
    assert (purged is series) == (len(kept) == len(expected))

    after = purged.appended(scalars(100, 101), next_ordinal)
    assert list(zip(ordinals_of(after), steps_of(after), strict=True)) == [
        *kept,
        (next_ordinal, 100),
        (next_ordinal + 1, 101),
    ]
    assert after.column(WALL_TIME).tolist() == [step + 0.25 for step in steps_of(after)]
    if is_shared:
        assert list(zip(ordinals_of(series), steps_of(series), strict=True)) == expected
    for ordinal, _ in expected:
        row = after.row_of(ordinal)
        assert (row is not None) == (ordinal in [o for o, _ in kept])
        if row is not None:
            assert ordinals_of(after)[row] == ordinal


def test_restarts_do_not_copy_a_long_series_without_readers() -> None:
    """Each restart drops the last row. The block stays the same while no view has its rows."""
    series = series_of(*range(10_000)).appended(scalars(10_000), 10_000)
    block = series.block
    for ordinal in range(10_001, 10_101):
        series = series.purged(10_000, num_shared=0)
        series = series.appended(scalars(10_000), ordinal)
    assert series.block is block
    assert len(series) == 10_001
    assert ordinals_of(series)[-2:] == [9_999, 10_100]
    assert series.ordinal_ranges is not None
    assert series.ordinal_ranges.num_ranges == 2


@given(st.lists(st.integers(0, 60), unique=True, max_size=30), st.integers(1, 20))
def test_ordinals_and_rows_are_found_from_each_other(numbers: list[int], size: int) -> None:
    """Ordinals may be appended in pieces or at once."""
    ordinals = np.array(sorted(numbers), np.int64)
    series = Series.empty(SCALAR)
    for start in range(0, len(ordinals), size):
        piece = ordinals[start : start + size]
        series = series.appended(scalars(*piece.tolist()), piece)
    assert ordinals_of(series) == ordinals.tolist()
    for ordinal in (-1, *range(62), 2**63 - 1, 2**63, 10**30):
        expected = sorted(numbers).index(ordinal) if ordinal in numbers else None
        assert series.row_of(ordinal) == expected
    at_once = OrdinalRanges.of(ordinals)
    rows = np.arange(len(ordinals))
    assert at_once.at(rows).tolist() == ordinals.tolist() if len(rows) else True


def test_consecutive_ordinals_take_no_memory() -> None:
    """Consecutive ordinals may be given as a number or as an array."""
    series = series_of(0, 1, 2).appended(scalars(3, 4), np.array([3, 4]))
    assert series.ordinal_ranges is None
    assert ordinals_of(series.appended(scalars(5), 9)) == [0, 1, 2, 3, 4, 9]


def test_samples_of_long_series_after_a_restart() -> None:
    """Cached samples follow the rule before and after the series grows."""
    size = series_module._MIN_ROWS_TO_CACHE
    step = np.arange(size + 10, dtype=np.int64)
    series = Series.empty(SCALAR).appended([step, step + 0.5, step.astype(np.float32)], 0)
    series = series.purged(size + 5, num_shared=0)
    next_ordinal = size + 10
    for _ in range(3):
        series = series.appended(scalars(*range(100)), next_ordinal)
        next_ordinal += 100
        ordinals = series.ordinals_between(0, len(series))
        expected = ordinals[sampled_rows_of(ordinals, 50)].tolist()
        assert series.ordinals_at(series.sampled_rows(50)).tolist() == expected
        series = series.purged(98, num_shared=0)
        assert len(series) < size
        series = series.appended([step, step + 0.5, step.astype(np.float32)], next_ordinal)
        next_ordinal += size + 10


@given(st.lists(st.integers(1, 40), max_size=10), st.integers(1, 12))
def test_a_limit_while_reading_gives_a_sample_of_all_rows(sizes: list[int], max_rows: int) -> None:
    """Limiting and then sampling gives the same as sampling, however the rows are appended."""
    everything = limited = Series.empty(SCALAR)
    next_ordinal = 0
    for size in sizes:
        rows = scalars(*range(next_ordinal, next_ordinal + size))
        everything = everything.appended(rows, next_ordinal)
        limited = limited.appended(rows, next_ordinal)
        next_ordinal += size
        if len(limited) > 2 * max_rows:
            limited = limited.downsampled(max_rows)
    limited = limited.downsampled(max_rows)
    expected = everything.sampled_rows(max_rows)
    assert ordinals_of(limited) == expected.tolist()
    assert steps_of(limited) == expected.tolist()
    for samples in range(1, max_rows + 1):
        picked = limited.ordinals_at(limited.sampled_rows(samples))
        assert picked.tolist() == everything.sampled_rows(samples).tolist()


def test_references_have_columns_of_their_own() -> None:
    """A row takes at most 48 bytes. The file may be given once for all rows."""
    step = np.arange(3, dtype=np.int64)
    numbers = np.array([10, 20, 30], np.uint32)
    series = Series.empty(IMAGE).appended(
        [step, step + 0.5, step * 2**40, numbers, numbers + 1, numbers + 2, 7], 0
    )
    assert [series.column(number).tolist() for number in range(7)] == [
        [0, 1, 2],
        [0.5, 1.5, 2.5],
        [0, 2**40, 2**41],
        [10, 20, 30],
        [11, 21, 31],
        [12, 22, 32],
        [7, 7, 7],
    ]
    assert series.layout.row_bytes <= 48
