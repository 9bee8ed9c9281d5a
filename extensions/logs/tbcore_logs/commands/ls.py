"""List runs with their last values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbcore_logs.commands.arguments import form_options
from tbcore_logs.commands.options import LogCommand, rows_options, selects_runs

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.command(cls=LogCommand, short_help=__doc__)
@rows_options
@selects_runs
@form_options("text json csv names")
def ls(*, selection: LogSelection, **options: Any) -> int:
    """List the runs below LOGDIR: whether they are written to, how far they got, last values.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or what `tbcore` serves.
    The exit status is 1 if there is no such run.
    """
    from tbcore_logs.printing.ls import list_runs

    if options["form"] == "names" and options["columns"]:
        line = "--format names has no columns; `--columns` is for the other formats"
        raise click.UsageError(line, click.get_current_context())
    return list_runs(selection, **options)
