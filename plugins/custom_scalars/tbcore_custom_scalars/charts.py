"""Charts: the data of multiline charts and of margin charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries, SmoothingKind

MAX_LINES = 500
"""Maximum number of lines or bands in one chart. A pattern may match every tag."""

ChartData = tuple[dict[str, Any], list[dict[str, NDArray[Any]]]]
"""The arguments of `columns_response`: a header, and a table for each line."""


class Margin(NamedTuple):
    """The tags of a line, and of the lower and upper border of the band around it."""

    value: str
    lower: str
    upper: str


class Charts:
    """Reads the data of charts. Lines have at most `samples` points; 0 means all."""

    def __init__(self, multiplexer: Multiplexer, claims: Claims, samples: int) -> None:
        self._multiplexer = multiplexer
        self._claims = claims
        self._samples = samples

    def lines(
        self, runs: Sequence[str], patterns: Sequence[str], smoothing: float, kind: SmoothingKind
    ) -> ChartData:
        """A line for each run and each of its tags whose start matches a pattern.

        In the header, `lines` has the run, the tag and the `segments` of each of the first
        MAX_LINES lines. `num_lines` counts all of them. `untimed`, if it is there, has the runs
        without times, of which nothing is drawn on an axis of times. `invalid` maps each invalid
        pattern to the reason. Tables have `step`, `wall_time` and `value`, and `smoothed` unless
        `smoothing` is 0.
        """
        tags_of = self._tags(runs)
        tags = list(dict.fromkeys(tag for run in tags_of for tag in tags_of[run]))
        matches, invalid = match_tags(patterns, tags)
        found = [(run, tag) for run in tags_of for tag in tags_of[run] if tag in matches]
        lines, tables = [], []
        for run, tag in found[:MAX_LINES]:
            try:
                columns = self._columns(run, tag, smoothing, kind)
            except NotFoundError:
                continue  # The run was deleted after it was listed.
            lines.append({"run": run, "tag": tag, "segments": segments(columns["step"])})
            tables.append(columns)
        header = {"lines": lines, "num_lines": len(found), "invalid": invalid}
        return header | self._untimed(tags_of), tables

    def margins(self, runs: Sequence[str], margins: Sequence[Margin]) -> ChartData:
        """A band for each run and each margin whose three tags the run has.

        In the header, `lines` has the run and the three tags of each of the first MAX_LINES bands.
        `num_lines` counts all of them. `missing` lists the tags that no run has. Tables have
        `step`, `wall_time`, `value`, `lower` and `upper` at the steps that all three tags have, in
        ascending order.
        """
        tags_of = {run: set(tags) for run, tags in self._tags(runs).items()}
        found = [
            (run, margin)
            for run in tags_of
            for margin in margins
            if tags_of[run].issuperset(margin)
        ]
        lines, tables = [], []
        for run, margin in found[:MAX_LINES]:
            try:
                three = [self._multiplexer.scalars(run, tag, claims=self._claims) for tag in margin]
            except NotFoundError:
                continue
            lines.append({"run": run, **margin._asdict()})
            tables.append(join_steps(*three, samples=self._samples))
        existing = set().union(*tags_of.values())
        missing = sorted({tag for margin in margins for tag in margin} - existing)
        header = {"lines": lines, "num_lines": len(found), "missing": missing}
        return header | self._untimed(tags_of), tables

    def _untimed(self, runs: Iterable[str]) -> dict[str, list[str]]:
        """The part of a header with the runs whose points have no times of their own."""
        found = [run for run in runs if not self._multiplexer.has_times(run)]
        return {"untimed": found} if found else {}

    def _columns(
        self, run: str, tag: str, smoothing: float, kind: SmoothingKind
    ) -> dict[str, NDArray[Any]]:
        """The columns of a line. Smoothed values are computed from all points, as in Python."""
        series = self._multiplexer.scalars(run, tag, claims=self._claims, samples=self._samples)
        if smoothing == 0:
            return {"step": series.step, "wall_time": series.wall_time, "value": series.value}
        points = self._multiplexer.scalars(run, tag, claims=self._claims)
        rows = np.flatnonzero(np.isin(points.ordinal, series.ordinal))
        average = points.smooth(smoothing, kind)  # Sorted by step if several writers log in turn.
        return {
            "step": points.step[rows],
            "wall_time": points.wall_time[rows],
            "value": points.value[rows],
            "smoothed": average.value[np.argsort(average.ordinal)][rows],
        }

    def _tags(self, runs: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """The tags of each run that exists."""
        tags = self._multiplexer.tags(self._claims)
        return {run: tags[run] for run in dict.fromkeys(runs) if run in tags}


def match_tags(patterns: Sequence[str], tags: Sequence[str]) -> tuple[set[str], dict[str, str]]:
    """The tags whose start matches any pattern; a dict that maps invalid patterns to the reason.

    Raises BadRequestError if matching takes too long.
    """
    from tbcore.patterns import InvalidPatternError, Matcher  # 30 ms, not when a server starts

    matcher = Matcher()
    unmatched = tags
    invalid: dict[str, str] = {}
    for pattern in patterns:
        try:
            is_match = matcher.match(pattern, unmatched)
        except InvalidPatternError as error:
            invalid[pattern] = error.reason
        else:
            unmatched = [tag for tag, match in zip(unmatched, is_match, strict=True) if not match]
    return set(tags).difference(unmatched), invalid


def segments(step: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first row of each segment: row 0, and each row where the step decreases (a restart)."""
    if not len(step):
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(np.diff(step) < 0) + 1))


def join_steps(
    value: ScalarSeries, lower: ScalarSeries, upper: ScalarSeries, *, samples: int
) -> dict[str, NDArray[Any]]:
    """Columns of equal length: the points at the steps that all three have, in ascending order.

    If several points have the same step, the last one logged is used. At most `samples` points are
    returned, evenly spaced and including the first and the last; 0 means no limit.
    """
    # 1. Find the last row of each distinct step of each series, and the steps that all have.
    # 2. Select evenly spaced steps if there are too many.
    # 3. Look up the rows of these steps.
    rows_of = {}
    steps: NDArray[np.int64] | None = None
    for name, series in (("value", value), ("lower", lower), ("upper", upper)):  # 1
        # unique() finds the first row of each step. In the reversed column, that was logged last.
        own, first = np.unique(series.step[::-1], return_index=True)
        rows_of[name] = own, len(series.step) - 1 - first
        steps = own if steps is None else np.intersect1d(steps, own, assume_unique=True)
    assert steps is not None
    if 0 < samples < len(steps):  # 2
        steps = steps[np.linspace(0, len(steps) - 1, samples).astype(np.int64)]
        # A single sample is the last point.
        steps = steps if samples > 1 else steps[-1:]
    rows = {  # 3
        name: own_rows[np.searchsorted(own, steps)] for name, (own, own_rows) in rows_of.items()
    }
    return {
        "step": steps,
        "wall_time": value.wall_time[rows["value"]],
        "value": value.value[rows["value"]],
        "lower": lower.value[rows["lower"]],
        "upper": upper.value[rows["upper"]],
    }
