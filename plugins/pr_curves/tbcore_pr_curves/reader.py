"""What a logged tensor says: a curve of precision over recall, and the counts behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore import DecodeError
from tbcore.media import Metadata, Sample
from tbcore.values import Value, tensor

NUM_ROWS = 6
"""True positives, false positives, true negatives, false negatives, precision, recall."""
MAX_COUNT = 2.0**53
"""Up to here doubles, and so the numbers of a page, are whole without a gap."""


def curve(value: Value) -> dict[str, NDArray[Any]]:
    """The columns of a curve by name, in the order of their thresholds.

    Each has shape (n,): `precision`, `recall` and `thresholds` are float64; `true_positives`,
    `false_positives`, `true_negatives` and `false_negatives` are int64, or float64 where one of
    them is no count. `thresholds` rise from 0 to 1 over what was logged. Those at the end that
    nothing reaches are left out: there is no precision of no predictions.

    Raises DecodeError for anything but numbers of shape (6, n), with n at least 1.
    """
    logged = tensor(value)
    if logged.ndim != 2 or logged.shape[0] != NUM_ROWS or logged.shape[1] == 0:
        raise DecodeError(
            f"a PR curve is a tensor of shape ({NUM_ROWS}, thresholds), found {logged.shape}"
        )
    if logged.dtype.kind not in "fiu":
        raise DecodeError(f"a PR curve is a tensor of real numbers, found {logged.dtype}")
    rows = logged.astype(np.float64)
    counts = np.trunc(rows[:4])
    reached = np.flatnonzero(counts[0] + counts[1])
    end = int(reached[-1]) + 1 if len(reached) else 1
    if (np.abs(counts) <= MAX_COUNT).all():
        counts = counts.astype(np.int64)
    names = ("true_positives", "false_positives", "true_negatives", "false_negatives")
    return {
        "precision": rows[4, :end],
        "recall": rows[5, :end],
        **{name: count[:end] for name, count in zip(names, counts, strict=True)},
        "thresholds": np.linspace(0.0, 1.0, rows.shape[1])[:end],
    }


def average_precision(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> float:
    """The area under a curve whose recall falls, as scikit-learn's `average_precision_score`.

    The sum over the thresholds of the precision there times the recall that is lost at the next;
    after the last all of it is. Nothing is drawn between two thresholds, since no classifier
    reaches what a straight line would promise.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.sum(precision * -np.diff(recall, append=0.0)))


def samples(value: Value, metadata: Metadata) -> list[Sample]:
    """The curve of one step as a page shows it: the columns of `curve`, `area`, and the words that
    the writer gave, `display_name` and `description`."""
    columns = curve(value)
    fields = {
        **columns,
        "area": average_precision(columns["precision"], columns["recall"]),
        "display_name": metadata.display_name,
        "description": metadata.summary_description,
    }
    return [Sample(b"", "application/json", fields)]
