"""Exported CSV is identical to that of `csv.writer`, although it is generated differently."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tbcore import ScalarSeries
from tbcore_scalars import exports, reader
from tbcore_scalars.request_parsing import DownloadRequest

FLOATS = st.floats() | st.sampled_from([9.999999999999999e-5, 1e-4, 9999999999999998.0, 1e16, -0.0])
SINGLES = st.floats(width=32) | st.sampled_from([float(np.float32(1e-4)), 1e-5, 2.0**53, 2.0**54])
NAMES = st.text(st.characters() | st.sampled_from(',"\r\n'), max_size=8)
POINTS = st.lists(st.tuples(FLOATS, st.integers(-(2**63), 2**63 - 1), FLOATS), max_size=12)


def series_of(points: list[tuple[float, int, float]], dtype: str) -> ScalarSeries:
    wall_time, step, value = zip(*points, strict=True) if points else ((), (), ())
    with np.errstate(over="ignore"):
        return ScalarSeries(
            ordinal=np.arange(len(points)),
            step=np.array(step, np.int64),
            wall_time=np.array(wall_time, np.float64),
            value=np.array(value, dtype),
        )


def as_csv(rows: list[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "PIECE_ROWS", 5)


@given(POINTS, st.sampled_from(["f4", "f8"]))
def test_a_series_is_the_csv_of_csv_writer(
    points: list[tuple[float, int, float]], dtype: str
) -> None:
    """For all numbers, and wherever a piece ends."""
    series = series_of(points, dtype)
    expected = as_csv([reader.COLUMNS, *reader.rows(series)])
    assert b"".join(exports.csv_pieces(series)) == expected


@given(st.lists(SINGLES, min_size=50, max_size=50))
def test_numbers_have_the_digits_of_repr(values: list[float]) -> None:
    series = series_of([(value, 0, value) for value in values], "f4")
    lines = b"".join(exports.csv_pieces(series)).decode().splitlines()[1:]
    assert lines == [f"{value!r},0,{float(np.float32(value))!r}" for value in values]


@given(NAMES, NAMES, POINTS)
@example("a,b", 'it is "so"\r\n ', [(1.0, 1, 1.0), (2.0, 2, 2.0)])
@example(" ", "\t", [(1.0, 1, 1.0)])
@example("\ud800", "\udfff", [(1.0, 1, 1.0)])
def test_each_row_of_a_download_has_run_and_tag(
    run: str, tag: str, points: list[tuple[float, int, float]]
) -> None:
    """They are quoted where CSV requires it."""
    series = series_of(points, "f8")
    multiplexer = SimpleNamespace(scalars=lambda *_, **__: series)
    request = DownloadRequest(runs=[run], tags=[tag], format="csv")
    expected = [
        exports.COLUMNS,
        *([run, tag, step, wall_time, value] for wall_time, step, value in reader.rows(series)),
    ]
    pieces = exports.export(cast(Any, multiplexer), cast(Any, None), request)
    assert b"".join(pieces) == as_csv(expected)
