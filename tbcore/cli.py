"""The command line. Options that TensorBoard has, too, have the same names as there."""

from __future__ import annotations

import contextlib
import difflib
import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from tbcore import __version__
from tbcore.errors import OptionError, TbcoreError, did_you_mean

if TYPE_CHECKING:
    from tbcore.eventfiles.logdir import LogdirSpec
    from tbcore.plugins import MountedPlugin

# Other modules are imported when a command needs them, to keep `tbcore --help` fast.

IGNORED_OPTIONS = {
    "--db": r"[^-].*",
    "--db_import": None,
    "--detect_file_replacement": r"(?i)true|false",
    "--extra_data_server_flags": r"[^-].*",
    "--generic_data": r"(?i)true|false|auto",
    "--grpc_creds_type": r"[^-].*",
    "--grpc_data_provider": r"[^-].*",
    "--load_fast": r"(?i)true|false|auto",
    "--max_reload_threads": r"\d+",
    "--reload_multifile": r"(?i)true|false",
    "--reload_multifile_inactive_secs": r"-?\d+",
    "--reload_task": r"(?i)auto|thread|process|blocking",
    "--reuse_port": r"(?i)true|false",
    "--verbosity": r"-?\d+",
}
"""Maps each option of TensorBoard that has no effect here to a pattern of its value; None if it has
no value. The next argument on the command line is the value only if it matches."""

UNSUPPORTED_OPTIONS = {
    "--inspect": "use `tbcore check LOGDIR` to find damage, and the page to look at the data",
}
"""Maps each option of TensorBoard that is rejected here to what the user can do instead."""

TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,200}")
PATH_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")

_Number = TypeVar("_Number", int, float)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status: 2 if the command line is not valid."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    threads_before = threading.enumerate()
    try:
        status = _run(arguments)
    except click.UsageError as error:
        _print_error(error.format_message(), error.ctx)
        return 2
    except click.ClickException as error:
        _print_error(error.format_message())
        return error.exit_code
    except OptionError as error:
        _print_error(str(error))
        return 2
    except TbcoreError as error:
        _print_error(str(error))
        return 1
    except OSError as error:
        # Mostly a full disk. Expected errors have been converted to a TbcoreError where they occur.
        with contextlib.suppress(OSError):
            _print_error(str(error))
        return 1
    except (KeyboardInterrupt, click.Abort):
        status = 130
    _flush()
    new_threads = set(threading.enumerate()).difference(threads_before)
    if any(not thread.daemon for thread in new_threads):
        # A normal exit would wait for the threads that plugins or their libraries left running.
        os._exit(status)
    return status


def _run(arguments: list[str]) -> int:
    result: Any = cli.main(args=arguments, prog_name="tbcore", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _print_error(message: str, context: click.Context | None = None) -> None:
    """Prints a message as one line. With a context, the line ends with the command for help."""
    from tbcore.eventfiles.logdir import one_line

    line = one_line(" ".join(message.split())).rstrip(".")
    if context is not None:
        if line[1:2].islower():
            # Only messages of click itself begin with a capital letter.
            line = line[0].lower() + line[1:]
        line += f"{' See' if line.endswith('?') else '; see'} `{context.command_path} --help`"
    click.echo(f"tbcore: {line}", err=True)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The streams are None or closed in some processes.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _warn(message: str) -> None:
    """Prints a message in the format of the server's log."""
    click.echo(f"tbcore: warning: {message}", err=True)


def _underscored(option: str) -> str:
    """The spelling of an option in this module: `--path_prefix` for `--path-prefix`."""
    return option.replace("-", "_").replace("__", "--", 1)


_TYPED_OPTIONS = "tbcore.typed_options"
"""Key in `click.Context.meta` of a dict that maps options to their spelling on the command line."""


def _as_typed(context: click.Context, option: str) -> str:
    """The option as it was typed, with `-` or with `_`, for use in messages."""
    spelling: str = context.meta.get(_TYPED_OPTIONS, {}).get(option, option)
    return spelling


class _Command(click.Command):
    """A command whose error messages name options as they were typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = [argument.partition("=")[0] for argument in args if argument.startswith("--")]
        ctx.meta[_TYPED_OPTIONS] = {_underscored(option): option for option in typed}
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [option for parameter in self.get_params(ctx) for option in parameter.opts]
            raise click.UsageError(
                f"no such option {_as_typed(ctx, error.option_name)!r}"
                f"{did_you_mean(error.option_name, known)}",
                ctx,
            ) from None
        except click.BadOptionUsage as error:
            # An option lacks its value, or it has a value but takes none.
            option = error.option_name
            message = error.format_message().replace(option, _as_typed(ctx, option))
            raise click.UsageError(message, ctx) from None
        except click.BadParameter as error:
            parameter = error.param
            if not isinstance(parameter, click.Option):
                raise
            option = _as_typed(ctx, parameter.opts[0])
            if ctx.get_parameter_source(parameter.name or "") is _ENVIRONMENT:
                option = str(parameter.envvar)
            raise click.UsageError(f"{option}: {error.message}", ctx) from None


class _Group(_Command, click.Group):
    """A group of commands whose error messages name options as they were typed."""

    command_class = _Command


class _CommandOrLogdir(_Group):
    """Runs `serve` if the first argument is no command. Accepts `help` for `--help`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] == "help":
            args = [*args[1:2], "--help"]
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help", "--version"):
            first = args[0]
            close = difflib.get_close_matches(first, self.commands, n=1)
            if close and not os.path.lexists(first):
                raise click.UsageError(
                    f"{first!r} is neither a command nor a directory; did you mean {close[0]!r}?",
                    ctx,
                )
            args = ["serve", *args]
        return super().parse_args(ctx, args)


def _plugins_dir_option(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the option `--plugins_dir` to a command."""
    return click.option(
        "--plugins_dir",
        "plugins_dirs",
        metavar="DIR",
        multiple=True,
        callback=lambda context, parameter, folders: _plugins_dirs(folders),
        help="Also load plugins from this folder, where they need not be installed. Repeatable.",
    )(command)


class _ServeCommand(_Command):
    """The command `serve`: ignores the options in IGNORED_OPTIONS, with a warning for each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        kept: list[str] = []
        queue = list(args)
        while queue:
            argument = queue.pop(0)
            if argument == "--":
                kept += [argument, *queue]
                break
            typed, has_value, _ = argument.partition("=")
            option = _underscored(typed)
            if option in UNSUPPORTED_OPTIONS:
                raise click.UsageError(
                    f"{typed} is not supported; {UNSUPPORTED_OPTIONS[option]}", ctx
                )
            if option not in IGNORED_OPTIONS:
                kept.append(argument)
                continue
            value_pattern = IGNORED_OPTIONS[option]
            if value_pattern and not has_value and queue and re.fullmatch(value_pattern, queue[0]):
                queue.pop(0)
            _warn(f"{typed} has no effect in tbcore and is ignored")
        return super().parse_args(ctx, kept)


@click.group(
    cls=_CommandOrLogdir,
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
    tbcore plugins           list the installed plugins and their errors
    tbcore plugin new NAME   create a plugin of your own
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return 2
    return 0


@cli.command(cls=_ServeCommand, short_help="Serve the runs below a directory to a browser.")
@click.argument("directories", nargs=-1, metavar="[LOGDIR]")
@click.option("--logdir", metavar="PATH", help="Directory with event files, at any depth.")
@click.option(
    "--logdir_spec",
    metavar="SPEC",
    help="Several directories, as name:path,name:path. The names are put before those of the runs.",
)
@click.option("--host", metavar="ADDR", help="Address to listen on.  [default: localhost]")
@click.option("--bind_all", is_flag=True, help="Listen on all addresses; requires a token.")
@click.option(
    "--port",
    metavar="PORT",
    callback=lambda context, parameter, text: _port(text),
    help="Port to listen on; 0 for any free port.  [default: 6006, or the next free port]",
)
@click.option(
    "--path_prefix",
    metavar="PATH",
    default="",
    callback=lambda context, parameter, text: _path_prefix(text),
    help="Path at which the server is reached, such as /runs.",
)
@click.option(
    "--allowed_host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    callback=lambda context, parameter, names: _allowed_hosts(names),
    help="Additional host name of the server, such as that of a proxy. Repeatable.",
)
@click.option(
    "--token",
    metavar="TOKEN",
    envvar="TBCORE_TOKEN",
    callback=lambda context, parameter, token: _token(token),
    help="Secret that every request must have, instead of a random one.",
)
@click.option("--no_token", is_flag=True, help="Allow all requests without a token.")
@click.option(
    "--reload_interval",
    metavar="SECONDS",
    default="5",
    callback=lambda context, parameter, text: _number(text, float, "a number of seconds"),
    help="Pause between two scans for new data; 0 to scan only once.  [default: 5]",
)
@click.option(
    "--samples_per_plugin",
    metavar="NAME=N,...",
    default="",
    callback=lambda context, parameter, text: _samples_per_plugin(text),
    help="Maximum items of a tag in a response, by plugin; 0 for all.",
)
@click.option(
    "--set",
    "plugin_values",
    metavar="NAME.KEY=VALUE",
    multiple=True,
    callback=lambda context, parameter, texts: _plugin_values(texts),
    help="Set an option of a plugin; `tbcore plugins NAME` lists its options. Repeatable.",
)
@click.option(
    "--no_plugin",
    "without_plugins",
    metavar="NAME",
    multiple=True,
    help="Do not load this plugin. Repeatable.",
)
@click.option(
    "--max_points",
    metavar="N",
    default="0",
    callback=lambda context, parameter, text: _number(text, int, "an int"),
    help="Maximum points of a scalar tag in memory; 0 for all.",
)
@click.option(
    "--purge_orphaned_data",
    default="true",
    metavar="BOOL",
    callback=lambda context, parameter, text: _true_or_false(text),
    help="When a job restarts from a checkpoint, drop the old data of the steps that it repeats."
    "  [default: true]",
)
@click.option("--window_title", metavar="TEXT", default="", help="Title of the browser window.")
@click.option(
    "--api",
    type=click.Choice(["plugin", "legacy"]),
    default="plugin",
    help="Content of data/runs: a list of names, or the index for clients of TensorFlow 1.2 and "
    "older.  [default: plugin]",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@_plugins_dir_option
@click.option(
    "--dev", is_flag=True, help="For plugin authors: reload edited plugins, show tracebacks."
)
@click.pass_context
def serve(
    context: click.Context,
    *,
    directories: tuple[str, ...],
    logdir: str | None,
    logdir_spec: str | None,
    host: str | None,
    bind_all: bool,
    port: int | None,
    path_prefix: str,
    allowed_hosts: tuple[str, ...],
    token: str | None,
    no_token: bool,
    reload_interval: float,
    samples_per_plugin: dict[str, int],
    plugin_values: dict[str, dict[str, str]],
    without_plugins: tuple[str, ...],
    max_points: int,
    purge_orphaned_data: bool,
    window_title: str,
    api: Literal["plugin", "legacy"],
    open_browser: bool,
    plugins_dirs: tuple[str, ...],
    dev: bool,
) -> int:
    """Serve the runs below LOGDIR to a browser.

    Options may be written with - or with _.
    """
    if len(directories) > 1:
        raise click.UsageError(
            f"expected one log directory, got {len(directories)}; "
            f"to serve several, use --logdir_spec {','.join(directories)}",
            context,
        )
    logdirs = [text for text in (*directories, logdir, logdir_spec) if text is not None]
    if not "".join(logdirs):
        raise click.UsageError("no log directory given; try `tbcore runs/`", context)
    if len(logdirs) > 1:
        raise click.UsageError("LOGDIR, --logdir and --logdir_spec cannot be combined", context)
    if bind_all and host:
        raise click.UsageError(
            f"--host and {_as_typed(context, '--bind_all')} cannot be combined", context
        )
    if no_token and token and context.get_parameter_source("token") is _COMMAND_LINE:
        raise click.UsageError(
            f"--token and {_as_typed(context, '--no_token')} cannot be combined", context
        )
    text = os.path.expanduser(logdirs[0])
    specs = _logdir_specs(text, context, is_spec=logdir_spec is not None)

    with _collector_disabled():
        _import_numpy()
        from tbcore.config import Config
        from tbcore.server.serve import ServeOptions
        from tbcore.server.serve import serve as serve_until_signal

        return serve_until_signal(
            Config(
                logdir=text,
                path_prefix=path_prefix,
                allowed_hosts=allowed_hosts,
                api=api,
                window_title=window_title,
                samples_per_plugin=samples_per_plugin,
                plugin_values=plugin_values,
                without_plugins=without_plugins,
                plugins_dirs=plugins_dirs,
                dev=dev,
            ),
            ServeOptions(
                specs=specs,
                host=host,
                port=port,
                bind_all=bind_all,
                no_token=no_token,
                token=token,
                reload_interval=reload_interval,
                purge_orphaned_data=purge_orphaned_data,
                max_points=max_points,
                open_browser=open_browser,
            ),
        )


_COMMAND_LINE = click.core.ParameterSource.COMMANDLINE
_ENVIRONMENT = click.core.ParameterSource.ENVIRONMENT


@cli.command(short_help="Check the event files of a log directory for damage.")
@click.argument("logdir", metavar="LOGDIR")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def check(context: click.Context, *, logdir: str, as_json: bool) -> int:
    """Read all event files below LOGDIR and report what is wrong with them.

    Reports damaged records with their offsets; files that are cut off, empty or unreadable; and
    data that no loaded plugin shows. The exit status is 1 if something is damaged or unreadable.
    """
    from tbcore.plugins import load_plugins
    from tbcore.server.check import check as check_logdir

    if not logdir:
        raise click.UsageError("no log directory given; try `tbcore check runs/`", context)
    specs = _logdir_specs(logdir, context, is_spec=False)
    with _logs_discarded():
        report = check_logdir(specs, load_plugins())
    if as_json:
        _print_json(report.as_json())
    else:
        for line in report.lines():
            click.echo(line)
    return 1 if report.num_damaged else 0


@cli.command(short_help="List the installed plugins and their errors.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_plugins_dir_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def plugins(
    context: click.Context, *, names: tuple[str, ...], plugins_dirs: tuple[str, ...], as_json: bool
) -> int:
    """List the installed plugins with their distributions, routes and errors.

    With NAME, list only that plugin, and its options for `tbcore serve --set`.
    """
    from tbcore.config import Config
    from tbcore.plugins import check_settings, load_plugins, mount
    from tbcore.store.multiplexer import Multiplexer

    with _logs_discarded():
        multiplexer, config = Multiplexer(), Config(logdir="")
        loaded = load_plugins(folders=plugins_dirs)
        check_settings(loaded, config)
        mounted = [mount(plugin, multiplexer, config) for plugin in loaded]
    known = [plugin.name for plugin in loaded]
    for name in names:
        if name not in known:
            raise click.UsageError(
                f"no plugin {name!r} is installed{did_you_mean(name, known)}; "
                f"installed: {', '.join(known) or 'none'}",
                context,
            )
    listing = [_listed(m) for m in mounted if not names or m.plugin.name in names]
    if as_json:
        _print_json(listing)
        return 0
    if not any(m.plugin.disabled_by is None for m in mounted):
        from tbcore.server.report import no_plugins_hint

        click.echo(no_plugins_hint())
    for listed in listing:
        for line in _lines_of(listed, with_options=bool(names)):
            click.echo(line)
    return 0


@cli.group(cls=_Group, short_help="Create a plugin of your own.", invoke_without_command=True)
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
    from tbcore.new_plugin import new_plugin

    folder = new_plugin(name, Path())
    click.echo(f"Created {folder}/ with a plugin that shows the newest values. To work on it:")
    click.echo(f"    tbcore serve --logdir DIR --plugins_dir {folder} --dev")
    click.echo(f"See {folder / 'README.md'} for the next steps.")
    return 0


def _lines_of(listed: dict[str, Any], *, with_options: bool) -> Iterator[str]:
    """Yields the lines that `tbcore plugins` prints for one plugin."""
    source = f"{listed['distribution']} {listed['version']}".strip()
    yield f"{listed['name']}  {listed['state']}  ({source or 'unknown'})"
    for line in (listed["description"], listed["reason"]):
        if line:
            yield f"    {line}"
    for used in listed["deprecated"]:
        yield f"    uses {used['name']}, which is deprecated: {used['instead']}"
    for route in listed["routes"]:
        yield f"    {', '.join(route['methods'])} {route['path']}"
    options = listed["options"]
    if options and not with_options:
        yield f"    options: {', '.join(option['name'] for option in options)}"
        return
    for option in options:
        is_default = option["value"] == option["default"]
        default = "" if is_default else f"  (default: {option['default']})"
        yield f"    --set {listed['name']}.{option['name']}={option['value']}{default}"
        yield f"        {option['help']} [{option['wanted']}]".replace("  [", " [")


def _import_numpy() -> None:
    """Imports numpy with one thread for linear algebra, unless the environment sets the number.

    By default OpenBLAS starts one thread per processor, and they use CPU time at the start.
    """
    variable = "OPENBLAS_NUM_THREADS"
    is_set = variable in os.environ
    os.environ.setdefault(variable, "1")
    import numpy  # noqa: F401

    if not is_set:
        del os.environ[variable]


@contextlib.contextmanager
def _collector_disabled() -> Iterator[None]:
    """Disables the garbage collector while a server starts: objects created then are permanent.

    Restores it at the end, for programs that call `main` and continue.
    """
    was_enabled, thresholds = gc.isenabled(), gc.get_threshold()
    gc.disable()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _logs_discarded() -> Iterator[None]:
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


def _print_json(data: Any) -> None:
    import orjson

    from tbcore.http.json import to_json

    click.echo(orjson.dumps(orjson.loads(to_json(data)), option=orjson.OPT_INDENT_2))


def _listed(mounted: MountedPlugin) -> dict[str, Any]:
    """The object that `tbcore plugins --json` prints for one plugin."""
    from tbcore.plugins import listed_options

    plugin = mounted.plugin
    distribution, version = plugin.source_label(whole_path=True)
    bases_and_routes = [(f"data/plugin/{plugin.name}", route) for route in mounted.routes]
    bases_and_routes += [("data", route) for route in mounted.legacy.routes]
    bases_and_routes += [("", route) for route in mounted.legacy.bare_routes]
    return {
        "name": plugin.name,
        "title": plugin.title,
        "description": plugin.info.description if plugin.info else "",
        "distribution": distribution,
        "version": version,
        "state": "off" if plugin.disabled_by else "failed" if mounted.error else "ok",
        "reason": plugin.disabled_by or mounted.error,
        "options": listed_options(mounted),
        "deprecated": plugin.stats.as_json()["deprecated"],
        "routes": [
            {
                "path": f"{base}{route.path}".lstrip("/"),
                "methods": sorted(route.methods or ()),
            }
            for base, route in bases_and_routes
        ],
    }


def _logdir_specs(text: str, context: click.Context, *, is_spec: bool) -> list[LogdirSpec]:
    """The directories to scan; raises UsageError for a path that can never be a directory."""
    from tbcore.eventfiles.logdir import LogdirSpec, parse_logdir_spec

    specs = parse_logdir_spec(text) if is_spec else [LogdirSpec(None, text)]
    if not specs:
        option = _as_typed(context, "--logdir_spec")
        raise click.UsageError(
            f"no directory in {option} {text!r}; expected name:path,name:path", context
        )
    for spec in specs:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", spec.path):
            raise click.UsageError(
                f"{spec.path!r} is not a local directory; tbcore reads local files only, "
                f"so mount or copy the directory first",
                context,
            )
        if "\0" in spec.path:
            raise click.UsageError(f"{spec.path!r} is not a valid path", context)
        if os.path.exists(spec.path):
            if not os.path.isdir(spec.path):
                raise click.UsageError(
                    f"{spec.path!r} is a file; expected the directory that contains it, "
                    f"{os.path.dirname(spec.path) or '.'!r}",
                    context,
                )
        elif not is_spec and re.search("[,:]", os.path.splitdrive(spec.path)[1]):
            _warn(
                f"{spec.path!r} does not exist; "
                f"for several directories, or to name them, use --logdir_spec"
            )
    return specs


def _port(text: str | None) -> int | None:
    if text is None or text == "default":
        return None
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or int(text) > 65535:
        raise click.BadParameter(f"{text!r} is not a valid port; expected 0 to 65535")
    return int(text)


def _number(text: str, convert: Callable[[str], _Number], expected: str) -> _Number:
    """Converts a text to a number; raises BadParameter if it is negative or not a number."""
    with contextlib.suppress(ValueError):
        if (number := convert(text)) >= 0:
            return number
    raise click.BadParameter(f"{text!r} is not valid; expected {expected}, 0 or more")


def _true_or_false(text: str) -> bool:
    from tbcore.options import truth

    try:
        return truth(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not valid; expected true or false") from None


def _path_prefix(text: str) -> str:
    prefix = "/" + text.strip("/") if text.strip("/") else ""
    if not PATH_PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
        raise click.BadParameter(
            f"{text!r} is not a valid path; expected names of letters, digits and -._~, as in /runs"
        )
    return prefix


def _plugins_dirs(folders: tuple[str, ...]) -> tuple[str, ...]:
    expanded = tuple(os.path.expanduser(folder) for folder in folders)
    for folder in expanded:
        if not os.path.isdir(folder):
            reason = (
                "is a file; expected the folder that contains it"
                if os.path.exists(folder)
                else "does not exist"
            )
            raise click.BadParameter(f"{folder!r} {reason}")
    return expanded


def _allowed_hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return names
    from tbcore.server.gate import is_host

    for name in names:
        if not is_host(name):
            raise click.BadParameter(
                f"{name!r} is not a valid host name; expected the host of an address, "
                f"without http:// and path"
            )
    return names


def _token(token: str | None) -> str | None:
    if token and not TOKEN.fullmatch(token):
        raise click.BadParameter(
            "the token is not valid; expected up to 200 letters, digits and ._~+/=-"
        )
    return token or None


def _samples_per_plugin(text: str) -> dict[str, int]:
    """Maps plugin names to numbers of samples, from `name=N,name=N`; the last N for a name wins."""
    samples = {}
    for pair in text.split(","):
        name, separator, digits = (part.strip() for part in pair.partition("="))
        if not pair.strip():
            continue
        if not separator or not name or not re.fullmatch(r"\d{1,18}", digits, re.ASCII):
            raise click.BadParameter(
                f"{pair.strip()!r} is not valid; expected NAME=N, as in images=20"
            )
        samples[name] = int(digits)
    return samples


def _plugin_values(texts: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Maps plugin names to maps from key to value, for `name.key=value`; the last value counts.

    The last dot before `=` separates name and key, since names may have dots.
    """
    values: dict[str, dict[str, str]] = {}
    for text in texts:
        target, separator, value = text.partition("=")
        name, dot, key = (part.strip() for part in target.rpartition("."))
        if not separator or not dot or not name or not key:
            raise click.BadParameter(
                f"{text!r} is not valid; expected NAME.KEY=VALUE, with a key that "
                f"`tbcore plugins NAME` lists"
            )
        values.setdefault(name, {})[key.replace("-", "_")] = value
    return values
