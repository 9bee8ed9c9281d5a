"""Averages and spreads of groups of values, compared with numpy and with their definitions."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore.values import (
    Average,
    Spread,
    Statistics,
    column_statistics,
    common_points,
    drawn_rows,
    effective_rows,
    group_curve,
    group_statistics,
)
from tbcore.values.statistics import t_p_value, t_quantile

AVERAGES: tuple[Average, ...] = get_args(Average)
SPREADS: tuple[Spread, ...] = get_args(Spread)

any_value = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf])


def quantile(ascending: list[float], q: float) -> float:
    """Linear between neighbours, as numpy's default and R's type 7."""
    position = q * (len(ascending) - 1)
    below = math.floor(position)
    part = position - below
    above = ascending[min(below + 1, len(ascending) - 1)]
    return ascending[below] * (1 - part) + above * part


def plain_statistics(values: list[float]) -> dict[str, tuple[float, ...]]:
    """Every average and spread of some finite numbers, from their definitions."""
    ascending = sorted(values)
    num = len(values)
    if not num:
        return {**dict.fromkeys(AVERAGES, (math.nan,)), **dict.fromkeys(SPREADS, (math.nan,) * 2)}
    mean = math.fsum(values) / num
    middle = ascending[num // 4 : num - num // 4]
    squares = math.fsum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / (num - 1)) if num > 1 else 0.0
    error = deviation / math.sqrt(num)
    return {
        "mean": (mean,),
        "median": (quantile(ascending, 0.5),),
        "iqm": (math.fsum(middle) / len(middle),),
        "range": (ascending[0], ascending[-1]),
        "quartiles": (quantile(ascending, 0.25), quantile(ascending, 0.75)),
        "deviation": (mean - deviation, mean + deviation),
        "error": (mean - error, mean + error) if num > 2 else (math.nan,) * 2,
        "interval": (mean - t_quantile(num - 1) * error, mean + t_quantile(num - 1) * error)
        if num > 2
        else (math.nan,) * 2,
    }


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(any_value, max_size=9), max_size=6), st.randoms(use_true_random=False))
def test_averages_and_spreads_equal_their_definitions(
    groups: list[list[float]], order: Any
) -> None:
    """Of groups of any sizes, whose values are given in any order, some in no group."""
    pairs = [(value, index) for index, group in enumerate(groups) for value in group]
    pairs += [(7.0, -1), (math.nan, -1)]
    order.shuffle(pairs)
    values, of_group = zip(*pairs, strict=True)
    finite = [[value for value in group if math.isfinite(value)] for group in groups]
    expected = [plain_statistics(group) for group in finite]
    for spread in SPREADS:
        for average in AVERAGES:
            got = group_statistics(values, of_group, len(groups), average, spread)
            assert got.count.tolist() == [len(group) for group in finite]
            assert got.nonfinite.tolist() == [
                len(group) - num for group, num in zip(groups, got.count.tolist(), strict=True)
            ]
            numbers = [[*each[average], *each[spread]] for each in expected]
            found = np.transpose([got.average, got.low, got.high])
            np.testing.assert_allclose(found, np.reshape(numbers, (-1, 3)), rtol=1e-9, atol=1e-6)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_statistics_equal_those_of_numpy(data: st.DataObject) -> None:
    """Of a matrix of any numbers of rows and columns."""
    shape = data.draw(st.integers(1, 8)), data.draw(st.integers(0, 5))
    flat = data.draw(st.lists(any_value, min_size=math.prod(shape), max_size=math.prod(shape)))
    values = np.reshape(np.array(flat, np.float64), shape)
    deviation = column_statistics(values)
    quartiles = column_statistics(values, "median", "quartiles")
    for index, column in enumerate(values.T):
        finite = column[np.isfinite(column)]
        assert deviation.count[index] == len(finite)
        assert deviation.nonfinite[index] == len(column) - len(finite)
        if not len(finite):
            assert np.isnan([deviation.average[index], deviation.low[index]]).all()
            continue
        assert deviation.average[index] == pytest.approx(finite.mean(), rel=1e-12, abs=1e-9)
        width = (deviation.high[index] - deviation.low[index]) / 2
        expected = finite.std(ddof=1) if len(finite) > 1 else 0
        assert width == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert quartiles.average[index] == pytest.approx(np.median(finite), rel=1e-12)
        ends = quartiles.low[index], quartiles.high[index]
        assert ends == pytest.approx(tuple(np.quantile(finite, [0.25, 0.75])), rel=1e-9)


def numbers(statistics: Statistics) -> list[float]:
    """Average, low and high of the only group."""
    return [float(column[0]) for column in (statistics.average, statistics.low, statistics.high)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("average", AVERAGES)
def test_the_largest_and_smallest_numbers_have_statistics(average: Average, spread: Spread) -> None:
    """No sum or square overflows, or becomes 0, and nothing is warned of."""
    for unit in (1.0, 1.7e308, 2.0**-1060):
        values = np.array([0.25, 0.5, 0.75, 1.0, 1.0]) * unit
        expected = plain_statistics([0.25, 0.5, 0.75, 1.0, 1.0])
        got = numbers(group_statistics(values, [0] * 5, 1, average, spread))
        wanted = [number * unit for number in (*expected[average], *expected[spread])]
        assert got == pytest.approx(wanted, rel=1e-3 if unit < 1e-300 else 1e-12, abs=0)
    opposite = numbers(group_statistics([1.7e308, -1.7e308, math.inf], [0] * 3, 1, average, spread))
    assert opposite[0] == 0
    if spread == "deviation":
        assert opposite[1:] == [-math.inf, math.inf], "beyond the largest number"
    if spread == "range":
        assert opposite[1:] == [-1.7e308, 1.7e308]


@pytest.mark.parametrize("unit", [0.1, 1 / 3, sys.float_info.max])
def test_equal_values_are_their_own_mean_without_a_deviation(unit: float) -> None:
    for num in range(1, 12):
        assert numbers(group_statistics([unit] * num, [0] * num, 1)) == [unit] * 3
        iqm = group_statistics([unit] * num, [0] * num, 1, "iqm", "error")
        assert iqm.average[0] == unit


def test_no_groups_and_no_values() -> None:
    assert len(group_statistics([], [], 0).average) == 0
    nothing = group_statistics([], [], 2)
    assert nothing.count.tolist() == nothing.nonfinite.tolist() == [0, 0]
    assert np.isnan(nothing.average).all()
    assert column_statistics(np.empty((0, 3))).count.tolist() == [0, 0, 0]


def test_a_95_percent_interval_has_the_true_mean_in_95_of_100_groups() -> None:
    """Of five values, too, which is as many as there are seeds."""
    values = np.random.default_rng(3).normal(7, 2, (5, 20_000))
    found = column_statistics(values, "mean", "interval")
    assert ((found.low < 7) & (found.high > 7)).mean() == pytest.approx(0.95, abs=0.005)


def test_the_page_computes_the_same() -> None:
    """tests/page/unit/group-statistics.test.mjs has these cases, too."""
    path = Path(__file__).parents[1] / "statistics.json"
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        values = [float(value) for value in case["values"]]
        found = group_statistics(values, [0] * len(values), 1)
        assert (found.count[0], found.nonfinite[0]) == (case["count"], case["nonfinite"])
        if case["mean"] is None:
            assert np.isnan(found.average[0])
            continue
        assert found.average[0] == pytest.approx(case["mean"], rel=1e-14)
        half = (found.high[0] - found.low[0]) / 2
        assert not np.isfinite(half) or half == pytest.approx(case["deviation"], rel=1e-14)
        for average in ("median", "iqm"):
            found = group_statistics(values, [0] * len(values), 1, average, "quartiles")
            assert found.average[0] == pytest.approx(case[average], rel=1e-14)
            assert [found.low[0], found.high[0]] == pytest.approx(case["quartiles"], rel=1e-14)


def test_the_rows_that_count_are_those_that_no_later_one_replaces() -> None:
    """A restart replaces rows from its lowest x on, whatever came between; x that is not finite
    does not count."""
    inf = np.inf
    for x, starts, expected in [
        ([], [], []),
        ([3, 1, 2, 1], [0], [3, 2, 0]),  # Several writers in turn.
        ([0, 10, 20, 5, 15, 2, 12], [0, 3, 5], [0, 5, 6]),
        ([0, 10, 20, 5, 15, 10, 12], [0, 3, 5], [0, 3, 5, 6]),
        ([-inf, 1.0, 2.0, inf, np.nan, -inf, np.nan], [0, 5], [1, 2]),
        ([np.nan], [0], []),
        ([2**62, 2**62 + 1], [0], [0, 1]),
    ]:
        value = np.arange(len(x), dtype=np.float32)
        found_x, rows = effective_rows(np.array(x), value, np.array(starts, np.int64))
        assert rows.tolist() == expected, x
        assert found_x.tolist() == [x[row] for row in expected]


def test_a_curve_of_no_runs_and_a_grid_of_points() -> None:
    assert len(group_curve(np.arange(3.0), []).x) == 0
    assert common_points([np.arange(100)] * 2, 4).tolist() == [0, 33, 66, 99]
    runs = [(np.array([0, 10]), np.array([1.0, 3.0])), (np.array([0]), np.array([7.0]))]
    curve = group_curve(np.array([-5.0, 0.0, 5.0, 11.0]), runs)
    assert curve.x.tolist() == [0, 5], "there is no row where no run has a value"
    assert curve.average.tolist() == [4, 2]
    assert curve.count.tolist() == [2, 1]


def test_tails_and_quantiles_of_students_t_are_those_of_scipy() -> None:
    truth = json.loads(Path(__file__).parents[1].joinpath("comparisons.json").read_text())
    for t, freedom, expected in truth["tails"]:
        assert t_p_value(t, freedom) == pytest.approx(expected, rel=1e-8), (t, freedom)
    for freedom, expected in truth["quantiles"]:
        assert t_quantile(freedom) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("length", [1, 2000, 2001, 12_345, 100_000])
def test_the_drawn_rows_have_both_ends_the_extremes_and_what_is_not_finite(length: int) -> None:
    values = np.random.default_rng(length).normal(size=length)
    values[length // 2] = np.nan
    rows = drawn_rows(values, 2000)
    assert len(rows) <= 2000
    assert rows.tolist() == sorted({*rows.tolist()})
    assert {0, length - 1, length // 2} <= {*rows.tolist()}
    if length > 1:
        assert np.nanmin(values[rows]) == np.nanmin(values)
        assert np.nanmax(values[rows]) == np.nanmax(values)
