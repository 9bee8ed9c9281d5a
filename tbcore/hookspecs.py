"""The hooks a plugin may implement, and what they return. A plugin author reads this page first.

A plugin is a module (or any object) with functions marked `@hookimpl`. It is found through an entry
point of the group `tbcore.plugins`; the name of the entry point is the name of the plugin: its key
in `data/plugins_listing`, its part of the addresses, its name on the command line. Names are made
of lower-case letters, digits, `_`, `-` and `.`.

    [project.entry-points."tbcore.plugins"]
    hello = "tbcore_hello"

A whole plugin:

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

Arguments are passed by name, and a plugin leaves out those it does not need, so that arguments can
be added here without breaking anyone. A hook that is not on this page, or an argument that its hook
does not have, makes the plugin fail before any of its other hooks is called. A plugin that failed
is listed with the reason (`tbcore plugins`, the page, the log), its addresses answer 503, and
everything else works. With `tbcore serve --dev` the page has the traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pluggy

from tbcore.config import PluginOptions
from tbcore.kinds import Claims
from tbcore.options import Option

if TYPE_CHECKING:
    from starlette.routing import Route

    from tbcore.store.multiplexer import Multiplexer

__all__ = [
    "PLUGIN_API",
    "LegacyApi",
    "Option",
    "PluginInfo",
    "PluginOptions",
    "hookimpl",
    "is_active",
    "legacy_api",
    "plugin_info",
    "routes",
]

PLUGIN_API = 1
"""The version of this page and of all else that plugins use. It rises when a plugin written for the
earlier one would break; what is only added leaves it as it is. See docs/stability.md."""

hookspec = pluggy.HookspecMarker("tbcore")
hookimpl = pluggy.HookimplMarker("tbcore")
"""Marks a function of a plugin as the implementation of the hook of the same name."""


@dataclass(frozen=True, kw_only=True)
class PluginInfo:
    """What a plugin says of itself. Fields are given by name: more may come between them."""

    title: str
    """Text on the tab."""
    claims: Claims = ()
    """What of the logged data the plugin can read. Data that no plugin claims is reported as not
    shown. A claim is a question, not ownership: others may claim the same."""
    samples: int = 0
    """Most items of one (run, tag) in an answer, unless the user says otherwise; 0 for all."""
    module: str | None = "static/index.js"
    """ES module inside the package, in a folder of its own: the files of that folder are served at
    `static/plugins/<name>/`. None for a plugin without a tab."""
    order: int = 100
    """Tabs are sorted by this, then by title."""
    api: int = PLUGIN_API
    """The version of the plugin API that the plugin was written for. Write the number down: a
    tbcore with another one then says in one line what to upgrade, instead of failing inside."""
    description: str = ""
    """One line for people who look at what is installed."""
    how_to_log: Mapping[str, str] = field(default_factory=dict)
    """Name of a framework to a few lines of a program that logs such data. The tab shows them while
    there is none."""
    options: Sequence[Option] = ()
    """Settings that users may give with `--set NAME.key=value`. They are checked at the start, and
    arrive in `PluginOptions.values` as values of their types."""


@dataclass(frozen=True, kw_only=True)
class LegacyApi:
    """A plugin's part of the API from before plugins had addresses of their own."""

    routes: Sequence[Route] = ()
    """Served below `data/` and `legacy/data/`."""
    tag_types: Mapping[str, Callable[[str], list[str] | bool]] = field(default_factory=dict)
    """Name of a tag type in `legacy/data/runs` to a function from a run to its tags, or to whether
    it has any. Called for each run at each request, on a thread of the plugin's own."""
    bare_routes: Sequence[Route] = ()
    """Served at the root and below `legacy/`: the few addresses that had no `data/` in front."""


@hookspec(firstresult=True)
def plugin_info() -> PluginInfo:  # type: ignore[empty-body]
    """Describe the plugin. The one hook that every plugin has.

    When: once, right after import, before any data is read. Thread: the one that starts the
    server. If it raises or returns something else: the plugin has failed.
    """


@hookspec(firstresult=True)
def is_active(multiplexer: Multiplexer) -> bool:  # type: ignore[empty-body]
    """Whether there is anything to show.

    When: for data/plugins_listing and the page's tabs, at most once in each generation of the data.
    Thread: one of the plugin's own. Look at the index only and do not read items: above 100 ms the
    log says how long it took, and after 1 s the answer is the one from before. If it raises: the
    plugin is inactive in this generation, and the log says why once for each type of exception.
    Without this hook a plugin is active when any of its claims matches, or when it claims nothing.
    """


@hookspec(firstresult=True)
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:  # type: ignore[empty-body]
    """Starlette routes, served below data/plugin/<name>/.

    When: once, as the server is built. The multiplexer is empty then: keep it, and ask it when a
    request arrives. Thread: the one that starts the server. If it raises, returns anything but a
    sequence of `Route`, or a path that does not start with one slash: the plugin has failed and
    none of its routes exist.

    Handlers are plain `def` functions and run on threads of the plugin's own, at most 16 at a
    time: file reads and numpy belong there. `async def` works too, on an event loop of the
    plugin's own, where one that blocks keeps the others waiting. A route answers GET (and HEAD),
    and what else its `methods` name. The body of a POST has been read before, 1 MB at most:
    `tbcore.http.request_body(request)`. A handler may raise the errors of tbcore, which become
    their status and one line of text, or Starlette's HTTPException. Anything else becomes a 500
    that names plugin and route; the traceback is in the log. `middleware` of a route is not
    supported.
    """


@hookspec(firstresult=True)
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:  # type: ignore[empty-body]
    """The plugin's part of the API from before plugins had addresses of their own.

    When: once, right after `routes`; only plugins that show what TensorBoard 1.0 showed need it.
    Thread: the one that starts the server. If it raises or returns something else: the plugin has
    failed. An address that the core or an earlier plugin has already stays with that one.
    """
