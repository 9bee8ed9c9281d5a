"""Show a run, or draw a tag of it."""

from __future__ import annotations

import click

from tbcore_logs.commands.options import LogCommand, json_option


@click.command(cls=LogCommand, short_help=__doc__)
@click.argument("names", metavar="[LOGDIR] RUN [TAG]", nargs=-1)
@json_option
@click.pass_context
def show(context: click.Context, *, names: tuple[str, ...], as_json: bool) -> int:
    """Show times, hyperparameters, texts and tags of a run, or the points of one tag.

    The default of LOGDIR is $TBCORE_LOGDIR, or this directory. Of two names, the first is LOGDIR if
    it is a directory with a run of the second name.
    """
    from tbcore_logs.printing.show import show

    if not 1 <= len(names) <= 3:
        raise click.UsageError("expected [LOGDIR] RUN [TAG]; `tbcore ls` lists the runs", context)
    return show(names, as_json=as_json)
