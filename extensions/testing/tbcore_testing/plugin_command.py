"""Create a plugin of your own."""

from __future__ import annotations

from pathlib import Path

import click

from tbcore.engine import CommandGroup


@click.group(
    cls=CommandGroup, short_help="Create a plugin of your own.", invoke_without_command=True
)
@click.pass_context
def plugin(context: click.Context) -> int:
    """Create a plugin of your own: `tbcore plugin new NAME`."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return 2
    return 0


@plugin.command(short_help="Create a small plugin that works, as a starting point.")
@click.argument("name", metavar="NAME")
def new(*, name: str) -> int:
    """Create the folder tbcore-NAME with a small plugin that works, as a starting point.

    The folder is a complete distribution: a package with an entry point, a tab, tests and a README.
    Words in NAME are separated by _, which becomes - in the name of the folder.
    """
    from tbcore_testing.new_plugin import new_plugin

    folder = new_plugin(name, Path())
    click.echo(f"Created {folder}/ with a plugin that shows the newest values. To work on it:")
    click.echo(f"    tbcore serve --logdir DIR --plugins_dir {folder} --dev")
    click.echo(f"See {folder / 'README.md'} for the next steps.")
    return 0
