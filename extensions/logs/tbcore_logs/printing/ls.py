"""`tbcore ls`: the runs as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import click

from tbcore.engine import RunColumns, did_you_mean
from tbcore_logs import Run
from tbcore_logs.printing.access import LogSelection, if_readable, read
from tbcore_logs.printing.drawing import sparkline
from tbcore_logs.printing.output import (
    Form,
    PrintedColumn,
    is_terminal,
    print_table,
    short,
    short_age,
    short_count,
    short_duration,
)

_NUM_DEFAULT_TAGS = 3
_SPARKLINE_WIDTH = 12
_OWN_COLUMNS = (
    PrintedColumn("state"),
    PrintedColumn("run", is_name=True),
    PrintedColumn("step", short=short_count),
    PrintedColumn("last_event", "age", short_age),
    PrintedColumn("took", short=short_duration),
)
"""The columns that are always shown."""
_HIDDEN_COLUMNS = "started", "age"
"""Columns that are not shown, but can be sorted by. Cells of `age` increase with the age."""


class _Value(NamedTuple):
    """A column of values of a tag, or of a hyperparameter."""

    text: str
    """The name as typed, such as `loss:last` or `lr`."""
    cells: Sequence[Any]
    tag: str | None
    """The tag; None for a hyperparameter."""
    short: Callable[[Any], str] = short
    """Formats a cell for a terminal."""


def list_runs(
    selection: LogSelection,
    *,
    columns: Iterable[str] | None,
    sort: str | None,
    reverse: bool,
    limit: int | None,
    form: Form | None,
) -> int:
    """Prints a line for each run; returns the exit status."""
    logs, names = selection.opened()
    read(logs, logs)
    attributes = logs.attributes()
    if columns is None:
        tags = attributes.index.scalar_tags.most_common()[:_NUM_DEFAULT_TAGS]
        columns = [f"{tag}:last" for tag in tags]
    chosen = [_value(text, attributes) for text in columns]
    known = [*_HIDDEN_COLUMNS, *(column.name for column in _OWN_COLUMNS)]
    known += [value.text for value in chosen]
    if sort is not None and sort not in known:
        chosen.append(_value(sort, attributes))
        known.append(sort)
    columns_of_values = [attributes.last_steps(), *(value.cells for value in chosen)]
    cells = dict(zip(attributes.runs, zip(*columns_of_values, strict=True), strict=True))
    rows = [_row(logs[name], *cells[name]) for name in names]
    if sort is not None:
        rows = _sorted(rows, known.index(sort), reverse=reverse)
    elif reverse:
        rows.reverse()
    rows = [row[len(_HIDDEN_COLUMNS) :] for row in rows[:limit]]
    shown = [*_OWN_COLUMNS]
    shown += [PrintedColumn(v.text, v.text.removesuffix(":last"), v.short) for v in chosen]
    line_of = next((value.tag for value in chosen if value.tag is not None), None)
    if line_of is not None and is_terminal() and form is None:
        shown.append(PrintedColumn("", line_of))
        rows = [[*row, _line(logs[row[1]], line_of)] for row in rows]
    print_table(shown, rows, form)
    return 0


def _row(run: Run, step: int | None, *values: Any) -> list[Any]:
    """The cells of a run in _HIDDEN_COLUMNS, in _OWN_COLUMNS and in the chosen columns."""
    started, last = run.started, run.last_event
    took = (last - started).total_seconds() if last and started else None
    age = None if last is None else -last.timestamp()
    return [started, age, run.state, run.name, step, last, took, *values]


def _value(text: str, attributes: RunColumns) -> _Value:
    """The column for `TAG:last`, `:min`, `:max` or `:at(STEP)`, a hyperparameter, or a tag.

    `:argmin` and `:argmax` are the steps of the lowest and the highest value. Raises UsageError if
    no run has the tag or hyperparameter.
    """
    match = re.fullmatch(r"(.+):(last|(?:arg)?(?:min|max)|at\((-?\d{1,18})\))", text, re.DOTALL)
    is_step = match is not None and match[2].startswith("arg")
    if match:
        tag, stat, step = match[1], match[2].partition("(")[0].removeprefix("arg"), match[3]
    elif attributes.index.hparam_names.candidates(text):
        return _Value(text, attributes.hparams(text), None)
    else:
        tag, stat, step = text, "last", None
    tags = attributes.index.scalar_tags
    if not tags.candidates(tag):
        close = [*tags.close(tag), *attributes.index.hparam_names.close(tag)]
        raise click.UsageError(
            f"no tag or hyperparameter {tag!r}{did_you_mean(tag, close)}",
            click.get_current_context(),
        )
    points = attributes.points(tag, stat, None if step is None else int(step))
    cells = [None if point is None else point[not is_step] for point in points]
    return _Value(text, cells, tag, short_count if is_step else short)


def _sorted(rows: list[list[Any]], index: int, *, reverse: bool) -> list[list[Any]]:
    """The rows sorted by a cell: numbers before texts. Missing values and NaN are last."""

    def is_missing(row: list[Any]) -> bool:
        cell = row[index]
        return cell is None or (isinstance(cell, float) and math.isnan(cell))

    known = [row for row in rows if not is_missing(row)]
    known.sort(key=lambda row: (isinstance(row[index], str), row[index]), reverse=reverse)
    return [*known, *filter(is_missing, rows)]


def _line(run: Run, tag: str) -> str:
    own = next((own for own in run if own == tag or own.lower() == tag.lower()), None)
    if own is None or own not in run.scalar_tags:
        return ""
    with if_readable():
        return sparkline(run[own].value, _SPARKLINE_WIDTH)
    return ""
