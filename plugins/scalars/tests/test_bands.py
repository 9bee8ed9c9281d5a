"""Means and bands of groups of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tbcore_scalars.bands import band_of


def rows(x: Any, value: Any) -> tuple[Any, Any]:
    return np.asarray(x), np.asarray(value, np.float64)


def test_runs_logged_at_the_same_steps() -> None:
    band = band_of([rows([0, 1, 2], [1, 2, 3]), rows([0, 1, 2], [3, 2, 7])], 0, 2, 100, "range")
    assert band.x.tolist() == [0, 1, 2]
    assert band.mean.tolist() == [2, 2, 5]
    assert band.low.tolist() == [1, 2, 3]
    assert band.high.tolist() == [3, 2, 7]
    assert band.count.tolist() == [2, 2, 2]


def test_other_steps_are_read_off_the_line_and_ends_are_not_prolonged() -> None:
    band = band_of([rows([0, 10], [0, 10]), rows([5, 20], [1, 1])], 0, 20, 100, "range")
    assert band.x.tolist() == [0, 5, 10, 20]
    assert band.count.tolist() == [1, 2, 2, 1]
    assert band.mean.tolist() == [0, 3, 5.5, 1]


def test_spreads() -> None:
    runs = [rows([0], [value]) for value in (1, 2, 3, 4, 10)]
    deviation = band_of(runs, 0, 0, 10, "deviation")
    assert deviation.mean.tolist() == [4]
    assert deviation.high[0] - 4 == pytest.approx(np.std([1, 2, 3, 4, 10]))
    quartiles = band_of(runs, 0, 0, 10, "quartiles")
    assert (quartiles.low[0], quartiles.high[0]) == (2, 4)


def test_long_runs_are_averaged_within_columns_of_pixels() -> None:
    """Means of all rows, not of those that would be drawn."""
    rng = np.random.default_rng(1)
    x = np.arange(100_000)
    runs = [rows(x, rng.exponential(size=100_000)) for _ in range(3)]
    band = band_of(runs, 0, 99_999, 50, "range")
    assert len(band.x) == 50
    np.testing.assert_allclose(band.mean, 1, atol=0.1)
    expected = [value[:2000].mean() for _, value in runs]
    assert band.low[0] == pytest.approx(min(expected), rel=0.01)
    assert (band.count == 3).all()


def test_a_part_is_the_same_as_in_the_whole() -> None:
    x = np.arange(40)
    runs = [rows(x, np.sin(x)), rows(x[::3], np.cos(x[::3]))]
    whole = band_of(runs, 0, 39, 100, "deviation")
    part = band_of(runs, 10.5, 20.5, 100, "deviation")
    inside = (whole.x >= 10.5) & (whole.x <= 20.5)
    assert part.x.tolist() == whole.x[inside].tolist()
    np.testing.assert_allclose(part.mean, whole.mean[inside])
    np.testing.assert_allclose(part.high, whole.high[inside])


def test_what_is_not_finite_is_left_out() -> None:
    band = band_of(
        [rows([0, 1, 2], [1, np.nan, 3]), rows([0, 1, 2], [1, 8, np.inf])], 0, 2, 9, "range"
    )
    assert band.mean.tolist() == [1, 5, 3]
    assert band.count.tolist() == [2, 2, 1]


@pytest.mark.parametrize("runs", [[], [rows([], [])], [rows([1, 2], [np.nan, np.nan])]])
def test_nothing_to_show(runs: Any) -> None:
    band = band_of(runs, 0, 5, 10, "quartiles")
    assert len(band.x) == len(band.mean) == len(band.low) == len(band.count) == 0
