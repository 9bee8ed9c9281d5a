"""The commands that print logs, with their options. What they do is imported when one is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tbcore.cli.parsing import Command

logdir_argument = click.argument("logdir", required=False, type=click.Path())
runs_option = click.option(
    "--runs", metavar="NAME,...", multiple=True,
    help="Only these runs; `*` and `?` match any text and any character.",
)  # fmt: skip
tags_option = click.option(
    "--tags", metavar="NAME,...", multiple=True,
    help="Only these tags; `*` and `?` match any text and any character.",
)  # fmt: skip
where_option = click.option(
    "--where", metavar="QUERY", help="Only runs that a query finds, such as 'lr>1e-3 -has:nan'."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _count(context: click.Context, parameter: click.Parameter, number: int | None) -> int | None:
    if number is not None and number < 0:
        raise click.BadParameter(f"'{number}' is not valid; expected an int, 0 or more")
    return number


def _limit(default: int | None, text: str) -> Callable[[Any], Any]:
    return click.option(
        "-n", "--limit", metavar="N", type=int, default=default, callback=_count, help=text
    )


def _run(call: Callable[[], int]) -> int:
    from tbcore.cli.logs.access import manners

    with manners():
        return call()


@click.command(cls=Command, short_help="List runs with their last values, or tags.")
@logdir_argument
@click.option(
    "--columns", metavar="NAME,...", multiple=True,
    help="Values to show: TAG:last, TAG:min, TAG:max, TAG:at(STEP), or a hyperparameter.",
)  # fmt: skip
@click.option(
    "--sort", metavar="NAME",
    help="Sort by a column, or by run, state, step, started, age or took.",
)  # fmt: skip
@click.option("-r", "--reverse", is_flag=True, help="Reverse the order.")
@_limit(None, "Print at most N lines.")
@click.option("--tags", is_flag=True, help="List the tags instead, a line for each.")
@runs_option
@where_option
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option(
    "-0",
    "--null",
    "form",
    flag_value="null",
    help="Print names only, each ended by NUL, for xargs -0.",
)
@click.pass_context
def ls(context: click.Context, /, *, logdir: str | None, tags: bool, **options: Any) -> int:
    """List the runs below LOGDIR: whether they are written to, how far they got, last values.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or this directory. The
    exit status is 1 if there is no such run.
    """
    from tbcore.cli.logs.ls import list_runs, list_tags

    if not tags:
        return _run(lambda: list_runs(logdir, **options))
    for name in ("columns", "sort", "reverse"):
        if options.pop(name):
            raise click.UsageError(f"--{name} and --tags cannot be combined", context)
    return _run(lambda: list_tags(logdir, **options))


@click.command(cls=Command, short_help="Show a run, or draw a tag of it.")
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
    return _run(lambda: show(names, as_json=as_json))


@click.command(cls=Command, short_help="Print the last steps of a run, and those that follow.")
@logdir_argument
@click.option("-f", "--follow", is_flag=True, help="Also print what is logged from now on.")
@_limit(10, "Print the last N steps.  [default: 10]")
@click.option(
    "--total", metavar="STEPS", type=int, callback=_count,
    help="Print the rate, and the time until this step.",
)  # fmt: skip
@tags_option
@runs_option
@where_option
@json_option
def tail(*, logdir: str | None, **options: Any) -> int:
    """Print the last steps of a run, a line for each, with a column for each tag.

    The run is the one that was written last, unless --runs or --where select others. LOGDIR is a
    directory or an event file; the default is $TBCORE_LOGDIR, or this directory. With --json, each
    line is an object.
    """
    from tbcore.cli.logs.tail import tail

    return _run(lambda: tail(logdir, **options))


@click.command(cls=Command, short_help="Print what differs between two runs.")
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
    return _run(lambda: diff(logdir, names[-2:], as_json=as_json))


@click.command(cls=Command, short_help="Write scalars as CSV, JSON lines or Parquet.")
@logdir_argument
@click.option(
    "-o", "--output", metavar="FILE",
    help="FILE.csv, FILE.jsonl or FILE.parquet; - for stdout, as CSV, or as JSON with --json.",
)  # fmt: skip
@click.option("--wide", "is_wide", is_flag=True, help="Write a row a step, with tags as columns.")
@click.option("--media", metavar="DIR", help="Also write images and audio to files below DIR.")
@tags_option
@runs_option
@where_option
@json_option
@click.pass_context
def export(context: click.Context, /, *, logdir: str | None, **options: Any) -> int:
    """Write all points of the scalars below LOGDIR, a row for each: run, tag, step, time, value.

    LOGDIR is a directory or an event file; the default is $TBCORE_LOGDIR, or this directory. The
    exit status is 1, and there is no file, if nothing matches.
    """
    from tbcore.cli.logs.export import export

    if options["output"] is None and options["media"] is None:
        raise click.UsageError("nothing to write; expected -o FILE or --media DIR", context)
    if options["as_json"] and options["output"] != "-":
        raise click.UsageError("--json is for -o -; a file's ending says what it is", context)
    return _run(lambda: export(logdir, **options))


@click.command(cls=Command, short_help="Write the runs as Markdown, with drawings.")
@logdir_argument
@click.option(
    "-o", "--output", metavar="FILE.md",
    help="Write to this file, and drawings of the tags to FILE_files beside it.",
)  # fmt: skip
@click.option(
    "--at", type=click.Choice(["last", "min", "max"]), default="last",
    help="Which value of each tag to show.  [default: last]",
)  # fmt: skip
@tags_option
@runs_option
@where_option
def report(*, logdir: str | None, **options: Any) -> int:
    """Write a table of the runs below LOGDIR as Markdown, for READMEs and pull requests.

    It has the hyperparameters that differ, a value of each tag, and its course in characters. With
    -o, it also shows drawings of the tags, in a light and in a dark form. LOGDIR is a directory or
    an event file; the default is $TBCORE_LOGDIR, or this directory.
    """
    from tbcore.cli.logs.report import report

    return _run(lambda: report(logdir, **options))
