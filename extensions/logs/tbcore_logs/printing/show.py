"""`tbcore show`: the contents of a run, or of one of its tags."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import click
import numpy as np

from tbcore import DataError, NotFoundError
from tbcore.engine import is_event_file, is_uri, listed, one_line, plural, quoted
from tbcore_logs import Logs, Run, ScalarSeries, Tag
from tbcore_logs.commands.arguments import default_logdir
from tbcore_logs.drawings import SCHEMES, chart_svg, colors_of, time_of
from tbcore_logs.errors import UnknownNameError, instead
from tbcore_logs.forms import SCALAR, TEXT
from tbcore_logs.noted import NOTED, RunNotes
from tbcore_logs.printing.access import (
    ITEMS_OF,
    has_run,
    opened,
    opened_for,
    progress,
    runs_named,
)
from tbcore_logs.printing.drawing import braille_chart, sparkline
from tbcore_logs.printing.files import opened_for_writing
from tbcore_logs.printing.json_output import print_json
from tbcore_logs.printing.output import (
    Form,
    PrintedColumn,
    computed,
    is_terminal,
    objects,
    print_table,
    short,
    short_age,
    short_count,
    short_duration,
    short_time,
    styled,
    table_lines,
    width,
)

_SPARKLINE_WIDTH = 16
_MIN_CHART_HEIGHT, _MAX_CHART_HEIGHT = 8, 20
_INK = SCHEMES["light"][0]
_COLORS = "cyan", "yellow", "magenta", "green", "red", "blue"
"""Colours of several lines on a terminal."""
_MAX_LEGEND = 12
"""Maximum number of lines of a chart as PNG whose names are beside it."""


def show(
    folders: Sequence[str],
    names: Sequence[str],
    *,
    output: str | None,
    smooth: float | None,
    form: Form | None,
) -> int:
    """Prints a run, or a tag of one or several, or draws a tag to a file; returns the exit status.

    `names` are `[LOGDIR] RUN [TAG]`, or after folders `RUN [TAG]`.
    """
    logs, name, tag = _interpreted(folders, names)
    with progress(lambda: "reading logs"):
        notes = RunNotes(lambda: logs.notes)
        chosen = runs_named(logs, name)
        run = logs[chosen[0]]
        is_several = not has_run(logs, name)
        if tag is None:
            given = {plural(len(chosen), "run"): is_several, "-o": output, "--smooth": smooth}
            for what, is_given in given.items():
                if is_given not in (False, None):
                    line = f"{what}: name a tag, too; {run.name!r} has: {listed(run.scalar_tags)}"
                    raise click.ClickException(line)
            return _show_run(run, form, notes)
        kind = run.tags[tag].kind if tag in run else SCALAR
        if kind != SCALAR and not is_several and output is None and smooth is None:
            return _show_items(run, tag, kind, f"{notes.label(run.name)}: {tag}", form)
        logs.read(runs=chosen)
        lines = {n: logs[n][tag] for n in chosen if not is_several or tag in logs[n].scalar_tags}
        if not lines:
            line = f"none of {plural(len(chosen), 'run')} has the tag {quoted(tag)}"
            raise NotFoundError(line + instead(tag, run.scalar_tags))
        end = ""
        if smooth is not None:
            lines = {name: series.smooth(smooth) for name, series in lines.items()}
            end = f", smoothed by {smooth:g}"
        if output is not None:
            label = f"{tag} by step{end}"
            return _draw(lines, label, output, notes, colors_of([*lines], list(logs), "light"))
        if form or not is_terminal():
            return _print_points(lines, form, is_several=is_several, is_exact=smooth is None)
        return _show_scalars([(notes.label(name), own) for name, own in lines.items()], tag + end)


def last_text(run: Run, tag: str) -> str:
    """The text that was logged last; if it is an array, each of its texts is a line."""
    items = run.texts(tag)
    value = items[-1].value if items else ""
    return value if isinstance(value, str) else "\n".join(map(str, value.ravel()))


def _interpreted(folders: Sequence[str], names: Sequence[str]) -> tuple[Logs, str, str | None]:
    """The logs, the run and the tag. The first of two names is LOGDIR if it has a run of the
    second name."""
    if folders:
        return opened(folders), names[0], next(iter(names[1:]), None)
    if len(names) == 3:
        return opened(names[0]), names[1], names[2]
    if len(names) == 1:
        logs = opened_for(names[0])
        path = os.path.normpath(names[0])
        if os.path.isdir(path) and not has_run(logs, path):
            within = [quoted(run) for run in logs if run.startswith(f"{path}/")]
            hint = f"runs in it: {listed(within)}" if within else "add the name of a run in it"
            raise NotFoundError(f"{quoted(names[0])} is a directory, not a run; {hint}")
        return logs, names[0], None
    first, second = names
    if os.path.isdir(first) or is_uri(first) or is_event_file(first):
        logs = opened(first)
        if has_run(logs, second) or re.search(r"[*?]", second):
            return logs, second, None
        if os.path.abspath(first) == os.path.abspath(default_logdir()):
            runs_named(logs, second)  # Raises the error, with the names of similar runs.
    try:
        logs = opened_for(first)
        runs_named(logs, first)
    except UnknownNameError:
        if os.path.isdir(first):
            runs_named(opened(first), second)
        raise
    return logs, first, second


def _show_run(run: Run, form: Form | None, notes: RunNotes) -> int:
    texts = {}
    for tag in run.tags.values():
        if tag.kind == TEXT:
            try:
                texts[tag.name] = last_text(run, tag.name)
            except (DataError, NotFoundError) as error:
                texts[tag.name] = f"({error})"
    columns = [
        PrintedColumn("tag", is_name=True),
        PrintedColumn("kind"),
        PrintedColumn("count", short=short_count),
        PrintedColumn("last_step", "step", short_count),
        PrintedColumn("", " "),
        *map(PrintedColumn, ("last", "min", "max", "first")),
        PrintedColumn("display_name", "title", is_text=True),
        PrintedColumn("description", short=_shortened, is_text=True),
    ]
    rows = [_tag_row(run, tag) for tag in run.tags.values()]
    for index in (-2, -1):  # Most writers log neither title nor description.
        if not any(row[index] for row in rows):
            del columns[index]
            for row in rows:
                del row[index]
    started, last = run.started, run.last_event
    about: dict[str, Any] = {"run": run.name, "state": run.state, "started": started}
    about |= {"source": run.source} if run.source else {}
    about |= {"last_event": last, **(NOTED if form == "json" else {}), **notes.of(run.name)}
    if form == "csv":
        print_table(columns, rows, form)
        return 0
    if form:
        tags = objects(columns, rows)
        print_json({**about, "hparams": dict(run.hparams), "texts": texts, "tags": tags})
        return 0
    if is_terminal():
        about["started"] = short_time(started)
        about["last_event"] = last and f"{short_time(last)}  ({short_age(last)} ago)"
        took = (last - started).total_seconds() if started and last else None
        about["took"] = short_duration(took)
    if "labels" in about:
        about["labels"] = ", ".join(about["labels"])
    note = about.pop("note", "") if is_terminal() else ""
    pair = [
        PrintedColumn("name", is_name=True),
        PrintedColumn("value", short=_shortened, is_text=True),
    ]
    lines = table_lines(pair, list(about.items()), with_header=False)
    if note:
        lines += ["", styled("note", bold=True), *map(one_line, note.splitlines())]
    for title, values in (("hyperparameters", run.hparams), ("texts", texts)):
        own = table_lines(pair, list(values.items()), with_header=False) if values else []
        if own and is_terminal():
            lines += ["", styled(title, bold=True), *own]
        else:
            lines += [f"{title}\t{line}" for line in own]
    if rows:
        lines += ["", *table_lines(columns, rows)]
    click.echo("\n".join(lines))
    return 0


def _tag_row(run: Run, tag: Tag) -> list[Any]:
    """The cells of a tag in the table of `_show_run`."""
    line: str | None = None
    values: list[float | None] = [None] * 4
    if tag.kind == SCALAR:
        series = run[tag.name]
        line = sparkline(series.value, _SPARKLINE_WIDTH) if is_terminal() else ""
        points = series.last, series.min, series.max, series.first
        values = [None if point is None else point.value for point in points]
    about = [tag.name, tag.kind, tag.count, tag.last_step]
    return [*about, line, *values, tag.display_name, tag.description]


def _shortened(value: Any) -> str:
    """A value for a terminal: a text as one line."""
    return " ".join(value.split()) if isinstance(value, str) else short(value)


def _print_points(
    lines: Mapping[str, ScalarSeries], form: Form | None, *, is_several: bool, is_exact: bool
) -> int:
    """Prints a row for each point, with `is_several` with its run; nine digits of computed ones."""
    columns = list(map(PrintedColumn, ("run", "step", "wall_time", "value")))
    rows: list[tuple[Any, ...]] = []
    for name, series in lines.items():
        values = series.value.tolist()
        numbers = values if is_exact else list(map(computed, values))
        rows += zip(repeat(name), series.step.tolist(), series.wall_time.tolist(), numbers)
    if not is_several:
        columns, rows = columns[1:], [row[1:] for row in rows]
    print_table(columns, rows, form, is_spread=True)
    return 0


def _show_scalars(lines: Sequence[tuple[str, ScalarSeries]], title: str) -> int:
    """Prints a chart of lines, each with the label of its run, and facts about each below it."""
    height = min(
        max(shutil.get_terminal_size().lines - 5 - len(lines), _MIN_CHART_HEIGHT), _MAX_CHART_HEIGHT
    )
    is_one = len(lines) == 1
    colors = [None if is_one else _COLORS[i % len(_COLORS)] for i in range(len(lines))]
    styles = [partial(styled, fg=color) for color in colors]
    shown = [styled(one_line(f"{lines[0][0]}: {title}" if is_one else title), bold=True)]
    points = [(series.step, series.value) for _, series in lines]
    shown += braille_chart(points, width=width(), height=height, styles=styles)
    for style, (label, series) in zip(styles, lines, strict=True):
        facts = [plural(len(series), "point")]
        for name in ("first", "last", "min", "max"):
            if (point := getattr(series, name)) is not None:
                facts.append(f"{name} {short(point.value)} at {point.step:,}")
        if (first := series.nan) is not None:
            facts.append(f"{series.num_nonfinite:,} NaN or infinite, the first at {first.step:,}")
        shown.append(("" if is_one else f"{style(one_line(label))}: ") + ", ".join(facts))
    click.echo("\n".join(shown))
    return 0


def _draw(
    lines: Mapping[str, ScalarSeries],
    label: str,
    output: str,
    notes: RunNotes,
    colors: Mapping[str, str],
) -> int:
    """Writes a chart of the lines of runs as SVG, or with matplotlib as PNG."""
    if not any(np.isfinite(series.value).any() for series in lines.values()):
        raise click.ClickException("no value is a finite number; nothing is drawn")
    named = [
        (series, notes.color(name, colors[name]), notes.label(name))
        for name, series in lines.items()
    ]
    if output.lower().endswith(".png"):
        figure = _figure(named, label)
        with opened_for_writing(output) as file:
            figure.savefig(file, format="png")
        return 0
    drawn = [(series.step, series.value, color, name) for series, color, name in named]
    svg = chart_svg(drawn, ink=_INK, width=720, height=280, label=label)
    with opened_for_writing(output) as file:
        file.write(svg.encode("utf-8", "backslashreplace"))
    return 0


def _figure(lines: Sequence[tuple[ScalarSeries, str, str]], label: str) -> Any:
    """A figure of matplotlib with lines, each with its colour and its name. Raises ClickException
    without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise click.ClickException(
            "FILE.png needs another package: pip install matplotlib; FILE.svg needs none"
        ) from None
    figure = Figure(figsize=(7.2, 2.8), dpi=150, layout="constrained")
    axes = figure.subplots()
    for series, color, name in lines:
        series.plot(ax=axes)
        axes.lines[-1].set_color(color)
        # Text between dollar signs would be a formula, and a name with `_` first has no entry.
        axes.lines[-1].set_label(one_line(name).replace("$", r"\$"))
    if len(lines) == 1:
        axes.set_title(one_line(lines[0][2]), parse_math=False)
    elif len(lines) <= _MAX_LEGEND:
        figure.legend(handles=axes.lines, loc="outside right upper", fontsize=7)
    axes.set_xlabel(one_line(label), parse_math=False)
    return figure


def _show_items(run: Run, tag: str, kind: str, title: str, form: Form | None) -> int:
    """Prints the values of a tag that are not scalars; on a terminal, only the last text."""
    if kind == TEXT and is_terminal() and not form:
        items = run.texts(tag)
        title += f", step {items[-1].step:,}, the last of {len(items):,}"
        click.echo(styled(one_line(title), bold=True))
        click.echo("\n".join(map(one_line, last_text(run, tag).splitlines())))
        return 0
    try:
        logged = (ITEMS_OF.get(kind) or Run.tensors)(run, tag)
    except UnknownNameError:
        known = run.tags[tag]
        line = f"{tag!r} has {known.count} values of the kind {kind!r}: not readable"
        raise NotFoundError(line) from None
    columns = [
        PrintedColumn("step"),
        PrintedColumn("wall_time", "time", lambda wall_time: short_time(time_of(wall_time))),
        PrintedColumn("value", short=_shortened, is_text=True),
    ]
    rows = [(item.step, item.wall_time, _described(item)) for item in logged]
    print_table(columns, rows, form, is_spread=True)
    return 0


def _described(item: Any) -> Any:
    """A text, or a description of any other value."""
    try:
        value = item.value
    except (DataError, NotFoundError) as error:
        return f"({error})"
    if hasattr(value, "encoded"):
        return f"{value.width} x {value.height}, {plural(len(value.encoded), 'image')}"
    if hasattr(value, "clips"):
        sizes = sum(len(clip.encoded) for clip in value.clips)
        return f"{value.content_type}, {plural(len(value.clips), 'clip')}, {sizes:,} bytes"
    if hasattr(value, "bucket_limit"):
        return f"{value.num:g} values from {value.min:.4g} to {value.max:.4g}"
    if hasattr(value, "average_precision"):
        num = len(value.thresholds)
        return f"{num:,} thresholds, average precision {value.average_precision:.4g}"
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return f"{value.dtype} of shape {value.shape}"
    return "\n".join(map(str, value.ravel())) if isinstance(value, np.ndarray) else value
