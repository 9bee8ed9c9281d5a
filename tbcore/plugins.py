"""Plugins: finds, imports, checks and calls them, and isolates their errors.

`find` lists the sources of plugins, `load` imports each plugin and calls its `plugin_info`, and
`mount` calls its `routes` for one server. `load` and `mount` return failed plugins, too, with the
reason as one line in `error`. They raise a plugin's exception only if the plugin is `strict`, or if
the exception is Ctrl-C.
"""

from __future__ import annotations

import inspect
import logging
import os
import re
import signal
import sys
import threading
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from tbcore import __version__, hookspecs
from tbcore.config import Config, PluginOptions
from tbcore.errors import OptionError, PluginError, did_you_mean
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.hookspecs import PLUGIN_API, LegacyApi, PluginInfo
from tbcore.kinds import Claim
from tbcore.options import MAX_INT, VARIABLE_PREFIX, OptionValue, validate, variable_prefix
from tbcore.plugin_stats import PluginStats, without_paths
from tbcore.sources import Source, canonical_name, in_folder, installed
from tbcore.tuning import Tuning, default_tuning

if TYPE_CHECKING:
    from starlette.routing import Route

    from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

HOOKS = ("plugin_info", "is_active", "routes", "legacy_api")
NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]*")
"""What a plugin's name must match. Addresses contain it, and there a leading `.` has a meaning."""
RESERVED_NAME = "plugins"
"""A name that no plugin may have: in the page's address it is the page about all plugins."""

CORE_FOLDER = str(Path(__file__).parent) + os.sep
ONLY_VARIABLE = "TBCORE_PLUGINS"
"""Environment variable with the names of the only installed plugins to import."""
TRACE_VARIABLE = "TBCORE_TRACE_HOOKS"
"""Environment variable that makes each call of a hook print its result to stderr."""
_UNKNOWN_FIELD = "got an unexpected keyword argument"
"""Part of Python's message about a field that this version of `PluginInfo` does not have."""
VERSION_MARK = "~"
"""First character of the part of an address that is a version."""
FIELDS = frozenset(
    {
        *(field.name for field in Summary.Value.DESCRIPTOR.oneofs_by_name["value"].fields),
        *("", "graph_def", "meta_graph_def", "tagged_run_metadata"),
    }
)
"""All values of `Kind.field`; a claim with any other field could never match."""

MAX_TITLE_CHARACTERS = 100
MAX_REASON_CHARACTERS = 500
"""Maximum number of characters of an exception's text that a message of tbcore quotes."""


class Outcome(NamedTuple):
    """The result of calling a plugin's code: its value, or the exception it raised."""

    value: Any = None
    error: BaseException | None = None


def attempt(function: Callable[..., Any], *arguments: Any, **options: Any) -> Outcome:
    """Calls a plugin's code and returns any exception it raises, even SystemExit."""
    try:
        return Outcome(value=function(*arguments, **options))
    except BaseException as error:
        return Outcome(error=error)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, as opposed to a KeyboardInterrupt that a plugin's own code raises."""


@contextmanager
def _startup_watchdog(plugin: LoadedPlugin) -> Iterator[None]:
    """Logs a warning if the plugin's code inside the `with` block delays the start for long."""
    timer = threading.Timer(plugin.tuning.slow_call_seconds, _warn_slow, [plugin])
    timer.daemon = True
    # The warning is left out where the system allows no more threads.
    attempt(timer.start)
    try:
        with _ctrl_c_as_interrupted():
            yield
    finally:
        timer.cancel()


def _warn_slow(plugin: LoadedPlugin) -> None:
    logger.warning(
        "plugin %r has been starting for %.0f s and delays the server; "
        "use --no_plugin %s to start without it",
        plugin.name, plugin.tuning.slow_call_seconds, plugin.name,
    )  # fmt: skip


@contextmanager
def _ctrl_c_as_interrupted() -> Iterator[None]:
    """Makes Ctrl-C raise Interrupted inside the `with` block instead of KeyboardInterrupt."""
    previous_handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous_handler):
        # Only the main thread receives Ctrl-C, and only a handler turns it into an exception.
        yield
        return

    def handle(sig: int, frame: FrameType | None) -> None:
        try:
            previous_handler(sig, frame)
        except KeyboardInterrupt as error:
            raise Interrupted from error

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def describe(error: BaseException) -> str:
    """An exception as one line, such as `ImportError: no module named 'x'`."""
    # Not at the top: few uses of this module need anything of HTTP.
    from tbcore.http.json import printable_line

    text = attempt(str, error).value or ""
    line = printable_line(" ".join(text.split()))
    return f"{type(error).__name__}: {_shortened(line)}" if line else type(error).__name__


def _shortened(line: str, length: int = MAX_REASON_CHARACTERS) -> str:
    return line if len(line) <= length else f"{line[:length]}..."


@dataclass(eq=False)
class LoadedPlugin:
    """One plugin that was found: a working, a failed or a disabled one."""

    name: str
    distribution: str
    """Name and version of an installed plugin, such as `tbcore-hello 0.1.0`; the path of a plugin
    in a folder; "" for an object that was passed to `load_plugins`."""
    info: PluginInfo | None = None
    """The result of `plugin_info`; None if the plugin failed before or in that hook."""
    error: str | None = None
    """Why the plugin failed, in one line that names it; None if it works."""
    disabled_by: str | None = None
    """What disabled the plugin, such as the option `--no_plugin`; None if it is enabled."""
    traceback: str = ""
    """The traceback of the error, starting in the plugin's own code, for the plugin's author."""
    package: str = ""
    """Name of the plugin's top-level package or module."""
    folder: Path | None = None
    """The folder of the plugin's package; None if the plugin is not on disk."""
    source: Source | None = field(default=None, repr=False)
    version: str = ""
    """With `--dev`, a version that changes when the plugin's files do, and that is part of their
    addresses; else ""."""
    dev: bool = False
    """Whether the server runs with `--dev`, which shows tracebacks to the plugin's author."""
    strict: bool = False
    """Whether the plugin's exceptions are raised instead of recorded, for tests."""
    tuning: Tuning = field(default_factory=default_tuning, repr=False)
    stats: PluginStats = field(init=False, repr=False)
    _hooks: pluggy.HookRelay | None = field(default=None, repr=False)
    _implemented: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        self.stats = PluginStats(
            self.name,
            dev=self.dev,
            log_window_seconds=self.tuning.log_window_seconds,
            traceback_of=traceback_of,
        )

    @property
    def distribution_name(self) -> str:
        """The name of the distribution without its version, normalized as in PEP 503."""
        return canonical_name(self.distribution.partition(" ")[0])

    def source_label(self, *, whole_path: bool) -> tuple[str, str]:
        """Where the plugin comes from, as a pair of strings.

        For an installed plugin, the pair is the name and the version of its distribution. For a
        plugin in a folder, the first string is its path, or without `whole_path` only the last
        part of the path, and the second is "".
        """
        if self.source is None or self.source.is_installed:
            distribution, _, version = self.distribution.rpartition(" ")
            return distribution, version
        return self.distribution if whole_path else Path(self.distribution).name, ""

    def redact_paths(self, line: str) -> str:
        """The line with each path shortened to its last part; with `--dev`, the line as it is."""
        return line if self.dev else without_paths(line)

    @property
    def title(self) -> str:
        return self.info.title if self.info else self.name

    @property
    def order(self) -> int:
        return self.info.order if self.info else PluginInfo(title="").order

    @property
    def module(self) -> PurePosixPath | None:
        """Path of the ES module relative to the plugin's folder; None if the plugin has no tab."""
        if self.info is None or self.info.module is None:
            return None
        if self._is_one_file:
            return PurePosixPath(self.source.front_end if self.source else "")
        return PurePosixPath(self.info.module)

    @property
    def _is_one_file(self) -> bool:
        """Whether the plugin is a single Python file, with its ES module in the same folder."""
        is_default = self.info is not None and self.info.module == PluginInfo(title="").module
        return is_default and self.source is not None and bool(self.source.front_end)

    @property
    def static_folder(self) -> Path | None:
        """The folder with the ES module and the other files to serve; None without a module."""
        if self.module is None or self.folder is None:
            return None
        return self.folder / self.module.parent

    @property
    def module_address(self) -> str | None:
        """Address of the ES module relative to the server's root; None if there is none to load."""
        if self.error or self.module is None:
            return None
        # Modules import each other by relative addresses, so a new version reloads all of them.
        folder = f"{VERSION_MARK}{self.version}/" if self.version else ""
        return f"static/plugins/{self.name}/{folder}{self.module.name}"

    def serves(self, path: str) -> bool:
        """Whether a path below the static folder belongs to this plugin.

        A plugin that is a single file `name.py` shares its folder with other plugins: only files
        such as `name.js` and `name.css` belong to it.
        """
        if not self._is_one_file or self.module is None:
            return True
        return path.startswith(f"{self.module.stem}.") and "/" not in path

    def has_module_file(self) -> bool:
        """Whether the file of the ES module exists."""
        return bool(self.folder and self.module and (self.folder / self.module).is_file())

    def implements(self, hook: str) -> bool:
        return hook in self._implemented

    def call(self, hook: str, **arguments: Any) -> Any:
        """Calls this plugin's implementation of a hook and returns its result.

        None if the plugin does not implement the hook. Raises what the hook raises.
        """
        # Each plugin has a registry of its own, so a call cannot reach another plugin.
        caller = getattr(self._hooks, hook)
        with self.stats.measure(hook) as call:
            outcome = attempt(caller, **arguments)
        if TRACE_VARIABLE in os.environ:
            result = describe(outcome.error) if outcome.error else repr(outcome.value)
            duration = f"({1000 * call.seconds:.1f} ms)"
            print(f"{self.name}.{hook}: {result[:200]} {duration}", file=sys.stderr, flush=True)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value


Plugins = list[LoadedPlugin]
"""All plugins, sorted by name: working, failed and disabled ones. If several enabled plugins have
the same name, only the first of them is used."""


@dataclass(frozen=True)
class MountedPlugin:
    """A plugin with its options and routes for one server."""

    plugin: LoadedPlugin
    options: PluginOptions = field(default_factory=PluginOptions)
    routes: Sequence[Route] = ()
    legacy: LegacyApi = field(default_factory=LegacyApi)
    error: str | None = None
    """Why the plugin failed while it was loaded or mounted, in one line; None if it works."""
    traceback: str = ""
    """The traceback of the error, starting in the plugin's own code."""


def load_plugins(
    *,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    extra: Mapping[str, object] | None = None,
    folders: Sequence[str] = (),
    dev: bool = False,
    strict: bool = False,
    tuning: Tuning | None = None,
) -> Plugins:
    """Imports and checks the installed plugins in `only`, and all plugins in `folders`.

    If `only` is None, the environment variable TBCORE_PLUGINS names the installed plugins; if the
    variable is not set, all are imported. `extra` maps names to further plugins, which are modules
    or objects.

    Disabled plugins are returned without being imported, and `disabled_by` says why. A plugin is
    disabled if it is in `without`, if it is installed and TBCORE_PLUGINS does not name it, or if it
    is installed and a plugin in `folders` has the same name.

    With `strict`, errors are raised instead of recorded, now and in later calls of hooks.
    """
    sources = find(only=only, without=without, extra=extra, folders=folders, strict=strict)
    return load(sources, dev=dev, strict=strict, tuning=tuning)


def find(
    *,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    extra: Mapping[str, object] | None = None,
    folders: Sequence[str] = (),
    strict: bool = False,
) -> list[Source]:
    """Sources of the plugins that `load_plugins` returns for these arguments; imports nothing."""
    names_to_import = only
    if only is None and ONLY_VARIABLE in os.environ:
        listed = os.environ[ONLY_VARIABLE].split(",")
        names_to_import = [name.strip() for name in listed if name.strip()]
    found: list[Source] = [
        Source(name, "", partial(_identity, subject)) for name, subject in (extra or {}).items()
    ]
    # TBCORE_PLUGINS limits only installed plugins. Plugins in `folders` are always loaded.
    from_folders = [source for folder in folders for source in in_folder(Path(folder))]
    found += from_folders
    # An empty `only` means no installed plugins, not even disabled ones.
    if only is None or only:
        replacements = {source.name: source for source in reversed(from_folders)}
        all_installed = installed(strict=strict)
        for source in all_installed:
            replacement = replacements.get(source.name)
            if replacement is not None:
                reason = (
                    f"replaced by {replacement}, which has the same name and is in --plugins_dir"
                )
                found.append(source._replace(disabled_by=reason))
            elif names_to_import is None or source.name in names_to_import:
                found.append(source)
            elif only is None:
                found.append(source._replace(disabled_by=f"not listed in {ONLY_VARIABLE}"))
        found += _not_installed(names_to_import or (), [*from_folders, *all_installed])
    return [source._replace(disabled_by="--no_plugin") if source.name in without else source
            for source in found]  # fmt: skip


def load(
    sources: Sequence[Source],
    *,
    keep: Sequence[LoadedPlugin] = (),
    dev: bool = False,
    strict: bool = False,
    tuning: Tuning | None = None,
) -> Plugins:
    """Imports and checks the plugins of all sources.

    A plugin in `keep` was loaded before. It is not imported again, but returned as it is.
    """
    kept = {plugin.source.key: plugin for plugin in keep if plugin.source}
    first_of_name: dict[str, Source] = {}
    plugins: Plugins = []
    for source in sources:
        first = source if source.disabled_by else first_of_name.setdefault(source.name, source)
        plugin = kept.get(source.key)
        if plugin is None:
            plugin = LoadedPlugin(
                source.name,
                source.distribution,
                disabled_by=source.disabled_by or None,
                source=source,
                dev=dev,
                strict=strict,
                tuning=tuning or default_tuning(),
            )
        if source.key not in kept and not source.disabled_by:
            try:
                if first is not source:
                    raise PluginError(
                        f"plugin {source.name!r} is defined by {first} and by {source}; "
                        f"the first is used; "
                        f"{'uninstall' if source.is_installed else 'remove'} one of them"
                    )
                with _startup_watchdog(plugin):
                    _load(plugin, source)
            except BaseException as error:
                # Not Exception: an import may raise SystemExit.
                where = " in plugin_info" if plugin._hooks is not None else ""
                plugin.error, plugin.traceback = _record_failure(plugin, error, where)
        plugins.append(plugin)
    return sorted(plugins, key=lambda plugin: plugin.name)


def mount(plugin: LoadedPlugin, multiplexer: Multiplexer, config: Config) -> MountedPlugin:
    """Returns a plugin with its options and its routes for one server.

    Raises OptionError if the user set an option that the plugin does not have, or a value that is
    not valid.
    """
    if plugin.error or plugin.info is None:
        return MountedPlugin(plugin, error=plugin.error, traceback=plugin.traceback)
    options = PluginOptions(
        samples=config.samples_per_plugin.get(plugin.name, plugin.info.samples),
        values=_option_values(plugin, config),
    )
    hook = ""
    try:
        routes: Sequence[Route] = ()
        legacy = LegacyApi()
        with _startup_watchdog(plugin):
            if plugin.implements(hook := "routes"):
                routes = _checked_routes(
                    plugin.name, hook, plugin.call(hook, multiplexer=multiplexer, options=options)
                )
            if plugin.implements(hook := "legacy_api"):
                legacy = _checked_legacy_api(
                    plugin.name, plugin.call(hook, multiplexer=multiplexer, options=options)
                )
    except BaseException as error:
        line, text = _record_failure(plugin, error, f" in {hook}")
        return MountedPlugin(plugin, options, error=line, traceback=text)
    return MountedPlugin(plugin, options, routes, legacy)


def mount_all(
    plugins: Plugins,
    multiplexer: Multiplexer,
    config: Config,
    *,
    keep: Sequence[MountedPlugin] = (),
) -> list[MountedPlugin]:
    """Mounts all enabled plugins and returns them, sorted by name.

    Plugins in `keep` were mounted before, and are returned as they are. For an option that is not
    valid, OptionError is raised if `keep` is empty, as it is when a server starts; otherwise the
    option's plugin fails.
    """
    enabled = {plugin.name: plugin for plugin in reversed(plugins) if plugin.disabled_by is None}
    kept = {m.plugin.name: m for m in keep}
    mounted = []
    for name in sorted(enabled):
        plugin, mounted_before = enabled[name], kept.get(name)
        if mounted_before is not None and mounted_before.plugin is plugin:
            mounted.append(mounted_before)
            continue
        try:
            mounted.append(mount(plugin, multiplexer, config))
        except OptionError as error:
            if not keep:
                raise
            line = f"plugin {name!r}: {error}"
            logger.error("%s", line)
            mounted.append(MountedPlugin(plugin, error=line))
    return mounted


def check_settings(plugins: Plugins, config: Config) -> None:
    """Raises OptionError if `--set` names a plugin that does not exist.

    For an environment variable that names no option, it only logs a warning: the variable may be
    meant for another installation. It does not check the variables of plugins that failed or are
    disabled, since their options are unknown.
    """
    names = {plugin.name for plugin in plugins}
    for name, values in config.plugin_values.items():
        if name not in names:
            key = next(iter(values), "key")
            raise OptionError(
                f"--set {name}.{key}: no plugin {name!r} is installed{did_you_mean(name, names)}"
                f"{_list_of('installed', sorted(names))}"
            )
    known = {
        option.variable(plugin.name): plugin
        for plugin in plugins
        if plugin.info
        for option in plugin.info.options
    }
    skipped_prefixes = tuple(variable_prefix(plugin.name) for plugin in plugins if not plugin.info)
    for variable in sorted(os.environ):
        if not variable.startswith(VARIABLE_PREFIX) or variable in known:
            continue
        if not variable.startswith(skipped_prefixes):
            logger.warning(
                "the environment variable %s matches no option of an installed plugin%s%s",
                variable,
                did_you_mean(variable, known),
                _list_of("available", sorted(known)),
            )


def _option_values(plugin: LoadedPlugin, config: Config) -> dict[str, OptionValue]:
    """All options of a plugin by name: from `--set`, else from the environment, else defaults."""
    declared = {option.name: option for option in plugin.info.options} if plugin.info else {}
    given = config.plugin_values.get(plugin.name, {})
    for key in given:
        if key not in declared:
            raise OptionError(
                f"--set {plugin.name}.{key}: plugin {plugin.name!r} has no option {key!r}"
                f"{did_you_mean(key, declared)}{_list_of('options', list(declared))}"
            )
    values: dict[str, OptionValue] = {}
    for key, option in declared.items():
        variable = option.variable(plugin.name)
        if key in given:
            text, where = given[key], f"--set {plugin.name}.{key}"
        elif variable in os.environ:
            text, where = os.environ[variable], variable
        else:
            values[key] = option.default
            continue
        try:
            values[key] = option.value(text)
        except (ValueError, OverflowError):
            raise OptionError(f"{where}: {text!r} is not valid; expected {option.wanted}") from None
    return values


def listed_options(mounted: MountedPlugin) -> list[dict[str, Any]]:
    """The options of a plugin as JSON data, for lists of the installed plugins."""
    info = mounted.plugin.info
    return [
        {
            "name": option.name,
            "type": option.type.__name__,
            "value": mounted.options.values[option.name],
            "default": option.default,
            "help": option.help,
            "wanted": option.wanted,
        }
        for option in (info.options if info else ())
        if option.name in mounted.options.values
    ]


def _list_of(label: str, names: Sequence[str]) -> str:
    return f"; {label}: {', '.join(names) or 'none'}"


def _record_failure(plugin: LoadedPlugin, error: BaseException, where: str) -> tuple[str, str]:
    """Logs an exception of a plugin, and returns it as one line and as a traceback.

    Raises it again if the plugin is strict, or if it is Ctrl-C.
    """
    if plugin.strict or isinstance(error, Interrupted):
        raise error
    if isinstance(error, PluginError):
        # The core raised this error, and its message is complete without hook and traceback.
        line = str(error)
        logger.error("%s", line)
    else:
        line = f"plugin {plugin.name!r} failed{where}: {describe(error)}"
        logger.error("%s", line, exc_info=error)
    plugin.stats.record_failure(where.removeprefix(" in ") or "start", line, error)
    return line, "" if isinstance(error, PluginError) else traceback_of(error)


def traceback_of(error: BaseException) -> str:
    """The traceback as text, starting in the plugin's own code."""
    frames = error.__traceback__
    while frames is not None and _is_caller_of_plugins(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    formatter = traceback.TracebackException(type(error), error, frames)
    return "".join(attempt(formatter.format).value or ()).rstrip()


def _is_caller_of_plugins(file: str) -> bool:
    """Whether a file belongs to what calls plugins: tbcore, Python's import system and others."""
    is_library = any(f"{os.sep}{name}{os.sep}" in file for name in ("pluggy", "asyncio"))
    return is_library or file.startswith((CORE_FOLDER, "<frozen importlib"))


def _not_installed(only: Sequence[str], available: Sequence[Source]) -> Iterator[Source]:
    """Yields, for each name in `only` that is not available, a source that fails when loaded."""
    names = sorted({source.name for source in available})
    for name in dict.fromkeys(only):
        if name not in names:

            def fail(name: str = name) -> object:
                raise PluginError(
                    f"plugin {name!r} is not installed; "
                    f"installed: {', '.join(map(repr, names)) or 'none'}"
                )

            yield Source(name, "", fail)


def _load(plugin: LoadedPlugin, source: Source) -> None:
    """Imports a plugin and fills in its fields; raises at the first error."""
    name = plugin.name
    if not NAME.fullmatch(name):
        raise PluginError(
            f"plugin {name!r}: the name is not valid, since it is part of addresses; "
            f"expected a-z, 0-9, '_', '-' and '.', and no '.' at the start"
        )
    if name == RESERVED_NAME:
        raise PluginError(f"plugin {name!r}: the name is reserved for the page about all plugins")
    with plugin.stats.measure("import"):
        # The module or object that implements the hooks.
        subject = source.load()
    manager = pluggy.PluginManager("tbcore")
    manager.add_hookspecs(hookspecs)
    try:
        plugin._implemented = frozenset(_checked_hooks(name, subject, manager))
    except PluginError as error:
        # An unknown hook may belong to another version of the plugin API.
        info = attempt(lambda: subject.plugin_info()).value  # type: ignore[attr-defined]
        raise _api_error(plugin, info) or error from None
    manager.register(subject, name)
    plugin._hooks = manager.hook
    described = attempt(plugin.call, "plugin_info")
    if isinstance(described.error, TypeError) and _UNKNOWN_FIELD in str(described.error):
        raise PluginError(
            f"plugin {name!r} failed in plugin_info: {describe(described.error)}; if the plugin "
            f"needs a newer version than tbcore {__version__}, upgrade tbcore-server"
        ) from described.error
    if described.error is not None:
        raise described.error
    plugin.info = _checked_info(plugin, described.value)
    module_name = _module_name(subject, source.module)
    plugin.package = module_name.partition(".")[0]
    plugin.folder = _folder(subject, module_name)
    if plugin.static_folder and not plugin.has_module_file():
        logger.warning(
            "plugin %r: the module %r does not exist, so the plugin's tab will show an error",
            name,
            str(plugin.module),
        )


def _identity(subject: object) -> object:
    return subject


def _checked_hooks(name: str, subject: object, manager: pluggy.PluginManager) -> list[str]:
    """The hooks that a plugin implements; raises PluginError for a hook that cannot be called.

    pluggy checks this as well, but finds unknown hooks only after all plugins are registered, and
    its messages do not list what is allowed.
    """
    implemented = []
    for attribute in dir(subject):
        marker = manager.parse_hookimpl_opts(subject, attribute)
        if marker is None:
            continue
        hook = marker.get("specname") or attribute
        if hook not in HOOKS:
            raise PluginError(
                f"plugin {name!r}: there is no hook {hook!r}; "
                f"the hooks are {', '.join(HOOKS)}{did_you_mean(hook, HOOKS)}"
            )
        if inspect.iscoroutinefunction(getattr(subject, attribute)):
            # The coroutine itself would be the result, so is_active would always be true.
            raise PluginError(
                f"plugin {name!r}: hook {hook!r} is async; hooks must be plain functions, only "
                f"handlers of routes may be async"
            )
        allowed = list(inspect.signature(getattr(hookspecs, hook)).parameters)
        for parameter in inspect.signature(getattr(subject, attribute)).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            is_known = parameter.name in allowed
            has_default = parameter.default is not parameter.empty
            if is_known and has_default:
                raise PluginError(
                    f"plugin {name!r}: argument {parameter.name!r} of hook {hook!r} must not have "
                    f"a default, which would replace the value that tbcore passes"
                )
            if not is_known and not has_default:
                close = did_you_mean(parameter.name, allowed)
                raise PluginError(
                    f"plugin {name!r}: hook {hook!r} has no argument {parameter.name!r}; its "
                    f"arguments are {', '.join(allowed) or 'none'}{close}"
                )
        implemented.append(hook)
    if "plugin_info" not in implemented:
        raise PluginError(
            f"plugin {name!r} does not implement the hook 'plugin_info'; "
            f"define it and mark it with @tbcore.hookimpl"
        )
    return implemented


def _api_error(plugin: LoadedPlugin, info: object) -> PluginError | None:
    """The error for a plugin that needs another version of the plugin API, else None."""
    if not isinstance(info, PluginInfo) or info.api == PLUGIN_API:
        return None
    if type(info.api) is not int:
        return PluginError(
            f"plugin {plugin.name!r}: PluginInfo.api must be an int, such as {PLUGIN_API}, "
            f"got {_shortened(repr(info.api), 100)}"
        )
    is_newer = info.api > PLUGIN_API
    source = f" ({plugin.distribution})" if plugin.distribution else ""
    return PluginError(
        f"plugin {plugin.name!r}{source} needs plugin API {info.api!r}, but "
        f"tbcore {__version__} has {PLUGIN_API}; upgrade "
        f"{'tbcore-server' if is_newer else plugin.distribution.partition(' ')[0] or plugin.name}"
    )


def _checked_info(plugin: LoadedPlugin, info: object) -> PluginInfo:
    """The result of `plugin_info`; raises PluginError for the first field that is not valid."""
    name = plugin.name
    if not isinstance(info, PluginInfo):
        raise PluginError(
            f"plugin {name!r}: plugin_info returned {type(info).__name__}, not a PluginInfo"
        )
    wrong_api = _api_error(plugin, info)
    if wrong_api is not None:
        # Checked before the other fields, which may differ in another version.
        raise wrong_api
    are_claims = isinstance(info.claims, Sequence) and all(
        isinstance(claim, Claim) for claim in info.claims
    )
    for field_name, is_valid, expected in (
        ("title", _is_title(info.title),
         f"one line of text, at most {MAX_TITLE_CHARACTERS} characters"),
        ("claims", are_claims, "a sequence of Claim"),
        ("samples", _is_int(info.samples) and info.samples >= 0, "an int, 0 or more"),
        ("order", _is_int(info.order), "an int"),
        ("description", isinstance(info.description, str), "a string"),
        ("how_to_log", _are_texts(info.how_to_log), "a mapping of strings to strings"),
        ("options", isinstance(info.options, Sequence), "a sequence of Option"),
        ("module", info.module is None or _is_module_path(info.module),
         "None, or a path such as 'static/index.js': inside the package, in a folder of its own"),
    ):  # fmt: skip
        if not is_valid:
            raise PluginError(
                f"plugin {name!r}: PluginInfo.{field_name} must be {expected}, "
                f"got {_shortened(repr(getattr(info, field_name)), 100)}"
            )
    for claim in info.claims:
        if claim.field is not None and claim.field not in FIELDS:
            raise PluginError(
                f"plugin {name!r}: PluginInfo.claims has the unknown field "
                f"{str(claim.field)[:100]!r}{did_you_mean(str(claim.field), FIELDS)}; "
                f"the fields are {', '.join(sorted(FIELDS - {''}))}"
            )
    names: set[str] = set()
    for option in info.options:
        if wrong := validate(option):
            raise PluginError(
                f"plugin {name!r}: PluginInfo.options must be {_shortened(wrong, 200)}"
            )
        if option.name in names:
            raise PluginError(f"plugin {name!r}: PluginInfo.options has {option.name!r} twice")
        names.add(option.name)
    return info


def _is_title(title: object) -> bool:
    if not isinstance(title, str) or not title.strip() or len(title) > MAX_TITLE_CHARACTERS:
        return False
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in title)


def _is_int(number: object) -> bool:
    """Whether a value is an int that JavaScript, whose numbers are doubles, represents exactly."""
    return type(number) is int and abs(number) <= MAX_INT


def _are_texts(texts: object) -> bool:
    return isinstance(texts, Mapping) and all(
        isinstance(text, str) for pair in texts.items() for text in pair
    )


def _is_module_path(module: object) -> bool:
    """Whether a value is the path of a file in a folder below the package.

    A file next to `__init__.py` is not valid: all files in the folder of the ES module are served,
    and the plugin's Python code must not be.
    """
    if not isinstance(module, str) or "\\" in module:
        return False
    parts = module.split("/")
    return len(parts) > 1 and all(parts) and not any(part.startswith(".") for part in parts)


def _module_name(subject: object, module_name: str) -> str:
    """Name of the plugin's module; for an object, of the module that defines its `plugin_info`."""
    if isinstance(subject, ModuleType):
        return subject.__name__
    return module_name or getattr(getattr(subject, "plugin_info", None), "__module__", "")


def _folder(subject: object, module_name: str) -> Path | None:
    """The folder of a plugin's package; None if the package is not on disk."""
    module = subject if isinstance(subject, ModuleType) else sys.modules.get(module_name)
    paths = list(getattr(module, "__path__", []))
    file = getattr(module, "__file__", None)
    if file:
        return Path(file).absolute().parent
    return Path(paths[0]).absolute() if paths else None


def _checked_routes(name: str, hook: str, routes: Any) -> list[Route]:
    """The routes that a hook returned; raises PluginError for a route that cannot be served."""
    from starlette.routing import Route

    if isinstance(routes, str) or not isinstance(routes, Iterable):
        raise PluginError(
            f"plugin {name!r}: {hook} returned {type(routes).__name__}, not a sequence of Route"
        )
    checked: list[Route] = []
    for route in routes:
        if not isinstance(route, Route):
            raise PluginError(
                f"plugin {name!r}: {hook} returned {type(route).__name__} among its routes; "
                f"expected starlette.routing.Route only"
            )
        path = route.path
        if not path.startswith("/") or "//" in path or (path.endswith("/") and path != "/"):
            raise PluginError(
                f"plugin {name!r}: {hook} has the path {path!r}, which is not valid; expected "
                f"'/' at the start, none at the end, and no two in a row"
            )
        # `app` is a function only if the endpoint is one and no middleware is around it.
        if not inspect.isfunction(route.app):
            raise PluginError(
                f"plugin {name!r}: the endpoint of route {path!r} must be a function, "
                f"and the route must have no middleware"
            )
        for earlier in checked:
            if route.path == earlier.path and (route.methods or set()) & (earlier.methods or set()):
                raise PluginError(
                    f"plugin {name!r}: {hook} has the route {path!r} twice; the second would "
                    f"never be called"
                )
        checked.append(route)
    return checked


def _checked_legacy_api(name: str, legacy: Any) -> LegacyApi:
    """The result of `legacy_api`; raises PluginError if it is not valid."""
    if not isinstance(legacy, LegacyApi):
        raise PluginError(
            f"plugin {name!r}: legacy_api returned {type(legacy).__name__}, not a LegacyApi"
        )
    tag_types = dict(legacy.tag_types)
    for tag_type, function in tag_types.items():
        if not isinstance(tag_type, str) or not callable(function):
            raise PluginError(
                f"plugin {name!r}: tag_types of legacy_api must map names to functions, "
                f"got {tag_type!r}: {function!r}"
            )
    return LegacyApi(
        routes=_checked_routes(name, "legacy_api", legacy.routes),
        tag_types=tag_types,
        bare_routes=_checked_routes(name, "legacy_api", legacy.bare_routes),
    )
