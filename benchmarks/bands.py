"""Measures how long the band of a group of runs takes, for each average and spread.

    python benchmarks/bands.py

The group has 100 runs x 5,000 points, which are reduced to 1,000 pixel columns. Figures are the
best and the median of 15 calls, in milliseconds.
"""

from __future__ import annotations

import statistics
import time
from typing import get_args

import numpy as np

from tbcore import ScalarSeries
from tbcore.values import Average, Spread
from tbcore_scalars.bands import band_of
from tbcore_scalars.request_parsing import SPREADS_OF_MEANS
from tbcore_scalars.windows import line_of

NUM_RUNS = 100
NUM_POINTS = 5_000
PIXELS = 1_000
NUM_CALLS = 15


def main() -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(NUM_POINTS)
    times_logged = 1e9 + np.arange(NUM_POINTS, dtype=np.float64)
    runs = []
    for _ in range(NUM_RUNS):
        value = rng.normal(size=NUM_POINTS).astype(np.float32)
        line = line_of(ScalarSeries(rows, rows, times_logged, value), "step")
        runs.append((line, line.value))
    for average in get_args(Average):
        for spread in get_args(Spread):
            if average != "mean" and spread in SPREADS_OF_MEANS:
                continue
            times = []
            for _ in range(NUM_CALLS):
                start = time.perf_counter()
                band_of(runs, 0, NUM_POINTS - 1, PIXELS, spread, average=average)
                times.append(1000 * (time.perf_counter() - start))
            print(f"{average:8}{spread:12}{min(times):8.1f}{statistics.median(times):8.1f}")


if __name__ == "__main__":
    main()
