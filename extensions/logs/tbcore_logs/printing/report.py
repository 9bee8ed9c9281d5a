"""`tbcore report`: the runs as Markdown, for READMEs and pull requests.

# runs                        number of runs, and the times of the first and the last event
| run | lr | loss |  |        hyperparameters that differ, and the value and sparkline of each tag
| group | runs | loss |  |    or groups of runs, with the mean, its deviation, and the mean's line
## loss                       with -o, a drawing of each tag, as a light and a dark SVG
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import click
import numpy as np
from numpy.typing import NDArray

from tbcore.engine import Attribute, one_line, plural
from tbcore.values import GroupCurve
from tbcore_logs import Logs, Run, ScalarSeries
from tbcore_logs.commands.arguments import folders_of
from tbcore_logs.drawings import SCHEMES, chart_svg, colors_of
from tbcore_logs.groups import Groups, curve_of
from tbcore_logs.noted import RunNotes
from tbcore_logs.order import default_tags
from tbcore_logs.printing.access import LogSelection, if_readable, read
from tbcore_logs.printing.columns import (
    Column,
    Order,
    column_of,
    fields_of,
    group_table,
    grouped,
    run_rows,
    with_order,
)
from tbcore_logs.printing.drawing import sparkline
from tbcore_logs.printing.files import opened_for_writing, safe_name, written
from tbcore_logs.printing.output import short, short_count, short_time

_SPARKLINE_WIDTH = 12
_WIDTH = 720
"""Width of a drawing in pixels."""
_MAX_ROWS = 50
"""Maximum number of rows without --limit. Drawings show all runs or groups."""


class _Row(NamedTuple):
    """A row of the table: a run, or a group of runs."""

    name: str
    """The name to show."""
    size: str
    """The last step of the run, or the number of runs of the group."""
    cells: list[str]
    """One for each of the columns."""
    runs: list[Run]
    color: str = ""
    """That which a user has given to the run; "" for none."""


def report(
    selection: LogSelection,
    *,
    output: str | None,
    columns: Sequence[str] | None,
    sort: str | None,
    reverse: bool,
    limit: int | None,
    by: str | None,
) -> int:
    """Writes the report to stdout, or to a file, with drawings. Returns the exit status."""
    if output is not None and output.lower().endswith((".html", ".htm")):
        line = f"-o {output}: a report is Markdown; name a file that ends with .md"
        raise click.UsageError(line, click.get_current_context())
    logs, names = selection.opened()
    # Columns, an order and groups may be of attributes, which need all runs.
    read(logs, names if columns is None and sort is None and by is None else logs)
    attributes = cache(logs.attributes)
    found = [logs[name] for name in names]
    num_runs = Counter(tag for run in found for tag in run.scalar_tags)
    tags = default_tags(num_runs)
    if selection.tags is not None:
        tags = selection.tags_of(num_runs, need_all=True)
    if columns is None:
        runs = _with_any(found, tags)
        chosen = [*([] if by else _differing(runs)), *(_values(runs, tag) for tag in tags)]
    else:
        chosen = [column_of(text, attributes()) for text in columns]
        shown = list(dict.fromkeys(column.tag for column in chosen if column.tag is not None))
        runs = _with_any(found, shown)
        tags = shown if selection.tags is None else tags
    chosen, order = with_order(sort, chosen, by, attributes)
    groups: list[Groups] = []
    if by is not None:
        left_out = [logs[name] for name in selection.archived_others(logs, names)]
        both = runs, _with_any(left_out, tags)
        groups = [grouped([run.name for run in own], by, attributes) for own in both]
    rows = _rows(logs, runs, chosen, groups, order=order, reverse=reverse)
    rows, num_rows = rows[:limit], len(rows)
    num_shown = len(rows) if limit is not None else min(len(rows), _MAX_ROWS)
    what = "group" if groups else "run"
    folders = map(os.path.abspath, folders_of(selection.path()))
    title = ", ".join(map(os.path.basename, folders)) or "runs"
    lines = [f"# {_escaped(title)}", "", _about(found), "", *_table(rows[:num_shown], chosen, what)]
    if num_shown < num_rows:
        lines += ["", f"and {num_rows - num_shown:,} more {what}s"]
    if len(runs) < len(found):
        lines += ["", f"{plural(len(found) - len(runs), 'run')} without any of these values"]
    selection.mention_archived(logs, [run.name for row in rows for run in row.runs])
    if output is None:
        click.echo("\n".join(lines))
        return 0
    path = Path(output)
    folder = path.with_name(f"{path.stem}_files")
    with written(path):
        folder.mkdir(exist_ok=True)
    keys = [row.runs[0].name if by is None else row.name for row in rows]
    everything = list(logs) if by is None else grouped(list(logs), by, attributes).names
    colors = {scheme: colors_of(keys, everything, scheme) for scheme in SCHEMES}
    drawn = [
        (row, {scheme: row.color or own[key] for scheme, own in colors.items()})
        for row, key in zip(rows, keys, strict=True)
    ]
    for tag in tags:
        lines += ["", f"## {_escaped(tag)}", "", *_drawing(drawn, tag, folder, what)]
    _write(path, "\n".join(lines) + "\n")
    return 0


def _with_any(runs: Sequence[Run], tags: Sequence[str]) -> Sequence[Run]:
    """The runs that have points of any of the tags; all runs if there are no tags."""
    return [run for run in runs if any(map(partial(_series, run), tags))] if tags else runs


def _series(run: Run, tag: str) -> ScalarSeries | None:
    """The points of a tag; None if the run has none, or they cannot be read."""
    with if_readable():
        return run[tag] if tag in run.scalar_tags and len(run[tag]) else None
    return None


def _differing(runs: Sequence[Run]) -> list[Column]:
    """The hyperparameters that differ."""
    hparams = {run.name: run.hparams for run in runs}
    names = dict.fromkeys(name for own in hparams.values() for name in own)
    columns = [
        Column(n, {run: own.get(n) for run, own in hparams.items()}, Attribute("hparam", n))
        for n in names
    ]
    return [c for c in columns if len({str(cell) for cell in c.cells.values()}) > 1]


def _values(runs: Sequence[Run], tag: str) -> Column:
    """The last value of a tag."""
    cells: dict[str, float | None] = {}
    for run in runs:
        last = None if (series := _series(run, tag)) is None else series.last
        cells[run.name] = None if last is None else last.value
    return Column(f"{tag}:last", cells, Attribute("value", tag, "last"))


def _rows(
    logs: Logs,
    runs: Sequence[Run],
    columns: Sequence[Column],
    groups: Sequence[Groups],
    *,
    order: Order,
    reverse: bool,
) -> list[_Row]:
    """The rows of runs, or of groups: `groups` are those of these runs, and of those left out."""
    names = [run.name for run in runs]
    notes = RunNotes(lambda: logs.notes)
    if groups:
        own, left_out = groups
        table = group_table(
            own, names, columns, notes, left_out, lambda run: logs[run].hparams,
            order=order, reverse=reverse, limit=None,
        )  # fmt: skip
        return [
            _Row(
                name,
                f"{size:,}" if size == len(members) else size,
                list(map(short, cells)),
                [logs[run] for run in members],
            )
            for (name, size, *cells), members in zip(table.texts, table.members, strict=True)
        ]
    rows = []
    labels = notes.labels(names)
    fields = fields_of(logs)
    for _, name, step, _, _, *cells in run_rows(
        fields, names, columns, order=order, reverse=reverse
    ):
        texts = [column.short(cell) for column, cell in zip(columns, cells, strict=True)]
        color = notes.color(name, "")
        rows.append(_Row(labels[name], short_count(step), texts, [logs[name]], color))
    return rows


def _about(runs: Sequence[Run]) -> str:
    """The number of runs, and the times of the first and the last event, with the zone."""
    times = [time for run in runs for time in (run.started, run.last_event) if time is not None]
    when = ""
    if times and short_time(min(times)) and short_time(max(times)):
        last = max(times).astimezone()
        first = min(times).astimezone(last.tzinfo)
        zone = f"{last:%z}".replace("+0000", "")
        when = f", {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC{zone}"
    return f"{plural(len(runs), 'run')}{when}"


def _table(rows: Sequence[_Row], columns: Sequence[Column], what: str) -> list[str]:
    """The lines of a table: the first value of each tag is followed by the tag's course."""
    header = [what, "step" if what == "run" else "runs"]
    rule = ["---", "---:"]
    courses: dict[int, str] = {}
    """The tags with a course, by the indices of their columns."""
    for index, column in enumerate(columns):
        header.append(_title(column))
        rule.append("---" if column.tag is None else "---:")
        if column.tag is not None and column.tag not in courses.values():
            courses[index] = column.tag
            header.append("")
            rule.append("---")
    lines = [header]
    for row in rows:
        cells = [row.name, row.size]
        for index, text in enumerate(row.cells):
            cells.append(text)
            if index in courses:
                course = _course(row, courses[index])
                cells.append("" if course is None else sparkline(course.average, _SPARKLINE_WIDTH))
        lines.append(cells)
    texts = [f"| {' | '.join(map(_escaped, line))} |" for line in lines]
    texts.insert(1, f"| {' | '.join(rule)} |")
    return texts


def _title(column: Column) -> str:
    """`loss`, `loss (min)` or `loss (at 100)`."""
    _, name, stat, step = column.attribute
    if stat in (None, "last"):
        return name or '""'
    return f"{name} ({stat}{'' if step is None else f' {step}'})"


def _course(row: _Row, tag: str) -> GroupCurve | None:
    """The points of a run, or the mean and the deviation of those of several; None without any."""
    all_series = [series for run in row.runs if (series := _series(run, tag))]
    if not all_series:
        return None
    if len(all_series) > 1:
        return curve_of(all_series, 2 * _WIDTH)
    step, value = (getattr(all_series[0], name).astype(np.float64) for name in ("step", "value"))
    one = np.ones(len(value), np.int64)
    return GroupCurve(value, value, value, one, 1 - one, step)


def _parts(count: NDArray[np.int64]) -> Iterator[tuple[slice, bool]]:
    """The parts of a mean of `count` runs, and whether each is of fewer runs than an earlier one.

    Such a part has the points beside it, so that lines meet.
    """
    is_fewer = _is_fewer(count)
    cuts = np.flatnonzero(is_fewer[1:] != is_fewer[:-1]) + 1
    for start, stop in pairwise([0, *cuts.tolist(), len(count)]):
        wider = int(is_fewer[start])
        yield slice(start - wider, stop + wider), bool(wider)


def _is_fewer(count: NDArray[np.int64]) -> NDArray[np.bool_]:
    return count < np.maximum.accumulate(count)


def _is_near(course: GroupCurve) -> bool:
    """Whether the mean of fewer runs makes the range of the others at most twice as long, as in
    charts of the page: it may be that of runs that diverge. Equal values count as from 0 on."""
    is_all = ~_is_fewer(course.count)
    low, high = _ends([each[is_all] for each in (course.average, course.low, course.high)])
    least, most = _ends([course.average, np.array([low, high])])
    return most - least <= 2 * (high - low or abs(low))


def _ends(columns: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """The lowest and the highest finite value; infinity and minus infinity without one."""
    values = np.concatenate([np.empty(0), *columns])
    values = values[np.isfinite(values)]
    return float(np.min(values, initial=np.inf)), float(np.max(values, initial=-np.inf))


def _drawing(
    rows: Sequence[tuple[_Row, Mapping[str, str]]], tag: str, folder: Path, what: str
) -> list[str]:
    """Draws a tag of all rows that have it, which have a colour in each scheme; returns the
    Markdown that shows the drawing.

    Of a group, it has the mean as a line, and a band of its deviation. Where the mean is of fewer
    runs than before, the line is dotted, and there is no band. A line below says so, and whether
    dotted lines leave the drawing.
    """
    drawn = [(row, colors, course) for row, colors in rows if (course := _course(row, tag))]
    name = safe_name(tag)
    for scheme, (ink, _) in SCHEMES.items():
        lines, bands, dotted = [], [], []
        for row, colors, course in drawn:
            color = colors[scheme]
            x, y, low, high = course.x, course.average, course.low, course.high
            is_in = _is_near(course)
            for part, is_fewer in _parts(course.count):
                if is_fewer:
                    dotted.append((x[part], y[part], color, is_in))
                    continue
                lines.append((x[part], y[part], color, row.name))
                if low is not high:  # More than one run.
                    bands.append((x[part], low[part], high[part], color))
        svg = chart_svg(
            lines, ink=ink, width=_WIDTH, height=280, label="step", bands=bands, dotted=dotted
        )
        if not svg:
            return ["No value is a finite number."]
        _write(folder / f"{name}-{scheme}.svg", svg)
    address = quote(f"{folder.name}/{name}")
    notes = ["mean of each group, band: ± standard deviation (n − 1)"] if bands else []
    if dotted:
        shown = [y for _, y, *_ in lines] + [y for _, *ys, _ in bands for y in ys]
        shown += [y for _, y, _, is_in in dotted if is_in]
        is_cut = _ends(shown) != _ends([*shown, *(y for _, y, *_ in dotted)])
        where = ", in part off the drawing" if is_cut else ""
        notes += [f"dotted, no band{where}: fewer runs than before"]
    alternative = escape(one_line(f"{tag} over steps, {plural(len(drawn), what)}"))
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{address}-dark.svg">',
        f'  <img alt="{alternative}" src="{address}-light.svg" width="{_WIDTH}">',
        "</picture>",
        *(["", "; ".join(notes)] if notes else []),
    ]


def _write(path: Path, text: str) -> None:
    with opened_for_writing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def _escaped(text: Any) -> str:
    """The text with all Markdown escaped, for a cell of a table."""
    return re.sub(r"[\\`*\[\]<|&~$]|(?<!\w)[_#]|_(?!\w)", r"\\\g<0>", one_line(str(text)))
