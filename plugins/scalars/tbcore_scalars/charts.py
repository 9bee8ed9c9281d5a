"""Charts: the lines and bands of a chart, computed from all points of the series."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries, smoothed
from tbcore_scalars.bands import band_of
from tbcore_scalars.request_parsing import BandsRequest, LinesRequest, Window
from tbcore_scalars.windows import Line, Scale, count_between, line_of, select_indices

Table = dict[str, NDArray[np.float64]]


class ChartData(NamedTuple):
    """The header and the tables for a `columns_response`."""

    header: dict[str, Any]
    tables: list[Table]


class Charts:
    """Computes the data of charts from the series in a multiplexer."""

    def __init__(self, multiplexer: Multiplexer, claims: Claims) -> None:
        self._multiplexer = multiplexer
        self._claims = claims
        self._instance = secrets.token_hex(4)
        """Random prefix of generations, so that different servers have different generations."""

    def lines(self, request: LinesRequest) -> ChartData:
        """Metadata and one table of the rows to draw, for each run that has the tag.

        If the client already has a run's generation, the run's table is empty.
        """
        window = request.window
        # Get the generations before reading. Rows that are committed in between belong to a later
        # generation, so the client requests them again.
        generations = self._multiplexer.run_generations()
        runs = [
            (run, series, line_of(series, window.axis))
            for run, series in self._series(request.tag, request.runs)
        ]
        start, stop = _extent(window, [line for *_, line in runs])
        header = {"tag": request.tag, "x": window.axis, "from": start, "to": stop}
        data = ChartData(header, [])
        is_whole = window.start is None and window.stop is None
        widened = _widen(start, stop, request.margin, window.scale)
        pixels = math.ceil(window.pixels * (1 + 2 * request.margin))
        entries: list[dict[str, Any]] = []
        for run, series, line in runs:
            generation = f"{self._instance}.{generations.get(run, 0)}"
            if request.known.get(run) == generation:
                entries.append({"run": run, "generation": generation, "unchanged": True})
                data.tables.append({})
                continue
            # A request for whole lines reduces each line relative to its own extent, independently
            # of the other runs: the client may later draw it together with others.
            extent = (line.extent() or widened) if is_whole else widened
            indices = select_indices(line, *extent, pixels, window.scale)
            data.tables.append(_table(series, line, indices, window.smoothing))
            x = line.x[indices]
            # The first selected row of each segment that has any.
            segments = np.unique(np.searchsorted(indices, line.starts))
            entries.append(
                {
                    "run": run,
                    "generation": generation,
                    "unchanged": False,
                    "num_points": len(series),
                    "num_inside": count_between(line, start, stop),
                    "num_shown": int(((x >= start) & (x <= stop)).sum()),
                    "start_time": float(series.wall_time[0]) if len(series) else None,
                    "segments": segments[segments < len(indices)],
                }
            )
        data.header["runs"] = entries
        return data

    def bands(self, request: BandsRequest) -> ChartData:
        """Metadata and a table for each group, an empty one if no run of the group has the tag."""
        window = request.window
        groups = {
            name: [
                (line, smoothed(line.value, window.smoothing, line.starts))
                for _, series in self._series(request.tag, runs)
                for line in [line_of(series, window.axis)]
            ]
            for name, runs in request.groups.items()
        }
        start, stop = _extent(window, [line for lines in groups.values() for line, _ in lines])
        header = {"tag": request.tag, "x": window.axis, "from": start, "to": stop, "groups": []}
        data = ChartData(header, [])
        for name, lines in groups.items():
            band = band_of(lines, start, stop, window.pixels, request.spread, window.scale)
            data.header["groups"].append(
                {
                    "group": name,
                    "num_runs": len(lines),
                    "num_inside": band.num_inside,
                    "reduced": band.is_reduced,
                }
            )
            data.tables.append(
                {
                    "x": band.x,
                    "mean": band.mean,
                    "low": band.low,
                    "high": band.high,
                    "count": band.count,
                    "nonfinite": band.nonfinite,
                }
            )
        return data

    def _series(self, tag: str, runs: Iterable[str]) -> Iterable[tuple[str, ScalarSeries]]:
        """Yields each run that has the tag, with its series."""
        for run in runs:
            try:
                yield run, self._multiplexer.scalars(run, tag, claims=self._claims)
            except NotFoundError:
                continue  # The tag does not exist, or the run was deleted in the meantime.


def _extent(window: Window, lines: list[Line]) -> tuple[float, float]:
    """The window's bounds. Missing bounds come from all lines, or are 0 and 1 without lines."""
    extents = [extent for line in lines if (extent := line.extent()) is not None]
    first = min((low for low, _ in extents), default=0.0)
    last = max((high for _, high in extents), default=1.0)
    start = first if window.start is None else window.start
    stop = last if window.stop is None else window.stop
    return start, max(start, stop)


def _widen(start: float, stop: float, margin: float, scale: Scale) -> tuple[float, float]:
    """A range extended on both sides by a fraction of its width, measured on the axis's scale."""
    if scale == "log" and 0 < start < stop:
        factor = (stop / start) ** margin
        return start / factor, stop * factor
    more = (stop - start) * margin
    return start - more, stop + more


def _table(series: ScalarSeries, line: Line, indices: NDArray[np.int64], smoothing: float) -> Table:
    """The columns of the rows at these indices of the line."""
    rows = line.rows_at(indices)
    table = {
        "step": series.step[rows],
        "wall_time": series.wall_time[rows],
        "value": line.value[indices],
    }
    if smoothing:
        table["smoothed"] = smoothed(line.value, smoothing, line.starts)[indices]
    return table
