"""Scalars: one number per step, as line charts."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import Claim, LegacyApi, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore_scalars.routes import make_legacy_api, make_routes

CLAIMS = (
    Claim("simple_value"),
    Claim(plugin_name="scalars", is_scalar=True),
    Claim(plugin_name="tensor", is_scalar=True),  # PyTorch's `add_tensor` of one number
)


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Scalars",
        claims=CLAIMS,
        samples=1000,
        order=10,
        description="One number per step, as line charts.",
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS, options.samples)


@hookimpl
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:
    return make_legacy_api(multiplexer, CLAIMS, options.samples)
