"""List runs with their last values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbcore_logs.commands import offers
from tbcore_logs.commands.options import (
    LogCommand,
    form_options,
    limit_option,
    names_option,
    selects_runs,
)

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.command(cls=LogCommand, short_help=__doc__)
@names_option(
    "--columns",
    "Values to show: TAG:last, TAG:min, TAG:max, TAG:at(STEP), TAG:argmin for the step of the "
    "minimum, TAG:argmax, or a hyperparameter.",
    offers.columns,
)
@click.option(
    "--sort",
    metavar="NAME",
    shell_complete=offers.sort,
    help="Sort by a column, or by run, state, step, started, age or took.",
)
@click.option("-r", "--reverse", is_flag=True, help="Reverse the order.")
@limit_option(None, "Print at most N lines.")
@selects_runs
@form_options
def ls(*, selection: LogSelection, **options: Any) -> int:
    """List the runs below LOGDIR: whether they are written to, how far they got, last values.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or this directory. The
    exit status is 1 if there is no such run.
    """
    from tbcore_logs.printing.ls import list_runs

    return list_runs(selection, **options)
