"""Plugins: found by entry point, checked, and called so that a fault of one stays its own.

`load_plugins` imports every plugin and asks it who it is; `mount` asks one for its routes. Both
return plugins that failed along with the good ones: the reason is one line in `error`. Nothing that
a plugin does while it is imported or called gets past this module but KeyboardInterrupt, unless
`dev` asks for it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from tbcore import hookspecs
from tbcore.config import Config, PluginOptions
from tbcore.errors import OptionError, PluginError, did_you_mean
from tbcore.hookspecs import PLUGIN_API, LegacyApi, PluginInfo
from tbcore.kinds import Claim
from tbcore.options import VARIABLE_PREFIX, OptionValue, fault_of, variable_prefix

if TYPE_CHECKING:
    from starlette.routing import Route

    from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "tbcore.plugins"
HOOKS = ("plugin_info", "is_active", "routes", "legacy_api")
NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]*")
"""Names are parts of addresses; `.` in front would make some of them special."""

ONLY_VARIABLE = "TBCORE_PLUGINS"
TRACE_VARIABLE = "TBCORE_TRACE_HOOKS"
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


def describe(error: BaseException) -> str:
    """An exception in one line, such as `ImportError: no module named 'x'`."""
    # Not at the top: most that is asked of plugins needs nothing of HTTP.
    from tbcore.http import printable_line

    text = attempt(str, error).value or ""
    line = printable_line(" ".join(text.split()))
    if len(line) > MAX_REASON:
        line = line[:MAX_REASON] + "..."
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


@dataclass(eq=False)
class LoadedPlugin:
    """One plugin after its import, good or failed."""

    name: str
    distribution: str
    """Name and version of what was installed, such as `tbcore-scalars 0.1.0`; "" for a plugin that
    was given to `load_plugins` in the process."""
    info: PluginInfo | None = None
    """None when the plugin failed before it could say."""
    error: str | None = None
    """One line that names the plugin, when it failed."""
    off: str | None = None
    """What the user said so that the plugin was not imported, such as `--no_plugin`."""
    folder: Path | None = None
    """Where the plugin's package lies; None when it has no place on disk."""
    dev: bool = False
    _hooks: pluggy.HookRelay | None = field(default=None, repr=False)
    _implemented: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def distribution_name(self) -> str:
        """The name alone, in the one spelling that all of its spellings stand for."""
        return _one_spelling(self.distribution.partition(" ")[0])

    @property
    def title(self) -> str:
        return self.info.title if self.info else self.name

    @property
    def order(self) -> int:
        return self.info.order if self.info else PluginInfo(title="").order

    @property
    def static_folder(self) -> Path | None:
        """The folder of the plugin's ES module, whose files are served; None without a module."""
        if self.info is None or self.info.module is None or self.folder is None:
            return None
        return self.folder / PurePosixPath(self.info.module).parent

    @property
    def module_address(self) -> str | None:
        """Where the ES module is served, relative to the server's root."""
        if self.error or self.info is None or self.info.module is None:
            return None
        return f"static/plugins/{self.name}/{PurePosixPath(self.info.module).name}"

    def has_module_file(self) -> bool:
        """Whether the ES module is there on disk."""
        module = self.info.module if self.info else None
        return bool(self.folder and module and (self.folder / module).is_file())

    def implements(self, hook: str) -> bool:
        return hook in self._implemented

    def call(self, hook: str, **arguments: Any) -> Any:
        """Calls this plugin's implementation of a hook and lets through what it raises.

        None when the plugin does not implement it.
        """
        # A registry holds one plugin: a call cannot reach another one's implementation.
        caller = getattr(self._hooks, hook)
        if TRACE_VARIABLE not in os.environ:
            return caller(**arguments)
        started = time.perf_counter()
        outcome = attempt(caller, **arguments)
        took = 1000 * (time.perf_counter() - started)
        result = describe(outcome.error) if outcome.error else repr(outcome.value)
        print(f"{self.name}.{hook}: {result[:200]} ({took:.1f} ms)", file=sys.stderr, flush=True)
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


def load_plugins(
    *,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    extra: Mapping[str, object] | None = None,
    dev: bool = False,
) -> Plugins:
    """Imports the installed plugins named by `only`, and checks them.

    None means those that the environment variable TBCORE_PLUGINS names, or all where it is not
    set. Those named by `without`, and those that the variable leaves out, are there as `off`, and
    are not imported. `extra` holds plugins that are not installed, by name: modules or objects.
    With `dev` the first fault is raised instead of being recorded.
    """
    asked = only
    if only is None and ONLY_VARIABLE in os.environ:
        only = [name.strip() for name in os.environ[ONLY_VARIABLE].split(",") if name.strip()]
    found: list[_Source] = [
        _Source(name, "", partial(_itself, subject)) for name, subject in (extra or {}).items()
    ]
    off: dict[str, str] = {}
    if asked is None or asked:
        installed = _installed(dev)
        if asked is None and only is not None:
            off = {s.name: f"{ONLY_VARIABLE} does not name it" for s in installed
                   if s.name not in only}  # fmt: skip
            found += [source for source in installed if source.name in off]
        found += [source for source in installed if only is None or source.name in only]
        found += _not_installed(only or (), installed)
    off |= dict.fromkeys(without, "--no_plugin")
    owners: dict[str, _Source] = {}
    plugins: Plugins = []
    for source in found:
        plugin = LoadedPlugin(source.name, source.distribution, dev=dev)
        if source.name in off:
            plugin.off = off[source.name]
            plugins.append(plugin)
            continue
        with_same_name = owners.setdefault(source.name, source)
        try:
            if with_same_name is not source:
                raise PluginError(
                    f"plugin {source.name!r} is offered by {with_same_name} and by {source}; "
                    f"the first is used, uninstall one of them"
                )
            _load(plugin, source)
        except BaseException as error:
            # SystemExit at import, too.
            plugin.error = _record(plugin, error, "")
        plugins.append(plugin)
    return sorted(plugins, key=lambda plugin: plugin.name)


def mount(plugin: LoadedPlugin, multiplexer: Multiplexer, config: Config) -> MountedPlugin:
    """Asks a plugin for its routes, for one server.

    Raises OptionError for options of this plugin that make no sense.
    """
    if plugin.error or plugin.info is None:
        return MountedPlugin(plugin, error=plugin.error)
    options = PluginOptions(
        samples=config.samples_per_plugin.get(plugin.name, plugin.info.samples),
        values=_option_values(plugin, config),
    )
    hook = ""
    try:
        routes: Sequence[Route] = ()
        legacy = LegacyApi()
        if plugin.implements(hook := "routes"):
            routes = _checked_routes(
                plugin.name, hook, plugin.call(hook, multiplexer=multiplexer, options=options)
            )
        if plugin.implements(hook := "legacy_api"):
            legacy = _checked_legacy_api(
                plugin.name, plugin.call(hook, multiplexer=multiplexer, options=options)
            )
    except BaseException as error:
        return MountedPlugin(plugin, options, error=_record(plugin, error, f" in {hook}"))
    return MountedPlugin(plugin, options, routes, legacy)


def check_settings(plugins: Plugins, config: Config) -> None:
    """Raises OptionError where the user set options of plugins or names that do not exist.

    What is set for a plugin that failed, or is off, may well be right.
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
            raise OptionError(
                f"the environment variable {variable} sets no option of an installed plugin"
                f"{did_you_mean(variable, known)}{_those_are('there are', sorted(known))}"
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


def _record(plugin: LoadedPlugin, error: BaseException, where: str) -> str:
    """Logs a failure and returns it as one line; raises it again where it must not be recorded."""
    if plugin.dev or isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, PluginError):
        # Our own words about what the plugin did: where it was found out does not matter.
        line = str(error)
        logger.error("%s", line)
    else:
        line = f"plugin {plugin.name!r} failed{where}: {describe(error)}"
        logger.error("%s", line, exc_info=error)
    return line


class _Source(NamedTuple):
    """Where a plugin comes from."""

    name: str
    distribution: str
    load: Callable[[], object]
    module: str = ""
    """Of the entry point; "" for an object that is there already."""

    def __str__(self) -> str:
        return self.distribution or "this process"


def _installed(dev: bool) -> list[_Source]:
    """The entry points of all distributions, sorted by name and then by distribution.

    importlib.metadata.entry_points() gives up at the first distribution that has malformed entry
    points, whosoever they are; here such a distribution costs its own.
    """
    sources: dict[str, list[_Source]] = {}
    for distribution in importlib.metadata.distributions():
        try:
            entry_points = [
                point for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP
            ]
            if not entry_points:
                continue
            name = distribution.metadata["Name"] or "unnamed"
            label = f"{name} {distribution.version}"
        except Exception as error:
            if dev:
                raise
            logger.debug("entry points of %s cannot be read: %r", distribution, error)
            continue
        # The first on the path hides older copies of the same distribution.
        sources.setdefault(
            _one_spelling(name),
            [
                _Source(point.name, label, point.load, point.value.partition(":")[0].strip())
                for point in entry_points
            ],
        )
    ordered = [source for name in sorted(sources) for source in sources[name]]
    return sorted(ordered, key=lambda source: source.name)


def installed_code() -> list[Path]:
    """Where the code of all installed plugins lies, found without importing them.

    Of a package it is the folder, of a module outside of any package the file.
    """
    found = (attempt(_place, source.module).value for source in _installed(dev=False))
    return list(dict.fromkeys(place for place in found if place is not None))


def _place(module: str) -> Path | None:
    """Of the outermost package that is more than a namespace."""
    name, _, rest = module.partition(".")
    while (spec := importlib.util.find_spec(name)) is not None and spec.origin is None and rest:
        part, _, rest = rest.partition(".")
        name = f"{name}.{part}"
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin)
    return file.parent if spec.submodule_search_locations else file


def _one_spelling(distribution: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _not_installed(only: Sequence[str], installed: Sequence[_Source]) -> Iterator[_Source]:
    names = sorted({source.name for source in installed})
    for name in dict.fromkeys(only):
        if name not in names:

            def fail(name: str = name) -> object:
                raise PluginError(
                    f"plugin {name!r} is not installed; "
                    f"installed: {', '.join(map(repr, names)) or 'none'}"
                )

            yield _Source(name, "", fail)


def _load(plugin: LoadedPlugin, source: _Source) -> None:
    """Fills in a plugin, step by step; raises where one of them fails."""
    name = plugin.name
    if not NAME.fullmatch(name):
        raise PluginError(
            f"plugin {name!r} has a name that cannot be part of an address; "
            f"names are made of a-z, 0-9, '_', '-' and '.', and do not start with '.'"
        )
    subject = source.load()
    manager = pluggy.PluginManager("tbcore")
    manager.add_hookspecs(hookspecs)
    plugin._implemented = frozenset(_checked_hooks(name, subject, manager))
    manager.register(subject, name)
    plugin._hooks = manager.hook
    plugin.info = _checked_info(name, plugin.call("plugin_info"))
    plugin.folder = _folder(subject, source.module)
    if plugin.static_folder and not plugin.has_module_file():
        logger.warning(
            "plugin %r: its module %r is not there, so its tab will show an error",
            name,
            plugin.info.module,
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


def _checked_info(name: str, info: object) -> PluginInfo:
    if not isinstance(info, PluginInfo):
        raise PluginError(
            f"plugin {name!r}: plugin_info returned {type(info).__name__}, not a PluginInfo"
        )
    # Before anything else: the other fields may mean something else in another version.
    if info.api != PLUGIN_API:
        raise PluginError(
            f"plugin {name!r} needs plugin API {info.api}, this tbcore has {PLUGIN_API}"
        )
    claims_are_claims = isinstance(info.claims, Sequence) and all(
        isinstance(claim, Claim) for claim in info.claims
    )
    for field_name, is_good, wanted in (
        ("title", isinstance(info.title, str) and info.title.strip() != "", "a text"),
        ("claims", claims_are_claims, "a sequence of Claim"),
        ("samples", type(info.samples) is int and info.samples >= 0, "an int, 0 or more"),
        ("order", type(info.order) is int, "an int"),
        ("description", isinstance(info.description, str), "a text"),
        ("how_to_log", _are_texts(info.how_to_log), "a mapping of texts to texts"),
        ("options", isinstance(info.options, Sequence), "a sequence of Option"),
        ("module", info.module is None or _is_module_path(info.module),
         "None, or a path such as 'static/index.js': inside the package, in a folder of its own"),
    ):  # fmt: skip
        if not is_good:
            raise PluginError(
                f"plugin {name!r}: PluginInfo.{field_name} must be {wanted}, "
                f"got {getattr(info, field_name)!r}"
            )
    names: set[str] = set()
    for option in info.options:
        if fault := fault_of(option):
            raise PluginError(f"plugin {name!r}: PluginInfo.options must be {fault}")
        if option.name in names:
            raise PluginError(f"plugin {name!r}: PluginInfo.options has {option.name!r} twice")
        names.add(option.name)
    return info


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


def _folder(subject: object, module_name: str) -> Path | None:
    """Where the package of a plugin lies."""
    if isinstance(subject, ModuleType):
        module_name = subject.__name__
    elif not module_name:
        module_name = getattr(getattr(subject, "plugin_info", None), "__module__", "")
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
    checked = []
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
