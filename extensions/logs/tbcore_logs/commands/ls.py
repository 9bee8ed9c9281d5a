"""List runs with their last values, or tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbcore_logs.commands.options import LogCommand, limit_option, names_option, selects_runs

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.command(cls=LogCommand, short_help=__doc__)
@names_option(
    "--columns",
    "Values to show: TAG:last, TAG:min, TAG:max, TAG:at(STEP), TAG:argmin for the step of the "
    "minimum, TAG:argmax, or a hyperparameter.",
)
@click.option(
    "--sort", metavar="NAME", help="Sort by a column, or by run, state, step, started, age or took."
)
@click.option("-r", "--reverse", is_flag=True, help="Reverse the order.")
@limit_option(None, "Print at most N lines.")
@click.option("--tags", "lists_tags", is_flag=True, help="List the tags instead, a line for each.")
@selects_runs
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option(
    "-0", "--null", "form", flag_value="null",
    help="Print names only, each ended by NUL, for xargs -0.",
)  # fmt: skip
@click.pass_context
def ls(
    context: click.Context, /, *, selection: LogSelection, lists_tags: bool, **options: Any
) -> int:
    """List the runs below LOGDIR: whether they are written to, how far they got, last values.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or this directory. The
    exit status is 1 if there is no such run.
    """
    from tbcore_logs.printing.ls import list_runs, list_tags

    if not lists_tags:
        return list_runs(selection, **options)
    for name in ("columns", "sort", "reverse"):
        if options.pop(name):
            raise click.UsageError(f"--{name} and --tags cannot be combined", context)
    return list_tags(selection, **options)
