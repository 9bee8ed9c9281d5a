"""Histograms: how the values of a tensor are distributed, step by step."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import LegacyApi, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore.values import HISTOGRAM_CLAIMS
from tbcore_histograms.routes import make_legacy_api, make_routes

CLAIMS = HISTOGRAM_CLAIMS


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Histograms",
        claims=CLAIMS,
        samples=50,
        order=60,
        description="How the values of a tensor are distributed, step by step.",
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS, options.samples)


@hookimpl
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:
    return make_legacy_api(multiplexer, CLAIMS, options.samples)
