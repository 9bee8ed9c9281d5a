"""Hello: a tab with the latest value of each scalar."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import Claim, Multiplexer, PluginInfo, hookimpl
from tbcore_hello.routes import make_routes

CLAIMS = (Claim(is_scalar=True),)


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(title="Hello", claims=CLAIMS, order=200, description="Latest values.")


@hookimpl
def is_active(multiplexer: Multiplexer) -> bool:
    return multiplexer.has(CLAIMS)


@hookimpl
def routes(multiplexer: Multiplexer) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS)
