"""The nine values of a histogram equal those computed by TensorBoard's code and by hand."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from tbcore.values import HistogramValue, histogram
from tbcore_distributions.compress import BASIS_POINTS, compress
from tbcore_testing import summaries

LARGEST = sys.float_info.max


def logged(
    minimum: float,
    maximum: float,
    limits: list[float],
    counts: list[float],
    num: float | None = None,
) -> HistogramValue:
    """A histogram as decoded from the summary field."""
    return HistogramValue(
        minimum, maximum, num or sum(counts), 0.0, 0.0, np.array(limits), np.array(counts)
    )


def from_rows(*rows: list[float]) -> HistogramValue:
    """A histogram as decoded from a tensor."""
    table = np.array(rows, np.float64).reshape(-1, 3)
    return histogram(summaries.tensor("h", table, dtype="float64", as_bytes=True, plugin_name="x"))


SEED_LIMITS = [
    -0.68, -0.62, -0.292, -0.26, -0.11, -0.10, -0.08, -0.07, -0.05, -0.0525, -0.0434, -0.039,
    -0.029, -0.026, 0.42, 0.47, math.inf,
]  # fmt: skip
"""Limits of an example histogram. Its last limit, 1.8e+308, is greater than any double."""
SEED_COUNTS = [0.0, 1.0] * 8 + [0.0]


CASES = [
        pytest.param(
            logged(-LARGEST, LARGEST, [LARGEST], [4]),
            [LARGEST * (point / 5000 - 1) for point in BASIS_POINTS],
            id="edges whose distance overflows",
        ),
        pytest.param(logged(0, 0, [], [], 0), [0] * 9, id="no samples, no buckets"),
        pytest.param(logged(1, 2, [1, 2], [3, 4])._replace(num=0), [0] * 9, id="no samples"),
        pytest.param(
            logged(1, 2, [1, 2, LARGEST], [0, 0, 0], 3), [2] * 9, id="samples in no bucket"
        ),
        pytest.param(logged(1, 2, [], [], 3), [2] * 9, id="samples without buckets"),
        pytest.param(
            logged(5, 5, [4.9, 5.39, LARGEST], [0, 1, 0]), [5] * 9, id="one value throughout"
        ),
        pytest.param(
            logged(0, 10, [10], [100]),
            [0, 0.668, 1.587, 3.085, 5, 6.915, 8.413, 9.332, 10],
            id="one bucket",
        ),
        pytest.param(
            logged(1, 3, [1, 2, 3, LARGEST], [1, 0, 1, 0]),
            [1, 1, 1, 1, 2, 2.383, 2.6826, 2.8664, 3],
            id="a gap: the next filled bucket's left edge",
        ),
        pytest.param(
            logged(0, 4, [1, 2, 3, 4, LARGEST], [1, 1, 1, 1, 0]),
            [0, 0.2672, 0.6348, 1.234, 2, 2.766, 3.3652, 3.7328, 4],
            id="even",
        ),
        pytest.param(
            logged(0, 3, [0.5, 1, 2, LARGEST], [0, 7, 2, 1]),
            [
                0, 0.09542857142857143, 0.2267142857142857, 0.4407142857142857, 0.7142857142857143,
                0.9878571428571429, 1.7065000000000001, 2.332, 3,
            ],
            id="the first bucket is empty",
        ),
        pytest.param(
            logged(0.25, 0.75, [0, 1, 2], [0, 4, 0]),
            [0.25, 0.2834, 0.32935000000000003, 0.40425, 0.5, 0.59575, 0.67065, 0.7166, 0.75],
            id="limits beyond the samples",
        ),
        pytest.param(
            logged(-1e300, 1e300, [-1, 0, 1, LARGEST], [1, 1, 1, 1]),
            [-1e300, -7.328e299, -3.652e299, -0.766, 0, 0.766, 3.652e299, 7.328e299, 1e300],
            id="large",
        ),
        pytest.param(
            logged(-0.66, 0.44, [-0.68, -0.62, 0.42, 0.47, LARGEST], [0, 1, 5, 2, 0]),
            [
                -0.66, -0.638624, -0.5639232, -0.314656, 0.0040000000000000036,
                0.32265600000000005, 0.427304, 0.434656, 0.44,
            ],
            id="negative and positive",
        ),
        pytest.param(
            logged(-0.66, 0.44, SEED_LIMITS, SEED_COUNTS, 8),
            [
                -0.66, -0.638624, -0.2833728, -0.10532, -0.05, -0.041059200000000004, -0.0268088,
                0.42931199999999997, 0.44,
            ],
            id="an example with many buckets",
        ),
        pytest.param(from_rows(), [0] * 9, id="no rows"),
        pytest.param(from_rows([0, 1, 0], [1, 2, 0]), [0] * 9, id="rows without samples"),
        pytest.param(
            from_rows([0, 1, 1], [1, 2, 0], [2, 3, 1]),
            [0, 0.1336, 0.3174, 0.617, 2, 2.383, 2.6826, 2.8664, 3],
            id="rows with a gap",
        ),
        pytest.param(
            from_rows([0, 1, 2], [1, 2, 0], [2, 3, 5]),
            [0, 0.23379999999999998, 0.55545, 2.0319, 2.3, 2.5681, 2.77782, 2.90648, 3],
            id="rows",
        ),
        pytest.param(
            from_rows([4.5, 5.5, 4]),
            [4.5, 4.5668, 4.6587, 4.8085, 5, 5.1915, 5.3413, 5.4332, 5.5],
            id="one row",
        ),
        pytest.param(from_rows([5, 5, 0], [5, 5, 4]), [5] * 9, id="rows of one value"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), CASES)
def test_the_nine_values(value: HistogramValue, expected: list[float]) -> None:
    """Within 1e-12 of TensorBoard's values."""
    assert BASIS_POINTS == (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)
    assert compress([value])[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_compressing_many_histograms_equals_compressing_each() -> None:
    """With different lengths, with empty histograms, and with more than fit into one table."""
    histograms = [case.values[0] for case in CASES]

    expected = [compress([histogram])[0] for histogram in histograms]

    assert np.array_equal(compress(histograms), expected)
    assert np.array_equal(compress(histograms * 5000)[-len(CASES) :], expected)
    assert compress([]).shape == (0, 9)
