"""What several commands share: errors that name options as typed, log directories, and the like."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tbcore.errors import OptionError, UnknownStorageError, did_you_mean

if TYPE_CHECKING:
    from tbcore.eventfiles.logdir import LogdirSpec

_TYPED_OPTIONS = "tbcore.typed_options"
"""Key in `click.Context.meta` of a dict that maps options to their spelling on the command line."""


def program() -> str:
    """The name under which this program was started: `tensorboard`, or else `tbcore`."""
    name = os.path.basename("".join(sys.argv[:1])).lower().removesuffix(".exe")
    return "tensorboard" if name == "tensorboard" else "tbcore"


def warn(message: str) -> None:
    """Prints a message in the format of the server's log."""
    click.echo(f"{program()}: warning: {message}", err=True)


def underscored(option: str) -> str:
    """The spelling of an option in this package: `--path_prefix` for `--path-prefix`."""
    return option.replace("-", "_").replace("__", "--", 1)


def as_typed(context: click.Context, message: str) -> str:
    """The message with each option as it was typed, or with the variable that sets the option."""
    names = dict(context.meta.get(_TYPED_OPTIONS, {}))
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.ENVIRONMENT:
            names[parameter.opts[0]] = parameter.envvar
    return re.sub(r"--\w+", lambda option: str(names.get(option[0], option[0])), message)


class Command(click.Command):
    """A command whose error messages name options as they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = [argument.partition("=")[0] for argument in args if argument.startswith("--")]
        ctx.meta[_TYPED_OPTIONS] = {underscored(option): option for option in typed}
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            known = [option for parameter in self.get_params(ctx) for option in parameter.opts]
            longer = [option for option in known if option.startswith(name)]
            close = [option for option in known if option[:3] == name[:3]]  # `--` and a letter.
            hint = did_you_mean(name, longer or close)
            raise click.UsageError(f"no such option {name!r}{hint}", ctx) from None
        except click.BadOptionUsage as error:
            # An option lacks its value, or it has a value but takes none.
            raise click.UsageError(error.format_message(), ctx) from None
        except click.BadParameter as error:
            parameter = error.param
            if not isinstance(parameter, click.Option):
                raise
            if isinstance(error, click.MissingParameter):
                raise click.UsageError(f"missing option {parameter.opts[0]!r}", ctx) from None
            raise click.UsageError(f"{parameter.opts[0]}: {error.message}", ctx) from None


class CommandGroup(Command, click.Group):
    """A group of commands whose error messages name options as they were typed."""

    command_class = Command


def converter(convert: Callable[[str], Any], expected: str) -> Callable[[str], Any]:
    """The type of an option whose value is not valid if `convert` raises ValueError for it."""

    def converted(text: str) -> Any:
        try:
            return convert(text)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not valid; expected {expected}") from None

    return converted


class _FormatOption(click.Option):
    """--format, for which `--format json` may be written as `--json`."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parser.add_option(self, ["--json"], self.name, "append_const", const="json")


def _format(context: click.Context, option: Any, given: Sequence[str]) -> str | None:
    if len(set(given)) > 1 and not context.resilient_parsing:
        raise click.UsageError(f"--format {' and '.join(given)} cannot be combined", context)
    return given[0] if given and given[0] != option.type.choices[0] else None


def format_option(formats: str) -> Callable[[Any], Any]:
    """The option --format. Formats are separated by blanks; the first is the default, None."""
    return click.option(
        "--format", "form", cls=_FormatOption, multiple=True, callback=_format,
        type=click.Choice(formats.split()), help="--json is short for --format json.",
    )  # fmt: skip


def not_negative(number: float) -> float:
    """The number; raises ValueError if it is negative or NaN."""
    if number >= 0:
        return number
    raise ValueError(number)


def whole_number(text: str) -> int:
    """The type of options that take a number of things, 0 or more."""
    number: int = converter(lambda text: not_negative(int(text)), "an int, 0 or more")(text)
    return number


def _plugins_dir(folder: str) -> str:
    expanded = os.path.expanduser(folder)
    if os.path.isdir(expanded):
        return expanded
    is_file = os.path.exists(expanded)
    reason = "is a file; expected the folder that contains it" if is_file else "does not exist"
    raise click.BadParameter(f"{expanded!r} {reason}")


plugins_dir_option = click.option(
    "--plugins_dir", "plugins_dirs", metavar="DIR", multiple=True, type=_plugins_dir,
    help="Also load plugins from this folder, where they need not be installed. Repeatable.",
)  # fmt: skip


def logdir_specs(
    text: str, context: click.Context, *others: str, is_spec: bool
) -> list[LogdirSpec]:
    """The directories to scan.

    Raises UsageError for a path that can never be a directory, OptionError for such an address.
    """
    from tbcore.eventfiles.addresses import is_uri
    from tbcore.eventfiles.logdir import checked_specs

    try:
        with warnings_printed():
            specs = checked_specs(text, *others, is_spec=is_spec)
    except UnknownStorageError:
        raise
    except OptionError as error:
        raise click.UsageError(str(error), context) from None
    if not specs:
        raise click.UsageError(
            f"no directory in --logdir_spec {text!r}; expected name:path,name:path", context
        )
    path = specs[0].path
    if not (is_spec or is_uri(path) or os.path.exists(path)):
        if re.search("[,:]", os.path.splitdrive(path)[1]):
            warn(
                f"{path!r} does not exist; "
                f"for several directories, or to name them, use NAME=LOGDIR for each"
            )
    return specs


@contextlib.contextmanager
def warnings_printed() -> Iterator[None]:
    """Prints what is logged as `warn` does, each line once; for where no log is set up."""
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(f"{program()}: warning: %(message)s"))
    printed: dict[str, logging.LogRecord] = {}
    # Each line once: many runs may lack the same file, and some commands read a run twice.
    handler.addFilter(lambda record: printed.setdefault(record.getMessage(), record) is record)
    core = logging.getLogger("tbcore")
    core.addHandler(handler)
    try:
        yield
    finally:
        core.removeHandler(handler)


@contextlib.contextmanager
def logs_discarded() -> Iterator[None]:
    """Discards log lines, for commands that print the same facts themselves.

    Text that plugins print while they are imported goes to stderr, so that stdout has nothing but
    the command's own output.
    """
    import logging

    core = logging.getLogger("tbcore")
    discard, propagates = logging.NullHandler(), core.propagate
    core.addHandler(discard)
    core.propagate = False
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        core.propagate = propagates
        core.removeHandler(discard)
