"""The command `tbcore serve` and its options."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import click
from click.core import ParameterSource

from tbcore.cli.parsing import (
    Command,
    as_typed,
    converter,
    logdir_specs,
    not_negative,
    plugins_dir_option,
    program,
    underscored,
    warn,
    whole_number,
)
from tbcore.errors import TbcoreError
from tbcore.extensions import DEV, INDEX, INSTALL
from tbcore.plugins.options import truth

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
    "--inspect": "use `tbcore ls LOGDIR` or `tbcore show LOGDIR RUN` to look at the data, and "
    "`tbcore check LOGDIR` to find damage",
    "--tag": "use `tbcore show LOGDIR RUN TAG` to look at its data",
    "--event_file": "use `tbcore ls FILE` or `tbcore check FILE` to look at the data",
    "--helpfull": "use `tbcore serve --help`",
    "--version_tb": "use `tbcore --version`",
}
"""Maps each option of TensorBoard that is rejected here to what the user can do instead."""

EXCLUSIVE = {
    ("directories", "logdir", "logdir_spec"): "LOGDIR, --logdir and --logdir_spec",
    ("host", "bind_all"): "--host and --bind_all",
    ("token", "no_token"): "--token and --no_token",
    ("read_token", "no_token"): "--read_token and --no_token",
    ("uds", "host"): "--uds and --host",
    ("uds", "bind_all"): "--uds and --bind_all",
    ("uds", "port"): "--uds and --port",
    ("uds", "open_browser"): "--uds and --open",
}
"""Parameters of which only one may be given, with their names for a message. One on the command
line takes the place of those that variables set."""
MAX_IDLE_SECONDS = 365 * 86400
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,200}")
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*:(//(\*\.)?[a-zA-Z0-9.-]+(:(\d{1,5}|\*))?)?")
PATH_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")


class ServeCommand(Command):
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
            option = underscored(typed)
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
            warn(f"{typed} has no effect in tbcore and is ignored")
        rest = super().parse_args(ctx, kept)
        for names, text in EXCLUSIVE.items():
            values = {n: ctx.params.get(n) for n in names}
            given = [n for n, v in values.items() if v not in (None, ()) and v is not False]
            named = [n for n in given if ctx.get_parameter_source(n) is ParameterSource.COMMANDLINE]
            if named:
                ctx.params |= dict.fromkeys(set(given).difference(named))
            if len(named or given) > 1:
                raise click.UsageError(f"{text} cannot be combined", ctx)
        return rest


def _port(text: str) -> int | None:
    source = click.get_current_context().get_parameter_source("port")
    # Kubernetes sets TBCORE_PORT to such a text if there is a Service with the name tbcore.
    is_address = text.startswith("tcp://") and source is ParameterSource.ENVIRONMENT
    if text == "default" or is_address:
        return None
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or int(text) > 65535:
        raise click.BadParameter(f"{text!r} is not a valid port; expected 0 to 65535")
    return int(text)


_seconds = converter(lambda text: not_negative(float(text)), "a number of seconds, 0 or more")
_true_or_false = converter(truth, "true or false")


def _duration(text: str) -> float:
    """Seconds, from a number with a unit, or of seconds; raises ValueError for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text, re.ASCII)
    seconds = float(found[1]) * {"m": 60, "h": 3600, "d": 86400}.get(found[2], 1) if found else 0
    if not 0 < seconds <= MAX_IDLE_SECONDS:
        raise ValueError(text)
    return seconds


_idle = converter(_duration, "a time of up to 365 days, such as 30m, 8h or 2d")


def _parent() -> int:
    """The id of the process that started this one, or -1 if it is known to have ended."""
    if sys.platform == "win32":
        raise click.BadParameter("is not supported on Windows")
    parent = os.getppid()
    # A process is in the session of the one that started it, unless it made one of its own.
    is_adopted = os.getsid(0) not in (os.getpid(), os.getsid(parent))
    return -1 if is_adopted else parent


def _path_prefix(text: str) -> str:
    prefix = "/" + text.strip("/") if text.strip("/") else ""
    if not PATH_PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
        raise click.BadParameter(
            f"{text!r} is not a valid path; expected names of letters, digits and -._~, as in /runs"
        )
    return prefix


def _allowed_host(name: str) -> str:
    from tbcore.server.gate import is_host

    if name != "*" and not is_host(name):
        raise click.BadParameter(
            f"{name!r} is not a valid host name; expected the host of an address, "
            f"without http:// and path"
        )
    return name


_PREFIX = "TBCORE_"
"""The beginning of the name of each option's variable."""


def _warn_about_variables(command: click.Command) -> None:
    """Prints a warning for each variable whose name is nearly that of an option."""
    known = {str(parameter.envvar).removeprefix(_PREFIX) for parameter in command.params}
    given = {name.removeprefix(_PREFIX) for name in os.environ if name.startswith(_PREFIX)}
    for name in sorted(given - known - {"PLUGINS", "TRACE_HOOKS"}):
        longer = [other for other in known if name and other.startswith(name)]
        if not name.startswith("SET_") and (close := longer or get_close_matches(name, known)):
            warn(f"no such variable {_PREFIX}{name}; did you mean {_PREFIX}{close[0]}?")


def _origin(text: str) -> str:
    if not ORIGIN.fullmatch(text):
        raise click.BadParameter(
            f"{text!r} is not an origin; expected one such as https://example.com, "
            f"https://*.example.com, http://localhost:8888 or vscode-webview:"
        )
    return text


def _token(token: str) -> str:
    if not TOKEN.fullmatch(token):
        raise click.BadParameter(
            "the token is not valid; expected 1 to 200 letters, digits and ._~+/=-"
        )
    return token


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


@click.command(
    "serve", cls=ServeCommand, short_help="Serve the runs below a directory to a browser."
)
@click.argument("directories", nargs=-1, metavar="[LOGDIR | NAME=LOGDIR...]")
@click.option("--logdir", metavar="PATH", help="Directory with event files, at any depth.")
@click.option(
    "--logdir_spec", metavar="SPEC",
    help="Several directories, as name:path,name:path. The names are put before those of the runs.",
)  # fmt: skip
@click.option(
    "--index", metavar="PATH",
    help=f"Show the runs of an index, which `tbcore index` makes. Needs {INSTALL[INDEX, 'index']}.",
)  # fmt: skip
@click.option("--host", metavar="ADDR", help="Address to listen on.  [default: localhost]")
@click.option("--bind_all", is_flag=True, help="Listen on all addresses; requires a token.")
@click.option(
    "--port", metavar="PORT", type=_port,
    help="Port to listen on; 0 for any free port.  [default: 6006, or the next free port]",
)  # fmt: skip
@click.option(
    "--path_prefix", metavar="PATH", default="", type=_path_prefix,
    help="Path at which the server is reached, such as /runs.",
)  # fmt: skip
@click.option(
    "--secret_prefix", metavar="FILE",
    help="Serve below a secret path, which FILE contains; makes FILE if it is missing.",
)  # fmt: skip
@click.option(
    "--uds", metavar="PATH", help="Listen on a unix socket in place of a port, for this user only."
)
@click.option(
    "--allowed_host", "allowed_hosts", metavar="NAME", multiple=True, type=_allowed_host,
    help="Additional host name of the server, such as that of a proxy; * for any. Repeatable.",
)  # fmt: skip
@click.option(
    "--embed_in", metavar="ORIGIN", multiple=True, type=_origin,
    help="Origin whose pages may show the page in a frame. Needs --secret_prefix. Repeatable.",
)  # fmt: skip
@click.option(
    "--token", metavar="TOKEN", type=_token,
    help="Secret of all requests; else a random one.",
)  # fmt: skip
@click.option(
    "--read_token", metavar="TOKEN", type=_token,
    help="Secret of those who may only read.",
)  # fmt: skip
@click.option("--no_token", is_flag=True, help="Allow all requests without a token.")
@click.option(
    "--reload_interval", metavar="SECONDS", type=_seconds,
    help="Pause between two scans for new data; 0 to scan only once.  "
         "[default: 5; of remote directories 30 to 600]",
)  # fmt: skip
@click.option(
    "--samples_per_plugin", metavar="NAME=N,...", default="", type=_samples_per_plugin,
    help="Maximum items of a tag in a response, by plugin; 0 for all.",
)  # fmt: skip
@click.option(
    "--set", "plugin_values", metavar="NAME.KEY=VALUE", multiple=True,
    callback=lambda context, parameter, texts: _plugin_values(texts),
    help="Set an option of a plugin; `tbcore plugins NAME` lists its options. Repeatable.",
)  # fmt: skip
@click.option(
    "--no_plugin", "without_plugins", metavar="NAME", multiple=True,
    help="Do not load this plugin. Repeatable.",
)  # fmt: skip
@click.option(
    "--max_points", metavar="N", default="0", type=whole_number,
    help="Maximum points of a scalar tag in memory; 0 for all.",
)  # fmt: skip
@click.option(
    "--purge_orphaned_data", metavar="BOOL", default="true", type=_true_or_false,
    help="When a job restarts from a checkpoint, drop the old data of the steps that it repeats."
    "  [default: true]",
)  # fmt: skip
@click.option("--window_title", metavar="TEXT", default="", help="Title of the browser window.")
@click.option(
    "--api", type=click.Choice(["plugin", "legacy"]), default="plugin",
    help="Content of data/runs: a list of names, or the index for clients of TensorFlow 1.2 and "
    "older.  [default: plugin]",
)  # fmt: skip
@click.option(
    "--exit_when_idle", metavar="TIME", type=_idle,
    help="End after nobody has asked for data for this long, such as 30m, 8h or 2d.",
)  # fmt: skip
@click.option(
    "--exit_with_parent", is_flag=True,
    callback=lambda context, parameter, is_given: _parent() if is_given else None,
    help="End after the program that started the server has ended.",
)  # fmt: skip
@click.option(
    "--log_format", type=click.Choice(["plain", "json"]), default="plain",
    help="Form of the log lines.  [default: plain]",
)  # fmt: skip
@click.option(
    "--formats", metavar="NAME,...", default="",
    help="Other programs' logs: none, all, or names.",
)  # fmt: skip
@click.option(
    "--notes", type=click.Choice(["off", "read", "write"]), default="write",
    help="What the page may do with notes.  [default: write]",
)  # fmt: skip
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
@plugins_dir_option
@click.option(
    "--dev", is_flag=True,
    help="For plugin authors: reload edited plugins, show tracebacks. "
         f"Needs {INSTALL[DEV, 'dev']}.",
)  # fmt: skip
@click.pass_context
def serve_command(
    context: click.Context,
    /,
    *,
    directories: tuple[str, ...],
    logdir: str | None,
    logdir_spec: str | None,
    **options: Any,
) -> int:
    """Serve the runs below LOGDIR, or below several, to a browser.

    Options may be written with - or with _, and set by variables such as TBCORE_PORT.
    """
    from tbcore.eventfiles.logdir import logdirs_here

    logdirs = [text for text in (*directories, logdir, logdir_spec) if text is not None]
    if not logdirs and not options["index"] and (found := logdirs_here()):
        where = f"{found[0]} (found: {', '.join(found)})"
        click.echo(f"{program()}: no log directory given; serving {where}", err=True)
        logdirs = found[:1]
    if not "".join(logdirs) and not options["index"]:
        if context.parent and context.parent.invoked_subcommand is None:
            click.echo(context.parent.get_help())
        here = "" if logdirs else ", and no logs found here"
        raise click.UsageError(f"no log directory given{here}; try `{program()} runs/`", context)
    if options["embed_in"] and not options["secret_prefix"]:
        # A frame of another site has no cookie, so a secret path takes its place.
        raise click.UsageError("--embed_in needs --secret_prefix FILE", context)
    secrets = ("token", "no_token", "secret_prefix", "uds")
    if "*" in options["allowed_hosts"] and not any(options[name] for name in secrets):
        raise click.UsageError(
            "--allowed_host '*' lets any page in your browser read the logs; "
            "it needs TBCORE_TOKEN, --secret_prefix or --uds, or else --no_token if what "
            "stands in front of the server asks who is there", context,
        )  # fmt: skip
    for name in ("token", "read_token"):
        variable = f"{_PREFIX}{name.upper()}"
        if os.environ.get(variable) == "" and not (options[name] or options["no_token"]):
            # click takes an empty variable for none, and the server would be open to all users.
            raise click.UsageError(f"{variable} is empty; set it to a token, or unset it", context)
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            warn(f"other users can see --{name} in the list of processes; set {variable} instead")
    _warn_about_variables(context.command)
    specs = []
    first, *others = map(os.path.expanduser, logdirs or [options["index"]])
    if logdirs:
        specs = logdir_specs(first, context, *others, is_spec=logdir_spec is not None)

    with _collector_disabled():
        _import_numpy()
        from dataclasses import fields

        from tbcore.eventfiles.addresses import without_passwords
        from tbcore.plugins.config import Config
        from tbcore.server.serve import ServeOptions, serve

        # Each option has the name of a field of ServeOptions or, if there is none, of Config.
        names = {field.name for field in fields(ServeOptions)} & options.keys()
        given = {name: options.pop(name) for name in names}
        serve_options = ServeOptions(specs=specs, **given)
        try:
            config = Config(
                logdir=without_passwords(",".join([first, *others])), program=program(), **options
            )
            return serve(config, serve_options)
        except TbcoreError as error:
            error.args = (as_typed(context, str(error)),)
            raise


for parameter in serve_command.params:
    # The two others load code, which a variable that somebody else set must not do.
    if isinstance(parameter, click.Option) and parameter.name not in ("plugins_dirs", "dev"):
        parameter.envvar = f"{_PREFIX}{parameter.opts[0].strip('-').upper()}"


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
