"""Smoothing equals the recurrence that defines it, computed one value at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore.smoothing import point_weight, smoothed


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
        smoothed(value, weight),
        recurrence(value.tolist(), point_weight(weight, count)),
        rtol=1e-9,
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


def test_a_weight_smooths_over_the_same_share_of_any_series() -> None:
    """A jump is followed equally far after a tenth of the series, whatever its length."""
    followed = []
    for count in (1000, 100_000):
        value = np.r_[np.zeros(count // 2), np.ones(count // 2)]
        result = smoothed(value, 0.98)
        followed.append(result[count // 2 + count // 10])
    assert followed[0] == pytest.approx(followed[1], abs=0.01)
    assert 0.5 < followed[0] < 0.95
    assert point_weight(0.6, 1000) == 0.6


def test_a_long_series_is_smoothed_as_tensorboard_smooths_its_sample() -> None:
    """Even if the distances between steps vary: points count, not distances."""
    rng = np.random.default_rng(0)
    num_points = 40_000
    signal = np.sin(np.arange(num_points) / 3000)
    value = signal + 0.3 * rng.normal(size=num_points)
    sample = np.sort(rng.choice(num_points, 1000, replace=False))

    of_all = smoothed(value, 0.9)[sample]
    of_sample = smoothed(value[sample], 0.9)

    # Both lag behind the signal equally. The sample is noisier, because it has fewer points.
    assert np.sqrt(np.mean((of_all - of_sample)[50:] ** 2)) < 0.1
    assert abs(np.mean((of_all - of_sample)[50:])) < 0.02
