"""Charts: the lines and bands of a chart, computed from all points of the series."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries, smoothed
from tbcore.values import Average, Spread, group_statistics
from tbcore_scalars.bands import band_of, bar_of, drawn_of
from tbcore_scalars.descriptions import is_described
from tbcore_scalars.pairing import TagAxis, ascending, goes_one_way, paired_line
from tbcore_scalars.request_parsing import BandsRequest, LinesRequest, Window
from tbcore_scalars.tails import Sent, parse_sent, tail_indices
from tbcore_scalars.windows import (
    Axis,
    Line,
    Scale,
    count_between,
    from_symlog,
    line_of,
    select_indices,
    to_symlog,
)

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

        If the client already has a run's generation, the run's table is empty. If it has the rows
        of an earlier one, the table has only those that were logged since.
        """
        window = request.window
        # Get the generations before reading. Rows that are committed in between belong to a later
        # generation, so the client requests them again.
        generations = self._multiplexer.run_generations()
        runs = list(self._lines(request.tag, request.runs, window.axis))
        start, stop = _extent(window, [line for *_, line in runs])
        data = ChartData(self._header(request, start, stop, [run for run, *_ in runs]), [])
        is_whole = window.start is None and window.stop is None
        widened = _widen(start, stop, request.margin, window.scale)
        pixels = math.ceil(window.pixels * (1 + 2 * request.margin))
        entries: list[dict[str, Any]] = []
        for run, series, line in runs:
            generation = f"{self._instance}.{generations.get(run, 0)}"
            known, _, sent_text = request.known.get(run, "").partition("/")
            if not known.startswith(self._instance):
                sent_text = ""
            if known == generation:
                entries.append({"run": run, "generation": generation, "unchanged": True})
                data.tables.append({})
                continue
            # A request for whole lines reduces each line relative to its own extent, independently
            # of the other runs: the client may later draw it together with others.
            extent = (line.extent() or widened) if is_whole else widened
            can_grow = _keeps_rows(window) and line.order is None and len(line) > 0
            sent = parse_sent(sent_text, series, 2 * pixels) if can_grow else None
            segments: Sequence[int]
            if sent is not None:
                indices, segments = tail_indices(line, *extent, sent.num_points)
            else:
                indices = select_indices(line, *extent, pixels, window.scale)
                # The first selected row of each segment that has any.
                found = np.unique(np.searchsorted(indices, line.starts))
                segments = found[found < len(indices)].tolist()
            data.tables.append(_table(series, line, indices, window))
            x = line.x[indices]
            entries.append(
                {
                    "run": run,
                    "generation": generation,
                    "known": generation,
                    "unchanged": False,
                    "is_tail": sent is not None,
                    "num_points": len(line),
                    "num_inside": count_between(line, start, stop),
                    "num_shown": int(((x >= start) & (x <= stop)).sum()),
                    "start_time": float(series.wall_time[0]) if len(series) else None,
                    "segments": segments,
                }
            )
            if can_grow:
                has = Sent(len(line), sent.num_points_whole if sent else len(line))
                entries[-1]["known"] += f"/{has.text(series)}"
            if isinstance(window.axis, TagAxis):
                entries[-1]["one_way"] = goes_one_way(line)
        data.header["runs"] = entries
        return data

    def bands(self, request: BandsRequest) -> ChartData:
        """Metadata and a table for each group, an empty one if no run of the group has the tag."""
        window = request.window
        found = {
            name: list(self._lines(request.tag, runs, window.axis))
            for name, runs in request.groups.items()
        }
        groups = {
            name: [(line, _band_values(series, line, window)) for _, series, line in lines]
            for name, lines in found.items()
        }
        pairs = {name: [pair for _, pair in runs if pair] for name, runs in groups.items()}
        finals = self._finals(found, request.average, request.spread)
        start, stop = _extent(window, [line for lines in pairs.values() for line, _ in lines])
        names = [run for runs in request.groups.values() for run in runs]
        data = ChartData({**self._header(request, start, stop, names), "groups": []}, [])
        for (name, lines), final in zip(pairs.items(), finals, strict=True):
            drawn = drawn_of([line for line, _ in lines], is_wall=window.axis == "wall")
            if drawn == "mean":
                how = request.spread, window.scale, request.average
                band = band_of(lines, start, stop, window.pixels, *how)
            else:
                # Only points have an average.
                runs = lines if drawn == "points" else []
                band = bar_of(runs, start, stop, request.spread, request.average)
            entry = {"group": name, "num_runs": len(lines), "drawn": drawn, "final": final}
            data.header["groups"].append(entry)
            if isinstance(window.axis, TagAxis):
                num_without_x = sum(not len(line) for line, _ in groups[name])
                num_left_out = len(groups[name]) - len(lines)
                data.header["groups"][-1] |= {
                    "num_without_x": num_without_x,
                    "num_back_and_forth": num_left_out - num_without_x,
                }
            data.tables.append(
                {
                    "x": band.x,
                    "average": band.average,
                    "low": band.low,
                    "high": band.high,
                    "count": band.count.astype(np.float64),
                    "nonfinite": band.nonfinite.astype(np.float64),
                }
            )
        return data

    def _finals(
        self,
        groups: Mapping[str, list[tuple[str, ScalarSeries, Line]]],
        average: Average,
        spread: Spread,
    ) -> list[dict[str, Any]]:
        """For each group, the statistics of its runs' last values, which are not smoothed.

        If all of them are NaN or all are one of the infinities, `common` is this value.
        """
        runs = [(i, *run) for i, lines in enumerate(groups.values()) for run in lines]
        logged = [(i, run, series.value[-1]) for i, run, series, _ in runs if len(series)]
        values, group = [value for *_, value in logged], [i for i, *_ in logged]
        found = group_statistics(values, group, len(groups), average, spread)
        live = Counter(i for i, run, _ in logged if self._multiplexer.is_live(run))
        names = "average", "low", "high", "count", "nonfinite"
        ends: list[dict[str, float]] = [{} for _ in groups]
        for i, _, value in logged:
            ends[i][str(value)] = value
        return [
            {
                **{name: getattr(found, name)[i] for name in names},
                "live": live[i],
                **({"common": min(end.values())} if len(end) == 1 and not found.count[i] else {}),
            }
            for i, end in enumerate(ends)
        ]

    def _header(
        self, request: LinesRequest | BandsRequest, start: float, stop: float, runs: list[str]
    ) -> dict[str, Any]:
        axis = request.window.axis
        x = axis._asdict() if isinstance(axis, TagAxis) else axis
        header: dict[str, Any] = {"tag": request.tag, "x": x, "from": start, "to": stop}
        wanted = request.runs if isinstance(request, LinesRequest) else runs
        if untimed := [run for run in wanted if not self._multiplexer.has_times(run)]:
            header["untimed"] = untimed
        if is_described(self._multiplexer, request.tag, runs):
            header["described"] = True
        return header

    def _lines(
        self, tag: str, runs: Iterable[str], axis: Axis | TagAxis
    ) -> Iterable[tuple[str, ScalarSeries, Line]]:
        """Yields each run that has the tag, with its series and line. On an axis of times, a run
        without times has none."""
        for run, series in self._series(tag, runs):
            if axis in ("relative", "wall") and not self._multiplexer.has_times(run):
                continue
            if isinstance(axis, TagAxis):
                other = next((found for _, found in self._series(axis.tag, [run])), None)
                yield run, series, paired_line(series, other)
            else:
                yield run, series, line_of(series, axis)

    def _series(self, tag: str, runs: Iterable[str]) -> Iterable[tuple[str, ScalarSeries]]:
        """Yields each run that has the tag, with its series."""
        for run in runs:
            try:
                yield run, self._multiplexer.scalars(run, tag, claims=self._claims)
            except NotFoundError:
                continue  # The tag does not exist, or the run was deleted in the meantime.


def _keeps_rows(window: Window) -> bool:
    """Whether rows of a growing line stay as they are when it grows."""
    is_causal = not window.smoothing or window.smoothing_kind == "exponential"
    # With one bound, the rows depend on the other lines of the request.
    has_fixed_bounds = (window.start is None) == (window.stop is None)
    return is_causal and has_fixed_bounds and not isinstance(window.axis, TagAxis)


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
    if scale == "symlog":
        low, high = to_symlog(start), to_symlog(stop)
        more = (high - low) * margin
        return float(from_symlog(low - more)), float(from_symlog(high + more))
    more = (stop - start) * margin
    return start - more, stop + more


def _band_values(
    series: ScalarSeries, line: Line, window: Window
) -> tuple[Line, NDArray[Any]] | None:
    """A run's line in a band and its values; None if it has no x, or x goes back and forth."""
    value = smoothed(line.value, window.smoothing, line.starts, window.smoothing_kind)
    if not isinstance(window.axis, TagAxis):
        return line, value
    return ascending(line, series, value) if len(line) else None


def _table(series: ScalarSeries, line: Line, indices: NDArray[np.int64], window: Window) -> Table:
    """The columns of the rows at these indices of the line."""
    rows = line.rows_at(indices)
    table = {
        "step": series.step[rows],
        "wall_time": series.wall_time[rows],
        "value": line.value[indices],
    }
    if window.smoothing:
        how = window.smoothing, line.starts, window.smoothing_kind
        table["smoothed"] = smoothed(line.value, *how)[indices]
    if window.axis == "relative_step" or isinstance(window.axis, TagAxis):
        table["x"] = line.x[indices]
    return table
