"""Show a run, or draw a tag of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tbcore_logs.commands import offers
from tbcore_logs.commands.arguments import form_options, split_folders
from tbcore_logs.commands.options import LogCommand, output_option

if TYPE_CHECKING:
    from tbcore_logs.printing.output import Form


@click.command(cls=LogCommand, short_help=__doc__)
@click.argument(
    "names",
    metavar="[LOGDIR | NAME=LOGDIR...] RUN [TAG]",
    nargs=-1,
    shell_complete=offers.names_of_show,
)
@output_option("FILE", "Write the chart of scalars to FILE.svg or FILE.png.")
@form_options("text json csv")
@click.pass_context
def show(
    context: click.Context, *, names: Sequence[str], output: str | None, form: Form | None
) -> int:
    """Show times, hyperparameters, texts and tags of a run, or the points of one tag.

    The default of LOGDIR is $TBCORE_LOGDIR, or what `tbcore` serves. Of two names, the first is
    LOGDIR if it is a directory with a run of the second name.
    """
    from tbcore_logs.printing.show import show

    folders, names = split_folders(names)
    if not 1 <= len(names) <= 3 - bool(folders):
        raise click.UsageError("expected [LOGDIR] RUN [TAG]; `tbcore ls` lists the runs", context)
    if output is not None and (form or not output.lower().endswith((".svg", ".png"))):
        line = f"-o {output!r} is for a drawing, FILE.svg or FILE.png, without --format"
        raise click.UsageError(line, context)
    return show(folders, names, output=output, form=form)
