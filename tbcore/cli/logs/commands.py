"""The commands that print logs, with their options. What they do is imported when one is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tbcore.cli.parsing import Command, count

if TYPE_CHECKING:
    from tbcore.cli.logs.access import LogSelection


class LogCommand(Command):
    """A command that prints logs. What LOGDIR and its options select is passed as `selection`."""

    def invoke(self, ctx: click.Context) -> Any:
        from tbcore.cli.logs.access import LogSelection, manners

        with manners():
            options = ctx.params.keys() & set(LogSelection._fields)
            given = {name: ctx.params.pop(name) for name in options}
            if given:
                ctx.params["selection"] = LogSelection(**given)
            return super().invoke(ctx)


def _split(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> list[str] | None:
    """The names in the values of an option, which commas separate; None if there is none."""
    return [name for text in texts for name in text.split(",") if name] or None


def _names(option: str, text: str) -> Callable[[Any], Any]:
    return click.option(option, metavar="NAME,...", multiple=True, callback=_split, help=text)


def _limit(default: int | None, text: str) -> Callable[[Any], Any]:
    return click.option("-n", "--limit", metavar="N", type=count, default=default, help=text)


def _selects_runs(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the argument LOGDIR and the options --runs and --where."""
    query = "Only runs that a query finds, such as 'lr>1e-3 -has:nan'."
    command = click.option("--where", metavar="QUERY", help=query)(command)
    command = _names("--runs", f"Only these runs; {_PATTERNS}")(command)
    return click.argument("logdir", required=False, type=click.Path())(command)


_PATTERNS = "`*` and `?` match any text and any character."
tags_option = _names("--tags", f"Only these tags; {_PATTERNS}")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command(cls=LogCommand, short_help="List runs with their last values, or tags.")
@_names(
    "--columns",
    "Values to show: TAG:last, TAG:min, TAG:max, TAG:at(STEP), or a hyperparameter.",
)
@click.option(
    "--sort", metavar="NAME", help="Sort by a column, or by run, state, step, started, age or took."
)
@click.option("-r", "--reverse", is_flag=True, help="Reverse the order.")
@_limit(None, "Print at most N lines.")
@click.option("--tags", "lists_tags", is_flag=True, help="List the tags instead, a line for each.")
@_selects_runs
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
    from tbcore.cli.logs.ls import list_runs, list_tags

    if not lists_tags:
        return list_runs(selection, **options)
    for name in ("columns", "sort", "reverse"):
        if options.pop(name):
            raise click.UsageError(f"--{name} and --tags cannot be combined", context)
    return list_tags(selection, **options)


@click.command(cls=LogCommand, short_help="Show a run, or draw a tag of it.")
@click.argument("names", metavar="[LOGDIR] RUN [TAG]", nargs=-1)
@json_option
@click.pass_context
def show(context: click.Context, *, names: tuple[str, ...], as_json: bool) -> int:
    """Show times, hyperparameters, texts and tags of a run, or the points of one tag.

    The default of LOGDIR is $TBCORE_LOGDIR, or this directory. Of two names, the first is LOGDIR if
    it is a directory with a run of the second name.
    """
    from tbcore.cli.logs.show import show

    if not 1 <= len(names) <= 3:
        raise click.UsageError("expected [LOGDIR] RUN [TAG]; `tbcore ls` lists the runs", context)
    return show(names, as_json=as_json)


@click.command(cls=LogCommand, short_help="Print the last steps of a run, and those that follow.")
@click.option("-f", "--follow", is_flag=True, help="Also print what is logged from now on.")
@_limit(10, "Print the last N steps.  [default: 10]")
@click.option(
    "--total", metavar="STEPS", type=count,
    help="Print the rate, and the time until this step.",
)  # fmt: skip
@tags_option
@_selects_runs
@json_option
def tail(*, selection: LogSelection, **options: Any) -> int:
    """Print the last steps of a run, a line for each, with a column for each tag.

    The run is the one that was written last, unless --runs or --where select others. LOGDIR is a
    directory or an event file; the default is $TBCORE_LOGDIR, or this directory. With --json, each
    line is an object.
    """
    from tbcore.cli.logs.tail import tail

    return tail(selection, **options)


@click.command(cls=LogCommand, short_help="Print what differs between two runs.")
@click.argument("names", metavar="[LOGDIR] A B", nargs=-1)
@json_option
@click.pass_context
def diff(context: click.Context, *, names: tuple[str, ...], as_json: bool) -> int:
    """Print what differs between the runs A and B: hyperparameters, texts, tags, last values.

    The default of LOGDIR is $TBCORE_LOGDIR, or this directory. The exit status is 1 if anything
    differs.
    """
    from tbcore.cli.logs.diff import diff

    if not 2 <= len(names) <= 3:
        raise click.UsageError("expected [LOGDIR] A B; `tbcore ls` lists the runs", context)
    logdir = names[0] if len(names) == 3 else None
    return diff(logdir, names[-2:], as_json=as_json)


@click.command(cls=LogCommand, short_help="Write scalars as CSV, JSON lines or Parquet.")
@click.option(
    "-o", "--output", metavar="FILE",
    help="FILE.csv, FILE.jsonl or FILE.parquet; - for stdout, as CSV, or as JSON with --json.",
)  # fmt: skip
@click.option("--wide", "is_wide", is_flag=True, help="Write a row a step, with tags as columns.")
@click.option("--media", metavar="DIR", help="Also write images and audio to files below DIR.")
@tags_option
@_selects_runs
@json_option
@click.pass_context
def export(context: click.Context, /, *, selection: LogSelection, **options: Any) -> int:
    """Write all points of the scalars below LOGDIR, a row for each: run, tag, step, time, value.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or this directory. The
    exit status is 1, and there is no file, if nothing matches.
    """
    from tbcore.cli.logs.export import export

    if options["output"] is None and options["media"] is None:
        raise click.UsageError("nothing to write; expected -o FILE or --media DIR", context)
    if options["as_json"] and options["output"] != "-":
        raise click.UsageError("--json is for -o -; a file's ending says what it is", context)
    return export(selection, **options)


@click.command(cls=LogCommand, short_help="Write the runs as Markdown, with drawings.")
@click.option(
    "-o", "--output", metavar="FILE.md",
    help="Write to this file, and drawings of the tags to FILE_files beside it.",
)  # fmt: skip
@click.option(
    "--at", type=click.Choice(["last", "min", "max"]), default="last",
    help="Which value of each tag to show.  [default: last]",
)  # fmt: skip
@tags_option
@_selects_runs
def report(*, selection: LogSelection, **options: Any) -> int:
    """Write a table of the runs below LOGDIR as Markdown, for READMEs and pull requests.

    It has the hyperparameters that differ, a value of each tag, and its course in characters. With
    -o, it also shows drawings of the tags, in a light and in a dark form. LOGDIR is a directory or
    an event file; the default is $TBCORE_LOGDIR, or this directory.
    """
    from tbcore.cli.logs.report import report

    return report(selection, **options)
