"""`tbcore ls`: the runs, or their tags, as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import click

from tbcore.cli.logs.access import default_logdir, opened, read, selected, split
from tbcore.cli.logs.drawing import sparkline
from tbcore.cli.logs.output import (
    Form,
    PrintedColumn,
    is_terminal,
    print_table,
    short,
    short_age,
    short_count,
    short_duration,
    warn_nothing,
)
from tbcore.errors import did_you_mean
from tbcore.logs import Logs, Run
from tbcore.queries.attributes import RunColumns

_NUM_DEFAULT_TAGS = 3
_SPARKLINE_WIDTH = 12
_OWN_COLUMNS = {
    "state": PrintedColumn("state"),
    "run": PrintedColumn("run", is_name=True),
    "step": PrintedColumn("step", short=short_count),
    "last_event": PrintedColumn("last_event", "age", short_age),
    "took": PrintedColumn("took", short=short_duration),
}
"""The columns that are always shown."""


class _Value(NamedTuple):
    """A column that was chosen."""

    text: str
    cells: Sequence[Any]
    tag: str | None
    """The tag with the values; None for a hyperparameter."""


def list_runs(
    logdir: str | None,
    *,
    runs: Iterable[str],
    where: str | None,
    columns: Iterable[str],
    sort: str | None,
    reverse: bool,
    limit: int | None,
    form: Form | None,
) -> int:
    """Prints a line for each run; returns the exit status."""
    logs = opened(logdir)
    names = selected(logs, runs, where)
    if not names:
        return nothing_found(logs, logdir)
    read(logs, logs)
    attributes = logs.attributes()
    wanted = split(columns)
    if wanted is None:
        tags = attributes.index.scalar_tags.most_common()[:_NUM_DEFAULT_TAGS]
        chosen = [_value(f"{tag}:last", attributes) for tag in tags]
    else:
        chosen = [_value(text, attributes) for text in wanted]
    known = {value.text: value for value in chosen}
    if sort is not None and sort not in {"age", "started", *_OWN_COLUMNS, *known}:
        chosen.append(_value(sort, attributes))
    # A row is a run, then the cells.
    steps = dict(zip(attributes.runs, attributes.last_steps(), strict=True))
    cells = {
        name: values
        for name, *values in zip(attributes.runs, *(value.cells for value in chosen), strict=True)
    }
    rows = [(run := logs[name], *_own_cells(run, steps[name]), *cells[name]) for name in names]
    if sort is not None:
        rows = _sorted(rows, _sort_key(sort, chosen), reverse=reverse)
    elif reverse:
        rows.reverse()
    rows = rows[:limit]
    shown = [*_OWN_COLUMNS.values()]
    shown += [
        PrintedColumn(value.text, value.text.removesuffix(":last"), short) for value in chosen
    ]
    line_of = next((value.tag for value in chosen if value.tag is not None), None)
    printed: list[Sequence[Any]] = [row[1:] for row in rows]
    if line_of is not None and is_terminal() and form is None:
        shown.append(PrintedColumn("", line_of))
        printed = [(*row[1:], _line(row[0], line_of)) for row in rows]
    print_table(shown, printed, form)
    return 0


def list_tags(
    logdir: str | None,
    *,
    runs: Iterable[str],
    where: str | None,
    limit: int | None,
    form: Form | None,
) -> int:
    """Prints a line for each tag; returns the exit status."""
    logs = opened(logdir)
    names = selected(logs, runs, where)
    if not names:
        return nothing_found(logs, logdir)
    rows: dict[tuple[str, str], list[Any]] = {}
    for run in read(logs, names):
        for tag in run.tags.values():
            row = rows.setdefault((tag.name, tag.kind), [tag.name, tag.kind, 0, 0, None])
            row[2] += 1
            row[3] += tag.count
            if tag.last_step is not None:
                row[4] = tag.last_step if row[4] is None else max(row[4], tag.last_step)
    columns = [
        PrintedColumn("tag", is_name=True),
        PrintedColumn("kind"),
        PrintedColumn("num_runs", "runs"),
        PrintedColumn("count", short=short_count),
        PrintedColumn("last_step", "last step", short_count),
    ]
    print_table(columns, list(rows.values())[:limit], form)
    return 0 if rows else 1


def nothing_found(logs: Logs, logdir: str | None) -> int:
    """Prints why there are no runs; returns the exit status."""
    if len(logs):
        return warn_nothing(f"none of {len(logs):,} runs matches")
    return warn_nothing(f"no event files below {logdir or default_logdir()!r}")


def _own_cells(run: Run, step: int | None) -> tuple[Any, ...]:
    started, last = run.started, run.last_event
    took = (last - started).total_seconds() if last and started else None
    return run.state, run.name, step, last, took


def _value(text: str, attributes: RunColumns) -> _Value:
    """A column for `TAG:last`, `TAG:min`, `TAG:max`, `TAG:at(STEP)`, a hyperparameter, or a tag."""
    match = re.fullmatch(r"(.+):(last|min|max|at\((-?\d{1,18})\))", text, re.DOTALL)
    if match:
        tag, stat, step = match[1], match[2].partition("(")[0], match[3]
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
    return _Value(text, [None if point is None else point[1] for point in points], tag)


def _sort_key(sort: str, chosen: Sequence[_Value]) -> Callable[[Sequence[Any]], Any]:
    """A function that returns the cell of a row to sort by."""
    if sort == "started":
        return lambda row: row[0].started
    if sort == "age":
        return lambda row: None if row[0].last_event is None else -row[0].last_event.timestamp()
    index = [*_OWN_COLUMNS, *(value.text for value in chosen)].index(sort) + 1
    return lambda row: row[index]


def _sorted(
    rows: list[tuple[Any, ...]], key: Callable[[Sequence[Any]], Any], *, reverse: bool
) -> list[tuple[Any, ...]]:
    """The rows by a cell: numbers before texts; runs without the value, or with NaN, last."""

    def is_missing(cell: Any) -> bool:
        return cell is None or (isinstance(cell, float) and math.isnan(cell))

    def sort_key(row: Sequence[Any]) -> Any:
        cell = key(row)
        return isinstance(cell, str), cell

    known = [row for row in rows if not is_missing(key(row))]
    known.sort(key=sort_key, reverse=reverse)
    return [*known, *(row for row in rows if is_missing(key(row)))]


def _line(run: Run, tag: str) -> str:
    own = next((own for own in run if own == tag or own.lower() == tag.lower()), None)
    if own is None or own not in run.scalar_tags:
        return ""
    return sparkline(run[own].value, _SPARKLINE_WIDTH)
