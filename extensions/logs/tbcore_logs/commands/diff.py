"""Print what differs between two runs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tbcore_logs.commands import offers
from tbcore_logs.commands.arguments import form_options, split_folders
from tbcore_logs.commands.options import LogCommand


@click.command(cls=LogCommand, short_help=__doc__)
@click.argument(
    "names", metavar="[LOGDIR | NAME=LOGDIR...] A B", nargs=-1, shell_complete=offers.names_of_diff
)
@form_options("text json")
@click.pass_context
def diff(context: click.Context, *, names: Sequence[str], form: str | None) -> int:
    """Print what differs between the runs A and B: hyperparameters, texts, tags, last values.

    The default of LOGDIR is $TBCORE_LOGDIR, or what `tbcore` serves. The exit status is 1 if
    anything differs.
    """
    from tbcore_logs.printing.diff import diff

    folders, names = split_folders(names)
    if not 2 <= len(names) <= 3 - bool(folders):
        raise click.UsageError("expected [LOGDIR] A B; `tbcore ls` lists the runs", context)
    logdir = folders or (names[0] if len(names) == 3 else None)
    return diff(logdir, names[-2:], as_json=form == "json")
