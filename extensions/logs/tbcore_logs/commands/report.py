"""Write the runs as Markdown, with drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbcore_logs.commands.options import (
    LogCommand,
    output_option,
    rows_options,
    selects_runs,
    tags_option,
)

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.command(cls=LogCommand, short_help=__doc__)
@output_option("FILE.md", "Write to this file, and drawings of the tags to FILE_files beside it.")
@tags_option
@rows_options
@selects_runs
def report(*, selection: LogSelection, **options: Any) -> int:
    """Write a table of the runs below LOGDIR as Markdown, for READMEs and pull requests.

    It has the hyperparameters that differ, a value of each tag, and its course in characters. With
    -o, it also shows drawings of the tags, in a light and in a dark form. LOGDIR is a directory or
    an event file; the default is $TBCORE_LOGDIR, or what `tbcore` serves.
    """
    from tbcore_logs.printing.report import report

    return report(selection, **options)
