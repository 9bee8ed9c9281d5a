"""Exports: all points of series as CSV or JSON text, in pieces, since there can be millions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries
from tbcore.http import csv_response, json_response
from tbcore_scalars import reader
from tbcore_scalars.request_parsing import DownloadRequest

COLUMNS = ("run", "tag", "step", "wall_time", "value")
"""Header of a download, which may contain several series."""
PIECE_ROWS = 4_000
"""Number of rows per piece. Each piece is made while holding the GIL, so it must be short."""
MIN_PLAIN = 1e-4
"""Minimum magnitude above 0 that both Python and orjson write without an exponent."""
MAX_PLAIN = 1e16
"""Magnitude below which both Python and orjson write numbers without an exponent."""


def csv_pieces(series: ScalarSeries) -> Iterator[bytes]:
    """Yields the rows of one series as CSV, with a header."""
    yield _csv_line(reader.COLUMNS)
    yield from _csv_rows(series, b"", ("wall_time", "step", "value"))


def json_pieces(series: ScalarSeries) -> Iterator[bytes]:
    """Yields the rows of one series as a JSON array."""
    yield b"["
    for part_index, part in enumerate(_parts(series)):
        yield (b"," if part_index else b"") + _json(reader.rows(series, part))[1:-1]
    yield b"]"


def export(multiplexer: Multiplexer, claims: Claims, request: DownloadRequest) -> Iterator[bytes]:
    """Yields a download as UTF-8 text. Series that do not exist are omitted.

    CSV has one row per point. JSON maps runs to tags to rows of wall time, step and value.
    """
    if request.format == "csv":
        yield _csv_line(COLUMNS)
    else:
        yield b"{"
    num_runs = 0
    for run in request.runs:
        found = list(_series(multiplexer, claims, run, request.tags))
        if not found:
            continue
        if request.format == "csv":
            yield from _csv_run(run, found)
        else:
            yield (b",\n" if num_runs else b"\n") + _json(run) + b":{"
            yield from _json_run(found)
            yield b"}"
        num_runs += 1
    if request.format == "json":
        yield b"\n}\n"


def _csv_run(run: str, found: list[tuple[str, ScalarSeries]]) -> Iterator[bytes]:
    for tag, series in found:
        # The empty third field adds the comma before the first number.
        yield from _csv_rows(series, _csv_line([run, tag, ""]).rstrip(b"\r\n"), COLUMNS[2:])


def _json_run(found: list[tuple[str, ScalarSeries]]) -> Iterator[bytes]:
    for tag_index, (tag, series) in enumerate(found):
        yield (b",\n" if tag_index else b"\n") + _json(tag) + b":"
        yield from json_pieces(series)


def _json(data: Any) -> bytes:
    return bytes(json_response(data).body)


def _csv_line(texts: Sequence[str]) -> bytes:
    return bytes(csv_response(texts, ()).body)


def _csv_rows(series: ScalarSeries, prefix: bytes, columns: Sequence[str]) -> Iterator[bytes]:
    """Yields what `csv.writer` would write, in an eighth of the time; `prefix` begins each row.

    orjson formats the numbers; its punctuation is then replaced by that of CSV.
    """
    for part in _parts(series):
        numbers = {
            "wall_time": _numbers(series.wall_time[part]),
            "step": series.step[part].tolist(),
            "value": _numbers(series.value[part]),
        }
        rows = _json(list(zip(*(numbers[column] for column in columns), strict=True)))
        lines = rows[2:-2].replace(b'"', b"").replace(b"],[", b"\r\n" + prefix)
        yield b"%b%b\r\n" % (prefix, lines)


def _numbers(column: NDArray[np.floating[Any]]) -> list[Any]:
    """The numbers of a column, such that `_json` writes them in the same way as Python.

    orjson writes non-finite numbers and exponents differently, so such numbers become strings.
    """
    numbers: list[Any] = column.tolist()
    magnitude = np.abs(column.astype(np.float64))
    is_plain = (magnitude >= MIN_PLAIN) & (magnitude < MAX_PLAIN) | (magnitude == 0)
    for index in np.flatnonzero(~is_plain).tolist():
        numbers[index] = repr(numbers[index])
    return numbers


def _series(
    multiplexer: Multiplexer, claims: Claims, run: str, tags: Sequence[str]
) -> Iterator[tuple[str, ScalarSeries]]:
    for tag in tags:
        try:
            yield tag, multiplexer.scalars(run, tag, claims=claims)
        except NotFoundError:
            continue


def _parts(series: ScalarSeries) -> Iterator[slice]:
    for start in range(0, len(series), PIECE_ROWS):
        yield slice(start, start + PIECE_ROWS)
