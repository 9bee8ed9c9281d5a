"""Reader: decodes a precision-recall curve, with its counts, from a logged tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore.media import Sample
from tbcore.values import Value, average_precision, pr_curve

MAX_COUNT = 2.0**53
"""Largest count that is returned as an integer. Above it, JavaScript's numbers have gaps."""


def curve(value: Value) -> dict[str, NDArray[Any]]:
    """The columns of a curve by name, in ascending order of thresholds.

    All columns have the same shape (n,). `precision`, `recall` and `thresholds` are float64.
    `true_positives`, `false_positives`, `true_negatives` and `false_negatives` are int64, or all
    four are float64 if any count is NaN or above MAX_COUNT. The logged thresholds are evenly spaced
    from 0 to 1. The first threshold is always included. Thresholds at the end that no prediction
    reaches are omitted, since they have no precision.

    Raises DecodeError as `pr_curve` of `tbcore.values` does.
    """
    # 1. Truncate counts, which are fractional if predictions have weights.
    # 2. Find the last threshold with any prediction; keep at least the first threshold.
    # 3. Convert the counts to integers if they are all exact.
    rows = pr_curve(value).astype(np.float64)
    counts = np.trunc(rows[:4])  # 1
    reached = np.flatnonzero(counts[0] + counts[1])  # 2
    end = int(reached[-1]) + 1 if len(reached) else 1
    if (np.abs(counts) <= MAX_COUNT).all():  # 3
        counts = counts.astype(np.int64)
    names = ("true_positives", "false_positives", "true_negatives", "false_negatives")
    return {
        "precision": rows[4, :end],
        "recall": rows[5, :end],
        **{name: count[:end] for name, count in zip(names, counts, strict=True)},
        "thresholds": np.linspace(0.0, 1.0, rows.shape[1])[:end],
    }


def samples(value: Value, _metadata: object) -> list[Sample]:
    """The curve of one step as a sample for the front end: the columns of `curve`, and `area`."""
    columns = curve(value)
    area = average_precision(columns["precision"], columns["recall"])
    # All data is in the fields, so the sample has no bytes.
    return [Sample(b"", "application/json", {**columns, "area": area})]
