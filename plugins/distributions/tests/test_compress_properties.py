"""Properties of the nine values, whatever was logged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tbcore.values import HistogramValue
from tbcore_distributions.compress import BASIS_POINTS, compress


def histogram_of(
    least: float, greatest: float, num: float, limits: list[float], counts: list[float]
) -> HistogramValue:
    return HistogramValue(
        least, greatest, num, 0.0, 0.0, np.array(limits, float), np.array(counts, float)
    )


buckets = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays.arrays(np.float64, n, elements=st.floats(-1e6, 1e6)),
        arrays.arrays(np.int64, n, elements=st.integers(0, 5)),
    )
)


@settings(deadline=None)  # a busy machine says nothing of the code
@given(buckets)
def test_properties_of_values(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    """They rise, start at the least sample, end at the greatest, and stay in between."""
    limits, counts = np.sort(drawn[0]).tolist(), drawn[1].astype(float).tolist()
    least, greatest = limits[0] - 1.0, limits[-1]
    (found,) = compress([histogram_of(least, greatest, sum(counts), limits, counts)])

    if not sum(counts):
        assert not found.any()
        return
    slack = 1e-9 * max(abs(least), abs(greatest))
    assert (np.diff(found) >= -slack).all()
    assert least - slack <= found[0] <= found[-1] <= greatest + slack
    assert found[-1] == pytest.approx(greatest if counts[-1] else found[-1], rel=1e-9, abs=1e-9)
    # What the algorithm says in words, number by number.
    expected = [one_by_one(point, least, greatest, limits, counts) for point in BASIS_POINTS]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def one_by_one(
    point: float, least: float, greatest: float, limits: list[float], counts: list[float]
) -> float:
    """The value at one basis point, as TensorBoard's loop finds it."""
    shares = np.cumsum(np.array(counts) * 10000 / sum(counts)).tolist()
    for index, share in enumerate(shares):
        before = shares[index - 1] if index else 0.0
        if share <= point or share == before:
            continue
        left = max(limits[index - 1], least) if before else least
        right = min(limits[index], greatest)
        return left + (point - before) * (right - left) / (share - before)
    return greatest


numbers = st.floats(allow_nan=True, allow_infinity=True)


@settings(deadline=None)  # a busy machine says nothing of the code
@given(
    st.integers(0, 6).flatmap(
        lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 2)
    ),
    numbers, numbers, numbers,
)  # fmt: skip
def test_nothing_that_can_be_logged_makes_it_fail(
    columns: tuple[list[float], list[float]], least: float, greatest: float, num: float
) -> None:
    """Negative counts, limits in any order, numbers that are not finite."""
    found = compress([histogram_of(least, greatest, num, *columns)])

    assert found.shape == (1, 9)
    assert found.dtype == np.float64
