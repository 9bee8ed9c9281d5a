"""The rows that are selected to draw a line equal those of a reference; segments after restarts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore import ScalarSeries
from tbcore_scalars import windows
from tbcore_scalars.windows import (
    Line,
    count_between,
    line_of,
    linear_part,
    pixel_edges,
    select_indices,
)

START = 1.7e9


def series_of(
    value: Any, step: Any = None, wall_time: Any = None, dtype: Any = np.float32
) -> ScalarSeries:
    value = np.asarray(value, dtype)
    count = np.arange(len(value))
    return ScalarSeries(
        ordinal=count,
        step=count if step is None else np.asarray(step, np.int64),
        wall_time=START + count if wall_time is None else np.asarray(wall_time, np.float64),
        value=value,
    )


def reference(line: Line, start: float, stop: float, pixels: int) -> list[int]:
    """The indices to select, computed one row at a time as the contract says."""
    parts = []
    for first, end in line.bounds():
        drawn = [i for i in range(first, end) if math.isfinite(line.x[i])]
        before = [i for i in drawn if line.x[i] < start][-1:]
        after = [i for i in drawn if line.x[i] > stop][:1]
        parts.append(before + [i for i in drawn if start <= line.x[i] <= stop] + after)
    if sum(map(len, parts)) <= 2 * pixels:
        return sorted(i for part in parts for i in part)
    edges = np.linspace(start, stop, pixels + 1)[1:-1].tolist()
    kept = set()
    for part in parts:
        columns: dict[int, list[int]] = {}
        for i in part:
            beside = int(line.x[i] > stop) - int(line.x[i] < start)
            number = sum(edge <= line.x[i] for edge in edges) + beside * pixels
            columns.setdefault(number, []).append(i)
        for column in columns.values():
            finite = [i for i in column if math.isfinite(line.value[i])]
            kept |= {column[0], column[-1], *(i for i in column if i not in finite)}
            if finite:
                kept.add(min(finite, key=lambda i: (line.value[i], i)))
                kept.add(min(finite, key=lambda i: (-line.value[i], i)))
    return sorted(kept)


values = st.one_of(
    st.integers(-4, 4).map(float),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 3e38]),
)


@st.composite
def any_series(draw: st.DrawFn) -> ScalarSeries:
    """Series with steps that rise, repeat and sometimes go back, and clocks that jump."""
    value = draw(st.lists(values, max_size=60))
    count = len(value)
    jumps = draw(st.lists(st.integers(-30, 4), min_size=count, max_size=count))
    rises = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    restarts = draw(st.sets(st.integers(0, max(count - 1, 0)), max_size=4))
    step = np.cumsum([jumps[i] if i in restarts else rises[i] for i in range(count)] or [0])
    wall_time = START + np.cumsum([jumps[i] if i in restarts else 1.0 for i in range(count)] or [0])
    if draw(st.booleans()) and count:
        wall_time[draw(st.integers(0, count - 1))] = draw(
            st.sampled_from([math.nan, math.inf, -math.inf])
        )
    return series_of(value, step[:count], wall_time[:count])


@settings(deadline=None)
@given(any_series(), st.sampled_from(["step", "wall"]), st.data())
def test_the_rows_of_a_range_equal_the_reference(
    series: ScalarSeries, axis: Any, data: st.DataObject
) -> None:
    line = line_of(series, axis)
    low, high = line.extent() or (0.0, 1.0)
    start, stop = sorted(data.draw(st.tuples(*[st.floats(low - 2, high + 2, allow_nan=False)] * 2)))
    pixels = data.draw(st.integers(1, 12))

    indices = select_indices(line, start, stop, pixels)

    assert indices.tolist() == reference(line, start, stop, pixels)
    inside = (line.x >= start) & (line.x <= stop)
    assert count_between(line, start, stop) == int(inside.sum())


@settings(deadline=None)
@given(any_series())
def test_lines_are_sorted_stably_within_segments(series: ScalarSeries) -> None:
    """Rows with equal x keep the order in which they were written."""
    for axis in ("step", "wall"):
        line = line_of(series, axis)  # type: ignore[arg-type]
        rows = line.rows_at(np.arange(len(line)))
        assert sorted(rows.tolist()) == list(range(len(series)))
        for first, end in line.bounds():
            pairs = [
                (math.inf if math.isnan(x) else x, math.isnan(x), row)
                for x, row in zip(line.x[first:end].tolist(), rows[first:end].tolist(), strict=True)
            ]
            assert pairs == sorted(pairs)


def test_long_series_searched_by_blocks_have_the_same_rows() -> None:
    """Pixel columns begin inside blocks, and values are often equal."""
    rng = np.random.default_rng(7)
    for dtype in (np.float32, np.float64):
        value = rng.integers(-3, 3, 9_000).astype(dtype)
        value[rng.integers(0, 9_000, 20)] = np.nan
        series = series_of(value, np.cumsum(rng.integers(0, 3, 9_000)), dtype=dtype)
        line = line_of(series, "step")
        extent = line.extent()
        assert extent is not None
        for pixels in (3, 7, 17):
            assert select_indices(line, *extent, pixels).tolist() == reference(
                line, *extent, pixels
            )


def test_a_restart_begins_a_segment() -> None:
    """The rows before and after it are separate segments on every axis."""
    series = series_of(range(12), [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8])
    for axis in ("step", "relative", "wall"):
        assert line_of(series, axis).starts.tolist() == [0, 6]  # type: ignore[arg-type]


def test_several_writers_in_turn_make_one_segment() -> None:
    """Their steps decrease at every other row."""
    step = np.stack([np.arange(50), np.arange(50) - 7], axis=1).ravel()
    line = line_of(series_of(range(100), step), "step")
    assert line.starts.tolist() == [0]
    assert (np.diff(line.x) >= 0).all()


def test_one_restart_of_a_short_run() -> None:
    assert line_of(series_of([1, 2, 3, 4, 5, 6], [0, 1, 2, 0, 1, 2]), "step").starts.tolist() == [
        0,
        3,
    ]


def test_relative_time_begins_at_the_first_point() -> None:
    line = line_of(series_of([1, 2, 3], wall_time=[START, START + 2, START + 5]), "relative")
    assert line.x.tolist() == [0, 2, 5]


def test_a_run_that_is_mostly_nan_is_reduced() -> None:
    """To the first NaN of each pixel column, and the rows around finite values."""
    value = np.full(200_000, np.nan, np.float32)
    value[:1000] = 1.0
    value[150_000] = np.inf
    line = line_of(series_of(value), "step")
    indices = select_indices(line, 0, 199_999, 100)
    assert len(indices) <= 4 * 100 + 1
    assert {1000, 150_000} <= set(indices.tolist())
    assert windows.MAX_NONFINITE_ROWS < 199_000


@pytest.mark.parametrize("axis", ["step", "relative", "wall"])
def test_an_empty_series(axis: Any) -> None:
    line = line_of(series_of([]), axis)
    assert line.extent() is None
    assert select_indices(line, 0, 1, 10).tolist() == []


def test_steps_at_the_ends_of_int64() -> None:
    """Bounds are float64, which cannot represent 2**63 - 1."""
    step = [-(2**63), -1, 0, 2**63 - 1]
    line = line_of(series_of([1, 2, 3, 4], step), "step")
    extent = line.extent()
    assert extent == (-(2.0**63), 2.0**63)
    assert len(select_indices(line, -(2.0**63), 2.0**63, 10)) >= 3
    assert select_indices(line, -2, 1, 10).tolist() == [0, 1, 2, 3]


def test_a_symmetric_logarithmic_axis_has_pixel_columns_on_both_sides_of_zero() -> None:
    """Nearly equal ones near 0, and beyond as many for each power of ten."""
    edges = pixel_edges(-1e6, 1e6, 400, "symlog")
    assert np.allclose(edges, -edges[::-1])
    assert (edges[0], edges[-1]) == (-1e6, 1e6)
    inner = np.diff(edges[np.abs(edges) < 0.3])
    assert inner.max() / inner.min() < 1.05
    counts = [int(((edges > 10.0**k) & (edges <= 10.0 ** (k + 1))).sum()) for k in range(1, 6)]
    assert max(counts) - min(counts) <= 1
    for xs in ([], [np.array([1e-300, -1e-9])], [np.array([1e300])]):
        assert np.isfinite(pixel_edges(-1e300, 1e300, 9, "symlog", xs)).all()


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e9])
def test_a_symmetric_logarithmic_axis_has_as_many_columns_whatever_the_unit(unit: float) -> None:
    """It is nearly linear only up to the smallest x, and not below a millionth of the largest."""
    x = unit * np.array([0.0, -30.0, 2.0, 5.0, 100.0])
    edges = pixel_edges(-100 * unit, 100 * unit, 300, "symlog", [x, x[:0]])
    counts = [int(((edges > low * unit) & (edges <= 10 * low * unit)).sum()) for low in (1, 10)]
    assert counts[0] > 40
    assert counts[1] > 60
    assert linear_part([x]) == pytest.approx(unit)
    assert linear_part([np.array([1e-20, np.nan, 300.0])]) == pytest.approx(1e-4)
    assert linear_part([np.array([1e-5], np.float32)]) == pytest.approx(1e-5)


def test_rows_of_small_x_are_kept_on_a_symmetric_logarithmic_axis() -> None:
    """In both directions of x: each power of ten keeps rows for its part of the width."""
    x = np.linspace(1e-5, 1e-2, 20_000)
    value = np.random.default_rng(0).random(20_000)
    for order in (slice(None), slice(None, None, -1)):
        line = Line(x[order], value, None, np.array([0]), is_sorted=order.step is None)
        kept = line.x[select_indices(line, 0, 1e-2, 100, "symlog")]
        assert (kept < 1e-3).sum() > 80
