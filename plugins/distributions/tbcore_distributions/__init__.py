"""Distributions: percentiles of a tensor's values over the steps."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import LegacyApi, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore.values import HISTOGRAM_CLAIMS
from tbcore_distributions.routes import make_legacy_api, make_routes

CLAIMS = HISTOGRAM_CLAIMS
"""The logged histograms. The histograms plugin need not be installed."""


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Distributions",
        claims=CLAIMS,
        samples=500,
        order=50,
        description="Percentiles of a tensor's values over the steps.",
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS, options.samples)


@hookimpl
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:
    return make_legacy_api(multiplexer, CLAIMS, options.samples)
