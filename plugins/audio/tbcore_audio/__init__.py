"""Audio: the clips that training runs log, at every step."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from tbcore import LegacyApi, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore.values import AUDIO_CLAIMS
from tbcore_audio.routes import make_legacy_api, make_routes

CLAIMS = AUDIO_CLAIMS


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Audio",
        claims=CLAIMS,
        samples=10,
        order=30,
        description="The audio clips that training runs log, at every step.",
    )


@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    return make_routes(multiplexer, CLAIMS, options.samples)


@hookimpl
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:
    return make_legacy_api(multiplexer, CLAIMS, options.samples)
