"""create_app: makes the ASGI application of one server.

Its layers, the outermost first, are `headers.py` (safety headers, and the response to unexpected
errors), `gate.py` (access control), `compress.py` (gzip), and `App._respond` in this module, which
routes requests to the page, the core's own data, plugins and static files.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

import tbcore
from tbcore.http import error_response, json_response
from tbcore.http.parameters import BODY_KEY, query_of
from tbcore.plugins.checks import RESERVED_NAMES
from tbcore.plugins.config import Config
from tbcore.plugins.loading import close_all, load_sources, mount_all
from tbcore.plugins.settings import check_settings
from tbcore.plugins.types import VERSION_MARK, LoadedPlugin, MountedPlugin, Plugins
from tbcore.server.compress import Compress
from tbcore.server.core_routes import CoreRoutes
from tbcore.server.gate import SAFE_METHODS, Gate
from tbcore.server.guard import Guard, method_not_allowed
from tbcore.server.headers import (
    POLICY_KEY,
    SafeHeaders,
    content_security_policy,
    page_policy,
)
from tbcore.server.health import healthz, metrics, readyz
from tbcore.server.legacy import PAGES, LegacyIndex
from tbcore.server.plugin_status import Activity, ServedPlugin
from tbcore.server.pool import ThreadPool
from tbcore.server.request_body import LARGE_BODIES_KEY, read_body
from tbcore.server.routing import Row, Table, row_at
from tbcore.server.run_attributes import RunAttributesRoute
from tbcore.server.static import StaticFiles
from tbcore.server.updates import Updates
from tbcore.store.board import Board
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.notes import Notes

WEB = Path(tbcore.__file__).parent / "web"
INDEX_PAGE = "index.html"

DATA_ADDRESSES = frozenset({"/data/runs", "/data/run_details", "/legacy/data/runs"})
"""The core's addresses of JSON with logged data. Probes and monitors request the others."""


class DevTools(Protocol):
    """What `--dev` adds to a server: the entry point `dev` makes it from the `Config`."""

    rows: Table
    """What it adds to the table of routes."""

    def start(self, app: App, plugins: Plugins) -> object:
        """Called with the application and its plugins, which it may replace from then on."""

    def stop(self) -> object:
        """Called when the server has ended."""


def create_app(config: Config, *, board: Board, plugins: Plugins, rows: Table | None = None) -> App:
    """The application. It serves what a loader commits to the board, and starts no loader.

    `rows` are added to the table of routes.

    If two plugins have the same name, the first is served. If a plugin raises while it is mounted,
    its addresses respond with 503; if it was loaded with `strict`, the exception is raised here
    instead. Raises OptionError for invalid options of plugins.
    """
    check_settings(plugins, config)
    multiplexer = Multiplexer(board=board)
    mounted = mount_all(plugins, multiplexer, config, waits=False)
    disabled = [plugin for plugin in plugins if plugin.disabled_by]
    app = App(config, board, multiplexer, mounted, disabled, rows or {})
    for m in mounted:
        if m.is_starting:
            threading.Thread(target=app.add_late, args=[m.plugin], daemon=True).start()
    return app


class App:
    """One server, as an ASGI application for uvicorn or a test client."""

    def __init__(
        self,
        config: Config,
        board: Board,
        multiplexer: Multiplexer,
        mounted: Sequence[MountedPlugin],
        disabled_plugins: Sequence[LoadedPlugin],
        rows: Table,
    ) -> None:
        self._config = config
        self._board = board
        self.multiplexer = multiplexer
        """The runs and tags, as the hooks of plugins get them."""
        self._large_bodies: set[Any] = set()
        """The tasks of requests with a large body, see `read_body`."""
        self._updates = Updates(board, config.tuning)
        self._files = StaticFiles(dev=config.dev)
        self._adding = threading.Lock()
        self._starting = {m.plugin for m in mounted if m.is_starting}
        self._is_closed = False
        self._pool = ThreadPool("tbcore", max_threads=4)
        self._rows = rows | self._own_rows()
        """The rows of the table that are the same with all plugins."""
        self._served = self._build_served(mounted, disabled_plugins, {})
        if board.notes:  # Their thread asks for the tabs.
            self._rows |= self._rows_of(board.notes)
            self._served = self._served._replace(rows=self._served.rows | self._rows)
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
        return self._served.plugins if self._board.status.passes else None

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
            more = load_sources(plugin.more, without=without, dev=plugin.dev, tuning=plugin.tuning)
            disabled = [each for each in more if each.disabled_by]
            late = mount_all([plugin, *more], self.multiplexer, self._config, keep=())
        with self._adding:
            self._starting.discard(plugin)
            if self._is_closed:
                close_all(m.plugin for m in late)
                return
            served = {m.plugin.name: m for m in self.mounted if m.plugin is not plugin}
            served = {m.plugin.name: m for m in late} | served
            disabled = [*self._served.disabled, *disabled]
            self.replace([served[name] for name in sorted(served)], disabled)

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
        tuning = self._config.tuning
        plugins: dict[str, ServedPlugin] = {}
        for m in mounted:
            name = m.plugin.name
            served = previous.get(name)
            if served is None or served.mounted is not m:
                # Edited code gets a new pool: the old code may have blocked its threads forever.
                pool = ThreadPool(f"plugin-{name}")
                on_change = self._updates.plugins_changed
                activity = Activity(m.plugin, self.multiplexer, pool, tuning, on_change)
                served = ServedPlugin(m, pool, Guard(m, pool, tuning), activity)
            plugins[name] = served
        working = [m.plugin.info for m in mounted if m.plugin.info and not m.error]
        self._board.claim_files(claim for info in working for claim in info.claims)
        self._board.awaits_plugins = bool(self._starting)
        core = CoreRoutes(
            self._config, self._board, self.multiplexer, plugins.values(), disabled_plugins,
            self._pool,
        )  # fmt: skip
        legacy_index = LegacyIndex(self._board, plugins.values(), tuning)
        data: dict[str, Callable[[Request], Awaitable[Any]]] = {
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
        rows = {
            path: Row(partial(_as_json, function), is_demand=path in DATA_ADDRESSES)
            for path, function in data.items()
        }
        return _Served(plugins, disabled_plugins, self._rows | rows)

    def _own_rows(self) -> dict[str, Row]:
        """The rows of the table for the page, probes, updates, queries and all plugins."""
        config, board, pool = self._config, self._board, self._pool
        # A pool of its own, since it may take seconds to find the minima of many long series.
        queries = ThreadPool("queries", max_threads=4)
        attributes = RunAttributesRoute(self.multiplexer, config.tuning.max_query_seconds)
        return {
            "/": Row(self._index_page, pool),
            **dict.fromkeys(PAGES, Row(_to_index_page)),
            "/static/": Row(lambda request, path: _not_found(f"/static/{path}")),
            "/static/tbcore/": Row(partial(self._file_in, WEB), pool),
            "/static/plugins/": Row(self._plugin_file, pool),
            "/data/plugin/": Row(self._plugin_data, methods=()),
            "/data/run_attributes": Row(attributes.respond, queries, ("POST",), True, True),
            "/data/updates": Row(lambda request: self._updates.stream(request.method)),
            "/healthz": Row(lambda request: healthz()),
            "/readyz": Row(lambda request: readyz(board)),
            "/metrics": Row(lambda request: metrics(board, self.mounted), pool),
        }

    def _rows_of(self, notes: Notes) -> dict[str, Row]:
        """The rows of the table for notes."""
        wake, idle_seconds = self._updates.wake, lambda: self._board.idle_seconds
        routes = notes.serve(self._config, self.multiplexer, wake, idle_seconds, self._tabs)
        pool = ThreadPool("notes", max_threads=4)  # They do not wait for queries.
        methods = *SAFE_METHODS, "POST"
        rows = {path: Row(respond, pool, methods, True, True) for path, respond in routes.items()}
        return rows | {"/static/notes/": Row(partial(self._file_in, notes.static_folder), pool)}

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The innermost ASGI layer: sends the response to a request that was admitted."""
        await _send(await self._response_to(scope, receive), scope, receive, send)

    async def _response_to(self, scope: Scope, receive: Receive) -> ASGIApp:
        """The response to a request."""
        prefix, path = self._config.path_prefix, scope["path"]
        if prefix and path == prefix:
            return _with_slash(scope)
        if not path.startswith(f"{prefix}/"):
            return _not_found(path)
        path = path[len(prefix) :]
        # One trailing slash is ignored, except in `//`: the page would be served at `//`, where its
        # relative addresses are wrong. Plugins get it.
        if len(path) > 2:
            path = path.removesuffix("/")
        served, request = self._served, Request(scope, receive)
        row, rest = row_at(served.rows, path)
        # In the older API, some addresses of the page return data if the query has a run and a tag.
        if row is None or (path in PAGES and _has_run_and_tag(scope)):
            if found := self._response_of_plugins(served, path, scope):
                return found
        if row is None:
            return _not_found(path)
        if row.is_demand:
            self._board.note_request()
        if row.methods and scope["method"] not in row.methods:
            return method_not_allowed(scope, set(row.methods))
        if row.has_body:
            return partial(self._respond_to_body, row)
        if row.pool:
            return await row.pool.run(row.handler, request, *rest)
        response: Any = row.handler(request, *rest)
        if isawaitable(response):
            response = await response
        return cast(ASGIApp, response)

    async def _respond_to_body(self, row: Row, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body of a request, and sends what the row's handler returns in a thread."""
        body: Any = await read_body(scope, receive, self.tuning.request_timeout_seconds)
        if isinstance(body, bytes):
            scope[BODY_KEY] = body
            pool = row.pool or self._pool
            body = await pool.run_for(Request(scope, receive), row.handler)
        if body is not None:
            await _send(body, scope, receive, send)

    def _response_of_plugins(self, served: _Served, path: str, scope: Scope) -> ASGIApp | None:
        """What plugins have at an address that is not in the table, or is that of an old page."""
        name, separator, rest = path[1:].partition("/")
        is_taken = name in RESERVED_NAMES or path in PAGES
        plugin = None if is_taken else served.plugins.get(name)
        if plugin is not None and plugin.mounted.page_routes:
            slash = _slash(scope)
            if not separator and not slash:
                return _with_slash(scope)
            self._board.note_request()
            scope[POLICY_KEY] = self._page_policy(plugin)
            base, routes = f"{self._config.path_prefix}/{name}", plugin.mounted.page_routes
            response = plugin.guard.response_to(routes, base, separator + rest, scope, slash)
            return response or _not_found(path)
        if response := self._legacy_response_to(served, path, scope):
            self._board.note_request()
            return response
        # A plugin that has failed says why at addresses that nothing else has.
        return plugin.guard.response_to((), "", "", scope) if plugin else None

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
                if routes and (
                    found := respond(routes, self._config.path_prefix + base, rest, scope)
                ):
                    return found
        return None

    def _plugin_data(self, request: Request, path: str) -> ASGIApp:
        """The response of a plugin's route. `path` begins with the plugin's name."""
        name, separator, rest = path.partition("/")
        plugin = self._served.plugins.get(name)
        if plugin is None:
            return _not_found(f"/data/plugin/{path}")
        self._board.note_request()
        base = f"{self._config.path_prefix}/data/plugin/{name}"
        routes, slash = plugin.mounted.routes, _slash(request.scope)
        response = plugin.guard.response_to(routes, base, separator + rest, request.scope, slash)
        return response or _not_found(f"/data/plugin/{path}")

    def _file_in(self, folder: Path, request: Request, path: str) -> Response:
        """The response with a file of a folder."""
        return self._files.response(request, folder, path)

    def _plugin_file(self, request: Request, path: str) -> Response:
        """The response with a file of a plugin. `path` begins with the plugin's name."""
        name, _, rest = path.partition("/")
        if self._config.dev and rest.startswith(VERSION_MARK):
            # The version in the address changes with each edit, so that the browser loads all
            # modules again. It is not part of the file's path.
            rest = rest.partition("/")[2]
        served = self._served.plugins.get(name)
        plugin = served.mounted.plugin if served and not served.mounted.error else None
        if served is None or plugin is None:
            return _not_found(f"/static/plugins/{path}")
        if plugin.info and plugin.info.page:
            request.scope[POLICY_KEY] = self._page_policy(served)
        folder = plugin.static_folder if plugin.serves(rest) else None
        if folder is None:
            return _not_found(f"/static/plugins/{path}")
        return self._files.response(request, folder, rest)

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
    """The plugins and the table of routes of a server at one moment."""

    plugins: Mapping[str, ServedPlugin]
    """Maps the name of each plugin to the plugin, in the order of names."""
    disabled: Sequence[LoadedPlugin]
    rows: Table


async def _as_json(function: Callable[[Request], Awaitable[Any]], request: Request) -> Response:
    return json_response(await function(request))


def _to_index_page(request: Request) -> Response:
    """The redirect of an old page's address."""
    location = "../" if request.scope["path"].endswith("/") else "./"
    return Response(status_code=302, headers={"location": location})


def _slash(scope: Scope) -> str:
    """The slash at the end of a request's path, or ""."""
    return "/" if scope["path"].endswith("/") else ""


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


async def _send(response: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Sends a response. A stream ends when its client has gone, not when garbage is collected."""
    parts: Any = getattr(response, "body_iterator", None)
    async with contextlib.aclosing(parts) if hasattr(parts, "aclose") else contextlib.nullcontext():
        await response(scope, receive, send)
