"""List tags: their kinds, and how much of each there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbcore_logs.commands.arguments import form_options
from tbcore_logs.commands.options import (
    LogCommand,
    selects_runs,
    tags_option,
)

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.command(cls=LogCommand, short_help=__doc__)
@tags_option
@selects_runs
@form_options("text json csv names")
def tags(*, selection: LogSelection, **options: Any) -> int:
    """List the tags below LOGDIR: kind, number of runs, number of values, highest last step.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or what `tbcore` serves.
    The exit status is 1 if there is no such tag.
    """
    from tbcore_logs.printing.tags import list_tags

    return list_tags(selection, **options)
