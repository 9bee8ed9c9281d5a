"""Plugins: imported, checked, and called so that a fault of one stays its own.

`find` says which there are, `load` imports each and asks it who it is, `mount` asks one for its
routes. Both return plugins that failed along with the good ones: the reason is one line in `error`.
Nothing that a plugin raises while it is imported or called gets past this module, unless `strict`
asks for it; Ctrl-C does.
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
from tbcore.options import MAX_INT, VARIABLE_PREFIX, OptionValue, fault_of, variable_prefix
from tbcore.plugin_stats import PluginStats, without_paths
from tbcore.sources import Source, in_folder, installed, one_spelling
from tbcore.tuning import Tuning, default_tuning

if TYPE_CHECKING:
    from starlette.routing import Route

    from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

HOOKS = ("plugin_info", "is_active", "routes", "legacy_api")
NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]*")
"""Names are parts of addresses; `.` in front would make some of them special."""
RESERVED_NAME = "plugins"
"""In the address of the page this is the page about all plugins."""

OWN_FOLDER = str(Path(__file__).parent) + os.sep
ONLY_VARIABLE = "TBCORE_PLUGINS"
TRACE_VARIABLE = "TBCORE_TRACE_HOOKS"
_UNKNOWN_FIELD = "got an unexpected keyword argument"
"""What Python says of a field of `PluginInfo` that does not exist here."""
VERSION_MARK = "~"
"""Before a version, as a part of an address."""
FIELDS = frozenset(
    {
        *(field.name for field in Summary.Value.DESCRIPTOR.oneofs_by_name["value"].fields),
        *("", "graph_def", "meta_graph_def", "tagged_run_metadata"),
    }
)
"""What a kind can have as its field: a claim for another would never match anything."""

MAX_TITLE = 100
MAX_REASON = 500
"""Characters of somebody else's message that are repeated in one of ours."""


class Outcome(NamedTuple):
    """What a call of somebody else's code came to: a value, or what it raised."""

    value: Any = None
    error: BaseException | None = None


def attempt(function: Callable[..., Any], *arguments: Any, **options: Any) -> Outcome:
    """Calls code of a plugin and returns what it raised instead of raising it, SystemExit too."""
    try:
        return Outcome(value=function(*arguments, **options))
    except BaseException as error:
        return Outcome(error=error)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. A KeyboardInterrupt that is not this one, code of a plugin has raised by itself."""


@contextmanager
def _starting(plugin: LoadedPlugin) -> Iterator[None]:
    """Code of a plugin runs inside, and the start of the server waits for it."""
    timer = threading.Timer(plugin.tuning.slow_call_seconds, _tell_slow, [plugin])
    timer.daemon = True
    # Without a thread to spare there is no such line.
    attempt(timer.start)
    try:
        with _telling_interrupts():
            yield
    finally:
        timer.cancel()


def _tell_slow(plugin: LoadedPlugin) -> None:
    logger.warning(
        "plugin %r has been starting for %.0f s, and everything waits for it; "
        "--no_plugin %s leaves it out",
        plugin.name, plugin.tuning.slow_call_seconds, plugin.name,
    )  # fmt: skip


@contextmanager
def _telling_interrupts() -> Iterator[None]:
    """Makes Ctrl-C raise Interrupted, where it raises KeyboardInterrupt."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        # Ctrl-C reaches the main thread only, and without a handler it is no exception.
        yield
        return

    def handle(sig: int, frame: FrameType | None) -> None:
        try:
            before(sig, frame)
        except KeyboardInterrupt as error:
            raise Interrupted from error

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def describe(error: BaseException) -> str:
    """An exception in one line, such as `ImportError: no module named 'x'`."""
    # Not at the top: most that is asked of plugins needs nothing of HTTP.
    from tbcore.http import printable_line

    text = attempt(str, error).value or ""
    line = printable_line(" ".join(text.split()))
    return f"{type(error).__name__}: {_shortened(line)}" if line else type(error).__name__


def _shortened(line: str, length: int = MAX_REASON) -> str:
    return line if len(line) <= length else f"{line[:length]}..."


@dataclass(eq=False)
class LoadedPlugin:
    """One plugin after its import, good or failed."""

    name: str
    distribution: str
    """Name and version of what was installed, such as `tbcore-hello 0.1.0`; the path of a plugin
    in a folder; "" for one that was given to `load_plugins` in the process."""
    info: PluginInfo | None = None
    """None when the plugin failed before it could say."""
    error: str | None = None
    """One line that names the plugin, when it failed."""
    off: str | None = None
    """What the user said so that the plugin was not imported, such as `--no_plugin`."""
    traceback: str = ""
    """Where the error was raised, from the plugin's own code on, for whoever writes it."""
    package: str = ""
    """The first part of the name of the plugin's module."""
    folder: Path | None = None
    """Where the plugin's package lies; None when it has no place on disk."""
    source: Source | None = field(default=None, repr=False)
    version: str = ""
    """Part of the address of its files where they may change while a page is open; "" elsewhere."""
    dev: bool = False
    """Whether somebody works on it, who wants to see tracebacks."""
    strict: bool = False
    """Whether its faults are raised instead of being recorded, as tests want it."""
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
        """The name alone, in the one spelling that all of its spellings stand for."""
        return one_spelling(self.distribution.partition(" ")[0])

    def source_label(self, *, whole_path: bool) -> tuple[str, str]:
        """Distribution and version of an installed plugin; of another where it lies, and ""."""
        if self.source is None or self.source.is_installed:
            distribution, _, version = self.distribution.rpartition(" ")
            return distribution, version
        return self.distribution if whole_path else Path(self.distribution).name, ""

    def redact_paths(self, line: str) -> str:
        """A line for who looks at the page, which tells authors only where files lie."""
        return line if self.dev else without_paths(line)

    @property
    def title(self) -> str:
        return self.info.title if self.info else self.name

    @property
    def order(self) -> int:
        return self.info.order if self.info else PluginInfo(title="").order

    @property
    def module(self) -> PurePosixPath | None:
        """The ES module, below the plugin's folder; None for a plugin without a tab."""
        if self.info is None or self.info.module is None:
            return None
        if self._is_one_file:
            return PurePosixPath(self.source.front_end if self.source else "")
        return PurePosixPath(self.info.module)

    @property
    def _is_one_file(self) -> bool:
        """Whether the ES module lies beside a file that is all of the plugin's Python."""
        is_default = self.info is not None and self.info.module == PluginInfo(title="").module
        return is_default and self.source is not None and bool(self.source.front_end)

    @property
    def static_folder(self) -> Path | None:
        """The folder of the plugin's ES module, whose files are served; None without a module."""
        if self.module is None or self.folder is None:
            return None
        return self.folder / self.module.parent

    @property
    def module_address(self) -> str | None:
        """Where the ES module is served, relative to the server's root."""
        if self.error or self.module is None:
            return None
        # Modules import each other by relative addresses, so all of a version are loaded anew.
        folder = f"{VERSION_MARK}{self.version}/" if self.version else ""
        return f"static/plugins/{self.name}/{folder}{self.module.name}"

    def serves(self, path: str) -> bool:
        """Whether a file below the static folder is this plugin's: others may lie beside it."""
        if not self._is_one_file or self.module is None:
            return True
        return path.startswith(f"{self.module.stem}.") and "/" not in path

    def has_module_file(self) -> bool:
        """Whether the ES module is there on disk."""
        return bool(self.folder and self.module and (self.folder / self.module).is_file())

    def implements(self, hook: str) -> bool:
        return hook in self._implemented

    def call(self, hook: str, **arguments: Any) -> Any:
        """Calls this plugin's implementation of a hook and lets through what it raises.

        None when the plugin does not implement it.
        """
        # A registry holds one plugin: a call cannot reach another one's implementation.
        caller = getattr(self._hooks, hook)
        with self.stats.measure(hook) as call:
            outcome = attempt(caller, **arguments)
        if TRACE_VARIABLE in os.environ:
            result = describe(outcome.error) if outcome.error else repr(outcome.value)
            took = f"({1000 * call.seconds:.1f} ms)"
            print(f"{self.name}.{hook}: {result[:200]} {took}", file=sys.stderr, flush=True)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value


Plugins = list[LoadedPlugin]
"""All plugins, good, failed and off, sorted by name. Of two with one name the first is in use."""


@dataclass(frozen=True)
class MountedPlugin:
    """A plugin as part of one server."""

    plugin: LoadedPlugin
    options: PluginOptions = field(default_factory=PluginOptions)
    routes: Sequence[Route] = ()
    legacy: LegacyApi = field(default_factory=LegacyApi)
    error: str | None = None
    traceback: str = ""


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
    """Imports the installed plugins named by `only` and all that are in `folders`, and checks them.

    None means those that the environment variable TBCORE_PLUGINS names, or all where it is not
    set. Those named by `without`, those that the variable leaves out, and installed ones whose name
    one in a folder has, are there as `off`, and are not imported. `extra` holds plugins that are
    neither, by name: modules or objects. With `strict` the first fault is raised instead of being
    recorded, now and later.
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
    """Where the plugins come from that `load_plugins` imports or leaves out; imports nothing."""
    asked = only
    if only is None and ONLY_VARIABLE in os.environ:
        only = [name.strip() for name in os.environ[ONLY_VARIABLE].split(",") if name.strip()]
    found: list[Source] = [
        Source(name, "", partial(_itself, subject)) for name, subject in (extra or {}).items()
    ]
    # Whoever names a folder wants what is in it.
    in_folders = [source for folder in folders for source in in_folder(Path(folder))]
    found += in_folders
    if asked is None or asked:
        owners = {source.name: source for source in reversed(in_folders)}
        there = installed(strict=strict)
        for source in there:
            owner = owners.get(source.name)
            if owner is not None:
                off = f"{owner} has its name, and --plugins_dir comes first"
                found.append(source._replace(off=off))
            elif only is None or source.name in only:
                found.append(source)
            elif asked is None:
                found.append(source._replace(off=f"{ONLY_VARIABLE} does not name it"))
        found += _not_there(only or (), [*in_folders, *there])
    return [source._replace(off="--no_plugin") if source.name in without else source
            for source in found]  # fmt: skip


def load(
    sources: Sequence[Source],
    *,
    keep: Sequence[LoadedPlugin] = (),
    dev: bool = False,
    strict: bool = False,
    tuning: Tuning | None = None,
) -> Plugins:
    """Imports plugins and checks them, all but those to `keep`, which have been loaded before."""
    loaded = {plugin.source.key: plugin for plugin in keep if plugin.source}
    owners: dict[str, Source] = {}
    plugins: Plugins = []
    for source in sources:
        first = source if source.off else owners.setdefault(source.name, source)
        plugin = loaded.get(source.key)
        if plugin is None:
            plugin = LoadedPlugin(
                source.name,
                source.distribution,
                off=source.off or None,
                source=source,
                dev=dev,
                strict=strict,
                tuning=tuning or default_tuning(),
            )
        if source.key not in loaded and not source.off:
            try:
                if first is not source:
                    raise PluginError(
                        f"plugin {source.name!r} is offered by {first} and by {source}; "
                        f"the first is used, "
                        f"{'uninstall' if source.is_installed else 'remove'} one of them"
                    )
                with _starting(plugin):
                    _load(plugin, source)
            except BaseException as error:
                # SystemExit at import, too.
                where = " in plugin_info" if plugin._hooks is not None else ""
                plugin.error, plugin.traceback = _record(plugin, error, where)
        plugins.append(plugin)
    return sorted(plugins, key=lambda plugin: plugin.name)


def mount(plugin: LoadedPlugin, multiplexer: Multiplexer, config: Config) -> MountedPlugin:
    """Asks a plugin for its routes, for one server.

    Raises OptionError for options of this plugin that make no sense.
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
        with _starting(plugin):
            if plugin.implements(hook := "routes"):
                routes = _checked_routes(
                    plugin.name, hook, plugin.call(hook, multiplexer=multiplexer, options=options)
                )
            if plugin.implements(hook := "legacy_api"):
                legacy = _checked_legacy_api(
                    plugin.name, plugin.call(hook, multiplexer=multiplexer, options=options)
                )
    except BaseException as error:
        line, where = _record(plugin, error, f" in {hook}")
        return MountedPlugin(plugin, options, error=line, traceback=where)
    return MountedPlugin(plugin, options, routes, legacy)


def mount_all(
    plugins: Plugins,
    multiplexer: Multiplexer,
    config: Config,
    *,
    keep: Sequence[MountedPlugin] = (),
) -> list[MountedPlugin]:
    """All plugins that are in use, sorted by name; those to `keep` have been mounted before.

    Options that make no sense any more cost their plugin only, where others are kept.
    """
    in_use = {plugin.name: plugin for plugin in reversed(plugins) if plugin.off is None}
    before = {m.plugin.name: m for m in keep}
    mounted = []
    for name in sorted(in_use):
        plugin, known = in_use[name], before.get(name)
        if known is not None and known.plugin is plugin:
            mounted.append(known)
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
    """Raises OptionError where the user set options of plugins or names that do not exist.

    What is set for a plugin that failed, or is off, may well be right. The environment may be meant
    for another installation, so a name that does not exist is a warning there.
    """
    names = {plugin.name for plugin in plugins}
    for name, values in config.plugin_values.items():
        if name not in names:
            key = next(iter(values), "key")
            raise OptionError(
                f"--set {name}.{key}: there is no plugin {name!r}{did_you_mean(name, names)}"
                f"{_those_are('installed', sorted(names))}"
            )
    known = {
        option.variable(plugin.name): plugin
        for plugin in plugins
        if plugin.info
        for option in plugin.info.options
    }
    unknowable = tuple(variable_prefix(plugin.name) for plugin in plugins if not plugin.info)
    for variable in sorted(os.environ):
        if not variable.startswith(VARIABLE_PREFIX) or variable in known:
            continue
        if not variable.startswith(unknowable):
            logger.warning(
                "the environment variable %s sets no option of an installed plugin%s%s",
                variable,
                did_you_mean(variable, known),
                _those_are("there are", sorted(known)),
            )


def _option_values(plugin: LoadedPlugin, config: Config) -> dict[str, OptionValue]:
    """All options of a plugin: from the command line, else from the environment, else defaults."""
    declared = {option.name: option for option in plugin.info.options} if plugin.info else {}
    given = config.plugin_values.get(plugin.name, {})
    for key in given:
        if key not in declared:
            raise OptionError(
                f"--set {plugin.name}.{key}: plugin {plugin.name!r} has no option {key!r}"
                f"{did_you_mean(key, declared)}{_those_are('it has', list(declared))}"
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
            raise OptionError(f"{where}: {text!r} will not do; needed: {option.wanted}") from None
    return values


def listed_options(mounted: MountedPlugin) -> list[dict[str, Any]]:
    """The options of a plugin for those who look at what is installed, as data for JSON."""
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


def _those_are(what: str, names: Sequence[str]) -> str:
    return f"; {what}: {', '.join(names) or 'none'}"


def _record(plugin: LoadedPlugin, error: BaseException, where: str) -> tuple[str, str]:
    """Logs a failure and returns it as one line and as a traceback.

    Raises it again where it must not be recorded.
    """
    if plugin.strict or isinstance(error, Interrupted):
        raise error
    if isinstance(error, PluginError):
        # Our own words about what the plugin did: where it was found out does not matter.
        line = str(error)
        logger.error("%s", line)
    else:
        line = f"plugin {plugin.name!r} failed{where}: {describe(error)}"
        logger.error("%s", line, exc_info=error)
    plugin.stats.record_failure(where.removeprefix(" in ") or "start", line, error)
    return line, "" if isinstance(error, PluginError) else traceback_of(error)


def traceback_of(error: BaseException) -> str:
    """The traceback without the frames of this package that led to the plugin."""
    frames = error.__traceback__
    while frames is not None and _is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    told = traceback.TracebackException(type(error), error, frames)
    return "".join(attempt(told.format).value or ()).rstrip()


def _is_ours(file: str) -> bool:
    return file.startswith((OWN_FOLDER, "<frozen importlib")) or f"{os.sep}pluggy{os.sep}" in file


def _not_there(only: Sequence[str], there: Sequence[Source]) -> Iterator[Source]:
    names = sorted({source.name for source in there})
    for name in dict.fromkeys(only):
        if name not in names:

            def fail(name: str = name) -> object:
                raise PluginError(
                    f"plugin {name!r} is not installed; "
                    f"installed: {', '.join(map(repr, names)) or 'none'}"
                )

            yield Source(name, "", fail)


def _load(plugin: LoadedPlugin, source: Source) -> None:
    """Fills in a plugin, step by step; raises where one of them fails."""
    name = plugin.name
    if not NAME.fullmatch(name):
        raise PluginError(
            f"plugin {name!r} has a name that cannot be part of an address; "
            f"names are made of a-z, 0-9, '_', '-' and '.', and do not start with '.'"
        )
    if name == RESERVED_NAME:
        raise PluginError(f"no plugin can be named {name!r}: the page about all plugins is")
    with plugin.stats.measure("import"):
        subject = source.load()
    manager = pluggy.PluginManager("tbcore")
    manager.add_hookspecs(hookspecs)
    try:
        plugin._implemented = frozenset(_checked_hooks(name, subject, manager))
    except PluginError as error:
        # Hooks that are not known here may be those of another version.
        info = attempt(lambda: subject.plugin_info()).value  # type: ignore[attr-defined]
        raise _another_api(plugin, info) or error from None
    manager.register(subject, name)
    plugin._hooks = manager.hook
    described = attempt(plugin.call, "plugin_info")
    if isinstance(described.error, TypeError) and _UNKNOWN_FIELD in str(described.error):
        raise PluginError(
            f"plugin {name!r} failed in plugin_info: {describe(described.error)}; if that is a "
            f"field of a newer tbcore than this {__version__}, upgrade tbcore-server"
        ) from described.error
    if described.error is not None:
        raise described.error
    plugin.info = _checked_info(plugin, described.value)
    module = _module_name(subject, source.module)
    plugin.package = module.partition(".")[0]
    plugin.folder = _folder(subject, module)
    if plugin.static_folder and not plugin.has_module_file():
        logger.warning(
            "plugin %r: its module %r is not there, so its tab will show an error",
            name,
            str(plugin.module),
        )


def _itself(subject: object) -> object:
    return subject


def _checked_hooks(name: str, subject: object, manager: pluggy.PluginManager) -> Iterator[str]:
    """Yields the hooks that a plugin implements; raises when one could never be called.

    pluggy would find this out too, but an unknown hook for all plugins together, and without
    saying what is allowed.
    """
    implemented = []
    for attribute in dir(subject):
        marker = manager.parse_hookimpl_opts(subject, attribute)
        if marker is None:
            continue
        hook = marker.get("specname") or attribute
        if hook not in HOOKS:
            raise PluginError(
                f"plugin {name!r} implements a hook {hook!r}, which does not exist; "
                f"the hooks are {', '.join(HOOKS)}{did_you_mean(hook, HOOKS)}"
            )
        if inspect.iscoroutinefunction(getattr(subject, attribute)):
            # What it returns would be taken for an answer, and that of is_active for true.
            raise PluginError(
                f"plugin {name!r}: hook {hook!r} is async; hooks are plain functions, and only "
                f"handlers of routes may be async"
            )
        allowed = list(inspect.signature(getattr(hookspecs, hook)).parameters)
        for parameter in inspect.signature(getattr(subject, attribute)).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            known, has_default = parameter.name in allowed, parameter.default is not parameter.empty
            if known and has_default:
                raise PluginError(
                    f"plugin {name!r}: argument {parameter.name!r} of hook {hook!r} must not have "
                    f"a default, which would be used in place of what tbcore passes"
                )
            if not known and not has_default:
                close = did_you_mean(parameter.name, allowed)
                raise PluginError(
                    f"plugin {name!r}: hook {hook!r} has no argument {parameter.name!r}; its "
                    f"arguments are {', '.join(allowed) or 'none'}{close}"
                )
        implemented.append(hook)
    if "plugin_info" not in implemented:
        raise PluginError(
            f"plugin {name!r} does not implement the hook 'plugin_info'; "
            f"is it there, and marked with @tbcore.hookimpl?"
        )
    return iter(implemented)


def _another_api(plugin: LoadedPlugin, info: object) -> PluginError | None:
    """Why a plugin for another version of the API is refused; None when it is for this one."""
    if not isinstance(info, PluginInfo) or info.api == PLUGIN_API:
        return None
    if type(info.api) is not int:
        return PluginError(
            f"plugin {plugin.name!r}: PluginInfo.api must be an int, as {PLUGIN_API}, "
            f"got {_shortened(repr(info.api), 100)}"
        )
    is_newer = info.api > PLUGIN_API
    source = f" ({plugin.distribution})" if plugin.distribution else ""
    return PluginError(
        f"plugin {plugin.name!r}{source} is written for plugin API {info.api!r}, and "
        f"tbcore {__version__} has {PLUGIN_API}: upgrade "
        f"{'tbcore-server' if is_newer else plugin.distribution.partition(' ')[0] or plugin.name}"
    )


def _checked_info(plugin: LoadedPlugin, info: object) -> PluginInfo:
    name = plugin.name
    if not isinstance(info, PluginInfo):
        raise PluginError(
            f"plugin {name!r}: plugin_info returned {type(info).__name__}, not a PluginInfo"
        )
    for_another = _another_api(plugin, info)
    if for_another is not None:
        # Before anything else: the other fields may mean something else in another version.
        raise for_another
    claims_are_claims = isinstance(info.claims, Sequence) and all(
        isinstance(claim, Claim) for claim in info.claims
    )
    for field_name, is_good, wanted in (
        ("title", _is_title(info.title), f"a text of one line, {MAX_TITLE} characters at most"),
        ("claims", claims_are_claims, "a sequence of Claim"),
        ("samples", _is_int(info.samples) and info.samples >= 0, "an int, 0 or more"),
        ("order", _is_int(info.order), "an int"),
        ("description", isinstance(info.description, str), "a text"),
        ("how_to_log", _are_texts(info.how_to_log), "a mapping of texts to texts"),
        ("options", isinstance(info.options, Sequence), "a sequence of Option"),
        ("module", info.module is None or _is_module_path(info.module),
         "None, or a path such as 'static/index.js': inside the package, in a folder of its own"),
    ):  # fmt: skip
        if not is_good:
            raise PluginError(
                f"plugin {name!r}: PluginInfo.{field_name} must be {wanted}, "
                f"got {_shortened(repr(getattr(info, field_name)), 100)}"
            )
    for claim in info.claims:
        if claim.field is not None and claim.field not in FIELDS:
            raise PluginError(
                f"plugin {name!r}: PluginInfo.claims has the field {str(claim.field)[:100]!r}, "
                f"which no value has{did_you_mean(str(claim.field), FIELDS)}; "
                f"the fields are {', '.join(sorted(FIELDS - {''}))}"
            )
    names: set[str] = set()
    for option in info.options:
        if fault := fault_of(option):
            raise PluginError(
                f"plugin {name!r}: PluginInfo.options must be {_shortened(fault, 200)}"
            )
        if option.name in names:
            raise PluginError(f"plugin {name!r}: PluginInfo.options has {option.name!r} twice")
        names.add(option.name)
    return info


def _is_title(title: object) -> bool:
    if not isinstance(title, str) or not title.strip() or len(title) > MAX_TITLE:
        return False
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in title)


def _is_int(number: object) -> bool:
    """Whether it is an int, and one that the page has, too."""
    return type(number) is int and abs(number) <= MAX_INT


def _are_texts(texts: object) -> bool:
    return isinstance(texts, Mapping) and all(
        isinstance(text, str) for pair in texts.items() for text in pair
    )


def _is_module_path(module: object) -> bool:
    """Whether a path names a file in a folder below the package.

    A file beside `__init__.py` does not do: its whole folder is served.
    """
    if not isinstance(module, str) or "\\" in module:
        return False
    parts = module.split("/")
    return len(parts) > 1 and all(parts) and not any(part.startswith(".") for part in parts)


def _module_name(subject: object, module_name: str) -> str:
    """Of the module that holds a plugin; an object tells by where its hook was defined."""
    if isinstance(subject, ModuleType):
        return subject.__name__
    return module_name or getattr(getattr(subject, "plugin_info", None), "__module__", "")


def _folder(subject: object, module_name: str) -> Path | None:
    """Where the package of a plugin lies."""
    module = subject if isinstance(subject, ModuleType) else sys.modules.get(module_name)
    paths = list(getattr(module, "__path__", []))
    file = getattr(module, "__file__", None)
    if file:
        return Path(file).absolute().parent
    return Path(paths[0]).absolute() if paths else None


def _checked_routes(name: str, where: str, routes: Any) -> list[Route]:
    from starlette.routing import Route

    if isinstance(routes, str) or not isinstance(routes, Iterable):
        raise PluginError(
            f"plugin {name!r}: {where} returned {type(routes).__name__}, not a sequence of Route"
        )
    checked: list[Route] = []
    for route in routes:
        if not isinstance(route, Route):
            raise PluginError(
                f"plugin {name!r}: {where} has {type(route).__name__} among its routes, "
                f"and only starlette.routing.Route will do"
            )
        path = route.path
        if not path.startswith("/") or "//" in path or (path.endswith("/") and path != "/"):
            raise PluginError(
                f"plugin {name!r}: {where} has a bad path {path!r}; a path starts with '/', "
                f"and neither ends with one nor has two in a row"
            )
        # Starlette wraps the endpoint that is a function, and nothing around it, in a function.
        if not inspect.isfunction(route.app):
            raise PluginError(
                f"plugin {name!r}: the endpoint of route {path!r} must be a function, "
                f"without middleware around it"
            )
        for earlier in checked:
            if route.path == earlier.path and (route.methods or set()) & (earlier.methods or set()):
                raise PluginError(
                    f"plugin {name!r}: {where} has the route {path!r} twice, and the second would "
                    f"never be asked"
                )
        checked.append(route)
    return checked


def _checked_legacy_api(name: str, legacy: Any) -> LegacyApi:
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
