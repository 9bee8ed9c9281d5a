"""What arguments of several commands mean: directories, names with commas, and --max_bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from tbcore.engine import converter, format_option

_MAX_BYTES = "tbcore.max_bytes"
"""Key in `click.Context.meta` of the value of --max_bytes, if it is given."""
MIN_BYTES = 500
"""Enough for an answer from which all that may be left out is left out."""
_FIELD = r'(?:"(?:[^"]|"")*"(?!")|(?!")[^,]*)'


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


LOGDIRS: Any = {
    "metavar": "[LOGDIR | NAME=LOGDIR...]", "nargs": -1, "type": click.Path(),
    "callback": lambda context, parameter, given: given if len(given) > 1 else (*given, None)[0],
}  # fmt: skip
"""The argument LOGDIR of commands that take several: None, a text, or a tuple of texts."""


def folders_of(logdir: str | Sequence[str]) -> Sequence[str]:
    """The texts of an argument LOGDIR, which is one text or several."""
    return [logdir] if isinstance(logdir, str) else logdir


def split_folders(names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments `NAME=LOGDIR` at the beginning, and the others. Names alone are runs."""
    from tbcore.engine import folder_spec

    count = next((i for i, name in enumerate(names) if not folder_spec(name).name), 0)
    return names[:count], names[count:]


def split_names(text: str) -> list[str]:
    """The comma-separated names in a text. A name in double quotes may have commas, as in CSV.

    Between commas, nothing is no name; `""` is the empty one.
    """
    names = text.split(",")
    if re.fullmatch(rf"{_FIELD}(?:,{_FIELD})*", text):  # A text with quotes may still be a name.
        names = re.findall(rf"({_FIELD})(?:,|\Z)", text)
    return [name[1:-1].replace('""', '"') if name[0] == '"' else name for name in names if name]


def _answer_size(text: str) -> int:
    if (number := int(text)) < MIN_BYTES:
        raise ValueError(text)
    return number


class _MaxBytesOption(click.Option):
    """--max_bytes, which is an error without --json."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if self.name in opts and "json" not in opts.get("form", ()):
            raise click.UsageError("--max_bytes is for --format json", ctx)
        value, args = super().handle_parse_result(ctx, opts, args)
        if self.name in opts:  # Otherwise the value may be an object of click's own.
            ctx.meta[_MAX_BYTES] = value
        return value, args


def _max_bytes_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --max_bytes for the answers of a command that has --json."""
    return click.option(
        "--max_bytes", metavar="N", cls=_MaxBytesOption, expose_value=False,
        type=converter(_answer_size, f"an int, {MIN_BYTES} or more"),
        help="With --format json, print at most N bytes, and what is left out.",
    )(command)  # fmt: skip


def max_bytes() -> int | None:
    """The value of --max_bytes of the command that is running; None without it."""
    limit: int | None = click.get_current_context().meta.get(_MAX_BYTES)
    return limit


def form_options(formats: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the options --format, see `format_option`, and --max_bytes."""
    option = format_option(formats)
    return lambda command: option(_max_bytes_option(command))
