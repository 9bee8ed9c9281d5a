"""`tbcore tags`: the tags as a table."""

from __future__ import annotations

from typing import Any

import click

from tbcore_logs.printing.access import LogSelection, if_readable, read
from tbcore_logs.printing.output import Form, PrintedColumn, print_table, short_count


def list_tags(selection: LogSelection, *, limit: int | None, form: Form | None) -> int:
    """Prints a line for each tag; returns the exit status."""
    rows: dict[tuple[str, str], list[Any]] = {}
    logs, names = selection.opened()
    for run in read(logs, names):
        with if_readable():
            for tag in run.tags.values():
                row = rows.setdefault((tag.name, tag.kind), [tag.name, tag.kind, 0, 0, None])
                row[2] += 1
                row[3] += tag.count
                if tag.last_step is not None:
                    row[4] = tag.last_step if row[4] is None else max(row[4], tag.last_step)
    chosen = set(selection.tags_of((name for name, _ in rows), need_all=True))
    found = [row for row in rows.values() if row[0] in chosen]
    if rows and not found:
        raise click.ClickException(f"none of {len(rows):,} tags matches")
    columns = [
        PrintedColumn("tag", is_name=True),
        PrintedColumn("kind"),
        PrintedColumn("num_runs", "runs"),
        PrintedColumn("count", short=short_count),
        PrintedColumn("last_step", "last step", short_count),
    ]
    print_table(columns, found[:limit], form)
    selection.mention_archived(logs, names)
    return 0 if rows else 1
