"""`tbcore ls --files`: the event files of runs that were archived, for a command that deletes them.

Nothing here deletes. A file is named only if all of this is certain:

- The run was archived by this user, on this machine: what is noted in a log directory, which may
  have come from anywhere, is somebody else's. With `--by anyone`, that counts, too.
- Since then nothing was logged, and in the last 24 hours no file beside it was changed, either.
- It is a regular file in the run's own directory, which no link leads to from the log directory.
"""

from __future__ import annotations

import os
import stat
import time

import click

from tbcore.engine import is_uri, one_line, plural, warn
from tbcore_logs.printing.access import LogSelection
from tbcore_logs.printing.output import Form, PrintedColumn, print_table
from tbcore_logs.reading import LazyReader

_QUIET_SECONDS = 86400
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
    attributes = logs.attributes()
    last = dict(zip(attributes.runs, attributes.last_event_times, strict=True))
    left_out: dict[str, list[str]] = {}
    rows: list[tuple[str, int, str]] = []
    authors = {}
    for name in names:
        own, latest = reader.notes.archived(name)
        if latest is None or not latest.value:
            if own is not None and own.value:
                left_out.setdefault(f"{latest.by} has taken them back", []).append(name)
            continue
        archived = own if own is not None and own.value else latest if by == "anyone" else None
        if archived is None:
            left_out.setdefault(f"archived by {latest.by}, not by you", []).append(name)
            continue
        files, reason = _files(reader, logdir, name, last.get(name), archived.time / 1e6)
        if reason:
            left_out.setdefault(reason, []).append(name)
            continue
        authors[name] = archived.by
        rows += [(path, num_bytes, name) for path, num_bytes in files]
    if by == "anyone":
        for name, author in authors.items():
            click.echo(one_line(f"archived by {author}: {name}"), err=True)
    for reason, runs in left_out.items():
        shown = ", ".join(runs[:_MAX_NAMES]) + (", ..." if len(runs) > _MAX_NAMES else "")
        warn(one_line(f"{plural(len(runs), 'run')} left out ({reason}): {shown}"))
    if not rows:
        raise click.ClickException("no run that was archived has files to name")
    print_table(_COLUMNS, rows, form)
    return 0


def _files(
    reader: LazyReader, logdir: str, name: str, last_event: float | None, archived_at: float
) -> tuple[list[tuple[str, int]], str]:
    """The paths and sizes of the event files of a run, or none and the reason for that.

    Times are in seconds since the epoch.
    """
    folder = os.path.normpath(os.path.join(logdir, name))
    limit = time.time() - _QUIET_SECONDS
    # Written so that NaN counts as recent.
    if last_event is not None and not last_event <= limit:
        return [], "an event in the last 24 hours"
    if last_event is not None and not last_event <= archived_at:
        return [], "written to after they were archived"
    paths, elsewhere = reader.files(name), "their directory is a link, or its name has other bytes"
    if {os.path.dirname(os.path.abspath(path)) for path in paths} != {os.path.abspath(folder)}:
        return [], elsewhere
    if os.path.realpath(folder) != os.path.normpath(os.path.join(os.path.realpath(logdir), name)):
        return [], elsewhere
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and not status.st_mtime <= limit:
                    return [], "a file was changed in the last 24 hours"
        for path in paths:
            status = os.lstat(path)
            if not status.st_mtime <= archived_at:
                return [], "written to after they were archived"
            if stat.S_ISREG(status.st_mode):
                found.append((path, status.st_size))
    except OSError as error:
        return [], error.strerror or str(error)
    return found, "" if found else "their event files are links"
