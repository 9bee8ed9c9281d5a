"""The command line. Options that TensorBoard has, too, have the same names as there."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tbcore import __version__
from tbcore.cli.parsing import CommandGroup, as_typed, program, warnings_printed
from tbcore.cli.plugins import plugins
from tbcore.cli.serve import serve_command
from tbcore.errors import DataError, ExtensionError, TbcoreError, did_you_mean
from tbcore.extensions import COMMANDS, INSTALL, available, loaded, summary

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Other modules are imported when a command needs them, to keep `tbcore --help` fast.


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status: 2 if the command line is not valid.

    It is 3 rather than 0 or 1 if the logs that the command opened have problems.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    opened: list[Any] = []
    threads_before = threading.enumerate()
    try:
        result: Any = cli.main(arguments, prog_name=program(), standalone_mode=False, obj=opened)
        status = result if isinstance(result, int) else 0
    except click.ClickException as error:
        _print_error(error.format_message(), getattr(error, "ctx", None))
        status = error.exit_code
    except TbcoreError as error:
        _print_error(str(error))
        status = error.exit_status
    except ImportError as error:
        # Packages that only some commands need are imported when they are used.
        _print_error(f"a package cannot be imported: {error}")
        status = 1
    except OSError as error:
        # Mostly a full disk. Expected errors have been converted to a TbcoreError where they occur.
        with contextlib.suppress(OSError):
            _print_error(str(error))
        status = 1
    except (KeyboardInterrupt, click.Abort):
        status = 130
    if status in (0, 1) and any(logs.problems for logs in opened):
        status = DataError.exit_status
    for stream in (sys.stdout, sys.stderr):
        # The streams are None or closed in some processes.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    new_threads = set(threading.enumerate()).difference(threads_before)
    if any(not thread.daemon for thread in new_threads):
        # A normal exit would wait for the threads that plugins or their libraries left running.
        os._exit(status)
    return status


def _print_error(message: str, context: click.Context | None = None) -> None:
    """Prints a message as one line. With a context, the line ends with the command for help."""
    from tbcore.text import one_line

    line = one_line(" ".join(message.split())).rstrip(".")
    if context is not None:
        line = as_typed(context, line)
        if line[1:2].islower():
            # Only messages of click itself begin with a capital letter.
            line = line[0].lower() + line[1:]
        line += f"{' See' if line.endswith('?') else '; see'} `{context.command_path} --help`"
    click.echo(f"{program()}: {line}", err=True)


_ADDED = "tbcore.added_commands"
"""Key in `click.Context.meta` of the entry points of extensions' commands."""
_COMMAND = re.compile(r"[a-z][a-z0-9_-]*")
"""Names of commands. An entry point with another name could take the place of a path or URI."""


class CommandOrLogdir(CommandGroup):
    """Runs `serve` if the first argument is not a command. Accepts `help` for `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *self.added(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return super().get_command(ctx, cmd_name)
        if cmd_name not in self.known(ctx):
            return None
        with warnings_printed():
            found = loaded(COMMANDS, cmd_name, found=self.added(ctx))
        if not isinstance(found, click.Command):
            raise ExtensionError(
                f"the entry point {cmd_name!r} of {COMMANDS} is not a click command"
            )
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands of extensions without importing them."""
        rows = {name: summary(points[0]) for name, points in self.added(ctx).items()}
        for name, command in self.commands.items():
            rows[name] = command.get_short_help_str(formatter.width)
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))

    def added(self, ctx: click.Context) -> dict[str, list[EntryPoint]]:
        """The entry points of extensions' commands, by name. Searched for once in a context."""
        if _ADDED not in ctx.meta:
            found = available(COMMANDS).items()
            ctx.meta[_ADDED] = {n: points for n, points in found if _COMMAND.fullmatch(n)}
        return dict(ctx.meta[_ADDED])

    def known(self, ctx: click.Context) -> list[str]:
        """The names of all commands, with those of extensions of tbcore that are not installed."""
        missing = {name for group, name in INSTALL if group == COMMANDS}
        return sorted(missing.union(self.list_commands(ctx)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] == ["help"] and args != ["help", "agents"]:
            args = [*args[1:2], "--help"]
        if program() == "tensorboard":
            args = args if args[:1] in (["serve"], ["--version"]) else ["serve", *args]
        first = args[0] if args else ""
        is_about_all = not args or first in ("-h", "--help", "--version")
        # Extensions are looked for only if the core has no such command.
        is_own = first in self.commands
        if is_own or (not is_about_all and first in self.known(ctx)):
            has_only_options = all(argument.startswith("-") for argument in args[1:])
            if not is_own and has_only_options and os.path.isdir(first):
                click.echo(
                    f"tbcore: {first!r} is a command; to serve the directory: tbcore ./{first}",
                    err=True,
                )
        elif not is_about_all:
            paths = first, first.partition("=")[2]
            if not (first.startswith("-") or ":/" in first or any(map(os.path.lexists, paths))):
                hint = did_you_mean(first, self.known(ctx))
                hint = hint or f"; `tbcore --logdir {first}` waits until there is one"
                raise click.UsageError(f"{first!r} is no command and no directory{hint}", ctx)
            args = ["serve", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=CommandOrLogdir,
    invoke_without_command=True,
    context_settings={
        "token_normalize_func": lambda name: name.replace("-", "_"),
        "max_content_width": 100,
        "help_option_names": ["-h", "--help"],
    },
)
@click.version_option(__version__, message="tbcore %(version)s")
@click.pass_context
def cli(context: click.Context) -> int:
    """View the logs of training runs in a browser, while the runs go on.

    \b
    tbcore runs/             serve the event files below runs/
    tbcore serve --help      list all options
    tbcore ls runs/          list the runs in the terminal
    tbcore tail -f runs/     print each step of the newest run as it is logged
    tbcore plugins new NAME  create a plugin of your own
    """
    if context.invoked_subcommand is None:
        if not sys.stdout.isatty():
            click.echo(context.get_help())
            return 2
        with serve_command.make_context("serve", [], parent=context) as served:
            return int(serve_command.invoke(served))
    return 0


for command in (serve_command, plugins):
    cli.add_command(command)
