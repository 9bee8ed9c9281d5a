"""Create a plugin of your own."""

from __future__ import annotations

from pathlib import Path

import click

from tbcore.engine import CommandGroup


@click.group(cls=CommandGroup, short_help="Create a plugin of your own.")
def plugins() -> None:
    """Create a plugin of your own: `tbcore plugins new NAME`."""


@plugins.command(short_help="Create a small plugin that works, as a starting point.")
@click.argument("name", metavar="NAME")
@click.argument(
    "kind", type=click.Choice(["scalars", "steps", "files", "page", "format"]), default="scalars",
    metavar="[KIND]",
)  # fmt: skip
def new(*, name: str, kind: str) -> int:
    """Create the folder tbcore-NAME with a small plugin that works, as a starting point.

    The folder is a complete distribution: a package with an entry point, a tab, tests and a README.
    Words in NAME are separated by _, which becomes - in the name of the folder.

    KIND is what to start from: scalars, the default, for a table of the newest values, steps for
    data of the plugin's own with a slider over its steps, files for files beside the event files,
    page for a tab that is an HTML page in a frame, or format for a reader of the logs of another
    program, which has no tab.
    """
    from tbcore_testing.new_plugin import KINDS, new_plugin

    folder = new_plugin(name, Path(), kind)
    has_tab = bool(KINDS[kind].tab)
    what = "a plugin that shows" if has_tab else "a reader of"
    click.echo(f"Created {folder}/ with {what} {KINDS[kind].shows}. To work on it:")
    work = "tbcore serve --logdir DIR --plugins_dir {} --dev" if has_tab else "pip install -e {}"
    click.echo(f"    {work.format(folder)}")
    click.echo(f"See {folder / 'README.md'} for the next steps.")
    return 0


@plugins.command(short_help="Write the types of the page's modules, for an editor and tsc.")
def types() -> int:
    """Write the types of the page's modules to the folder types/tbcore.

    An editor and tsc find them there by the tsconfig.json of a new plugin. Files of an earlier
    version are replaced.
    """
    from tbcore_testing.types_of_page import write_types

    click.echo(f"Wrote the types of tbcore's page to {write_types(Path())}/")
    return 0
