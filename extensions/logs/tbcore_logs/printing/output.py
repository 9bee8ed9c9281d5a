"""Output of commands: a table for people on a terminal, tab-separated lines in a pipe, or JSON.

    terminal   STATE  RUN       STEP  AGE    fits the terminal; numbers and times are rounded
               live   lr=0.1/a  8.2k  4 s
    pipe       state\trun\tstep\tlast_event    all digits, nothing cut; times are ISO 8601
    json       [{"state": "live", "run": ...   the same names and values
    csv        state,run,step,last_event       the same values as in a pipe
    names      lr=0.1/a\0                      names only, for `xargs -0`

Control characters in logged names and texts are escaped in tables, and on a terminal in all forms,
so that a log cannot control a terminal. In the forms for programs, names and texts are as logged.
"""

from __future__ import annotations

import csv
import io
import math
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import click
import numpy as np

from tbcore.engine import one_line, to_json
from tbcore_logs.printing.json_output import print_json
from tbcore_logs.tables import free_name

_MIN_CUT_WIDTH = 16
"""Minimum width of a column that is cut because a table is too wide."""
_GAP = "  "


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout.isatty()


def width() -> int:
    """The number of columns of the terminal, at least 40."""
    return max(shutil.get_terminal_size().columns, 40)


def styled(text: str, **style: Any) -> str:
    """The text in a style of `click.style`; plain unless stdout is a terminal with colours."""
    is_plain = (
        not any(style.values()) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    )
    return text if is_plain or not is_terminal() else click.style(text, **style)


# -- values ------------------------------------------------------------------------------------


def exact(value: Any) -> Any:
    """The value for programs. A float32 gets the shortest digits that identify it.

    So a logged 0.1 is 0.1, not 0.10000000149011612. Numbers from 2**24 on are not changed, since
    their shortest digits may be those of another whole number.
    """
    if not isinstance(value, float) or not abs(value) < 1 << 24:
        return value
    single = np.float32(value)
    return float(str(single)) if float(single) == value else value


def computed(value: float | None) -> float | None:
    """A computed number for programs: nine digits, and all of those before the decimal point."""
    if not value or not math.isfinite(value):
        return value
    return round(value, max(8 - math.floor(math.log10(abs(value))), 0))


def plain(value: Any, form: Callable[[str], str] = one_line) -> str:
    """The value as a field of a tab-separated line, or with another `form` for texts."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, list):
        return form(" ".join(map(plain, value)))
    if isinstance(value, float) and math.isfinite(value):
        return to_json(exact(value)).decode()
    return form(str(value))


def short(value: Any) -> str:
    """The value for people: four digits of a number."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return plain(value)


def short_count(count: int | None) -> str:
    """A step or a count for people: `8.25k`."""
    if count is None or abs(count) < 10_000:
        return plain(count)
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if abs(count) < size * 999.5:
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"


def short_duration(seconds: float | None) -> str:
    """A duration for people: `4 s`, `12 m`, `1h 02m`, `3d 04h`, `40 d`."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    sign, whole = ("-" if seconds <= -0.5 else ""), round(abs(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if days:
        return f"{sign}{days}d {hours % 24:02}h" if days < 10 else f"{sign}{days} d"
    if hours:
        return f"{sign}{hours}h {minutes % 60:02}m"
    return f"{sign}{minutes} m" if minutes else f"{sign}{whole} s"


def short_age(moment: datetime | None) -> str:
    """The time since a moment, for people."""
    return "" if moment is None else short_duration(max(time.time() - moment.timestamp(), 0))


def short_time(moment: datetime | None) -> str:
    """A moment for people, in local time; "" for a year that Python does not support."""
    try:
        return "" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"
    except (OSError, OverflowError):
        return ""


# -- tables ------------------------------------------------------------------------------------


Form = Literal["json", "csv", "names"]
"""A form of a table for programs; None stands for a table on a terminal or in a pipe."""


class PrintedColumn(NamedTuple):
    """A column of a table."""

    name: str
    """The name in JSON and in a pipe; "" for a column that only a terminal shows."""
    title: str = ""
    """The title on a terminal, if it differs from the name."""
    short: Callable[[Any], str] = short
    """Formats a cell for a terminal. Control characters are escaped afterwards."""
    is_name: bool = False
    """Whether cells may be cut in the middle to fit on a terminal."""
    is_text: bool = False
    """Whether cells may be cut at the end to fit on a terminal."""
    is_named: bool = False
    """Whether a user has named it, so that a terminal never leaves it out."""
    part: str = ""
    """The field of an object in JSON that has the cell. The name ends with it."""


def print_table(
    columns: Sequence[PrintedColumn],
    rows: Sequence[Sequence[Any]],
    form: Form | None = None,
    *,
    is_spread: bool = False,
    is_whole: bool = False,
) -> None:
    """Prints rows, whose cells are in the order of the columns. See `bounded` for `is_spread`.

    With `is_whole`, a table on a terminal has all columns and cells, even if it is too wide.

    The form `names` prints only the names in the rows, each followed by NUL. They are printed as
    logged, but escaped on a terminal.
    """
    if form == "json":
        print_json(objects(columns, rows), is_spread=is_spread)
    elif form == "csv":
        form_of_text = one_line if is_terminal() else str
        texts = "\n".join(map(csv_line, _texts(columns, rows, form_of_text)))
        click.echo(texts.encode("utf-8", "surrogateescape"))
    elif form == "names":
        index = next(i for i, column in enumerate(columns) if column.is_name)
        names = (one_line(row[index]) if is_terminal() else row[index] for row in rows)
        click.echo(b"".join(os.fsencode(name) + b"\0" for name in names), nl=False)
    else:
        click.echo("\n".join(table_lines(columns, rows, is_whole=is_whole)))


def csv_line(texts: Sequence[str]) -> str:
    """A line of CSV as in RFC 4180, without its end. A line break in a text is quoted."""
    buffer = io.StringIO()
    # Python 3.12 and older quote a text with CR or LF only if the line's end has it.
    csv.writer(buffer, lineterminator="\r\n").writerow(texts)
    return buffer.getvalue()[:-2]


def objects(
    columns: Sequence[PrintedColumn], rows: Sequence[Sequence[Any]]
) -> list[dict[str, Any]]:
    """The rows as objects for JSON."""
    found: list[dict[str, Any]] = [{} for _ in rows]
    named = _names(columns)
    own = {name for index, name in named.items() if not columns[index].part}
    for index, name in named.items():
        part = columns[index].part
        owner = free_name("".join(name.rsplit(f" {part}", 1)), own) if part else ""
        for row, each in zip(rows, found, strict=True):
            place = each.setdefault(owner, {}) if part else each
            place[part or name] = exact(row[index])
    return found


def table_lines(
    columns: Sequence[PrintedColumn],
    rows: Sequence[Sequence[Any]],
    *,
    with_header: bool = True,
    is_whole: bool = False,
) -> list[str]:
    """The lines of a table for a terminal, or if stdout is not one, tab-separated lines.

    See `print_table` for `is_whole`.
    """
    if is_terminal():
        available = sys.maxsize if is_whole else width()
        return _terminal_lines(columns, rows, available, with_header=with_header)
    return list(map("\t".join, _texts(columns, rows)))[0 if with_header else 1 :]


def _texts(
    columns: Sequence[PrintedColumn],
    rows: Sequence[Sequence[Any]],
    form: Callable[[str], str] = one_line,
) -> Iterator[list[str]]:
    """Yields the names of the columns, and then the cells of each row, for a pipe."""
    named = _names(columns)
    yield list(map(form, named.values()))
    for row in rows:
        yield [plain(row[index], form) for index in named]


def _names(columns: Sequence[PrintedColumn]) -> dict[int, str]:
    """The names of the columns that have one, by their indices; each is a different one."""
    indices: dict[str, int] = {}
    for index, column in enumerate(columns):
        if column.name:
            indices[free_name(column.name, indices)] = index
    return {index: name for name, index in indices.items()}


def _terminal_lines(
    columns: Sequence[PrintedColumn],
    rows: Sequence[Sequence[Any]],
    available: int,
    *,
    with_header: bool,
) -> list[str]:
    """The lines of a table of this width. The last one has the columns left out.

    If those that may not be left out do not fit, each value has a line.
    """
    # 1. Format the cells, and find the width that each column needs.
    # 2. Leave out the last columns that do not fit even if names and texts are cut, except names
    #    and columns that a user has named. A drawing goes before a name is cut.
    # 3. Cut names, and then texts, until the rows fit.
    texts = [[one_line(column.title or column.name) for column in columns]] if with_header else []
    for row in rows:
        texts.append([one_line(c.short(cell)) for c, cell in zip(columns, row, strict=True)])
    widths = [max(map(text_width, column)) for column in zip(*texts, strict=True)]
    minima = [
        min(needed, _MIN_CUT_WIDTH) if column.is_name or column.is_text else needed
        for column, needed in zip(columns, widths, strict=True)
    ]
    shown = list(range(len(columns)))
    is_table = True

    def excess(sizes: Sequence[int]) -> int:
        return sum(sizes[i] for i in shown) + len(_GAP) * (len(shown) - 1) - available

    while len(shown) > 1 and excess(minima if columns[shown[-1]].name else widths) > 0:
        others = [i for i in shown if not (columns[i].is_name or columns[i].is_named)]
        if not others:
            is_table = False
            break
        shown.remove(others[-1])
    for is_text in (False, True):  # 3
        for i in shown:
            if excess(widths) > 0 and (columns[i].is_text if is_text else columns[i].is_name):
                widths[i] = max(widths[i] - excess(widths), minima[i])
    known = {i: [row[i] for row in rows if row[i] is not None] for i in shown}
    is_right = {i: all(isinstance(c, int | float) for c in known[i] or [""]) for i in shown}
    lines = []
    for row in texts if is_table else ():
        cells = [
            padded(cut(row[i], widths[i], at_end=columns[i].is_text), widths[i], is_right[i])
            for i in shown
        ]
        lines.append(_GAP.join(cells).rstrip())
    if not is_table:
        titles, *named = [[row[i] for i in shown] for row in texts]
        lines = records(titles, named)
    elif with_header:
        lines[0] = styled(lines[0], bold=True)
    if with_header:
        # A drawing may have the title of a column.
        own = {i: title for i, title in enumerate(texts[0]) if title.strip()}
        kept = {own.get(i) for i in shown}
        left_out = ", ".join(dict.fromkeys(title for title in own.values() if title not in kept))
        if left_out:
            lines.append(styled(cut(f"not shown: {left_out}", available, at_end=True), dim=True))
    return lines


def records(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A line with its title for each cell that is not empty, and an empty line after each row."""
    lines = []
    for row in rows:
        cells = zip(titles, row, strict=True)
        lines += [f"{styled(title, bold=True)} {text}" for title, text in cells if text]
        lines.append("")
    return lines


# -- widths on a terminal ----------------------------------------------------------------------


def text_width(text: str) -> int:
    """The number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def cut(text: str, available: int, *, at_end: bool = False) -> str:
    """The text, without its end or a part in its middle if it is wider than `available`."""
    if text_width(text) <= available:
        return text
    tail = 0 if at_end else (available - 1) // 2
    head = available - 1 - tail
    start, end = 0, len(text)
    while text_width(text[: start + 1]) <= head:
        start += 1
    while tail and text_width(text[end - 1 :]) <= tail:
        end -= 1
    return f"{text[:start]}…{text[end:]}"


def padded(text: str, target: int, is_right: bool) -> str:
    """The text with blanks before or after it, as wide as `target`."""
    padding = " " * (target - text_width(text))
    return padding + text if is_right else text + padding
