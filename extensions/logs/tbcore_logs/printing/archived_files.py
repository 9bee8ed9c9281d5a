"""`tbcore ls --files`: prints the event files of runs that were archived."""

from __future__ import annotations

import click

from tbcore.engine import is_uri, one_line, plural, warn
from tbcore_logs.archived_files import archived_files
from tbcore_logs.printing.access import LogSelection
from tbcore_logs.printing.output import Form, PrintedColumn, is_terminal, print_table
from tbcore_logs.reading import LazyReader

_MAX_NAMES = 20
"""Maximum number of runs that a line about runs left out names."""

_COLUMNS = (PrintedColumn("file", is_name=True), PrintedColumn("bytes"), PrintedColumn("run"))


def list_archived_files(selection: LogSelection, *, by: str | None, form: Form | None) -> int:
    """Prints the event files of archived runs; returns the exit status, 1 if there are none."""
    if by not in (None, "anyone"):
        line = f"--by {by!r} is not valid with --files; expected anyone"
        raise click.UsageError(line, click.get_current_context())
    logs, names = selection.opened()
    reader = logs._reader
    logdir = reader.specs[0].path if reader.specs else None
    if not isinstance(reader, LazyReader) or logdir is None or is_uri(logdir):
        line = "--files needs a log directory on this machine"
        raise click.UsageError(line, click.get_current_context())
    reader.needs_notes = True
    attributes = logs.attributes()
    last = dict(zip(attributes.runs, attributes.last_event_times, strict=True))
    rows, authors, left_out = archived_files(
        logdir,
        names,
        archived=reader.notes.archived,
        reader=reader,
        last_event_times=last,
        by_anyone=by == "anyone",
    )
    if by == "anyone":
        for name, author in authors.items():
            click.echo(one_line(f"archived by {author}: {name}"), err=True)
    for reason, runs in left_out.items():
        shown = ", ".join(runs[:_MAX_NAMES]) + (", ..." if len(runs) > _MAX_NAMES else "")
        warn(one_line(f"{plural(len(runs), 'run')} left out ({reason}): {shown}"))
    if not rows:
        raise click.ClickException("no run that was archived has files to name")
    if form is None and is_terminal():
        # The look before deleting: a whole path each, which ends its line.
        columns = [PrintedColumn("bytes"), PrintedColumn("run"), PrintedColumn("file")]
        print_table(columns, [(size, run, path) for path, size, run in rows], is_whole=True)
    else:
        print_table(_COLUMNS, rows, form)
    return 0
