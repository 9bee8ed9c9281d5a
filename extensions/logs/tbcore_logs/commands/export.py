"""Write scalars as CSV, JSON lines or Parquet; images and audio as files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from tbcore_logs.commands.arguments import form_options
from tbcore_logs.commands.options import LogCommand, output_option, selects_runs, tags_option

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.command(cls=LogCommand, short_help=__doc__)
@output_option(
    "FILE",
    "FILE.csv, FILE.jsonl or FILE.parquet; - for stdout, as CSV or JSON lines; DIR/ for files "
    "with the images and the audio in place of scalars.",
    required=True,
)
@click.option("--wide", "is_wide", is_flag=True, help="Write a row a step, with tags as columns.")
@tags_option
@selects_runs
@form_options("text json csv")
@click.pass_context
def export(context: click.Context, /, *, selection: LogSelection, **options: Any) -> int:
    """Write all points of the scalars below LOGDIR, a row for each: run, tag, step, time, value.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or what `tbcore` serves.
    The exit status is 1, and there is no file, if nothing matches.
    """
    from tbcore_logs.printing.export import export, export_media

    if options["form"] and options["output"] != "-":
        raise click.UsageError("--format is for -o -; a file's ending says what it is", context)
    if options["output"].endswith(("/", os.sep)):
        if options["is_wide"]:
            raise click.UsageError("--wide is for -o FILE", context)
        return export_media(selection, options["output"])
    return export(selection, **options)
