"""What charts draw: the lines of tags that match, and values with a margin around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claims, Multiplexer, NotFoundError, ScalarSeries
from tbcore.patterns import InvalidPatternError, Matcher

MAX_LINES = 500
"""Of one chart. More cannot be told apart, and an expression may match every tag there is."""

Answer = tuple[dict[str, Any], list[dict[str, NDArray[Any]]]]
"""A header, and for each line a table."""


class Margin(NamedTuple):
    """Tags of one series with a margin."""

    value: str
    lower: str
    upper: str


class Charts:
    """Answers what a page asks for one chart. In a line are at most `samples` points (0: all)."""

    def __init__(self, multiplexer: Multiplexer, claims: Claims, samples: int) -> None:
        self._multiplexer = multiplexer
        self._claims = claims
        self._samples = samples

    def lines(self, runs: Sequence[str], patterns: Sequence[str]) -> Answer:
        """A line for each run and each of its tags that begins with a match of a pattern.

        The header has `lines`, each its `run`, its `tag` and `segments` (rows where it begins, and
        begins anew); `num_lines`, how many there are, of which the first come; and `invalid`,
        pattern to why it is none. A table has `step`, `wall_time` and `value`.
        """
        listed = self._listed(runs)
        tags = list(dict.fromkeys(tag for run in listed for tag in listed[run]))
        matched, invalid = matching(patterns, tags)
        wanted = [(run, tag) for run in listed for tag in listed[run] if tag in matched]
        lines, tables = [], []
        for run, tag in wanted[:MAX_LINES]:
            try:
                series = self._multiplexer.scalars(
                    run, tag, claims=self._claims, samples=self._samples
                )
            except NotFoundError:
                continue  # gone since it was listed
            lines.append({"run": run, "tag": tag, "segments": segments(series.step)})
            columns = {"step": series.step, "wall_time": series.wall_time, "value": series.value}
            tables.append(columns)
        return {"lines": lines, "num_lines": len(wanted), "invalid": invalid}, tables

    def margins(self, runs: Sequence[str], margins: Sequence[Margin]) -> Answer:
        """A band for each run and margin whose three tags the run has.

        The header is as that of `lines`, with `value`, `lower` and `upper` in place of `tag`, and
        has `missing`, the tags that no run has. A table has `step`, `wall_time`, `value`, `lower`
        and `upper`, at the steps that all three have, ascending.
        """
        listed = self._listed(runs)
        has = {run: set(tags) for run, tags in listed.items()}
        wanted = [(run, margin) for run in has for margin in margins if has[run].issuperset(margin)]
        lines, tables = [], []
        for run, margin in wanted[:MAX_LINES]:
            try:
                three = [self._multiplexer.scalars(run, tag, claims=self._claims) for tag in margin]
            except NotFoundError:
                continue
            lines.append({"run": run, **margin._asdict()})
            tables.append(joined(*three, samples=self._samples))
        known = set().union(*has.values())
        missing = sorted({tag for margin in margins for tag in margin} - known)
        return {"lines": lines, "num_lines": len(wanted), "missing": missing}, tables

    def _listed(self, runs: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Those of the runs that there are, and their tags."""
        listed = self._multiplexer.tags(self._claims)
        return {run: listed[run] for run in dict.fromkeys(runs) if run in listed}


def matching(patterns: Sequence[str], tags: Sequence[str]) -> tuple[set[str], dict[str, str]]:
    """Which tags begin with a match of any pattern, and why each invalid one is none.

    Raises BadRequestError where that takes too long.
    """
    matcher = Matcher()
    left = tags
    invalid: dict[str, str] = {}
    for pattern in patterns:
        try:
            found = matcher.match(pattern, left)
        except InvalidPatternError as error:
            invalid[pattern] = error.reason
        else:
            left = [tag for tag, is_found in zip(left, found, strict=True) if not is_found]
    return set(tags).difference(left), invalid


def segments(step: NDArray[np.int64]) -> NDArray[np.int64]:
    """First rows of what was written in one go: steps go back where a job was restarted."""
    if not len(step):
        return np.zeros(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(np.diff(step) < 0) + 1))


def joined(
    value: ScalarSeries, lower: ScalarSeries, upper: ScalarSeries, *, samples: int
) -> dict[str, NDArray[Any]]:
    """The points at the steps that all three have, ascending, as columns of one length.

    Of points of one step the one that was written last counts. More than `samples` (0: no limit)
    are thinned evenly; the first and the last stay.
    """
    rows_of = {}
    steps: NDArray[np.int64] | None = None
    for name, series in (("value", value), ("lower", lower), ("upper", upper)):
        # The first in the reversed column is the last that was written.
        own, first = np.unique(series.step[::-1], return_index=True)
        rows_of[name] = own, len(series.step) - 1 - first
        steps = own if steps is None else np.intersect1d(steps, own, assume_unique=True)
    assert steps is not None
    if 0 < samples < len(steps):
        steps = steps[np.linspace(0, len(steps) - 1, samples).astype(np.int64)]
        # One sample is the newest.
        steps = steps if samples > 1 else steps[-1:]
    at = {name: rows[np.searchsorted(own, steps)] for name, (own, rows) in rows_of.items()}
    return {
        "step": steps,
        "wall_time": value.wall_time[at["value"]],
        "value": value.value[at["value"]],
        "lower": lower.value[at["lower"]],
        "upper": upper.value[at["upper"]],
    }
