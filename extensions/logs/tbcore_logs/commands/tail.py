"""Print the last steps of a run, and those that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbcore.engine import whole_number
from tbcore_logs.commands.arguments import form_options
from tbcore_logs.commands.options import (
    LogCommand,
    limit_option,
    selects_runs,
    tags_option,
)

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.command(cls=LogCommand, short_help=__doc__)
@click.option("-f", "--follow", is_flag=True, help="Also print what is logged from now on.")
@limit_option(10, "Print the last N steps.  [default: 10]")
@click.option(
    "--total", metavar="STEPS", type=whole_number,
    help="Print the rate, and the time until this step.",
)  # fmt: skip
@click.option(
    "--until", metavar="TAG<NUMBER",
    help="Follow, and end with status 0 after the first line for which this is true, such as "
         "'val/loss<0.3' or 'loss=nan'.",
)  # fmt: skip
@tags_option
@selects_runs
@form_options("text json csv")
def tail(*, selection: LogSelection, **options: Any) -> int:
    """Print the last steps of a run, a line for each, with a column for each tag.

    The run is the one with the latest event, unless --runs or --where select others. LOGDIR is a
    directory or an event file; the default is $TBCORE_LOGDIR, or what `tbcore` serves. With
    --format json, each line is an object.
    """
    from tbcore_logs.printing.tail import tail

    return tail(selection, **options)
