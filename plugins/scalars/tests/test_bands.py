"""Means and bands of groups of runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore import ScalarSeries
from tbcore_scalars.bands import band_of
from tbcore_scalars.windows import Line, line_of, pixel_edges


def rows(step: Any, value: Any) -> tuple[Line, Any]:
    """A run's line and values, logged at one row per second."""
    value = np.asarray(value, np.float64)
    count = np.arange(len(value))
    line = line_of(ScalarSeries(count, np.asarray(step, np.int64), count + 1e9, value), "step")
    return line, line.value


def test_runs_logged_at_the_same_steps() -> None:
    band = band_of([rows([0, 1, 2], [1, 2, 3]), rows([0, 1, 2], [3, 2, 7])], 0, 2, 100, "range")
    assert band.x.tolist() == [0, 1, 2]
    assert band.average.tolist() == [2, 2, 5]
    assert band.low.tolist() == [1, 2, 3]
    assert band.high.tolist() == [3, 2, 7]
    assert band.count.tolist() == [2, 2, 2]


def test_runs_are_interpolated_but_not_extrapolated() -> None:
    band = band_of([rows([0, 10], [0, 10]), rows([5, 20], [1, 1])], 0, 20, 100, "range")
    assert band.x.tolist() == [0, 5, 10, 20]
    assert band.count.tolist() == [1, 2, 2, 1]
    assert band.average.tolist() == [0, 3, 5.5, 1]


def test_spreads() -> None:
    runs = [rows([0], [value]) for value in (1, 2, 3, 4, 10)]
    deviation = band_of(runs, 0, 0, 10, "deviation")
    assert deviation.average.tolist() == [4]
    assert deviation.high[0] - 4 == pytest.approx(np.std([1, 2, 3, 4, 10], ddof=1))
    alone = band_of([rows([0], [3.0]), rows([0], [np.nan])], 0, 0, 10, "deviation")
    assert (alone.low[0], alone.average[0], alone.high[0]) == (3, 3, 3), "one run has no deviation"
    quartiles = band_of(runs, 0, 0, 10, "quartiles")
    assert (quartiles.low[0], quartiles.high[0]) == (2, 4)


def test_long_runs_are_averaged_within_pixel_columns() -> None:
    """The means are over all rows, not only those that would be drawn."""
    rng = np.random.default_rng(1)
    x = np.arange(100_000)
    runs = [rows(x, rng.exponential(size=100_000)) for _ in range(3)]
    band = band_of(runs, 0, 99_999, 50, "range")
    assert len(band.x) == 50
    np.testing.assert_allclose(band.average, 1, atol=0.1)
    expected = [value[:2000].mean() for _, value in runs]
    assert band.low[0] == pytest.approx(min(expected), rel=0.01)
    assert (band.count == 3).all()


def test_a_range_of_a_band_equals_that_range_of_the_whole_band() -> None:
    x = np.arange(40)
    runs = [rows(x, np.sin(x)), rows(x[::3], np.cos(x[::3]))]
    whole = band_of(runs, 0, 39, 100, "deviation")
    part = band_of(runs, 10.5, 20.5, 100, "deviation")
    inside = (whole.x >= 10.5) & (whole.x <= 20.5)
    assert part.x.tolist() == whole.x[inside].tolist()
    np.testing.assert_allclose(part.average, whole.average[inside])
    np.testing.assert_allclose(part.high, whole.high[inside])


def test_a_run_is_not_in_the_mean_where_its_value_is_not_finite() -> None:
    band = band_of(
        [rows([0, 1, 2], [1, np.nan, 3]), rows([0, 1, 2], [1, 8, np.inf])], 0, 2, 9, "range"
    )
    assert band.average.tolist() == [1, 8, 3]
    assert band.count.tolist() == [2, 1, 1]
    assert band.nonfinite.tolist() == [0, 1, 1]


def test_a_run_is_not_interpolated_next_to_a_non_finite_value() -> None:
    """Before that row, its value is unknown; from there to the next one, it is not finite."""
    rare, frequent = rows([0, 4, 8, 12], [1, 1, np.nan, 1]), rows(range(0, 13, 2), [3] * 7)
    band = band_of([rare, frequent], 0, 12, 100, "range")
    assert band.x.tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert band.average.tolist() == [2, 2, 2, 3, 3, 3, 2]
    assert band.count.tolist() == [2, 2, 2, 1, 1, 1, 2]
    assert band.nonfinite.tolist() == [0, 0, 0, 0, 1, 1, 0]


def test_points_where_all_runs_have_diverged_have_no_mean() -> None:
    """They are counted in `nonfinite`. A run that has ended is not."""
    diverged = [rows([0, 1, 2], [1, np.nan, np.nan]), rows([0, 1, 2], [3, 3, -np.inf])]
    band = band_of([*diverged, rows([0], [5])], 0, 2, 100, "range")
    np.testing.assert_array_equal(band.average, [3, 3, np.nan])
    np.testing.assert_array_equal(band.low, [1, 3, np.nan])
    assert band.count.tolist() == [3, 1, 0]
    assert band.nonfinite.tolist() == [0, 1, 2]


def test_the_last_row_at_a_step_is_used() -> None:
    band = band_of([rows([0, 1, 1, 1, 2], [0, 9, 8, 1, 2])], 0, 2, 100, "range")
    assert band.average.tolist() == [0, 1, 2]


def test_rows_after_a_restart_replace_earlier_ones() -> None:
    """From their first step on, as if the writer had marked the restart. By wall time, all stay."""
    steps = [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 4, 5]
    values = [0, 1, 2, 3, 4, 20, 30, 40, 50, 60, 400, 500]
    restarted, plain = rows(steps, values), rows([0, 6], [0, 0])
    band = band_of([restarted], 0, 6, 100, "range")
    assert band.x.tolist() == [0, 1, 2, 3, 4, 5]
    assert band.average.tolist() == [0, 1, 20, 30, 400, 500]
    with_other = band_of([restarted, plain], 0, 6, 100, "range")
    assert with_other.count.tolist() == [2, 2, 2, 2, 2, 2, 1]

    count = np.arange(len(steps))
    series = ScalarSeries(count, np.asarray(steps), count + 1e9, np.asarray(values, np.float64))
    by_time = line_of(series, "wall")
    band = band_of([(by_time, by_time.value)], 1e9, 1e9 + 20, 100, "range")
    assert band.average.tolist() == values


def test_a_pixel_column_can_have_a_mean_and_non_finite_rows() -> None:
    value = np.ones(10_000)
    value[2_050] = np.nan
    value[5_000:] = np.nan
    band = band_of([rows(range(10_000), value)] * 2, 0, 9_999, 100, "range")
    assert len(band.x) == 100
    assert band.count.tolist() == [2] * 50 + [0] * 50
    nonfinite_columns = np.flatnonzero(band.nonfinite).tolist()
    assert nonfinite_columns == [20, *range(50, 100)]
    assert (band.average[:50] == 1).all()


@pytest.mark.parametrize("runs", [[], [rows([], [])]])
def test_nothing_to_show(runs: Any) -> None:
    band = band_of(runs, 0, 5, 10, "quartiles")
    assert len(band.x) == len(band.average) == len(band.low) == len(band.count) == 0


# Comparison with a reference that handles one row and one point at a time ------------------------


def effective_rows(line: Line) -> list[tuple[float, float]]:
    """Rows by x. Each row replaces those at its x; a restart replaces all from its x on."""
    kept: dict[float, float] = {}
    for first, end in line.bounds():
        for i in range(first, end):
            x = float(line.x[i])
            if not math.isfinite(x):
                continue
            if i == first:
                kept = {other: value for other, value in kept.items() if other < x}
            kept[x] = float(line.value[i])
    return sorted(kept.items())


def value_at(x: float, pairs: list[tuple[float, float]]) -> float | None:
    """The value at x, interpolated: NaN after a non-finite value, None before one and beyond the
    ends."""
    if not pairs or not pairs[0][0] <= x <= pairs[-1][0]:
        return None
    for (left, low), (right, high) in zip(pairs, [*pairs[1:], pairs[-1]], strict=True):
        if x in (left, right):
            value = low if x == left else high
        elif left < x < right:
            if math.isfinite(low) and not math.isfinite(high):
                return None
            value = low + (high - low) * (x - left) / (right - left)
        else:
            continue
        return value if math.isfinite(value) else math.nan
    raise AssertionError


@st.composite
def any_run(draw: st.DrawFn) -> tuple[Line, Any]:
    value = draw(st.lists(st.one_of(st.integers(-9, 9).map(float), st.just(math.nan)), max_size=14))
    step = np.cumsum(draw(st.lists(st.integers(0, 4), min_size=len(value), max_size=len(value))))
    if draw(st.booleans()) and len(value):
        back = draw(st.integers(0, len(value) - 1))
        step[back:] -= draw(st.integers(0, 12))
    return rows(step, value)


@settings(deadline=None)
@given(st.lists(any_run(), max_size=4), st.data())
def test_bands_equal_the_reference(runs: list[tuple[Line, Any]], data: st.DataObject) -> None:
    start, stop = sorted(data.draw(st.tuples(*[st.integers(-15, 60)] * 2)))
    pairs = [effective_rows(line) for line, _ in runs]
    points = sorted({x for each in pairs for x, _ in each if start <= x <= stop})

    band = band_of(runs, start, stop, 500, "range")

    expected = []
    for x in points:
        values = [value for each in pairs if (value := value_at(x, each)) is not None]
        finite = [value for value in values if math.isfinite(value)]
        ends = (sum(finite) / len(finite), min(finite), max(finite)) if finite else (math.nan,) * 3
        expected.append([x, *ends, len(finite), len(values) - len(finite)])
    columns = [band.x, band.average, band.low, band.high, band.count, band.nonfinite]
    np.testing.assert_allclose(np.transpose(columns), np.reshape(expected, (-1, 6)), atol=1e-9)


@settings(deadline=None)
@given(st.lists(any_run(), min_size=1, max_size=3), st.integers(1, 4))
def test_pixel_columns_have_the_means_of_their_own_rows(
    runs: list[tuple[Line, Any]], pixels: int
) -> None:
    """The mean is over finite rows. A run without rows in a column is interpolated."""
    pairs = [effective_rows(line) for line, _ in runs]
    steps = [x for each in pairs for x, _ in each]
    start, stop = min(steps, default=0) - 0.5, max(steps, default=0) + 0.5
    band = band_of(runs, start, stop, pixels, "range")
    if len(set(steps)) <= 2 * pixels:
        assert band.x.tolist() == sorted(set(steps))
        return
    edges = pixel_edges(start, stop, pixels, "linear").tolist()
    # For each run: column to mean x, mean value, and whether a value is not finite.
    rows_of = []
    for each in pairs:
        columns: dict[int, list[tuple[float, float]]] = {}
        for x, value in each:
            columns.setdefault(sum(edge <= x for edge in edges[1:-1]), []).append((x, value))
        rows_of.append(
            {
                column: (
                    sum(x for x, _ in own) / len(own),
                    float(np.mean([v for _, v in own if math.isfinite(v)] or [math.nan])),
                    any(not math.isfinite(v) for _, v in own),
                )
                for column, own in columns.items()
            }
        )
    expected = []
    for column in range(pixels):
        middle = (edges[column] + edges[column + 1]) / 2
        means, num_nonfinite = [], 0
        for columns_of_run in rows_of:
            if column in columns_of_run:
                _, value, is_nonfinite = columns_of_run[column]
            else:
                read = value_at(middle, [(x, v) for x, v, _ in columns_of_run.values()])
                if read is None:
                    continue
                value, is_nonfinite = read, math.isnan(read)
            means += [value] if math.isfinite(value) else []
            num_nonfinite += is_nonfinite
        if means or num_nonfinite:
            ends = (np.mean(means), min(means), max(means)) if means else (math.nan,) * 3
            expected.append([middle, *ends, len(means), num_nonfinite])
    got = [band.x, band.average, band.low, band.high, band.count, band.nonfinite]
    np.testing.assert_allclose(np.transpose(got), np.reshape(expected, (-1, 6)), atol=1e-9)
