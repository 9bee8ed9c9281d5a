"""Reader: distributions as rows of wall time, step and nine values, also as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tbcore import Claims, Multiplexer
from tbcore.values import histogram
from tbcore_distributions.compress import BASIS_POINTS, compress

Pair = tuple[int, float]
"""Basis point and value."""
Row = tuple[float, int, list[Pair]]
"""Wall time in seconds since the epoch, step, and a pair for each of BASIS_POINTS."""

CSV_HEADER = (
    "Wall time",
    "Step",
    *(
        f"Edge {number} {quantity}"
        for number in range(len(BASIS_POINTS))
        for quantity in ("basis points", "value")
    ),
)


def rows(multiplexer: Multiplexer, claims: Claims, run: str, tag: str, samples: int) -> list[Row]:
    """The distributions of one tag in the order logged, at most `samples` of them; 0 means all.

    Histograms that cannot be read are omitted. Raises NotFoundError or DecodeError if none can be
    read, and NotFoundError for an unknown run or tag.
    """
    return [row for row, _ in _rows_and_counts(multiplexer, claims, run, tag, samples)]


def drawn_rows(
    multiplexer: Multiplexer, claims: Claims, run: str, tag: str, samples: int
) -> list[Row]:
    """The same as `rows`, but for a chart: a histogram without samples has no pairs.

    In `rows` such a histogram has the values 0, which a chart would draw like any other value.
    """
    return [
        row if num_samples != 0 else (*row[:2], [])
        for row, num_samples in _rows_and_counts(multiplexer, claims, run, tag, samples)
    ]


def _rows_and_counts(
    multiplexer: Multiplexer, claims: Claims, run: str, tag: str, samples: int
) -> list[tuple[Row, float]]:
    """The rows as in `rows`, each with the number of samples in its histogram."""
    items = multiplexer.read_items(run, tag, claims, histogram, samples=samples)
    compressed = compress([value for _, value in items]).tolist()
    return [
        ((item.wall_time, item.step, list(zip(BASIS_POINTS, values, strict=True))), value.num)
        for (item, value), values in zip(items, compressed, strict=True)
    ]


def csv_rows(rows: Sequence[Row]) -> Iterator[list[float]]:
    """The rows in the columns of CSV_HEADER."""
    for wall_time, step, pairs in rows:
        yield [wall_time, step, *(number for pair in pairs for number in pair)]
