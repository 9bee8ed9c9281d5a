"""The command line. Options have TensorBoard's names, because its users' hands know them."""

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
from typing import TYPE_CHECKING, Any, Literal

import click

from tbcore import __version__
from tbcore.errors import OptionError, TbcoreError, did_you_mean

if TYPE_CHECKING:
    from tbcore.eventfiles.logdir import LogdirSpec
    from tbcore.plugins import MountedPlugin

# Rooms are imported when a command needs them: `tbcore --help` should not take half a second.

IGNORED_FLAGS = {
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
"""TensorBoard's options without meaning here, and what may stand behind them as a value."""

UNSUPPORTED_FLAGS = {
    "--inspect": "`tbcore check LOGDIR` says what is wrong in it; the page shows what is there",
}
"""TensorBoard's options that ask for something else than a server, and what to do instead."""

TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,200}")
PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status: 2 for what cannot be understood."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    threads = threading.enumerate()
    try:
        status = _run(given)
    except click.UsageError as error:
        context = f"; see `{error.ctx.command_path} --help`" if error.ctx else ""
        click.echo(f"tbcore: {_line(error.format_message())}{context}", err=True)
        return 2
    except click.ClickException as error:
        click.echo(f"tbcore: {_line(error.format_message())}", err=True)
        return error.exit_code
    except OptionError as error:
        click.echo(f"tbcore: {_line(str(error))}", err=True)
        return 2
    except TbcoreError as error:
        click.echo(f"tbcore: {_line(str(error))}", err=True)
        return 1
    except OSError as error:
        # A disk that is full, mostly: what is known to fail has been told in better words.
        with contextlib.suppress(OSError):
            click.echo(f"tbcore: {_line(str(error))}", err=True)
        return 1
    except (KeyboardInterrupt, click.Abort):
        status = 130
    _flush()
    if any(not thread.daemon and thread not in threads for thread in threading.enumerate()):
        # Python would wait for threads that plugins or their libraries left behind.
        os._exit(status)
    return status


def _run(arguments: list[str]) -> int:
    result: Any = cli.main(args=arguments, prog_name="tbcore", standalone_mode=False)
    return result if isinstance(result, int) else 0


def _line(message: str) -> str:
    from tbcore.eventfiles.logdir import one_line

    return one_line(" ".join(message.split())).rstrip(".")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A process may be started without them.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


def _warn(message: str) -> None:
    """Says it as the log of the server says its warnings."""
    click.echo(f"tbcore: warning: {message}", err=True)


class _Commands(click.Group):
    """Takes a directory, or an option of `serve`, in place of a command; `help` is `--help`."""

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


def _plugins_dir(command: Callable[..., int]) -> Callable[..., int]:
    """The option of all commands that load plugins for their user."""
    return click.option(
        "--plugins_dir",
        "plugins_dirs",
        metavar="DIR",
        multiple=True,
        callback=lambda context, parameter, folders: _plugins_dirs(folders),
        help="Load the plugins in this folder, too, as files, packages or distributions that are "
        "not installed. May be given more than once.",
    )(command)


class _ServeCommand(click.Command):
    """Takes TensorBoard's options that mean nothing here, and says so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        kept: list[str] = []
        waiting = list(args)
        while waiting:
            argument = waiting.pop(0)
            if argument == "--":
                kept += [argument, *waiting]
                break
            flag, has_value, _ = argument.partition("=")
            flag = flag.replace("-", "_").replace("__", "--", 1)
            if flag in UNSUPPORTED_FLAGS:
                raise click.UsageError(f"{flag} is not supported; {UNSUPPORTED_FLAGS[flag]}", ctx)
            if flag not in IGNORED_FLAGS:
                kept.append(argument)
                continue
            values = IGNORED_FLAGS[flag]
            if values and not has_value and waiting and re.fullmatch(values, waiting[0]):
                waiting.pop(0)
            _warn(f"{flag} has no meaning here and is ignored")
        return super().parse_args(ctx, kept)


@click.group(
    cls=_Commands,
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
    """See what your training runs log, while they run.

    \b
    tbcore runs/             show the event files below runs/ in a browser
    tbcore serve --help      all options
    tbcore plugins           what is installed, and what does not work
    tbcore plugin new NAME   start a plugin of your own
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return 2
    return 0


@cli.command(cls=_ServeCommand, short_help="Serve the runs below a directory to a browser.")
@click.argument("directories", nargs=-1, metavar="[LOGDIR]")
@click.option(
    "--logdir", metavar="PATH", help="Directory that holds the event files, at any depth."
)
@click.option(
    "--logdir_spec",
    metavar="SPEC",
    help="Several directories, as name:path,name:path; names come before those of the runs.",
)
@click.option("--host", metavar="ADDR", help="Address to listen on.  [default: localhost]")
@click.option("--bind_all", is_flag=True, help="Listen on all addresses; a token is needed then.")
@click.option(
    "--port",
    metavar="PORT",
    callback=lambda context, parameter, text: _port(text),
    help="Port to listen on, 0 for any.  [default: 6006, or the next that is free]",
)
@click.option(
    "--path_prefix",
    metavar="PATH",
    default="",
    callback=lambda context, parameter, text: _path_prefix(text),
    help="Serve below this path, such as /runs.",
)
@click.option(
    "--allowed_host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    callback=lambda context, parameter, names: _allowed_hosts(names),
    help="Also answer to this name, such as that of a proxy. May be given more than once.",
)
@click.option(
    "--token",
    metavar="TOKEN",
    envvar="TBCORE_TOKEN",
    callback=lambda context, parameter, token: _token(token),
    help="Secret that every request needs, in place of a random one.",
)
@click.option("--no_token", is_flag=True, help="Let in everybody who can connect.")
@click.option(
    "--reload_interval",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="Pause between two looks for new data; 0 loads once.",
)
@click.option(
    "--samples_per_plugin",
    metavar="NAME=N,...",
    default="",
    callback=lambda context, parameter, text: _samples_per_plugin(text),
    help="Most items of a tag in an answer, by plugin; 0 for all.",
)
@click.option(
    "--set",
    "plugin_values",
    metavar="NAME.KEY=VALUE",
    multiple=True,
    callback=lambda context, parameter, texts: _plugin_values(texts),
    help="Set an option of a plugin, one of those that `tbcore plugins NAME` lists.",
)
@click.option(
    "--no_plugin",
    "without_plugins",
    metavar="NAME",
    multiple=True,
    help="Leave out a plugin. May be given more than once.",
)
@click.option(
    "--max_points",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Most points of a scalar tag to keep in memory; 0 for all.",
)
@click.option(
    "--purge_orphaned_data",
    default="true",
    metavar="BOOL",
    callback=lambda context, parameter, text: _true_or_false(text),
    help="Drop what was logged after the checkpoint that a restarted job went on from."
    "  [default: true]",
)
@click.option("--window_title", metavar="TEXT", default="", help="Title of the browser window.")
@click.option(
    "--api",
    type=click.Choice(["plugin", "legacy"]),
    default="plugin",
    help="What data/runs is: a list of names, or the index that pages up to TensorFlow 1.2 need.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@_plugins_dir
@click.option(
    "--dev", is_flag=True, help="For plugin authors: take up edited plugins, show tracebacks."
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
            f"give one directory, not {len(directories)}; "
            f"several go into one option, as in --logdir_spec {','.join(directories)}",
            context,
        )
    given = [text for text in (*directories, logdir, logdir_spec) if text is not None]
    if len(given) != 1 or not given[0]:
        raise click.UsageError(
            "which directory? give one, as in `tbcore runs/`"
            if not "".join(given)
            else "give one of LOGDIR, --logdir and --logdir_spec",
            context,
        )
    if bind_all and host:
        raise click.UsageError("give either --host or --bind_all", context)
    if no_token and token and context.get_parameter_source("token") is _COMMAND_LINE:
        raise click.UsageError("give either --token or --no_token", context)
    text = os.path.expanduser(given[0])
    specs = _specs(text, is_spec=logdir_spec is not None)

    with _without_collector():
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


@cli.command(short_help="Say what is wrong in a log directory, and where.")
@click.argument("logdir", metavar="LOGDIR")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(*, logdir: str, as_json: bool) -> int:
    """Read all event files below LOGDIR, and say what is wrong with them.

    Damaged records with their offsets, files that are cut off, empty or unreadable, and data that
    no installed plugin shows. The exit status is 1 if something is damaged or cannot be read.
    """
    from tbcore.plugins import load_plugins
    from tbcore.server.check import check as check_logdir

    if not logdir:
        raise click.UsageError("which directory? give one, as in `tbcore check runs/`")
    specs = _specs(logdir, is_spec=False)
    with _quiet():
        report = check_logdir(specs, load_plugins())
    if as_json:
        _print_json(report.as_json())
    else:
        for line in report.lines():
            click.echo(line)
    return 1 if report.num_damaged else 0


@cli.command(short_help="List the installed plugins, and what is wrong with them.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_plugins_dir
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def plugins(
    context: click.Context, *, names: tuple[str, ...], plugins_dirs: tuple[str, ...], as_json: bool
) -> int:
    """List the installed plugins: where they come from, their addresses, what is wrong.

    Of those that are named, with the options that `tbcore serve --set` takes.
    """
    from tbcore.config import Config
    from tbcore.plugins import check_settings, load_plugins, mount
    from tbcore.store.multiplexer import Multiplexer

    with _quiet():
        multiplexer, config = Multiplexer(), Config(logdir="")
        loaded = load_plugins(folders=plugins_dirs)
        check_settings(loaded, config)
        mounted = [mount(plugin, multiplexer, config) for plugin in loaded]
    known = [plugin.name for plugin in loaded]
    for name in names:
        if name not in known:
            raise click.UsageError(
                f"there is no plugin {name!r}{did_you_mean(name, known)}; "
                f"installed: {', '.join(known) or 'none'}",
                context,
            )
    listing = [_listed(m) for m in mounted if not names or m.plugin.name in names]
    if as_json:
        _print_json(listing)
        return 0
    if not any(m.plugin.off is None for m in mounted):
        from tbcore.server.report import no_plugins

        click.echo(no_plugins())
    for listed in listing:
        for line in _lines_of(listed, with_options=bool(names)):
            click.echo(line)
    return 0


@cli.group(short_help="Start a plugin of your own.", invoke_without_command=True)
@click.pass_context
def plugin(context: click.Context) -> int:
    """Start a plugin of your own: `tbcore plugin new NAME`."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return 2
    return 0


@plugin.command(short_help="Write a plugin that works at once, to be edited.")
@click.argument("name", metavar="NAME")
def new(*, name: str) -> int:
    """Write the folder tbcore-NAME with a plugin that works at once, to be edited from there.

    NAME has _ between its words, and the folder -, as names of distributions have.
    It is a whole distribution: a package with an entry point, a tab, tests and a README.
    """
    from tbcore.new_plugin import new_plugin

    folder = new_plugin(name, Path())
    click.echo(f"{folder}/ has a plugin that shows the newest values. Open its tab, edit, save:")
    click.echo(f"    tbcore serve --logdir DIR --plugins_dir {folder} --dev")
    click.echo(f"{folder / 'README.md'} has the rest.")
    return 0


def _lines_of(listed: dict[str, Any], *, with_options: bool) -> Iterator[str]:
    """What `tbcore plugins` says of one plugin."""
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
    """Imports numpy with one thread for linear algebra, unless the environment says how many.

    Otherwise it starts one for each processor, which are busy for a while with waiting.
    """
    variable = "OPENBLAS_NUM_THREADS"
    is_given = variable in os.environ
    os.environ.setdefault(variable, "1")
    import numpy  # noqa: F401

    if not is_given:
        del os.environ[variable]


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """What a start makes is there to stay: `serve` has the collector leave it alone for good.

    Afterwards the collector is as it was: a program may call `main`, and go on.
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
def _quiet() -> Iterator[None]:
    """For commands that say themselves what the log would: it goes nowhere meanwhile.

    What a plugin prints while it is imported must not get into what a program reads.
    """
    import logging

    core = logging.getLogger("tbcore")
    nowhere, propagates = logging.NullHandler(), core.propagate
    core.addHandler(nowhere)
    core.propagate = False
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        core.propagate = propagates
        core.removeHandler(nowhere)


def _print_json(data: Any) -> None:
    import orjson

    from tbcore.http import to_json

    click.echo(orjson.dumps(orjson.loads(to_json(data)), option=orjson.OPT_INDENT_2))


def _listed(mounted: MountedPlugin) -> dict[str, Any]:
    """One plugin, as `tbcore plugins --json` prints it."""
    from tbcore.plugins import listed_options

    plugin = mounted.plugin
    distribution, version = plugin.source_label(whole_path=True)
    routes = [(f"data/plugin/{plugin.name}", route) for route in mounted.routes]
    routes += [("data", route) for route in mounted.legacy.routes]
    routes += [("", route) for route in mounted.legacy.bare_routes]
    return {
        "name": plugin.name,
        "title": plugin.title,
        "description": plugin.info.description if plugin.info else "",
        "distribution": distribution,
        "version": version,
        "state": "off" if plugin.off else "failed" if mounted.error else "ok",
        "reason": plugin.off or mounted.error,
        "options": listed_options(mounted),
        "deprecated": plugin.stats.as_json()["deprecated"],
        "routes": [
            {
                "path": f"{below}{route.path}".lstrip("/"),
                "methods": sorted(route.methods or ()),
            }
            for below, route in routes
        ],
    }


def _specs(text: str, *, is_spec: bool) -> list[LogdirSpec]:
    """The directories to look in; raises UsageError for what can never be one."""
    from tbcore.eventfiles.logdir import LogdirSpec, parse_logdir_spec

    specs = parse_logdir_spec(text) if is_spec else [LogdirSpec(None, text)]
    if not specs:
        raise click.UsageError(f"--logdir_spec {text!r} names no directory")
    for spec in specs:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", spec.path):
            raise click.UsageError(
                f"{spec.path!r} is not a local directory; tbcore reads files of this machine, "
                f"so mount or copy it"
            )
        if "\0" in spec.path:
            raise click.UsageError(f"{spec.path!r} is no path")
        if os.path.lexists(spec.path) and os.path.exists(spec.path):
            if not os.path.isdir(spec.path):
                raise click.UsageError(
                    f"{spec.path!r} is a file, not a directory; give the directory it lies in, "
                    f"{os.path.dirname(spec.path) or '.'!r}"
                )
        elif not is_spec and re.search("[,:]", os.path.splitdrive(spec.path)[1]):
            _warn(
                f"{spec.path!r} does not exist; "
                f"several directories, or names for them, are given with --logdir_spec"
            )
    return specs


def _port(text: str | None) -> int | None:
    if text is None or text == "default":
        return None
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or int(text) > 65535:
        raise click.BadParameter(f"{text!r} is no port, which is a number from 0 to 65535")
    return int(text)


def _true_or_false(text: str) -> bool:
    from tbcore.options import truth

    try:
        return truth(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither true nor false") from None


def _path_prefix(text: str) -> str:
    prefix = "/" + text.strip("/") if text.strip("/") else ""
    if not PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
        raise click.BadParameter(f"{text!r} is no path of letters, digits and -._~, such as /runs")
    return prefix


def _plugins_dirs(folders: tuple[str, ...]) -> tuple[str, ...]:
    expanded = tuple(os.path.expanduser(folder) for folder in folders)
    for folder in expanded:
        if not os.path.isdir(folder):
            wrong = (
                "is a file; give the folder it lies in"
                if os.path.exists(folder)
                else "is not there"
            )
            raise click.BadParameter(f"{folder!r} {wrong}")
    return expanded


def _allowed_hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return names
    from tbcore.server.gate import is_host

    for name in names:
        if not is_host(name):
            raise click.BadParameter(
                f"{name!r} is no host; write it as in an address, without http:// and path"
            )
    return names


def _token(token: str | None) -> str | None:
    if token and not TOKEN.fullmatch(token):
        raise click.BadParameter("a token is made of letters, digits and ._~+/=-")
    return token or None


def _samples_per_plugin(text: str) -> dict[str, int]:
    """`name=number` separated by commas; the last one of a name counts."""
    samples = {}
    for pair in text.split(","):
        name, separator, number = (part.strip() for part in pair.partition("="))
        if not pair.strip():
            continue
        if not separator or not name or not re.fullmatch(r"\d{1,18}", number, re.ASCII):
            raise click.BadParameter(f"{pair.strip()!r} is not name=number, such as images=20")
        samples[name] = int(number)
    return samples


def _plugin_values(texts: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Plugin name to key to text; the last one of a key counts. Only names may have dots."""
    values: dict[str, dict[str, str]] = {}
    for text in texts:
        left, separator, value = text.partition("=")
        name, dot, key = (part.strip() for part in left.rpartition("."))
        if not separator or not dot or not name or not key:
            raise click.BadParameter(f"{text!r} is not name.key=value, as in `tbcore plugins NAME`")
        values.setdefault(name, {})[key.replace("-", "_")] = value
    return values
