"""Compare: what differs between runs, or groups of runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from starlette.routing import Route

from tbcore import Multiplexer, PluginInfo, hookimpl
from tbcore_compare.reader import CLAIMS
from tbcore_compare.routes import make_routes

MANY_RUNS = 1000
"""Number of runs above which their tags are not listed to see whether two have any."""


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Compare",
        claims=CLAIMS,
        run_action="Compare",
        order=95,
        api=1,
        description="What differs between runs, or groups of runs, side by side.",
    )


@hookimpl
def is_active(multiplexer: Multiplexer) -> bool:
    """Whether at least two runs have something to compare."""
    if len(multiplexer.runs()) > MANY_RUNS:
        return multiplexer.has(CLAIMS)
    return len(list(islice(filter(None, multiplexer.tags(CLAIMS).values()), 2))) == 2


@hookimpl
def routes(multiplexer: Multiplexer) -> Sequence[Route]:
    return make_routes(multiplexer)
