"""All points of many series as text, made piece by piece: there may be millions."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries
from tbcore.http import json_response
from tbcore_scalars import reader
from tbcore_scalars.questions import DownloadQuestion

COLUMNS = ("run", "tag", *reader.COLUMNS)
"""Those of a single series, behind whose it is."""
PIECE_ROWS = 4_000
"""Writing them keeps other threads waiting: the interpreter is not given up in the middle."""


def csv_pieces(series: ScalarSeries) -> Iterator[bytes]:
    """The rows of one series as CSV, with a header."""
    yield _csv_text([reader.COLUMNS])
    for part in _parts(series):
        yield _csv_text(part)


def json_pieces(series: ScalarSeries) -> Iterator[bytes]:
    """The rows of one series as a list of JSON."""
    yield b"["
    for place, part in enumerate(_parts(series)):
        yield (b"," if place else b"") + _json(part)[1:-1]
    yield b"]"


def export(multiplexer: Multiplexer, claims: Claims, question: DownloadQuestion) -> Iterator[bytes]:
    """The text of the download in UTF-8; series that do not exist are left out.

    As CSV a row is a point. As JSON it is run to tag to rows of wall time, step and value.
    """
    if question.format == "csv":
        yield _csv_text([COLUMNS])
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
        for part in _parts(series):
            yield _csv_text([run, tag, *row] for row in part)


def _json_run(found: list[tuple[str, ScalarSeries]]) -> Iterator[bytes]:
    for number, (tag, series) in enumerate(found):
        yield (b",\n" if number else b"\n") + _json(tag) + b":"
        yield from json_pieces(series)


def _json(data: Any) -> bytes:
    return bytes(json_response(data).body)


def _csv_text(lines: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(lines)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _series(
    multiplexer: Multiplexer, claims: Claims, run: str, tags: Sequence[str]
) -> Iterator[tuple[str, ScalarSeries]]:
    for tag in tags:
        try:
            yield tag, multiplexer.scalars(run, tag, claims=claims)
        except NotFoundError:
            continue


def _parts(series: ScalarSeries) -> Iterator[list[reader.Row]]:
    for start in range(0, len(series), PIECE_ROWS):
        yield reader.rows(series, slice(start, start + PIECE_ROWS))
