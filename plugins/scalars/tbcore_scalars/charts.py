"""Answers to what a chart asks: lines and bands, read from the series at full resolution."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries
from tbcore_scalars.bands import band_of
from tbcore_scalars.questions import BandsQuestion, LinesQuestion, Window
from tbcore_scalars.smoothing import point_weight, smoothed
from tbcore_scalars.windows import Line, Scale, count_between, line_of, places_between

Table = dict[str, NDArray[np.float64]]


class Answer(NamedTuple):
    """The header and the tables of a `columns_response`."""

    header: dict[str, Any]
    tables: list[Table]


class Charts:
    """Reads from a multiplexer what charts show."""

    def __init__(self, multiplexer: Multiplexer, claims: Claims) -> None:
        self._multiplexer = multiplexer
        self._claims = claims
        self._instance = secrets.token_hex(4)
        """Generations of another server, or of this one before it was started again, differ."""

    def lines(self, question: LinesQuestion) -> Answer:
        """Of each run that has the tag: what it has, and the rows to draw.

        Runs whose generation is the known one have no rows; runs without the tag are left out.
        """
        window = question.window
        # Asked for first: rows that arrive meanwhile belong to a later generation, and are asked
        # for once more.
        generations = self._multiplexer.run_generations()
        runs = [
            (run, series, line_of(series, window.axis))
            for run, series in self._series(question.tag, question.runs)
        ]
        start, stop = _extent(window, [line for *_, line in runs])
        answer = Answer({"tag": question.tag, "x": window.axis, "from": start, "to": stop}, [])
        is_whole = window.start is None and window.stop is None
        wide = _widened(start, stop, question.margin, window.scale)
        pixels = math.ceil(window.pixels * (1 + 2 * question.margin))
        entries: list[dict[str, Any]] = []
        for run, series, line in runs:
            generation = f"{self._instance}.{generations.get(run, 0)}"
            if question.known.get(run) == generation:
                entries.append({"run": run, "generation": generation, "unchanged": True})
                answer.tables.append({})
                continue
            # A line that is shown whole is reduced by its own length, whatever stands beside it: it
            # may be drawn with others, later.
            part = line.extent() or wide if is_whole else wide
            places = places_between(line, *part, pixels, window.scale)
            answer.tables.append(_table(series, line, places, window.smoothing))
            x = line.x[places]
            segments = np.unique(np.searchsorted(places, line.starts))
            entries.append(
                {
                    "run": run,
                    "generation": generation,
                    "unchanged": False,
                    "num_points": len(series),
                    "num_inside": count_between(line, start, stop),
                    "num_shown": int(((x >= start) & (x <= stop)).sum()),
                    "start_time": float(series.wall_time[0]) if len(series) else None,
                    "segments": segments[segments < len(places)],
                }
            )
        answer.header["runs"] = entries
        return answer

    def bands(self, question: BandsQuestion) -> Answer:
        """Of each group one table; it is empty when no run of the group has the tag."""
        window = question.window
        groups = {
            name: [
                (line, _value(line, window.smoothing))
                for _, series in self._series(question.tag, runs)
                for line in [line_of(series, window.axis)]
            ]
            for name, runs in question.groups.items()
        }
        start, stop = _extent(window, [line for lines in groups.values() for line, _ in lines])
        answer = Answer({"tag": question.tag, "x": window.axis, "from": start, "to": stop}, [])
        answer.header["groups"] = []
        for name, lines in groups.items():
            band = band_of(lines, start, stop, window.pixels, question.spread, window.scale)
            answer.header["groups"].append(
                {
                    "group": name,
                    "num_runs": len(lines),
                    "num_inside": band.num_inside,
                    "reduced": band.is_reduced,
                }
            )
            answer.tables.append(
                {
                    "x": band.x,
                    "mean": band.mean,
                    "low": band.low,
                    "high": band.high,
                    "count": band.count,
                    "nonfinite": band.nonfinite,
                }
            )
        return answer

    def _series(self, tag: str, runs: Iterable[str]) -> Iterable[tuple[str, ScalarSeries]]:
        for run in runs:
            try:
                yield run, self._multiplexer.scalars(run, tag, claims=self._claims)
            except NotFoundError:
                continue  # a run may vanish at any time, when its files are deleted


def _extent(window: Window, lines: list[Line]) -> tuple[float, float]:
    """The window's bounds, where it has none those of the lines together; (0, 1) without any."""
    extents = [extent for line in lines if (extent := line.extent()) is not None]
    first = min((low for low, _ in extents), default=0.0)
    last = max((high for _, high in extents), default=1.0)
    start = first if window.start is None else window.start
    stop = last if window.stop is None else window.stop
    return start, max(start, stop)


def _widened(start: float, stop: float, margin: float, scale: Scale) -> tuple[float, float]:
    """A part and what lies beside it; on a logarithmic axis by factors."""
    if scale == "log" and 0 < start < stop:
        factor = (stop / start) ** margin
        return start / factor, stop * factor
    more = (stop - start) * margin
    return start - more, stop + more


def _table(series: ScalarSeries, line: Line, places: NDArray[np.int64], smoothing: float) -> Table:
    rows = line.rows_at(places)
    table = {
        "step": series.step[rows],
        "wall_time": series.wall_time[rows],
        "value": line.value[places],
    }
    if smoothing:
        table["smoothed"] = _value(line, smoothing)[places]
    return table


def _value(line: Line, smoothing: float) -> NDArray[np.float64]:
    """The values of a line, smoothed as asked: each segment by itself, for a restarted job begins
    anew."""
    weight = point_weight(smoothing, len(line)) if smoothing else 0.0
    parts = [smoothed(line.value[first:end], weight) for first, end in line.bounds()]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])
