"""What histograms mean to a client: rows of wall time, step and the histogram as it was logged."""

from __future__ import annotations

from tbcore import Claims, Multiplexer
from tbcore.values import HistogramValue, histogram

Row = tuple[float, int, HistogramValue]
"""Wall time in seconds since the epoch, step, histogram."""


def rows(multiplexer: Multiplexer, claims: Claims, run: str, tag: str, samples: int) -> list[Row]:
    """The histograms of one tag in order of arrival, at most `samples` of them (0: all).

    Buckets are those that were logged. Histograms that cannot be read are left out; NotFoundError
    or DecodeError says why when none can be, and that there is no such run or tag.
    """
    items = multiplexer.read_items(run, tag, claims, histogram, samples=samples)
    return [(item.wall_time, item.step, value) for item, value in items]
