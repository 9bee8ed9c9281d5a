"""Plugins: finds, imports, checks and calls them, and isolates their errors.

`find` lists the sources of plugins, `load` imports each plugin and calls its `plugin_info`, and
`mount` calls its `routes` for one server. `load` and `mount` return failed plugins, too, with the
reason as one line in `error`. They raise a plugin's exception only if the plugin is `strict`, or if
the exception is Ctrl-C.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

import pluggy

from tbcore import __version__, hookspecs
from tbcore.config import Config, PluginOptions
from tbcore.errors import OptionError, PluginError
from tbcore.hookspecs import LegacyApi
from tbcore.plugin_checks import (
    api_error,
    check_name,
    checked_hooks,
    checked_info,
    checked_legacy_api,
    checked_routes,
)
from tbcore.plugin_settings import option_values
from tbcore.plugin_types import (
    LoadedPlugin,
    MountedPlugin,
    Plugins,
    attempt,
    describe,
    traceback_of,
)
from tbcore.sources import Source, in_folder, installed
from tbcore.tuning import Tuning, default_tuning

if TYPE_CHECKING:
    from starlette.routing import Route

    from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

ONLY_VARIABLE = "TBCORE_PLUGINS"
"""Environment variable with the names of the only installed plugins to import."""
_UNKNOWN_FIELD = "got an unexpected keyword argument"
"""Part of Python's message about a field that this version of `PluginInfo` does not have."""


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
        if not source.disabled_by:
            first_of_name.setdefault(source.name, source)
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
            if not source.disabled_by:
                _try_load(plugin, source, first_of_name[source.name])
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
        values=option_values(plugin, config),
    )
    hook = ""
    try:
        routes: Sequence[Route] = ()
        legacy = LegacyApi()
        with _startup_watchdog(plugin):
            if plugin.implements(hook := "routes"):
                routes = checked_routes(
                    plugin.name, hook, plugin.call(hook, multiplexer=multiplexer, options=options)
                )
            if plugin.implements(hook := "legacy_api"):
                legacy = checked_legacy_api(
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


def _identity(subject: object) -> object:
    return subject


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


def _try_load(plugin: LoadedPlugin, source: Source, first: Source) -> None:
    """Imports a plugin and fills in its fields. `first` is the first source of its name."""
    try:
        if first is not source:
            raise PluginError(
                f"plugin {source.name!r} is defined by {first} and by {source}; the first is used; "
                f"{'uninstall' if source.is_installed else 'remove'} one of them"
            )
        with _startup_watchdog(plugin):
            _load(plugin, source)
    except BaseException as error:
        # Not Exception: an import may raise SystemExit.
        where = " in plugin_info" if plugin.hooks is not None else ""
        plugin.error, plugin.traceback = _record_failure(plugin, error, where)


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


def _load(plugin: LoadedPlugin, source: Source) -> None:
    """Imports a plugin and fills in its fields; raises at the first error."""
    name = plugin.name
    check_name(name)
    with plugin.stats.measure("import"):
        # The module or object that implements the hooks.
        subject = source.load()
    manager = pluggy.PluginManager("tbcore")
    manager.add_hookspecs(hookspecs)
    try:
        plugin.implemented = frozenset(checked_hooks(name, subject, manager))
    except PluginError as error:
        # An unknown hook may belong to another version of the plugin API.
        info = attempt(lambda: subject.plugin_info()).value  # type: ignore[attr-defined]
        raise api_error(plugin, info) or error from None
    manager.register(subject, name)
    plugin.hooks = manager.hook
    described = attempt(plugin.call, "plugin_info")
    if isinstance(described.error, TypeError) and _UNKNOWN_FIELD in str(described.error):
        raise PluginError(
            f"plugin {name!r} failed in plugin_info: {describe(described.error)}; if the plugin "
            f"needs a newer version than tbcore {__version__}, upgrade tbcore-server"
        ) from described.error
    if described.error is not None:
        raise described.error
    plugin.info = checked_info(plugin, described.value)
    module_name = _module_name(subject, source.module)
    plugin.package = module_name.partition(".")[0]
    plugin.folder = _folder(subject, module_name)
    if plugin.static_folder and not plugin.has_module_file():
        logger.warning(
            "plugin %r: the module %r does not exist, so the plugin's tab will show an error",
            name,
            str(plugin.module),
        )


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
