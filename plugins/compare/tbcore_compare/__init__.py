"""Compare: what differs between runs, or groups of runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from starlette.routing import Route

from tbcore import Multiplexer, NotFoundError, PluginInfo, hookimpl
from tbcore_compare.reader import CLAIMS, SCALARS
from tbcore_compare.routes import make_routes

NUM_TRIED = 8
"""Number of runs whose scalars are looked for before the tags of all runs are listed, which takes
long if there are many."""


@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="Compare",
        claims=CLAIMS,
        order=95,
        api=1,
        description="What differs between runs, or groups of runs, side by side.",
    )


@hookimpl
def is_active(multiplexer: Multiplexer) -> bool:
    """Whether at least two runs have something to compare."""
    num_found = 0
    for run in multiplexer.runs()[:NUM_TRIED]:
        with suppress(NotFoundError):  # It was deleted meanwhile.
            num_found += len(multiplexer.last_points(run, SCALARS).step) > 0
    if num_found >= 2:
        return True
    return len(list(islice(filter(None, multiplexer.tags(CLAIMS).values()), 2))) == 2


@hookimpl
def routes(multiplexer: Multiplexer) -> Sequence[Route]:
    return make_routes(multiplexer)
