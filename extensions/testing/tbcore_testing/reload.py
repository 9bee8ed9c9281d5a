"""Reloader: reloads plugins whose files are edited while the server runs with `--dev`.

Requests never wait for a reload. The new code replaces the old code in one step. Requests in
progress are finished by the old code, and later ones use the new code.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from tbcore.engine import (
    App,
    Config,
    LoadedPlugin,
    MountedPlugin,
    Source,
    close_all,
    find_sources,
    in_folder,
    installed_plugins,
    load_sources,
    mount_all,
)
from tbcore_testing.page_errors import rows_for

logger = logging.getLogger("tbcore.testing")

SCAN_INTERVAL_SECONDS = 0.4
"""Time between two scans of the files of plugins."""
SKIPPED_FOLDERS = {"__pycache__", "node_modules"}
"""Folders that are not watched for changes: they are large, and no author edits them."""

Stamps = dict[tuple[str, str], dict[str, int]]
"""Maps the name and distribution of a plugin to the modification times that `_stamp` returns."""


class Reloader:
    """Reloads each plugin whose files have changed since the Reloader was created.

    It watches all files of a plugin, even those that were never imported: an import that failed may
    succeed once a missing file is created.
    """

    def __init__(self, config: Config, *, delay_seconds: float = 0.1) -> None:
        """A plugin is reloaded when its files have been unchanged for `delay_seconds`: editors
        write a file in several steps."""
        self._config = config
        self._delay_seconds = delay_seconds
        self.rows = rows_for(config)
        """The row of the table of routes to which pages send their errors."""
        self._installed = installed_plugins()
        self._stamps = self._scan()
        self._plugins: list[LoadedPlugin] = []
        self._ended = threading.Event()
        # Python compares bytecode with its source by size and modification time in whole seconds,
        # so two quick edits could go unnoticed.
        sys.dont_write_bytecode = True

    def start(self, app: App, plugins: list[LoadedPlugin]) -> None:
        """Starts a thread that reloads the application's plugins when their files change."""
        self._plugins = plugins
        for plugin in plugins:
            plugin.version = _new_version()
        name = "tbcore-watch-plugins"
        threading.Thread(target=self._run, args=[app], name=name, daemon=True).start()

    def stop(self) -> None:
        self._ended.set()

    def _run(self, app: App) -> None:
        """Reloads changed plugins until `stop`. Runs in its own thread."""
        while not self._ended.wait(SCAN_INTERVAL_SECONDS):
            try:
                self.reload_changed(app)
            except (Exception, SystemExit):  # A plugin's package may exit.
                logger.exception("plugins could not be reloaded")

    def reload_changed(self, app: App) -> None:
        """Reloads the plugins whose files have changed since the last scan, if any."""
        stamps = self._scan()
        if stamps == self._stamps:
            return
        time.sleep(self._delay_seconds)
        while (newer_stamps := self._scan()) != stamps:
            stamps = newer_stamps
            time.sleep(self._delay_seconds)
        names_to_import, names_to_refresh = _changed_plugins(self._stamps, stamps)
        self._stamps = stamps
        self._reload(app, names_to_import, names_to_refresh)

    def _scan(self) -> Stamps:
        """The modification times of the files of all plugins, as they are now."""
        folders = [in_folder(Path(folder)) for folder in self._config.plugins_dirs]
        sources = chain(self._installed, *folders)
        return {(source.name, source.distribution): _stamp(source) for source in sources}

    def _reload(self, app: App, names_to_import: set[str], names_to_refresh: set[str]) -> None:
        """Imports the plugins in `names_to_import` again, and makes the application use them.

        The plugins in both sets get a new version. The addresses of their tabs contain the version,
        so open pages load these tabs again.
        """
        config = self._config
        sources = find_sources(folders=config.plugins_dirs)
        edited = [p.source for p in self._plugins if p.source and p.name in names_to_import]
        without = config.without_plugins
        names = names_to_import.difference(without)
        edited += [s for s in sources if s.name in names and not s.disabled_by]
        _forget_modules(edited)
        keep = [p for p in self._plugins if p.source and not _names(p.source) & names_to_import]
        infos = {plugin.name: plugin.info for plugin in self._plugins}
        before = self._plugins
        self._plugins = load_sources(
            sources, without=without, keep=keep, dev=True, tuning=config.tuning
        )
        for plugin in self._plugins:
            if plugin.source and _names(plugin.source) & (names_to_import | names_to_refresh):
                plugin.version = _new_version()
            if plugin.info is None:
                # A plugin that fails keeps the title and the position of its tab.
                plugin.info = infos.get(plugin.name)
        mounted = mount_all(self._plugins, app.multiplexer, config, keep=app.mounted)
        app.replace(mounted, [plugin for plugin in self._plugins if plugin.disabled_by])
        close_all(plugin for plugin in before if plugin not in self._plugins)
        self._log_reloaded(names_to_import | names_to_refresh, mounted)

    def _log_reloaded(self, names: set[str], mounted: Sequence[MountedPlugin]) -> None:
        """Logs which plugins were reloaded or removed. Plugins that failed were logged before."""
        errors = {m.plugin.name: m.error for m in mounted}
        for name in sorted(names):
            if name not in errors:
                logger.info("plugin %r was removed", name)
            elif errors[name] is None:
                logger.info("plugin %r was reloaded", name)


def _changed_plugins(before: Stamps, after: Stamps) -> tuple[set[str], set[str]]:
    """The names of plugins to import again, and the names of plugins to refresh.

    A plugin is imported again if it is new or removed, or if one of its Python files has changed.
    It is refreshed, which means that pages load its tab again, if only other files have changed.
    """
    names_to_import: set[str] = set()
    names_to_refresh: set[str] = set()
    for key in before.keys() | after.keys():
        edited = [path for path, _ in before.get(key, {}).items() ^ after.get(key, {}).items()]
        if any(path.endswith((".py", "pyproject.toml")) for path in edited):
            names_to_import.add(key[0])
        elif edited:
            names_to_refresh.add(key[0])
    return names_to_import, names_to_refresh - names_to_import


def _stamp(source: Source) -> dict[str, int]:
    """Maps the path of each file of a plugin to the file's modification time in ns."""
    times = {}
    for path in _files(source):
        # OSError: an editor is replacing the file.
        with contextlib.suppress(OSError):
            if not path.endswith((".pyc", "~")):
                times[path] = os.stat(path).st_mtime_ns
    return times


def _names(source: Source) -> set[str]:
    """The names of a plugin and of its parent: what reloads one reloads the other."""
    return {source.name, source.parent}


def _files(source: Source) -> Iterator[str]:
    """Yields the paths of all files of a plugin, its front end included."""
    for path in _code_paths(source):
        if not path.is_dir():
            yield str(path)
        for folder, folders, names in os.walk(path):
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and f[0] != "."]
            yield from (os.path.join(folder, name) for name in names)
    if source.front_end:
        script = source.code[0]
        yield from (str(path) for path in script.parent.glob(f"{script.stem}.*") if path != script)


def _code_paths(source: Source) -> tuple[Path, ...]:
    """The files and folders with a plugin's code, found without importing it."""
    if source.code or not source.module:
        return source.code
    try:
        path = _package_path(source.module)
    except Exception as error:
        # Finding a module imports its parent packages, which may be broken.
        logger.debug("cannot find the code of plugin %r: %r", source.name, error)
        path = None
    return (path,) if path else ()


def _package_path(module: str) -> Path | None:
    """Path of the outermost package or module that is not a namespace package; None if not found.

    Imports only the namespace packages around it.
    """
    name, _, rest = module.partition(".")
    while (spec := importlib.util.find_spec(name)) is not None and spec.origin is None and rest:
        part, _, rest = rest.partition(".")
        name = f"{name}.{part}"
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin)
    return file.parent if spec.submodule_search_locations else file


def _forget_modules(sources: Sequence[Source]) -> None:
    """Removes the Python modules of plugins from `sys.modules`, so that they are imported again."""
    importlib.invalidate_caches()
    paths = [str(path.absolute()) for source in sources for path in _code_paths(source)]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), "")
        # Compiled modules are kept, since most of them cannot be loaded twice.
        is_python = not file.endswith((".so", ".pyd"))
        if is_python and any(file == path or file.startswith(path + os.sep) for path in paths):
            sys.modules.pop(name, None)


def _new_version() -> str:
    """A new version for the current files of a plugin: the time in ms, as a hex number."""
    return f"{time.time_ns() // 1_000_000:x}"
