"""Smoothing equals the recurrence that defines it, computed one value at a time."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore.store.smoothing import SmoothingKind, smoothed

CASES = Path(__file__).parents[1] / "smoothing.json"
"""What values become, for the server and for the page."""


def recurrence(values: list[float], weight: float) -> list[float]:
    last, count, result = 0.0, 0, []
    for value in values:
        if math.isfinite(value):
            last = last * weight + (1 - weight) * value
            count += 1
            result.append(last / (1 - weight**count))
        else:
            result.append(value)
    return result


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf]), max_size=200),
    st.floats(0.001, 0.999),
)
def test_smoothing_equals_the_recurrence(values: list[float], weight: float) -> None:
    result = smoothed(np.array(values, np.float64), weight)
    finite = [value for value in values if math.isfinite(value)]
    expected = values if len(set(finite)) == 1 else recurrence(values, weight)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 1025, 40_000, 70_001])
@pytest.mark.parametrize("weight", [0.1, 0.6, 0.99, 0.99999])
def test_blocks_and_chunks_join_exactly(count: int, weight: float) -> None:
    value = np.random.default_rng(count).normal(size=count) + 3
    np.testing.assert_allclose(
        smoothed(value, weight), recurrence(value.tolist(), weight), rtol=1e-9
    )


def test_a_constant_series_is_unchanged() -> None:
    """Bit for bit, without rounding errors of the weights."""
    value = np.full(5000, np.float32(0.1))
    assert (smoothed(value, 0.97) == value).all()


def test_each_start_of_the_training_is_smoothed_by_itself() -> None:
    value = np.array([0.0, 1.0, 5.0, 7.0, 2.0])
    parts = [smoothed(part, 0.5) for part in (value[:2], value[2:4], value[4:])]
    assert smoothed(value, 0.5, [0, 2, 4]).tolist() == np.concatenate(parts).tolist()
    assert smoothed(np.empty(0), 0.5, []).tolist() == []


def test_without_weight_nothing_changes() -> None:
    assert smoothed(np.array([3.0, 1.0]), 0.0).tolist() == [3.0, 1.0]
    assert smoothed(np.empty(0), 0.5).tolist() == []


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 3000), st.integers(0, 3000), st.sampled_from([0.6, 0.96, 0.999, 0.99999]))
def test_a_smoothed_value_stays_while_the_series_grows(
    count: int, more: int, weight: float
) -> None:
    value = np.random.default_rng(count).normal(size=count + more)
    np.testing.assert_allclose(
        smoothed(value, weight)[:count], smoothed(value[:count], weight), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("kind", ["window", "gaussian"])
def test_centred_means_change_only_near_the_end(kind: SmoothingKind) -> None:
    """By new values up to four windows away."""
    value = np.random.default_rng(1).normal(size=5000)
    before, after = (smoothed(value[:count], 0.96, kind=kind) for count in (4000, 5000))
    np.testing.assert_allclose(after[:3900], before[:3900], rtol=1e-9, atol=1e-12)


def window(values: list[float], half: float) -> list[float]:
    """The mean of the values up to `half` away; those one further count by the rest of `half`."""
    result = []
    for index in range(len(values)):
        shares = [min(1.0, max(0.0, half + 1 - abs(index - i))) for i in range(len(values))]
        terms = [share * value for share, value in zip(shares, values, strict=True)]
        result.append(math.fsum(terms) / math.fsum(shares))
    return result


def by_definition(values: list[float], weight: float, kind: SmoothingKind) -> list[float]:
    finite = [value for value in values if math.isfinite(value)]
    if weight == 0 or len(set(finite)) <= 1:
        return values
    half = weight / (1 - weight)
    if kind == "exponential":
        return recurrence(values, weight)
    if kind == "window":
        average = window(finite, half)
    else:
        average = finite
        for _ in range(4):
            average = window(average, (math.sqrt(1 + half * (half + 1)) - 1) / 2)
    found = iter(average)
    return [next(found) if math.isfinite(value) else value for value in values]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([math.nan, -math.inf, 1e30]), max_size=60),
    st.sampled_from([0.2, 0.5, 0.9, 0.999]) | st.floats(0.001, 0.999),
    st.sampled_from(["window", "gaussian"]),
)
def test_centred_means_equal_their_definitions(
    values: list[float], weight: float, kind: SmoothingKind
) -> None:
    """A huge value changes only the values near it."""
    result = smoothed(np.array(values, np.float64), weight, kind=kind)
    np.testing.assert_allclose(result, by_definition(values, weight, kind), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("kind", ["window", "gaussian"])
def test_centred_means_do_not_lag(kind: SmoothingKind) -> None:
    """A slope stays where it is, but for the ends; a peak is spread as far by both kinds."""
    slope = np.arange(500.0)
    np.testing.assert_allclose(smoothed(slope, 0.9, kind=kind)[50:-50], slope[50:-50])
    assert smoothed(slope, 0.9)[250] < 245
    peak = np.zeros(501)
    peak[250] = 1.0
    spread = smoothed(peak, 0.9, kind=kind)
    variance = (spread * (np.arange(501) - 250) ** 2).sum()
    assert variance == pytest.approx(9 * 10 / 3, rel=0.05)
    if kind == "gaussian":
        normal = np.exp(-((np.arange(501) - 250) ** 2) / 60) / math.sqrt(60 * math.pi)
        assert abs(spread - normal).max() < 0.05 * normal.max()


@pytest.mark.parametrize("case", json.loads(CASES.read_text("utf-8")), ids=str)
def test_the_server_and_the_page_have_one_table_of_cases(case: dict[str, Any]) -> None:
    """tests/page/unit/smoothing.test.mjs has the other half."""
    value = np.array(case["values"], np.float64)
    result = smoothed(value, case["weight"], case["starts"], case["kind"])
    np.testing.assert_allclose(result, np.array(case["smoothed"], np.float64), rtol=1e-12)
    bounds = [*case["starts"], len(value)]
    parts = [value[start:end].tolist() for start, end in pairwise(bounds)]
    expected = [by_definition(part, case["weight"], case["kind"]) for part in parts]
    np.testing.assert_allclose(result, np.concatenate(expected), rtol=1e-12)


def test_another_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="kind must be one of exponential, window, gaussian"):
        smoothed(np.arange(3.0), 0.5, kind="median")  # type: ignore[arg-type]
