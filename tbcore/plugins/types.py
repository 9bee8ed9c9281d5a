"""Plugin types: a plugin that was found, and the same plugin with its routes for one server.

`attempt` calls code of plugins, and `describe` and `traceback_of` format its exceptions as text.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from tbcore.extensions import canonical_name
from tbcore.plugins.config import PluginOptions
from tbcore.plugins.hookspecs import LegacyApi, PluginInfo
from tbcore.plugins.sources import Source
from tbcore.plugins.stats import PluginStats, without_paths
from tbcore.text import describe
from tbcore.tuning import Tuning, default_tuning

if TYPE_CHECKING:
    import pluggy
    from starlette.routing import Route

CORE_FOLDER = str(Path(__file__).parents[1]) + os.sep
TRACE_VARIABLE = "TBCORE_TRACE_HOOKS"
"""Environment variable that makes each call of a hook print its result to stderr."""
FRAME_MODULE = "static/tbcore/lib/frame/tab.js"
"""Address of the ES module that shows a plugin's page in a frame."""
VERSION_MARK = "~"
"""First character of the part of an address that is a version."""


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


def traceback_of(error: BaseException) -> str:
    """The traceback as text, starting in the plugin's own code."""
    frames = error.__traceback__
    while frames is not None and _is_caller_of_plugins(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    formatter = traceback.TracebackException(type(error), error, frames)
    return "".join(attempt(formatter.format).value or ()).rstrip()


def _is_caller_of_plugins(file: str) -> bool:
    """Whether a file is part of tbcore, of Python's import system, or of a library between them and
    the plugin."""
    is_library = any(f"{os.sep}{name}{os.sep}" in file for name in ("pluggy", "asyncio"))
    return is_library or file.startswith((CORE_FOLDER, "<frozen importlib"))


@dataclass(eq=False)
class LoadedPlugin:
    """A plugin that was found. It works, has failed, or is disabled."""

    name: str
    distribution: str
    """Name and version of an installed plugin, such as `tbcore-hello 0.1.0`; the path of a plugin
    in a folder; "" for an object that was passed to `load_plugins`."""
    info: PluginInfo | None = None
    """The result of `plugin_info`; None if the plugin failed before or in that hook."""
    error: str | None = None
    """Why the plugin failed, in one line that names it; None if it works."""
    disabled_by: str | None = None
    """Why the plugin is disabled, such as `--no_plugin`; None if it is enabled."""
    traceback: str = ""
    """The traceback of the error, starting in the plugin's own code, for the plugin's author."""
    package: str = ""
    """Name of the plugin's top-level package or module."""
    folder: Path | None = None
    """The folder of the plugin's package; None if the plugin is not on disk."""
    source: Source | None = field(default=None, repr=False)
    version: str = ""
    """With `--dev`, a version that is part of the addresses of the plugin's files and changes when
    the files do; else ""."""
    dev: bool = False
    """Whether the server runs with `--dev`, which shows tracebacks to the plugin's author."""
    strict: bool = False
    """Whether the plugin's exceptions are raised instead of recorded, for tests."""
    tuning: Tuning = field(default_factory=default_tuning, repr=False)
    stats: PluginStats = field(init=False, repr=False)
    hooks: pluggy.HookRelay | None = field(default=None, repr=False)
    """The plugin's own registry of hooks, so that a call cannot reach another plugin."""
    implemented: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of the hooks that the plugin implements."""
    starting: Future[Outcome] | None = field(default=None, repr=False)
    """The call that imports or mounts the plugin, while the server runs without waiting for it."""
    more: Sequence[Source] = field(default=(), repr=False)
    """Sources of the plugins that its hook `plugins` returned."""

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

    def redact_paths(self, line: str | None) -> str | None:
        """The line with each path shortened to its last part; with `--dev`, the line as it is."""
        return line if self.dev or line is None else without_paths(line)

    @property
    def title(self) -> str:
        return self.info.title if self.info else self.name

    @property
    def order(self) -> int:
        return self.info.order if self.info else PluginInfo(title="").order

    @property
    def module(self) -> PurePosixPath | None:
        """Path of the ES module, or of the page, relative to the plugin's folder.

        None if the plugin has no tab.
        """
        path = (self.info.page or self.info.module) if self.info else None
        if path is None:
            return None
        if self._is_one_file:
            return PurePosixPath(self.source.front_end if self.source else "")
        return PurePosixPath(path)

    @property
    def _is_one_file(self) -> bool:
        """Whether the plugin is a single Python file, with its ES module in the same folder."""
        is_default = self.info is not None and self.info.module == PluginInfo(title="").module
        return is_default and self.source is not None and bool(self.source.front_end)

    @property
    def static_folder(self) -> Path | None:
        """The folder of the module or page, with the other files to serve; None without a tab."""
        if self.module is None or self.folder is None:
            return None
        return self.folder / self.module.parent

    @property
    def module_address(self) -> str | None:
        """Address of the ES module relative to the server's root; None if there is none to load.

        For a page it is that of the core's module that shows the page in a frame.
        """
        if self.error or self.module is None:
            return None
        if self.info and self.info.page:
            # A frame that is opened again loads all its files again, at the same addresses.
            query = {"page": f"static/plugins/{self.name}/{self.module.name}"}
            query |= {"version": self.version} if self.version else {}
            return f"{FRAME_MODULE}?{urlencode(query, safe='/')}"
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
        """Whether the file of the ES module, or of the page, exists."""
        return bool(self.folder and self.module and (self.folder / self.module).is_file())

    def implements(self, hook: str) -> bool:
        return hook in self.implemented

    def call(self, hook: str, **arguments: Any) -> Any:
        """Calls this plugin's implementation of a hook and returns its result.

        Returns None if the plugin does not implement the hook. Exceptions of the hook are raised.
        """
        caller = getattr(self.hooks, hook)
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
    page_routes: Sequence[Route] = ()
    legacy: LegacyApi = field(default_factory=LegacyApi)
    error: str | None = None
    """Why the plugin failed while it was loaded or mounted, in one line; None if it works."""
    is_starting: bool = False
    """Whether it has not failed, but is starting, which the error says."""
    traceback: str = ""
    """The traceback of the error, starting in the plugin's own code."""

    def addresses(self) -> Iterator[tuple[str, Route]]:
        """Yields the address of each route, after the server's path prefix, with the route."""
        for route in self.routes:
            yield f"/data/plugin/{self.plugin.name}{route.path}", route
        for route in self.page_routes:
            yield f"/{self.plugin.name}{route.path}", route
        for route in self.legacy.routes:
            yield f"/data{route.path}", route
        for route in self.legacy.bare_routes:
            yield route.path, route
