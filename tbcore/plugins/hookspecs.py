"""The hooks that a plugin may implement, and their results. Authors of plugins start here.

A plugin is a module (or any object) with functions marked `@hookimpl`. It is found through an entry
point of the group `tbcore.plugins`. The name of the entry point is the name of the plugin: in
`data/plugins_listing`, in addresses and on the command line. Names are made of lower-case letters,
digits, `_`, `-` and `.`.

    [project.entry-points."tbcore.plugins"]
    hello = "tbcore_hello"

A complete plugin:

    from starlette.routing import Route
    from tbcore import Claim, PluginInfo, hookimpl
    from tbcore.http import json_response

    CLAIMS = (Claim(is_scalar=True),)

    @hookimpl
    def plugin_info():
        return PluginInfo(title="Hello", claims=CLAIMS)

    @hookimpl
    def routes(multiplexer):
        return [Route("/tags", lambda request: json_response(multiplexer.tags(CLAIMS)))]

Arguments are passed by name, and a hook may leave out arguments that it does not need. So new
arguments break no plugin. An unknown hook, or an unknown argument of a hook, makes the plugin fail
before any of its other hooks is called. `tbcore plugins`, the page and the log list a failed plugin
with the reason; its addresses respond with status 503, and everything else works. With
`tbcore serve --dev` the page shows the traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pluggy

from tbcore.kinds import Claims
from tbcore.plugins.config import PluginOptions
from tbcore.plugins.options import Option

if TYPE_CHECKING:
    from starlette.routing import Route

    from tbcore.store.multiplexer import Multiplexer

PLUGIN_API = 1
"""The version of the hooks and of everything else that plugins use. A change that could break
plugins increases it, additions do not. See docs/stability.md."""

hookspec = pluggy.HookspecMarker("tbcore")
hookimpl = pluggy.HookimplMarker("tbcore")
"""Marks a function of a plugin as the implementation of the hook of the same name."""


@dataclass(frozen=True, kw_only=True)
class PluginInfo:
    """How a plugin describes itself. Pass fields by name: new fields may be added anywhere."""

    title: str
    """Text on the tab."""
    claims: Claims = ()
    """The logged data that the plugin can read. Several plugins may claim the same data. The server
    reports data that no plugin claims."""
    samples: int = 0
    """Default for the maximum number of items of one (run, tag) in a response; 0 for all. Users
    change it with `--samples_per_plugin`."""
    module: str | None = "static/index.js"
    """Path of the ES module within the package. All files in the module's folder are served at
    `static/plugins/<name>/`, so keep nothing else there. None for a plugin without a tab."""
    page: str | None = None
    """Path of an HTML page within the package, such as `static/index.html`, in place of `module`.
    The tab shows it in a frame, whose policy allows WebAssembly, workers made from blobs, and
    inline styles, but no inline scripts and no other host. All files in its folder are served."""
    page_allows: Sequence[str] = ()
    """What the page and those of `page_routes` may do besides, listed by `tbcore plugins`: `"eval"`
    for code that is made from text, by `eval` and `new Function`; `"frames"` for frames with pages
    of this server."""
    run_action: str = ""
    """A verb, such as `Compare`, with which the menu of runs opens the tab. The name of the chosen
    run or group is then in the tab's setting `run`."""
    order: int = 100
    """Tabs are sorted by this number, then by title."""
    api: int = PLUGIN_API
    """The version of the plugin API that the plugin needs. Write a literal number such as 1, not
    `PLUGIN_API`, which always equals the installed version. A tbcore with another version can then
    report what to upgrade, instead of failing inside the plugin."""
    description: str = ""
    """One line for lists of the installed plugins."""
    how_to_log: Mapping[str, str] = field(default_factory=dict)
    """Maps the name of a framework to a few lines of code that log data for this plugin. The tab
    shows these lines while there is no such data."""
    options: Sequence[Option] = ()
    """Settings that users change with `--set NAME.key=value`. They are checked when the server
    starts, and passed to hooks in `PluginOptions.values`, converted to their types."""


@dataclass(frozen=True, kw_only=True)
class LegacyApi:
    """A plugin's part of the older API, in which plugins had no addresses of their own."""

    routes: Sequence[Route] = ()
    """Routes that are served below `data/` and `legacy/data/`."""
    tag_types: Mapping[str, Callable[[str], list[str] | bool]] = field(default_factory=dict)
    """Maps the name of a tag type in `legacy/data/runs` to a function. The function gets the name
    of a run, and returns the run's tags of the type, or whether the run has such data. It is called
    for each run in each request, on one of the plugin's own threads."""
    bare_routes: Sequence[Route] = ()
    """Routes that are served at the root and below `legacy/`, for old addresses without `data/`."""


@hookspec(firstresult=True)
def plugin_info() -> PluginInfo:  # type: ignore[empty-body]
    """Describe the plugin. This is the only hook that every plugin must have.

    When: once, right after import. Thread: one of its own, as for the import and the other hooks of
    the start. If it raises or returns anything else: the plugin has failed.
    """


@hookspec(firstresult=True)
def plugins() -> Mapping[str, object]:  # type: ignore[empty-body]
    """More plugins by name, as modules or objects with hooks: for tabs known only at run time.

    When: once, right after `plugin_info`. Thread: the same. Each is a plugin like any other, except
    that its own `plugins` is not called. If it raises or returns anything else: the plugin has
    failed.
    """


@hookspec(firstresult=True)
def is_active(multiplexer: Multiplexer) -> bool:  # type: ignore[empty-body]
    """Whether there is anything to show.

    When: for data/plugins_listing and the page's tabs, at most once per generation of the data.
    Thread: one of the plugin's own. Use the index only and do not read items: the first call that
    takes longer than 100 ms is logged, and after 1 s the previous result is used. If it raises: the
    plugin is inactive in this generation, and each type of exception is logged once. Without this
    hook a plugin is active if any of its claims matches, or if it has no claims.
    """


@hookspec(firstresult=True)
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:  # type: ignore[empty-body]
    """Starlette routes, served below data/plugin/<name>/.

    When: once, while the server is set up. The multiplexer may be empty then: keep it, and read
    from it when a request arrives. Thread: one of its own; the server does not wait longer than
    five seconds for it. If it raises, or returns anything but a sequence of `Route` whose paths
    start with one slash: the plugin has failed, and none of its routes exist.

    Handlers are plain `def` functions. They run on threads of the plugin's own, at most 16 at a
    time, and may read files and compute with numpy. Handlers may also be `async def`. These run to
    their end on the same threads, by `asyncio.run`. Not supported are async iterators as bodies,
    background tasks, and tasks that still run when their handler returns.

    A route accepts GET (and HEAD), and any other methods listed in its `methods`. The body of a
    POST, at most 1 MB, is read before the handler is called; get it with
    `tbcore.http.request_body(request)`. A handler may raise the errors of tbcore, which become
    responses with their status and one line of text, or Starlette's HTTPException. Any other
    exception becomes a response with status 500 that names plugin and route, and its traceback is
    logged. `middleware` of a route is not supported.
    """


@hookspec(firstresult=True)
def page_routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:  # type: ignore[empty-body]
    """Starlette routes of a web application, served below <name>/ in place of data/plugin/<name>/.

    Their responses have the policy of a plugin's page, see `PluginInfo.page`; everything else is as
    for `routes`. When: once, right after `routes`. If it raises or returns anything else: the
    plugin has failed.
    """


@hookspec(firstresult=True)
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:  # type: ignore[empty-body]
    """The plugin's part of the older API, in which plugins had no addresses of their own.

    It is needed only by plugins whose data TensorBoard 1.0 could show. When: once, right after
    `routes`. Thread: the same. If it raises or returns anything else: the plugin has failed. The
    routes of the core and of earlier plugins take precedence.
    """


@hookspec(firstresult=True)
def close() -> None:
    """End what the plugin started, such as threads and processes, and remove its temporary files.

    When: once, after the last request: when the server ends, and, with `--dev`, when edited code
    has taken the plugin's place. Thread: one of its own. The server waits at most 2 seconds for all
    plugins together. If it raises: the exception is logged.
    """
