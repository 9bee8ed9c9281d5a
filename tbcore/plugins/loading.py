"""Plugins: finds, imports, checks and calls them, and isolates their errors.

`find` lists the sources of plugins, `load` imports each plugin and calls its `plugin_info`, and
`mount` calls its `routes` for one server. `load` and `mount` return failed plugins, too, with the
reason as one line in `error`. They raise a plugin's exception only if the plugin is `strict`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

from tbcore import __version__
from tbcore.errors import OptionError, PluginError, did_you_mean
from tbcore.plugins import hookspecs
from tbcore.plugins.checks import (
    CheckError,
    api_error,
    check_name,
    checked_hooks,
    checked_info,
    checked_legacy_api,
    checked_plugins,
    checked_routes,
    explained,
)
from tbcore.plugins.config import Config, PluginOptions
from tbcore.plugins.hookspecs import LegacyApi, PluginInfo
from tbcore.plugins.settings import option_values
from tbcore.plugins.sources import Source, fail, in_folder, installed_plugins
from tbcore.plugins.types import (
    LoadedPlugin,
    MountedPlugin,
    Outcome,
    Plugins,
    attempt,
    traceback_of,
)
from tbcore.text import describe
from tbcore.tuning import Tuning, default_tuning

if TYPE_CHECKING:
    from starlette.routing import Route

    from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

ONLY_VARIABLE = "TBCORE_PLUGINS"
"""Environment variable with the names of the only installed plugins to import."""
CLOSE_TIMEOUT_SECONDS = 2.0
"""How long the server waits for the hook `close` of all plugins together."""
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

    Disabled plugins are returned without being imported, with the reason in `disabled_by`. A plugin
    is disabled if it is in `without`, if it is installed and TBCORE_PLUGINS does not name it, or if
    it is installed and a plugin in `folders` has the same name.

    With `strict`, errors are raised instead of recorded, now and in later calls of hooks.
    """
    sources = find_sources(only=only, extra=extra, folders=folders, strict=strict)
    return load_sources(sources, without=without, dev=dev, strict=strict, tuning=tuning)


def plugins_of(config: Config) -> Plugins:
    """The plugins of a server, imported and checked, or `starting` if that takes long."""
    sources = find_sources(folders=config.plugins_dirs)
    without = config.without_plugins
    return load_sources(sources, without=without, dev=config.dev, waits=False, tuning=config.tuning)


def find_sources(
    *,
    only: Sequence[str] | None = None,
    extra: Mapping[str, object] | None = None,
    folders: Sequence[str] = (),
    strict: bool = False,
) -> list[Source]:
    """Sources of the plugins that `load_plugins` returns for these arguments. Imports nothing."""
    names_to_import = only
    if only is None and ONLY_VARIABLE in os.environ:
        listed = os.environ[ONLY_VARIABLE].split(",")
        names_to_import = [name.strip() for name in listed if name.strip()]
    found: list[Source] = [
        Source(name, "", partial(lambda subject: subject, subject))
        for name, subject in (extra or {}).items()
    ]
    # TBCORE_PLUGINS limits only installed plugins. Plugins in `folders` are always loaded.
    from_folders = [source for folder in folders for source in in_folder(Path(folder))]
    found += from_folders
    # An empty `only` means no installed plugins, not even disabled ones.
    if only is None or only:
        replacements = {source.name: source for source in reversed(from_folders)}
        all_installed = installed_plugins(strict=strict)
        for source in all_installed:
            reason = ""
            if replacement := replacements.get(source.name):
                reason = (
                    f"replaced by {replacement}, which has the same name and is in --plugins_dir"
                )
            elif names_to_import is not None and source.name not in names_to_import:
                if only is not None:
                    continue
                reason = f"not listed in {ONLY_VARIABLE}"
            found.append(source._replace(disabled_by=reason))
        found += _not_installed(names_to_import or (), [*from_folders, *all_installed])
    return found


def load_sources(
    sources: Sequence[Source],
    *,
    without: Sequence[str] = (),
    keep: Sequence[LoadedPlugin] = (),
    dev: bool = False,
    strict: bool = False,
    waits: bool = True,
    tuning: Tuning | None = None,
) -> Plugins:
    """Imports and checks the plugins of all sources, and those that their hooks `plugins` return.

    Those in `without` are disabled. Without `waits`, plugins that take long are returned while they
    are `starting`. Plugins in `keep` were loaded before: they are not imported again, but returned
    unchanged.
    """
    kept = {plugin.source.key: plugin for plugin in keep if plugin.source}
    first_of_name: dict[str, Source] = {}
    plugins: Plugins = []
    sources = list(sources)
    for source in sources:
        if source.name in without:
            source = source._replace(disabled_by="--no_plugin")
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
                _in_time(plugin, waits, _try_load, plugin, source, first_of_name[source.name])
        plugins.append(plugin)
        sources += plugin.more
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
        logdir=config.local_logdir,
    )
    arguments: dict[str, Any] = {"multiplexer": multiplexer, "options": options}
    hook = ""
    try:
        routes: Sequence[Route] = ()
        pages: Sequence[Route] = ()
        legacy = LegacyApi()
        if plugin.implements(hook := "routes"):
            routes = checked_routes(hook, plugin.call(hook, **arguments))
        if plugin.implements(hook := "page_routes"):
            pages = checked_routes(hook, plugin.call(hook, **arguments))
        if plugin.implements(hook := "legacy_api"):
            legacy = checked_legacy_api(plugin.call(hook, **arguments))
    except BaseException as error:
        line, text = _record_failure(plugin, explained(hook, error), f" in {hook}")
        return MountedPlugin(plugin, options, error=line, traceback=text)
    return MountedPlugin(plugin, options, routes, pages, legacy)


def mount_all(
    plugins: Plugins,
    multiplexer: Multiplexer,
    config: Config,
    *,
    keep: Sequence[MountedPlugin] | None = None,
    waits: bool = True,
) -> list[MountedPlugin]:
    """Mounts all enabled plugins and returns them, sorted by name.

    Plugins that are starting are returned without routes, with an error that says so; without
    `waits`, so are those whose routes take long.

    Plugins in `keep` were mounted before, and are returned unchanged. If an option is not valid,
    raises OptionError if `keep` is None, as when a server starts; otherwise the option's plugin
    fails.
    """
    enabled = {plugin.name: plugin for plugin in reversed(plugins) if plugin.disabled_by is None}
    kept = {m.plugin: m for m in keep or ()}
    mounted = []
    for name, plugin in sorted(enabled.items()):
        try:
            m = kept.get(plugin)
            if m is None and plugin.starting is None:
                m = _in_time(plugin, waits, mount, plugin, multiplexer, config)
            error = f"plugin {name!r} is starting"
            mounted.append(m or MountedPlugin(plugin, error=error, is_starting=True))
        except OptionError as error:
            if keep is None:
                raise
            line = f"plugin {name!r}: {error}"
            logger.error("%s", line)
            mounted.append(MountedPlugin(plugin, error=line))
    return mounted


def close_all(plugins: Iterable[LoadedPlugin]) -> None:
    """Calls `close` of all plugins that have it, each in a thread, and waits a while for them."""
    closing = []
    for plugin in plugins:
        if plugin.implements("close"):
            thread = threading.Thread(target=_close, args=[plugin], daemon=True)
            if attempt(thread.start).error is None:
                closing.append((plugin, thread))
    end = time.monotonic() + CLOSE_TIMEOUT_SECONDS
    for plugin, thread in closing:
        thread.join(max(end - time.monotonic(), 0))
        if thread.is_alive():
            logger.warning(
                "plugin %r: close has been running for %.0f s, and is not waited for",
                plugin.name, CLOSE_TIMEOUT_SECONDS,
            )  # fmt: skip


def _close(plugin: LoadedPlugin) -> None:
    error = attempt(plugin.call, "close").error
    if error is not None:
        _record_failure(plugin, error, " in close")


def _not_installed(only: Sequence[str], available: Sequence[Source]) -> Iterator[Source]:
    """Yields a source that fails when loaded for each name in `only` that is not available."""
    names = sorted({source.name for source in available})
    installed_names = ", ".join(map(repr, names)) or "none"
    for name in dict.fromkeys(only):
        if name not in names:
            message = f"plugin {name!r} is not installed; installed: {installed_names}"
            yield Source(name, "", partial(fail, message))


def _try_load(plugin: LoadedPlugin, source: Source, first: Source) -> None:
    """Imports a plugin and fills in its fields. `first` is the first source of its name."""
    try:
        if first is not source:
            raise PluginError(
                f"plugin {source.name!r} is defined by {first} and by {source}; the first is used; "
                f"{'uninstall' if source.is_installed else 'remove'} one of them"
            )
        _load(plugin, source)
    except BaseException as error:
        # Not Exception: an import may raise SystemExit.
        where = " in plugin_info" if plugin.hooks is not None else ""
        plugin.error, plugin.traceback = _record_failure(plugin, error, where)


def _record_failure(plugin: LoadedPlugin, error: BaseException, where: str) -> tuple[str, str]:
    """Logs an exception of a plugin, and returns it as one line and as a traceback.

    Raises it if the plugin is strict.
    """
    if isinstance(error, CheckError):
        error = PluginError(f"plugin {plugin.name!r}: {error}")
    if plugin.strict:
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


def _in_time(
    plugin: LoadedPlugin, waits: bool, function: Callable[..., Any], *arguments: Any
) -> Any:
    """The result of a part of a plugin's start, which runs in a thread of its own.

    If it takes long, a warning is logged. Then, unless `waits`, the call goes on as
    `plugin.starting`, and the result is None. Raises the exception of the call.
    """
    future: Future[Outcome] = Future()

    def run() -> None:
        future.set_result(attempt(function, *arguments))

    thread = threading.Thread(target=run, name=f"tbcore-start-{plugin.name}", daemon=True)
    if plugin.strict or attempt(thread.start).error is not None:
        run()
    if not wait([future], plugin.tuning.slow_call_seconds).done:
        logger.warning(
            "plugin %r has been starting for %.0f s; use --no_plugin %s to start without it",
            plugin.name, plugin.tuning.slow_call_seconds, plugin.name,
        )  # fmt: skip
        if not waits:
            plugin.starting = future
            return None
    outcome = future.result()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _load(plugin: LoadedPlugin, source: Source) -> None:
    """Imports a plugin and fills in its fields; raises at the first error."""
    check_name(plugin.name)
    with plugin.stats.measure("import"):
        # The module or object that implements the hooks.
        subject = source.load()
    manager = pluggy.PluginManager("tbcore")
    manager.add_hookspecs(hookspecs)
    try:
        plugin.implemented = frozenset(checked_hooks(subject, manager))
    except PluginError as error:
        # An unknown hook may belong to another version of the plugin API.
        info = attempt(lambda: subject.plugin_info()).value  # type: ignore[attr-defined]
        raise api_error(plugin, info) or error from None
    manager.register(subject, plugin.name)
    plugin.hooks = manager.hook
    described = attempt(plugin.call, "plugin_info")
    fault = described.error
    if isinstance(fault, TypeError) and _UNKNOWN_FIELD in str(fault):
        name = str(fault).partition(f"{_UNKNOWN_FIELD} '")[2].partition("'")[0]
        hint = did_you_mean(name, [field.name for field in fields(PluginInfo)]) or (
            f"; if the plugin needs a newer version than tbcore {__version__}, "
            "upgrade tbcore-server"
        )
        text = describe(fault).partition(" Did you mean ")[0].rstrip(".") + hint  # Python 3.13
        raise PluginError(f"plugin {plugin.name!r} failed in plugin_info: {text}") from fault
    if fault is not None:
        raise fault
    plugin.info = checked_info(plugin, described.value)
    if plugin.implements("plugins") and not source.parent:
        more = checked_plugins(plugin.call("plugins"))
        plugin.more = [
            Source(name, plugin.distribution, partial(lambda s: s, subject), parent=plugin.name)
            for name, subject in more.items()
        ]
    # An object is in the module that defines its `plugin_info`, or that its entry point names.
    name = source.module or getattr(getattr(subject, "plugin_info", None), "__module__", "")
    module = subject if isinstance(subject, ModuleType) else sys.modules.get(name)
    plugin.package = getattr(module, "__name__", name).partition(".")[0]
    # A namespace package has no file, but may have several folders.
    file = getattr(module, "__file__", None)
    folders = [os.path.dirname(file)] if file else list(getattr(module, "__path__", ()))
    plugin.folder = Path(folders[0]).absolute() if folders else None
    if plugin.static_folder and not plugin.has_module_file():
        logger.warning(
            "plugin %r: the %s %r does not exist, so the plugin's tab will show an error",
            plugin.name, "page" if plugin.info.page else "module", str(plugin.module),
        )  # fmt: skip
