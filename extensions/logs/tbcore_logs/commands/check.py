"""Check the event files of a log directory for damage."""

from __future__ import annotations

import click

from tbcore import DataError
from tbcore.engine import Command, guarded, loaded, logdir_specs, logs_discarded
from tbcore_logs.commands.arguments import form_options


@click.command(cls=Command, short_help=__doc__)
@click.argument("logdirs", metavar="LOGDIR | NAME=LOGDIR...", nargs=-1)
@click.option(
    "--index", metavar="PATH", help="Check an index instead, and compare it with LOGDIR if given."
)
@form_options("text json")
@click.pass_context
def check(
    context: click.Context, *, logdirs: tuple[str, ...], index: str | None, form: str | None
) -> int:
    """Read all event files below LOGDIR, and logs of other programs, and report what is wrong.

    Reports damaged records with their offsets; files that are cut off, empty or unreadable; and
    data that no loaded plugin shows. The exit status is 1 if something is damaged or LOGDIR does
    not exist, and 3 if something could not be opened.
    """
    from tbcore_logs.checks import check as check_logdir
    from tbcore_logs.printing.json_output import print_json

    if not logdirs and index is None:
        raise click.UsageError("missing argument 'LOGDIR'", context)
    if not "".join(logdirs) and not index:
        raise click.UsageError("no log directory given; try `tbcore check runs/`", context)
    first, *others = logdirs or ("",)
    specs = logdir_specs(first, context, *others, is_spec=False) if first else []
    with logs_discarded():
        if index:
            extension = loaded("tbcore.index", "index")
            with guarded("tbcore.index", "index"):
                report = extension.check(index, specs)
        else:
            report = check_logdir(specs)
    if form:
        print_json(report.as_json())
    else:
        for line in report.lines():
            click.echo(line)
    if any(finding.what == "unreadable" for finding in report.findings):
        return DataError.exit_status
    return 1 if report.num_damaged or report.is_missing else 0
