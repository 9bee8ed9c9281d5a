"""`tbcore ls`: the runs, or groups of them, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tbcore_logs.noted import NOTED, RunNotes
from tbcore_logs.printing.access import LogSelection, read
from tbcore_logs.printing.columns import (
    column_of,
    group_table,
    grouped,
    line_of,
    run_rows,
    sorting_column,
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
        columns = [f"{tag}:last" for tag in tags]
    chosen = [column_of(text, attributes) for text in columns]
    chosen += sorting_column(sort, chosen, by, lambda: attributes)
    if by is not None:
        groups = grouped(names, by, lambda: attributes)
        table = group_table(groups, names, chosen, sort=sort, reverse=reverse, limit=limit)
        is_for_people = is_terminal() and form is None
        print_table(*(table[2:4] if is_for_people else table[:2]), form)
        return 0
    steps = dict(zip(attributes.runs, attributes.last_steps(), strict=True))
    rows = run_rows(logs, names, chosen, steps, sort=sort, reverse=reverse)[:limit]
    shown = [*_OWN_COLUMNS]
    shown += [PrintedColumn(c.text, c.text.removesuffix(":last"), c.short) for c in chosen]
    line_tag = next((column.tag for column in chosen if column.tag is not None), None)
    if line_tag is not None and is_terminal() and form is None:
        shown.append(PrintedColumn("", line_tag))
        rows = [[*row, line_of(logs[row[1]], line_tag)] for row in rows]
    _add_notes(shown, rows, RunNotes(lambda: logs.notes), form)
    print_table(shown, rows, form)
    return 0


def _add_notes(
    columns: list[PrintedColumn], rows: list[list[Any]], notes: RunNotes, form: Form | None
) -> None:
    """Adds columns of what was noted: on a terminal the display names, in JSON all that there is.

    There are none in a pipe and in CSV, which have the columns that were asked for.
    """
    if form != "json" and not (form is None and is_terminal()):
        return
    noted = [notes.of(row[1]) for row in rows]
    if form is None and any("display_name" in own for own in noted):
        columns.insert(2, PrintedColumn("", "display name", is_text=True))
        for row, own in zip(rows, noted, strict=True):
            row.insert(2, own.get("display_name", ""))
    elif form == "json":
        for field in [field for field in NOTED if any(field in own for own in noted)]:
            columns.append(PrintedColumn(field))
            for row, own in zip(rows, noted, strict=True):
                row.append(own.get(field, NOTED[field]))
