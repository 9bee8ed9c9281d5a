"""`tbcore tail`: the last steps of a run, one line each, and later steps as they are logged."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from tbcore import BadRequestError
from tbcore.engine import Comparison, compare_hparam, one_line, parse, quoted, warn
from tbcore_logs import Run
from tbcore_logs.commands.arguments import max_bytes
from tbcore_logs.drawings import time_of
from tbcore_logs.errors import instead
from tbcore_logs.noted import RunNotes
from tbcore_logs.printing.access import LogSelection, if_readable, read
from tbcore_logs.printing.json_output import FirstLines, json_line
from tbcore_logs.printing.output import (
    Form,
    computed,
    csv_line,
    cut,
    exact,
    is_terminal,
    padded,
    plain,
    records,
    short,
    short_duration,
    short_time,
    styled,
    text_width,
    width,
)
from tbcore_logs.tables import free_name

_HEADER_EVERY = 40
"""Number of lines after which a terminal shows the header again."""
_NUM_RATE_LINES = 200
"""Maximum number of lines from which the rate is computed."""
_MIN_WIDTH = 10
_MAX_WIDTH = 24
"""Maximum width of a column on a terminal."""


@dataclass
class _Line:
    """The values of a step: at most one point of each tag."""

    step: int
    wall_time: float
    """Wall time of the last of these points, in seconds since the epoch."""
    values: dict[str, float]


def tail(
    selection: LogSelection,
    *,
    limit: int,
    follow: bool,
    total: int | None,
    until: str | None,
    form: Form | None,
) -> int:
    """Prints the last lines; returns the exit status. With `follow`, it returns only after the
    first line for which `until` is true."""
    goal = None if until is None else _goal(until, selection)
    follow = follow or goal is not None
    if follow and max_bytes() is not None:
        context = click.get_current_context()
        raise click.UsageError("--follow and --max_bytes cannot be combined", context)
    if follow:
        _end_with_reader()
    logs, names = selection.opened(waits=follow)
    is_chosen = selection.runs is not None or selection.where is not None
    if not is_chosen:
        # Not by the times of the files: a copy of a log has other times.
        names = [logs.newest().name]
    known = dict.fromkeys(tag for run in read(logs, names) for tag in run.scalar_tags)
    if goal is not None and goal.name.lower() not in {"step", *map(str.lower, known)}:
        missing = (
            f"no run has the tag {quoted(goal.name)} of --until yet{instead(goal.name, known)}"
        )
        warn(one_line(missing))
    columns = ["run", "step", "wall_time", *(["rate", "eta"] if total is not None else [])]
    notes = RunNotes(lambda: logs.notes)
    has_names = selection.tags is not None
    printer = _Printer(columns, form, notes, shows_run=is_chosen, has_named_tags=has_names)
    # A run that has just begun may have none of the tags yet.
    printer.add_tags(selection.tags_of(known, need_all=bool(known) or not follow))
    readers = {name: _LineReader(selection, total) for name in names}
    lines = [(name, line) for name in names for line in readers[name].new_lines(logs[name])]
    lines.sort(key=lambda named: named[1][0]["wall_time"])
    ends = (i + 1 for i, (_, line) in enumerate(lines) if _is_reached(goal, *line))
    end = next(ends, None)
    lines = lines[:end]
    lines = lines[len(lines) - limit if limit < len(lines) else 0 :]
    if (num_bytes := max_bytes()) is not None:
        newest = FirstLines(num_bytes)
        for name, line in reversed(lines):
            newest.write(f"{printer.json_of(name, *line)}\n".encode())
        click.echo(b"".join(newest.lines(is_reversed=True)), nl=False)
    else:
        for name, line in lines:
            printer.print(name, *line)
    if not follow and not lines:
        raise click.ClickException("no scalars were logged")
    for changed in logs.follow() if follow and end is None else ():
        if is_chosen:
            names = selection.names(logs, is_first=False)
        for name in filter(changed.__contains__, names):
            if name not in logs:
                warn(one_line(f"run {name!r} is gone"))
                readers.pop(name, None)
                continue
            reader = readers.setdefault(name, _LineReader(selection, total))
            for line in reader.new_lines(logs[name]):
                printer.print(name, *line)
                if _is_reached(goal, *line):
                    return 0
    return 0


def _goal(text: str, selection: LogSelection) -> Comparison:
    """The comparison of --until. Raises UsageError for anything but a tag and a number."""
    context = click.get_current_context()
    try:
        node = parse(text)
    except BadRequestError as error:
        raise click.UsageError(f"--until: {error}", context) from None
    if (
        not isinstance(node, Comparison)
        or node.number is None
        or node.attribute.stat not in (None, "last")
    ):
        line = f"--until {text!r}: expected one tag and a number, as in 'val/loss<0.3'"
        raise click.UsageError(line, context)
    if node.name != "step" and not selection.tags_of([node.name]):
        raise click.UsageError(f"--until: {node.name!r} is not one of --tags", context)
    return node


def _is_reached(
    goal: Comparison | None, fields: Mapping[str, Any], logged: Mapping[str, float]
) -> bool:
    """Whether a line has a value of which the comparison is true."""
    known = {"step": fields["step"], **logged}
    return goal is not None and any(
        compare_hparam(exact(value), goal)
        for name, value in known.items()
        if name.lower() == goal.name.lower()
    )


def _end_with_reader() -> None:
    """Ends the process when nobody reads stdout any more, also while nothing is written.

    The status is that of a process that SIGPIPE ended.
    """
    if not hasattr(select, "poll"):
        return  # Windows has none.

    def wait() -> None:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)  # Errors are reported, whatever is asked for.
        poll.poll()
        os._exit(128 + signal.SIGPIPE)

    threading.Thread(target=wait, name="tbcore-reader", daemon=True).start()


class _LineReader:
    """Makes lines of the new points of one run."""

    def __init__(self, selection: LogSelection, total: int | None) -> None:
        """`total` is the step at which the training will end."""
        self._selection = selection
        self._total = total
        self._next_ordinals: dict[str, int] = {}
        """Maps each tag to the ordinal of its first point that is not in a line yet."""
        self._recent: deque[_Line] = deque(maxlen=_NUM_RATE_LINES)

    def new_lines(self, run: Run) -> list[tuple[dict[str, Any], dict[str, float]]]:
        """The fields and the values of the new lines, in the order in which they were logged."""
        return [(self._fields(line), line.values) for line in self._lines(run)]

    def _lines(self, run: Run) -> list[_Line]:
        lines: dict[tuple[int, int], _Line] = {}
        for tag in self._selection.tags_of(run.scalar_tags):
            series = None
            with if_readable():
                series = run[tag]
            if series is None or not len(series):
                continue
            ordinals = series.ordinal
            start = self._next_ordinals.get(tag, 0)
            if start > ordinals[-1] + 1:
                start = 0  # The file was replaced.
            self._next_ordinals[tag] = int(ordinals[-1]) + 1
            new = slice(int(np.searchsorted(ordinals, start)), None)
            num_of_step: Counter[int] = Counter()
            columns = series.step[new], series.wall_time[new], series.value[new]
            for step, wall_time, value in zip(*map(np.ndarray.tolist, columns), strict=True):
                # A tag with several points at a step has several lines.
                key = step, num_of_step[step]
                num_of_step[step] += 1
                line = lines.setdefault(key, _Line(step, wall_time, {}))
                line.values[tag] = value
                line.wall_time = max(line.wall_time, wall_time)
        return sorted(lines.values(), key=lambda line: line.wall_time)

    def _fields(self, line: _Line) -> dict[str, Any]:
        fields: dict[str, Any] = {"step": line.step, "wall_time": line.wall_time}
        if self._total is not None:
            if self._recent and line.step < self._recent[-1].step:
                self._recent.clear()  # The training was restarted.
            self._recent.append(line)
            seconds = line.wall_time - self._recent[0].wall_time
            rate = (line.step - self._recent[0].step) / seconds if seconds > 0 else None
            left = max(self._total - line.step, 0)
            fields |= {"rate": computed(rate), "eta": computed(left / rate if rate else None)}
        return fields


class _Printer:
    """Prints lines, with a header before the first one, and on a terminal whenever there are new
    tags. In a pipe, these get columns at the end, so that what reads it finds no second header.
    Without a column for the run, a terminal shows its name above all."""

    def __init__(
        self,
        columns: list[str],
        form: Form | None,
        notes: RunNotes,
        *,
        shows_run: bool,
        has_named_tags: bool,
    ) -> None:
        self._columns = columns
        self._notes = notes
        self._form = form
        self._shows_run = shows_run
        self._has_named_tags = has_named_tags
        self._num_lines = 0
        self._names: dict[str, str] = {}
        """Maps each tag to the name of its column, which is no other column's."""

    def add_tags(self, tags: Iterable[str]) -> list[str]:
        """Adds columns for the tags that have none, and returns these tags."""
        new = [tag for tag in tags if tag not in self._names]
        for tag in new:
            self._names[tag] = free_name(tag, self._columns)
            self._columns.append(self._names[tag])
        return new

    def json_of(self, run: str, fields: Mapping[str, Any], values: Mapping[str, float]) -> str:
        """A line as JSON."""
        cells = self._cells(run, fields, values)
        return json_line({name: exact(value) for name, value in cells.items()})

    def _cells(
        self, run: str, fields: Mapping[str, Any], values: Mapping[str, float]
    ) -> dict[str, Any]:
        """The cells of a line by the names of their columns; those of tags must have been added."""
        return {"run": run, **fields, **{self._names[t]: value for t, value in values.items()}}

    def print(self, run: str, fields: Mapping[str, Any], values: Mapping[str, float]) -> None:
        """Prints a line and flushes it, so that a program at the end of a pipe gets it at once."""
        added = self.add_tags(values)
        if self._form == "json":
            click.echo(self.json_of(run, fields, values))
            return
        cells = self._cells(run, fields, values)
        if is_terminal() and self._form is None:
            if not self._num_lines and not self._shows_run:
                click.echo(styled(one_line(self._notes.label(run)), bold=True))
            cells["run"] = self._notes.label(run)
            texts = {name: one_line(_SHORT.get(name, short)(c)) for name, c in cells.items()}
            shown, left_out = self._shown()
            if not shown:
                names = self._columns if self._shows_run else self._columns[1:]
                row = [texts.get(name, "") for name in names]
                click.echo("\n".join(records(list(map(one_line, names)), [row])))
            elif added or self._num_lines % _HEADER_EVERY == 0:
                click.echo(
                    styled(_line({name: one_line(name) for name in shown}, shown), bold=True)
                )
                if left_out:
                    line = cut(one_line(f"not shown: {', '.join(left_out)}"), width(), at_end=True)
                    click.echo(styled(line, dim=True))
            if shown:
                click.echo(_line(texts, shown))
        else:
            if not self._num_lines:
                click.echo(self._joined(self._columns))
                added = []
            for tag in added:
                number = self._columns.index(self._names[tag]) + 1
                warn(one_line(f"new tag {tag!r}: column {number}, which the header lacks"))
            click.echo(self._joined([cells.get(name) for name in self._columns]))
        self._num_lines += 1

    def _joined(self, cells: Sequence[Any]) -> str:
        """The cells as a line for programs: CSV, or separated by tabs."""
        if self._form != "csv":
            return "\t".join(map(plain, cells))
        return csv_line([plain(cell, one_line if is_terminal() else str) for cell in cells])

    def _shown(self) -> tuple[list[str], list[str]]:
        """The columns that a terminal has in a line, and those that it leaves out: the wall time,
        and the last tags if none are named. There are none if each value needs a line."""
        shown = self._columns[0 if self._shows_run else 1 :]
        others = [] if self._has_named_tags else [*self._names.values()]
        others.append("wall_time")
        left_out: list[str] = []
        while sum(map(_size, shown)) + 2 * (len(shown) - 1) > width():
            if not others:
                return [], []
            left_out.insert(0, others.pop())
            shown.remove(left_out[0])
        return shown, left_out


def _size(name: str) -> int:
    """The width of a column on a terminal."""
    return min(max(text_width(one_line(name)), _WIDTHS.get(name, _MIN_WIDTH)), _MAX_WIDTH)


def _line(texts: Mapping[str, str], names: Iterable[str]) -> str:
    """A line for a terminal, with columns of fixed widths."""
    sizes = [(name, _size(name)) for name in names]
    cells = []
    for name, size in sizes:
        text = texts.get(name, "")
        is_cut = name == "run" or text == one_line(name)  # A number is wider rather than cut.
        cells.append(padded(cut(text, size) if is_cut else text, size, name != "run"))
    return "  ".join(cells)


_SHORT: Mapping[str, Callable[[Any], str]] = {
    "run": plain, "step": plain, "eta": short_duration,
    "wall_time": lambda wall_time: short_time(time_of(wall_time)).rpartition(" ")[2],
    "rate": lambda rate: "" if rate is None else f"{rate:.3g}/s",
}  # fmt: skip
_WIDTHS = {"run": _MAX_WIDTH, "step": 8, "wall_time": 9, "rate": 9, "eta": 7}
