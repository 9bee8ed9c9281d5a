"""`tbcore diff`: the differences between two runs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import click

from tbcore import DataError, NotFoundError
from tbcore.engine import one_line, quoted
from tbcore_logs import Run
from tbcore_logs.forms import SCALAR, TEXT
from tbcore_logs.noted import RunNotes
from tbcore_logs.printing.access import has_run, opened, opened_for, progress, run_named
from tbcore_logs.printing.json_output import print_json
from tbcore_logs.printing.output import (
    PrintedColumn,
    exact,
    is_terminal,
    objects,
    styled,
    table_lines,
)
from tbcore_logs.printing.show import last_text
from tbcore_logs.text_differences import unified_diff


def diff(logdir: str | Sequence[str] | None, names: Sequence[str], *, as_json: bool) -> int:
    """Prints the differences between two runs. Returns the exit status: 1 if there are any, else 0.

    Compares the last text and the last scalar of each tag.
    """
    logs = opened_for(names[0]) if logdir is None else opened(logdir)
    if logdir is None and not has_run(logs, names[0]) and os.path.isdir(names[0]):
        line = f"{quoted(names[0])} is a directory, not a run; expected [LOGDIR] A B"
        raise click.UsageError(line, click.get_current_context())
    a, b = (run_named(logs, name) for name in names)
    with progress(lambda: "reading logs"):
        logs.read(runs=[a.name, b.name])
        hparams = _hparams(a, b)
        labels = {run.name: run.name for run in (a, b)}
        if is_terminal() and not as_json:
            labels = RunNotes(lambda: logs.notes).labels(labels)
        texts = _texts(a, b, labels)
        tags = [(tag, run.tags[tag].kind, labels[run.name])
                for run, other in ((a, b), (b, a)) for tag in run if tag not in other]  # fmt: skip
        values = _values(a, b)
    titles = ["a", "b"] if as_json else [labels[a.name], labels[b.name]]
    a_and_b = [PrintedColumn(title, is_text=True) for title in titles]
    name, tag = PrintedColumn("name", is_name=True), PrintedColumn("tag", is_name=True)
    kind, of_run, difference = map(PrintedColumn, ("kind", "run", "difference"))
    if as_json:
        steps = [PrintedColumn("a_step"), PrintedColumn("b_step")]
    elif any(x != y for *_, x, y in values):
        # Runs that ended at other steps are not to be taken for runs of equal length.
        steps = [PrintedColumn("steps", is_text=True)]
        values = [(*row, f"{x}, {y}" if x != y else x) for *row, x, y in values]
    else:
        steps, values = [], [row[:-2] for row in values]
    tables: dict[str, tuple[str, list[PrintedColumn], Sequence[Sequence[Any]]]] = {
        "hparams": ("hyperparameters", [name, *a_and_b], hparams),
        "tags": ("tags of one run only", [tag, kind, of_run], tags),
        "values": ("last values", [tag, *a_and_b, difference, *steps], values),
    }
    if as_json:
        found = {key: objects(columns, rows) for key, (_, columns, rows) in tables.items()}
        changed = [{"tag": text, "diff": "\n".join(lines)} for text, lines in texts.items()]
        print_json({"runs": [a.name, b.name], **found, "texts": changed})
        return 1 if hparams or texts or tags or values else 0
    lines: list[str] = []
    for key, (title, columns, rows) in tables.items():
        if rows:
            lines += ["", styled(title, bold=True), *table_lines(columns, rows)]
        for text, changes in texts.items() if key == "hparams" else ():
            lines += ["", styled(one_line(f"text {text}"), bold=True)]
            lines += [_colored(one_line(line)) for line in changes]
    if lines:
        click.echo("\n".join(lines[1:]))
    return 1 if lines else 0


def _hparams(a: Run, b: Run) -> list[tuple[str, Any, Any]]:
    names = dict.fromkeys([*a.hparams, *b.hparams])
    pairs = [(name, a.hparams.get(name), b.hparams.get(name)) for name in names]
    return [(name, x, y) for name, x, y in pairs if not _are_equal(x, y)]


def _texts(a: Run, b: Run, labels: Mapping[str, str]) -> dict[str, list[str]]:
    """The lines of `unified_diff` for each common tag whose last texts differ; with their steps, if
    these differ, too."""
    found = {}
    for tag in _common(a, b, TEXT):
        try:
            steps = [run.tags[tag].last_step for run in (a, b)]
            names = [labels[a.name], labels[b.name]]
            if steps[0] != steps[1]:
                names = [f"{n}, step {step}" for n, step in zip(names, steps, strict=True)]
            lines = unified_diff(last_text(a, tag), last_text(b, tag), *names)
        except (DataError, NotFoundError) as error:
            lines = [f"cannot be compared: {error}"]
        if lines:
            found[tag] = lines
    return found


def _values(a: Run, b: Run) -> list[tuple[Any, ...]]:
    """Of each common tag whose last values differ: these, their difference, and their steps."""
    rows = []
    for tag in _common(a, b, SCALAR):
        points = [run[tag].last for run in (a, b)]
        x, y = (point and point.value for point in points)
        if not _are_equal(x, y):
            difference = None if x is None or y is None else _difference(x, y)
            rows.append((tag, x, y, difference, *(point and point.step for point in points)))
    return rows


def _difference(x: float, y: float) -> float:
    """y - x, computed from the printed digits, so that float32 0.3 - 0.2 is 0.1."""
    if not math.isfinite(y - x):
        return y - x
    return float(Decimal(str(exact(y))) - Decimal(str(exact(x))))


def _common(a: Run, b: Run, kind: str) -> list[str]:
    return [tag for tag in a if tag in b and a.tags[tag].kind == b.tags[tag].kind == kind]


def _are_equal(x: Any, y: Any) -> bool:
    """NaN equals NaN, and True is not 1."""
    return isinstance(x, bool) == isinstance(y, bool) and bool(x == y or (x != x and y != y))


def _colored(line: str) -> str:
    if line.startswith(("---", "+++", "@@")):
        return styled(line, dim=True)
    return styled(line, fg={"+": "green", "-": "red"}.get(line[:1]))
