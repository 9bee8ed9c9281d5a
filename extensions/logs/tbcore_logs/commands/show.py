"""Show a run, or draw a tag of one or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tbcore.engine import converter
from tbcore_logs.commands import offers
from tbcore_logs.commands.arguments import form_options, split_folders
from tbcore_logs.commands.options import LogCommand, output_option

if TYPE_CHECKING:
    from tbcore_logs.printing.output import Form


def _weight(text: str) -> float:
    if not 0 <= (number := float(text)) <= 0.999:
        raise ValueError(text)
    return number


@click.command(cls=LogCommand, short_help=__doc__)
@click.argument(
    "names",
    metavar="[LOGDIR | NAME=LOGDIR...] RUN [TAG]",
    nargs=-1,
    shell_complete=offers.names_of_show,
)
@output_option("FILE", "Write the chart of scalars to FILE.svg or FILE.png.")
@click.option(
    "--smooth", metavar="WEIGHT", type=converter(_weight, "a number from 0 to 0.999"),
    help="Smooth the points of scalars like the page.",
)  # fmt: skip
@form_options("text json csv")
@click.pass_context
def show(
    context: click.Context,
    *,
    names: Sequence[str],
    output: str | None,
    smooth: float | None,
    form: Form | None,
) -> int:
    """Show times, hyperparameters, texts and tags of a run, or the points of one tag.

    With a TAG, RUN may be several, as in --runs of other commands: a,b or 'sweep/*'. The default of
    LOGDIR is $TBCORE_LOGDIR, or what `tbcore` serves. Of two names, the first is LOGDIR if it is a
    directory with a run of the second name.
    """
    from tbcore_logs.printing.show import show

    folders, names = split_folders(names)
    if not 1 <= len(names) <= 3 - bool(folders):
        raise click.UsageError("expected [LOGDIR] RUN [TAG]; `tbcore ls` lists the runs", context)
    if output is not None and (form or not output.lower().endswith((".svg", ".png"))):
        line = f"-o {output!r} is for a drawing, FILE.svg or FILE.png, without --format"
        raise click.UsageError(line, context)
    return show(folders, names, output=output, smooth=smooth, form=form)
