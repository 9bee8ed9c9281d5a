"""Reader: histograms as rows of wall time, step and the logged buckets."""

from __future__ import annotations

from tbcore import Claims, Multiplexer
from tbcore.values import HistogramValue, histogram

Row = tuple[float, int, HistogramValue]
"""Wall time in seconds since the epoch, step, histogram."""


def rows(multiplexer: Multiplexer, claims: Claims, run: str, tag: str, samples: int) -> list[Row]:
    """The histograms of one tag in the order logged, at most `samples` of them; 0 means all.

    Buckets are returned as logged. Histograms that cannot be read are omitted. Raises NotFoundError
    or DecodeError if none can be read, and NotFoundError for an unknown run or tag.
    """
    items = multiplexer.read_items(run, tag, claims, histogram, samples=samples)
    return [(item.wall_time, item.step, value) for item, value in items]
