"""What arguments and options of several commands mean: directories, and names with commas."""

from __future__ import annotations

import os
import re

import click

_FIELD = r'(?:"(?:[^"]|"")*+"|(?!")[^,]*+)'


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
    """The comma-separated names in a text. A name in double quotes may have commas, as in CSV.

    Between commas, nothing is no name; `""` is the empty one.
    """
    names = text.split(",")
    if re.fullmatch(rf"{_FIELD}(?:,{_FIELD})*", text):  # A text with quotes may still be a name.
        names = re.findall(rf"({_FIELD})(?:,|\Z)", text)
    return [name[1:-1].replace('""', '"') if name[0] == '"' else name for name in names if name]
