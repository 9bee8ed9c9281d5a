"""`tbcore ls`: the runs, or groups of them, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tbcore.engine import Attribute
from tbcore_logs.noted import NOTED, RunNotes
from tbcore_logs.printing.access import LogSelection, read
from tbcore_logs.printing.columns import (
    column_of,
    column_of_tag,
    group_table,
    grouped,
    line_of,
    run_rows,
    with_order,
)
from tbcore_logs.printing.output import (
    Form,
    PrintedColumn,
    is_terminal,
    print_table,
    short_age,
    short_count,
    short_duration,
)

_NUM_DEFAULT_TAGS = 3
_OWN_COLUMNS = (
    PrintedColumn("state"),
    PrintedColumn("run", is_name=True),
    PrintedColumn("step", short=short_count),
    PrintedColumn("last_event", "age", short_age),
    PrintedColumn("took", short=short_duration),
)
"""The columns that are always shown: RUN_COLUMNS."""


def list_runs(
    selection: LogSelection,
    *,
    columns: Iterable[str] | None,
    sort: str | None,
    reverse: bool,
    limit: int | None,
    by: str | None,
    form: Form | None,
) -> int:
    """Prints a line for each run, or with `by`, for each group; returns the exit status."""
    logs, names = selection.opened()
    read(logs, logs)
    attributes = logs.attributes()
    if columns is None:
        tags = attributes.index.scalar_tags.most_common()[:_NUM_DEFAULT_TAGS]
        chosen = [column_of_tag(Attribute("value", tag, "last"), attributes) for tag in tags]
    else:
        chosen = [column_of(text, attributes) for text in columns]
    chosen, order = with_order(sort, chosen, by, lambda: attributes)
    if by is not None:
        groups = grouped(names, by, lambda: attributes)
        left_out = grouped(selection.archived_others(logs, names), by, lambda: attributes)
        table = group_table(
            groups, names, chosen, RunNotes(lambda: logs.notes), left_out,
            order=order, reverse=reverse, limit=limit,
        )  # fmt: skip
        if is_terminal() and form is None:
            print_table(table.figures, table.texts)
        else:
            print_table(table.columns, table.rows, form)
        selection.mention_archived(logs, [name for own in table.members for name in own])
        return 0
    steps = dict(zip(attributes.runs, attributes.last_steps(), strict=True))
    rows = run_rows(logs, names, chosen, steps, order=order, reverse=reverse)[:limit]
    shown = [*_OWN_COLUMNS]
    shown += [PrintedColumn(c.text, c.title, c.short) for c in chosen]
    line_tag = next((column.tag for column in chosen if column.tag is not None), None)
    if line_tag is not None and is_terminal() and form is None:
        shown.append(PrintedColumn("", line_tag))
        rows = [[*row, line_of(logs[row[1]], line_tag)] for row in rows]
    _add_notes(shown, rows, RunNotes(lambda: logs.notes), form)
    print_table(shown, rows, form)
    selection.mention_archived(logs, [row[1] for row in rows])
    return 0


def _add_notes(
    columns: list[PrintedColumn], rows: list[list[Any]], notes: RunNotes, form: Form | None
) -> None:
    """Adds columns of what was noted: on a terminal names and marks, in JSON all that there is.

    There are none in a pipe and in CSV, which have the columns that were asked for.
    """
    if form != "json" and not (form is None and is_terminal()):
        return
    noted = [notes.of(row[1]) for row in rows]
    if form is None:
        texts = {"notes": list(map(_marks, noted))}
        texts["display name"] = [own.get("display_name", "") for own in noted]
        for title, cells in texts.items():
            if any(cells):
                columns.insert(2, PrintedColumn("", title, is_text=True))
                for row, cell in zip(rows, cells, strict=True):
                    row.insert(2, cell)
    else:
        for field in [field for field in NOTED if any(field in own for own in noted)]:
            columns.append(PrintedColumn(field))
            for row, own in zip(rows, noted, strict=True):
                row.append(own.get(field, NOTED[field]))


def _marks(own: Mapping[str, Any]) -> str:
    """The marks of a run in words: `archived starred #paper`."""
    marks = [field for field in ("archived", "starred") if own.get(field)]
    return " ".join([*marks, *(f"#{label}" for label in own.get("labels", ()))])
