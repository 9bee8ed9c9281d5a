"""What arguments and options of several commands mean: directories, and names with commas."""

from __future__ import annotations

import csv
import os
from contextlib import suppress

import click


def default_logdir(*, says: bool = False) -> str:
    """The log directory of commands that are given none: `$TBCORE_LOGDIR`; or else what `tbcore`
    without arguments serves; or else the working directory.

    If it is one of several that were looked for, and `says` is true, a line on stderr names it.
    """
    from tbcore.engine import logdirs_here

    if given := os.environ.get("TBCORE_LOGDIR"):
        return given
    found = logdirs_here() or ["."]
    if says and found != ["."]:
        line = f"no log directory given; reading {found[0]} (found: {', '.join(found)})"
        click.echo(f"tbcore: {line}", err=True)
    return found[0]


def split_names(text: str) -> list[str]:
    """The comma-separated names in a text. A name in double quotes may have commas, as in CSV."""
    names = text.split(",")
    with suppress(csv.Error):  # A text with quotes may still be a name.
        if '"' in text:
            names = next(csv.reader([text], strict=True))
    return [name for name in names if name]
