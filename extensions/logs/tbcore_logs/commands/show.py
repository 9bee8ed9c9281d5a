"""Show a run, or draw a tag of it."""

from __future__ import annotations

import click

from tbcore_logs.commands import offers
from tbcore_logs.commands.arguments import json_option
from tbcore_logs.commands.options import LogCommand


@click.command(cls=LogCommand, short_help=__doc__)
@click.argument(
    "names", metavar="[LOGDIR] RUN [TAG]", nargs=-1, shell_complete=offers.names_of_show
)
@click.option(
    "-o", "--output", metavar="FILE", help="Write the chart of scalars to FILE.svg or FILE.png."
)
@json_option
@click.pass_context
def show(
    context: click.Context, *, names: tuple[str, ...], output: str | None, as_json: bool
) -> int:
    """Show times, hyperparameters, texts and tags of a run, or the points of one tag.

    The default of LOGDIR is $TBCORE_LOGDIR, or what `tbcore` serves. Of two names, the first is
    LOGDIR if it is a directory with a run of the second name.
    """
    from tbcore_logs.printing.show import show

    if not 1 <= len(names) <= 3:
        raise click.UsageError("expected [LOGDIR] RUN [TAG]; `tbcore ls` lists the runs", context)
    if output is not None and (as_json or not output.lower().endswith((".svg", ".png"))):
        line = f"-o {output!r} is for a drawing, FILE.svg or FILE.png, without --json"
        raise click.UsageError(line, context)
    return show(names, output=output, as_json=as_json)
