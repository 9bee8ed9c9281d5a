"""Columns that a user chooses: of the rows of runs, or of groups of runs, in `ls` and `report`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import click
import numpy as np

from tbcore import BadRequestError, NotFoundError
from tbcore.engine import RunColumns, did_you_mean
from tbcore_logs import Logs, Run
from tbcore_logs.groups import Groups, GroupStatistics, group_runs, statistics_of
from tbcore_logs.printing.access import if_readable
from tbcore_logs.printing.drawing import sparkline
from tbcore_logs.printing.output import PrintedColumn, short, short_count

SPARKLINE_WIDTH = 12
RUN_COLUMNS = "state", "run", "step", "last_event", "took"
"""The fields of a run, with which its row begins."""
_SORT_KEYS = "started", "age"
"""What runs can be sorted by besides; numbers increase with the age."""
_STATISTIC = re.compile(
    r"(.+):(last|(?:arg)?(?:min|max)|at\((-?\d{1,18})\)|change\((0*[1-9]\d{0,17})\))", re.DOTALL
)


class Column(NamedTuple):
    """A column of values of a tag, or of a hyperparameter."""

    text: str
    """The name as typed, such as `loss:last` or `lr`."""
    cells: Mapping[str, Any]
    """Maps runs to their values. None, or no entry, for a run without one."""
    tag: str | None = None
    """The tag; None for a hyperparameter."""
    stat: str | None = None
    """`last`, `min`, `argmin`, `at(100)` and so on; None for a hyperparameter."""
    last: Mapping[str, Any] | None = None
    """The last values of the tag, if `stat` is `min` or `max`."""
    ended: Collection[str] | None = None
    """The runs whose points end before the step, if `stat` is `at`."""

    @property
    def short(self) -> Callable[[Any], str]:
        """Formats a cell for a terminal."""
        return short_count if self.stat in ("argmin", "argmax") else short


def column_of(text: str, attributes: RunColumns, default: str = "last") -> Column:
    """The column for `TAG:last`, `:min`, `:max`, `:at(STEP)` or `:change(STEPS)`, a hyperparameter,
    or a tag, of which it has the value that `default` selects.

    `:argmin` and `:argmax` are the steps of the lowest and the highest value. Raises UsageError if
    no run has the tag or hyperparameter.
    """
    match = _STATISTIC.fullmatch(text)
    if match is None and attributes.index.hparam_names.candidates(text):
        return Column(text, dict(zip(attributes.runs, attributes.hparams(text), strict=True)))
    tag, stat = (match[1], match[2]) if match else (text, default)
    step = match and (match[3] or match[4])
    known = attributes.index.scalar_tags.candidates(tag)
    if not known:
        close = [
            *attributes.index.scalar_tags.close(tag),
            *attributes.index.hparam_names.close(tag),
        ]
        raise click.UsageError(
            f"no tag or hyperparameter {tag!r}{did_you_mean(tag, close)}",
            click.get_current_context(),
        )

    def cells(stat: str) -> dict[str, Any]:
        is_step = stat.startswith("arg")
        kind = stat.partition("(")[0].removeprefix("arg")
        points = attributes.points(tag, kind, None if step is None else int(step))
        values = [None if point is None else point[not is_step] for point in points]
        return dict(zip(attributes.runs, values, strict=True))

    last = cells("last") if stat in ("min", "max") else None
    ended = None
    if step is not None and stat.startswith("at("):
        points = zip(attributes.runs, attributes.points(tag, "last", None), strict=True)
        ended = {run for run, point in points if point is not None and point[0] < int(step)}
    return Column(text, cells(stat), tag if tag in known else known[0], stat, last, ended)


def sorting_column(
    sort: str | None, chosen: Sequence[Column], by: str | None, attributes: Callable[[], RunColumns]
) -> list[Column]:
    """The column to add for `--sort` if rows of runs, or with `by`, of groups, do not have it."""
    known = [*_SORT_KEYS, *RUN_COLUMNS, *(column.text for column in chosen)]
    if by is not None:
        known = ["group", "runs"]
        for column in chosen:
            statistics = () if column.tag is None else GroupStatistics._fields
            known += [column.text, *(f"{column.text} {name}" for name in statistics)]
    return [] if sort is None or sort in known else [column_of(sort, attributes())]


# -- rows of runs ----------------------------------------------------------------------------------


def run_rows(
    logs: Logs,
    names: Sequence[str],
    columns: Sequence[Column],
    last_steps: Mapping[str, int | None],
    *,
    sort: str | None,
    reverse: bool,
) -> list[list[Any]]:
    """The rows of runs: the cells of RUN_COLUMNS, and then those of the chosen columns."""
    known = [*_SORT_KEYS, *RUN_COLUMNS, *(column.text for column in columns)]
    rows = [
        [*_fields(logs[name], last_steps[name]), *(column.cells.get(name) for column in columns)]
        for name in names
    ]
    return [row[len(_SORT_KEYS) :] for row in _sorted(rows, known, sort, reverse=reverse)]


def _fields(run: Run, step: int | None) -> list[Any]:
    """The cells of a run in _SORT_KEYS and RUN_COLUMNS."""
    started, last = run.started, run.last_event
    took = (last - started).total_seconds() if last and started else None
    age = None if last is None else -last.timestamp()
    return [started, age, run.state, run.name, step, last, took]


def _sorted(
    rows: list[list[Any]], known: Sequence[str], sort: str | None, *, reverse: bool
) -> list[list[Any]]:
    """The rows sorted by a cell: numbers before texts. Missing values and NaN are last."""
    if sort is None:
        return rows[::-1] if reverse else rows
    index = known.index(sort)

    def is_missing(row: list[Any]) -> bool:
        cell = row[index]
        return cell is None or (isinstance(cell, float) and math.isnan(cell))

    found = [row for row in rows if not is_missing(row)]
    found.sort(key=lambda row: (isinstance(row[index], str), row[index]), reverse=reverse)
    return [*found, *filter(is_missing, rows)]


def line_of(run: Run, tag: str) -> str:
    """The course of a tag in characters; "" for a run without it."""
    own = next((own for own in run if own == tag or own.lower() == tag.lower()), None)
    if own is None or own not in run.scalar_tags:
        return ""
    with if_readable():
        return sparkline(run[own].value, SPARKLINE_WIDTH)
    return ""


# -- rows of groups --------------------------------------------------------------------------------


class GroupTable(NamedTuple):
    """The rows of groups of runs."""

    columns: list[PrintedColumn]
    """`group`, `runs`, and then those of each chosen column."""
    rows: list[list[Any]]
    figures: list[PrintedColumn]
    """The same for people: of a tag, a mean with its deviation."""
    texts: list[list[Any]]
    """The rows of `figures`."""
    members: list[list[str]]
    """The runs of each row's group."""


def grouped(names: Sequence[str], by: str, attributes: Callable[[], RunColumns]) -> Groups:
    """The groups of runs. Raises UsageError for a text that is not a rule."""
    try:
        return group_runs(by, names, attributes)
    except (BadRequestError, NotFoundError) as error:
        raise click.UsageError(f"--by: {error}", click.get_current_context()) from None


def group_table(
    groups: Groups,
    names: Sequence[str],
    columns: Sequence[Column],
    *,
    sort: str | None,
    reverse: bool,
    limit: int | None,
) -> GroupTable:
    """The rows of groups, sorted by `group`, `runs`, a column, which is the mean of a tag's values,
    or any name of `columns` of the table.
    """
    members: list[list[str]] = [[] for _ in groups.names]
    for name, code in zip(names, groups.of_run.tolist(), strict=True):
        members[code].append(name)
    printed = [PrintedColumn("group", is_name=True), PrintedColumn("runs")]
    figures, known = [*printed], ["group", "runs"]
    cells: list[Sequence[Any]] = [groups.names, list(map(len, members))]
    texts = [*cells]
    for column in columns:
        figures.append(PrintedColumn(column.text, column.text.removesuffix(":last")))
        if column.tag is None:
            common = [_common([column.cells.get(name) for name in own]) for own in members]
            printed.append(PrintedColumn(column.text))
            known.append(column.text)
            cells.append(common)
            texts.append(common)
            continue
        last = None if column.last is None else [column.last.get(name) for name in names]
        ended = None if column.ended is None else [name in column.ended for name in names]
        found = statistics_of(groups, [column.cells.get(name) for name in names], last, ended)
        for name, values in found.columns().items():
            printed.append(PrintedColumn(f"{column.text} {name}"))
            known.append(column.text if name == "mean" else printed[-1].name)
            cells.append([None if value != value else value for value in values.tolist()])
        texts.append([_figure(found, code) for code in range(len(members))])
    rows = [list(row) for row in zip(*cells, range(len(members)), strict=True)]
    if sort is not None and sort not in known:
        known = [column.name for column in printed]
    rows = _sorted(rows, known, sort, reverse=reverse)[:limit]
    order = [row.pop() for row in rows]
    return GroupTable(
        printed, rows, figures,
        [[column[code] for column in texts] for code in order], [members[code] for code in order],
    )  # fmt: skip


def _common(values: Sequence[Any]) -> Any:
    """The value that all runs of a group have; None if they differ."""
    return values[0] if len(set(map(repr, values))) == 1 else None


def _figure(statistics: GroupStatistics, code: int) -> str:
    """The mean of a group with its deviation, and which values are not in it; "" without values."""
    counts = statistics.columns()
    n, mean, deviation = (counts[name][code].item() for name in ("n", "mean", "deviation"))
    words = {"nonfinite": "not finite", "missing": "missing", "diverged": "diverged"}
    beside = [
        f"{counts[name][code]:,} {what}"
        for name, what in words.items()
        if name in counts and counts[name][code]
    ]
    ended = counts["ended"][code].item() if "ended" in counts else 0
    if ended:
        size = n + sum(counts[name][code].item() for name in ("nonfinite", "missing", "ended"))
        beside.insert(0, f"{n:,} of {size:,}, {ended:,} ended before")
    if n + statistics.nonfinite[code] + ended == 0:
        return ""
    none = "nan" if statistics.nonfinite[code] else "-"
    text = short(mean) if n == 1 else _with_deviation(mean, deviation) if n else none
    return f"{text} ({', '.join(beside)})" if beside else text


def _with_deviation(mean: float, deviation: float) -> str:
    """`0.684 ± 0.064`: with as many decimals as give the deviation two digits."""
    size = max(abs(mean), deviation)
    decimals = max(0, 1 - math.floor(math.log10(deviation))) if 0 < deviation < np.inf else 9
    if 1e-4 <= size < 1e9 and decimals <= 8:
        return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"
    return f"{mean:.4g} ± {deviation:.2g}"
