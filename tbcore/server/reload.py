"""Reload: takes up plugins that were edited while the server runs, for those who write them.

Requests go on all the while: those that have begun are answered by the old code, and from one
moment on new ones by the new.
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

INTERVAL_SECONDS = 0.4
"""Between two looks at the files of plugins."""
SETTLE_SECONDS = 0.1
"""Editors write in several steps; files that have not changed for so long are done."""

Stamps = dict[tuple[str, str], dict[str, int]]
"""Name and distribution of a plugin to the modification time of each of its files."""


class Reloader:
    """Watches the files of plugins, counted from when it is made.

    Files need not have been imported: the one that is written next may be what an import that
    failed has been missing.
    """

    def __init__(self, config: Config, multiplexer: Multiplexer) -> None:
        self._config = config
        self._multiplexer = multiplexer
        self._installed = installed()
        self._stamps = self._look()
        self._plugins: Plugins = []
        self._ended = threading.Event()
        # Python tells stale bytecode by size and by the second, and authors are quicker than that.
        sys.dont_write_bytecode = True

    def start(self, app: App, plugins: Plugins) -> None:
        """Keeps the application at what the files say, in a thread."""
        self._plugins = plugins
        for plugin in plugins:
            plugin.version = _new_version()
        threading.Thread(
            target=self._run, args=[app], name="tbcore-watch-plugins", daemon=True
        ).start()

    def stop(self) -> None:
        self._ended.set()

    def _run(self, app: App) -> None:
        while not self._ended.wait(INTERVAL_SECONDS):
            outcome = attempt(self.look, app)
            if outcome.error is not None:
                logger.error("plugins could not be reloaded", exc_info=outcome.error)

    def look(self, app: App) -> None:
        """Takes up what has changed since the last look, if anything has."""
        stamps = self._look()
        if stamps == self._stamps:
            return
        while True:
            time.sleep(SETTLE_SECONDS)
            later = self._look()
            if later == stamps:
                break
            stamps = later
        before, self._stamps = self._stamps, stamps
        names, touched = _changes(before, stamps)
        self._reload(app, names, touched)

    def _look(self) -> Stamps:
        return {(source.name, source.distribution): _stamp(source) for source in self._sources()}

    def _sources(self) -> list[Source]:
        folders = self._config.plugins_dirs
        return [*self._installed, *(s for folder in folders for s in in_folder(Path(folder)))]

    def _reload(self, app: App, names: set[str], touched: set[str]) -> None:
        """Imports the plugins of some names anew; of others only their tabs are opened anew."""
        config = self._config
        _forget([plugin.source for plugin in self._plugins
                 if plugin.source and plugin.name in names])  # fmt: skip
        sources = find(without=config.without_plugins, folders=config.plugins_dirs)
        _forget([source for source in sources if source.name in names and not source.off])
        keep = [plugin for plugin in self._plugins if plugin.name not in names]
        infos = {plugin.name: plugin.info for plugin in self._plugins}
        self._plugins = load(sources, keep=keep, dev=True)
        for plugin in self._plugins:
            if plugin.name in names | touched:
                plugin.version = _new_version()
            if plugin.info is None:
                # Its tab keeps its title and its place while it is mended.
                plugin.info = infos.get(plugin.name)
        mounted = mount_all(self._plugins, self._multiplexer, config, keep=app.mounted)
        app.replace(mounted, [plugin for plugin in self._plugins if plugin.off])
        self._tell(names | touched, mounted)

    def _tell(self, names: set[str], mounted: Sequence[MountedPlugin]) -> None:
        errors = {m.plugin.name: m.error for m in mounted}
        for name in sorted(names):
            if name not in errors:
                logger.info("plugin %r is gone", name)
            elif errors[name] is None:
                logger.info("plugin %r was reloaded", name)


def _changes(before: Stamps, after: Stamps) -> tuple[set[str], set[str]]:
    """The names of plugins to import anew, and of those of which other files changed."""
    names: set[str] = set()
    touched: set[str] = set()
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            names.add(key[0])
            continue
        edited = [path for path in old.keys() | new.keys() if old.get(path) != new.get(path)]
        if any(path.endswith((".py", "pyproject.toml")) for path in edited):
            names.add(key[0])
        elif edited:
            touched.add(key[0])
    return names, touched - names


def _stamp(source: Source) -> dict[str, int]:
    times = {}
    for path in source.files():
        if path.endswith((".pyc", "~")):
            continue
        try:
            times[path] = os.stat(path).st_mtime_ns
        except OSError:
            # Between two steps of an editor that writes a new file.
            continue
    return times


def _forget(sources: Sequence[Source]) -> None:
    """Takes the Python modules of plugins out of what has been imported."""
    importlib.invalidate_caches()
    places = [str(place.absolute()) for source in sources for place in source.places()]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), "")
        # Compiled modules stay: most cannot be loaded twice.
        is_python = not file.endswith((".so", ".pyd"))
        if is_python and any(file == place or file.startswith(place + os.sep) for place in places):
            sys.modules.pop(name, None)


def _new_version() -> str:
    """A name for the files of a plugin as they are now, which no other server has given either."""
    return f"{time.time_ns() // 1_000_000:x}"
