"""What `tbcore notes` does."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import click

from tbcore import BadRequestError
from tbcore.engine import (
    LogdirSpec,
    did_you_mean,
    is_uri,
    one_line,
    plural,
    quoted,
    size,
    warn,
    warnings_printed,
)
from tbcore_logs import Logs, matching
from tbcore_logs.drawings import time_of
from tbcore_logs.printing.access import LogSelection, opened, read, typed_name
from tbcore_logs.printing.output import (
    Form,
    PrintedColumn,
    is_terminal,
    print_table,
    short_age,
    short_time,
)
from tbcore_notes.changes import LabelChange, NotesError
from tbcore_notes.compacting import compacted
from tbcore_notes.deletion import LeftOut, Reason, archived_files
from tbcore_notes.notes import RunNotes
from tbcore_notes.records import FIELDS
from tbcore_notes.store import Store

if TYPE_CHECKING:
    from tbcore_logs.reading import LazyReader

_COLUMNS = (
    PrintedColumn("run", is_name=True),
    # On a terminal, a word says more than `true` and `false` in two columns.
    PrintedColumn("starred", short=lambda is_so: "starred" * is_so),
    PrintedColumn("archived", short=lambda is_so: "archived" * is_so),
    PrintedColumn("gone", short=lambda is_so: "gone" * is_so),
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
_MAX_NAMES = 10
"""Maximum number of names in a line about what is left out, and of such lines."""


def list_notes(selection: LogSelection, *, form: Form | None) -> int:
    """Prints a line for each run with notes; returns the exit status."""
    is_selected = selection.runs is not None or selection.where is not None
    selection = selection._replace(logdir=_of_directory(selection.logdir))
    logs, names = selection.opened() if is_selected else (opened(selection.logdir), [])
    notes = _notes_of(logs)
    notes.reports_all = True
    if not is_selected:
        names = [run for run, *_ in notes.all()]
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
            name not in logs,
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
    logs = opened(_of_directory(selection.logdir))
    notes = _notes_of(logs)
    names = [typed_name(name, logs.sizes) for name in selection.runs or ()]
    gone = [name for name in dict.fromkeys(names) if name not in logs]
    for name in gone:
        if not notes.records(name):
            line = f"no run {name!r} below {selection.logdir!r}{_meant(name, logs, selection)}"
            raise click.UsageError(line, context)
    changes = {field: value for field, value in values.items() if value is not None}
    if both := set(added).intersection(removed):
        line = f"--label and --no_label cannot be combined for {quoted(min(both))}"
        raise click.UsageError(line, context)
    if not (changes or added or removed):
        raise click.UsageError("nothing to change; give --star or another option", context)
    if changes.get("note") == "-":
        changes["note"] = sys.stdin.read()
    above = None if next(notes.all(), None) else _noted_above(str(selection.logdir))
    labels = {label for run in names for label in _labels_of(notes, run)}
    for label in removed:
        if label not in labels:
            warn(
                one_line(f"none of these runs has the label {label!r}{did_you_mean(label, labels)}")
            )
    try:
        notes.change(names, changes, labels=LabelChange(added, removed))
    except BadRequestError as error:
        raise click.UsageError(str(error), context) from None
    for name in gone:
        warn(one_line(f"there is no run {name!r} below {selection.logdir!r} any more"))
    if above:
        path = os.path.relpath(os.path.realpath(str(selection.logdir)), above)
        there = os.path.normpath(os.path.join(path, names[0]))
        line = f"there are also notes on {above!r}, which does not show these; there, the run is"
        warn(one_line(f"{line} {there!r}"))
    what = names[0] if len(names) == 1 else plural(len(names), "run")
    parts = [*(_described(field, value) for field, value in changes.items())]
    parts += [f"label {label}" for label in added] + [f"no label {label}" for label in removed]
    click.echo(one_line(f"noted on {what} below {selection.logdir}: {', '.join(parts)}"))
    return 0


def _described(field: str, value: Any) -> str:
    """What was noted, in words."""
    if field in ("starred", "archived"):
        no = "brought back" if field == "archived" else "not starred"
        return field if value else no
    what = field.removeprefix("display_")
    if not value:
        return f"no {what}"
    if field == "note":
        return f"a note of {plural(len(value.strip()), 'character')}"
    return f"{what} {value.strip()}"


def _noted_above(logdir: str) -> str | None:
    """The nearest directory above a log directory that this user has noted something about."""
    if is_uri(logdir):
        return None
    above = os.path.realpath(logdir)
    while (above := os.path.dirname(folder := above)) != folder:
        if any(os.path.isdir(each.path) for each in Store(above).own_directories):
            return above
    return None


def _meant(name: str, logs: Logs, selection: LogSelection) -> str:
    """The end of a message about a name that no run has: of a folder or a pattern, the command for
    all its runs."""
    pattern = name if re.search("[*?]", name) else f"{name.rstrip('/')}/*"
    if not (found := matching(pattern, logs, None)):
        return did_you_mean(name, logs)
    what = "but a pattern of" if pattern == name else "but a folder with"
    logdir = shlex.quote(str(selection.logdir))
    listing = f"tbcore ls {logdir} --runs {shlex.quote(pattern)} --format names"
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


def list_files(selection: LogSelection, *, form: Form | None, is_verbose: bool) -> int:
    """Prints the event files of archived runs; returns the exit status."""
    selection = selection._replace(logdir=_of_directory(selection.logdir))
    if is_uri(logdir := str(selection.logdir)):
        line = "only files on this machine can be named"
        raise click.UsageError(line, click.get_current_context())
    logs, names = selection.opened()
    notes, reader = _notes_of(logs), cast("LazyReader", logs._reader)
    names = [name for name in names if notes.archived(name).last]
    if notes.problems or notes.left_out:
        # What is missing may be that somebody has brought a run back.
        why = "could not be read" if notes.problems else "are left out"
        raise NotesError(f"no file is named, since some notes {why}")
    snapshots = reader.snapshots([run.name for run in read(logs, names)]) if names else {}
    runs = {
        name: (reader.files(name), snapshot.view.last_event_time)
        for name, snapshot in snapshots.items()
    }
    found = archived_files(reader.specs[0].path, runs, notes.archived)
    _warn_of_left_out(found.left_out, logdir, is_verbose=is_verbose)
    if not found.rows:
        raise click.ClickException("no run that was archived has files to name")
    if form is None and is_terminal():
        # The look before deleting: a whole path each, which ends its line.
        columns = [PrintedColumn("bytes"), PrintedColumn("run"), PrintedColumn("file")]
        rows = [(size, run, path) for path, size, run in found.rows]
        print_table(columns, rows, is_whole=True)
    else:
        print_table(_COLUMNS_OF_FILES, found.rows, form)
    return 0


def _warn_of_left_out(left_out: Sequence[LeftOut], logdir: str, *, is_verbose: bool) -> None:
    """Warns about archived files that are not named, in a line for each reason."""
    limit = sys.maxsize if is_verbose else _MAX_NAMES
    groups: dict[tuple[bool, bool, Reason], list[LeftOut]] = {}
    for each in left_out:
        reason = each.reason._replace(ends_at=None)
        # What has no end, or an absurd one, is in a line without a time.
        key = each.file == "", bool(_end(each.reason)), reason
        groups.setdefault(key, []).append(each)
    is_cut = len(groups) > limit
    for (is_whole, has_end, reason), group in list(groups.items())[:limit]:
        runs = list(dict.fromkeys(each.run for each in group))
        of = runs[0] if len(runs) == 1 else plural(len(runs), "run")
        names = runs if is_whole else [each.file for each in group]
        if len(runs) > 1 and not is_whole:
            names = [f"{each.run}/{each.file}" for each in group]
        more = f" and {len(names) - limit} more" if len(names) > limit else ""
        is_cut |= bool(more)
        which = "" if of == names[0] else f"{', '.join(names[:limit])}{more}: "
        what = "all files" if is_whole else plural(len(names), "file")
        verb = "is" if what == "1 file" else "are"
        end = max(_end(each.reason) for each in group)
        until = f"; they may be named from {end} on" if has_end else ""
        warn(one_line(f"{what} of {of} {verb} left out: {which}{reason.text}{until}"))
    if is_cut:
        others = f"there are {plural(len(groups) - limit, 'more reason')}; "
        warn(f"{others * (len(groups) > limit)}with --verbose, nothing of these lines is cut")
    again = list(dict.fromkeys(each.run for each in left_out if each.reason.needs_archiving))
    if again:
        shown = "RUN..." if len(again) > limit else shlex.join(again)
        line = f"tbcore notes set {shlex.quote(logdir)} --archive -- {shown}"
        line = f"tbcore: to name what is there now, archive again: `{line}`"
        click.echo(one_line(line), err=True)


def _end(reason: Reason) -> str:
    """When waiting is enough, in local time; "" if it is not, or if that time cannot be printed."""
    return short_time(time_of(reason.ends_at))


def compact_notes(logdir: str | None) -> int:
    """Compacts the notes on one log directory, and prints what that saved; returns the exit status.

    Raises NotesError.
    """
    logdir = _of_directory(logdir)
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


def _of_directory(given: str | Sequence[str] | None) -> str:
    """LOGDIR or its default. Raises UsageError for what is neither a directory nor an address."""
    logdir = LogSelection(given).path(says=True)
    if not isinstance(logdir, str):
        line = f"notes are about one log directory, got {len(logdir)}"
        raise click.UsageError(line, click.get_current_context())
    path = os.path.expanduser(logdir)
    if is_uri(logdir) or os.path.isdir(path):
        return logdir
    reason = "does not exist"
    if os.path.lexists(path):
        reason = "is a file; give the log directory, whose runs the notes are about"
    raise click.UsageError(f"{logdir!r} {reason}", click.get_current_context())


def share_notes(logdir: str | None) -> int:
    """Shares the notes on one log directory; returns the exit status."""
    logdir = _of_directory(logdir)
    notes = RunNotes([LogdirSpec(None, logdir)])
    [shared] = notes.share()
    if shared.path:
        views = f" and {plural(shared.num_views, 'view')}" if shared.num_views else ""
        line = f"notes on {plural(shared.num_runs, 'run')}{views} are shared in {shared.path}"
        click.echo(one_line(line))
    if count := shared.num_runs_of_server:
        which = f"notes on {plural(count, 'run')} that came through a server"
        warn(f"{which} and are not your own, marked (server) in the list, are not shared")
    if not shared.path:
        line = f"there is nothing to share: you have no notes of your own on {logdir!r}"
        raise click.ClickException(line)
    with warnings_printed():
        notes.refresh()  # What readers leave out of it is a warning.
    return 0
