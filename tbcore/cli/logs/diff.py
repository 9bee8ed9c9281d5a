"""`tbcore diff`: what differs between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from tbcore.cli.logs.access import opened, progress, run_named
from tbcore.cli.logs.output import (
    PrintedColumn,
    exact,
    is_terminal,
    print_json,
    styled,
    tab_lines,
    terminal_lines,
)
from tbcore.cli.logs.show import last_text
from tbcore.errors import DataError, NotFoundError
from tbcore.eventfiles.logdir import one_line
from tbcore.logs import Run
from tbcore.text_differences import unified_diff
from tbcore.values.forms import SCALAR, TEXT


def diff(logdir: str | None, names: Sequence[str], *, as_json: bool) -> int:
    """Prints what differs between two runs; returns the exit status, which is 1 if anything does.

    Texts and scalars are compared by what was logged last.
    """
    logs = opened(logdir)
    a, b = (run_named(logs, name) for name in names)
    with progress(lambda: "reading logs"):
        logs.read([a.name, b.name])
        hparams = _hparams(a, b)
        texts = _texts(a, b)
        tags = [(tag, run.tags[tag].kind, run.name)
                for run, other in ((a, b), (b, a)) for tag in run if tag not in other]  # fmt: skip
        values = _values(a, b)
    sections: list[tuple[str, str, list[PrintedColumn], Sequence[Sequence[Any]]]] = [
        ("hparams", "hyperparameters", _columns("name", a, b), hparams),
        ("tags", "tags of one run only",
         [PrintedColumn("tag", is_name=True), PrintedColumn("kind"), PrintedColumn("run")], tags),
        ("values", "last values", [*_columns("tag", a, b), PrintedColumn("difference")], values),
    ]  # fmt: skip
    if as_json:
        found: dict[str, Any] = {"runs": [a.name, b.name]}
        for name, _, columns, rows in sections:
            keys = [column.name for column in columns]
            if name != "tags":
                keys[1:3] = ["a", "b"]
            found[name] = [dict(zip(keys, map(exact, row), strict=True)) for row in rows]
        found["texts"] = [{"tag": tag, "diff": "\n".join(lines)} for tag, lines in texts.items()]
        print_json(found)
        return 1 if any(map(len, (hparams, texts, tags, values))) else 0
    lines: list[str] = []
    for name, title, columns, rows in sections:
        if rows:
            make_lines = terminal_lines if is_terminal() else tab_lines
            lines += ["", styled(title, bold=True), *make_lines(columns, rows)]
        if name == "hparams":
            for tag, changes in texts.items():
                lines += ["", styled(one_line(f"text {tag}"), bold=True)]
                lines += [_colored(one_line(line)) for line in changes]
    if lines:
        click.echo("\n".join(lines[1:]))
    return 1 if lines else 0


def _columns(name: str, a: Run, b: Run) -> list[PrintedColumn]:
    return [
        PrintedColumn(name, is_name=True),
        PrintedColumn(a.name, is_text=True),
        PrintedColumn(b.name, is_text=True),
    ]


def _hparams(a: Run, b: Run) -> list[tuple[str, Any, Any]]:
    names = dict.fromkeys([*a.hparams, *b.hparams])
    pairs = [(name, a.hparams.get(name), b.hparams.get(name)) for name in names]
    return [(name, x, y) for name, x, y in pairs if not _are_equal(x, y)]


def _texts(a: Run, b: Run) -> dict[str, list[str]]:
    """The lines that differ, for each tag of both with texts that do."""
    found = {}
    for tag in _common(a, b, TEXT):
        try:
            lines = unified_diff(last_text(a, tag), last_text(b, tag), a.name, b.name)
        except (DataError, NotFoundError) as error:
            lines = [f"cannot be compared: {error}"]
        if lines:
            found[tag] = lines
    return found


def _values(a: Run, b: Run) -> list[tuple[str, float | None, float | None, float | None]]:
    rows = []
    for tag in _common(a, b, SCALAR):
        x, y = (None if (point := run[tag].last) is None else point.value for run in (a, b))
        if not _are_equal(x, y):
            rows.append((tag, x, y, None if x is None or y is None else y - x))
    return rows


def _common(a: Run, b: Run, kind: str) -> list[str]:
    return [tag for tag in a if tag in b and a.tags[tag].kind == b.tags[tag].kind == kind]


def _are_equal(x: Any, y: Any) -> bool:
    return bool(x == y or (x != x and y != y))  # NaN equals NaN.


def _colored(line: str) -> str:
    if line.startswith(("---", "+++", "@@")):
        return styled(line, dim=True)
    return styled(line, fg={"+": "green", "-": "red"}.get(line[:1]))
