"""Reloader: reloads plugins whose files were edited while the server runs, for their authors.

Requests never wait for a reload. Those in progress are finished by the old code, and new ones use
the new code as soon as it has replaced the old code in one step.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tbcore.config import Config
from tbcore.plugins import MountedPlugin, Plugins, attempt, find, load, mount_all
from tbcore.server.app import App
from tbcore.sources import Source, in_folder, installed
from tbcore.store.multiplexer import Multiplexer

logger = logging.getLogger(__name__)

SCAN_INTERVAL_SECONDS = 0.4
"""Between two scans of the files of plugins."""

Stamps = dict[tuple[str, str], dict[str, int]]
"""Name and distribution of a plugin to the modification time, in ns, of each of its files."""


class Reloader:
    """Watches the files of plugins for changes since it was created.

    All files of a plugin are watched, including those that were never imported: a new file may be
    the one without which an import has failed.
    """

    def __init__(self, config: Config, multiplexer: Multiplexer) -> None:
        self._config = config
        self._multiplexer = multiplexer
        self._installed = installed()
        self._stamps = self._scan()
        self._plugins: Plugins = []
        self._ended = threading.Event()
        # Python compares bytecode with its source by size and modification time in whole seconds,
        # so two quick edits could go unnoticed.
        sys.dont_write_bytecode = True

    def start(self, app: App, plugins: Plugins) -> None:
        """Starts a thread that reloads the application's plugins when their files change."""
        self._plugins = plugins
        for plugin in plugins:
            plugin.version = _new_version()
        threading.Thread(
            target=self._run, args=[app], name="tbcore-watch-plugins", daemon=True
        ).start()

    def stop(self) -> None:
        self._ended.set()

    def _run(self, app: App) -> None:
        while not self._ended.wait(SCAN_INTERVAL_SECONDS):
            outcome = attempt(self.reload_changed, app)
            if outcome.error is not None:
                logger.error("plugins could not be reloaded", exc_info=outcome.error)

    def reload_changed(self, app: App) -> None:
        """Reloads the plugins whose files have changed since the last scan, if any."""
        stamps = self._scan()
        if stamps == self._stamps:
            return
        while True:
            time.sleep(self._config.tuning.reload_delay_seconds)
            newer_stamps = self._scan()
            if newer_stamps == stamps:
                break
            stamps = newer_stamps
        old_stamps, self._stamps = self._stamps, stamps
        names, names_of_tabs = _changed_plugins(old_stamps, stamps)
        self._reload(app, names, names_of_tabs)

    def _scan(self) -> Stamps:
        return {(source.name, source.distribution): _stamp(source) for source in self._sources()}

    def _sources(self) -> list[Source]:
        folders = self._config.plugins_dirs
        return [*self._installed, *(s for folder in folders for s in in_folder(Path(folder)))]

    def _reload(self, app: App, names: set[str], names_of_tabs: set[str]) -> None:
        """Imports the plugins in `names` again; makes open pages reload the tabs of the others."""
        config = self._config
        old_sources = [p.source for p in self._plugins if p.source and p.name in names]
        _forget_modules(old_sources)
        sources = find(without=config.without_plugins, folders=config.plugins_dirs)
        _forget_modules([source for source in sources if source.name in names and not source.off])
        keep = [plugin for plugin in self._plugins if plugin.name not in names]
        infos = {plugin.name: plugin.info for plugin in self._plugins}
        self._plugins = load(sources, keep=keep, dev=True, tuning=config.tuning)
        for plugin in self._plugins:
            if plugin.name in names | names_of_tabs:
                plugin.version = _new_version()
            if plugin.info is None:
                # A plugin that fails keeps the title and the position of its tab.
                plugin.info = infos.get(plugin.name)
        mounted = mount_all(self._plugins, self._multiplexer, config, keep=app.mounted)
        app.replace(mounted, [plugin for plugin in self._plugins if plugin.off])
        self._log_reloaded(names | names_of_tabs, mounted)

    def _log_reloaded(self, names: set[str], mounted: Sequence[MountedPlugin]) -> None:
        errors = {m.plugin.name: m.error for m in mounted}
        for name in sorted(names):
            if name not in errors:
                logger.info("plugin %r was removed", name)
            elif errors[name] is None:
                logger.info("plugin %r was reloaded", name)


def _changed_plugins(before: Stamps, after: Stamps) -> tuple[set[str], set[str]]:
    """Names of plugins whose Python files changed, and of those where only other files did."""
    names: set[str] = set()
    names_of_tabs: set[str] = set()
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            names.add(key[0])
            continue
        edited = [path for path in old.keys() | new.keys() if old.get(path) != new.get(path)]
        if any(path.endswith((".py", "pyproject.toml")) for path in edited):
            names.add(key[0])
        elif edited:
            names_of_tabs.add(key[0])
    return names, names_of_tabs - names


def _stamp(source: Source) -> dict[str, int]:
    """Path of each file of a plugin to its modification time in ns."""
    times = {}
    for path in source.files():
        if path.endswith((".pyc", "~")):
            continue
        try:
            times[path] = os.stat(path).st_mtime_ns
        except OSError:
            # The file is missing while an editor replaces it.
            continue
    return times


def _forget_modules(sources: Sequence[Source]) -> None:
    """Removes the Python modules of plugins from `sys.modules`, so that they are imported again."""
    importlib.invalidate_caches()
    paths = [str(path.absolute()) for source in sources for path in source.code_paths()]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), "")
        # Compiled modules are kept: most cannot be loaded twice.
        is_python = not file.endswith((".so", ".pyd"))
        if is_python and any(file == path or file.startswith(path + os.sep) for path in paths):
            sys.modules.pop(name, None)


def _new_version() -> str:
    """A name for the current files of a plugin, which no other server process has used."""
    return f"{time.time_ns() // 1_000_000:x}"
