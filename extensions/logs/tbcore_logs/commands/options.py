"""The class and the options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from tbcore import NotFoundError
from tbcore.engine import Command, split_attributes, whole_number
from tbcore_logs.commands import offers
from tbcore_logs.commands.arguments import LOGDIRS

_INSTEAD = {
    "export --csv": "-o FILE.csv, or -o - --format csv", "export --parquet": "-o FILE.parquet",
    "show --tags": "RUN TAG", "ls --tags": "--columns TAG,...; `tbcore tags` lists tags",
    "--csv": "--format csv", "-0": "--format names", "--at": "--columns TAG:min",
    "--media": "-o DIR/", "--columns": "--tags TAG",
}  # fmt: skip
"""What to use instead of an option that does not exist, in one command or in all that have it."""


class LogCommand(Command):
    """A command that prints logs. The fields of LogSelection are passed to it as `selection`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and args and args[-1].startswith("-") and args[-1] != "--":
            args = args[:-1]  # The value that is completed is missing, and so would all arguments.
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            option = re.match("no such option '(--?[^']+)", error.message)
            if option and (instead := self._instead(option[1])):
                line = f"no such option {option[1]!r}; use {instead}"
            elif option and option[1][1] != "-":
                line = f"{error.message}; a name that begins with a dash must stand after `--`"
            else:
                raise
            raise click.UsageError(line, ctx) from None

    def _instead(self, option: str) -> str | None:
        """What this command has instead of an option."""
        if own := _INSTEAD.get(f"{self.name} {option}"):
            return own
        name, _, value = _INSTEAD.get(option, "").partition(" ")
        for each in self.params:
            choices = each.type.choices if isinstance(each.type, click.Choice) else [value]
            if name in each.opts and value in choices:
                return _INSTEAD[option]
        return None

    def invoke(self, ctx: click.Context) -> Any:
        from tbcore_logs.printing.access import LogSelection, command_output

        if sys.stdout is None and ctx.params.get("output") in (None, "-"):
            raise click.ClickException("cannot print anything: stdout is closed")
        with command_output():
            options = ctx.params.keys() & set(LogSelection._fields)
            given = {name: ctx.params.pop(name) for name in options}
            if given:
                ctx.params["selection"] = LogSelection(**given)
            try:
                return super().invoke(ctx)
            except (NotFoundError, click.ClickException) as error:
                is_list = any(
                    isinstance(each.type, click.Choice) and "names" in each.type.choices
                    for each in self.params
                )
                is_usage = isinstance(error, click.UsageError)
                if is_list and ctx.params.get("form") == "json" and not is_usage:
                    click.echo("[]")  # Nothing is found.
                raise


def _with_names(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> list[str] | None:
    """The values of an option, which `split_names` splits later; None without the option."""
    return list(texts) or None


def _split(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> list[str] | None:
    """The attributes in the values of an option; None if there are none."""
    return [part for text in texts for part in split_attributes(text)] or None


def names_option(
    option: str, text: str, complete: offers.Complete | None, callback: Any = _with_names
) -> Callable[[Any], Any]:
    return click.option(
        option, metavar="NAME,...", multiple=True, callback=callback, shell_complete=complete,
        help=text,
    )  # fmt: skip


def _local(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """The value of -o. Raises UsageError for an address."""
    from tbcore.engine import is_uri

    if path is not None and is_uri(path) and not context.resilient_parsing:
        line = f"-o {path!r}: files are written to local disks only; write one, and copy it there"
        raise click.UsageError(line, context)
    return path


def output_option(metavar: str, text: str, *, required: bool = False) -> Callable[[Any], Any]:
    return click.option(
        "-o", "--output", metavar=metavar, callback=_local, required=required, help=text
    )


def limit_option(default: int | None, text: str) -> Callable[[Any], Any]:
    return click.option("-n", "--limit", metavar="N", type=whole_number, default=default, help=text)


def selects_runs(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the argument LOGDIR and the options --runs and --where."""
    query = "Only runs that a query finds, such as 'lr>1e-3 -has:nan'."
    command = click.option("--where", metavar="QUERY", help=query)(command)
    command = names_option("--runs", f"Only these runs; {_PATTERNS}", offers.runs)(command)
    return click.argument("logdir", **LOGDIRS)(command)


def rows_options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options for rows of runs or groups: --columns, --sort, --reverse, --limit, --by."""
    values = (
        "Values to show: TAG:last, TAG:min, TAG:max, TAG:at(STEP), TAG:change(STEPS), "
        "TAG:mean(STEPS) of the last steps, TAG:auc for the area below the line, TAG:nan for the "
        "first step that is not finite, TAG:argmin for that of the minimum, TAG:argmax, a "
        "hyperparameter, or a field of runs, such as state, step, took, size or archived."
    )
    sort = "Sort by a column, or run, state, step, started, age, took or size; groups also by runs."
    rule = (
        "Show means and deviations of groups of runs with equal hyperparameters, or by another "
        "rule of the page: seeds, numbers, 're:EXPRESSION', or a name with braces around what "
        "differs within a group, as in 'resnet/seed={n}'."
    )
    command = click.option("--by", metavar="KEY,...", help=rule)(command)
    command = limit_option(None, "Show at most N rows.")(command)
    reverse = click.option("-r", "--reverse", is_flag=True, help="Reverse the order.")
    command = click.option("--sort", metavar="NAME", help=sort)(reverse(command))
    option = names_option("--columns", values, None, _split)
    columns: Callable[..., int] = option(command)
    return columns


_PATTERNS = '`*` and `?` match any text and any character, "a,b" is one name.'
tags_option = names_option("--tags", f"Only these tags; {_PATTERNS}", offers.tags)
