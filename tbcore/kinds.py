"""Kinds: what a series is on disk, and claims: which of them a plugin can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """What the values of a series are on disk, before anyone interprets them."""

    field: str
    """The protobuf field that carries the value: `simple_value`, `histo`, `image`, `audio`,
    `tensor`, `obsolete_old_style_histogram`, "" for a summary with metadata and no value; of events
    without a summary `graph_def`, `meta_graph_def`, `tagged_run_metadata`."""
    plugin_name: str = ""
    """`plugin_data.plugin_name` of the first metadata of the (run, tag); "" if there was none."""
    is_scalar: bool = False
    """One real number, whichever field carried it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Matches kinds: None matches anything, everything that is given must match."""

    field: str | None = None
    plugin_name: str | None = None
    is_scalar: bool | None = None

    def matches(self, kind: Kind) -> bool:
        """Whether a series of this kind is one that the claim speaks of."""
        return (
            (self.field is None or self.field == kind.field)
            and (self.plugin_name is None or self.plugin_name == kind.plugin_name)
            and (self.is_scalar is None or self.is_scalar == kind.is_scalar)
        )


Claims = Sequence[Claim]
"""A kind is claimed when any of the claims matches it."""


def matches(claims: Claims, kind: Kind) -> bool:
    """Whether any of the claims matches the kind."""
    return any(claim.matches(kind) for claim in claims)
