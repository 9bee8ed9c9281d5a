"""Reader: histograms as rows of wall time, step and the logged buckets."""

from __future__ import annotations

from typing import Any

from tbcore import Claims, Multiplexer
from tbcore.values import HistogramValue, Value, bucket_table, histogram

Row = tuple[float, int, HistogramValue]
"""Wall time in seconds since the epoch, step, histogram."""


def rows(multiplexer: Multiplexer, claims: Claims, run: str, tag: str, samples: int) -> list[Row]:
    """The histograms of one tag in the order logged, at most `samples` of them; 0 means all.

    Buckets are returned as logged. Histograms that cannot be read are omitted. Raises NotFoundError
    or DecodeError if none can be read, and NotFoundError for an unknown run or tag.
    """
    items = multiplexer.read_items(run, tag, claims, histogram, samples=samples)
    return [(item.wall_time, item.step, value) for item, value in items]


def drawn_rows(
    multiplexer: Multiplexer, claims: Claims, run: str, tag: str, samples: int
) -> list[tuple[float, int, tuple[Any, ...]]]:
    """The same as `rows`, but for a chart: see `_drawn`."""
    items = multiplexer.read_items(run, tag, claims, _drawn, samples=samples)
    return [(item.wall_time, item.step, value) for item, value in items]


def _drawn(value: Value) -> tuple[Any, ...]:
    """A histogram, with its logged rows if there are gaps or overlaps between them.

    Rows are sorted by left edge. Right edges and counts replace those of buckets, and left edges
    are an eighth field.
    """
    found, rows = histogram(value), bucket_table(value)
    left, right = rows[1:, 0], rows[:-1, 1]
    if not ((left < right) | (left > right)).any():
        return found
    left, right, count = rows[rows[:, 0].argsort(kind="stable")].T.copy()
    return (*found[:5], right, count, left)
