"""Columns that a user chooses: of the rows of runs, or of groups of runs, in `ls` and `report`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import click
import numpy as np

from tbcore import BadRequestError, NotFoundError
from tbcore.engine import Attribute, RunColumns, format_attribute, group_text
from tbcore_logs import Logs, Run
from tbcore_logs.attributes import attribute_of, values_of
from tbcore_logs.best import marks_of_best
from tbcore_logs.errors import instead
from tbcore_logs.goals import guess_goal
from tbcore_logs.groups import Groups, GroupStatistics, group_runs, statistics_of
from tbcore_logs.noted import NOTED, RunNotes
from tbcore_logs.order import name_key
from tbcore_logs.printing.access import if_readable
from tbcore_logs.printing.drawing import sparkline
from tbcore_logs.printing.output import PrintedColumn, computed, short, short_count

SPARKLINE_WIDTH = 12
RUN_COLUMNS = "state", "run", "step", "last_event", "took"
"""The fields of a run, with which its row begins."""
_SORT_KEYS = "started", "size", "source", "age"
"""What runs can be sorted by besides; numbers increase with the age."""
FIELDS = *RUN_COLUMNS, "started", "size", "source", *NOTED
"""The fields of a run that can be columns. A hyperparameter or a tag goes before `source` and a
noted one."""


class Column(NamedTuple):
    """A column of values of a tag, or of a hyperparameter."""

    text: str
    """The name in a header, such as `loss:last` or `lr`."""
    cells: Mapping[str, Any]
    """Maps runs to their values. None, or no entry, for a run without one."""
    attribute: Attribute
    """What it shows: the stat may also be one of `attributes.OWN_STATS`."""
    last: Mapping[str, Any] | None = None
    """The last values of the tag, if the stat is `min` or `max`."""
    ended: Collection[str] | None = None
    """The runs whose points end before the step, if the stat is `at`."""

    @property
    def tag(self) -> str | None:
        """The tag; None for a hyperparameter."""
        return self.attribute.name if self.attribute.kind == "value" else None

    @property
    def title(self) -> str:
        """The name for people: that of a tag for its last values."""
        return (self.tag if self.attribute.stat == "last" else self.text) or '""'

    @property
    def short(self) -> Callable[[Any], str]:
        """Formats a cell for a terminal."""
        return short_count if self.attribute.stat in ("argmin", "argmax", "nan") else short


Fields = Callable[[str], list[Any]]
"""See `fields_of`."""
Order = Column | str | None
"""What rows are sorted by: a column, or the name of another one; None for no order."""


def column_of(text: str, attributes: RunColumns) -> Column:
    """The column for an attribute as in `attribute_of`, or for a tag, whose last value it shows.

    Raises UsageError if no run has the tag or hyperparameter.
    """
    try:
        attribute = attribute_of(text, attributes)
    except BadRequestError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None
    if attribute.kind == "fact":  # Rows have these anyway.
        attribute = Attribute("hparam", text)
    name, index = attribute.name, attributes.index
    end = format_attribute(attribute._replace(name="x"))[1:]
    header = (f"{name}{end}" if '"' in text else text) or '""'
    if attribute.stat is None and index.hparam_names.candidates(name):
        values = dict(zip(attributes.runs, attributes.hparams(name), strict=True))
        return Column(header, values, attribute)
    if not index.scalar_tags.candidates(name):
        attributes.report(*index.hparams.problems)
        line = f"no tag or hyperparameter {name!r}"
        others = [*index.scalar_tags.most_common(), *index.hparam_names.most_common()]
        if attribute.stat:
            line, others = f"no tag {name!r}", index.scalar_tags.most_common()
            if index.hparam_names.candidates(name):
                line, others = f"{name!r} is a hyperparameter, which has no {end!r}", []
        raise click.UsageError(line + instead(name, others), click.get_current_context())
    return column_of_tag(
        attribute._replace(kind="value", stat=attribute.stat or "last"), attributes, header
    )


def column_of_tag(attribute: Attribute, attributes: RunColumns, header: str = "") -> Column:
    """The column for a value of a tag that some run has."""
    _, tag, stat, step = attribute
    known = attributes.index.scalar_tags.candidates(tag)

    def cells(stat: str) -> dict[str, Any]:
        values = values_of(attribute._replace(stat=stat), attributes)
        if stat in ("change", "auc", "mean"):
            values = list(map(computed, values))
        return dict(zip(attributes.runs, values, strict=True))

    ended = None
    if step is not None and stat == "at":
        points = zip(attributes.runs, attributes.points(tag, "last", None), strict=True)
        ended = {run for run, point in points if point is not None and point[0] < step}
    return Column(
        header or f"{tag}:{stat}",
        cells(stat or "last"),
        attribute if tag in known else attribute._replace(name=known[0]),
        cells("last") if stat in ("min", "max") else None,
        ended,
    )


def columns_of(
    texts: Iterable[str], logs: Logs, attributes: RunColumns, fields: Fields
) -> list[Column]:
    """The columns for the texts, which may also be FIELDS of runs, but `run`."""
    notes, index = RunNotes(lambda: logs.notes), attributes.index
    found = []
    for text in dict.fromkeys(texts):
        names = index.hparam_names, index.scalar_tags
        is_logged = text in (*NOTED, "source") and any(each.candidates(text) for each in names)
        if text not in FIELDS or is_logged:
            found.append(column_of(text, attributes))
        elif text != "run":
            place = None if text in NOTED else [*_SORT_KEYS, *RUN_COLUMNS].index(text)
            cells = {
                run: {**NOTED, **notes.of(run)}[text] if place is None else fields(run)[place]
                for run in logs
            }
            found.append(Column(text, cells, Attribute("fact", text)))
    return found


def with_order(
    sort: str | None,
    chosen: Sequence[Column],
    by: str | None,
    attributes: Callable[[], RunColumns],
) -> tuple[list[Column], Order]:
    """The columns and the order for `--sort` of rows of runs, or with `by`, of groups.

    If none of the columns has what rows are sorted by, it is added.
    """
    own = [*_SORT_KEYS, *RUN_COLUMNS] if by is None else ["group", "runs"]
    if by is not None:
        parts = [(column, name) for column in chosen for name in GroupStatistics._fields]
        own += [f"{column.text} {name}" for column, name in parts if column.tag is not None]
    if sort is None or sort in own:
        return [*chosen], sort
    for column in chosen:
        if column.text == sort:
            return [*chosen], column
    order = column_of(sort, attributes())
    for column in chosen:
        if column.attribute == order.attribute:
            return [*chosen], column
    return [*chosen, order], order


# -- rows of runs ----------------------------------------------------------------------------------


def run_rows(
    fields: Fields,
    names: Sequence[str],
    columns: Sequence[Column],
    *,
    order: Order,
    reverse: bool,
) -> list[list[Any]]:
    """The rows of runs: the cells of RUN_COLUMNS, and then those of the chosen columns."""
    known: list[Order] = [*_SORT_KEYS, *RUN_COLUMNS, *columns]
    rows = [[*fields(name), *(column.cells.get(name) for column in columns)] for name in names]
    return [row[len(_SORT_KEYS) :] for row in _sorted(rows, known, order, reverse=reverse)]


def fields_of(logs: Logs) -> Fields:
    """A function for the cells of a run in _SORT_KEYS and RUN_COLUMNS."""
    sizes = logs.sizes

    @cache
    def fields(name: str) -> list[Any]:
        run = logs[name]
        started, last = run.started, run.last_event
        took = (last - started).total_seconds() if last and started else None
        age = None if last is None else -last.timestamp()
        keys = [started, sizes.get(name), run.source, age]
        return [*keys, run.state, name, run.last_step, last, took]

    return fields


def _sorted(
    rows: list[list[Any]], known: Sequence[Order], order: Order, *, reverse: bool
) -> list[list[Any]]:
    """The rows sorted by a cell: numbers before texts, which are in natural order. Missing values
    and NaN are last.
    """
    if order is None:
        return rows[::-1] if reverse else rows
    is_name = isinstance(order, str)
    index = next(i for i, each in enumerate(known) if each is order or (is_name and each == order))

    def is_missing(row: list[Any]) -> bool:
        cell = row[index]
        return cell is None or (isinstance(cell, float) and math.isnan(cell))

    found = [row for row in rows if not is_missing(row)]

    def key(row: list[Any]) -> tuple[bool, Any]:
        cell = row[index]
        return isinstance(cell, str), name_key(cell) if isinstance(cell, str) else cell

    found.sort(key=key, reverse=reverse)
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
    """The same for people: of a tag, a mean with its deviation; and how many runs are archived."""
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
    notes: RunNotes,
    left_out: Groups,
    hparams: Callable[[str], Mapping[str, Any]],
    *,
    order: Order,
    reverse: bool,
    limit: int | None,
    is_named: bool = False,
) -> GroupTable:
    """The rows of groups, sorted by `group`, `runs`, a column, which is the mean of a tag's values,
    or any name of `columns` of the table.

    `left_out` are the groups of archived runs that the query leaves out. `hparams` returns the
    hyperparameters of a run. `is_named` is whether a user has named the columns.
    """
    members: list[list[str]] = [[] for _ in groups.names]
    for name, code in zip(names, groups.of_run.tolist(), strict=True):
        members[code].append(name)
    printed = [PrintedColumn("group", is_name=True), PrintedColumn("runs")]
    figures, known = [*printed], list[Order](["group", "runs"])
    cells: list[Sequence[Any]] = [groups.names, list(map(len, members))]
    more = dict(zip(left_out.names, left_out.sizes.tolist(), strict=True))
    counts = [
        _with_archived(own, more.get(name, 0), notes)
        for name, own in zip(groups.names, members, strict=True)
    ]
    texts: list[Sequence[Any]] = [groups.names, counts]
    for column in columns:
        is_own = is_named or column is order or str(order).startswith(f"{column.text} ")
        figures.append(PrintedColumn(column.text, column.title, is_named=is_own))
        if column.tag is None:
            common = [_common([column.cells.get(name) for name in own]) for own in members]
            printed.append(PrintedColumn(column.text))
            known.append(column)
            cells.append(common)
            texts.append(common)
            continue
        last = None if column.last is None else [column.last.get(name) for name in names]
        ended = None if column.ended is None else [name in column.ended for name in names]
        found = statistics_of(groups, [column.cells.get(name) for name in names], last, ended)
        for name, values in found.columns().items():
            printed.append(PrintedColumn(f"{column.text} {name}", part=name))
            known.append(column if name == "mean" else printed[-1].name)
            cells.append([None if value != value else computed(value) for value in values.tolist()])
        own_texts = [_figure(found, code) for code in range(len(members))]
        if column is order:
            _, name, stat, _ = column.attribute
            # A later first NaN is no better, nor is a step.
            goal = None if stat in ("nan", "argmin", "argmax") else guess_goal(name)
            finite = [
                None if name in (column.ended or ()) else column.cells.get(name) for name in names
            ]
            marks = marks_of_best(groups, names, finite, hparams, goal=goal, is_lowest=not reverse)
            own_texts = [
                f"{text}, {mark}" if mark else text
                for text, mark in zip(own_texts, marks, strict=True)
            ]
        texts.append(own_texts)
    rows = [list(row) for row in zip(*cells, range(len(members)), strict=True)]
    if isinstance(order, str):
        known = [column.name for column in printed]
    rows = _sorted(rows, known, order, reverse=reverse)[:limit]
    places = [row.pop() for row in rows]
    return GroupTable(
        printed, rows, figures,
        [[column[code] for column in texts] for code in places], [members[code] for code in places],
    )  # fmt: skip


def _with_archived(own: Sequence[str], left_out: int, notes: RunNotes) -> int | str:
    """The number of a group's runs, and how many of them are archived, as in `5 (2 archived)`, or
    how many archived runs are left out, as in `3 (+2 archived)`.
    """
    archived = f"{sum('archived' in notes.of(name) for name in own):,}"
    if left_out:
        archived = f"+{left_out:,}"
    return len(own) if archived == "0" else f"{len(own):,} ({archived} archived)"


def _common(values: Sequence[Any]) -> Any:
    """The value that all runs of a group have; None if they differ."""
    texts = {None if value is None else group_text(value) for value in values}
    return values[0] if len(texts) == 1 else None


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
