"""create_app: makes the ASGI application of one server.

Its layers, the outermost first, are `headers.py` (safety headers, and the response to unexpected
errors), `gate.py` (access control), `compress.py` (gzip), and `App._respond` in this module, which
routes requests to the page, the core's own data, plugins and static files.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

import tbcore
from tbcore.http import error_response, json_response
from tbcore.http.parameters import BODY_KEY, query_of
from tbcore.plugins.checks import RESERVED_NAMES
from tbcore.plugins.config import Config
from tbcore.plugins.loading import close_all, load, mount_all
from tbcore.plugins.settings import check_settings
from tbcore.plugins.stats import PluginStats
from tbcore.plugins.types import VERSION_MARK, LoadedPlugin, MountedPlugin, Plugins
from tbcore.server.compress import Compress
from tbcore.server.core_routes import CoreRoutes
from tbcore.server.gate import PROBES, SAFE_METHODS, Gate
from tbcore.server.guard import Guard, method_not_allowed
from tbcore.server.headers import (
    POLICY_KEY,
    SafeHeaders,
    content_security_policy,
    page_policy,
)
from tbcore.server.health import healthz, metrics, readyz
from tbcore.server.legacy import PAGES, LegacyIndex
from tbcore.server.page_errors import log_page_error
from tbcore.server.plugin_status import Activity, ServedPlugin
from tbcore.server.pool import ThreadPool
from tbcore.server.request_body import LARGE_BODIES_KEY, read_body
from tbcore.server.run_attributes import RunAttributesRoute
from tbcore.server.static import StaticFiles
from tbcore.server.updates import Updates
from tbcore.store.multiplexer import Multiplexer

WEB = Path(tbcore.__file__).parent / "web"
INDEX_PAGE = "index.html"

CORE_ADDRESSES = frozenset({"/", "/data/updates", "/metrics", *PROBES, *PAGES})
"""The core's addresses without a data handler, besides files."""
DATA_ADDRESSES = frozenset({"/data/runs", "/data/run_details", "/legacy/data/runs"})
"""The core's addresses with logged data. A request for them wakes a loader that is idle. Probes
and monitors request the others."""

DataHandler = Callable[[Request], Awaitable[Any]]
"""Returns the data that one of the core's addresses sends as JSON."""


def create_app(config: Config, *, multiplexer: Multiplexer, plugins: Plugins) -> App:
    """The application. It serves what a loader commits to the multiplexer, and starts no loader.

    If two plugins have the same name, the first is served. If a plugin raises while it is mounted,
    its addresses respond with 503; if it was loaded with `strict`, the exception is raised here
    instead. Raises OptionError for invalid options of plugins.
    """
    check_settings(plugins, config)
    mounted = mount_all(plugins, multiplexer, config, waits=False)
    app = App(config, multiplexer, mounted, [plugin for plugin in plugins if plugin.disabled_by])
    for m in mounted:
        if m.plugin.starting is not None:
            threading.Thread(target=app.add_late, args=[m.plugin], daemon=True).start()
    return app


class App:
    """One server, as an ASGI application for uvicorn or a test client."""

    def __init__(
        self,
        config: Config,
        multiplexer: Multiplexer,
        mounted: Sequence[MountedPlugin],
        disabled_plugins: Sequence[LoadedPlugin] = (),
    ) -> None:
        self._config = config
        self._prefix = config.path_prefix
        self._large_bodies: set[Any] = set()
        """The tasks of requests with a large body, see `read_body`."""
        self._multiplexer = multiplexer
        self._pool = ThreadPool("tbcore", max_threads=4)
        self._updates = Updates(multiplexer, config.tuning)
        # A pool of its own, since it may take seconds to find the minima of many long series.
        queries = ThreadPool("queries", max_threads=4)
        attributes = RunAttributesRoute(multiplexer, config.tuning.max_query_seconds)
        self._body_routes: dict[str, Any] = {
            "/data/run_attributes": (attributes.respond, {"POST"}, queries)
        }
        """Routes whose requests may have a body: a function from a Request to the Response, the
        methods, and the pool in which the function is called."""
        if config.dev:
            # One for all plugins: any user of this machine can send the names of more.
            limit = PluginStats("*", log_window_seconds=config.tuning.wrong_token_log_seconds)
            log = partial(log_page_error, limit)
            self._body_routes["/data/page_errors"] = log, {"POST"}, self._pool
        self._files = StaticFiles(dev=config.dev)
        self._adding = threading.Lock()
        self._starting = {m.plugin for m in mounted if m.plugin.starting is not None}
        self._is_closed = False
        self._served = self._build_served(mounted, disabled_plugins, {})
        if notes := multiplexer._notes:
            wake, idle_seconds = self._updates.wake, lambda: multiplexer._idle_seconds
            routes = notes.serve(config, multiplexer, wake, idle_seconds, self._tabs)
            pool = ThreadPool("notes", max_threads=4)  # They do not wait for queries.
            self._body_routes |= {p: (f, {*SAFE_METHODS, "POST"}, pool) for p, f in routes.items()}
        self.tuning = config.tuning
        self.policy = b""
        """The Content-Security-Policy of every response."""
        self._update_policy()
        # A pool of its own, since a plugin's response may take seconds to compress, and the page
        # must not wait for that.
        compress_pool = ThreadPool("compress", max_threads=4)
        gate = Gate(Compress(self._respond, compress_pool), config)
        self._layers = SafeHeaders(gate, lambda: self.policy, config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[LARGE_BODIES_KEY] = self._large_bodies
        await self._layers(scope, receive, send)

    def _tabs(self) -> Collection[str] | None:
        """The names of the tabs once all logs are read, or None."""
        return self._served.plugins if self._multiplexer._status.passes else None

    @property
    def mounted(self) -> Sequence[MountedPlugin]:
        """The plugins, sorted by name; no two have the same name."""
        return [served.mounted for served in self._served.plugins.values()]

    def replace(
        self, mounted: Sequence[MountedPlugin], disabled_plugins: Sequence[LoadedPlugin] = ()
    ) -> None:
        """Serves other plugins from the next request on, and notifies open pages.

        May be called in any thread. Requests in progress are finished by the previous plugins.
        """
        # A single assignment: a request uses either all of the old plugins or all of the new ones.
        self._served = self._build_served(mounted, disabled_plugins, self._served.plugins)
        self._updates.plugins_changed()

    def add_late(self, plugin: LoadedPlugin) -> None:
        """Waits until a plugin has started, and serves it with those of its hook `plugins`."""
        assert plugin.starting is not None
        outcome, plugin.starting = plugin.starting.result(), None
        late, disabled = [outcome.value], list[LoadedPlugin]()
        if not isinstance(outcome.value, MountedPlugin):  # It was the import that took long.
            without = self._config.without_plugins
            more = load(plugin.more, without=without, dev=plugin.dev, tuning=plugin.tuning)
            disabled = [each for each in more if each.disabled_by]
            late = mount_all([plugin, *more], self._multiplexer, self._config, keep=())
        with self._adding:
            self._starting.discard(plugin)
            if self._is_closed:
                close_all(m.plugin for m in late)
                return
            served = {m.plugin.name: m for m in self.mounted if m.plugin is not plugin}
            served = {m.plugin.name: m for m in late} | served
            self.replace([served[name] for name in sorted(served)], [*self._disabled, *disabled])

    def close_plugins(self) -> None:
        """Calls `close` of all plugins, once; of those that are starting when they have started."""
        with self._adding:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            close_all(m.plugin for m in self.mounted if m.plugin not in self._starting)

    def close_streams(self) -> None:
        """Ends the open streams of updates, which would keep the server running.

        May be called in a signal handler.
        """
        self._updates.close()

    def _build_served(
        self,
        mounted: Sequence[MountedPlugin],
        disabled_plugins: Sequence[LoadedPlugin],
        previous: Mapping[str, ServedPlugin],
    ) -> _Served:
        """Creates the objects that serve the plugins; reuses those of plugins in `previous`."""
        self._disabled = disabled_plugins
        multiplexer, tuning = self._multiplexer, self._config.tuning
        plugins: dict[str, ServedPlugin] = {}
        for m in mounted:
            name = m.plugin.name
            served = previous.get(name)
            if served is None or served.mounted is not m:
                # Edited code gets a new pool: the old code may have blocked its threads forever.
                pool = ThreadPool(f"plugin-{name}")
                on_change = self._updates.plugins_changed
                activity = Activity(m.plugin, multiplexer, pool, tuning, on_change)
                served = ServedPlugin(m, pool, Guard(m, pool, tuning), activity)
            plugins[name] = served
        working = [m.plugin.info for m in mounted if m.plugin.info and not m.error]
        multiplexer._claim_files(claim for info in working for claim in info.claims)
        core = CoreRoutes(self._config, multiplexer, plugins.values(), disabled_plugins, self._pool)
        legacy_index = LegacyIndex(multiplexer, plugins.values(), tuning)
        data_handlers: dict[str, DataHandler] = {
            "/data/logdir": core.logdir,
            "/data/runs": legacy_index.as_json if self._config.api == "legacy" else core.runs,
            "/data/run_details": core.run_details,
            "/data/plugins": core.plugins,
            "/data/plugins_listing": core.plugins_listing,
            "/data/environment": core.environment,
            "/data/frontends": core.frontends,
            "/data/status": self._updates.status_for,
            "/legacy/data/logdir": core.logdir,
            "/legacy/data/runs": legacy_index.as_json,
        }
        return _Served(plugins, data_handlers)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The innermost ASGI layer: sends the response to a request that was admitted."""
        response = await self._response_to(scope, receive)
        await response(scope, receive, send)

    async def _response_to(self, scope: Scope, receive: Receive) -> ASGIApp:
        """The response to a request."""
        path = scope["path"]
        if self._prefix:
            if path == self._prefix:
                return _with_slash(scope)
            if not path.startswith(f"{self._prefix}/"):
                return _not_found(path)
            path = path[len(self._prefix) :]
        # One trailing slash is ignored, except in `//`: the page would be served at `//`, where its
        # relative addresses are wrong. Plugins get it.
        slash = "/" if len(path) > 2 and path.endswith("/") else ""
        path = path.removesuffix(slash)
        served = self._served
        if path in served.data_handlers:
            if path in DATA_ADDRESSES:
                self._multiplexer._note_request()
            if scope["method"] not in SAFE_METHODS:
                return method_not_allowed(scope, set(SAFE_METHODS))
            return json_response(await served.data_handlers[path](Request(scope, receive)))
        if path in self._body_routes:
            self._multiplexer._note_request()
            return partial(self._respond_to_body, self._body_routes[path])
        if path.startswith("/data/plugin/"):
            name, separator, rest = path.removeprefix("/data/plugin/").partition("/")
            plugin = served.plugins.get(name)
            base = f"{self._prefix}/data/plugin/{name}"
            if plugin is None:
                return _not_found(path)
            self._multiplexer._note_request()
            rest = separator + rest
            response = plugin.guard.response_to(plugin.mounted.routes, base, rest, scope, slash)
            return response or _not_found(path)
        # Whether this is an address of the core; addresses with a data handler do not get here.
        is_core = path in CORE_ADDRESSES or path.startswith("/static/")
        name, separator, rest = path[1:].partition("/")
        plugin = None if name in RESERVED_NAMES else served.plugins.get(name)
        if plugin is not None and plugin.mounted.page_routes and not is_core:
            if not separator and not slash:
                return _with_slash(scope)
            self._multiplexer._note_request()
            scope[POLICY_KEY] = self._page_policy(plugin)
            base, routes = f"{self._prefix}/{name}", plugin.mounted.page_routes
            response = plugin.guard.response_to(routes, base, separator + rest, scope, slash)
            return response or _not_found(path)
        # In the older API, some addresses of the page return data if the query has a run and a tag.
        if not is_core or (path in PAGES and _has_run_and_tag(scope)):
            if response := self._legacy_response_to(served, path, scope):
                self._multiplexer._note_request()
                return response
        if not is_core:
            # A plugin that has failed says why at addresses that nothing else has.
            return (plugin and plugin.guard.response_to((), "", "", scope)) or _not_found(path)
        if scope["method"] not in SAFE_METHODS:
            return method_not_allowed(scope, set(SAFE_METHODS))
        if path == "/data/updates":
            return self._updates.stream(scope["method"])
        if path == "/metrics":
            return await self._pool.run(metrics, self._multiplexer, self.mounted)
        if path in PROBES:
            return healthz() if path == "/healthz" else readyz(self._multiplexer)
        if path == "/":
            return await self._pool.run(self._index_page, Request(scope))
        if path in PAGES:
            location = "../" if scope["path"].endswith("/") else "./"
            return Response(status_code=302, headers={"location": location})
        return await self._static(served, path, Request(scope))

    async def _respond_to_body(
        self, route: Any, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Reads the body of a request, and sends what the route returns in a thread."""
        respond, methods, pool = route
        if scope["method"] not in methods:
            await method_not_allowed(scope, methods)(scope, receive, send)
            return
        body: Any = await read_body(scope, receive, self.tuning.request_timeout_seconds)
        if isinstance(body, bytes):
            scope[BODY_KEY] = body
            body = await pool.run_for(Request(scope, receive), respond)
        if body is not None:
            await body(scope, receive, send)

    def _legacy_response_to(self, served: _Served, path: str, scope: Scope) -> ASGIApp | None:
        """The response of the first plugin whose `LegacyApi` has the address; None without one."""
        for base in ("/legacy/data", "/data", "/legacy", ""):
            if not path.startswith(f"{base}/"):
                continue
            rest = path[len(base) :]
            is_bare = not base.endswith("/data")  # The address is one without `data/`.
            if is_bare and rest in PAGES and not _has_run_and_tag(scope):
                # Without a run and a tag, this is an address of the page.
                continue
            for plugin in served.plugins.values():
                legacy = plugin.mounted.legacy
                routes = legacy.bare_routes if is_bare else legacy.routes
                respond = plugin.guard.response_to
                if routes and (found := respond(routes, self._prefix + base, rest, scope)):
                    return found
        return None

    async def _static(self, served: _Served, path: str, request: Request) -> Response:
        """The response with a file of the core or of a plugin. `path` begins with /static/."""
        folder: Path | None = None
        rest = ""
        if path.startswith("/static/tbcore/"):
            folder, rest = WEB, path.removeprefix("/static/tbcore/")
        elif path.startswith("/static/notes/") and self._multiplexer._notes:
            folder = self._multiplexer._notes.static_folder
            rest = path.removeprefix("/static/notes/")
        elif path.startswith("/static/plugins/"):
            name, _, rest = path.removeprefix("/static/plugins/").partition("/")
            if self._config.dev and rest.startswith(VERSION_MARK):
                # The version in the address changes with each edit, so that the browser loads all
                # modules again. It is not part of the file's path.
                rest = rest.partition("/")[2]
            served_plugin = served.plugins.get(name)
            if served_plugin and not served_plugin.mounted.error:
                plugin = served_plugin.mounted.plugin
                folder = plugin.static_folder if plugin.serves(rest) else None
                if plugin.info and plugin.info.page:
                    request.scope[POLICY_KEY] = self._page_policy(served_plugin)
        if folder is None:
            return _not_found(path)
        return await self._pool.run(self._files.response, request, folder, rest)

    def _page_policy(self, plugin: ServedPlugin) -> bytes:
        """The policy of a plugin's pages."""
        info = plugin.mounted.plugin.info
        return page_policy(info.page_allows if info else (), self._config.embed_in)

    def _index_page(self, request: Request) -> Response:
        """The response with the page. Updates the policy first, in case the file was edited."""
        self._update_policy()
        return self._files.response(request, WEB, INDEX_PAGE)

    def _update_policy(self) -> None:
        """Computes the Content-Security-Policy, which depends on the page's import map."""
        page = self._files.file(WEB, INDEX_PAGE)
        content = page.content if page else b""
        self.policy = content_security_policy(content, self._config.embed_in)


class _Served(NamedTuple):
    """The plugins and routes of a server at one moment."""

    plugins: Mapping[str, ServedPlugin]
    """Maps the name of each plugin to the plugin, in the order of names."""
    data_handlers: Mapping[str, DataHandler]
    """Maps each of the core's data addresses to the function that returns the data."""


def _with_slash(scope: Scope) -> Response:
    """The redirect to the same address with a slash at the end of its path."""
    query = scope["query_string"].decode("latin-1")
    # Relative, since a proxy may have changed the path.
    location = f"{scope['path'].rpartition('/')[2]}/{'?' if query else ''}{query}"
    return Response(status_code=301, headers={"location": location})


def _not_found(path: str) -> Response:
    return error_response(404, f"Not found: {path[:200]!r}")


def _has_run_and_tag(scope: Scope) -> bool:
    """Whether the query of a request has the parameters of a series."""
    return {"run", "tag"} <= query_of(Request(scope)).keys()
