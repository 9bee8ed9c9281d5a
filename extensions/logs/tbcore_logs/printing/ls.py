"""`tbcore ls`: the runs, or groups of them, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tbcore.engine import Attribute, size
from tbcore_logs.noted import RunNotes
from tbcore_logs.order import default_tags
from tbcore_logs.printing.access import LogSelection, read
from tbcore_logs.printing.columns import (
    column_of,
    column_of_tag,
    columns_of,
    fields_of,
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
    short_time,
)

_OWN_COLUMNS = (
    PrintedColumn("state"),
    PrintedColumn("run", is_name=True),
    PrintedColumn("step", short=short_count),
    PrintedColumn("last_event", "age", short_age),
    PrintedColumn("took", short=short_duration),
)
"""The columns that are shown unless others are named: RUN_COLUMNS."""
_FIELDS = {column.name: column for column in _OWN_COLUMNS} | {
    "started": PrintedColumn("started", short=short_time),
    "size": PrintedColumn("size", short=size),
}
"""Fields of runs that are not printed as values are."""


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
    fields = fields_of(logs)
    if columns is None:
        num_runs = attributes.index.scalar_tags.num_runs
        if len(names) < len(attributes.runs):
            num_runs = Counter(tag for name in names for tag in logs[name].scalar_tags)
        tags = default_tags(num_runs)
        chosen = [column_of_tag(Attribute("value", tag, "last"), attributes) for tag in tags]
    elif by is None:
        chosen = columns_of(columns, logs, attributes, fields)
    else:
        chosen = [column_of(text, attributes) for text in columns]
    chosen, order = with_order(sort, chosen, by, lambda: attributes)
    if by is not None:
        groups = grouped(names, by, lambda: attributes)
        left_out = grouped(selection.archived_others(logs, names), by, lambda: attributes)
        table = group_table(
            groups, names, chosen, RunNotes(lambda: logs.notes), left_out,
            lambda run: logs[run].hparams,
            order=order, reverse=reverse, limit=limit, is_named=columns is not None,
        )  # fmt: skip
        if is_terminal() and form is None:
            print_table(table.figures, table.texts)
        else:
            print_table(table.columns, table.rows, form)
        selection.mention_archived(logs, [name for own in table.members for name in own])
        return 0
    rows = run_rows(fields, names, chosen, order=order, reverse=reverse)[:limit]
    key = "last_event" if order == "age" else order
    shown = [column._replace(is_named=column.name == key) for column in _OWN_COLUMNS]
    is_named = columns is not None
    for c in chosen:
        field = _FIELDS.get(c.text) if c.attribute.kind == "fact" else None
        column = field or PrintedColumn(c.text, c.title, c.short)
        shown.append(column._replace(is_named=is_named or c is order))
    printed = [row[1] for row in rows]
    if is_named:
        shown = [shown[1], *shown[len(_OWN_COLUMNS) :]]
        rows = [[row[1], *row[len(_OWN_COLUMNS) :]] for row in rows]
    elif is_terminal() and form is None:
        line_tag = next((column.tag for column in chosen if column.tag is not None), None)
        if line_tag is not None:
            shown.append(PrintedColumn("", line_tag))
            rows = [[*row, line_of(logs[row[1]], line_tag)] for row in rows]
        _add_notes(shown, rows, RunNotes(lambda: logs.notes))
    print_table(shown, rows, form)
    selection.mention_archived(logs, printed)
    return 0


def _add_notes(columns: list[PrintedColumn], rows: list[list[Any]], notes: RunNotes) -> None:
    """Adds columns for a terminal of what was noted: names and marks."""
    noted = [notes.of(row[1]) for row in rows]
    texts = {"notes": list(map(_marks, noted))}
    texts["display name"] = [own.get("display_name", "") for own in noted]
    for title, cells in texts.items():
        if any(cells):
            columns.insert(2, PrintedColumn("", title, is_text=True))
            for row, cell in zip(rows, cells, strict=True):
                row.insert(2, cell)


def _marks(own: Mapping[str, Any]) -> str:
    """The marks of a run in words: `archived starred #paper`."""
    marks = [field for field in ("archived", "starred") if own.get(field)]
    return " ".join([*marks, *(f"#{label}" for label in own.get("labels", ()))])
