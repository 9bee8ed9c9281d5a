"""What `tbcore notes` does."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import click

from tbcore import BadRequestError
from tbcore.engine import (
    LogdirSpec,
    did_you_mean,
    is_uri,
    one_line,
    plural,
    size,
    warn,
    warnings_printed,
)
from tbcore_logs import Logs
from tbcore_logs.commands.arguments import default_logdir
from tbcore_logs.logs import matching
from tbcore_logs.printing.access import LogSelection, opened, read
from tbcore_logs.printing.output import Form, PrintedColumn, is_terminal, print_table, short_age
from tbcore_logs.reading import LazyReader
from tbcore_notes.compacting import compacted
from tbcore_notes.deletion import archived_files
from tbcore_notes.notes import RunNotes
from tbcore_notes.records import FIELDS
from tbcore_notes.store import LabelChange, NotesError, Store

_COLUMNS = (
    PrintedColumn("run", is_name=True),
    # On a terminal, a word says more than `true` and `false` in two columns.
    PrintedColumn("starred", short=lambda is_so: "starred" * is_so),
    PrintedColumn("archived", short=lambda is_so: "archived" * is_so),
    PrintedColumn("labels"),
    PrintedColumn("color"),
    PrintedColumn("display_name", "name", is_text=True),
    PrintedColumn("note", is_text=True),
    PrintedColumn("time", "age", short_age),
    PrintedColumn("by"),
)

_COLUMNS_OF_FILES = (
    PrintedColumn("file", is_name=True),
    PrintedColumn("bytes"),
    PrintedColumn("run"),
)
_MAX_NAMES = 20
"""Maximum number of runs that a line about files left out names."""


def list_notes(selection: LogSelection, *, form: Form | None) -> int:
    """Prints a line for each run with notes; returns the exit status."""
    logs = opened(selection.logdir or default_logdir(says=True))
    notes = _notes_of(logs)
    notes.reports_all = True
    is_selected = selection.runs is not None or selection.where is not None
    names = selection.names(logs) if is_selected else [run for run, *_ in notes.all()]
    as_texts = form != "json"
    rows = []
    for name in names:
        records = notes.records(name)
        values = {field: records[field].value for field in FIELDS if field in records}
        if not any(values.values()):
            continue
        last = max(record for field, record in records.items())
        labels = values.get("labels", [])
        rows.append([
            name,
            *(values.get(field, False) for field in ("starred", "archived")),
            " ".join(labels) if as_texts and isinstance(labels, list) else labels,
            *(values.get(field, "") for field in ("color", "display_name", "note")),
            datetime.fromtimestamp(last.time / 1e6, UTC),
            last.by,
        ])  # fmt: skip
    # In a pipe, a line about a view would be one of the table.
    views = notes.views() if is_terminal() and form is None and not is_selected else []
    if not rows and not views:
        line = (
            "no notes on these runs could be read"
            if notes.problems
            else "there are no notes on these runs"
        )
        raise click.ClickException(line)
    if rows:
        print_table(_COLUMNS, rows, form)
    for view in views:
        age = short_age(datetime.fromtimestamp(view.time / 1e6, UTC))
        click.echo(f"view {view.name!r}, {age}, by {view.by}")
    return 0


def set_notes(
    selection: LogSelection,
    *,
    added: Sequence[str],
    removed: Sequence[str],
    **values: Any,
) -> int:
    """Changes notes; returns the exit status. Raises UsageError for what is not valid."""
    context = click.get_current_context()
    logs, names = opened(selection.logdir), selection.runs or []
    for name in names:
        if name not in logs:
            line = f"no run {name!r} below {selection.logdir!r}{_meant(name, logs, selection)}"
            raise click.UsageError(line, context)
    changes = {field: value for field, value in values.items() if value is not None}
    if not (changes or added or removed):
        raise click.UsageError("nothing to change; give --star or another option", context)
    if changes.get("note") == "-":
        changes["note"] = sys.stdin.read()
    notes = _notes_of(logs)
    labels = {label for run in names for label in _labels_of(notes, run)}
    for label in removed:
        if label not in labels and label not in added:
            warn(
                one_line(f"none of these runs has the label {label!r}{did_you_mean(label, labels)}")
            )
    try:
        notes.change(names, changes, labels=LabelChange(added, removed))
    except BadRequestError as error:
        raise click.UsageError(str(error), context) from None
    return 0


def _meant(name: str, logs: Logs, selection: LogSelection) -> str:
    """The end of a message about a name that no run has: of a folder or a pattern, the command for
    all its runs."""
    pattern = name if re.search("[*?]", name) else f"{name.rstrip('/')}/*"
    if not (found := matching(pattern, logs, None)):
        return did_you_mean(name, logs)
    what = "but a pattern of" if pattern == name else "but a folder with"
    logdir = shlex.quote(str(selection.logdir))
    listing = f"tbcore ls {logdir} --runs {shlex.quote(pattern)} -0"
    line = f"{listing} | xargs -0 -r tbcore notes set {logdir} OPTION... --"
    return f", {what} {plural(len(found), 'run')}; for all of them: `{line}`"


def _labels_of(notes: RunNotes, run: str) -> list[str]:
    labels = notes.values(run).get("labels", [])
    return labels if isinstance(labels, list) else []


def _notes_of(logs: Logs) -> RunNotes:
    """The notes that the command is about: what of them could not be read is status 3."""
    notes = cast(RunNotes, logs.notes)
    click.get_current_context().ensure_object(list).append(notes)
    return notes


def list_files(selection: LogSelection, *, form: Form | None) -> int:
    """Prints the event files of archived runs; returns the exit status."""
    logs, names = selection.opened()
    reader = logs._reader
    logdir = reader.specs[0].path if reader.specs else None
    if not isinstance(reader, LazyReader) or logdir is None or is_uri(logdir):
        line = "only files in a log directory on this machine can be named"
        raise click.UsageError(line, click.get_current_context())
    notes = _notes_of(logs)
    names = [name for name in names if notes.archived(name).last]
    if notes.problems:
        # What is missing may be that somebody has brought a run back.
        raise NotesError("no file is named, since some notes could not be read")
    snapshots = reader.snapshots([run.name for run in read(logs, names)]) if names else {}
    runs = {
        name: (reader.files(name), snapshot.view.last_event_time)
        for name, snapshot in snapshots.items()
    }
    rows, left_out = archived_files(logdir, runs, notes.archived)
    for reason, left in left_out.items():
        shown = ", ".join(left[:_MAX_NAMES]) + (", ..." if len(left) > _MAX_NAMES else "")
        warn(one_line(f"files of {plural(len(left), 'run')} are left out ({reason}): {shown}"))
    if not rows:
        raise click.ClickException("no run that was archived has files to name")
    if form is None and is_terminal():
        # The look before deleting: a whole path each, which ends its line.
        columns = [PrintedColumn("bytes"), PrintedColumn("run"), PrintedColumn("file")]
        print_table(columns, [(size, run, path) for path, size, run in rows], is_whole=True)
    else:
        print_table(_COLUMNS_OF_FILES, rows, form)
    return 0


def compact_notes(logdir: str) -> int:
    """Compacts the notes on one log directory, and prints what that saved; returns the exit status.

    Raises NotesError.
    """
    _check_directory(logdir)
    found = [compacted(directory) for directory in Store(logdir).own_directories]
    before = sum(each.num_bytes_before for each in found)
    after = sum(each.num_bytes_after for each in found)
    shown = "as before" if after == before else f"before: {size(before)}"
    click.echo(one_line(f"your notes on {logdir} have {size(after)}, {shown}"))
    if num_left := sum(each.num_left for each in found):
        verb = "is" if num_left == 1 else "are"
        click.echo(
            f"{plural(num_left, 'file')} of running processes or other machines {verb} left as "
            f"{'it is' if num_left == 1 else 'they are'}"
        )
    return 0


def _check_directory(logdir: str) -> None:
    """Raises UsageError for what is neither a directory nor an address."""
    if not is_uri(logdir) and not os.path.isdir(logdir):
        raise click.UsageError(f"{logdir!r} is not a directory", click.get_current_context())


def share_notes(logdir: str) -> int:
    """Shares the notes on one log directory; returns the exit status."""
    _check_directory(logdir)
    notes = RunNotes([LogdirSpec(None, logdir)])
    for path, count, num_views in notes.share():
        views = f" and {plural(num_views, 'view')}" if num_views else ""
        click.echo(f"notes on {plural(count, 'run')}{views} are shared in {path}")
    with warnings_printed():
        notes.refresh()  # What readers leave out of it is a warning.
    return 0
