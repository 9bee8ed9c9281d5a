"""List runs with their last values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tbcore.engine import available
from tbcore_logs.commands.options import LogCommand, form_options, rows_options, selects_runs

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


def _files_option(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the option --files if notes can be kept."""
    text = "Print event files of runs that you archived, for xargs -0 -r rm --; see docs/notes.md."
    option = click.option("--files", is_flag=True, help=text)
    return option(command) if available("tbcore.notes") else command


@click.command(cls=LogCommand, short_help=__doc__)
@rows_options
@selects_runs
@form_options
@click.pass_context
@_files_option
def ls(context: click.Context, *, selection: LogSelection, **options: Any) -> int:
    """List the runs below LOGDIR: whether they are written to, how far they got, last values.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or what `tbcore` serves.
    The exit status is 1 if there is no such run.
    """
    if options.pop("files", False):
        from tbcore_logs.printing.archived_files import list_archived_files

        by, form = options.pop("by"), options.pop("form")
        if any(options.values()):
            raise click.UsageError("--files prints files alone, without columns", context)
        return list_archived_files(selection, by=by, form=form)
    from tbcore_logs.printing.ls import list_runs

    return list_runs(selection, **options)
