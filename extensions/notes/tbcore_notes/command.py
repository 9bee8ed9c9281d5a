"""Star, label and archive runs; name files of archived ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tbcore.engine import Command, CommandGroup
from tbcore_logs.commands.arguments import form_options
from tbcore_logs.commands.options import LogCommand, selects_runs

if TYPE_CHECKING:
    from tbcore_logs.printing.access import LogSelection


@click.group(cls=CommandGroup, short_help=__doc__, invoke_without_command=True)
@click.pass_context
def notes(context: click.Context) -> int:
    """Star, label, describe and archive runs, and list, share and compact these notes.

    To delete the files of archived runs, `tbcore notes files` names them. Notes are kept in your
    data directory, $XDG_DATA_HOME or ~/.local/share, not in LOGDIR.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return 2
    return 0


@notes.command("list", cls=LogCommand, short_help="List the notes on runs.")
@selects_runs
@form_options("text json csv names")
def list_(*, selection: LogSelection, **options: Any) -> int:
    """List the notes on runs below LOGDIR, and who wrote what was written last.

    LOGDIR is a directory; the default is $TBCORE_LOGDIR, or this directory. Notes on runs that are
    gone are listed, too, unless --runs or --where selects runs. The exit status is 1 without notes.
    """
    from tbcore_notes.printing import list_notes

    return list_notes(selection, **options)


def _value(
    option: str, field: str, text: str, **kind: Any
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The option that sets a field."""
    return click.option(option, field, default=None, help=text, **kind)


@notes.command("set", cls=LogCommand, short_help="Change the notes on runs.")
@click.argument("logdir", type=click.Path())
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@_value("--star/--no_star", "starred", "Star the runs, or not.")
@_value("--archive/--no_archive", "archived", "Archive the runs, or bring them back.")
@_value("--name", "display_name", 'A name for charts and tables; "" for none.', metavar="TEXT")
@_value("--note", "note", 'A text, as Markdown; "" for none, - for stdin.', metavar="TEXT")
@_value("--color", "color", 'A colour such as #2a78d6; "" for none.', metavar="COLOR")
@click.option("--label", "added", metavar="LABEL", multiple=True, help="Add a label. Repeatable.")
@click.option(
    "--no_label", "removed", metavar="LABEL", multiple=True, help="Remove a label. Repeatable."
)
def set_(*, selection: LogSelection, **changes: Any) -> int:
    """Change the notes on runs below LOGDIR. RUN is a name as `tbcore ls LOGDIR` prints it.

    For example: tbcore notes set runs sweep/a sweep/b --star --label paper --note 'best so far'

    For a folder:

    tbcore ls runs --runs 'sweep/*' --format names | xargs -0 -r tbcore notes set runs --star --
    """
    from tbcore_notes.printing import set_notes

    return set_notes(selection, **changes)


@notes.command(cls=LogCommand, short_help="Name the files of archived runs, to delete them.")
@selects_runs
@form_options("text json csv names")
@click.option("-v", "--verbose", "is_verbose", is_flag=True, help="Name all that is left out.")
def files(*, selection: LogSelection, **options: Any) -> int:
    """Print the event files of runs below LOGDIR that you archived, for deletion. Deletes nothing.

    For example: tbcore notes files runs --format names | xargs -0 -r rm --

    What has changed since you archived it is left out, with the reason. The exit status is 1 if
    there is no file to print.
    """
    from tbcore_notes.printing import list_files

    return list_files(selection, **options)


@notes.command(cls=Command, short_help="Print the address of the page that may change notes.")
@click.option("--port", type=int, help="The server's port; without it, all of your servers.")
def address(*, port: int | None) -> int:
    """Print the addresses of your running servers on this machine whose pages may change notes.

    An address has the token of its server's start: open it in your browser, and give it to nobody.
    The exit status is 1 if no such server runs. Servers with a token, a secret path or a socket of
    their own have no other address.
    """
    from tbcore_notes.addresses import print_addresses

    return print_addresses(port)


@notes.command(cls=Command, short_help="Copy your notes to LOGDIR, for others.")
@click.argument("logdir", required=False, type=click.Path())
def share(*, logdir: str | None) -> int:
    """Copy your notes on runs below LOGDIR to LOGDIR/.tbcore/notes, where others find them.

    Your own notes stay where they are. Run it again to share what you have noted since.
    """
    from tbcore_notes.printing import share_notes

    return share_notes(logdir)


@notes.command(cls=Command, short_help="Leave out of your notes what later ones have replaced.")
@click.argument("logdir", required=False, type=click.Path())
def compact(*, logdir: str | None) -> int:
    """Leave out of your notes on runs below LOGDIR what later ones have replaced.

    Files of running servers and of other machines stay as they are.
    """
    from tbcore_notes.printing import compact_notes

    return compact_notes(logdir)
