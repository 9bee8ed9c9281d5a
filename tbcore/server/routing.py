"""The table of routes: what is at each address of the core, and below its prefixes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from tbcore.server.gate import SAFE_METHODS
from tbcore.server.pool import ThreadPool


class Row(NamedTuple):
    """What is at an address, or below a prefix."""

    handler: Callable[..., Any]
    """A function from a request, and from the path after a prefix, to the response."""
    pool: ThreadPool | None = None
    """Where it is called; None: on the event loop, and it may return an awaitable."""
    methods: Collection[str] = SAFE_METHODS
    """The allowed methods; empty if the handler decides."""
    is_demand: bool = False
    """Whether a request wakes a loader that is idle."""
    has_body: bool = False
    """Whether the handler needs the body of the request."""


Table = dict[str, Row]
"""Maps addresses to their rows, and prefixes: one or two names, with a slash at the end."""


def row_at(table: Table, path: str) -> tuple[Row | None, tuple[str, ...]]:
    """The row of an address, and the path after its prefix if it has one; None without a row."""
    if path in table and (path == "/" or not path.endswith("/")):
        return table[path], ()
    for depth in (2, 1):
        prefix = "/".join([*path.split("/", depth + 1)[: depth + 1], ""])
        if path.startswith(prefix) and prefix in table:
            return table[prefix], (path[len(prefix) :],)
    return None, ()
