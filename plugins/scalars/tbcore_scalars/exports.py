"""All points of many series as text, made piece by piece: there may be millions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries
from tbcore.http import csv_response, json_response
from tbcore_scalars import reader
from tbcore_scalars.questions import DownloadQuestion

COLUMNS = ("run", "tag", *reader.COLUMNS)
"""Those of a single series, behind whose it is."""
PIECE_ROWS = 4_000
"""Writing them keeps other threads waiting: the interpreter is not given up in the middle."""
LEAST_PLAIN, MOST_PLAIN = 1e-4, 1e16
"""Numbers from the first to below the second have no exponent in Python, and none in JSON."""


def csv_pieces(series: ScalarSeries) -> Iterator[bytes]:
    """The rows of one series as CSV, with a header."""
    yield _csv_line(reader.COLUMNS)
    yield from _csv_rows(series, b"")


def json_pieces(series: ScalarSeries) -> Iterator[bytes]:
    """The rows of one series as a list of JSON."""
    yield b"["
    for place, part in enumerate(_parts(series)):
        yield (b"," if place else b"") + _json(reader.rows(series, part))[1:-1]
    yield b"]"


def export(multiplexer: Multiplexer, claims: Claims, question: DownloadQuestion) -> Iterator[bytes]:
    """The text of the download in UTF-8; series that do not exist are left out.

    As CSV a row is a point. As JSON it is run to tag to rows of wall time, step and value.
    """
    if question.format == "csv":
        yield _csv_line(COLUMNS)
    else:
        yield b"{"
    num_runs = 0
    for run in question.runs:
        found = list(_series(multiplexer, claims, run, question.tags))
        if not found:
            continue
        if question.format == "csv":
            yield from _csv_run(run, found)
        else:
            yield (b",\n" if num_runs else b"\n") + _json(run) + b":{"
            yield from _json_run(found)
            yield b"}"
        num_runs += 1
    if question.format == "json":
        yield b"\n}\n"


def _csv_run(run: str, found: list[tuple[str, ScalarSeries]]) -> Iterator[bytes]:
    for tag, series in found:
        yield from _csv_rows(series, _csv_line([run, tag, ""]).rstrip(b"\r\n"))


def _json_run(found: list[tuple[str, ScalarSeries]]) -> Iterator[bytes]:
    for number, (tag, series) in enumerate(found):
        yield (b",\n" if number else b"\n") + _json(tag) + b":"
        yield from json_pieces(series)


def _json(data: Any) -> bytes:
    return bytes(json_response(data).body)


def _csv_line(texts: Sequence[str]) -> bytes:
    return bytes(csv_response(texts, ()).body)


def _csv_rows(series: ScalarSeries, before: bytes) -> Iterator[bytes]:
    """The rows, each behind `before`: what `csv.writer` writes, in an eighth of its time."""
    for part in _parts(series):
        columns = (
            _numbers(series.wall_time[part]),
            series.step[part].tolist(),
            _numbers(series.value[part]),
        )
        rows = _json(list(zip(*columns, strict=True)))
        lines = rows[2:-2].replace(b'"', b"").replace(b"],[", b"\r\n" + before)
        yield b"%b%b\r\n" % (before, lines)


def _numbers(column: NDArray[np.floating[Any]]) -> list[Any]:
    """For `_json`, with texts for those that JSON writes in another way than Python."""
    numbers: list[Any] = column.tolist()
    size = np.abs(column.astype(np.float64))
    is_plain = (size >= LEAST_PLAIN) & (size < MOST_PLAIN) | (size == 0)
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
