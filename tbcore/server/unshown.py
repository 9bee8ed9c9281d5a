"""Unshown: data in the logs that no plugin claims, and what to install for it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tbcore.eventfiles.contents import content_name, distribution_for
from tbcore.kinds import Claims, matches
from tbcore.store.multiplexer import Multiplexer


class Unshown(NamedTuple):
    """One kind of data."""

    kind: str
    """A name for people."""
    field: str
    """As `Kind.field`."""
    num_tags: int
    """All runs together."""
    num_runs: int
    example_run: str
    example_tag: str
    install: str | None
    """The distribution that shows it; None where none is known."""


def find_unshown(
    multiplexer: Multiplexer, claims: Claims, loaded: Collection[str]
) -> list[Unshown]:
    """What none of the claims matches; `loaded` names the distributions that are installed."""
    return [
        Unshown(
            content_name(summary.kind),
            summary.kind.field,
            summary.num_tags,
            summary.num_runs,
            summary.example_run,
            summary.example_tag,
            distribution_for(summary.kind, loaded=loaded),
        )
        for summary in multiplexer.kinds()
        if not matches(claims, summary.kind)
    ]
