"""Reader: what a run has to compare, besides its texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbcore import Claim, Claims, Multiplexer, NotFoundError, ScalarSeries
from tbcore.values import (
    AUDIO_CLAIMS,
    HISTOGRAM_CLAIMS,
    IMAGE_CLAIMS,
    SESSION_START_TAG,
    drawn_rows,
    hparam_text,
    session_start,
)

SCALARS: Claims = (Claim(is_scalar=True),)
TEXTS: Claims = (Claim("tensor", plugin_name="text", is_scalar=False),)
HPARAMS: Claims = (Claim(plugin_name="hparams"),)
CLAIMS: Claims = (*SCALARS, *TEXTS, *HPARAMS)

TYPES: Mapping[str, Claims] = {
    "scalar": SCALARS,
    "text": TEXTS,
    "image": IMAGE_CLAIMS,
    "audio": AUDIO_CLAIMS,
    "histogram": HISTOGRAM_CLAIMS,
    "graph": (Claim("graph_def"), Claim("meta_graph_def")),
    "other": (Claim(),),
}
"""Types of data in words. A tag has the first one whose claims match it."""

MAX_FIRST_TAGS = 16
"""Number of tags, in order of first appearance, among which the first point of a run is looked
for. Even after a restart, the first of them has it."""
MAX_POINTS = 2000
"""Maximum number of points of a curve that are all drawn. Of a longer curve, a few of each part
are, with the lowest and the highest value."""


def tags_by_run(multiplexer: Multiplexer, runs: Sequence[str]) -> list[list[tuple[str, str]]]:
    """The tags of each run with their types, in order of first appearance; without hyperparameters.

    A run that does not exist has none.
    """
    found: list[dict[str, str]] = [{} for _ in runs]
    for name, claims in TYPES.items():
        tags = multiplexer.tags(claims)
        for run, types in zip(runs, found, strict=True):
            for tag in tags.get(run, ()):
                types.setdefault(tag, name)
    hidden = multiplexer.tags(HPARAMS)
    return [
        [(tag, name) for tag, name in types.items() if tag not in hidden.get(run, ())]
        for run, types in zip(runs, found, strict=True)
    ]


def times(multiplexer: Multiplexer, run: str) -> tuple[float, float, int] | None:
    """Wall times of the first and last point of a run's scalars, and its highest last step.

    None for a run without scalars. Raises NotFoundError for an unknown run.
    """
    last = multiplexer.last_points(run, SCALARS)
    if not len(last.step):
        return None
    tags = multiplexer.tags(SCALARS).get(run, [])[:MAX_FIRST_TAGS]
    series = [multiplexer.scalars(run, tag, claims=SCALARS) for tag in tags]
    first = [each.first.wall_time for each in series if each.first]
    return (
        min(first, default=float(last.wall_time.min())),
        float(last.wall_time.max()),
        int(last.step.max()),
    )


def hparam_rows(multiplexer: Multiplexer, run: str) -> list[tuple[list[str], str, Any]]:
    """Path, type and value of each hyperparameter that a run logged, by name.

    A path is one name, or more for a value inside a mapping. Types are number, bool, text, list,
    whose value is its `hparam_text`, and null. Raises DataError if they cannot be decoded, and
    NotFoundError.
    """
    hparams = session_start(multiplexer.metadata(run, SESSION_START_TAG)).hparams
    return [row for name, value in hparams.items() for row in _unfolded([name], value)]


def _unfolded(path: list[str], value: Any) -> Iterator[tuple[list[str], str, Any]]:
    """The path, type and value of a hyperparameter, or of each value inside a mapping, by name."""
    match value:
        case dict() if value:
            for name, each in value.items():
                yield from _unfolded([*path, name], each)
        case bool():
            yield path, "bool", value
        case float():
            yield path, "number", value
        case str():
            yield path, "text", value
        case None:
            yield path, "null", None
        case _:
            yield path, "list", hparam_text(value)


COLUMNS = (
    *("tag", "count", "nonfinite", "last", "last_step"),
    *("min", "min_step", "max", "max_step"),
)
"""Columns of `values_of`."""


def values_of(
    multiplexer: Multiplexer, run: str, tags: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """The last, lowest and highest value of each tag with their steps: a row for each logged tag.

    `tag` is the index among `tags`. `count` is the number of points and `nonfinite` of those that
    are NaN or infinite. The lowest and highest values are finite; NaN if no value is.
    """
    rows = []
    for index, tag in enumerate(tags):
        try:
            series = multiplexer.scalars(run, tag, claims=SCALARS)
        except NotFoundError:
            continue
        if series.last is None:
            continue
        row = [float(index), len(series), series.num_nonfinite]
        for point in (series.last, series.min, series.max):
            row += [point.value, point.step] if point else [np.nan, np.nan]
        rows.append(row)
    table = np.array(rows, np.float64).reshape(-1, len(COLUMNS))
    return dict(zip(COLUMNS, table.T, strict=True))


class Curve(NamedTuple):
    """The points of one tag that are drawn."""

    columns: dict[str, NDArray[Any]]
    """`step`, `wallTime` and `value`."""
    segments: list[int]
    """The first row after each restart."""
    num_points: int
    """Number of all points, of which some may not be drawn."""


def curve_of(series: ScalarSeries) -> Curve:
    """The points of a series to draw, in the order of their steps between restarts."""
    starts = series.segment_starts
    order = np.arange(len(series))
    if len(starts) == 1 and np.any(series.step[1:] < series.step[:-1]):
        # Several writers logged in turn.
        order = np.argsort(series.step, kind="stable")
    rows = np.union1d(drawn_rows(series.value[order], MAX_POINTS), starts)
    kept = order[rows]
    columns = {
        "step": series.step[kept],
        "wallTime": series.wall_time[kept],
        "value": series.value[kept],
    }
    return Curve(columns, np.searchsorted(rows, starts[1:]).tolist(), len(series))
