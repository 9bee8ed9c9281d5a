"""Properties of the nine values of any histogram."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tbcore.values import HistogramValue
from tbcore_distributions.compress import BASIS_POINTS, compress


def histogram_of(
    minimum: float, maximum: float, num: float, limits: list[float], counts: list[float]
) -> HistogramValue:
    return HistogramValue(
        minimum, maximum, num, 0.0, 0.0, np.array(limits, float), np.array(counts, float)
    )


buckets = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        arrays.arrays(np.float64, n, elements=st.floats(-1e6, 1e6)),
        arrays.arrays(np.int64, n, elements=st.integers(0, 5)),
    )
)


@settings(deadline=None)  # A busy machine must not fail the test.
@given(buckets)
def test_properties_of_values(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    """They ascend from the minimum to the maximum, and equal those of the reference."""
    limits, counts = np.sort(drawn[0]).tolist(), drawn[1].astype(float).tolist()
    minimum, maximum = limits[0] - 1.0, limits[-1]
    (found,) = compress([histogram_of(minimum, maximum, sum(counts), limits, counts)])

    if not sum(counts):
        assert not found.any()
        return
    tolerance = 1e-9 * max(abs(minimum), abs(maximum))
    assert (np.diff(found) >= -tolerance).all()
    assert minimum - tolerance <= found[0] <= found[-1] <= maximum + tolerance
    assert found[-1] == pytest.approx(maximum if counts[-1] else found[-1], rel=1e-9, abs=1e-9)
    expected = [reference(point, minimum, maximum, limits, counts) for point in BASIS_POINTS]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def reference(
    point: float, minimum: float, maximum: float, limits: list[float], counts: list[float]
) -> float:
    """The value at one basis point, computed like TensorBoard with a loop."""
    shares = np.cumsum(np.array(counts) * 10000 / sum(counts)).tolist()
    for index, share in enumerate(shares):
        before = shares[index - 1] if index else 0.0
        if share <= point or share == before:
            continue
        left = max(limits[index - 1], minimum) if before else minimum
        right = min(limits[index], maximum)
        return left + (point - before) * (right - left) / (share - before)
    return maximum


numbers = st.floats(allow_nan=True, allow_infinity=True)


@settings(deadline=None)  # A busy machine must not fail the test.
@given(
    st.integers(0, 6).flatmap(
        lambda n: st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 2)
    ),
    numbers, numbers, numbers,
)  # fmt: skip
def test_any_numbers_can_be_compressed(
    columns: tuple[list[float], list[float]], minimum: float, maximum: float, num: float
) -> None:
    """Including negative counts, limits in any order and non-finite numbers."""
    found = compress([histogram_of(minimum, maximum, num, *columns)])

    assert found.shape == (1, 9)
    assert found.dtype == np.float64
